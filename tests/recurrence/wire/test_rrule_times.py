"""Rules of iCalendar with several times of day, and rules that count hours, minutes or seconds."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from random import Random
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr

from recurrence.clock_changes import clock_changes
from recurrence.counting import count_within
from recurrence.describe import describe
from recurrence.schedules import FIRST_INSTANT, between
from recurrence.wire import WireError, parse, render
from tests.recurrence.samples import CREATED_AT, by_day, first, utc, walk
from tests.recurrence.wire.test_wire import count_lines

STEPS = {"SECONDLY": 86_400, "MINUTELY": 1440, "HOURLY": 24}  # a day
MOST_STEPS = 3_000  # of dateutil, for one rule
FAR = 30  # days
RULES = 3_000
ANSWERS = 10  # of one rule


def definition(rule, start="2026-01-05T10:00:00", zone="UTC", **others):
    return {"start": {"dateTime": start, "timeZone": zone}, "rrule": rule} | others


def schedule_of(*args, **others):
    return parse("rrule", definition(*args, **others), CREATED_AT).schedule


def numbers(random, low, high, most=3):
    return ",".join(map(str, sorted({random.randint(low, high) for _ in range(random.randint(1, most))})))


def random_parts(random):
    frequency = random.choice([*STEPS, "HOURLY", "MINUTELY", "DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
    intervals = (
        [1, 2, 5, 7, 12, 15, 25, 36, 48, 90, 100, 720, 999, 1440, 3600, 86_400] if frequency in STEPS else [2, 3]
    )
    weekdays = ",".join(random.sample(["MO", "TU", "WE", "TH", "FR", "SA", "SU"], random.randint(1, 4)))
    sign = random.choice([1, 1, -1])
    # week 52 is left out: dateutil sometimes takes the first days of a year for the week 53 of a year with 52 weeks
    signed = {name: sorted((sign, sign * high)) for name, high in (("MONTHDAY", 31), ("YEARDAY", 366), ("WEEKNO", 51))}
    choices = [
        (0.6, "INTERVAL", str(random.choice(intervals))),
        (0.5, "BYHOUR", numbers(random, 0, 23)),
        (0.5, "BYMINUTE", numbers(random, 0, 59, 5)),
        (0.3, "BYSECOND", numbers(random, 0, 59, 5)),
        (0.2, "BYMONTH", numbers(random, 1, 12)),
        (0.2, "BYDAY", weekdays),
        *((0.08, f"BY{name}", numbers(random, low, high)) for name, (low, high) in signed.items()),
        (0.1, "WKST", random.choice(["SU", "WE"])),
        (0.1, "BYSETPOS", random.choice(["1", "-1", "2", "1,-1"])),
        (0.3, "COUNT", str(random.choice([1, 2, 5, 8]))),
    ]
    return {"FREQ": frequency} | {name: value for share, name, value in choices if random.random() < share}


def is_cheap_for_dateutil(parts, start, last):
    """Return True if dateutil, which goes through all periods, finds the answers up to `last` in a few milliseconds."""
    return (last - start).days * STEPS.get(parts["FREQ"], 1) / int(parts.get("INTERVAL", 1)) < MOST_STEPS


def test_answers_are_those_of_dateutil():
    random = Random(15)
    compared = answers = 0
    for _ in range(RULES):
        parts = random_parts(random)
        start = datetime(2026, 1, 1) + timedelta(seconds=random.randrange(3 * 365 * 86_400))  # noqa: DTZ001
        if "COUNT" not in parts and random.random() < 0.3:
            parts["UNTIL"] = f"{start + timedelta(seconds=random.randrange(10 ** random.randint(4, 8))):%Y%m%dT%H%M%S}"
        rule = ";".join(f"{name}={value}" for name, value in parts.items())

        try:
            ours = [fire.replace(tzinfo=None) for fire in first(ANSWERS, schedule_of(rule, start.isoformat()))]
        except WireError as error:
            assert error.code in ("never_fires", "not_allowed", "out_of_range")
            continue
        if is_cheap_for_dateutil(parts, start, ours[-1]):
            is_ended = len(ours) < ANSWERS and (ours[-1] - start).days < FAR
            theirs = [*islice(rrulestr(rule, dtstart=start), len(ours) + is_ended)]
            assert ours == theirs, rule
            compared, answers = compared + 1, answers + len(ours)

    assert compared > 0.6 * RULES
    assert answers > 4 * RULES


def test_rule_of_dateutil_that_never_fires_is_refused():
    random = Random(16)
    refused = 0
    while refused < 50:
        parts = random_parts(random) | {"FREQ": random.choice([*STEPS])}
        rule = ";".join(f"{name}={value}" for name, value in parts.items())
        start = datetime(2026, 1, 5, 10)  # noqa: DTZ001
        try:
            rrulestr(rule, dtstart=start)
        except ValueError:  # dateutil sees at once that no period is at an allowed time
            refused += 1
            with pytest.raises(WireError) as caught:
                schedule_of(rule)
            assert caught.value.code in ("never_fires", "out_of_range"), rule


@pytest.mark.parametrize(
    "rule, expected",
    [
        ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30", "01-05 17:00 17:30, 01-06 09:00 09:30 17:00"),
        ("FREQ=DAILY;INTERVAL=2;BYHOUR=12", "01-05 12:00, 01-07 12:00, 01-09 12:00, 01-11 12:00, 01-13 12:00"),
        ("FREQ=WEEKLY;BYDAY=TU;BYHOUR=9,10", "01-06 09:00 10:00, 01-13 09:00 10:00, 01-20 09:00"),
        ("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18", "01-30 18:00, 02-27 18:00, 03-27 18:00, 04-24 18:00, 05-29 18:00"),
        ("FREQ=HOURLY;INTERVAL=6", "01-05 10:00 16:00 22:00, 01-06 04:00 10:00"),
        ("FREQ=HOURLY;INTERVAL=30;BYMINUTE=15,45", "01-05 10:15 10:45, 01-06 16:15 16:45, 01-07 22:15"),
        ("FREQ=HOURLY;BYHOUR=9,10;BYDAY=MO", "01-05 10:00, 01-12 09:00 10:00, 01-19 09:00 10:00"),
        ("FREQ=HOURLY;BYMINUTE=5,10,15;BYSETPOS=-1", "01-05 10:15 11:15 12:15 13:15 14:15"),
        ("FREQ=MINUTELY;INTERVAL=45;COUNT=3", "01-05 10:00 10:45 11:30"),
        ("FREQ=SECONDLY;INTERVAL=40000;UNTIL=20260106", "01-05 10:00 21:06, 01-06 08:13 19:20"),
        ("FREQ=HOURLY;INTERVAL=6;UNTIL=20260105T220000Z", "01-05 10:00 16:00 22:00"),
        ("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=29;COUNT=2", "02-29 00:00 01:00"),
    ],
)
def test_rule_fires_at(rule, expected):
    assert by_day(first(5, schedule_of(rule))) == expected


def test_removed_and_added_days():
    rule = schedule_of("FREQ=HOURLY;INTERVAL=8;COUNT=5", exdates=["2026-01-06"], rdates=["2026-01-01", "2026-01-09"])

    assert by_day(walk(rule, FIRST_INSTANT)) == (
        "01-01 02:00 10:00 18:00, 01-05 10:00 18:00, 01-09 02:00 10:00 18:00"  # 6 January counts
    )


@pytest.mark.parametrize("until", ["20260105", "20260105T200000", "20260105T190000Z"])
def test_added_day_after_the_end(until):
    rule = schedule_of(f"FREQ=HOURLY;INTERVAL=8;UNTIL={until}", zone="Europe/Berlin", rdates=["2026-01-09"])

    assert by_day(walk(rule, FIRST_INSTANT)) == "01-05 09:00 17:00, 01-09 01:00 09:00 17:00"


@pytest.mark.parametrize(
    "clock_change, expected",
    [
        (None, "03-29 00:00 00:30 01:00 01:30 02:00"),  # 02:30 becomes 03:30, which has a run already
        ("cron", "03-29 00:00 00:30 01:00 01:30 02:00"),
        ({"gap": "skip"}, "03-29 00:00 00:30 01:00 01:30 02:00"),
    ],
)
def test_interval_at_a_gap(clock_change, expected):
    rule = schedule_of("FREQ=MINUTELY;INTERVAL=30", zone="Europe/Berlin", clockChange=clock_change)

    assert by_day(first(5, rule, utc("2026-03-29T00:00Z"))) == expected


@pytest.mark.parametrize(
    "clock_change, expected",
    [
        (None, "03-29 01:15 01:45"),
        ("cron", "03-29 01:00"),
        ("quartz", ""),
        ({"gap": "skip"}, ""),
    ],
)
@pytest.mark.parametrize(
    "rule", ["FREQ=DAILY;BYHOUR=2;BYMINUTE=15,45", "FREQ=DAILY;BYHOUR=2;BYMINUTE=15,45;INTERVAL=2"]
)
def test_fixed_time_in_a_gap(rule, clock_change, expected):
    schedule = schedule_of(rule, "2026-03-27T00:00:00", "Europe/Berlin", clockChange=clock_change)

    fires = between(schedule, utc("2026-03-29T00:00Z"), utc("2026-03-29T12:00Z"))

    assert by_day(fires) == expected


@pytest.mark.parametrize(
    "rule, clock_change, expected",
    [
        ("FREQ=DAILY", None, "2026-10-25T00:30Z"),
        ("FREQ=DAILY", "cron", "2026-10-25T00:30Z"),
        ("FREQ=DAILY", "quartz", "2026-10-25T01:30Z"),
        ("FREQ=DAILY", {"repeat": "second"}, "2026-10-25T01:30Z"),
    ],
)
def test_clock_change_of_a_series(rule, clock_change, expected):
    schedule = schedule_of(rule, "2026-01-05T02:30:00", "Europe/Berlin", clockChange=clock_change)

    assert schedule.after(utc("2026-10-24T12:00Z")) == utc(expected)


def test_clock_change_is_described():
    schedule = schedule_of("FREQ=DAILY;BYHOUR=2,12;BYMINUTE=30", zone="Europe/Berlin")
    fires = first(1, schedule, utc("2026-03-29T00:00Z"))

    texts = clock_changes(schedule, fires, utc("2026-03-29T00:00Z"))

    assert texts == ["moved from 02:30, which clocks skip"]


@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=HOURLY;INTERVAL=6"])
def test_bounds_are_included(rule):
    bounds = {"startTime": "2026-01-07T10:00:00Z", "endTime": "2026-01-08T10:00:00Z", "timeZone": "UTC"}

    fires = first(9, schedule_of(rule, **bounds))

    assert (fires[0], fires[-1]) == (utc("2026-01-07T10:00Z"), utc("2026-01-08T10:00Z"))


@pytest.mark.parametrize(
    "change, path, code",
    [
        ({"rrule": "FREQ=HOURLY;BYSECOND=60"}, "rrule", "out_of_range"),
        ({"rrule": "FREQ=HOURLY;BYDAY=1MO"}, "rrule", "not_allowed"),
        ({"rrule": "FREQ=DAILY;BYHOUR=9,10;BYSETPOS=1"}, "rrule", "not_allowed"),
        ({"rrule": "FREQ=HOURLY;BYSETPOS=2"}, "rrule", "never_fires"),
        ({"rrule": "FREQ=HOURLY;INTERVAL=2;BYHOUR=9"}, "rrule", "never_fires"),
        ({"rrule": "FREQ=HOURLY;INTERVAL=168;BYDAY=TU"}, "rrule", "never_fires"),
        ({"rrule": "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30"}, "rrule", "never_fires"),
        ({"rrule": "FREQ=SECONDLY;UNTIL=20260105T095959Z"}, "rrule", "never_fires"),
        ({"rrule": "FREQ=SECONDLY;INTERVAL=100003;BYHOUR=9"}, "rrule", "out_of_range"),
        ({"rrule": "FREQ=HOURLY;INTERVAL=25;BYDAY=MO;COUNT=100000"}, "rrule", "out_of_range"),
        ({"rrule": "FREQ=YEARLY;INTERVAL=2;BYYEARDAY=1,2;BYHOUR=1,2;COUNT=1000"}, "rrule", "out_of_range"),
        ({"rrule": "FREQ=HOURLY", "end": {"dateTime": "2026-01-05T11:00:00"}}, "end", "not_allowed"),
        ({"timeZone": "Europe/Berlin"}, "timeZone", "not_allowed"),
        ({"clockChange": "sometimes"}, "clockChange", "unknown_value"),
        ({"start": {"dateTime": "0001-01-01T10:00:00"}}, "start", "out_of_range"),
    ],
)
def test_wrong_definition_is_refused(change, path, code):
    for read in (parse, lambda format, document, now: render(format, document)):
        with pytest.raises(WireError) as caught:
            read("rrule", definition("FREQ=HOURLY") | change, CREATED_AT)
        assert (caught.value.path, caught.value.code) == (path, code)


def test_definition_is_rendered():
    members = {"timeZone": "europe/berlin", "clockChange": {"gap": "next"}, "endTime": "2030-01-01"}
    document = definition("byhour=9,17;freq=daily", zone="Europe/Berlin", **members)

    assert render("rrule", document) == definition(
        "FREQ=DAILY;BYHOUR=9,17",
        zone="Europe/Berlin",
        timeZone="Europe/Berlin",
        clockChange={"gap": "next", "repeat": "first"},
        endTime="2030-01-01T00:00:00Z",
    )


@pytest.mark.parametrize(
    "rule, words",
    [
        ("FREQ=DAILY;BYHOUR=9,17", "every day at 09:00 and 17:00 Europe/Berlin"),
        ("FREQ=WEEKLY;BYDAY=MO;BYHOUR=9", "every week on Monday at 09:00 Europe/Berlin"),
        (
            "FREQ=DAILY;BYHOUR=9,17;BYMONTH=1,2;BYMONTHDAY=1,-1;COUNT=2",
            "on the 1st and the last day in January and February at 09:00 and 17:00 Europe/Berlin,"
            " until 31 January 2026 at 17:00",
        ),
        ("FREQ=HOURLY;INTERVAL=6", "every 6 hours from 5 January 2026 at 10:00 Europe/Berlin"),
        (
            "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9;BYDAY=SA,SU",
            "every 20 minutes from 5 January 2026 at 10:00 Europe/Berlin, only at some times of the day,"
            " only every week on Saturday and Sunday",
        ),
        (
            "FREQ=HOURLY;BYMINUTE=0,30;BYWEEKNO=1,-1",
            "every hour from 5 January 2026 at 10:00 Europe/Berlin, 2 times each, only in the weeks -1 and 1",
        ),
    ],
)
def test_rule_is_described(rule, words):
    assert describe(parse("rrule", definition(rule, zone="Europe/Berlin"), CREATED_AT)) == words


def test_removed_and_added_days_are_described():
    document = definition("FREQ=DAILY;BYHOUR=9", exdates=["2026-02-01"], rdates=["2026-01-01", "2026-01-02"])

    assert describe(parse("rrule", document, CREATED_AT)) == "every day at 09:00 UTC, except 1 day, plus 2 extra days"


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYHOUR=2,9,17;BYMINUTE=30",
        "FREQ=MINUTELY;INTERVAL=7;BYHOUR=2,3;BYDAY=SU,MO",
        "FREQ=SECONDLY;INTERVAL=977",
        "FREQ=HOURLY;INTERVAL=5;COUNT=300",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_fire_times_are_counted_by_day(rule, zone):
    schedule = schedule_of(rule, zone=zone, exdates=["2026-03-27"], rdates=["2026-03-26"])

    for start, end in (
        ("2026-03-26T01:02:03Z", "2026-04-05T02:30:00Z"),
        ("2026-01-01T00:00:00Z", "2026-01-06T00:00:00Z"),
    ):
        window = utc(start), utc(end)
        assert count_within(schedule, *window) == sum(1 for _ in between(schedule, *window))


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=SECONDLY;INTERVAL=997;BYHOUR=23;BYMINUTE=59;BYSECOND=59",
        "FREQ=SECONDLY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO;BYHOUR=5",
        "FREQ=SECONDLY;COUNT=2147483647",
        "FREQ=SECONDLY;INTERVAL=2147483647",
        "FREQ=MINUTELY;INTERVAL=999;BYHOUR=5;BYMINUTE=7",
        "FREQ=MINUTELY;INTERVAL=1000;BYYEARDAY=366;BYMINUTE=20",
        "FREQ=HOURLY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=HOURLY;INTERVAL=168;BYDAY=TU",
        "FREQ=HOURLY;INTERVAL=999;BYHOUR=5;BYWEEKNO=53",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYHOUR=1,2;BYMONTH=2;BYMONTHDAY=29;BYDAY=SU;COUNT=1000",
        "FREQ=MONTHLY;BYHOUR=1,2;BYYEARDAY=366;BYMONTH=1",
    ],
)
def test_hostile_rule_costs_little(rule):
    schedule_of("FREQ=HOURLY")  # the first schedule in a zone reads the zone
    costs = []
    for number in range(5):
        document = definition(rule, f"2026-01-05T1{number}:00:00")
        begin = process_time()
        try:
            schedule = parse("rrule", document, CREATED_AT).schedule
        except WireError as error:
            assert error.code in ("never_fires", "out_of_range")
        else:
            schedule.after(utc("2150-06-01T00:00Z"))
        costs.append(process_time() - begin)

    assert sorted(costs)[1] < 0.010


def test_cost_does_not_grow_with_age():
    schedule = schedule_of("FREQ=MINUTELY;INTERVAL=7;BYHOUR=9,10;BYDAY=MO,FR", "1971-01-05T10:00:00")
    schedule.after(CREATED_AT)

    begin = process_time()
    for year in range(2000, 9000, 100):
        assert schedule.after(datetime(year, 6, 1, tzinfo=UTC)) < datetime(year, 6, 20, tzinfo=UTC)

    assert process_time() - begin < 0.1


def test_end_of_the_calendar():
    schedule = schedule_of("FREQ=HOURLY;INTERVAL=5", "9999-12-20T00:00:00", "Pacific/Kiritimati")

    assert len(first(1000, schedule)) < 60


@pytest.mark.parametrize("rdates", [[], ["2026-01-09"]])
@pytest.mark.parametrize("until", ["99991231", "99991231T235959", "99991231T235959Z"])
def test_end_at_the_end_of_the_calendar(until, rdates):
    schedule = schedule_of(f"FREQ=HOURLY;UNTIL={until}", zone="Pacific/Kiritimati", rdates=rdates)

    assert schedule.after(utc("9000-01-01T00:00Z")) == utc("9000-01-01T01:00Z")


def test_day_that_a_zone_skipped_has_no_fire_time():
    schedule = schedule_of("FREQ=DAILY;BYHOUR=9,10", "2011-12-29T00:00:00", "Pacific/Apia")

    days = [fire.astimezone(ZoneInfo("Pacific/Apia")).date() for fire in first(3, schedule)]

    assert days == [date(2011, 12, 29), date(2011, 12, 29), date(2011, 12, 31)]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=6;BYYEARDAY=275;BYSETPOS=1",
        "FREQ=WEEKLY;BYMONTH=6;BYYEARDAY=275",
        "FREQ=MONTHLY;BYMONTH=6;BYYEARDAY=275",
        "FREQ=YEARLY;BYMONTH=6;BYWEEKNO=40",
    ],
)
def test_a_rule_without_days_is_not_searched_day_by_day(rule):
    definition = {"start": {"dateTime": "2026-01-05T09:00:00", "timeZone": "UTC"}, "rrule": rule}
    dates = {"rdates": ["2026-02-01"]}  # without them the rule is refused

    parsed, lines = count_lines(parse, "rrule", definition | dates, CREATED_AT)

    assert parsed.schedule.after(utc("2026-01-06T00:00Z")) == utc("2026-02-01T09:00Z")
    assert lines < 200_000  # dateutil takes millions
