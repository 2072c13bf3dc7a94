"""Shorten texts of a target, so that a sentence of the history can contain them."""

import re


def shorten(text: str, limit: int) -> str:
    """Return `text` on one line, at most `limit` characters, without characters unfit for a terminal or a column."""
    line = " ".join(re.sub(r"[^ -~\xa0-\ud7ff\ue000-\U0010ffff]", " ", text).split())
    return line if len(line) <= limit else f"{line[:limit]}…"
