"""Fire times per second of the engine, compared with python-dateutil's rrule on the same rules in the same run.

    python -m bench.next_fire [rounds]

For each rule the next fire time is computed many times, each time after the previous one: for a series that began a few
days ago, and for a series that began eleven years ago.  The two libraries take turns in every round; a rate is the
median of the rounds.  dateutil goes through a series from its first day, so its rate falls with the age of the series;
the rate of the engine must not fall.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter

from dateutil.rrule import rrulestr

from recurrence.wire import parse

ROUNDS = 5
ASKED_AT = datetime(2026, 1, 7, 12, tzinfo=UTC)
STARTS = {"new": datetime(2026, 1, 5, 8, tzinfo=UTC), "11 years": datetime(2015, 1, 5, 8, tzinfo=UTC)}
TURN = 0.05  # seconds that a library gets at a time; at least one answer

FIRST_FRIDAY = [{"day": "Friday", "occurrence": 1}]
FIFTH_FRIDAY = [{"day": "Friday", "occurrence": 5}]
MON_WED_FRI = ["Monday", "Wednesday", "Friday"]
MON_TO_FRI = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
RULES = [
    ("every 15 minutes", {"frequency": "minute", "interval": 15}, "FREQ=MINUTELY;INTERVAL=15"),
    ("every 6 hours", {"frequency": "hour", "interval": 6}, "FREQ=HOURLY;INTERVAL=6"),
    ("daily", {"frequency": "day"}, "FREQ=DAILY"),
    (
        "twice every 2nd day",
        {"frequency": "day", "interval": 2, "schedule": {"minutes": [15], "hours": [5, 17]}},
        "FREQ=DAILY;INTERVAL=2;BYHOUR=5,17;BYMINUTE=15",
    ),
    (
        "Mon, Wed, Fri at 17",
        {"frequency": "week", "schedule": {"minutes": [0], "hours": [17], "weekDays": MON_WED_FRI}},
        "FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=17;BYMINUTE=0",
    ),
    (
        "weekdays, every quarter from 9 to 16",
        {
            "frequency": "week",
            "schedule": {"minutes": [0, 15, 30, 45], "hours": list(range(9, 17)), "weekDays": MON_TO_FRI},
        },
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,15,30,45",
    ),
    ("monthly on the 31st", {"frequency": "month", "schedule": {"monthDays": [31]}}, "FREQ=MONTHLY;BYMONTHDAY=31"),
    (
        "first and last day",
        {"frequency": "month", "schedule": {"monthDays": [1, -1]}},
        "FREQ=MONTHLY;BYMONTHDAY=1,-1",
    ),
    (
        "first Friday at 5",
        {"frequency": "month", "schedule": {"minutes": [0], "hours": [5], "monthlyOccurrences": FIRST_FRIDAY}},
        "FREQ=MONTHLY;BYDAY=+1FR;BYHOUR=5;BYMINUTE=0",
    ),
    (
        "fifth Friday",
        {"frequency": "month", "schedule": {"monthlyOccurrences": FIFTH_FRIDAY}},
        "FREQ=MONTHLY;BYDAY=+5FR",
    ),
    (
        "every 7th minute of hours 9 and 10",
        {"frequency": "minute", "interval": 7, "schedule": {"hours": [9, 10]}},
        "FREQ=MINUTELY;INTERVAL=7;BYHOUR=9,10",
    ),
]


@dataclass(frozen=True, slots=True)
class Result:
    name: str
    age: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def main(rounds: int = ROUNDS) -> None:
    results = [measure(*rule, age, rounds) for rule in RULES for age in STARTS]

    print(f"{'rule':36} {'age':>9} {'ours/s':>11} {'dateutil/s':>11} {'ratio':>9}")
    for result in results:
        print(f"{result.name:36} {result.age:>9} {result.ours:11,.0f} {result.theirs:11,.1f} {result.ratio:9,.0f}")
    print()
    print(f"ratio: worst {min(r.ratio for r in results):,.0f}, median {median(r.ratio for r in results):,.0f}")
    slowest = median(r.ours for r in results) / min(r.ours for r in results)
    print(f"ours: median {median(r.ours for r in results):,.0f}/s, the slowest rule takes {slowest:.1f} x the median")
    ages = [new.ours / old.ours for new, old in zip(results[::2], results[1::2], strict=True)]
    print(f"an old series takes {median(ages):.2f} x (median), {max(ages):.2f} x (worst) the time of a new one")


def measure(name: str, recurrence: dict[str, object], rrule: str, age: str, rounds: int) -> Result:
    start = STARTS[age]
    document = {"startTime": start.isoformat(), "recurrence": recurrence}
    ours = parse("azure", document, start).schedule.after
    theirs = rrulestr(rrule, dtstart=start).after
    agree(ours, theirs)
    rates = [(rate(ours), rate(theirs)) for _ in range(rounds)]
    return Result(name, age, median(mine for mine, _ in rates), median(peer for _, peer in rates))


def agree(ours: Callable[[datetime], datetime | None], theirs: Callable[[datetime], datetime | None]) -> None:
    at = ASKED_AT
    for _ in range(2):
        fire = ours(at)
        if fire is None or fire != theirs(at):
            raise SystemExit(f"the answers differ after {at}: {fire} and {theirs(at)}")
        at = fire


def rate(after: Callable[[datetime], datetime | None]) -> float:
    """Return the answers per second, for the fire times of one year after `ASKED_AT`, repeated."""
    answers, passed, chunk, at = 0, 0.0, 1, ASKED_AT
    horizon = ASKED_AT + timedelta(days=366)
    began = perf_counter()
    while passed < TURN:
        for _ in range(chunk):
            fire = after(at)
            at = fire if fire is not None and fire < horizon else ASKED_AT
        answers += chunk
        passed = perf_counter() - began
        chunk = max(1, int(answers / passed * TURN / 10))
    return answers / passed


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
