"""Fixed times on moved days against a plain search by written wall times, and against the general engine."""

from datetime import UTC, datetime, time, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from recurrence import wire
from recurrence.closed_days import WEEKDAYS, ClosedDays
from recurrence.composites import Skipping
from recurrence.counting import count_within
from recurrence.moved_days import moved_schedule
from recurrence.open_days import OnOpenDays, Rule
from recurrence.schedules import between
from tests.recurrence.samples import utc
from tests.recurrence.test_composites import (
    CREATED_AT,
    MOMENTS,
    ONE_DAY,
    ZONES,
    Counting,
    first_instant_showing,
    random_closed,
    target_of,
)

BERLIN = ZoneInfo("Europe/Berlin")
SUNDAYS = ClosedDays.of({"weekend": ["sunday"]})
POLICIES = (
    None,
    "cron",
    {"gap": "shift", "repeat": "both"},
    {"gap": "skip", "repeat": "second"},
    {"gap": "next", "repeat": "second"},
)
EXPRESSIONS = (
    "0 30 0 * * ?",
    "0 30 2 * * ?",
    "0 15,45 2 ? * SUN",
    "0 0 0 ? * SAT",
    "0 0/20 0-3 ? * *",
    "0 0 * ? * MON-FRI",
    "0 30 23 1 * ?",
    "0 0 9 29 2 ?",
    "0 30 1 L * ?",
)


def on_open_days(expression, rule, zone="Europe/Berlin", closed=SUNDAYS, **members):
    plain = wire.parse("quartz", {"expression": expression, "timeZone": zone, **members}, CREATED_AT).schedule
    return OnOpenDays(plain, closed, rule, UTC if zone == "UTC" else ZoneInfo(zone))


@pytest.mark.parametrize("seed", range(150))
def test_fire_times_are_the_written_times_on_the_days_to_which_the_days_move(seed):
    random = Random(seed)
    name = random.choice([zone for zone in ZONES if zone != "Pacific/Apia"])  # each day exists
    zone = UTC if name == "UTC" else ZoneInfo(name)
    middle = datetime.fromisoformat(random.choice(MOMENTS)).date()
    weekdays = random.choice([{6}, {5, 6}, {0, 1, 2, 3, 4}, {*range(7)}])
    hours = sorted(random.sample([0, 1, 2, 3, 9], 2))
    closed = ClosedDays.of(random_closed(random, middle))
    rule = random.choice([*Rule])
    days = ",".join(WEEKDAYS[day][:3].upper() for day in sorted(weekdays))
    schedule = on_open_days(f"0 30 {hours[0]},{hours[1]} ? * {days}", rule, name, closed)

    expected = set()
    for day in (middle + number * ONE_DAY for number in range(-80, 80)):
        target = target_of(day, lambda each: not closed.is_closed(each), rule.value)
        if day.weekday() in weekdays and target is not None:
            expected |= {first_instant_showing(datetime.combine(target, time(hour, 30)), zone) for hour in hours}

    start, end = (datetime.combine(middle, time(), UTC) + number * ONE_DAY for number in (-40, 40))
    wanted = sorted(fire for fire in expected if start <= fire < end)
    assert [*between(schedule, start, end)] == wanted
    assert count_within(schedule, start, end) == len(wanted)
    assert all(schedule.moved_from(fire) for fire in wanted)


@pytest.mark.parametrize("seed", range(150))
def test_answers_by_table_are_those_of_the_general_engine(seed):
    random = Random(seed)
    zone = random.choice((*ZONES, "America/St_Johns", "Africa/Cairo", "America/Havana", "Antarctica/Troll"))
    moment = datetime.fromisoformat(random.choice(MOMENTS)).replace(tzinfo=UTC)
    members = {"clockChange": policy} if (policy := random.choice(POLICIES)) else {}
    if random.random() < 0.5:
        members["startTime"] = f"{moment - random.randrange(40) * ONE_DAY:%Y-%m-%dT%H:30:00Z}"
        members["endTime"] = f"{moment + random.randrange(40) * ONE_DAY:%Y-%m-%dT%H:30:00Z}"
    closed = ClosedDays.of(random_closed(random, moment.date()))
    schedule = on_open_days(random.choice(EXPRESSIONS), random.choice([*Rule]), zone, closed, **members)
    # skips of nothing hide the days and times from the engine
    hidden = Skipping(schedule.schedule, frozenset(), frozenset(), schedule.zone)
    general = OnOpenDays(hidden, closed, schedule.rule, schedule.zone)
    assert moved_schedule(hidden, general.days) is None

    instant = moment - 60 * ONE_DAY
    for _ in range(60):
        fire = schedule.after(instant)
        assert fire == general.after(instant), instant
        instant = fire if fire and random.random() < 0.7 else instant + timedelta(seconds=random.randrange(300_000))


@pytest.mark.parametrize(
    "rule, members, fire",
    [
        # clocks in Berlin skip 02:00-03:00 on Sunday, 29 March 2026
        (Rule.AFTER, {}, "2026-03-30T00:30Z"),
        (Rule.BEFORE, {}, "2026-03-28T01:30Z"),
        (Rule.AFTER, {"clockChange": {"gap": "shift"}}, "2026-03-30T00:30Z"),
        (Rule.AFTER, {"skips": ["2026-03-28"]}, "2026-03-30T00:30Z"),
        (Rule.AFTER, {"clockChange": {"gap": "skip"}}, "2026-04-06T00:30Z"),  # the fire time is lost, not moved
    ],
)
def test_fire_time_that_a_gap_has_moved_keeps_its_written_time(rule, members, fire):
    definition = {"expression": "0 30 2 ? * SUN", "timeZone": "Europe/Berlin", **members}
    plain = wire.parse("quartz", definition, CREATED_AT).schedule
    schedule = OnOpenDays(plain, SUNDAYS, rule, BERLIN)

    assert schedule.after(utc("2026-03-27T00:00Z")) == utc(fire)
    if members.get("clockChange") != {"gap": "skip"}:
        assert schedule.moved_from(utc(fire)) == [plain.after(utc("2026-03-28T12:00Z"))]


def test_series_keeps_its_written_time():
    definition = {
        "start": {"dateTime": "2026-01-04T02:30:00", "timeZone": "Europe/Berlin"},
        "rrule": "FREQ=WEEKLY",
    }
    series = wire.parse("rrule", definition, CREATED_AT).schedule

    assert OnOpenDays(series, SUNDAYS, Rule.AFTER, BERLIN).after(utc("2026-03-27T00:00Z")) == utc("2026-03-30T00:30Z")


@pytest.mark.parametrize("rule", Rule)
def test_schedule_is_not_asked_where_a_table_answers(rule):
    weekdays = wire.parse("quartz", {"expression": "0 0 9 ? * MON-FRI", "timeZone": "Europe/Berlin"}, CREATED_AT)
    schedule = OnOpenDays(weekdays.schedule, SUNDAYS, rule, BERLIN)
    counter = Counting(schedule.schedule)
    object.__setattr__(schedule, "schedule", counter)

    fires = [*between(schedule, utc("2090-01-01T00:00Z"), utc("2090-12-31T00:00Z"))]

    assert len(fires) == 260
    assert counter.calls == 0


def test_schedule_that_never_fires_is_given_up_once():
    sundays = wire.parse("quartz", {"expression": "0 0 9 ? * SUN", "timeZone": "Europe/Berlin"}, CREATED_AT).schedule
    schedule = OnOpenDays(sundays, SUNDAYS, Rule.SKIP, BERLIN)
    counter = Counting(sundays)
    object.__setattr__(schedule, "schedule", counter)
    assert schedule.after(utc("2026-01-05T00:00Z")) is None
    calls = counter.calls

    assert schedule.after(utc("2026-01-06T00:00Z")) is None
    assert counter.calls <= calls + 1
