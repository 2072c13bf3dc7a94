"""Fire times per second of each format, compared with the fastest other library for the same times in the same run.

    python -m bench.formats [rounds]

Each fire time is computed after the previous one.  Both sides take turns in every round; a rate is the median of the
rounds, in seconds of CPU time of the thread.  The answers of both sides are compared first, and must be equal.  The
last rows compare schedules with skips, closed days and jitter with the same schedules without them.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from statistics import median
from time import thread_time
from zoneinfo import ZoneInfo

from astral import Observer, sun
from cronsim import CronSim
from dateutil.rrule import rrulestr

from recurrence.closed_days import ClosedDays
from recurrence.jitter import delay_of
from recurrence.wire import parse

ROUNDS = 5
TURN = 0.05  # seconds that a side gets at a time
MOST = 500  # fire times from the start on, two years of weekdays
COMPARED = 200  # fire times that are compared before the measurement
START = datetime(2026, 1, 5, 8, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
NINE_IN_BERLIN = {"dateTime": "2026-01-05T09:00:00", "timeZone": "Europe/Berlin"}
HOLIDAYS = ClosedDays.of(
    {"name": "berlin", "weekend": ["saturday", "sunday"], "holidays": [{"country": "DE", "subdivision": "BE"}]}
)

Fires = Callable[[], Iterator[datetime]]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides that give the same fire times, or with `is_same` False, a schedule with a member and without it."""

    name: str
    ours: Fires
    peer: str
    theirs: Fires
    is_same: bool = True
    precision: timedelta = timedelta(0)  # by which the fire times of both sides may differ


def fires_of(format: str, definition: dict) -> Fires:
    schedule = parse(format, definition, START, lambda name: HOLIDAYS).schedule

    def fires() -> Iterator[datetime]:
        fire = schedule.after(START)
        while fire is not None:
            yield fire
            fire = schedule.after(fire)

    return fires


def delayed_fires_of(format: str, definition: dict, jitter: timedelta) -> Fires:
    fires = fires_of(format, definition)
    return lambda: (fire + delay_of(jitter, "17", fire) for fire in fires())


def of_dateutil(rule: str, zone: ZoneInfo | None = None) -> Fires:
    start = START.astimezone(zone).replace(tzinfo=None) if zone else START.replace(tzinfo=None)

    def fires() -> Iterator[datetime]:
        for wall in rrulestr(rule, dtstart=start).xafter(start):
            yield wall.replace(tzinfo=zone or UTC).astimezone(UTC)

    return fires


def of_cronsim(line: str, zone: ZoneInfo | None = None) -> Fires:
    def fires() -> Iterator[datetime]:
        yield from (fire.astimezone(UTC) for fire in CronSim(line, START.astimezone(zone or UTC)))

    return fires


def of_astral(latitude: float, longitude: float) -> Fires:
    observer = Observer(latitude, longitude)

    def fires() -> Iterator[datetime]:
        day = START.date()
        while True:
            fire = sun.sunset(observer, day)
            if fire > START:
                yield fire
            day += timedelta(days=1)

    return fires


def pairs() -> list[Pair]:
    weekdays = {"expression": "0 0 9 ? * MON-FRI", "timeZone": "Europe/Berlin"}
    minutely = {"expression": "0 * * * * ?"}
    weekly = {
        "start": NINE_IN_BERLIN,
        "end": NINE_IN_BERLIN,
        "recurrence": {
            "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "friday"]},
            "range": {"type": "noEnd", "startDate": "2026-01-05"},
        },
    }
    daily = {"expression": "0 9 * * *", "timeZone": "Europe/Berlin"}
    hourly = {"expression": "0 * * * *", "timeZone": "Europe/Berlin"}
    once_a_day = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Day"}}
    found = [
        Pair(
            "azure: daily",
            fires_of("azure", {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Day"}}),
            "dateutil",
            of_dateutil("FREQ=DAILY"),
        ),
        Pair(
            "cron: */15 9-17 * * 1-5",
            fires_of("cron", {"expression": "*/15 9-17 * * 1-5"}),
            "cronsim",
            of_cronsim("*/15 9-17 * * 1-5"),
        ),
        Pair(
            "cron: 0 9 * * * in Berlin",
            fires_of("cron", {"expression": "0 9 * * *", "timeZone": "Europe/Berlin"}),
            "cronsim",
            of_cronsim("0 9 * * *", BERLIN),
        ),
        Pair("quartz: weekdays in Berlin", fires_of("quartz", weekdays), "cronsim", of_cronsim("0 9 * * 1-5", BERLIN)),
        Pair(
            "simple: every 90 seconds",
            fires_of("simple", {"startTime": "2026-01-05T08:00:00Z", "interval": 90_000}),
            "dateutil",
            of_dateutil("FREQ=SECONDLY;INTERVAL=90"),
        ),
        Pair(
            "outlook: Monday and Friday in Berlin",
            fires_of("outlook", weekly),
            "dateutil",
            of_dateutil("FREQ=WEEKLY;BYDAY=MO,FR", BERLIN),
        ),
        Pair(
            "rrule: 9:00 and 17:30 each day",
            fires_of("rrule", {"start": NINE_IN_BERLIN, "rrule": "FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30"}),
            "dateutil",
            of_dateutil("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30;BYSECOND=0", BERLIN),
        ),
        Pair(
            "rrule: every 7 hours",
            fires_of("rrule", {"start": {"dateTime": "2026-01-05T08:00:00"}, "rrule": "FREQ=HOURLY;INTERVAL=7"}),
            "dateutil",
            of_dateutil("FREQ=HOURLY;INTERVAL=7"),
        ),
        Pair(
            "solar: sunset in Berlin",
            fires_of("solar", {"event": "sunset", "latitude": 52.52, "longitude": 13.41}),
            "astral",
            of_astral(52.52, 13.41),
            precision=timedelta(seconds=1),
        ),
    ]
    members: list[tuple[str, str, dict, dict]] = [
        ("weekdays at nine, skips", "quartz", weekdays, {"skips": ["2026-12-24", "2026-12-31"]}),
    ]
    plain = [
        ("weekdays", "quartz", weekdays),
        ("daily", "cron", daily),
        ("hourly", "cron", hourly),
        ("every minute", "quartz", minutely),
        ("azure: daily", "azure", once_a_day),
        ("outlook: weekly", "outlook", weekly),
    ]
    for name, format, definition in plain:
        for rule in ("skip", "before", "after", "nearest"):
            closed_days = {"closedDays": {"calendar": "berlin", "rule": rule}}
            members.append((f"{name}, closed days: {rule}", format, definition, closed_days))
    for name, format, definition, member in members:
        found.append(Pair(name, fires_of(format, definition | member), "without", fires_of(format, definition), False))
    jittered = delayed_fires_of("quartz", weekdays, timedelta(minutes=10))
    found.append(Pair("weekdays at nine, jitter", jittered, "without", fires_of("quartz", weekdays), False))
    return found


def rate(fires: Fires) -> float:
    """Return the fire times for each second of CPU time; after MOST fire times it begins again."""
    count, began = 0, thread_time()
    while (spent := thread_time() - began) < TURN:
        count += sum(1 for _ in islice(fires(), MOST))
    return count / spent


def main(rounds: int) -> None:
    print(f"{'':40}{'fire times/s':>14}{'peer':>12}{'fire times/s':>14}{'ratio':>8}")
    for pair in pairs():
        if pair.is_same:
            ours, theirs = ([*islice(fires(), COMPARED)] for fires in (pair.ours, pair.theirs))
            assert all(abs(our - their) <= pair.precision for our, their in zip(ours, theirs, strict=True)), pair.name
        rates = [(rate(pair.ours), rate(pair.theirs)) for _ in range(rounds)]
        ours_rate, their_rate = (median(each) for each in zip(*rates, strict=True))
        print(f"{pair.name:40}{ours_rate:14,.0f}{pair.peer:>12}{their_rate:14,.0f}{ours_rate / their_rate:8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
