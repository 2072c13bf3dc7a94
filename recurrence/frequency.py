"""How often a schedule fires, in words, with a bounded amount of work."""

from collections import Counter
from datetime import datetime, timedelta
from itertools import islice

from recurrence.counting import count_within
from recurrence.schedules import LAST_INSTANT, Schedule, between

DAY, WEEK, YEAR = timedelta(days=1), timedelta(weeks=1), timedelta(days=365)
WEEKS = 8
FEW = 50  # fire times in a year that are counted one by one; a schedule with more of them is counted by the week
MONTHS = 12


def describe_frequency(schedule: Schedule, first: datetime, left: int | None = None) -> str:
    """Return a text such as "24 runs a day", "about 3 runs a month" or "500 runs in all"; empty if it is not known.

    `first` is the fire time from which on the schedule is counted.  `left` is the run budget; None: no limit.  The cost
    is at most FEW fire times and some counts, which are arithmetic for schedules that fire often.
    """
    if first > LAST_INSTANT - YEAR:
        return ""
    few = len(list(islice(between(schedule, first, first + YEAR), FEW)))
    is_rare = few < FEW
    has_ended = schedule.after(first + YEAR) is None
    if has_ended or left is not None:
        total = few if is_rare else count_within(schedule, first, first + YEAR)
        if has_ended or (left is not None and left <= total):
            return _runs(total if left is None else min(left, total), "in all")
    return _of_year(few) if is_rare else _of_weeks(schedule, first)


def _of_year(count: int) -> str:
    if count < MONTHS:
        return f"about {_runs(count, 'a year')}"
    about = "about " if count % MONTHS else ""
    return about + _runs(round(count / MONTHS), "a month")


def _of_weeks(schedule: Schedule, first: datetime) -> str:
    starts = [first + number * WEEK for number in range(WEEKS)]
    ((usual, times),) = Counter(count_within(schedule, start, start + WEEK) for start in starts).most_common(1)
    if not usual or times < WEEKS / 2:  # it fires on few days, but often on each of them
        return _of_average(count_within(schedule, first, first + YEAR) / (YEAR / WEEK))
    if times < WEEKS - 1:  # weeks with holidays; one week may have a clock change
        return _of_average(usual)
    if usual == 7 * count_within(schedule, first, first + DAY):
        return _runs(usual // 7, "a day")
    return _runs(usual, "a week") if usual < 2 * 7 else f"{_of_average(usual)}, {usual:,} a week"


def _of_average(of_week: float) -> str:
    if of_week < 2 * 7:
        return f"about {_runs(max(round(of_week), 1), 'a week')}"
    return f"about {_runs(round(of_week / 7), 'a day')}"


def _runs(count: int, span: str) -> str:
    return f"{count:,} run{'' if count == 1 else 's'} {span}"
