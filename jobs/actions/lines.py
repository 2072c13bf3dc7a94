"""A target's words, on one line and cut off when long: as a sentence of history can repeat them."""

import re


def shortened(text: str, limit: int) -> str:
    """`text` without what a terminal or a column would stumble over."""
    words = " ".join(re.sub(r"[^ -~\xa0-\ud7ff\ue000-\U0010ffff]", " ", text).split())
    return words if len(words) <= limit else f"{words[:limit]}…"
