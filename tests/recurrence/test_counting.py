from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence import wire
from recurrence.closed_days import ClosedDays
from recurrence.composites import Bounded, FirstThen
from recurrence.counting import count_within
from recurrence.days import EveryNDays
from recurrence.rules import CalendarRule
from recurrence.schedules import Every, Once, between
from recurrence.times import Times
from recurrence.zones import Fold, Gap
from tests.recurrence.samples import CREATED_AT, date_rules, documents, instants, times, utc
from tests.recurrence.wire.graph_events import event

ZONES = (
    "Europe/Berlin",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",
    "America/New_York",
)
EXPRESSIONS = ("0 0/5 * * * ?", "*/30 * * * * ?", "0 */7 2-3 * * ?", "15 30 1,2 ? * SUN", "0 0 0/2 L * ?")


def count_by_walking(schedule, start, end):
    return sum(1 for _ in between(schedule, start, end))


def quartz(expression, zone, **fields):
    return wire.parse("quartz", {"expression": expression, "timeZone": zone, **fields}, CREATED_AT).schedule


def windows(low=CREATED_AT, years=3, most_days=40):
    lengths = st.integers(-3600, most_days * 86_400).map(lambda second: timedelta(seconds=second))
    return st.tuples(instants(low, years), lengths).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), st.sampled_from(["cron", "quartz"]), windows())
def test_count_of_a_quartz_expression_equals_a_walk(expression, zone, clock_change, window):
    schedule = quartz(expression, zone, clockChange=clock_change)

    assert count_within(schedule, *window) == count_by_walking(schedule, *window)


@given(documents(), windows(most_days=10))
def test_count_of_an_azure_recurrence_equals_a_walk(document, window):
    schedule = wire.parse("azure", document, CREATED_AT).schedule

    assert count_within(schedule, *window) == count_by_walking(schedule, *window)


POLICIES = st.fixed_dictionaries(
    {"gap": st.sampled_from(["next", "shift", "skip"]), "repeat": st.sampled_from(["first", "second", "both"])}
)


@given(documents(), st.sampled_from(ZONES), st.sampled_from(["cron", "quartz"]) | POLICIES, windows(most_days=10))
def test_count_of_an_azure_recurrence_in_a_zone_equals_a_walk(document, zone, clock_change, window):
    schedule = wire.parse("azure", document | {"timeZone": zone, "clockChange": clock_change}, CREATED_AT).schedule

    assert count_within(schedule, *window) == count_by_walking(schedule, *window)


@given(st.sampled_from(ZONES), POLICIES, st.sampled_from(["00:00", "02:30", "01:30"]), windows(most_days=400))
def test_count_of_a_series_with_a_policy_equals_a_walk(zone, policy, time, window):
    series = event({"type": "daily"}, start=f"2026-01-05T{time}:00", zone=zone)
    schedule = wire.parse("outlook", series | {"clockChange": policy}, CREATED_AT).schedule

    assert count_within(schedule, *window) == count_by_walking(schedule, *window)


@given(
    st.builds(
        CalendarRule,
        date_rules(),
        times(),
        st.sampled_from([UTC, *map(ZoneInfo, ZONES)]),
        st.sampled_from(Gap),
        st.sampled_from(Fold),
    ),
    windows(utc("2018-01-01T00:00Z"), 10, 400),
)
def test_count_of_a_calendar_rule_equals_a_walk(rule, window):
    assert count_within(rule, *window) == count_by_walking(rule, *window)


@pytest.mark.parametrize(
    "expression, day, fires",
    [
        ("0 0/5 * * * ?", "2026-10-24", 288),
        ("0 0/5 * * * ?", "2026-10-25", 300),
        ("0 0/5 * * * ?", "2026-03-29", 276),
        ("0 0 2 * * ?", "2026-10-25", 1),  # a fixed time fires only once in the repeated hour
    ],
)
def test_count_on_days_with_a_clock_change(expression, day, fires):
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo("Europe/Berlin"))
    end = start + timedelta(days=1)

    assert count_within(quartz(expression, "Europe/Berlin"), start.astimezone(UTC), end.astimezone(UTC)) == fires


@pytest.mark.parametrize(
    "schedule, fires",
    [
        (Once(utc("2026-01-05T08:00Z")), 1),
        (Once(utc("2026-01-06T00:00Z")), 0),  # the end is exclusive
        (Every(timedelta(minutes=5), utc("2026-01-05T12:00Z")), 144),
        (FirstThen(utc("2026-01-05T11:58Z"), Every(timedelta(hours=1), utc("2020-01-01T00:00Z"))), 13),
        (FirstThen(utc("2026-01-07T00:00Z"), Every(timedelta(hours=1), utc("2020-01-01T00:00Z"))), 0),
        (Bounded(Every(timedelta(hours=1), utc("2020-01-01T00:00Z")), None, utc("2026-01-05T03:00Z")), 4),
    ],
)
def test_count_of_simple_schedules_in_a_day(schedule, fires):
    assert count_within(schedule, utc("2026-01-05T00:00Z"), utc("2026-01-06T00:00Z")) == fires


def test_count_in_an_empty_window_is_zero():
    assert count_within(quartz("* * * * * ?", "UTC"), CREATED_AT, CREATED_AT - timedelta(days=1)) == 0


def test_last_days_of_the_calendar_are_counted():
    rule = CalendarRule(EveryNDays(date(2026, 1, 1)), Times.of([1, 2], [0, 30]), ZoneInfo("Asia/Kolkata"))
    start, end = utc("9999-12-20T00:00Z"), datetime.max.replace(tzinfo=UTC)

    assert count_within(rule, start, end) == count_by_walking(rule, start, end) > 40


ONLY_FRIDAYS = ClosedDays.of({"weekend": ["saturday", "sunday", "monday", "tuesday", "wednesday", "thursday"]})
START = {"dateTime": "2026-01-05T10:11:12", "timeZone": "America/New_York"}


@pytest.mark.parametrize("rule", ["before", "after", "nearest"])
@pytest.mark.parametrize(
    "format, members",
    [
        ("simple", {"interval": 1_234_567, "startTime": "2026-01-05T10:11:12Z"}),
        ("simple", {"interval": 7_200_000, "startTime": "2026-01-05T10:11:12Z"}),
        ("rrule", {"start": START, "rrule": "FREQ=SECONDLY;INTERVAL=997"}),
        ("rrule", {"start": START, "rrule": "FREQ=HOURLY;INTERVAL=5;BYMINUTE=3,40;COUNT=99"}),
        ("rrule", {"start": START, "rrule": "FREQ=MINUTELY;INTERVAL=97;BYDAY=MO,TU,SA", "rdates": ["2026-01-21"]}),
        ("rrule", {"start": START, "rrule": "FREQ=MINUTELY;INTERVAL=97", "exdates": ["2026-01-08"]}),
    ],
)
@settings(max_examples=10)
@given(window=windows(most_days=10))
def test_count_on_open_days_equals_a_walk(format, members, rule, window):
    definition = members | {"closedDays": {"calendar": "fridays", "rule": rule}}
    schedule = wire.parse(format, definition, CREATED_AT, closed_days=lambda name: ONLY_FRIDAYS).schedule

    assert count_within(schedule, *window) == count_by_walking(schedule, *window)


@pytest.mark.parametrize(
    "format, members",
    [
        ("simple", {"interval": 1}),
        ("rrule", {"start": {"dateTime": "1995-01-05T00:00:00", "timeZone": "UTC"}, "rrule": "FREQ=SECONDLY"}),
    ],
)
def test_frequent_fire_times_on_open_days_are_not_counted_one_by_one(format, members):
    definition = members | {"closedDays": {"calendar": "fridays", "rule": "nearest"}}
    schedule = wire.parse(format, definition, CREATED_AT, closed_days=lambda name: ONLY_FRIDAYS).schedule

    assert count_within(schedule, CREATED_AT, CREATED_AT + timedelta(days=365)) >= 52 * 86_400
