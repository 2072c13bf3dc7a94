"""Recurrence rules of iCalendar compared with python-dateutil."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recurrence.wire import WireError, parse
from recurrence.wire.graph import read as read_graph
from recurrence.wire.rrule import WEEKDAYS, graph_of, read, rrule_of
from tests.recurrence.wire.graph_events import LONG_AGO, NEW_YEAR, events, first_days
from tests.recurrence.wire.rrule_times import START

YEARS = timedelta(days=5 * 366)


@st.composite
def rules(draw):
    numbers = st.one_of(st.none(), st.sampled_from([1, 2, 3, 4, 5, -1, -2, -5]))
    frequency = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "MONTHLY", "YEARLY", "YEARLY"]))
    days = st.tuples(numbers if frequency in ("MONTHLY", "YEARLY") else st.none(), st.sampled_from(WEEKDAYS))
    month_days = st.one_of(st.integers(1, 31), st.integers(-3, -1))
    clamped = st.integers(28, 31).map(lambda day: [*range(28, day + 1)])
    parts = {
        "INTERVAL": maybe(draw, st.integers(1, 4)),
        "WKST": maybe(draw, st.sampled_from(WEEKDAYS)),
        "BYDAY": maybe(draw, st.lists(days, min_size=1, max_size=3, unique=True)),
        "BYMONTH": maybe(draw, st.one_of(st.lists(st.integers(1, 12), min_size=1, max_size=3), even_months)),
        "BYMONTHDAY": maybe(draw, st.one_of(st.lists(month_days, min_size=1, max_size=2), clamped)),
        "BYSETPOS": maybe(draw, st.lists(st.sampled_from([1, 2, -1]), min_size=1, max_size=1)),
    }
    if parts["BYDAY"] is None and parts["BYMONTHDAY"] is None:
        parts["BYSETPOS"] = None
    if parts["BYDAY"]:
        parts["BYDAY"] = [f"{number or ''}{day}" for number, day in parts["BYDAY"]]
    end = draw(st.sampled_from(["", "", ";COUNT=1", ";COUNT=7", ";UNTIL=20270105T095959", ";UNTIL=20270105T100000Z"]))
    return f"FREQ={frequency}" + "".join(f";{name}={text(each)}" for name, each in parts.items() if each) + end


even_months = st.sampled_from([(1, 12), (1, 6), (3, 6), (2, 3), (4, 4), (1, 3), (1, 1)]).map(
    lambda first_and_step: [*range(first_and_step[0], 13, first_and_step[1])]
)


def maybe(draw, values):
    return draw(values) if draw(st.integers(0, 2)) == 0 else None


def text(value):
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def dateutil_days(rule, start):
    """Return the days of the rule in five years; times with Z are treated as UTC."""
    every = rrulestr(rule, dtstart=start.replace(tzinfo=UTC) if "Z" in rule else start)
    found = takewhile(lambda day: day < start + YEARS, (each.replace(tzinfo=None) for each in every))
    return [day.date() for day in found]


@given(rules(), st.dates(date(2024, 1, 1), date(2026, 12, 31)))
@settings(max_examples=150, deadline=None)
def test_days_of_a_rule_equal_those_of_dateutil(rule, day):
    start = START.replace(year=day.year, month=day.month, day=day.day)
    try:
        found = read(rule, start, start, UTC)
    except WireError as error:
        assert error.code == "never_fires"
        assert dateutil_days(rule, start) == []
        return

    end = (start + YEARS).replace(tzinfo=UTC)
    assert [each.day for each in found.occurrences(LONG_AGO, end)] == dateutil_days(rule, start)


@given(rules(), st.dates(date(2024, 1, 1), date(2026, 12, 31)), st.integers(4_000, 12_000))
@settings(max_examples=150, deadline=None)
def test_rule_has_the_days_of_dateutil_far_from_its_start(rule, day, days_later):
    assume("UNTIL" not in rule)
    start = START.replace(year=day.year, month=day.month, day=day.day)
    try:
        found = read(rule, start, start, UTC)
    except WireError:
        return

    later = start + timedelta(days=days_later)
    expected = takewhile(lambda each: each < later + YEARS, rrulestr(rule, dtstart=start).xafter(later, inc=True))
    occurrences = found.occurrences(later.replace(tzinfo=UTC), (later + YEARS).replace(tzinfo=UTC))
    assert [each.day for each in occurrences] == [each.date() for each in expected]


@given(rules(), st.dates(date(2024, 1, 1), date(2026, 12, 31)))
@settings(max_examples=300, deadline=None)
def test_days_of_a_converted_rule_equal_those_of_dateutil(rule, day):
    start = START.replace(year=day.year, month=day.month, day=day.day)
    document = graph_of(rule, start, start, UTC)
    assume(document is not None)

    first = datetime.combine(date.fromisoformat(document["range"]["startDate"]), start.time())
    found = read_graph(document, first, first, UTC).series
    end = (start + YEARS).replace(tzinfo=UTC)

    assert [each.day for each in found.occurrences(LONG_AGO, end)] == dateutil_days(rule, start)


@given(events())
@settings(max_examples=200, deadline=None)
def test_dateutil_finds_the_days_of_a_rendered_series(event):
    try:
        series = parse("outlook", event, NEW_YEAR).schedule
    except WireError:
        return
    seconds = timedelta(seconds=series.start)
    first = (datetime.combine(series.days.start, datetime.min.time()) + seconds).replace(tzinfo=series.zone)

    found = [each.date() for each in islice(rrulestr(rrule_of(series), dtstart=first), 30)]
    if series.zone == ZoneInfo("Pacific/Apia"):
        found = [day for day in found if day != date(2011, 12, 30)]  # the zone skipped this day, and a rule has no zone

    assert first_days(len(found), series) == [day.isoformat() for day in found]
    assert len(found) >= 29 or series.last_occurrence.day == found[-1]
