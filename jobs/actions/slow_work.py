"""Do slow work of a call outside of the event loop, so that no other call waits for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# one thread: with more, the slow work of a few jobs would take more of the interpreter from the event loop
EXECUTOR = ThreadPoolExecutor(max_workers=1, thread_name_prefix="slow-work")


async def run(
    is_slow: bool, function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result:
    """Return the result of the function.  A slow one runs in the thread for slow work, any other one at once."""
    if not is_slow:
        return function(*args, **kwargs)
    return await asyncio.wrap_future(EXECUTOR.submit(function, *args, **kwargs))
