"""Importing changed and cancelled occurrences of a series."""

from calendars.models import Event
from tests.calendars.conftest import days, starts
from tests.calendars.importing.files import CHANGED, REFUSED, TAKEN, UNCHANGED, all_starts, override, repeating, vevent


def test_changed_occurrence_is_imported_as_an_exception(import_parts):
    series, changed = import_parts(repeating("SUMMARY:Stand-up"), override("SUMMARY:Moved"))

    event = Event.objects.get()
    assert starts(event)[:2] == ["2026-01-05T10:00", "2026-01-13T12:00"]
    assert event.exceptions.get().changes["subject"] == "Moved"
    assert (series.status, changed.status, changed.event_id) == (TAKEN, TAKEN, event.pk)


def test_cancelled_occurrence_is_imported_as_a_cancellation(import_parts):
    import_parts(repeating(), override("STATUS:CANCELLED"))

    assert days(Event.objects.get()) == ["2026-01-05", "2026-01-19", "2026-01-26"]


def test_occurrence_moved_across_its_neighbour_becomes_a_single_event(import_parts, calendar):
    _, moved = import_parts(repeating(), override("SUMMARY:Late", start="20260120T100000"))

    assert moved.notes == ["It was moved onto or beyond its neighbour: it leaves its series and is a single event."]
    assert all_starts(calendar) == [f"2026-01-{each}T10:00" for each in ("05", "19", "20", "26")]


def test_change_of_a_missing_occurrence_becomes_a_single_event(import_parts, calendar):
    _, other = import_parts(repeating(), override(of="20260114T100000"))

    assert other.notes == ["Its series has no such occurrence: it is a single event."]
    assert calendar.events.count() == 2


def test_changed_occurrence_is_imported_without_its_stored_series(import_parts):
    import_parts(repeating())

    (line,) = import_parts(override("SUMMARY:Moved"))

    assert line.status is CHANGED
    assert starts(Event.objects.get())[1] == "2026-01-13T12:00"


def test_change_applies_to_one_of_the_single_events_of_a_rule(import_parts, calendar):
    rule = repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000")

    import_parts(rule, override("SUMMARY:Moved", of="20260331T100000", start="20260401T100000"))

    assert [each[5:10] for each in all_starts(calendar)] == ["01-31", "04-01", "05-31"]
    again = import_parts(rule, override("SUMMARY:Moved", of="20260331T100000", start="20260401T100000"))
    assert [each.status for each in again] == [UNCHANGED, UNCHANGED]


def test_change_of_this_and_future_occurrences_is_refused(import_parts):
    (line,) = import_parts(vevent("RECURRENCE-ID;RANGE=THISANDFUTURE:20260112T100000Z"))

    assert line.notes[-1] == "It changes an occurrence and all that follow, which is not taken."


def test_occurrences_of_a_refused_series_are_refused(import_parts, calendar):
    lines = import_parts(repeating(rule="FREQ=SECONDLY"), override())

    assert [each.status for each in lines] == [REFUSED, REFUSED]
    assert lines[1].notes == ["Its series is refused."]
    assert not calendar.events.exists()


def test_occurrence_moved_to_an_excluded_day_is_restored_with_that_day(import_parts):
    """The moved occurrence is restored first, because its current day is needed."""
    import_parts(
        repeating("EXDATE;TZID=Europe/Berlin:20260112T100000"),
        override(of="20260119T100000", start="20260112T150000"),
    )

    import_parts(repeating())

    assert starts(Event.objects.get())[1:3] == ["2026-01-12T10:00", "2026-01-19T10:00"]


def test_occurrence_that_is_excluded_and_changed_is_changed(import_parts):
    parts = [repeating("EXDATE;TZID=Europe/Berlin:20260112T100000"), override("SUMMARY:Moved")]
    import_parts(*parts)

    again = import_parts(*parts)

    assert starts(Event.objects.get())[1] == "2026-01-13T12:00"
    assert [each.status for each in again] == [UNCHANGED, UNCHANGED]
