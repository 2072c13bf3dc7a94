"""Fire times near clock changes, compared with a search of every second that shares no code with the engine.

The search reads the clocks of a zone at every second around a change.  It knows a policy only by its definition: what
happens to wall times that no second shows, and to those that two seconds show.
"""

import random
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise, product
from zoneinfo import ZoneInfo

import pytest

from recurrence.wire import parse

HOURS = 3600  # seconds
DAY = 86_400
CREATED_AT = datetime(2000, 1, 1, tzinfo=UTC)

CHANGES = [  # eight zones: an instant near a change, and how many hours before and after it are searched
    ("America/New_York", "2026-03-08T07:00", 6),
    ("America/New_York", "2026-11-01T06:00", 6),
    ("Europe/Berlin", "2026-03-29T01:00", 6),
    ("Europe/Berlin", "2026-10-25T01:00", 6),
    ("Australia/Lord_Howe", "2026-10-03T15:30", 6),  # by half an hour
    ("Australia/Lord_Howe", "2026-04-04T15:00", 6),
    ("America/Santiago", "2026-09-06T04:00", 6),  # at midnight
    ("America/Santiago", "2026-04-05T03:00", 6),
    ("Antarctica/Troll", "2026-03-29T01:00", 6),  # by two hours
    ("Antarctica/Troll", "2026-10-25T01:00", 6),
    ("Africa/Casablanca", "2026-02-15T02:00", 6),  # back before Ramadan, and forward after it
    ("Africa/Casablanca", "2026-03-22T02:00", 6),
    ("America/St_Johns", "2010-03-14T03:31", 6),  # a minute after midnight
    ("America/St_Johns", "2010-11-07T02:31", 6),
    ("Pacific/Apia", "2011-12-30T10:00", 30),  # no 30 December 2011
    ("Pacific/Apia", "2011-04-02T14:00", 6),
]
GAPS = ["next", "shift", "skip"]
REPEATS = ["first", "second", "both"]
POLICIES = [{"gap": gap, "repeat": repeat} for gap, repeat in product(GAPS, REPEATS)]


@dataclass(frozen=True)
class Times:
    """Times of a day: the fields of an expression, and the numbers that they stand for."""

    fields: str
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    is_interval: bool


ALL_HOURS, ALL_MINUTES = tuple(range(24)), tuple(range(60))
EXPRESSIONS = [
    Times("0 30 2", (0,), (30,), (2,), False),
    Times("0 15,45 1,2", (0,), (15, 45), (1, 2), False),
    Times("0 0 2,3", (0,), (0,), (2, 3), False),
    Times("0 0 0", (0,), (0,), (0,), False),
    Times("30 59 1,23", (30,), (59,), (1, 23), False),
    Times("0,59 0,1,2 0,1,2,3", (0, 59), (0, 1, 2), (0, 1, 2, 3), False),
    Times("0 */20 *", (0,), (0, 20, 40), ALL_HOURS, True),
    Times("0 0 *", (0,), (0,), ALL_HOURS, True),
    Times("0 0 */2", (0,), (0,), tuple(range(0, 24, 2)), True),
    Times("0 */30 2", (0,), (0, 30), (2,), True),
    Times("0 10-50/20 0-3", (0,), (10, 30, 50), (0, 1, 2, 3), True),
    Times("*/7 30 1-3", tuple(range(0, 60, 7)), (30,), (1, 2, 3), True),
    Times("5 5-5 *", (5,), (5,), ALL_HOURS, True),
]


@cache
def clock_readings(zone: str, near: str, hours: int) -> tuple[int, tuple[int, ...]]:
    """Return the first second of a window, and the wall time at each second of it, both in seconds since 1970."""
    middle = int(datetime.fromisoformat(near + "+00:00").timestamp())
    start, end = middle - hours * HOURS, middle + hours * HOURS
    info = ZoneInfo(zone)
    offsets = [int(datetime.fromtimestamp(at, info).utcoffset().total_seconds()) for at in range(start, end)]
    return start, tuple(at + offset for at, offset in zip(range(start, end), offsets, strict=True))


@cache
def is_time_of(times: Times) -> bytes:
    table = bytearray(DAY)
    for hour, minute, second in product(times.hours, times.minutes, times.seconds):
        table[hour * HOURS + minute * 60 + second] = 1
    return bytes(table)


@cache
def found(times: Times, window) -> tuple[list[list[int]], list[tuple[int, list[int]]]]:
    """Look at every second of a window.

    Return the seconds of each wall time of `times`, and for each gap its end and, for each of the times that it skips,
    how many seconds of the gap lie before it.
    """
    start, walls = clock_readings(*window)
    is_time = is_time_of(times)
    shown, gaps = defaultdict(list), []
    previous = walls[0] - 1
    for at, wall in enumerate(walls, start):
        if is_time[wall % DAY]:
            shown[wall].append(at)
        if wall > previous + 1:
            gaps.append((at, [each - previous - 1 for each in range(previous + 1, wall) if is_time[each % DAY]]))
        previous = wall
    return [*shown.values()], gaps


def searched(times: Times, window, gap: str, repeat: str) -> list[int]:
    """Return the fire times in a window."""
    start, walls = clock_readings(*window)
    shown, gaps = found(times, window)
    fires = set()
    for seconds in shown:
        fires |= set({"first": seconds[:1], "second": seconds[-1:], "both": seconds}[repeat])
    for end, skipped in gaps:
        fires |= {"next": {end} if skipped else set(), "shift": {end + each for each in skipped}, "skip": set()}[gap]
    return sorted(fire for fire in fires if fire < start + len(walls))


def definitions(times: Times, zone: str, clock_change):
    """Yield the formats that can say these times, each with its definition.

    A calendar series has no occurrence on a day that a zone never had, whatever the policy.
    """
    common = {"timeZone": zone, "clockChange": clock_change}
    yield "quartz", {"expression": f"{times.fields} * * ?", **common}
    if times.seconds == (0,):
        yield "cron", {"expression": f"{times.fields[2:]} * * *", **common}
        if not (times.is_interval and clock_change == "cron"):  # with hours, a recurrence is no interval
            plan = {"hours": [*times.hours], "minutes": [*times.minutes]}
            recurrence = {"frequency": "Day", "schedule": plan}
            yield "azure", {"startTime": "2000-01-01T00:00:00", "recurrence": recurrence, **common}
    if zone != "Pacific/Apia" and times.seconds == (0,) and len(times.hours) == len(times.minutes) == 1:
        start = {"dateTime": f"2000-01-01T{times.hours[0]:02}:{times.minutes[0]:02}:00", "timeZone": zone}
        pattern = {"type": "daily", "interval": 1}
        recurrence = {"pattern": pattern, "range": {"type": "noEnd", "startDate": "2000-01-01"}}
        yield "outlook", {"start": start, "end": start, "recurrence": recurrence, "clockChange": clock_change}


def walked(schedule, window) -> list[int]:
    start, walls = clock_readings(*window)
    fires, fire = [], schedule.after(datetime.fromtimestamp(start, UTC) - timedelta(microseconds=1))
    while fire is not None and fire.timestamp() < start + len(walls):
        fires.append(int(fire.timestamp()))
        fire = schedule.after(fire)
    return fires


def refuse_other_answers(schedule, fires: list[int], window, rng: random.Random) -> None:
    """Ask for the fire time after random instants of the window."""
    start, walls = clock_readings(*window)
    for _ in range(10):
        at = start + rng.randrange(len(walls))
        place = bisect_right(fires, at)
        if place < len(fires):
            assert schedule.after(datetime.fromtimestamp(at, UTC)).timestamp() == fires[place]


@pytest.mark.parametrize("window", CHANGES, ids=lambda window: f"{window[0]} {window[1]}")
def test_fire_times_of_each_policy_equal_those_of_a_search(window):
    rng = random.Random(15)
    for times, policy in product(EXPRESSIONS, POLICIES):
        expected = searched(times, window, **policy)
        for format, definition in definitions(times, window[0], policy):
            schedule = parse(format, definition, CREATED_AT).schedule
            assert walked(schedule, window) == expected, definition
            refuse_other_answers(schedule, expected, window, rng)


@pytest.mark.parametrize("window", CHANGES, ids=lambda window: f"{window[0]} {window[1]}")
def test_fire_times_of_the_presets_equal_those_of_a_search(window):
    """Quartz takes a repeated wall time for the second one, so only its fire times in order are compared."""
    rng = random.Random(15)
    for times in EXPRESSIONS:
        as_cron = searched(times, window, "next", "both" if times.is_interval else "first")
        as_quartz = searched(times, window, "skip", "second")
        for format, definition in definitions(times, window[0], "cron"):
            schedule = parse(format, definition, CREATED_AT).schedule
            assert walked(schedule, window) == as_cron, definition
            refuse_other_answers(schedule, as_cron, window, rng)
        for format, definition in definitions(times, window[0], "quartz"):
            assert walked(parse(format, definition, CREATED_AT).schedule, window) == as_quartz, definition


def test_every_window_has_one_clock_change():
    jumps = {
        window: [later - earlier - 1 for earlier, later in pairwise(walls) if later != earlier + 1]
        for window in CHANGES
        for _, walls in [clock_readings(*window)]
    }

    assert {len(each) for each in jumps.values()} == {1}
    assert sum(each[0] > 0 for each in jumps.values()) == sum(each[0] < 0 for each in jumps.values()) == 8
    assert len({zone for zone, _, _ in CHANGES}) == 8
