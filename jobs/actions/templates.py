"""Placeholders in what a job sends: `{{ fire_time }}` and a few more, for actions that say `"template": true`.

The grammar is closed: two braces, a name of NAMES, two braces.  `{{ "{{" }}` stands for two opening braces; closing
ones stand for themselves.  What is filled in is escaped for the place where it stands, so that no name can end a JSON
text or begin a parameter of an address.
"""

import json
import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape as xml_escape

from jobs.actions.outcome import Context
from jobs.members import Members, shown

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
PLACEHOLDER = re.compile(r"\{\{ *(?:(?P<name>" + "|".join(map(re.escape, NAMES)) + r')|"\{\{") *\}\}')


def refuse_unknown(text: str) -> None:
    """Raise ValueError, naming the first one, when two opening braces in `text` begin no placeholder."""
    position = 0
    while (position := text.find(OPENING, position)) >= 0:
        match = PLACEHOLDER.match(text, position)
        if not match:
            raise ValueError(
                f"must have one of {', '.join(NAMES)} between double braces, not {shown(text[position:][:40])};"
                ' two opening braces themselves are written {{ "{{" }}'
            )
        position = match.end()


def check(members: Members, name: str, text: str) -> None:
    """Refuse the member `name`, whose text this is, as `refuse_unknown` does."""
    try:
        refuse_unknown(text)
    except ValueError as error:
        members.refuse(name, str(error), "malformed")


def filler(context: Context) -> Fill:
    """A function that fills in the placeholders of a text for one attempt."""

    def fill(text: str, escape: Escape) -> str:
        def value(match: re.Match[str]) -> str:
            name = match["name"]
            return escape(NAMES[name](context)) if name else OPENING

        return PLACEHOLDER.sub(value, text)

    return fill


def sample(text: str) -> str:
    """`text` with a letter for each placeholder, for checking what it will be like."""
    return PLACEHOLDER.sub("x", text)


def as_it_is(text: str, escape: Escape) -> str:
    """What "fills in" the texts of an action that is no template."""
    return text


def in_uri(value: str) -> str:
    return quote(value, safe="")


def in_header(value: str) -> str:
    return re.sub(r"[^\x20-\x7e]", "", value)


def in_body(content_type: str) -> Escape:
    """The escape for a body of that type; of one that is not known, what is filled in stays as it is."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind.endswith(("/json", "+json")):
        return lambda value: json.dumps(value)[1:-1]
    if kind.endswith(("/xml", "+xml", "/html")):
        return lambda value: xml_escape(value, {'"': "&quot;", "'": "&apos;"})
    if kind == "application/x-www-form-urlencoded":
        return quote_plus
    return lambda value: value
