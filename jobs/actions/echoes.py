"""By what an answer would repeat a credential: the text itself, and as documents and addresses spell it."""

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus


def spellings(*credentials: str) -> tuple[str, ...]:
    """Each once, with those of JSON, of an address, of HTML and of base64; empty ones do not count."""
    return tuple(dict.fromkeys(text for credential in credentials if credential for text in _spelled(credential)))


def _spelled(text: str) -> Iterator[str]:
    yield text
    yield base64.b64encode(text.encode()).decode()
    yield html.escape(text)
    for written in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield written
        yield written.replace("/", r"\/")
    for encoded in (quote(text, safe=""), quote(text), quote_plus(text)):
        yield encoded
        yield re.sub("%..", lambda match: match[0].lower(), encoded)
