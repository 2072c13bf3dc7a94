"""Find credentials in the response of a target, also in other encodings.

The search finds the text itself in upper or lower case, its hexadecimal digits, and its base64 form in both alphabets,
alone or within a longer text.  At the beginning of a response it also finds these forms escaped for addresses, JSON,
HTML or string literals up to LAYERS times, or broken into lines.  A target that wants to publish a credential can
always use a form that is not found.  A credential that is itself escaped is also found without its escapes.

A job can have hundreds of credentials, and a target can send a response that makes the search slow.  A text whose
search would take too long is masked as a whole, because other calls wait meanwhile.
"""

import base64
import html
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from urllib.parse import unquote

from jobs.actions.address_keys import KEY_LENGTH
from jobs.encryption import MASK

LAYERS = 3  # nested escapes, such as an address in JSON in JSON
ESCAPED_LIMIT = 65_536  # characters of a response in which escapes are undone: it takes time, and other calls wait
SEARCH_LIMIT = 200_000_000  # highest `search_cost` of one text; takes 0.2 seconds
SPANS_LIMIT = 100_000  # matches in one text
PART_LENGTH = 8  # characters; a shorter part of a credential could occur anywhere by chance
ESCAPED_LENGTH = 6  # maximum length of one escaped character in one layer: \u0041, &#x41;

# One character per match, so that a credential between other escapes is found separately
ESCAPE = re.compile(
    r"(%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+|%u[0-9a-f]{4}"
    r"|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[^ux]"
    r"|&#[0-9]{1,7};|&#x[0-9a-f]{1,6};|&[a-z]{2,8};)",
    re.IGNORECASE,
)
BREAK = re.compile(r"([\s\ufffd]+)")  # also the zeros of UTF-16, which are replaced when a text is read as UTF-8
FOLDING = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ",  # upper case, base64 for addresses, and a space in a form
    "abcdefghijklmnopqrstuvwxyz+/+",
)
# Charsets by which a text is written and then read; for a credential in ASCII they make no difference
MISREADINGS = (("latin-1", "utf-8"), ("utf-8", "latin-1"), ("utf-8", "cp1252"), ("ascii", "utf-8"))
LITERALS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}

Span = tuple[int, int]


def search_forms(*credentials: str) -> tuple[str, ...]:
    """Return the needles by which `mask_secrets` finds these credentials; empty ones and blanks are ignored."""
    readings = (reading for text in credentials if text.strip() for reading in _readings(text))
    return tuple(dict.fromkeys(form.translate(FOLDING) for reading in readings for form in _forms(reading)))


def unescaped_texts(text: str) -> Iterator[str]:
    """Yield the text, and what it is when its escapes are undone once, twice and up to LAYERS times."""
    return (layer.text for layer in _layers(text))


def longest(needles: Sequence[str]) -> int:
    """Return how many bytes of a response one credential may take."""
    return max((len(needle) for needle in needles), default=0) * ESCAPED_LENGTH


def search_cost(needles: Sequence[str], size: int) -> int:
    """Return how many characters `mask_secrets` compares at most in texts of `size` characters in total."""
    views = 2 * LAYERS + 1  # the layers, and the text itself and each layer without line breaks
    return len(needles) * (size + views * min(size, ESCAPED_LIMIT))


def mask_secrets(text: str, needles: Sequence[str], end: int | None = None) -> str:
    """Return `text` up to `end`, with the mask for each of the needles, which are results of `search_forms`.

    A credential that crosses `end` is masked as well.  If the search would take too long, only the mask is returned.
    """
    end = len(text) if end is None else end
    if search_cost(needles, len(text)) > SEARCH_LIMIT:
        return MASK
    spans = list(islice(_spans(text, needles), SPANS_LIMIT + 1))
    if len(spans) > SPANS_LIMIT:
        return MASK
    parts, position = [], 0
    for start, stop in _merged(spans):
        if start >= end:
            break
        parts += [text[position:start], MASK]
        position = stop
    return "".join([*parts, text[position:end]])


def _readings(text: str) -> Iterator[str]:
    """Yield the credential, and what a target reads that undoes its escapes and removes what carries no meaning.

    That is the blanks around it, and the padding of base64 at its end.
    """
    yield text
    for each in unescaped_texts(text):
        yield from (part for part in (each.strip(), each.strip().rstrip("=")) if len(part) >= KEY_LENGTH)


def _forms(text: str) -> Iterator[str]:
    yield from (text, text.upper(), text.lower())
    data = text.encode(errors="surrogatepass")
    encoded = base64.b64encode(data).decode()
    yield encoded
    yield encoded.rstrip("=")
    yield data.hex()
    for written, read in MISREADINGS:
        misread = text.encode(written, "replace").decode(read, "replace")
        if sum(character not in "?\ufffd" for character in misread) >= KEY_LENGTH:
            yield misread
    for offset in range(3):
        # without the characters at both ends, which contain bits of neighbouring bytes
        within = base64.b64encode(bytes(offset) + data)[-(-offset * 8 // 6) : (offset + len(data)) * 8 // 6].decode()
        if len(within) >= PART_LENGTH:
            yield within


def _spans(text: str, needles: Sequence[str]) -> Iterator[Span]:
    yield from _spans_in(DecodedText(text), needles)
    for layer in _layers(text[:ESCAPED_LIMIT]):
        if layer.source:
            yield from _spans_in(layer, needles)
        unbroken = layer.replace(BREAK, lambda _: "")
        if unbroken is not layer:
            yield from _spans_in(unbroken, [needle for needle in needles if len(needle) >= PART_LENGTH])


def _spans_in(decoded: "DecodedText", needles: Sequence[str]) -> Iterator[Span]:
    folded = decoded.text.translate(FOLDING)
    for needle in needles:
        if needle in folded:
            yield from (decoded.origin(span) for span in _found(needle, folded))


def _found(needle: str, text: str) -> Iterator[Span]:
    start = text.find(needle)
    while start >= 0:
        yield start, start + len(needle)
        start = text.find(needle, start + len(needle))


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Return the spans in order; overlapping spans are joined."""
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


@dataclass(frozen=True)
class DecodedText:
    """A text made from another one by replacing every second of its parts."""

    text: str
    source: "DecodedText | None" = None
    parts: Sequence[str] = ()  # parts of the source
    replacements: Sequence[str] = ()  # replacement for each part

    @cached_property
    def starts(self) -> list[int]:
        """The start of each part in `text`."""
        return list(accumulate(map(len, self.replacements[:-1]), initial=0))

    @cached_property
    def origins(self) -> list[int]:
        """The start of each part in the source, and the end of the last part."""
        return list(accumulate(map(len, self.parts), initial=0))

    def replace(self, pattern: re.Pattern[str], replace: Callable[[str], str]) -> "DecodedText":
        """Return a text with each match replaced, or this text itself without a match.  `pattern` must be one group."""
        parts = pattern.split(self.text)
        if len(parts) == 1:
            return self
        replacements = list(parts)
        replacements[1::2] = map(replace, parts[1::2])
        return DecodedText("".join(replacements), self, parts, replacements)

    def origin(self, span: Span) -> Span:
        """Return the corresponding span of the first text."""
        if self.source is None:
            return span
        return self.source.origin((self._source_position(span[0], 0), self._source_position(span[1] - 1, 1)))

    def _source_position(self, position: int, beyond: int) -> int:
        """Return the start of the source of a character, or with `beyond` = 1 its end."""
        part = bisect_right(self.starts, position) - 1
        if part % 2:
            return self.origins[part + beyond]
        return self.origins[part] + position - self.starts[part] + beyond


def _layers(text: str) -> Iterator[DecodedText]:
    decoded = DecodedText(text)
    yield decoded
    for _ in range(LAYERS):
        inner = decoded.replace(ESCAPE, _unescaped)
        if inner is decoded:
            return
        yield inner
        decoded = inner


def _unescaped(escape: str) -> str:
    kind = escape[:2].lower()
    if kind == "%u":
        return chr(int(escape[2:], 16))
    if kind[0] == "%":
        return unquote(escape, errors="replace")
    if kind[0] == "&":
        return html.unescape(escape)
    if kind == "\\u":
        return json.loads(f'"{escape.lower()}"')
    if kind == "\\x":
        return chr(int(escape[2:], 16))
    return LITERALS.get(escape[1], escape[1])
