"""Placeholders in the content that a job sends, such as `{{ fire_time }}`, for actions with `"template": true`.

The grammar is closed: two braces, a name of NAMES, two braces.  `{{ "{{" }}` means two opening braces; closing braces
need no escape.  Values are escaped for their context, so that no name can end a JSON text or begin a parameter of an
address.
"""

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape as xml_escape

from api.json_object import JsonObject, shorten_repr
from jobs.actions.result import Context

Escape = Callable[[str], str]
Fill = Callable[[str, Escape], str]

NAMES: Mapping[str, Callable[[Context], str]] = {
    "fire_time": lambda context: f"{context.fire_at:%Y-%m-%dT%H:%M:%SZ}",
    "attempt": lambda context: str(context.attempt),
    "run_id": lambda context: str(context.run_id),
    "job.name": lambda context: context.job_name,
    "collection.name": lambda context: context.collection_name,
}
OPENING = "{{"
ANY_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}")  # also with an unknown name
PLACEHOLDER = re.compile(r"\{\{ *(?:(?P<name>" + "|".join(map(re.escape, NAMES)) + r')|"\{\{") *\}\}')


def refuse_unknown(text: str) -> None:
    """Raise ValueError if two opening braces in `text` begin no placeholder; the message quotes the first ones."""
    position = 0
    while (position := text.find(OPENING, position)) >= 0:
        match = PLACEHOLDER.match(text, position)
        if not match:
            raise ValueError(
                f"must have one of {', '.join(NAMES)} between double braces, not {shorten_repr(text[position:][:40])};"
                ' two opening braces themselves are written {{ "{{" }}'
            )
        position = match.end()


def has_only_known(text: str) -> bool:
    try:
        refuse_unknown(text)
    except ValueError:
        return False
    return True


def check(members: JsonObject, name: str, text: str) -> None:
    """Refuse the member `name` if `refuse_unknown` refuses its text."""
    try:
        refuse_unknown(text)
    except ValueError as error:
        members.fault(name, str(error), "malformed")


def filler(context: Context) -> Fill:
    """Return a function that fills in the placeholders of a text for one attempt."""

    def fill(text: str, escape: Escape) -> str:
        def value(match: re.Match[str]) -> str:
            name = match["name"]
            return escape(NAMES[name](context)) if name else OPENING

        return PLACEHOLDER.sub(value, text)

    return fill


def sample(text: str) -> str:
    """Return `text` with a letter instead of each placeholder, for checks of the filled text."""
    return PLACEHOLDER.sub("x", text)


def keep_text(text: str, escape: Escape) -> str:
    """Return `text` unchanged: the `Fill` of an action that is not a template."""
    return text


def in_uri(value: str) -> str:
    return quote(value, safe="")


def in_header(value: str) -> str:
    return re.sub(r"[^\x20-\x7e]", "", value)


def in_body(content_type: str) -> Escape:
    """Return the escape function for a body of that type.  For an unknown type, values are not escaped."""
    media = media_type(content_type)
    if is_json(content_type):
        return lambda value: json.dumps(value)[1:-1]
    if media.endswith(("/xml", "+xml", "/html")):
        return lambda value: xml_escape(value, {'"': "&quot;", "'": "&apos;"})
    if media == "application/x-www-form-urlencoded":
        return quote_plus
    return lambda value: value


def is_json(content_type: str) -> bool:
    return media_type(content_type).endswith(("/json", "+json"))


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
