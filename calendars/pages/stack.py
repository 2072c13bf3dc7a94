"""Reserve stack memory for the rendering of templates.

CPython keeps the frames of Python functions in chunks of 16 KiB, and frees a chunk as soon as it is empty. A loop
whose calls cross the border of a chunk allocates and frees memory in each iteration. Rendering then takes two to four
times as long. Whether this happens depends only on the depth of the stack below. `bench.calendar_page` measures it.
"""

from collections.abc import Callable
from typing import Any

STACK_SLOTS = 9_000  # of eight bytes; the chunk, rounded up from that, is large enough for a page


def call_with_reserved_stack(function: Callable[..., Any], *args: Any) -> Any:
    """Call the function above a frame so large that all its calls share one chunk."""
    return function(*args)


call_with_reserved_stack.__code__ = call_with_reserved_stack.__code__.replace(co_stacksize=STACK_SLOTS)
