"""The body of an event as HTML and as plain text.

The text of an HTML body is computed when the body is written and stored with it.  Reading converts no HTML: somebody
else chooses the HTML, and one event may be read as thousands of occurrences.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape, unescape
from typing import Any

from calendars.models import BodyType, Details

BODY = ("body_type", "body", "body_text")  # names of Details that change together
PREVIEW_LENGTH = 255  # characters

# Possessive repetitions: a tag without an end is read once, and no part of it is tried again.
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>|<[!?/][^<>]*+>")
HIDDEN_TAGS = {name: re.compile(f"</{name}[^<>]*+>", re.IGNORECASE) for name in ("head", "style", "script", "title")}
BLOCKS = ("p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6")
BLANKS = re.compile(r"\s+")
LONG_REFERENCE = re.compile(r"&#([0-9]{8,}+)")
REFERENCE_DIGITS = 8  # enough for any number beyond the last character


def complete_body(changes: Mapping[str, Any], present: Mapping[str, Any]) -> dict[str, Any]:
    """Return `changes` to details with the whole body in place of a part of it: its type, its content and its text.

    `present` holds the type and the content that are not changed.
    """
    if "body" not in changes and "body_type" not in changes:
        return dict(changes)
    body_type, body = (changes.get(name, present[name]) for name in ("body_type", "body"))
    text = text_of(body) if body_type == BodyType.HTML else ""
    return {**changes, "body_type": body_type, "body": body, "body_text": text}


def get_plain_text(details: Details) -> str:
    return details.body_text if details.body_type == BodyType.HTML else details.body


def convert_body(wanted: str, details: Details) -> str:
    """Return the body in the wanted form, `text` or `html`."""
    if details.body_type == wanted:
        return details.body
    return get_plain_text(details) if wanted == BodyType.TEXT else html_of(details.body)


def preview_of(details: Details) -> str:
    return get_plain_text(details)[:PREVIEW_LENGTH]


def html_of(text: str) -> str:
    return escape(text, quote=False).replace("\r\n", "\n").replace("\n", "<br>\n")


def text_of(html: str) -> str:
    """Return the visible text of the HTML, in linear time for any HTML.  A page must escape the text."""
    lines = "".join(visible_text(html)).split("\n")
    return "\n".join(line.strip() for line in lines).strip()


def visible_text(html: str) -> Iterator[str]:
    position = 0
    while (opened := html.find("<", position)) >= 0:
        if opened > position:
            yield decode_run(html[position:opened])
        if html.startswith("<!--", opened):
            closed = html.find("-->", opened)
            position = closed + 3 if closed >= 0 else len(html)
            continue
        tag = TAG.match(html, opened)
        if tag is None:
            yield "<"
            position = opened + 1
            continue
        position = tag.end()
        name = (tag[2] or "").lower()
        if name == "br" or (name in BLOCKS and tag[1]):
            yield "\n"
        elif name in HIDDEN_TAGS and not tag[1]:
            end = HIDDEN_TAGS[name].search(html, position)
            position = end.end() if end else len(html)
    yield decode_run(html[position:])


def decode_run(run: str) -> str:
    """Return the text between two tags, with character references replaced and white space joined."""
    return unescape(LONG_REFERENCE.sub(shorten_reference, BLANKS.sub(" ", run)))


def shorten_reference(reference: re.Match[str]) -> str:
    """Return the reference without leading zeros and with few digits.  Python refuses numbers of over 4300 digits."""
    return "&#" + (reference[1].lstrip("0")[:REFERENCE_DIGITS] or "0")
