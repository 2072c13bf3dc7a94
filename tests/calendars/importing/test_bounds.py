"""The import of any file takes a bounded time."""

from datetime import date, timedelta
from time import process_time
from zoneinfo import available_timezones

import pytest
from django.db import connection

from calendars.ics import importing, recurrence, timezones
from calendars.ics.importing import import_calendar
from calendars.models import Calendar, Event, EventException
from tests.calendars.conftest import days, starts
from tests.calendars.importing.files import REFUSED, TAKEN, UNCHANGED, build_file, override, repeating, vevent
from tests.conftest import NOW

DAYS = [date(2026, 1, 5) + timedelta(days=n) for n in range(700)]
MAX_IMPORT_S = 15  # several times the time that each of these imports takes


def date_property(name: str, dates: list[date], time: str = "T100000", zone: str = "Europe/Berlin") -> str:
    return f"{name};TZID={zone}:" + ",".join(f"{day:%Y%m%d}{time}" for day in dates)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dry_run", [False, True])
def test_other_writers_get_their_turn_between_the_transactions_of_a_large_file(calendar, monkeypatch, dry_run):
    monkeypatch.setattr(importing, "GROUPS", 2)
    monkeypatch.setattr(importing, "MOST_CHANGES", 4)
    pauses = []
    monkeypatch.setattr(
        importing.time, "sleep", lambda seconds: pauses.append((connection.in_atomic_block, Event.objects.count()))
    )

    file = build_file(*(vevent(uid=str(n)) for n in range(5)))
    report = import_calendar(calendar, file, NOW, dry_run=dry_run)

    assert pauses == ([(False, 0), (False, 0)] if dry_run else [(False, 2), (False, 4)])
    assert [each.status for each in report.lines] == [TAKEN] * 4 + [REFUSED]


def test_number_of_changes_by_one_file_is_limited(calendar, monkeypatch):
    monkeypatch.setattr(importing, "MOST_CHANGES", 3)

    report = import_calendar(calendar, build_file(*(vevent(uid=str(n)) for n in range(5))), NOW)

    assert [each.status for each in report.lines] == [TAKEN] * 3 + [REFUSED] * 2


def test_list_of_all_zones_is_read_once(import_parts, monkeypatch):
    """Reading the list from the disk takes 5 ms, and a file of 1 MiB may describe more than 1,600 unknown zones."""
    reads = []
    monkeypatch.setattr(timezones, "available_timezones", lambda: reads.append(1) or available_timezones())
    timezones.names_to_compare.cache_clear()
    observance = "BEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0017\r\nTZOFFSETTO:+0017\r\nEND:STANDARD"
    zones = [f"BEGIN:VTIMEZONE\r\nTZID:z{n}\r\n{observance}\r\nEND:VTIMEZONE" for n in range(3)]

    lines = import_parts(*zones, *(vevent(uid=str(n), start=f";TZID=z{n}:20260105T100000") for n in range(3)))

    assert [line.notes for line in lines] == [
        [f"No time zone has clocks that run as the file says of z{n}."] for n in range(3)
    ]
    assert len(reads) == 1


# Rules that only python-dateutil understands


def test_number_of_years_for_rules_without_a_pattern_is_limited(import_parts, monkeypatch):
    monkeypatch.setattr(recurrence, "MOST_YEARS", 20)
    rule, start = "FREQ=MONTHLY;BYMONTHDAY=31", ";TZID=Europe/Berlin:20200131T100000"

    lines = import_parts(
        *(repeating(rule=rule, start=start, uid=str(n)) for n in range(4)),
        repeating(uid="weekly"),
        override(uid="3"),
    )

    assert [each.status for each in lines] == [TAKEN, TAKEN, REFUSED, REFUSED, TAKEN, REFUSED]
    assert lines[3].notes == [
        "Its rule is no series here, and the rules of this kind in the file have to be followed through more than"
        " 20 years: import the rest of them apart."
    ]
    assert lines[5].notes == ["Its series is refused."]
    assert not Event.objects.filter(uid__in=["2", "3"]).exists()


def test_refused_rule_does_not_change_stored_events(import_parts, monkeypatch):
    rule = repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31", start=";TZID=Europe/Berlin:20200131T100000")
    import_parts(rule)
    before = Event.objects.count()
    monkeypatch.setattr(recurrence, "MOST_YEARS", 1)

    (line,) = import_parts(rule)

    assert (line.status, Event.objects.count()) == (REFUSED, before)


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",  # never
        "FREQ=DAILY;BYMONTH=1;COUNT=2000000000",
        "FREQ=WEEKLY;BYMONTH=1;BYDAY=SA;COUNT=2000000000",  # up to the last week of the year 9999
        "FREQ=DAILY;BYMONTH=1;UNTIL=99990101",
        f"FREQ=MONTHLY;BYDAY=MO;BYSETPOS={','.join(map(str, range(1, 250)))}",
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR,SA,SU,1MO",
    ],
)
def test_many_rules_in_one_file_are_imported_fast(calendar, monkeypatch, rule):
    monkeypatch.setattr(importing, "MOST_CHANGES", 100)
    file = build_file(*(repeating(rule=rule, start=":19000131T100000Z", uid=str(n)) for n in range(800)))

    assert measure_import_s(calendar, file) < MAX_IMPORT_S


def measure_import_s(calendar: Calendar, file: str) -> float:
    began = process_time()
    import_calendar(calendar, file, NOW)
    return process_time() - began


# Dates and single occurrences


def test_number_of_events_from_one_file_is_limited(import_parts, monkeypatch):
    monkeypatch.setattr(recurrence, "MOST_EVENTS", 5)

    lines = import_parts(vevent(uid="a"), vevent(date_property("RDATE", DAYS[:5]), uid="b"), vevent(uid="c"))

    assert [each.status for each in lines] == [TAKEN, REFUSED, REFUSED]
    assert lines[1].notes == ["The file becomes more than 5 events: import the rest of it apart."]
    assert Event.objects.get().uid == "a"


def test_all_excluded_dates_are_one_change(import_parts, monkeypatch):
    monkeypatch.setattr(importing, "MOST_CHANGES", 2)

    (line,) = import_parts(repeating(date_property("EXDATE", DAYS[1:337]), rule="FREQ=DAILY"))

    event = Event.objects.get()
    assert (line.status, event.revision) == (TAKEN, 2)
    assert EventException.objects.filter(is_cancelled=True).count() == 336
    assert days(event)[:2] == ["2026-01-05", "2026-12-08"]


def test_hundreds_of_excluded_dates_take_few_queries(import_parts, django_assert_max_num_queries):
    with django_assert_max_num_queries(22):
        import_parts(repeating(date_property("EXDATE", DAYS[1:3]), rule="FREQ=DAILY"))
    with django_assert_max_num_queries(26):  # the rows are written in batches of a hundred
        import_parts(repeating(date_property("EXDATE", DAYS[1:]), rule="FREQ=DAILY"))
    with django_assert_max_num_queries(26):
        import_parts(repeating(rule="FREQ=DAILY"))

    assert len(days(Event.objects.get())) == 361


def test_changed_occurrences_are_written_in_few_queries(import_parts, django_assert_max_num_queries):
    moved = [override(of=f"{day:%Y%m%d}T100000", start=f"{day:%Y%m%d}T150000") for day in DAYS[1:200]]

    with django_assert_max_num_queries(24):
        lines = import_parts(repeating(rule="FREQ=DAILY"), *moved)
    again = import_parts(repeating(rule="FREQ=DAILY"), *moved)

    event = Event.objects.get()
    assert ({each.status for each in lines}, {each.status for each in again}) == ({TAKEN}, {UNCHANGED})
    assert starts(event)[:2] == ["2026-01-05T10:00", "2026-01-06T15:00"]
    assert event.revision == 2


@pytest.mark.parametrize(
    "lines",
    [
        [date_property("RDATE", DAYS), date_property("EXDATE", DAYS[:300], "T143000", "Asia/Kolkata")],
        ["RRULE:FREQ=MONTHLY;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10,11,12", date_property("EXDATE", DAYS)],
        ["RRULE:FREQ=MONTHLY;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10,11,12", date_property("RDATE", DAYS)],
        ["RRULE:FREQ=DAILY;BYMONTH=1,3,5;UNTIL=20280601", date_property("EXDATE", DAYS, "T040000", "America/New_York")],
    ],
)
def test_many_dates_are_imported_fast(calendar, monkeypatch, lines):
    monkeypatch.setattr(importing, "MOST_CHANGES", 100)
    assert measure_import_s(calendar, build_file(*(vevent(*lines, uid=str(n)) for n in range(30)))) < MAX_IMPORT_S


def test_zone_names_with_many_parts_are_imported_fast(calendar):
    zones = (f";TZID={n}{'/a' * 2_000}:20260105T100000" for n in range(250))

    assert (
        measure_import_s(calendar, build_file(*(vevent(uid=str(n), start=zone) for n, zone in enumerate(zones))))
        < MAX_IMPORT_S
    )
