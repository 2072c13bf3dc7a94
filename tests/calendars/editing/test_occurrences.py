"""Moving and changing single occurrences, and the refused changes."""

import pytest

from calendars import editing
from calendars.errors import CalendarError, ChangedSince, Gone
from calendars.models import Event, EventException
from tests.calendars.conftest import day, expand, recurrence, starts, times, wall
from tests.calendars.editing.stored import LATER, SECOND, dump_calendars, subjects
from tests.conftest import NOW, utc


def test_moving_an_occurrence_does_not_move_the_others(weekly):
    exception = editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)

    assert starts(weekly)[:3] == ["2026-01-05T10:00", "2026-01-13T15:00", "2026-01-19T10:00"]
    assert (exception.start_at, exception.end_at) == (utc("2026-01-13T14:00Z"), utc("2026-01-13T15:00Z"))


def test_moved_occurrence_is_still_identified_by_its_original_day(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)

    moved = expand(weekly)[1]

    assert moved.id.day == SECOND
    assert moved.original_start == utc("2026-01-12T09:00Z")


def test_moved_occurrence_is_stored_in_the_zone_of_its_series(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-12T04:30", zone="America/New_York"), LATER)

    assert starts(weekly)[1] == "2026-01-12T10:30"
    assert EventException.objects.get().changes == {"start": "2026-01-12T10:30:00", "end": "2026-01-12T11:30:00"}


def test_exception_stores_only_values_that_differ_from_the_series(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Stand-up", "show_as": "free"}, LATER)

    assert EventException.objects.get().changes == {"show_as": "free"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"subject": "Stand-up", "recurrence": None, **times("2026-01-12T10:00")},
        times("2026-01-12T09:00", zone="UTC"),
    ],
)
def test_change_without_a_difference_creates_no_exception(weekly, changes):
    before = dump_calendars()

    assert editing.change_occurrence(weekly, SECOND, changes, LATER) is None

    assert dump_calendars() == before


def test_change_back_to_the_values_of_the_series_deletes_the_exception(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Other", **times("2026-01-13T15:00")}, LATER)

    back = {"subject": "Stand-up", **times("2026-01-12T10:00")}

    assert editing.change_occurrence(weekly, SECOND, back, LATER) is None
    assert not EventException.objects.exists()
    assert starts(weekly)[1] == "2026-01-12T10:00"


def test_several_occurrence_changes_are_one_revision(weekly, calendar):
    editing.cancel_occurrence(weekly, day("2026-01-19"), NOW)
    editing.change_occurrence(weekly, day("2026-01-26"), {"subject": "Other"}, NOW)
    weekly.refresh_from_db()
    calendar.refresh_from_db()

    with editing.occurrences_of(weekly, LATER) as occurrences:
        occurrences.cancel(SECOND)
        occurrences.uncancel(day("2026-01-19"), {"subject": "Back"})
        occurrences.restore(day("2026-01-26"))
        occurrences.change(day("2026-02-02"), times("2026-02-03T15:00"))

    after = Event.objects.get()
    assert starts(weekly)[1:4] == ["2026-01-19T10:00", "2026-01-26T10:00", "2026-02-03T15:00"]
    assert subjects(weekly)[1:3] == ["Back", "Stand-up"]
    assert (after.revision, after.master_revision) == (weekly.revision + 1, weekly.master_revision)
    assert {row.revision for row in EventException.objects.all()} == {after.revision}
    assert calendar.revision + 1 == type(calendar).objects.get(pk=calendar.pk).revision


def test_refused_change_among_several_does_not_undo_the_others(weekly):
    with editing.occurrences_of(weekly, LATER) as occurrences:
        with pytest.raises(CalendarError, match="neighbouring"):
            occurrences.change(SECOND, times("2026-01-19T12:00"))
        occurrences.cancel(day("2026-01-19"))
        occurrences.change(SECOND, times("2026-01-19T12:00"))

    assert starts(weekly)[1:3] == ["2026-01-19T12:00", "2026-01-26T10:00"]


def test_error_among_several_changes_undoes_all(weekly):
    before = dump_calendars()

    with pytest.raises(Gone), editing.occurrences_of(weekly, LATER) as occurrences:
        occurrences.cancel(SECOND)
        occurrences.cancel(day("2026-01-13"))

    assert dump_calendars() == before


def test_several_changes_without_effect_write_nothing(weekly):
    before = dump_calendars()

    with editing.occurrences_of(weekly, LATER) as occurrences:
        occurrences.change(SECOND, {"subject": "Stand-up"})

    assert dump_calendars() == before


def test_second_change_keeps_the_first_change_of_an_occurrence(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Other"}, LATER)
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)

    moved = expand(weekly)[1]

    assert (moved.details.subject, moved.start) == ("Other", utc("2026-01-13T14:00Z"))


def test_an_occurrence_may_last_all_day(weekly):
    editing.change_occurrence(
        weekly, SECOND, {"is_all_day": True, **times("2026-01-12T00:00", "2026-01-13T00:00")}, LATER
    )

    assert [each.days for each in expand(weekly)][:2] == [None, (SECOND, day("2026-01-13"))]


def test_occurrence_of_an_all_day_series_may_have_a_time(make_event):
    changes = {"is_all_day": True, **times("2026-01-05T00:00", "2026-01-06T00:00"), "recurrence": recurrence(count=3)}
    series = make_event(**changes)

    editing.change_occurrence(series, SECOND, {"is_all_day": False, **times("2026-01-12T10:00")}, LATER)

    assert [each.is_all_day for each in expand(series)] == [True, False, True]
    assert starts(series)[1] == "2026-01-12T10:00"


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"recurrence": recurrence("daily")}, "recurrence"),
        ({"start": wall("2026-01-12T12:00")}, "end"),
        (times("2026-01-12T10:00", "2027-01-14T10:00"), "end"),
        ({"is_all_day": True}, "start"),
        ({"subject": 5}, "subject"),
        (times("2026-01-12T10:00", zone="Mars/Phobos"), "start.timeZone"),
        ({"start": None}, "start"),
    ],
)
def test_refused_change_of_an_occurrence_changes_nothing(weekly, changes, path):
    before = dump_calendars()

    with pytest.raises(CalendarError) as refused:
        editing.change_occurrence(weekly, SECOND, {"show_as": "free", **changes}, LATER)

    assert refused.value.path == path
    assert dump_calendars() == before


NOT_THERE = ["2026-01-13", "2025-12-29", "2026-03-16", "0001-01-01", "9999-12-31"]
ACTS = {
    "change": lambda event, day: editing.change_occurrence(event, day, {"subject": "Other"}, LATER),
    "cancel": lambda event, day: editing.cancel_occurrence(event, day, LATER),
    "change the rest": lambda event, day: editing.change_following(event, day, {"subject": "Other"}, LATER),
    "end": lambda event, day: editing.truncate_series(event, day, LATER),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("text", NOT_THERE)
def test_day_without_an_occurrence_raises_gone(weekly, act, text):
    with pytest.raises(Gone):
        act(weekly, day(text))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_endless_series_ends_in_the_last_year_of_the_calendar(make_event, act):
    series = make_event(recurrence=recurrence("daily"))

    with pytest.raises(Gone):
        act(series, day("4501-01-01"))
    act(series, day("4500-12-31"))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_single_event_has_no_occurrence(make_event, act):
    with pytest.raises(Gone):
        act(make_event(), day("2026-01-05"))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_cancelled_occurrence_raises_gone(weekly, act):
    editing.cancel_occurrence(weekly, SECOND, LATER)
    before = dump_calendars()

    with pytest.raises(Gone):
        act(weekly, SECOND)

    assert dump_calendars() == before


@pytest.mark.parametrize(
    "act",
    [
        lambda event, revision: editing.change_occurrence(event, SECOND, {"subject": "A"}, LATER, revision=revision),
        lambda event, revision: editing.cancel_occurrence(event, SECOND, LATER, revision=revision),
        lambda event, revision: editing.change_following(event, SECOND, {"subject": "A"}, LATER, revision=revision),
        lambda event, revision: editing.truncate_series(event, SECOND, LATER, revision=revision),
    ],
)
def test_change_with_an_outdated_occurrence_revision_is_refused(weekly, act):
    revision = expand(weekly)[1].revision_pair
    editing.change_occurrence(weekly, SECOND, {"subject": "Other"}, LATER)
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Other"}, LATER)

    with pytest.raises(ChangedSince):
        act(weekly, revision)

    act(weekly, expand(weekly)[1].revision_pair)


def test_occurrence_revision_is_never_reused(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Other"}, LATER)
    revision = expand(weekly)[1].revision_pair
    editing.restore_occurrence(weekly, SECOND, LATER)
    editing.change_occurrence(weekly, SECOND, {"subject": "Third"}, LATER)

    assert expand(weekly)[1].revision_pair != revision
