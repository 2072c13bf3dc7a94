"""The catalogues of translations are complete, up to date and compiled."""

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


def test_every_language_except_english_has_a_catalogue():
    others = {to_locale(code) for code, _ in settings.LANGUAGES} - {"en"}

    assert set(catalogues.LANGUAGES) == others
    assert {path.name for path in catalogues.LOCALE.iterdir()} == others


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_every_text_is_translated(language, texts):
    faults = [*catalogues.problems(catalogues.updated(language, texts))]

    assert not faults, "run `make texts`, then translate:\n" + "\n".join(faults)


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_catalogue_has_exactly_the_texts_of_the_code(language, texts):
    path = catalogues.file_of(language)

    assert catalogues.written(catalogues.updated(language, texts)) == path.read_text(), "run `make texts`"


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_compiled_catalogue_equals_its_source(language):
    path = catalogues.file_of(language)
    compiled = BytesIO(catalogues.compiled(catalogues.read(language)))

    with path.with_suffix(".mo").open("rb") as committed:
        assert entries(committed) == entries(compiled), "run `make texts`"


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
@pytest.mark.parametrize("text", sorted(catalogues.TEXTS_OF_DJANGO))
def test_texts_that_our_catalogues_leave_out_are_translated_by_django(text, language, texts):
    plural = text.replace("error", "errors")

    assert texts.get(text) is None
    with translation.override(language.replace("_", "-").lower()):
        translated = {translation.ngettext(text, plural, count) for count in (1, 2)}
    assert len(translated) == 2
    assert not translated & {text, plural}


def test_our_texts_do_not_replace_djangos_names_of_months_and_days(texts):
    """Our translations take precedence: "May" as a verb would be used for the month."""
    date_names = {*MONTHS.values(), *WEEKDAYS.values(), *WEEKDAYS_ABBR.values(), *MONTHS_3.values()}

    assert [word for word in map(str, date_names) if texts.get(word)] == []


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
def test_texts_of_a_template_are_extracted(tmp_path, monkeypatch, text, is_found):
    monkeypatch.setattr(catalogues, "BASE_DIR", tmp_path)
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "x.html").write_text(text)

    assert (catalogues.extracted().get("Hello") is not None) is is_found


def test_singular_with_two_different_plurals_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogues, "BASE_DIR", tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "x.py").write_text(
        'ngettext("every day", "%d days", 1) + ngettext("every day", "%d times", 1)'
    )

    with pytest.raises(ValueError, match="two plurals"):
        catalogues.extracted()


@pytest.mark.parametrize(
    "text, translated, is_fault",
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
def test_missing_translation_and_wrong_placeholders_are_reported(text, translated, is_fault):
    catalogue = catalogues.Catalog(locale="de")
    catalogue.add(text, translated)

    assert bool([*catalogues.problems(catalogue)]) is is_fault
