"""The cost of one month of a thousand series, compared with python-dateutil and recurring-ical-events in the same run.

    python -m bench.series [rounds]

The series are parsed before: 30 % daily, 30 % weekly, 32 % monthly and 8 % yearly, in a zone with clock changes.  Their
starts are spread evenly over ten years.  One month has no clock change ("calm"), the other has one.

Our engine computes the days alone, and occurrences with both ends as instants in UTC.  dateutil computes wall times
without a zone, recurring-ical-events the events of one calendar.  All answers are compared first.  The goals are for
this comparison.  The same series, all begun the day before, have no past to skip: they show the cost of an occurrence.

Then one month of a series that began fifty years ago is compared with the same month of a series that began recently,
for each pattern with and without an interval.

All measurements take figures in every round; a figure is the median of the rounds.  Seconds are CPU time of the thread,
so that other work of the machine counts less.
"""

import gc
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from statistics import median
from time import thread_time
from zoneinfo import ZoneInfo

from dateutil.rrule import rrule, rrulestr
from icalendar import Calendar, Event
from recurring_ical_events import CalendarQuery
from recurring_ical_events import of as expansion_of

from recurrence.series import Series
from recurrence.wire import graph
from recurrence.wire.rrule import rrule_of

ROUNDS = 5
SERIES = 1_000
ZONE = ZoneInfo("Europe/Berlin")
NOW = date(2026, 1, 5)
MONTHS = {
    "calm": (datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
    "clocks change": (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)),
}
TEN_YEARS, NEW = 3652, 1  # days over which the starts are spread
CALENDAR = "recurring-ical-events"
GOALS = {"days": 50, "UTC": 30, CALENDAR: 100}  # times as fast as dateutil, and as recurring-ical-events
MOST_BY_AGE = 1.2  # times the cost of a new series
FIFTY_YEARS_AGO = date(1976, 1, 5)
CALLS = 500  # with one series, in each round
MOST_EMPTY = 3  # microseconds for a series without an occurrence in the window
MOST_BY_NUMBER = 11  # times the cost of a tenth of the series

Window = tuple[datetime, datetime]

PATTERNS = {
    "daily": {"type": "daily"},
    "weekly": {"type": "weekly", "daysOfWeek": ["monday", "wednesday", "friday"]},
    "absoluteMonthly": {"type": "absoluteMonthly", "dayOfMonth": 15},
    "relativeMonthly": {"type": "relativeMonthly", "daysOfWeek": ["friday"], "index": "last"},
    "absoluteYearly": {"type": "absoluteYearly", "dayOfMonth": 15, "month": 2},
    "relativeYearly": {"type": "relativeYearly", "daysOfWeek": ["friday"], "index": "last", "month": 2},
}


def main(rounds: int = ROUNDS) -> None:
    for month, window in MONTHS.items():
        took = print_month(f"begun in ten years, {month}", a_thousand_series(TEN_YEARS), window, rounds)
        print_goals(took)
    print_month("new, calm", a_thousand_series(NEW), MONTHS["calm"], rounds)
    print()
    print_ages(rounds)
    print_numbers(rounds)


def a_thousand_series(days: int, number: int = SERIES) -> list[Series]:
    rng = random.Random(5)
    return [a_series(n % 100, NOW - timedelta(rng.randrange(days)), rng) for n in range(number)]


def a_series(percent: int, start: date, rng: random.Random) -> Series:
    """Return a random series of the kind at `percent` of the mixture."""
    weekdays = rng.sample(graph.WEEKDAYS, rng.choice([1, 1, 2, 3, 5]))
    day_of_month, month = rng.randint(1, 31), rng.randint(1, 12)
    if percent < 30:
        pattern: dict[str, object] = {"type": "daily"}
    elif percent < 60:
        pattern = {"type": "weekly", "daysOfWeek": weekdays}
    elif percent < 76:
        pattern = {"type": "absoluteMonthly", "dayOfMonth": day_of_month}
    elif percent < 92:
        pattern = {"type": "relativeMonthly", "daysOfWeek": weekdays[:1], "index": rng.choice([*graph.INDEXES])}
    elif percent < 96:
        pattern = {"type": "absoluteYearly", "dayOfMonth": day_of_month, "month": month}
    else:
        pattern = {"type": "relativeYearly", "daysOfWeek": weekdays[:1], "month": month}
    return series_of(pattern | {"interval": rng.choice([1, 1, 1, 2, 3])}, start, 8 * 60 + 30 * rng.randrange(18))


def series_of(pattern: dict[str, object], start: date, minute: int = 9 * 60) -> Series:
    begins = datetime.combine(start, datetime.min.time()) + timedelta(minutes=minute)
    limits = {"type": "noEnd", "startDate": start.isoformat()}
    return graph.read({"pattern": pattern, "range": limits}, begins, begins + timedelta(hours=1), ZONE).series


# What the libraries compute


def days_of(series: Sequence[Series], start: datetime, end: datetime) -> int:
    first, last = start.toordinal(), end.toordinal() - 1
    return sum(1 for each in series for _ in each.days.ordinals(first, last))


def occurrences_of(series: Sequence[Series], start: datetime, end: datetime) -> int:
    return sum(1 for each in series for _ in each.occurrences(start, end))


def rules_of(series: Sequence[Series]) -> list[rrule]:
    return [rrulestr(str(rrule_of(each)), dtstart=wall_of(each)) for each in series]


def walls_of(rules: Sequence[rrule], start: datetime, end: datetime) -> int:
    return sum(len(rule.between(start, end, inc=True)) for rule in rules)


def calendar_of(series: Sequence[Series]) -> Calendar:
    calendar = Calendar()
    for number, each in enumerate(series):
        event = Event()
        event.add("uid", str(number))
        event.add("dtstart", wall_of(each).replace(tzinfo=ZONE))
        event.add("duration", each.length)
        event["rrule"] = Event.from_ical(f"BEGIN:VEVENT\r\nRRULE:{rrule_of(each)}\r\nEND:VEVENT\r\n")["rrule"]
        calendar.add_component(event)
    return calendar


def wall_of(series: Series) -> datetime:
    return datetime.combine(series.days.start, datetime.min.time()) + timedelta(seconds=series.start)


# What is measured


@dataclass(frozen=True, slots=True)
class Measured:
    name: str
    run: Callable[[], object]


def cpu(run: Callable[[], object]) -> float:
    """Return the CPU time of one call, in seconds."""
    began = thread_time()
    run()
    return thread_time() - began


def medians(measured: Sequence[Measured], rounds: int) -> dict[str, float]:
    figures: dict[str, list[float]] = {each.name: [] for each in measured}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for each in measured:
                figures[each.name].append(cpu(each.run))
    finally:
        gc.enable()
    return {name: median(seconds) for name, seconds in figures.items()}


def print_month(title: str, series: Sequence[Series], window: Window, rounds: int) -> dict[str, float]:
    walls = tuple(bound.replace(tzinfo=None) for bound in window)
    rules, calendar = rules_of(series), expansion_of(calendar_of(series))
    agree(series, rules, calendar, window)

    took = medians(
        [
            Measured("days", lambda: days_of(series, *window)),
            Measured("UTC", lambda: occurrences_of(series, *window)),
            Measured("dateutil", lambda: walls_of(rules, *walls)),
            Measured(CALENDAR, lambda: calendar.between(*window)),
        ],
        rounds,
    )
    print(f"{SERIES} series, {title}: {occurrences_of(series, *window)} occurrences in a month")
    for name, seconds in took.items():
        print(f"  {name:22} {seconds * 1000:10,.1f} ms   {took['dateutil'] / seconds:8,.1f} x dateutil")
    return took


def print_goals(took: dict[str, float]) -> None:
    print_goal("days beside dateutil's wall clock times", took["dateutil"] / took["days"], GOALS["days"])
    print_goal("instants in UTC beside dateutil's wall clock times", took["dateutil"] / took["UTC"], GOALS["UTC"])
    print_goal("instants in UTC beside those of the calendar", took[CALENDAR] / took["UTC"], GOALS[CALENDAR])
    print()


def agree(series: Sequence[Series], rules: Sequence[rrule], calendar: CalendarQuery, window: Window) -> None:
    """Exit unless all libraries find the same occurrences; dateutil's are wall times in the zone of the series."""
    ours = sorted(each.start for one in series for each in one.occurrences(*window))
    low, high = (bound.astimezone(ZONE).replace(tzinfo=None) for bound in window)
    walls = [wall for rule in rules for wall in rule.between(low - timedelta(hours=1), high) if wall < high]
    theirs = sorted(wall.replace(tzinfo=ZONE).astimezone(UTC) for wall in walls)
    events = sorted(event["dtstart"].dt.astimezone(UTC) for event in calendar.between(*window))
    if not ours == theirs == events:
        raise SystemExit(f"the answers differ: {len(ours)}, {len(theirs)} and {len(events)}")


def print_ages(rounds: int) -> None:
    """Compare the same series with a recent start and with a start fifty years ago."""
    window = MONTHS["calm"]
    ratios = []
    print(f"{'a month of one series':34} {'new, us':>8} {'50 years, us':>13} {'ratio':>7}")
    for name, pattern in PATTERNS.items():
        for interval in (1, 3):
            new, old = (series_of(pattern | {"interval": interval}, start) for start in in_step(pattern, interval))
            took = medians(
                [Measured(n, lambda s=s: month_of(s, window)) for n, s in (("new", new), ("old", old))], rounds
            )
            ratios.append(took["old"] / took["new"])
            each = {age: seconds / CALLS * 1e6 for age, seconds in took.items()}
            print(f"  {name:20} every {interval:2}     {each['new']:8.2f} {each['old']:13.2f} {ratios[-1]:7.2f}")
    print_goal("a series of fifty years beside a new one, the worst", max(ratios), MOST_BY_AGE, at_most=True)
    print()


def in_step(pattern: dict[str, object], interval: int) -> tuple[date, date]:
    """Return a start shortly before the window and one fifty years ago; both series then have the same days."""
    old = series_of(pattern | {"interval": interval}, FIFTY_YEARS_AGO)
    latest = old.day_before(MONTHS["calm"][0].date())
    assert latest is not None
    return latest, FIFTY_YEARS_AGO


def month_of(series: Series, window: tuple[datetime, datetime]) -> None:
    for _ in range(CALLS):
        for _ in series.occurrences(*window):
            pass


def print_numbers(rounds: int) -> None:
    window = MONTHS["calm"]
    many = a_thousand_series(TEN_YEARS, 10 * SERIES)
    empty = [each for each in many if not any(each.occurrences(*window))]
    took = medians(
        [
            Measured("some", lambda: occurrences_of(many[:SERIES], *window)),
            Measured("many", lambda: occurrences_of(many, *window)),
            Measured("empty", lambda: occurrences_of(empty, *window)),
        ],
        rounds,
    )
    print_goal(f"{10 * SERIES:,} series beside {SERIES:,}", took["many"] / took["some"], MOST_BY_NUMBER, at_most=True)
    print_goal(
        "microseconds for a series without occurrence", took["empty"] / len(empty) * 1e6, MOST_EMPTY, at_most=True
    )


def print_goal(what: str, figure: float, goal: float, *, at_most: bool = False) -> None:
    is_met = figure <= goal if at_most else figure >= goal
    print(f"  {what}: {figure:,.2f}, goal {'at most' if at_most else 'at least'} {goal}{'' if is_met else '  MISSED'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
