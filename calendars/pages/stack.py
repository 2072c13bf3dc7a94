"""Room on the stack for templates.

CPython keeps the frames of Python functions in chunks of 16 KiB, and gives a chunk back as soon as it is empty.  A loop
whose calls cross the edge of one asks for memory and returns it each time: rendering takes two to four times as long,
or not, as the number of functions beneath it happens to be.
"""

from collections.abc import Callable
from typing import Any

SLOTS = 9_000  # of eight bytes: with what that is rounded up to, a chunk in which a page finds room


def with_room(function: Callable[..., Any], *args: Any) -> Any:
    """Call it on top of a frame so large that all calls within have one chunk."""
    return function(*args)


with_room.__code__ = with_room.__code__.replace(co_stacksize=SLOTS)
