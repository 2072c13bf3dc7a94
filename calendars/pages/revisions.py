"""Which state of an event a viewer has read: a form carries it along, so that no later one is overwritten."""

import re

REVISION = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)
SOME_PAST = (0, 0)  # a revision that nothing has any more


def revision_text(revision: tuple[int, int]) -> str:
    return "{}.{}".format(*revision)


def revision_in(text: str) -> tuple[int, int]:
    """What a viewer has read; what is no revision is none that anything has."""
    match = REVISION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else SOME_PAST
