"""A file that comes again: what is different in it changes, and nothing else."""

import pytest

from calendars.ics.importing import import_calendar
from calendars.models import Calendar, Event
from tests.calendars.conftest import days
from tests.calendars.importing.files import (
    CHANGED,
    REFUSED,
    TAKEN,
    UNCHANGED,
    everything_in,
    file_of,
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
def test_the_same_file_again_changes_nothing(take, calendar, parts):
    assert {each.status for each in take(*parts)} == {TAKEN}
    before = everything_in(calendar)

    again = take(*parts)

    assert {each.status for each in again} == {UNCHANGED}
    assert everything_in(calendar) == before


def test_what_has_changed_in_the_file_changes_here(take):
    take(
        repeating("SUMMARY:Old", "EXDATE;TZID=Europe/Berlin:20260112T100000"),
        override(of="20260119T100000", start="20260120T100000"),
    )

    (line,) = take(repeating("SUMMARY:New"))

    event = Event.objects.get()
    assert (line.status, event.subject) == (CHANGED, "New")
    assert days(event) == ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26"]


def test_a_series_that_becomes_a_single_event_does(take):
    take(repeating())

    take(vevent())

    assert Event.objects.get().recurrence is None


def test_single_events_that_the_file_has_no_more_are_gone(take, calendar):
    take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000"))

    (line,) = take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=2", start=";TZID=Europe/Berlin:20260131T100000"))

    assert (line.status, line.notes[-1]) == (CHANGED, "1 single event of it is gone.")
    assert calendar.events.count() == 2


def test_the_same_uid_in_another_calendar_is_another_event(take, calendar, owner):
    take(vevent())
    other = Calendar.objects.create(owner=owner, name="Other")

    import_calendar(other, file_of(vevent()), NOW)

    assert Event.objects.count() == 2


def test_a_uid_twice_in_a_file_is_taken_once(take):
    first, second = take(vevent("SUMMARY:One"), vevent("SUMMARY:Two"))

    assert (first.status, second.status) == (TAKEN, REFUSED)
    assert second.notes == ["Its UID is that of the event in line 3."]


def test_a_dry_run_tells_the_same_and_writes_nothing(take, calendar):
    parts = [repeating(), override(), vevent(uid="two"), vevent(start=":x", uid="three")]
    take(vevent(uid="two"))
    before = everything_in(calendar)

    dry = take(*parts, dry_run=True)
    assert everything_in(calendar) == before

    wet = take(*parts)
    assert [(each.status, each.notes) for each in dry] == [(each.status, each.notes) for each in wet]


def test_what_is_private_to_the_owner_is_not_changed_by_others(take, make_user):
    take(vevent("SUMMARY:Doctor", "CLASS:PRIVATE"), vevent("SUMMARY:Open", uid="two"))

    lines = take(vevent("SUMMARY:Mine"), vevent("SUMMARY:Mine", uid="two"), viewer=make_user("bob"))

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
def test_an_occurrence_that_is_private_alone_is_not_changed_by_others(take, make_user, parts):
    take(repeating(), override("SUMMARY:Doctor", "CLASS:PRIVATE"))

    take(*parts, viewer=make_user("bob"))

    kept = Event.objects.get().exceptions.get()
    assert (kept.is_cancelled, kept.changes["subject"]) == (False, "Doctor")
