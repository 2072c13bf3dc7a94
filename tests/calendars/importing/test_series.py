"""Rules, and dates beside them: what series or single events they become."""

import pytest

from calendars.models import Event
from tests.calendars.conftest import days
from tests.calendars.importing.files import REFUSED, TAKEN, UNCHANGED, everything, repeating
from tests.conftest import utc


@pytest.mark.parametrize(
    "rule, pattern",
    [
        ("FREQ=DAILY;INTERVAL=3", {"type": "daily", "interval": 3}),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", {"type": "weekly", "daysOfWeek": ["monday", "wednesday"]}),
        ("FREQ=MONTHLY;BYMONTHDAY=5", {"type": "absoluteMonthly", "dayOfMonth": 5}),
        ("FREQ=MONTHLY;BYDAY=1MO", {"type": "relativeMonthly", "index": "first", "daysOfWeek": ["monday"]}),
        ("FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=5", {"type": "absoluteYearly", "dayOfMonth": 5, "month": 1}),
        ("FREQ=YEARLY", {"type": "absoluteYearly", "dayOfMonth": 5, "month": 1}),
    ],
)
def test_a_rule_that_is_one_of_our_patterns_is_taken_as_a_series(taken, rule, pattern):
    event, notes = taken(f"RRULE:{rule}")

    assert pattern.items() <= event.recurrence["pattern"].items()
    assert event.recurrence["range"]["type"] == "noEnd"
    assert notes == []


def test_a_series_has_the_occurrences_that_its_rule_counts(take):
    take(repeating())

    assert days(Event.objects.get()) == ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26"]


def test_a_series_that_is_longer_than_one_may_be_ends_on_a_day_instead(taken):
    event, notes = taken("RRULE:FREQ=WEEKLY;COUNT=1000")

    limits = event.recurrence["range"]
    assert (limits["type"], limits["endDate"], limits["numberOfOccurrences"]) == ("endDate", "2045-02-27", 0)
    assert event.series.count_before(utc("2100-01-01T00:00Z")) == 1000
    assert notes == ["It repeats 1000 times, and at most 999 can be counted: it is a series that ends on 2045-02-27."]


def test_the_same_file_again_changes_nothing_in_a_longer_series(take):
    file = repeating(rule="FREQ=WEEKLY;COUNT=1000")
    take(file)

    (line,) = take(file)

    assert line.status is UNCHANGED


@pytest.mark.parametrize("count", [2_000_000, 2**31 - 1])
def test_a_series_that_no_calendar_holds_is_refused_in_the_report(take, count):
    (line,) = take(repeating(rule=f"FREQ=DAILY;COUNT={count}"))

    assert (line.status, line.notes) == (REFUSED, [f"It repeats {count} times, beyond the year 4500."])


@pytest.mark.parametrize(
    "rule, count, found",
    [
        # the first and the third Monday: no pattern has both
        ("FREQ=MONTHLY;BYDAY=1MO,3MO;COUNT=4", 2, ["01-05", "01-19", "02-02", "02-16"]),
        ("FREQ=MONTHLY;BYMONTHDAY=5,20;UNTIL=20260301T000000Z", 2, ["01-05", "01-20", "02-05", "02-20"]),
        ("FREQ=YEARLY;BYMONTH=1,4;BYMONTHDAY=5;COUNT=2", 2, ["01-05", "04-05"]),
        # one of which never comes before the end
        ("FREQ=MONTHLY;BYMONTHDAY=5,20;COUNT=1", 1, ["01-05"]),
    ],
)
def test_a_rule_that_several_patterns_say_together_is_taken_as_several_series(take, calendar, rule, count, found):
    (line,) = take(repeating(rule=rule))

    assert line.status is TAKEN
    assert [each[5:10] for each in everything(calendar)] == found
    assert calendar.events.filter(recurrence__isnull=False).count() == count


def test_a_rule_that_no_pattern_says_is_taken_as_single_events(take, calendar):
    """In months of 30 days a pattern would take the 30th for the 31st."""
    (line,) = take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000"))

    assert line.notes == ["Its rule is no series here: its occurrences are single events."]
    assert [each[5:10] for each in everything(calendar)] == ["01-31", "03-31", "05-31"]
    assert not calendar.events.filter(recurrence__isnull=False).exists()


def test_of_one_without_an_end_those_near_today_are_taken(take, calendar):
    (line,) = take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31", start=";TZID=Europe/Berlin:20100131T100000"))

    assert line.notes == [
        "Its rule is no series here: its occurrences from 2025-01-01 to 2028-01-02 are single events."
    ]
    assert calendar.events.count() == 21


@pytest.mark.parametrize(
    "rule, reason",
    [
        ("FREQ=SECONDLY", "Its rule cannot be taken: FREQ must not be 'SECONDLY'."),
        ("FREQ=HOURLY;COUNT=2", "Its rule cannot be taken: FREQ must not be 'HOURLY'."),
        ("FREQ=DAILY;BYHOUR=10,12", "Its rule cannot be taken: BYHOUR must be that of the start"),
        (
            "FREQ=DAILY;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
            "Its rule is no series here, and it repeats too often for single events.",
        ),
        ("FREQ=WEEKLY;COUNT=x", "Its rule cannot be taken: COUNT must not be 'X'"),
        ("", "Its rule cannot be taken: must have a FREQ"),
        ("FREQ=YEARLY;BYYEARDAY=1;BYWEEKNO=20;COUNT=3", "Its rule"),
        ("FREQ=DAILY;BYSETPOS=1;COUNT=999999999999", "Its rule"),
        ("FREQ=MONTHLY;BYMONTHDAY=31;UNTIL=19990101", "Its rule"),
    ],
)
def test_a_rule_that_cannot_be_taken_is_refused_with_the_reason(take, rule, reason):
    (line,) = take(repeating(rule=rule))

    assert line.notes[-1].startswith(reason)


@pytest.mark.parametrize("rule", ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;INTERVAL=7;BYDAY=TU"])
def test_a_rule_that_never_fits_leaves_the_start(take, calendar, rule):
    (line,) = take(repeating(rule=rule))

    assert (line.status, line.notes) == (TAKEN, ["Its rule repeats it no more."])
    assert everything(calendar) == ["2026-01-05T10:00"]
    assert calendar.events.get().uid == "one@example.com"


def test_two_rules_are_refused(refused):
    assert refused("RRULE:FREQ=DAILY;COUNT=2", "RRULE:FREQ=WEEKLY") == "It repeats by more than one rule."


def test_a_start_that_does_not_fit_its_rule_counts_as_the_first(take, calendar):
    """So most programs show it; RFC 5545 leaves it open."""
    (line,) = take(repeating(rule="FREQ=WEEKLY;BYDAY=WE;COUNT=3"))

    assert line.notes == ["Its start is no day of its rule: it is a single event."]
    assert everything(calendar) == ["2026-01-05T10:00", "2026-01-07T10:00", "2026-01-14T10:00"]


@pytest.mark.parametrize(
    "exdate",
    [
        "EXDATE;TZID=Europe/Berlin:20260112T100000,20260126T100000",
        "EXDATE;VALUE=DATE:20260112,20260126",
        "EXDATE:20260112T090000Z\r\nEXDATE:20260126T090000Z",
    ],
)
def test_dates_that_are_left_out_are_cancelled_occurrences(take, exdate):
    take(repeating(exdate))

    event = Event.objects.get()
    assert days(event) == ["2026-01-05", "2026-01-19"]
    assert event.exceptions.filter(is_cancelled=True).count() == 2


def test_a_date_that_is_left_out_at_another_time_leaves_out_nothing(take):
    take(repeating("EXDATE;TZID=Europe/Berlin:20260112T110000"))

    assert len(days(Event.objects.get())) == 4


def test_extra_dates_are_single_events(take, calendar):
    (line,) = take(
        repeating(
            "RDATE;TZID=Europe/Berlin:20260113T150000,20260112T100000,20260114T150000",
            "RDATE;VALUE=PERIOD:20260115T080000Z/PT2H",
            "EXDATE;TZID=Europe/Berlin:20260114T150000",
        )
    )

    assert line.notes == ["Its extra dates are single events."]
    assert [
        f"{each.start:%m-%d %H}-{each.end:%H}"
        for each in calendar.events.filter(recurrence__isnull=True).order_by("start")
    ] == [
        "01-13 15-16",
        "01-15 08-10",
    ]
    assert len(everything(calendar)) == 6
