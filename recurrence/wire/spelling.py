"""Sets of numbers as fields of cron expressions spell them: `*`, `*/15`, `9-17`, `1,15`, `MON-FRI`."""

from collections.abc import Sequence
from itertools import pairwise

from recurrence.bits import members

SIGNS = "*-/"  # of which a field that reads like an interval has one
SHORTEST_RUN = 3  # numbers in a row that are spelled as a range


def spelled_times(mask: int, size: int) -> str:
    """Minutes, hours or seconds of a clock, of which two may be as many as there are at equal steps: `*/30`."""
    numbers = [*members(mask)]
    if len(numbers) == 2 and numbers == [0, size // 2]:
        return f"*/{size // 2}"
    return spelled(mask, 0, size - 1)


def spelled(mask: int, low: int, high: int, names: Sequence[str] = ()) -> str:
    """The numbers in `mask`, of a field that may hold `low` to `high`; `names` are of `low` and the numbers after it.

    Steps are spelled with a star where that is the same, and not at all with names.
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
    """The numbers one by one, so that nothing reads like an interval."""
    return ",".join(map(str, members(mask)))


def without_star(text: str, low: int, high: int) -> str:
    """The same set, spelled so that it does not begin with a star."""
    return f"{low}-{high}{text[1:]}" if text.startswith("*") else text


def as_interval(text: str) -> str:
    """The same set of numbers, spelled so that it reads like an interval."""
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
