"""Importing recurrence rules and dates: the resulting series and single events."""

import pytest

from calendars.models import Event
from tests.calendars.conftest import days
from tests.calendars.importing.files import REFUSED, TAKEN, UNCHANGED, all_starts, repeating
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
def test_rule_with_a_matching_pattern_is_imported_as_a_series(import_accepted, rule, pattern):
    event, notes = import_accepted(f"RRULE:{rule}")

    assert pattern.items() <= event.recurrence["pattern"].items()
    assert event.recurrence["range"]["type"] == "noEnd"
    assert notes == []


def test_series_has_the_number_of_occurrences_of_its_rule(import_parts):
    import_parts(repeating())

    assert days(Event.objects.get()) == ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26"]


def test_count_above_the_limit_is_imported_as_an_end_date(import_accepted):
    event, notes = import_accepted("RRULE:FREQ=WEEKLY;COUNT=1000")

    limits = event.recurrence["range"]
    assert (limits["type"], limits["endDate"], limits["numberOfOccurrences"]) == ("endDate", "2045-02-27", 0)
    assert event.series.count_before(utc("2100-01-01T00:00Z")) == 1000
    assert notes == ["It repeats 1000 times, and at most 999 can be counted: it is a series that ends on 2045-02-27."]


def test_importing_a_count_above_the_limit_again_changes_nothing(import_parts):
    file = repeating(rule="FREQ=WEEKLY;COUNT=1000")
    import_parts(file)

    (line,) = import_parts(file)

    assert line.status is UNCHANGED


@pytest.mark.parametrize("count", [2_000_000, 2**31 - 1])
def test_count_beyond_the_last_year_of_the_calendar_is_refused(import_parts, count):
    (line,) = import_parts(repeating(rule=f"FREQ=DAILY;COUNT={count}"))

    assert (line.status, line.notes) == (REFUSED, [f"It repeats {count} times, beyond the year 4500."])


@pytest.mark.parametrize(
    "rule, count, found",
    [
        # the first and the third Monday: no pattern has both
        ("FREQ=MONTHLY;BYDAY=1MO,3MO;COUNT=4", 2, ["01-05", "01-19", "02-02", "02-16"]),
        ("FREQ=MONTHLY;BYMONTHDAY=5,20;UNTIL=20260301T000000Z", 2, ["01-05", "01-20", "02-05", "02-20"]),
        ("FREQ=YEARLY;BYMONTH=1,4;BYMONTHDAY=5;COUNT=2", 2, ["01-05", "04-05"]),
        # one of these patterns has no occurrence before the end
        ("FREQ=MONTHLY;BYMONTHDAY=5,20;COUNT=1", 1, ["01-05"]),
    ],
)
def test_rule_that_needs_several_patterns_is_imported_as_several_series(import_parts, calendar, rule, count, found):
    (line,) = import_parts(repeating(rule=rule))

    assert line.status is TAKEN
    assert [each[5:10] for each in all_starts(calendar)] == found
    assert calendar.events.filter(recurrence__isnull=False).count() == count


def test_rule_without_a_matching_pattern_is_imported_as_single_events(import_parts, calendar):
    """In months with 30 days, a pattern would use the 30th instead of the 31st."""
    (line,) = import_parts(
        repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000")
    )

    assert line.notes == ["Its rule is no series here: its occurrences are single events."]
    assert [each[5:10] for each in all_starts(calendar)] == ["01-31", "03-31", "05-31"]
    assert not calendar.events.filter(recurrence__isnull=False).exists()


def test_endless_rule_without_a_matching_pattern_is_imported_near_today(import_parts, calendar):
    (line,) = import_parts(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31", start=";TZID=Europe/Berlin:20100131T100000"))

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
def test_unsupported_rule_is_refused_with_the_reason(import_parts, rule, reason):
    (line,) = import_parts(repeating(rule=rule))

    assert line.notes[-1].startswith(reason)


@pytest.mark.parametrize("rule", ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;INTERVAL=7;BYDAY=TU"])
def test_rule_without_dates_leaves_only_the_start(import_parts, calendar, rule):
    (line,) = import_parts(repeating(rule=rule))

    assert (line.status, line.notes) == (TAKEN, ["Its rule repeats it no more."])
    assert all_starts(calendar) == ["2026-01-05T10:00"]
    assert calendar.events.get().uid == "one@example.com"


def test_event_with_two_rules_is_refused(import_refused):
    assert import_refused("RRULE:FREQ=DAILY;COUNT=2", "RRULE:FREQ=WEEKLY") == "It repeats by more than one rule."


def test_start_outside_its_rule_is_the_first_occurrence(import_parts, calendar):
    """Most programs do the same; RFC 5545 does not define it."""
    (line,) = import_parts(repeating(rule="FREQ=WEEKLY;BYDAY=WE;COUNT=3"))

    assert line.notes == ["Its start is no day of its rule: it is a single event."]
    assert all_starts(calendar) == ["2026-01-05T10:00", "2026-01-07T10:00", "2026-01-14T10:00"]


@pytest.mark.parametrize(
    "exdate",
    [
        "EXDATE;TZID=Europe/Berlin:20260112T100000,20260126T100000",
        "EXDATE;VALUE=DATE:20260112,20260126",
        "EXDATE:20260112T090000Z\r\nEXDATE:20260126T090000Z",
    ],
)
def test_excluded_dates_become_cancelled_occurrences(import_parts, exdate):
    import_parts(repeating(exdate))

    event = Event.objects.get()
    assert days(event) == ["2026-01-05", "2026-01-19"]
    assert event.exceptions.filter(is_cancelled=True).count() == 2


def test_excluded_date_at_another_time_is_ignored(import_parts):
    import_parts(repeating("EXDATE;TZID=Europe/Berlin:20260112T110000"))

    assert len(days(Event.objects.get())) == 4


def test_extra_dates_become_single_events(import_parts, calendar):
    (line,) = import_parts(
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
    assert len(all_starts(calendar)) == 6
