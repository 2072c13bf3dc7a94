"""Recurrence rules of iCalendar: how they are read and written, where they end, and what is refused."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rrulestr

from recurrence.dateutil_rule import DateutilDays
from recurrence.describe import describe, describe_days
from recurrence.wire import WireError, parse, render
from recurrence.wire.rrule import graph_of, read, rrule_of
from tests.recurrence.samples import utc
from tests.recurrence.wire.graph_events import NEW_YEAR, event, first_days
from tests.recurrence.wire.rrule_times import BERLIN, END, START


def pattern_of(rule, start=START):
    """The members of a Graph pattern that say something, and the first day; None when Graph cannot say it."""
    document = graph_of(rule, start, start + timedelta(hours=1), UTC)
    if document is None:
        return None
    silent = {"month": 0, "dayOfMonth": 0, "daysOfWeek": [], "index": "first", "firstDayOfWeek": "sunday"}
    said = {name: value for name, value in document["pattern"].items() if silent.get(name) != value}
    return said, document["range"]["startDate"]


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
        # of a week that begins on Monday, and of one that begins on Sunday: the start is in its first
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
        # all Januaries and Julys have 31 days
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
def test_a_rule_that_graph_can_say(rule, pattern, first):
    assert pattern_of(rule) == (pattern, first)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;INTERVAL=2;BYDAY=MO",
        "FREQ=DAILY;BYMONTH=1",
        "FREQ=WEEKLY;BYMONTH=1;BYDAY=MO",
        "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1",
        # months without the day are left out, where Graph takes their last one
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
        # a position counts through the year, so this is in January only
        "FREQ=YEARLY;BYMONTH=1,7;BYDAY=MO;BYSETPOS=1",
        "FREQ=YEARLY;BYDAY=20MO",
        "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO",
        "FREQ=YEARLY;BYYEARDAY=100",
    ],
)
def test_a_rule_that_graph_cannot_say_is_walked(rule):
    found = read(rule, START, END, UTC)

    assert pattern_of(rule) is None
    assert list(first_days(20, found)) == [day.date().isoformat() for day in islice(rrulestr(rule, dtstart=START), 20)]


@pytest.mark.parametrize(
    "pattern, limits, rule",
    [
        ({"type": "daily"}, {}, "FREQ=DAILY"),
        ({"type": "daily", "interval": 3}, {}, "FREQ=DAILY;INTERVAL=3"),
        # an end is the last start, in UTC
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
def test_a_series_as_a_rule(pattern, limits, rule):
    assert rrule_of(parse("outlook", event(pattern, limits), NEW_YEAR).schedule) == rule


def test_the_end_of_an_event_of_whole_days_is_a_date():
    holiday = event({"type": "daily"}, {"type": "numbered", "numberOfOccurrences": 3}, "2026-01-05T00:00:00")

    assert rrule_of(parse("outlook", holiday, NEW_YEAR).schedule, is_all_day=True) == "FREQ=DAILY;UNTIL=20260107"


def test_a_walked_rule_is_written_as_it_was_unless_it_has_exceptions():
    assert rrule_of(read("FREQ=MONTHLY;BYDAY=1MO,3MO;COUNT=3", START, END, BERLIN)) == (
        "FREQ=MONTHLY;UNTIL=20260202T090000Z;BYDAY=1MO,3MO"
    )
    assert rrule_of(read("FREQ=DAILY", START, END, BERLIN, exdates=[date(2026, 1, 6)])) is None
    # the interval is counted from the start, which is not of the series
    assert rrule_of(read("FREQ=YEARLY;INTERVAL=2;BYMONTH=1,2;BYMONTHDAY=1", START, END, BERLIN)) is None


@pytest.mark.parametrize(
    "until, last",
    [
        ("20260108", "2026-01-08"),
        ("20260108T100000", "2026-01-08"),
        ("20260108T095959", "2026-01-07"),
        ("20260108T090000Z", "2026-01-08"),
        ("20260108T085959Z", "2026-01-07"),
        # still the 8th in UTC
        ("20260108T233000Z", "2026-01-08"),
        ("99991231T235959Z", None),
    ],
)
def test_a_rule_includes_its_end(until, last):
    days = read(f"FREQ=DAILY;UNTIL={until}", START, END, BERLIN)
    document = graph_of(f"FREQ=DAILY;UNTIL={until}", START, END, BERLIN)

    assert last is None or days.last_occurrence.day == date.fromisoformat(last)
    assert document["range"]["endDate"] == (last or "9999-12-31")


def test_exceptions_leave_days_out_and_bring_others_in():
    found = read("FREQ=DAILY;COUNT=4", START, END, BERLIN, [date(2026, 1, 6)], [date(2026, 2, 1), date(2026, 1, 5)])

    assert first_days(9, found) == ["2026-01-05", "2026-01-07", "2026-01-08", "2026-02-01"]
    assert found.last_occurrence.day == date(2026, 2, 1)
    assert [found.day_before(date(2026, 1, 7)), found.day_after(date(2026, 1, 8))] == [START.date(), date(2026, 2, 1)]


def test_a_count_does_not_count_a_day_that_a_zone_never_had():
    start = datetime(2011, 12, 28, 10)  # noqa: DTZ001
    apia = ZoneInfo("Pacific/Apia")

    assert first_days(9, read("FREQ=DAILY;COUNT=3", start, start, apia)) == ["2011-12-28", "2011-12-29", "2011-12-31"]


def test_a_walked_rule_goes_on_for_a_hundred_years():
    fifth = read("FREQ=YEARLY;BYMONTH=2;BYDAY=5FR", START, END, UTC)

    assert first_days(3, fifth) == ["2036-02-29", "2064-02-29", "2092-02-29"]


@pytest.mark.parametrize("frequency", ["DAILY", "WEEKLY", "MONTHLY", "YEARLY"])
def test_a_rule_that_never_fits_is_refused_before_long(frequency):
    began = process_time()

    with pytest.raises(WireError, match="has no occurrence"):
        read(f"FREQ={frequency};BYMONTH=2;BYMONTHDAY=30", START, END, UTC)
    assert process_time() - began < 3


def test_a_rule_of_weeks_is_followed_to_the_last_year_there_is():
    """In which dateutil fails on the week that leads into the year 10000."""
    saturdays = read("FREQ=WEEKLY;BYMONTH=1;BYDAY=SA;COUNT=1000000", START, END, UTC)

    assert saturdays.last.year > 2126


def test_a_meter_is_told_how_many_days_are_looked_through():
    told = []
    thirty_firsts = read("FREQ=MONTHLY;BYMONTHDAY=31", START, END, UTC, budget=told.append)

    assert first_days(2, thirty_firsts) == ["2026-01-31", "2026-03-31"]
    assert told == [0, 26, 59]


def test_each_day_is_walked_once_however_often_a_series_is_asked():
    told = []
    yearly = read("FREQ=YEARLY;BYYEARDAY=100", START, END, UTC, budget=told.append)

    fires = [yearly.after(utc(f"{year}-01-01T00:00")) for year in [*range(2030, 2050), 2028]]

    assert [fire.year for fire in fires] == [*range(2030, 2050), 2028]
    assert len(told) <= 26  # once to begin, and each year from 2026 on


def test_a_series_goes_on_after_its_meter_ended_a_walk():
    class Enough(Exception):
        pass

    def refuse(days):
        if days > 400 and is_strict:
            raise Enough

    is_strict = False
    leap_days = read("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", START, END, UTC, budget=refuse)
    is_strict = True
    with pytest.raises(Enough):
        leap_days.after(utc("2030-01-01T00:00"))
    is_strict = False

    assert leap_days.after(utc("2030-01-01T00:00")).year == 2032


def test_a_meter_ends_a_walk_by_what_it_raises():
    class Enough(Exception):
        pass

    left = 10_000

    def budget(days):
        nonlocal left
        left -= days
        if left < 0:
            raise Enough

    with pytest.raises(Enough):
        read("FREQ=DAILY;BYMONTH=1;COUNT=1000000000", START, END, UTC, budget=budget)
    assert left > -400


@pytest.mark.parametrize(
    "rule, last",
    [("FREQ=MONTHLY;BYMONTHDAY=31;UNTIL=20260601", "2026-05-31"), ("FREQ=MONTHLY;BYMONTHDAY=31;COUNT=2", "2026-03-31")],
)
def test_a_walked_rule_knows_its_last_day(rule, last):
    assert read(rule, START, END, UTC).last_occurrence.day == date.fromisoformat(last)


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
def test_what_is_no_rule_is_refused(rule, code):
    with pytest.raises(WireError) as caught:
        read(rule, START, END, BERLIN)

    assert (caught.value.path, caught.value.code) == ("rrule", code)
    assert len(caught.value.message) < 300


DEFINITION = {"start": {"dateTime": "2026-01-05T10:00:00.0000000", "timeZone": "Europe/Berlin"}, "rrule": "freq=daily"}


def test_a_definition_is_compiled_and_answered_in_one_spelling():
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
def test_a_definition_is_refused_for_a_wrong_member(change, path, code):
    with pytest.raises(WireError) as caught:
        parse("rrule", DEFINITION | change, NEW_YEAR)

    assert (caught.value.path, caught.value.code) == (path, code)


@pytest.mark.parametrize(
    "exdates, rdates, says",
    [
        ([], [], ""),
        (["2026-02-01"], [], ", except 1 day"),
        (["2026-02-01", "2026-03-01"], [], ", except 2 days"),
        ([], ["2026-02-03"], ", plus 1 extra day"),
        (["2026-02-01"], ["2026-02-03", "2026-02-04"], ", except 1 day, plus 2 extra days"),
    ],
)
def test_a_walked_rule_in_words(exdates, rdates, says):
    rule = {"rrule": "FREQ=MONTHLY;BYMONTHDAY=1,15", "exdates": exdates, "rdates": rdates}

    parsed = parse("rrule", DEFINITION | rule, NEW_YEAR)

    assert isinstance(parsed.schedule.days, DateutilDays)
    assert describe(parsed) == f"by the rule FREQ=MONTHLY;BYMONTHDAY=1,15 at 10:00 Europe/Berlin{says}"
    assert describe_days(parsed.schedule) == f"by the rule FREQ=MONTHLY;BYMONTHDAY=1,15{says}"


def test_a_day_that_a_zone_never_had_is_no_exception_of_a_rule():
    start = {"dateTime": "2011-12-01T10:00:00", "timeZone": "Pacific/Apia"}
    definition = {"start": start, "rrule": "FREQ=DAILY", "exdates": ["2011-12-24"]}

    parsed = parse("rrule", definition, NEW_YEAR)

    assert describe_days(parsed.schedule) == "by the rule FREQ=DAILY, except 1 day"
