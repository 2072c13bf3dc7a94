"""Importing a file again changes only the differences."""

import pytest

from calendars.ics.importing import import_calendar
from calendars.models import Calendar, Event
from tests.calendars.conftest import days
from tests.calendars.importing.files import (
    CHANGED,
    REFUSED,
    TAKEN,
    UNCHANGED,
    build_file,
    dump_calendar,
    override,
    repeating,
    vevent,
)
from tests.conftest import NOW


@pytest.mark.parametrize(
    "parts",
    [
        [vevent("SUMMARY:One", "DURATION:PT1H")],
        [vevent("SUMMARY:No UID", uid="")],
        [vevent("SUMMARY:Long UID", uid="x" * 400)],
        [vevent(start=";TZID=W. Europe Standard Time:20260105T100000")],
        [
            repeating("EXDATE;TZID=Europe/Berlin:20260112T100000", "ATTENDEE:mailto:a@example.com"),
            override(of="20260119T100000", start="20260119T120000"),
        ],
        [repeating(), override("STATUS:CANCELLED")],
        [repeating(), override(start="20260120T100000")],
        [repeating(), override(of="20260114T100000")],
        [repeating("RDATE;TZID=Europe/Berlin:20260113T150000", rule="FREQ=MONTHLY;BYDAY=1MO,3MO")],
        [repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31")],
        [repeating(rule="FREQ=WEEKLY;BYDAY=WE;COUNT=3")],
    ],
)  # fmt: skip
def test_importing_the_same_file_again_changes_nothing(import_parts, calendar, parts):
    assert {each.status for each in import_parts(*parts)} == {TAKEN}
    before = dump_calendar(calendar)

    again = import_parts(*parts)

    assert {each.status for each in again} == {UNCHANGED}
    assert dump_calendar(calendar) == before


def test_importing_a_changed_file_changes_the_event(import_parts):
    import_parts(
        repeating("SUMMARY:Old", "EXDATE;TZID=Europe/Berlin:20260112T100000"),
        override(of="20260119T100000", start="20260120T100000"),
    )

    (line,) = import_parts(repeating("SUMMARY:New"))

    event = Event.objects.get()
    assert (line.status, event.subject) == (CHANGED, "New")
    assert days(event) == ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26"]


def test_import_turns_a_series_into_a_single_event(import_parts):
    import_parts(repeating())

    import_parts(vevent())

    assert Event.objects.get().recurrence is None


def test_import_deletes_single_events_that_the_rule_no_longer_has(import_parts, calendar):
    import_parts(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000"))

    (line,) = import_parts(
        repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=2", start=";TZID=Europe/Berlin:20260131T100000")
    )

    assert (line.status, line.notes[-1]) == (CHANGED, "1 single event of it is gone.")
    assert calendar.events.count() == 2


def test_same_uid_in_another_calendar_is_another_event(import_parts, calendar, owner):
    import_parts(vevent())
    other = Calendar.objects.create(owner=owner, name="Other")

    import_calendar(other, build_file(vevent()), NOW)

    assert Event.objects.count() == 2


def test_duplicate_uid_in_a_file_is_imported_once(import_parts):
    first, second = import_parts(vevent("SUMMARY:One"), vevent("SUMMARY:Two"))

    assert (first.status, second.status) == (TAKEN, REFUSED)
    assert second.notes == ["Its UID is that of the event in line 3."]


def test_dry_run_reports_the_same_and_writes_nothing(import_parts, calendar):
    parts = [repeating(), override(), vevent(uid="two"), vevent(start=":x", uid="three")]
    import_parts(vevent(uid="two"))
    before = dump_calendar(calendar)

    dry = import_parts(*parts, dry_run=True)
    assert dump_calendar(calendar) == before

    real = import_parts(*parts)
    assert [(each.status, each.notes) for each in dry] == [(each.status, each.notes) for each in real]


def test_import_by_others_does_not_change_a_private_event(import_parts, make_user):
    import_parts(vevent("SUMMARY:Doctor", "CLASS:PRIVATE"), vevent("SUMMARY:Open", uid="two"))

    lines = import_parts(vevent("SUMMARY:Mine"), vevent("SUMMARY:Mine", uid="two"), viewer=make_user("bob"))

    assert [each.status for each in lines] == [REFUSED, CHANGED]
    assert Event.objects.get(uid="one@example.com").subject == "Doctor"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((repeating(), override("SUMMARY:Mine")), id="changed"),
        pytest.param((override("SUMMARY:Mine"),), id="changed alone"),
        pytest.param((override("STATUS:CANCELLED"),), id="cancelled"),
        pytest.param((repeating("EXDATE;TZID=Europe/Berlin:20260112T100000"),), id="left out"),
        pytest.param((repeating(),), id="restored"),
    ],
)
def test_import_by_others_does_not_change_a_private_occurrence(import_parts, make_user, parts):
    import_parts(repeating(), override("SUMMARY:Doctor", "CLASS:PRIVATE"))

    import_parts(*parts, viewer=make_user("bob"))

    exception = Event.objects.get().exceptions.get()
    assert (exception.is_cancelled, exception.changes["subject"]) == (False, "Doctor")
