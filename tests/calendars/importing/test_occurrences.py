"""Single occurrences of a series that the file changes or cancels."""

from calendars.models import Event
from tests.calendars.conftest import days, starts
from tests.calendars.importing.files import CHANGED, REFUSED, TAKEN, UNCHANGED, everything, override, repeating, vevent


def test_a_changed_occurrence_is_taken_as_one(take):
    series, changed = take(repeating("SUMMARY:Stand-up"), override("SUMMARY:Moved"))

    event = Event.objects.get()
    assert starts(event)[:2] == ["2026-01-05T10:00", "2026-01-13T12:00"]
    assert event.exceptions.get().changes["subject"] == "Moved"
    assert (series.status, changed.status, changed.event_id) == (TAKEN, TAKEN, event.pk)


def test_a_cancelled_occurrence_is_taken_as_one(take):
    take(repeating(), override("STATUS:CANCELLED"))

    assert days(Event.objects.get()) == ["2026-01-05", "2026-01-19", "2026-01-26"]


def test_one_that_was_moved_beyond_its_neighbour_is_a_single_event(take, calendar):
    _, moved = take(repeating(), override("SUMMARY:Late", start="20260120T100000"))

    assert moved.notes == ["It was moved onto or beyond its neighbour: it leaves its series and is a single event."]
    assert everything(calendar) == [f"2026-01-{each}T10:00" for each in ("05", "19", "20", "26")]


def test_a_change_of_what_is_no_occurrence_is_a_single_event(take, calendar):
    _, other = take(repeating(), override(of="20260114T100000"))

    assert other.notes == ["Its series has no such occurrence: it is a single event."]
    assert calendar.events.count() == 2


def test_a_change_of_a_series_that_is_here_is_taken_without_the_series(take):
    take(repeating())

    (line,) = take(override("SUMMARY:Moved"))

    assert line.status is CHANGED
    assert starts(Event.objects.get())[1] == "2026-01-13T12:00"


def test_a_change_of_a_single_event_among_those_that_stand_for_a_rule(take, calendar):
    rule = repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000")

    take(rule, override("SUMMARY:Moved", of="20260331T100000", start="20260401T100000"))

    assert [each[5:10] for each in everything(calendar)] == ["01-31", "04-01", "05-31"]
    again = take(rule, override("SUMMARY:Moved", of="20260331T100000", start="20260401T100000"))
    assert [each.status for each in again] == [UNCHANGED, UNCHANGED]


def test_a_change_of_all_that_follow_is_refused(take):
    (line,) = take(vevent("RECURRENCE-ID;RANGE=THISANDFUTURE:20260112T100000Z"))

    assert line.notes[-1] == "It changes an occurrence and all that follow, which is not taken."


def test_what_is_refused_takes_its_occurrences_along(take, calendar):
    lines = take(repeating(rule="FREQ=SECONDLY"), override())

    assert [each.status for each in lines] == [REFUSED, REFUSED]
    assert lines[1].notes == ["Its series is refused."]
    assert not calendar.events.exists()


def test_one_that_was_moved_onto_one_that_is_left_out_comes_back_with_it(take):
    """What was moved makes room first."""
    take(
        repeating("EXDATE;TZID=Europe/Berlin:20260112T100000"),
        override(of="20260119T100000", start="20260112T150000"),
    )

    take(repeating())

    assert starts(Event.objects.get())[1:3] == ["2026-01-12T10:00", "2026-01-19T10:00"]


def test_one_that_is_both_left_out_and_changed_is_changed(take):
    parts = [repeating("EXDATE;TZID=Europe/Berlin:20260112T100000"), override("SUMMARY:Moved")]
    take(*parts)

    again = take(*parts)

    assert starts(Event.objects.get())[1] == "2026-01-13T12:00"
    assert [each.status for each in again] == [UNCHANGED, UNCHANGED]
