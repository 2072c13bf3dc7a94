"""Fire times per second of cron expressions, compared with four other Python libraries in the same run.

    python -m bench.cron [rounds]

For each of forty expressions the next fire time after fifty instants is computed, in UTC and in New York.  Each library
gets the expressions that it supports.  The libraries take turns in every round; a rate is the median of the rounds.
Warm: the expression is parsed once, if the library can store it.  Cold: it is parsed for every answer, and our own
caches are cleared before.  Seconds are CPU time of the thread, so that other work of the machine counts less.

In UTC all answers are compared, and must be equal.  In New York the libraries differ at clock changes; the different
answers are counted.
"""

import gc
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from statistics import median
from time import thread_time
from zoneinfo import ZoneInfo

import psutil
from apscheduler.triggers.cron import CronTrigger
from celery import Celery
from celery.schedules import crontab
from croniter import croniter
from cronsim import CronSim

from recurrence.wire import quartz

ROUNDS = 5
TURN = 0.004  # seconds that a library gets for one expression at a time; at least for its fifty answers
NEW_YORK = ZoneInfo("America/New_York")
GOALS = {"UTC": 15, "America/New_York": 5}  # times the rate of the fastest other library, warm
SLOWEST, RAREST = 2, 20  # times our median
TEXTS, CALLS, MOST_GROWTH = 100_000, 1_000_000, 100  # MiB

EXPRESSIONS = """
* * * * * ?                | */10 * * * * ?            | 30 * * * * ?             | 0 * * * * ?
0 0/5 * * * ?              | 0 1/15 * * * ?            | 0 */7 * * * ?            | 0 0,30 * * * ?
0 0 * * * ?                | 0 0 */2 * * ?             | 0 15 8-18 * * ?          | 0 0/15 9-17 ? * MON-FRI
0 0 12 * * ?               | 5 0 0 * * ?               | 0 30 4 * * ?             | 0 0 6,12,18 * * ?
0 15 10 ? * MON-FRI        | 0 0 22 ? * 1              | 0 0 9 ? * MON,WED,FRI    | 0 30 23 ? * SAT,SUN
0 45 5 1 * ?               | 0 0 0 1,15 * ?            | 0 0 0 10-20 * ?          | 0 0 8 */2 * ?
0 0 0 L * ?                | 0 0 18 LW * ?             | 0 0 0 L-3 * ?            | 0 0 9 15W * ?
0 15 10 ? * 6L             | 0 15 10 ? * 6#3           | 0 0 9 ? * 2#1            | 0 0 0 ? * SUN#5
0 0 0 1 1,4,7,10 ?         | 0 10,44 14 ? 3 WED        | 0 0 0 25 12 ?            | 0 0/30 8-10 * 6-8 ?
0 0 12 ? NOV-FEB MON       | 0 0 22-2 * * ?            | 0 0 3 28-3 * ?           | 0 15 10 * * ? 2024-2040
"""
RARE = {"never": "0 0 0 30 2 ?", "29 February": "0 0 0 29 2 ?"}

After = Callable[[datetime], datetime | None]
Turns = dict[str, dict[str, list[float]]]  # the figure of each round, by library and expression


def starts() -> list[datetime]:
    rng = random.Random(4)
    return [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(6 * 365 * 86_400)) for _ in range(50)]


STARTS = starts()


@dataclass(frozen=True)
class Library:
    name: str
    schedule: Callable[[list[str], tzinfo], After | None]  # takes the fields; None: not supported by the library


# Quando


def ours(fields: list[str], zone: tzinfo) -> After:
    return quartz.in_zone(quartz.parse_expression(" ".join(fields)), zone).after


def forget() -> None:
    for cached in (quartz.parse_expression, quartz._field, quartz._days):
        cached.cache_clear()


# The other libraries.  Days of the week are 0 to 6 from Sunday, in APScheduler names; `n/s` becomes a range.

HIGHEST = (59, 59, 23, 31, 12, 6, 2099)


def crontab_fields(fields: list[str]) -> list[str]:
    converted = ["*" if text == "?" else ranged(text, high) for text, high in zip(fields, HIGHEST, strict=False)]
    weekday = fields[5]
    if weekday[0].isdigit():
        converted[5] = f"{int(weekday[0]) - 1}{weekday[1:]}"
    elif weekday[:3] in quartz.WEEKDAY_NAMES and weekday[3:4] in ("#", "L"):
        converted[5] = f"{quartz.WEEKDAY_NAMES.index(weekday[:3])}{weekday[3:]}"
    return converted


def ranged(text: str, high: int) -> str:
    first, slash, step = text.partition("/")
    return f"{first}-{high}/{step}" if slash and first.isdigit() else text


def wraps(text: str, names: tuple[str, ...] = ()) -> bool:
    first, dash, last = text.partition("/")[0].partition("-")
    if not dash or first == "L":
        return False
    low, high = (names.index(word) if word in names else int(word) for word in (first, last))
    return low > high


def any_wraps(fields: list[str]) -> bool:
    return any(wraps(text) for text in fields[:4]) or wraps(fields[4], quartz.MONTH_NAMES)


def by_croniter(fields: list[str], zone: tzinfo) -> After | None:
    if "W" in fields[3] or "L-" in fields[3]:
        return None
    converted = crontab_fields(fields)
    if converted[5].endswith("L"):
        converted[5] = f"L{converted[5][:-1]}"
    iterator = croniter(" ".join(converted), STARTS[0].astimezone(zone), second_at_beginning=True)

    def after(instant: datetime) -> datetime:
        iterator.set_current(instant.astimezone(zone), force=True)
        return iterator.get_next(datetime)

    return after


def by_cronsim(fields: list[str], zone: tzinfo) -> After | None:
    text = fields[3]
    if len(fields) > 6 or "L-" in text or (text.endswith("W") and text != "LW") or any_wraps(fields):
        return None
    converted = " ".join(crontab_fields(fields))
    return lambda instant: next(CronSim(converted, instant.astimezone(zone)))


def by_apscheduler(fields: list[str], zone: tzinfo) -> After | None:
    if "W" in fields[3] or "L-" in fields[3] or any_wraps(fields):
        return None
    names = ("second", "minute", "hour", "day", "month", "day_of_week", "year")
    members = {name: text.lower() for name, text in zip(names, crontab_fields(fields), strict=False)}
    members["month"] = month_numbers(members["month"])
    day = members.pop("day_of_week")
    if members["day"] == "l":
        members["day"] = "last"
    if day[1:2] in ("l", "#"):
        ordinal = "last" if day[1] == "l" else ("1st", "2nd", "3rd", "4th", "5th")[int(day[2]) - 1]
        members["day"] = f"{ordinal} {quartz.WEEKDAY_NAMES[int(day[0])].lower()}"
    elif day != "*":
        members["day_of_week"] = quartz.WEEKDAY_NAMES[int(day)].lower() if day.isdigit() else day
    trigger = CronTrigger(**members, timezone=zone)
    tick = timedelta(microseconds=1)
    return lambda instant: trigger.get_next_fire_time(None, instant.astimezone(zone) + tick)


def by_celery(fields: list[str], zone: tzinfo) -> After | None:
    if fields[0] != "0" or len(fields) > 6 or "L" in fields[3] or "W" in fields[3] or fields[5][1:2] in ("L", "#"):
        return None
    if fields[5][3:4] in ("L", "#") or wraps(fields[3]):
        return None
    _, minute, hour, day, month, weekday = crontab_fields(fields)
    app = Celery(set_as_current=False)
    app.conf.timezone = str(zone)
    now = [STARTS[0]]
    schedule = crontab(minute, hour, weekday.lower(), day, month_numbers(month), nowfun=lambda: now[0], app=app)

    def after(instant: datetime) -> datetime:
        now[0] = instant
        last, delta, _ = schedule.remaining_delta(instant)
        return last + delta

    return after


def month_numbers(text: str) -> str:
    for number, name in enumerate(quartz.MONTH_NAMES, 1):
        text = text.replace(name, str(number)).replace(name.lower(), str(number))
    return text


OURS = Library("Quando", ours)
PEERS = [
    Library("croniter", by_croniter),
    Library("cronsim", by_cronsim),
    Library("APScheduler", by_apscheduler),
    Library("celery", by_celery),
]


# Measuring


@dataclass(frozen=True)
class Result:
    """Seconds per answer, by library and expression."""

    warm: dict[str, dict[str, float]]
    cold: dict[str, dict[str, float]]


def main(rounds: int = ROUNDS) -> None:
    expressions = [" ".join(text.split()) for text in EXPRESSIONS.replace("|", "\n").strip().splitlines()]
    assert len(expressions) == 40
    report_memory()
    for zone in (UTC, NEW_YORK):
        print()
        compare(expressions, zone)
        report(expressions, str(zone), measure([*expressions, *RARE.values()], zone, rounds))


def compare(expressions: Iterable[str], zone: tzinfo) -> None:
    for library in PEERS:
        supported, differing, compared = 0, 0, 0
        for text in expressions:
            theirs = library.schedule(text.split(), zone)
            if theirs is None:
                continue
            supported += 1
            mine = ours(text.split(), zone)
            for start in STARTS:
                compared += 1
                if (theirs(start), mine(start)) != (mine(start), mine(start)):
                    differing += 1
                    if zone is UTC:
                        raise SystemExit(f"{library.name} on {text} after {start}: {theirs(start)}, not {mine(start)}")
        print(
            f"{library.name} says {supported} of the 40 in {zone}; {differing} of {compared} answers differ from ours"
        )


def measure(expressions: list[str], zone: tzinfo, rounds: int) -> Result:
    warm: Turns = {library.name: {} for library in (OURS, *PEERS)}
    cold: Turns = {library.name: {} for library in (OURS, *PEERS)}
    for _ in range(rounds):
        for text in expressions:
            fields = text.split()
            for library in (OURS, *PEERS) if text not in RARE.values() else (OURS,):
                after = library.schedule(fields, zone)
                if after is not None:
                    warm[library.name].setdefault(text, []).append(warm_seconds(after))
                    cold[library.name].setdefault(text, []).append(cold_seconds(library, fields, zone))
    return Result(medians(warm), medians(cold))


def warm_seconds(after: After) -> float:
    """Return the mean seconds per answer.  The fifty instants are repeated as often as TURN seconds allow."""
    began = thread_time()
    answer_all(after)
    repetitions = max(1, int(TURN / (thread_time() - began)))
    began = thread_time()
    for _ in range(repetitions):
        answer_all(after)
    return (thread_time() - began) / repetitions / len(STARTS)


def answer_all(after: After) -> None:
    for start in STARTS:
        after(start)


def cold_seconds(library: Library, fields: list[str], zone: tzinfo) -> float:
    """Return the mean seconds to parse an expression and compute one answer, of ten tries."""
    passed = 0.0
    for start in STARTS[:10]:
        if library is OURS:
            forget()
        began = thread_time()
        after = library.schedule(fields, zone)
        assert after is not None
        after(start)
        passed += thread_time() - began
    return passed / 10


def medians(turns: Turns) -> dict[str, dict[str, float]]:
    return {name: {text: median(of_text) for text, of_text in of_name.items()} for name, of_name in turns.items()}


# Reporting


def report(expressions: list[str], zone: str, result: Result) -> None:
    print(f"\n{zone}: answers a second, and how many times as many we give on the same expressions")
    print(f"{'':14}{'expressions':>12}{'warm/s':>12}{'ours':>8}{'cold/s':>12}{'ours':>8}")
    ratios = []
    for library in PEERS:
        supported = [text for text in expressions if text in result.warm[library.name]]
        warm, cold = (
            (mean(measured[library.name], supported), mean(measured[OURS.name], supported))
            for measured in (result.warm, result.cold)
        )
        ratios.append(warm[0] / warm[1])
        print(
            f"{library.name:14}{len(supported):12}{1 / warm[0]:12,.0f}{warm[0] / warm[1]:7.1f}x"
            f"{1 / cold[0]:12,.0f}{cold[0] / cold[1]:7.1f}x"
        )
    mine = result.warm[OURS.name]
    middle = median(mine[text] for text in expressions)
    print(f"{OURS.name:14}{40:12}{1 / mean(mine, expressions):12,.0f}{'':8}", end="")
    print(f"{1 / mean(result.cold[OURS.name], expressions):12,.0f}")
    verdict("the fastest of the others", min(ratios), GOALS[zone], at_least=True)
    slowest = max(expressions, key=lambda text: mine[text])
    print(f"ours: median {middle * 1e6:.2f} us an answer, slowest {mine[slowest] * 1e6:.2f} us ({slowest})")
    verdict("the slowest of the 40, by our median", mine[slowest] / middle, SLOWEST)
    for name, text in RARE.items():
        verdict(f"{name}, by our median", mine[text] / middle, RAREST)


def mean(measured: dict[str, float], expressions: list[str]) -> float:
    return sum(measured[text] for text in expressions) / len(expressions)


def verdict(what: str, value: float, goal: float, *, at_least: bool = False) -> None:
    is_met = value >= goal if at_least else value <= goal
    print(f"{what}: {value:.1f}, goal {'at least' if at_least else 'at most'} {goal}{'' if is_met else '  MISSED'}")


def report_memory() -> None:
    """Measure how a million answers from a hundred thousand texts let the process grow.

    Each text is parsed again for each of its answers, because the texts take turns.
    """
    texts = [
        f"{n % 60} {n // 60 % 60} {n // 3600 % 24} {n % 28 + 1}-{n % 3 + 29} {n % 12 + 1} ? {1990 + n % 100}"
        for n in range(TEXTS)
    ]
    start = STARTS[0]
    gc.collect()
    process = psutil.Process()
    before = process.memory_info().rss
    began = thread_time()
    for number in range(CALLS):
        quartz.parse_expression(texts[number * 7919 % TEXTS]).rule.after(start)
    passed = thread_time() - began
    growth = (process.memory_info().rss - before) / 2**20
    print(f"{CALLS:,} answers over {len(set(texts)):,} texts, each read when it is asked: {CALLS / passed:,.0f}/s")
    verdict("growth of the process in MiB", growth, MOST_GROWTH)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
