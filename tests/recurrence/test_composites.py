"""Skips, extra times and closed days against a plain search.

The plain search lists all fire times of the schedule around a window, then applies each rule to the list.  It shares no
code with the engine: days and wall times are those of `zoneinfo`.
"""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from recurrence import wire
from recurrence.closed_days import WEEKDAYS, ClosedDays
from recurrence.composites import Skipping, WithExtras
from recurrence.counting import count_within
from recurrence.open_days import OnOpenDays, Rule
from recurrence.schedules import Every, between
from tests.recurrence.samples import utc

CREATED_AT = utc("2010-01-01T00:00Z")
ONE_DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
MAX_MOVE = 31
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kolkata",
)
# the windows in which questions are asked: around clock changes, and around the crossing of the date line in Apia
MOMENTS = (
    "2026-03-08",
    "2026-03-29",
    "2026-10-25",
    "2026-11-01",
    "2026-04-05",
    "2018-11-04",
    "2011-12-30",
    "2026-12-28",
)


def azure(**recurrence):
    return "azure", {"startTime": "2010-01-01T09:20:00Z", "recurrence": recurrence}


def quartz(expression, zone):
    # not with the clock change of Quartz: there, what comes next in a repeated hour depends on where the search began
    return "quartz", {"expression": expression, "timeZone": zone}


def definitions(random, zone):
    outlook = {
        "start": {"dateTime": "2010-01-04T02:30:00", "timeZone": zone},
        "end": {"dateTime": "2010-01-04T03:30:00", "timeZone": zone},
        "recurrence": {
            "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["sunday", "monday", "friday"]},
            "range": {"type": "noEnd", "startDate": "2010-01-04"},
        },
    }
    rrule = {
        "start": {"dateTime": "2010-01-04T00:30:00", "timeZone": zone},
        "rrule": "FREQ=DAILY;BYMONTHDAY=1,8,25,29,30",
    }
    return random.choice(
        [
            azure(frequency="hour", interval=random.choice((1, 5, 7))),
            azure(frequency="day", schedule={"hours": [0, 9], "minutes": [30]}),
            azure(frequency="week", schedule={"weekDays": ["Saturday", "Sunday"], "hours": [2, 3], "minutes": [0, 30]}),
            (
                "simple",
                {"startTime": "2010-01-01T00:00:00Z", "interval": random.choice((5_400_000, 7_201_500, 100_000_000))},
            ),
            ("once", {"at": f"{random.choice(MOMENTS)}T03:30:00Z"}),
            quartz("0 0 9 * * ?", zone),
            quartz("0 */30 0-4 * * ?", zone),
            quartz("0 30 2 ? * SUN", zone),
            quartz("0 0 12 1,15,28 * ?", zone),
            ("outlook", outlook),
            ("rrule", rrule),
        ]
    )


def random_closed(random, day):
    dates = [
        {"date": str(day + random.randint(-9, 9) * ONE_DAY)},
        {"from": str(day - random.randint(0, 9) * ONE_DAY), "to": str(day + random.randint(0, 9) * ONE_DAY)},
        {"month": day.month, "day": min(day.day, 28)},
    ]
    return {
        "weekend": random.sample(WEEKDAYS, random.choice((0, 1, 2, 2, 5))),
        "holidays": random.choice(([], [{"country": "DE", "subdivision": "BE"}], [{"country": "US"}])),
        "dates": random.sample(dates, random.randint(0, 3)),
    }


# The plain search


def local_day(instant, zone):
    return instant.astimezone(zone).date()


def has_day(day, zone):
    noon = datetime.combine(day, time(12), zone)
    return noon.astimezone(UTC).astimezone(zone).date() == day


def first_instant_showing(wall, zone):
    """Return the first instant at which clocks show a wall time, or the end of the gap around it."""
    guesses = [wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    for guess in sorted(guesses):
        if guess.astimezone(zone).replace(tzinfo=None) == wall:
            return guess
    low, high = min(guesses) - timedelta(hours=1), max(guesses)  # the gap lies in between
    while high - low > SECOND:
        middle = low + (high - low) // 2 // SECOND * SECOND
        if middle.astimezone(zone).replace(tzinfo=None) >= wall:
            high = middle
        else:
            low = middle
    return high.replace(microsecond=0)


def target_of(day, is_open, rule):
    if is_open(day):
        return day
    before, after = -ONE_DAY, ONE_DAY
    steps = {"skip": [], "before": [before], "after": [after], "nearest": [after, before]}[rule]
    for distance in range(1, MAX_MOVE + 1):
        for step in steps:
            if is_open(day + distance * step):
                return day + distance * step
    return None


def move(fires, closed, rule, zone):
    """Return pairs of a fire time on an open day and the fire time that it was."""

    def is_open(day):
        return not closed.is_closed(day) and has_day(day, zone)

    for fire in fires:
        day = local_day(fire, zone)
        target = target_of(day, is_open, rule)
        if target == day:
            yield fire, fire
        elif target is not None:
            wall = datetime.combine(target, fire.astimezone(zone).time())
            yield first_instant_showing(wall.replace(fold=0), zone), fire


def skip(fires, days, instants, zone):
    return [fire for fire in fires if local_day(fire, zone) not in days and fire not in instants]


# Questions


@pytest.mark.parametrize("seed", range(400))
def test_a_schedule_with_skips_closed_days_and_extras_agrees_with_a_plain_search(seed):
    random = Random(seed)
    name = random.choice(ZONES)
    zone = UTC if name == "UTC" else ZoneInfo(name)
    moment = datetime.fromisoformat(random.choice(MOMENTS)).replace(tzinfo=UTC)
    low, high = moment - 45 * ONE_DAY, moment + 45 * ONE_DAY
    plain = wire.parse(*definitions(random, name), CREATED_AT).schedule
    nominal = [*between(plain, low, high)]
    days = {local_day(moment, zone) + random.randint(-9, 9) * ONE_DAY for _ in range(random.randint(0, 5))}
    instants = set(random.sample(nominal, min(len(nominal), random.randint(0, 5))))
    closed = ClosedDays.of(random_closed(random, moment.date()))
    rule = random.choice([*Rule])
    extras = {moment + random.randrange(-900_000, 900_000) * SECOND for _ in range(random.randint(1, 5))}

    skipped = Skipping(plain, frozenset(days), frozenset(instants), zone)
    moved = OnOpenDays(skipped, closed, rule, zone)
    schedule = WithExtras(moved, frozenset(extras))

    kept = skip(nominal, days, instants, zone)
    origins = [*move(kept, closed, rule.value, zone)]
    start, end = moment - 16 * ONE_DAY, moment + 16 * ONE_DAY
    expected = sorted({fire for fire, _ in origins} | extras)
    expected = [fire for fire in expected if start <= fire < end]
    assert [*between(schedule, start, end)] == expected
    for _ in range(20):
        since = start + random.randrange(24 * 86_400) * SECOND
        following = next((fire for fire in expected if fire > since), None)
        assert following is None or schedule.after(since) == following
        beyond = since + random.randrange(8 * 86_400) * SECOND
        assert count_within(schedule, since, beyond) == sum(since <= fire < beyond for fire in expected)
    for fire in random.sample(expected, min(len(expected), 5)):
        assert moved.moved_from(fire) == sorted(source for target, source in origins if target == fire)


@pytest.mark.parametrize("rule", Rule)
def test_fire_times_move_forward_where_clocks_go_back_over_midnight(rule):
    # on 5 November 2006 clocks in Newfoundland went from 00:01 back to 23:01
    minutes = wire.parse("quartz", {"expression": "0 * * * * ?", "timeZone": "America/St_Johns"}, CREATED_AT).schedule
    schedule = OnOpenDays(minutes, ClosedDays.of({"weekend": ["sunday"]}), rule, ZoneInfo("America/St_Johns"))
    fires = [utc("2006-11-05T02:00Z")]
    for _ in range(300):
        fires.append(schedule.after(fires[-1]))

    assert fires == sorted(set(fires))


def test_a_fire_time_without_an_open_day_within_a_month_is_left_out():
    closed = ClosedDays.of({"dates": [{"from": "2026-01-02", "to": "2028-12-31"}]})
    daily = wire.parse("quartz", {"expression": "0 0 9 * * ?"}, CREATED_AT).schedule
    origins = {}
    for rule in (Rule.BEFORE, Rule.AFTER, Rule.NEAREST):
        schedule = OnOpenDays(daily, closed, rule, UTC)
        assert schedule.after(utc("2026-01-01T09:00Z")) == utc("2029-01-01T09:00Z")
        for day in ("2026-01-01", "2029-01-01"):
            moved = schedule.moved_from(utc(f"{day}T09:00Z"))
            origins[rule, day] = (f"{moved[0]:%Y-%m-%d}", f"{moved[-1]:%Y-%m-%d}", len(moved))

    assert origins == {
        (Rule.BEFORE, "2026-01-01"): ("2026-01-01", "2026-02-01", 32),
        (Rule.BEFORE, "2029-01-01"): ("2029-01-01", "2029-01-01", 1),
        (Rule.AFTER, "2026-01-01"): ("2026-01-01", "2026-01-01", 1),
        (Rule.AFTER, "2029-01-01"): ("2028-12-01", "2029-01-01", 32),
        (Rule.NEAREST, "2026-01-01"): ("2026-01-01", "2026-02-01", 32),
        (Rule.NEAREST, "2029-01-01"): ("2028-12-01", "2029-01-01", 32),
    }


def test_a_schedule_that_fires_on_closed_days_only_never_fires_when_they_are_skipped():
    sundays = wire.parse("quartz", {"expression": "0 0 9 ? * SUN"}, CREATED_AT).schedule
    closed = ClosedDays.of({"weekend": ["sunday"]})

    assert OnOpenDays(sundays, closed, Rule.SKIP, UTC).after(CREATED_AT) is None
    assert OnOpenDays(sundays, closed, Rule.BEFORE, UTC).after(CREATED_AT) == utc("2010-01-02T09:00Z")
    assert OnOpenDays(sundays, closed, Rule.NEAREST, UTC).after(CREATED_AT) == utc("2010-01-04T09:00Z")


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("interval", [1, 13])
def test_a_schedule_is_given_up_after_forty_years_on_closed_days(rule, interval):
    summers = ClosedDays.of({"dates": [{"from": f"{year}-03-01", "to": f"{year}-10-31"} for year in range(2010, 2500)]})
    schedule = OnOpenDays(wire.parse("rrule", yearly_rule(interval), CREATED_AT).schedule, summers, rule, UTC)

    assert schedule.after(CREATED_AT) is None
    assert calls_of(schedule, CREATED_AT) <= 2 * (40 // interval + 2)


def yearly_rule(interval):
    start = {"dateTime": "2010-06-01T09:00:00", "timeZone": "UTC"}
    return {"start": start, "rrule": f"FREQ=YEARLY;INTERVAL={interval}"}


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize(
    "format, definition",
    [
        quartz("*/20 * * * * ?", "Europe/Berlin"),
        ("simple", {"startTime": "2026-01-01T00:00:00Z", "interval": 7000}),
        ("azure", {"recurrence": {"frequency": "minute", "interval": 1, "endTime": "2026-05-01T00:00:00Z"}}),
    ],
)
def test_frequent_fire_times_are_counted_as_a_walk_counts_them(rule, format, definition):
    plain = wire.parse(format, definition, utc("2026-02-01T00:00Z")).schedule
    skipped = Skipping(plain, frozenset({utc("2026-04-13T00:00Z").date()}), frozenset(), ZoneInfo("Europe/Berlin"))
    closed = ClosedDays.of({"weekend": ["saturday", "sunday"], "holidays": [{"country": "DE"}]})
    schedule = OnOpenDays(skipped, closed, rule, ZoneInfo("Europe/Berlin"))

    # around Easter, and on the day of the clock change
    for start, end in (("2026-04-07T06:00:10Z", "2026-04-07T17:00Z"), ("2026-03-27T20:00Z", "2026-03-30T03:00Z")):
        assert count_within(schedule, utc(start), utc(end)) == sum(1 for _ in between(schedule, utc(start), utc(end)))


def calls_of(schedule, instant):
    """Return how often the schedule inside is asked for one answer."""
    counter = Counting(schedule.schedule)
    replace(schedule, schedule=counter).after(instant)
    return counter.calls


class Counting:
    """A schedule that counts its questions."""

    def __init__(self, schedule):
        self.schedule = schedule
        self.calls = 0

    def after(self, instant):
        self.calls += 1
        return self.schedule.after(instant)


def test_fire_times_on_left_out_days_are_jumped_over():
    seconds = Every(SECOND, CREATED_AT)
    year = ClosedDays.of({"dates": [{"from": "2026-01-01", "to": "2026-12-31"}]})
    days = frozenset((utc("2026-01-01T00:00Z") + number * ONE_DAY).date() for number in range(365))

    assert calls_of(Skipping(seconds, days, frozenset(), UTC), utc("2026-01-01T00:00Z")) <= 3
    assert calls_of(OnOpenDays(seconds, year, Rule.SKIP, UTC), utc("2026-01-01T00:00Z")) <= 3
    assert calls_of(OnOpenDays(seconds, year, Rule.BEFORE, UTC), utc("2026-01-01T00:00Z")) <= 3
    assert calls_of(OnOpenDays(seconds, year, Rule.AFTER, UTC), utc("2026-01-01T00:00Z")) <= 2 * 366


@pytest.mark.parametrize("rule", [Rule.BEFORE, Rule.AFTER, Rule.NEAREST])
def test_days_without_fire_times_are_not_searched_one_by_one(rule):
    yearly = wire.parse("quartz", {"expression": "0 0 9 15 6 ?"}, CREATED_AT).schedule
    months = [{"from": f"2026-{month:02}-02", "to": f"2026-{month:02}-28"} for month in range(1, 13)]
    schedule = OnOpenDays(yearly, ClosedDays.of({"dates": months}), rule, UTC)

    for day in ("2026-01-01", "2026-05-29", "2026-06-01", "2026-06-29"):
        assert calls_of(schedule, utc(f"{day}T00:00Z")) <= 8


def test_the_cost_of_an_answer_does_not_grow_with_its_distance_from_the_start():
    daily = wire.parse("quartz", {"expression": "0 0 9 * * ?", "timeZone": "Europe/Berlin"}, CREATED_AT).schedule
    schedule = OnOpenDays(daily, ClosedDays.of({"weekend": ["saturday"]}), Rule.AFTER, ZoneInfo("Europe/Berlin"))

    # both are Fridays
    assert calls_of(schedule, utc("2026-01-02T12:00Z")) == calls_of(schedule, utc("2090-01-06T12:00Z"))
