"""The version of an event that a viewer has read. Forms carry it, so that nobody overwrites a later version."""

import re

REVISION = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)
SOME_PAST = (0, 0)  # no event has this revision


def revision_text(revision: tuple[int, int]) -> str:
    return "{}.{}".format(*revision)


def revision_in(text: str) -> tuple[int, int]:
    """Parse a revision; return SOME_PAST, which matches no event, for any other text."""
    match = REVISION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else SOME_PAST
