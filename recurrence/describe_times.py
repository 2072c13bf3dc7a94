"""Describe the times of a day, and sets of numbers, in English words: `every 15 minutes between 09:00 and 17:45`."""

from collections.abc import Callable
from datetime import tzinfo
from itertools import pairwise

from recurrence.bits import lowest, mask_of, members
from recurrence.english_words import clock, each, listed, ordinal, past_the_hour
from recurrence.times import ALL_HOURS, ALL_MINUTES, Times

MOST_CLOCKS = 6  # times of a day that are listed; more are summarized
MOST_PARTS = 12  # parts of a list; of a longer list only the number is given
SHORTEST_STEPS = 7  # members of a sequence that is described by its step

Part = tuple[int, int, int]  # the first number, the last number (included), and the step


def describe_times_in(times: Times, zone: tzinfo) -> str:
    """Return the words of the times and their zone: at 09:00 UTC, or every 20 minutes (UTC)."""
    words = describe_times(times)
    # after a time of day the zone's name stands without parentheses, after other words it needs them
    return f"{words} {zone}" if words[-1].isdigit() else f"{words} ({zone})"


def describe_times(times: Times) -> str:
    if times.per_day <= MOST_CLOCKS:
        return f"at {listed(map(clock, times))}"
    if times.seconds.bit_count() > 1:
        return _seconds_of(times)
    return _clocks_of_an_hour(times) if times.minutes.bit_count() == 1 else _minutes_of(times)


def _clocks_of_an_hour(times: Times) -> str:
    """Describe more than six times of a day that all have the same minute and second of the hour."""
    if times.hours == ALL_HOURS:
        return f"every hour at {past_the_hour(lowest(times.minutes), lowest(times.seconds))}"
    parts = parts_of(times.hours)
    if len(parts) > 1:
        return f"at {listed(map(clock, times))}"
    return f"{each(parts[0][2], 'hour')} from {clock(times.first)} to {clock(_last(times))}"


def _minutes_of(times: Times) -> str:
    second = lowest(times.seconds)
    parts, hours = parts_of(times.minutes), parts_of(times.hours)
    step = _even_step(times.minutes)
    if step:
        text = f"at second {second} of every {'' if step == 1 else f'{ordinal(step)} '}minute"
        return (text if second else each(step, "minute")) + _through(times)
    if len(parts) == 1 and times.hours.bit_count() == 1:
        return f"{each(parts[0][2], 'minute')} from {clock(times.first)} to {clock(_last(times))}"
    minutes = describe_minutes(parts, second)
    if times.hours.bit_count() == 1 or not _is_one_run(hours):
        return f"{minutes} in {describe_hours(hours)}"
    return f"every hour{'' if minutes.startswith('at ') else ','} {minutes}{_through(times)}"


def describe_minutes(parts: list[Part], second: int) -> str:
    if len(parts) > MOST_PARTS:
        return f"at {sum(map(_size, parts))} of its minutes" + (f", at second {second}" if second else "")
    if len(parts) == 1 and _size(parts[0]) > MOST_CLOCKS:
        first, last, step = parts[0]
        return f"{each(step, 'minute')} from {past_the_hour(first, second)} to {past_the_hour(last, second)}"
    return f"at {list_parts(parts, lambda minute: past_the_hour(minute, second))}"


def _seconds_of(times: Times) -> str:
    seconds = _seconds(times.seconds)
    minutes, hours = parts_of(times.minutes), parts_of(times.hours)
    has_even_step = bool(_even_step(times.seconds))
    if times.minutes == ALL_MINUTES:
        return seconds + ("" if has_even_step else " of every minute") + _through(times)
    if has_even_step and times.hours.bit_count() == 1 and _is_one_run(minutes):
        return seconds + _between(times)
    of_hours = "every hour" if times.hours == ALL_HOURS else describe_hours(hours)
    return f"{seconds} {'in' if has_even_step else 'of'} {_which_minutes(minutes)} of {of_hours}"


def _seconds(mask: int) -> str:
    step, parts = _even_step(mask), parts_of(mask)
    if step:
        return each(step, "second")
    if len(parts) > MOST_PARTS:
        return f"at {mask.bit_count()} seconds"
    if len(parts) == 1 and parts[0][2] > 1:
        first, last, step = parts[0]
        return f"every {step} seconds from second {first} to second {last}"
    return f"at the seconds {list_parts(parts, str)}"


def _which_minutes(parts: list[Part]) -> str:
    if len(parts) > MOST_PARTS:
        return f"{sum(map(_size, parts))} minutes"
    if len(parts) == 1 and parts[0][2] > 1:
        first, last, step = parts[0]
        return f"every {ordinal(step)} minute from {past_the_hour(first, 0)} to {past_the_hour(last, 0)}"
    is_one = len(parts) == 1 and _size(parts[0]) == 1
    return f"the minute{'' if is_one else 's'} {list_parts(parts, lambda minute: past_the_hour(minute, 0))}"


def describe_hours(parts: list[Part]) -> str:
    if len(parts) == 1 and parts[0][2] > 1:
        first, last, step = parts[0]
        return f"every {ordinal(step)} hour from {first:02} to {last:02}"
    is_one = len(parts) == 1 and _size(parts[0]) == 1
    return f"the hour{'' if is_one else 's'} {list_parts(parts, lambda hour: f'{hour:02}')}"


def _through(times: Times) -> str:
    """Return in which hours; an empty text for all hours."""
    if times.hours == ALL_HOURS:
        return ""
    hours = parts_of(times.hours)
    return _between(times) if _is_one_run(hours) else f" in {describe_hours(hours)}"


def _between(times: Times) -> str:
    if times.seconds.bit_count() == 1:
        return f" between {clock(times.first)} and {clock(_last(times))}"
    return f" between {_clock_to_the_second(times.first)} and {_clock_to_the_second(_last(times))}"


def _even_step(mask: int) -> int:
    """Return the step of a set that divides a minute or an hour evenly from its beginning; else 0."""
    number = mask.bit_count()
    step = 60 // number
    return step if number > 1 and number * step == 60 and mask == mask_of(range(0, 60, step)) else 0


def _last(times: Times) -> int:
    hour, minute, second = (mask.bit_length() - 1 for mask in (times.hours, times.minutes, times.seconds))
    return hour * 3600 + minute * 60 + second


def _clock_to_the_second(second_of_day: int) -> str:
    return f"{second_of_day // 3600:02}:{second_of_day // 60 % 60:02}:{second_of_day % 60:02}"


# Sets of numbers


def parts_of(mask: int) -> list[Part]:
    """Return a long sequence with equal steps as one part, any other set as its runs."""
    numbers = [*members(mask)]
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    if len(numbers) >= SHORTEST_STEPS and len(steps) == 1:
        return [(numbers[0], numbers[-1], steps.pop())]
    return runs_of(mask)


def runs_of(mask: int) -> list[Part]:
    """Return three or more consecutive numbers as one part, each other number as its own part."""
    runs: list[list[int]] = []
    for number in members(mask):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts: list[Part] = []
    for run in runs:
        parts += [(run[0], run[-1], 1)] if len(run) > 2 else [(number, number, 1) for number in run]
    return parts


def _is_one_run(parts: list[Part]) -> bool:
    return all(step == 1 for _, _, step in parts) and all(
        later == earlier + 1 for (_, earlier, _), (later, _, _) in pairwise(parts)
    )


def _size(part: Part) -> int:
    first, last, step = part
    return (last - first) // step + 1


def list_parts(parts: list[Part], word: Callable[[int], str]) -> str:
    return listed(word(first) if first == last else f"{word(first)} to {word(last)}" for first, last, _ in parts)
