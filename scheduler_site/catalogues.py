"""Bring the catalogues of translations up to date with the texts of pages: `make texts`.

Afterwards, translate the texts that it lists, and run it again.  It needs Babel, which an installation does not have:
an installation reads the compiled catalogues.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

BASE_DIR = Path(__file__).resolve().parent.parent
LOCALE = BASE_DIR / "locale"
LANGUAGES = ("de", "pt_BR", "tr")
PACKAGES = (
    *("accounts", "calendars", "jobs", "maintenance", "operations", "recurrence", "scheduler_site", "triggers"),
)
KEYWORDS = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"), (1,)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
# texts of Django's admin that our templates repeat: Django translates them
TEXTS_OF_DJANGO = {"Please correct the error below."}
WRITTEN_AT = datetime(2026, 1, 1, tzinfo=UTC)  # in headers, so that they do not change; the history has the real date
PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[sd]|\{\w*\}")


def main() -> None:
    texts = extracted()
    for language in LANGUAGES:
        catalogue = updated(language, texts)
        path = file_of(language)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(written(catalogue))
        path.with_suffix(".mo").write_bytes(compiled(catalogue))
        missing = [*problems(catalogue)]
        print(f"{language}: {len(catalogue)} texts, {len(missing)} to correct")
        for problem in missing:
            print(f"  {problem}")


def extracted() -> Catalog:
    """Return all texts of templates and Python modules that use gettext, each with its files."""
    texts = Catalog(charset="utf-8")
    for path in sources():
        text = path.read_text()
        if path.suffix != ".py":
            text = "\n".join(line.lstrip() for line in templatize(text).splitlines())
        for _, message, _, context in extract("python", BytesIO(text.encode()), KEYWORDS):
            if forms(message)[0] in TEXTS_OF_DJANGO:
                continue
            refuse_two_plurals(texts, message, context)
            texts.add(message, context=context, locations=[(str(path.relative_to(BASE_DIR)), 0)])
    return texts


def refuse_two_plurals(texts: Catalog, message: str | tuple[str, ...], context: str | None) -> None:
    """Raise ValueError if another text has the same singular with another plural: gettext stores only one of them."""
    known = texts.get(message[0], context) if isinstance(message, tuple) else None
    if known and known.pluralizable and tuple(known.id) != message:
        raise ValueError(f"{message[0]!r} has two plurals, {known.id[1]!r} and {message[1]!r}; give one a context")


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (path for path in sorted((BASE_DIR / package).rglob("*.py")) if "migrations" not in path.parts)
    yield from (path for path in sorted((BASE_DIR / "templates").rglob("*")) if path.suffix in (".html", ".txt"))


def file_of(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def read(language: str) -> Catalog:
    path = file_of(language)
    return read_po(StringIO(path.read_text() if path.exists() else ""), locale=language, charset="utf-8")


def updated(language: str, texts: Catalog) -> Catalog:
    """Return the language's catalogue with all present texts, and without texts that no longer exist."""
    catalogue = read(language)
    catalogue.update(texts, no_fuzzy_matching=True, update_header_comment=False)
    catalogue.obsolete.clear()
    return catalogue


def written(catalogue: Catalog) -> str:
    buffer = BytesIO()
    write_po(buffer, normalize(catalogue), width=0, sort_output=True, include_lineno=False)
    return re.sub(r'"Generated-By: .*\n', "", buffer.getvalue().decode())


def compiled(catalogue: Catalog) -> bytes:
    buffer = BytesIO()
    write_mo(buffer, normalize(catalogue))
    return buffer.getvalue()


def normalize(catalogue: Catalog) -> Catalog:
    """Give `catalogue` headers that do not depend on when and where it was written, and return it."""
    catalogue.creation_date = catalogue.revision_date = WRITTEN_AT
    catalogue.project, catalogue.version, catalogue.header_comment = "Quando", "1", ""
    catalogue.last_translator = catalogue.language_team = catalogue.msgid_bugs_address = ""
    return catalogue


def problems(catalogue: Catalog) -> Iterator[str]:
    """Yield what a translator still has to do: texts without translation, or with other placeholders in it."""
    for message in (each for each in catalogue if each.id):
        texts, translations = forms(message.id), forms(message.string or "")  # Babel has None for a new text
        if message.fuzzy or not all(translations):
            yield f"not translated: {shown(message)}"
        elif [*map(placeholders, texts)] != [*map(placeholders, translations)]:
            yield f"other placeholders: {shown(message)}"


def forms(text) -> list[str]:
    """Return the singular and the plural, or the only form."""
    return [text] if isinstance(text, str) else [*text]


def placeholders(text: str) -> list[str]:
    return sorted(set(PLACEHOLDER.findall(text)))


def shown(message: Message) -> str:
    text = forms(message.id)[0]
    return f"{message.context}: {text!r}" if message.context else repr(text)


if __name__ == "__main__":
    main()
