"""Check that time grows in proportion to the length of an input.

Ratios of CPU time are compared, so that the result does not depend on other work of the machine.

Lengths grow in steps, so that exponential time is found before the test hangs.  Times below MEASURABLE_S are not
compared: at 8,000 characters, quadratic time is longer than this if a step takes 0.2 ns or more.  A step of a regular
expression takes more than 1 ns.
"""

import time
from collections.abc import Callable
from typing import Any

FIRST_LENGTH, STEP = 22, 8
MEASURABLE_S = 0.005
MOST_GROWTH = 3  # for twice the length; linear time grows 2 times, quadratic time 4 times
ATTEMPTS = 20


def assert_linear(work: Callable[[Any], object], input_of: Callable[[int], Any], longest: int) -> None:
    """Call `work` with `input_of(length)` for growing lengths up to `longest`."""
    length = min(FIRST_LENGTH, longest)
    while True:
        short, long = input_of(length // 2), input_of(length)
        assert grows_linearly(work, short, long), f"{input_of(20)!r:.80}, {length} characters"
        if length == longest:
            return
        length = min(STEP * length, longest)


def grows_linearly(work: Callable[[Any], object], short: Any, long: Any) -> bool:
    """Return True as soon as the shortest times so far are in proportion; False after ATTEMPTS measurements."""
    before = after = float("inf")
    for _ in range(ATTEMPTS):
        after = min(after, seconds(work, long))
        if after < MEASURABLE_S:
            return True
        before = min(before, seconds(work, short))
        if after < MOST_GROWTH * before:
            return True
    return False


def seconds(work: Callable[[Any], object], value: Any) -> float:
    began = time.thread_time()
    work(value)
    return time.thread_time() - began
