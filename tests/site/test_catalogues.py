"""The catalogues of translations: nothing is left in English, and what runs is what is written."""

import gettext
from io import BytesIO

import pytest
from django.conf import settings
from django.utils import translation
from django.utils.dates import MONTHS, MONTHS_3, WEEKDAYS, WEEKDAYS_ABBR
from django.utils.translation import to_locale

from scheduler_site import catalogues


@pytest.fixture(scope="module")
def texts():
    return catalogues.extracted()


def test_every_language_but_english_has_a_catalogue():
    others = {to_locale(code) for code, _ in settings.LANGUAGES} - {"en"}

    assert set(catalogues.LANGUAGES) == others
    assert {path.name for path in catalogues.LOCALE.iterdir()} == others


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_every_text_is_translated(language, texts):
    faults = [*catalogues.problems(catalogues.updated(language, texts))]

    assert not faults, "run `make texts`, then translate:\n" + "\n".join(faults)


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_a_catalogue_has_what_the_texts_are_and_no_more(language, texts):
    path = catalogues.file_of(language)

    assert catalogues.written(catalogues.updated(language, texts)) == path.read_text(), "run `make texts`"


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_what_runs_is_what_is_written(language):
    path = catalogues.file_of(language)
    compiled = BytesIO(catalogues.compiled(catalogues.read(language)))

    with path.with_suffix(".mo").open("rb") as committed:
        assert entries(committed) == entries(compiled), "run `make texts`"


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
@pytest.mark.parametrize("text", sorted(catalogues.TEXTS_OF_DJANGO))
def test_django_translates_the_texts_that_are_not_in_our_catalogues(text, language, texts):
    plural = text.replace("error", "errors")

    assert texts.get(text) is None
    with translation.override(language.replace("_", "-").lower()):
        translated = {translation.ngettext(text, plural, count) for count in (1, 2)}
    assert len(translated) == 2
    assert not translated & {text, plural}


def test_no_text_of_ours_stands_for_a_date_of_djangos(texts):
    """Ours come first: "May", the verb, would become the month."""
    of_dates = {*MONTHS.values(), *WEEKDAYS.values(), *WEEKDAYS_ABBR.values(), *MONTHS_3.values()}

    assert [word for word in map(str, of_dates) if texts.get(word)] == []


def entries(file) -> dict:
    found = dict(gettext.GNUTranslations(file)._catalog)
    del found[""]
    return found


@pytest.mark.parametrize(
    "text, is_found",
    [
        ('{% translate "Hello" %}', True),
        ('<a title="{% translate "Hello" %}">', True),
        ('{% include "x.html" with text=_("Hello") %}', True),
        ("{% blocktranslate trimmed %}\n  Hello\n{% endblocktranslate %}", True),
        ('{# {% translate "Hello" %} #}', False),
        ("Hello", False),
    ],
)
def test_the_texts_of_a_template_are_found(tmp_path, monkeypatch, text, is_found):
    monkeypatch.setattr(catalogues, "BASE_DIR", tmp_path)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "x.html").write_text(text)

    assert (catalogues.extracted().get("Hello") is not None) is is_found


def test_a_singular_with_two_plurals_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogues, "BASE_DIR", tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "x.py").write_text(
        'ngettext("every day", "%d days", 1) + ngettext("every day", "%d times", 1)'
    )

    with pytest.raises(ValueError, match="two plurals"):
        catalogues.extracted()


@pytest.mark.parametrize(
    "text, said, is_fault",
    [
        ("%(n)d jobs", "%(n)d Jobs", False),
        ("%(n)d jobs", "Jobs", True),
        ("%(n)d jobs", "%(m)d Jobs", True),
        ("%s jobs", "%d Jobs", True),
        ("jobs", "", True),
        ("jobs", None, True),
        (("%(n)d job", "%(n)d jobs"), ("%(n)d Job", "%(n)d Jobs"), False),
        (("%(n)d job", "%(n)d jobs"), ("%(n)d Job", ""), True),
    ],
)
def test_a_translation_that_is_missing_or_has_other_placeholders_is_told(text, said, is_fault):
    catalogue = catalogues.Catalog(locale="de")
    catalogue.add(text, said)

    assert bool([*catalogues.problems(catalogue)]) is is_fault
