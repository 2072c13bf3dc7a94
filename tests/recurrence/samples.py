"""Instants, documents and Hypothesis strategies that the tests of the engine share."""

from datetime import UTC, date, datetime, timedelta
from itertools import groupby, islice

from hypothesis import strategies as st

from recurrence.days import EveryNDays, MonthDay, MonthDays, NthOfWeekdays, NthWeekdays, Weekly
from recurrence.schedules import FIRST_INSTANT, just_before
from recurrence.times import Times

CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday

FREQUENCIES = {"minute": 1000, "hour": 1000, "day": 548, "week": 78, "month": 18}
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def walk(schedule, instant):
    """Yield the fire times from `instant` on, by repeated calls of `after`."""
    fire = schedule.after(just_before(instant))
    while fire is not None:
        yield fire
        fire = schedule.after(fire)


def first(number, schedule, instant=FIRST_INSTANT):
    return list(islice(walk(schedule, instant), number))


def by_day(fires):
    """Write fire times as "01-05 08:00 17:00, 01-06 08:00"."""
    days = groupby(fires, key=datetime.date)
    return ", ".join(f"{day:%m-%d} {' '.join(f'{fire:%H:%M}' for fire in of_day)}" for day, of_day in days)


def instants(low=CREATED_AT, years=12):
    return st.integers(0, years * 366 * 86_400).map(lambda second: low + timedelta(seconds=second))


def number_sets(low, high, most=6):
    return st.sets(st.integers(low, high), min_size=1, max_size=most)


def intervals(highest):
    return st.one_of(st.just(1), st.integers(1, min(5, highest)), st.integers(1, highest))


def times(most_hours=6, most_minutes=6):
    return st.builds(
        lambda hours, minutes, second: Times.of(hours, minutes, [second]),
        number_sets(0, 23, most_hours),
        number_sets(0, 59, most_minutes),
        st.integers(0, 59),
    )


def date_rules():
    starts = st.dates(date(2015, 1, 1), date(2027, 12, 31))
    month_days = st.integers(-31, 31).filter(bool)
    nth = st.tuples(st.integers(0, 6), st.one_of(st.none(), st.integers(-5, 5).filter(bool)))
    return st.one_of(
        numbered_rules(),
        st.builds(MonthDays, starts, st.frozensets(month_days, min_size=1, max_size=4), intervals(18)),
        st.builds(NthWeekdays, starts, st.frozensets(nth, min_size=1, max_size=4), intervals(18)),
    )


def numbered_rules():
    starts = st.dates(date(2015, 1, 1), date(2027, 12, 31))
    weekdays = st.frozensets(st.integers(0, 6), min_size=1)
    return st.one_of(
        st.builds(EveryNDays, starts, intervals(548)),
        st.builds(Weekly, starts, weekdays, intervals(78), st.integers(0, 6)),
        st.builds(MonthDay, starts, st.integers(1, 31), intervals(36)),
        st.builds(NthOfWeekdays, starts, weekdays, st.integers(-4, 4).filter(bool), intervals(36)),
    )


def one_or_list(values):
    """Draw a single value, or a list of values that may have repetitions, as the wire format allows."""
    return st.one_of(values, st.lists(values, min_size=1, max_size=5))


@st.composite
def plans(draw, frequency):
    plan = {}
    if draw(st.booleans()):
        plan["minutes"] = draw(one_or_list(st.integers(0, 59)))
    if draw(st.booleans()):
        plan["hours"] = draw(one_or_list(st.integers(0, 23)))
    if frequency == "week" and draw(st.booleans()):
        plan["weekDays"] = draw(one_or_list(st.sampled_from(WEEKDAYS)))
    if frequency == "month":
        plan |= draw(st.one_of(st.just({}), month_days(), monthly_occurrences()))
    return plan


def month_days():
    days = st.one_of(st.integers(1, 31), st.integers(-31, -1))
    return st.fixed_dictionaries({"monthDays": one_or_list(days)})


def monthly_occurrences():
    number = st.one_of(st.integers(1, 5), st.integers(-5, -1))
    occurrence = st.fixed_dictionaries({"day": st.sampled_from(WEEKDAYS)}, optional={"occurrence": number})
    return st.fixed_dictionaries({"monthlyOccurrences": st.lists(occurrence, min_size=1, max_size=3)})


@st.composite
def documents(draw, created_at=CREATED_AT):
    """Draw Azure documents that `parse` accepts, with starts from eleven years ago to one year ahead."""
    document = {}
    start = draw(st.one_of(st.none(), st.integers(-11 * 366 * 86_400, 366 * 86_400)))
    if start is not None:
        document["startTime"] = wire(created_at + timedelta(seconds=start))
    if draw(st.integers(0, 9)) == 0:
        return document
    frequency = draw(st.sampled_from([*FREQUENCIES]))
    recurrence = {"frequency": frequency}
    if draw(st.booleans()):
        recurrence["interval"] = draw(intervals(FREQUENCIES[frequency]))
    if draw(st.integers(0, 3)) == 0:
        recurrence["count"] = draw(st.integers(1, 400))
    if draw(st.integers(0, 3)) == 0:
        days = draw(st.integers(367, 4000))
        recurrence["endTime"] = wire(created_at + timedelta(days=days))
    if draw(st.integers(0, 3)):
        recurrence["schedule"] = draw(plans(frequency))
    return document | {"recurrence": recurrence}


def wire(instant):
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")
