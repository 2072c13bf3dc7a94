"""What an event's body says, as HTML and as plain text, whichever of them it is kept as."""

import re
from collections.abc import Iterator
from html import escape, unescape

PREVIEW_LENGTH = 255  # characters
LOOKED_AT = 10_000  # characters of a body that its preview is made from

TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^<>]*>|<[!?/][^<>]*>")
UNSEEN = {name: re.compile(f"</{name}[^<>]*>", re.IGNORECASE) for name in ("head", "style", "script", "title")}
BLOCKS = ("p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6")
BLANKS = re.compile(r"\s+")


def shown_as(body_type: str, body: str, wanted: str) -> str:
    """The body in the wanted form, `text` or `html`."""
    if body_type == wanted:
        return body
    return text_of(body) if wanted == "text" else html_of(body)


def html_of(text: str) -> str:
    return escape(text, quote=False).replace("\r\n", "\n").replace("\n", "<br>\n")


def text_of(html: str) -> str:
    """What a reader sees of the HTML.  One pass, whatever the HTML is like; it is nothing that a page may show raw."""
    lines = "".join(seen_in(html)).split("\n")
    return "\n".join(line.strip() for line in lines).strip()


def seen_in(html: str) -> Iterator[str]:
    position = 0
    while (opened := html.find("<", position)) >= 0:
        yield unescape(BLANKS.sub(" ", html[position:opened]))
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
        elif name in UNSEEN and not tag[1]:
            end = UNSEEN[name].search(html, position)
            position = end.end() if end else len(html)
    yield unescape(BLANKS.sub(" ", html[position:]))


def preview_of(body_type: str, body: str) -> str:
    return shown_as(body_type, body[:LOOKED_AT], "text")[:PREVIEW_LENGTH]
