"""Recurrence rules of iCalendar: parsing, rendering, ends and errors."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr

from recurrence.dateutil_rule import DateutilDays
from recurrence.describe import describe
from recurrence.describe_series import describe_days
from recurrence.wire import WireError, parse, render
from recurrence.wire.rrule import graph_of, read, rrule_of
from tests.recurrence.samples import utc
from tests.recurrence.wire.graph_events import NEW_YEAR, event, first_days
from tests.recurrence.wire.rrule_times import BERLIN, END, START


def pattern_of(rule, start=START):
    """Return the members of the Graph pattern without placeholders, and the first day, or None without a pattern."""
    document = graph_of(rule, start, start + timedelta(hours=1), UTC)
    if document is None:
        return None
    placeholders = {"month": 0, "dayOfMonth": 0, "daysOfWeek": [], "index": "first", "firstDayOfWeek": "sunday"}
    members = {name: value for name, value in document["pattern"].items() if placeholders.get(name) != value}
    return members, document["range"]["startDate"]


DAILY, WEEKLY = {"type": "daily", "interval": 1}, {"type": "weekly", "interval": 1, "firstDayOfWeek": "monday"}
MONTHLY, YEARLY = {"type": "absoluteMonthly", "interval": 1}, {"type": "absoluteYearly", "interval": 1}
NTH, NTH_OF_YEAR = {"type": "relativeMonthly", "interval": 1}, {"type": "relativeYearly", "interval": 1}
MON_TO_FRI = ["monday", "tuesday", "wednesday", "thursday", "friday"]


@pytest.mark.parametrize(
    "rule, pattern, first",
    [
        ("FREQ=DAILY", DAILY, "2026-01-05"),
        ("RRULE:FREQ=DAILY;INTERVAL=3", DAILY | {"interval": 3}, "2026-01-05"),
        ("freq=daily;wkst=su;", DAILY, "2026-01-05"),
        ("FREQ=DAILY;BYHOUR=10;BYMINUTE=0;BYSECOND=0", DAILY, "2026-01-05"),
        ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", WEEKLY | {"daysOfWeek": MON_TO_FRI}, "2026-01-05"),
        ("FREQ=WEEKLY", WEEKLY | {"daysOfWeek": ["monday"]}, "2026-01-05"),
        ("FREQ=WEEKLY;BYDAY=WE", WEEKLY | {"daysOfWeek": ["wednesday"]}, "2026-01-07"),
        # with weeks that start on Monday or Sunday: the start is in the first week
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU",
            WEEKLY | {"interval": 2, "daysOfWeek": ["sunday"]},
            "2026-01-11",
        ),
        (
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU;WKST=SU",
            {"type": "weekly", "interval": 2, "daysOfWeek": ["sunday"]},
            "2026-01-18",
        ),
        ("FREQ=MONTHLY", MONTHLY | {"dayOfMonth": 5}, "2026-01-05"),
        ("FREQ=MONTHLY;BYMONTHDAY=4;INTERVAL=2", MONTHLY | {"dayOfMonth": 4, "interval": 2}, "2026-03-04"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", MONTHLY | {"dayOfMonth": 31}, "2026-01-31"),
        ("FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1", MONTHLY | {"dayOfMonth": 30}, "2026-01-30"),
        ("FREQ=MONTHLY;BYMONTHDAY=30,-1;BYSETPOS=1", MONTHLY | {"dayOfMonth": 30}, "2026-01-30"),
        # January and July always have 31 days
        ("FREQ=MONTHLY;INTERVAL=6;BYMONTHDAY=31", MONTHLY | {"dayOfMonth": 31, "interval": 6}, "2026-01-31"),
        ("FREQ=MONTHLY;BYMONTH=1,7;BYMONTHDAY=31", MONTHLY | {"dayOfMonth": 31, "interval": 6}, "2026-01-31"),
        ("FREQ=MONTHLY;BYMONTH=3;BYMONTHDAY=1", YEARLY | {"dayOfMonth": 1, "month": 3}, "2026-03-01"),
        ("FREQ=MONTHLY;INTERVAL=12", YEARLY | {"dayOfMonth": 5, "month": 1}, "2026-01-05"),
        ("FREQ=MONTHLY;BYDAY=2TU", NTH | {"daysOfWeek": ["tuesday"], "index": "second"}, "2026-01-13"),
        ("FREQ=MONTHLY;BYDAY=+1MO", NTH | {"daysOfWeek": ["monday"]}, "2026-01-05"),
        ("FREQ=MONTHLY;BYDAY=-1FR", NTH | {"daysOfWeek": ["friday"], "index": "last"}, "2026-01-30"),
        (
            "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
            NTH | {"daysOfWeek": MON_TO_FRI, "index": "last"},
            "2026-01-30",
        ),
        ("FREQ=MONTHLY;BYDAY=MO", WEEKLY | {"daysOfWeek": ["monday"]}, "2026-01-05"),
        ("FREQ=YEARLY", YEARLY | {"dayOfMonth": 5, "month": 1}, "2026-01-05"),
        ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=31", YEARLY | {"dayOfMonth": 31, "month": 12}, "2026-12-31"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1", YEARLY | {"dayOfMonth": 29, "month": 2}, "2026-02-28"),
        (
            "FREQ=YEARLY;INTERVAL=2;BYMONTH=1;BYMONTHDAY=4",
            YEARLY | {"interval": 2, "dayOfMonth": 4, "month": 1},
            "2028-01-04",
        ),
        (
            "FREQ=YEARLY;BYMONTH=5;BYDAY=2SU",
            NTH_OF_YEAR | {"daysOfWeek": ["sunday"], "index": "second", "month": 5},
            "2026-05-10",
        ),
        (
            "FREQ=YEARLY;BYDAY=-1SU",
            NTH_OF_YEAR | {"daysOfWeek": ["sunday"], "index": "last", "month": 12},
            "2026-12-27",
        ),
        ("FREQ=YEARLY;BYDAY=3MO", NTH_OF_YEAR | {"daysOfWeek": ["monday"], "index": "third", "month": 1}, "2026-01-19"),
        ("FREQ=YEARLY;BYMONTH=1,4,7,10;BYMONTHDAY=1", MONTHLY | {"interval": 3, "dayOfMonth": 1}, "2026-04-01"),
        ("FREQ=YEARLY;BYMONTHDAY=15", MONTHLY | {"dayOfMonth": 15}, "2026-01-15"),
    ],
)
def test_rule_with_a_graph_pattern_is_converted(rule, pattern, first):
    assert pattern_of(rule) == (pattern, first)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;INTERVAL=2;BYDAY=MO",
        "FREQ=DAILY;BYMONTH=1",
        "FREQ=WEEKLY;BYMONTH=1;BYDAY=MO",
        "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1",
        # months without the day are skipped; Graph would use the last day
        "FREQ=MONTHLY;BYMONTHDAY=31",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=MONTHLY;BYMONTHDAY=1,15",
        "FREQ=MONTHLY;BYMONTHDAY=-2",
        "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
        "FREQ=MONTHLY;BYDAY=5MO",
        "FREQ=MONTHLY;BYDAY=-2MO",
        "FREQ=MONTHLY;BYDAY=1MO,3MO",
        # the first Monday and the first Tuesday are two days
        "FREQ=MONTHLY;BYDAY=1MO,1TU",
        "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1,2",
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=MO",
        "FREQ=MONTHLY;INTERVAL=2;BYMONTH=1,2,3;BYMONTHDAY=1",
        "FREQ=YEARLY;BYMONTH=1,2;BYMONTHDAY=1",
        # the position is counted in the year, so this is only in January
        "FREQ=YEARLY;BYMONTH=1,7;BYDAY=MO;BYSETPOS=1",
        "FREQ=YEARLY;BYDAY=20MO",
        "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
        "FREQ=YEARLY;BYYEARDAY=100",
    ],
)
def test_rule_without_a_graph_pattern_is_walked_by_dateutil(rule):
    found = read(rule, START, END, UTC)

    assert pattern_of(rule) is None
    assert list(first_days(20, found)) == [day.date().isoformat() for day in islice(rrulestr(rule, dtstart=START), 20)]


@pytest.mark.parametrize(
    "pattern, limits, rule",
    [
        ({"type": "daily"}, {}, "FREQ=DAILY"),
        ({"type": "daily", "interval": 3}, {}, "FREQ=DAILY;INTERVAL=3"),
        # the end is the last start, in UTC
        (
            {"type": "daily"},
            {"type": "numbered", "numberOfOccurrences": 200},
            "FREQ=DAILY;UNTIL=20260723T080000Z",
        ),
        (
            {"type": "weekly", "daysOfWeek": ["monday", "sunday"]},
            {"type": "endDate", "endDate": "2026-01-31"},
            "FREQ=WEEKLY;UNTIL=20260126T090000Z;BYDAY=MO,SU",
        ),
        (
            {"type": "weekly", "interval": 2, "daysOfWeek": ["monday"]},
            {},
            "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=MO",
        ),
        ({"type": "absoluteMonthly", "dayOfMonth": 28}, {}, "FREQ=MONTHLY;BYMONTHDAY=28"),
        ({"type": "absoluteMonthly", "dayOfMonth": 30}, {}, "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1"),
        ({"type": "absoluteMonthly", "dayOfMonth": 31}, {}, "FREQ=MONTHLY;BYMONTHDAY=-1"),
        (
            {"type": "absoluteMonthly", "dayOfMonth": 31, "interval": 6},
            {},
            "FREQ=MONTHLY;INTERVAL=6;BYMONTHDAY=31",
        ),
        ({"type": "absoluteYearly", "dayOfMonth": 5, "month": 8}, {}, "FREQ=YEARLY;BYMONTH=8;BYMONTHDAY=5"),
        (
            {"type": "absoluteYearly", "dayOfMonth": 29, "month": 2, "interval": 4},
            {},
            "FREQ=YEARLY;INTERVAL=4;BYMONTH=2;BYMONTHDAY=28,29;BYSETPOS=-1",
        ),
        ({"type": "relativeMonthly", "daysOfWeek": ["friday"], "index": "last"}, {}, "FREQ=MONTHLY;BYDAY=-1FR"),
        (
            {"type": "relativeMonthly", "daysOfWeek": ["thursday", "friday"], "index": "second"},
            {},
            "FREQ=MONTHLY;BYDAY=TH,FR;BYSETPOS=2",
        ),
        (
            {"type": "relativeYearly", "daysOfWeek": ["sunday"], "month": 5},
            {},
            "FREQ=YEARLY;BYMONTH=5;BYDAY=1SU",
        ),
    ],
)
def test_series_is_rendered_as_a_rule(pattern, limits, rule):
    assert rrule_of(parse("outlook", event(pattern, limits), NEW_YEAR).schedule) == rule


def test_end_of_an_all_day_rule_is_a_date():
    holiday = event({"type": "daily"}, {"type": "numbered", "numberOfOccurrences": 3}, "2026-01-05T00:00:00")

    assert rrule_of(parse("outlook", holiday, NEW_YEAR).schedule, is_all_day=True) == "FREQ=DAILY;UNTIL=20260107"


def test_walked_rule_is_rendered_only_without_exceptions():
    assert rrule_of(read("FREQ=MONTHLY;BYDAY=1MO,3MO;COUNT=3", START, END, BERLIN)) == (
        "FREQ=MONTHLY;UNTIL=20260202T090000Z;BYDAY=1MO,3MO"
    )
    assert rrule_of(read("FREQ=DAILY", START, END, BERLIN, exdates=[date(2026, 1, 6)])) is None
    # the interval is counted from the start, which is not in the series
    assert rrule_of(read("FREQ=YEARLY;INTERVAL=2;BYMONTH=1,2;BYMONTHDAY=1", START, END, BERLIN)) is None


@pytest.mark.parametrize(
    "until, last",
    [
        ("20260108", "2026-01-08"),
        ("20260108T100000", "2026-01-08"),
        ("20260108T095959", "2026-01-07"),
        ("20260108T090000Z", "2026-01-08"),
        ("20260108T085959Z", "2026-01-07"),
        # the 8th in UTC
        ("20260108T233000Z", "2026-01-08"),
        ("99991231T235959Z", None),
    ],
)
def test_rule_includes_its_end(until, last):
    days = read(f"FREQ=DAILY;UNTIL={until}", START, END, BERLIN)
    document = graph_of(f"FREQ=DAILY;UNTIL={until}", START, END, BERLIN)

    assert last is None or days.last_occurrence.day == date.fromisoformat(last)
    assert document["range"]["endDate"] == (last or "9999-12-31")


def test_exdates_remove_days_and_rdates_add_days():
    found = read("FREQ=DAILY;COUNT=4", START, END, BERLIN, [date(2026, 1, 6)], [date(2026, 2, 1), date(2026, 1, 5)])

    assert first_days(9, found) == ["2026-01-05", "2026-01-07", "2026-01-08", "2026-02-01"]
    assert found.last_occurrence.day == date(2026, 2, 1)
    assert [found.day_before(date(2026, 1, 7)), found.day_after(date(2026, 1, 8))] == [START.date(), date(2026, 2, 1)]


def test_count_does_not_include_a_day_that_a_zone_skipped():
    start = datetime(2011, 12, 28, 10)  # noqa: DTZ001
    apia = ZoneInfo("Pacific/Apia")

    assert first_days(9, read("FREQ=DAILY;COUNT=3", start, start, apia)) == ["2011-12-28", "2011-12-29", "2011-12-31"]


def test_walked_rule_is_followed_for_a_hundred_years():
    fifth = read("FREQ=YEARLY;BYMONTH=2;BYDAY=5FR", START, END, UTC)

    assert first_days(3, fifth) == ["2036-02-29", "2064-02-29", "2092-02-29"]


@pytest.mark.parametrize("frequency", ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
def test_rule_without_occurrences_is_refused_fast(frequency):
    began = process_time()

    with pytest.raises(WireError, match="has no occurrence"):
        read(f"FREQ={frequency};BYMONTH=2;BYMONTHDAY=30", START, END, UTC)
    assert process_time() - began < 3


def test_weekly_rule_is_followed_to_the_last_year():
    """dateutil fails in the week that ends in the year 10000."""
    saturdays = read("FREQ=WEEKLY;BYMONTH=1;BYDAY=SA;COUNT=1000000", START, END, UTC)

    assert saturdays.days.last.year > 2126


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;BYSETPOS=1",
        "FREQ=MONTHLY;INTERVAL=3",
        "FREQ=YEARLY;INTERVAL=2",
    ],
)
def test_age_of_a_rule_for_dateutil_costs_nothing(rule):
    searched = []
    start = datetime(1601, 1, 31, 10)  # noqa: DTZ001
    series = read(rule, start, start, UTC, [date(1700, 1, 1)], budget=searched.append)

    series.after(utc("2026-01-01T00:00"))
    assert sum(searched) < 2_000
    year = [datetime(2026, 1, 1), datetime(2027, 1, 1)]  # noqa: DTZ001
    expected = [each.date() for each in rrulestr(rule, dtstart=start).between(*year)]
    found = series.occurrences(utc("2026-01-01T00:00"), utc("2027-01-01T00:00"))
    assert [each.day for each in found] == expected


def test_end_of_counted_rule_is_searched_for_a_century_only():
    searched = []
    long, short = (
        read(f"FREQ=DAILY;COUNT={count}", START, END, BERLIN, [date(2026, 1, 6)], budget=searched.append)
        for count in (36_000, 40_000_000)
    )

    assert (short.last, sum(searched) < 75_000) == (None, True)
    assert long.last == date(2124, 7, 29)
    assert short.day_before(date(9000, 1, 1)) is not None
    # the end of an UNTIL with added days is known without a search
    until = read("FREQ=DAILY;UNTIL=99990101", START, END, BERLIN, (), [date(2026, 1, 6)])
    assert until.last == date(9999, 1, 1)


def test_document_with_a_count_beyond_a_century_is_refused():
    start = {"dateTime": "2026-01-05T10:00:00", "timeZone": "UTC"}
    rule = "FREQ=YEARLY;BYYEARDAY=5,6;COUNT="

    parse("rrule", {"start": start, "rrule": f"{rule}200"}, NEW_YEAR)
    parse("rrule", {"start": start, "rrule": "FREQ=DAILY;COUNT=2147483647"}, NEW_YEAR)
    with pytest.raises(WireError, match="within a hundred years") as caught:
        parse("rrule", {"start": start, "rrule": f"{rule}300"}, NEW_YEAR)
    assert (caught.value.path, caught.value.code) == ("rrule", "out_of_range")


def test_counted_rule_without_known_end_is_written_with_its_count():
    series = read("FREQ=YEARLY;BYYEARDAY=5,6;COUNT=1000", START, END, BERLIN)

    assert (series.last, rrule_of(series)) == (None, "FREQ=YEARLY;COUNT=1000;BYYEARDAY=5,6")


def test_budget_is_called_with_the_number_of_scanned_days():
    day_counts = []
    thirty_firsts = read("FREQ=MONTHLY;BYMONTHDAY=31", START, END, UTC, budget=day_counts.append)

    assert first_days(2, thirty_firsts) == ["2026-01-31", "2026-03-31"]
    assert day_counts == [0, 26, 59]


def test_each_day_of_a_rule_is_walked_only_once():
    day_counts = []
    yearly = read("FREQ=YEARLY;BYYEARDAY=100", START, END, UTC, budget=day_counts.append)

    fires = [yearly.after(utc(f"{year}-01-01T00:00")) for year in [*range(2030, 2050), 2028]]

    assert [fire.year for fire in fires] == [*range(2030, 2050), 2028]
    assert len(day_counts) <= 26  # once at the start, and once for each year from 2026 on


def test_series_works_after_its_budget_stopped_a_walk():
    class BudgetExceeded(Exception):
        pass

    def refuse(days):
        if days > 400 and is_strict:
            raise BudgetExceeded

    is_strict = False
    leap_days = read("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", START, END, UTC, budget=refuse)
    is_strict = True
    with pytest.raises(BudgetExceeded):
        leap_days.after(utc("2030-01-01T00:00"))
    is_strict = False

    assert leap_days.after(utc("2030-01-01T00:00")).year == 2032


def test_budget_stops_a_walk_with_an_exception():
    class BudgetExceeded(Exception):
        pass

    left = 10_000

    def budget(days):
        nonlocal left
        left -= days
        if left < 0:
            raise BudgetExceeded

    with pytest.raises(BudgetExceeded):
        read("FREQ=DAILY;BYMONTH=1;COUNT=1000000000", START, END, UTC, budget=budget)
    assert left > -400


@pytest.mark.parametrize(
    "rule, last",
    [("FREQ=MONTHLY;BYMONTHDAY=31;UNTIL=20260601", "2026-05-31"), ("FREQ=MONTHLY;BYMONTHDAY=31;COUNT=2", "2026-03-31")],
)
def test_walked_rule_has_a_last_day(rule, last):
    assert read(rule, START, END, UTC).last_occurrence.day == date.fromisoformat(last)


@pytest.mark.parametrize(
    "rule, possible",
    [
        ("FREQ=DAILY;BYSETPOS=366,365,2,1", "FREQ=DAILY;BYSETPOS=1"),
        ("FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=-366,8,7,2", "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=2,7"),
        ("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=32,1,-31", "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-31,1"),
        ("FREQ=MONTHLY;BYDAY=5MO,49MO", "FREQ=MONTHLY;BYDAY=5MO"),
        ("FREQ=YEARLY;BYMONTH=12;BYDAY=-53MO,1MO,53MO", "FREQ=YEARLY;BYMONTH=12;BYDAY=1MO"),
        ("FREQ=YEARLY;BYDAY=1MO,53MO", "FREQ=YEARLY;BYDAY=1MO,53MO"),
    ],
)
def test_numbers_that_no_period_has_are_not_given_to_dateutil(rule, possible):
    """dateutil tries each position in each period: 226 positions of each day took half a minute."""
    days = read(rule, START, END, BERLIN, exdates=[date(2026, 2, 1)]).days

    assert days.rule == possible


@pytest.mark.parametrize(
    "rule, code",
    [
        (None, "invalid"),
        (5, "invalid"),
        ("", "required"),
        ("INTERVAL=2", "required"),
        ("FREQ=HOURLY", "invalid"),
        ("FREQ=", "invalid"),
        ("FREQ=DAILY;FREQ=DAILY", "not_allowed"),
        ("FREQ=DAILY;BYEASTER=0", "unknown_value"),
        ("FREQ=DAILY;X=\0", "unknown_value"),
        ("FREQ=DAILY\nRRULE:FREQ=SECONDLY", "invalid"),
        ("FREQ=DAILY;INTERVAL=0", "invalid"),
        ("FREQ=DAILY;INTERVAL=99999999999", "invalid"),
        ("FREQ=DAILY;INTERVAL=٢", "invalid"),
        ("FREQ=DAILY;COUNT=0", "invalid"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "not_allowed"),
        ("FREQ=DAILY;UNTIL=20260230", "invalid"),
        ("FREQ=DAILY;UNTIL=tomorrow", "invalid"),
        ("FREQ=DAILY;UNTIL=20260105T250000", "invalid"),
        ("FREQ=DAILY;UNTIL=00000105", "invalid"),
        ("FREQ=DAILY;UNTIL=20251231", "never_fires"),
        ("FREQ=MONTHLY;BYMONTHDAY=31;UNTIL=20260130", "never_fires"),
        ("FREQ=DAILY;BYSETPOS=2,-2", "never_fires"),
        ("FREQ=MONTHLY;BYDAY=6MO,-6MO", "never_fires"),
        ("FREQ=WEEKLY;BYDAY=1MO", "not_allowed"),
        ("FREQ=MONTHLY;BYDAY=0MO", "invalid"),
        ("FREQ=MONTHLY;BYDAY=54MO", "invalid"),
        ("FREQ=MONTHLY;BYDAY=MO,", "invalid"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "invalid"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "invalid"),
        ("FREQ=YEARLY;BYMONTH=13", "invalid"),
        ("FREQ=DAILY;WKST=XX", "invalid"),
        # an event has one time of day
        ("FREQ=DAILY;BYHOUR=9,10", "not_allowed"),
        ("FREQ=DAILY;BYMINUTE=30", "not_allowed"),
        ("FREQ=DAILY;BYDAY=" + ",".join(["MO"] * 500), "out_of_range"),
    ],
)
def test_invalid_rule_is_refused(rule, code):
    with pytest.raises(WireError) as caught:
        read(rule, START, END, BERLIN)

    assert (caught.value.path, caught.value.code) == ("rrule", code)
    assert len(caught.value.message) < 300


DEFINITION = {"start": {"dateTime": "2026-01-05T10:00:00.0000000", "timeZone": "Europe/Berlin"}, "rrule": "freq=daily"}


def test_definition_is_parsed_and_rendered_in_canonical_form():
    more = {
        "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"},
        "exdates": ["2026-01-07", "2026-01-06"],
    }

    parsed = parse("rrule", DEFINITION | more, NEW_YEAR)

    assert parsed.schedule.first.end - parsed.schedule.first.start == timedelta(hours=1)
    assert parsed.schedule.after(utc("2026-01-05T09:00Z")) == utc("2026-01-08T09:00Z")
    assert (parsed.warnings, parsed.zone) == ((), BERLIN)
    assert render("rrule", DEFINITION | more) == {
        "start": {"dateTime": "2026-01-05T10:00:00", "timeZone": "Europe/Berlin"},
        "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"},
        "rrule": "FREQ=DAILY",
        "exdates": ["2026-01-06", "2026-01-07"],
    }


@pytest.mark.parametrize(
    "change, path, code",
    [
        ({"start": None}, "start", "required"),
        ({"rrule": None}, "rrule", "required"),
        ({"rrule": "FREQ=NEVER"}, "rrule", "invalid"),
        ({"end": {"dateTime": "2026-01-05T09:00:00", "timeZone": "Europe/Berlin"}}, "end", "out_of_range"),
        ({"exdates": "2026-01-06"}, "exdates", "invalid"),
        ({"exdates": ["06.01.2026"]}, "exdates[0]", "invalid"),
        ({"rdates": ["2026-02-30"]}, "rdates[0]", "out_of_range"),
        ({"start": {"dateTime": "9999-12-31T10:00:00", "timeZone": "UTC"}}, "start", "out_of_range"),
        (
            {"start": {"dateTime": "9999-12-31T10:00:00", "timeZone": "UTC"}, "rdates": ["0001-01-01"]},
            "start",
            "out_of_range",
        ),
    ],
)
def test_invalid_member_of_a_definition_is_refused(change, path, code):
    with pytest.raises(WireError) as caught:
        parse("rrule", DEFINITION | change, NEW_YEAR)

    assert (caught.value.path, caught.value.code) == (path, code)


@pytest.mark.parametrize(
    "exdates, rdates, ending",
    [
        ([], [], ""),
        (["2026-02-01"], [], ", except 1 day"),
        (["2026-02-01", "2026-03-01"], [], ", except 2 days"),
        ([], ["2026-02-03"], ", plus 1 extra day"),
        (["2026-02-01"], ["2026-02-03", "2026-02-04"], ", except 1 day, plus 2 extra days"),
    ],
)
def test_walked_rule_is_described(exdates, rdates, ending):
    rule = {"rrule": "FREQ=MONTHLY;BYMONTHDAY=1,15", "exdates": exdates, "rdates": rdates}

    parsed = parse("rrule", DEFINITION | rule, NEW_YEAR)

    assert isinstance(parsed.schedule.days, DateutilDays)
    assert describe(parsed) == f"by the rule FREQ=MONTHLY;BYMONTHDAY=1,15 at 10:00 Europe/Berlin{ending}"
    assert describe_days(parsed.schedule) == f"by the rule FREQ=MONTHLY;BYMONTHDAY=1,15{ending}"


def test_day_that_a_zone_skipped_is_not_described_as_an_exception():
    start = {"dateTime": "2011-12-01T10:00:00", "timeZone": "Pacific/Apia"}
    definition = {"start": start, "rrule": "FREQ=DAILY", "exdates": ["2011-12-24"]}

    parsed = parse("rrule", definition, NEW_YEAR)

    assert describe_days(parsed.schedule) == "by the rule FREQ=DAILY, except 1 day"
