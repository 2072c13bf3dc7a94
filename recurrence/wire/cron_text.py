"""Format sets of numbers as fields of cron expressions: `*`, `*/15`, `9-17`, `1,15`, `MON-FRI`."""

from collections.abc import Sequence
from itertools import pairwise

from recurrence.bits import members

SIGNS = "*-/"  # a field with one of these signs reads like an interval
SHORTEST_RUN = 3  # consecutive numbers that are written as a range


def format_times(mask: int, size: int) -> str:
    """Return the field of a set of minutes, hours or seconds; also two numbers at equal steps get a step: `*/30`."""
    numbers = [*members(mask)]
    if len(numbers) == 2 and numbers == [0, size // 2]:
        return f"*/{size // 2}"
    return format_field(mask, 0, size - 1)


def format_field(mask: int, low: int, high: int, names: Sequence[str] = ()) -> str:
    """Return the field for the numbers in `mask`; the field may hold `low` to `high`, both included.

    `names` are the names of `low` and the numbers after it.  Steps are written with a star if the star has the same
    meaning.  With names there are no steps.
    """
    numbers = [*members(mask)]
    if len(numbers) == high - low + 1:
        return "*"
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    if not names and len(numbers) >= SHORTEST_RUN and len(steps) == 1 and (step := steps.pop()) > 1:
        is_whole = numbers[0] == low and numbers[-1] + step > high
        return f"*/{step}" if is_whole else f"{numbers[0]}-{numbers[-1]}/{step}"
    words = [names[number - low] if names else str(number) for number in range(low, high + 1)]
    return ",".join(_run(words[run[0] - low : run[-1] - low + 1]) for run in _runs(numbers))


def listed(mask: int) -> str:
    """Return the numbers one by one, so that the field does not read like an interval."""
    return ",".join(map(str, members(mask)))


def without_star(text: str, low: int, high: int) -> str:
    """Return a field for the same set of numbers that does not begin with a star."""
    return f"{low}-{high}{text[1:]}" if text.startswith("*") else text


def as_interval(text: str) -> str:
    """Return a field for the same set of numbers that reads like an interval."""
    if any(sign in text for sign in SIGNS):
        return text
    first, comma, rest = text.partition(",")
    return f"{first}-{first}{comma}{rest}"


def _run(words: list[str]) -> str:
    return f"{words[0]}-{words[-1]}" if len(words) >= SHORTEST_RUN else ",".join(words)


def _runs(numbers: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
