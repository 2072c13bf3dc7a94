"""Changes of events and series: which occurrences change, when exceptions are deleted, and revisions."""

import pytest

from calendars import editing
from calendars.errors import CalendarError, ChangedSince
from calendars.models import Event
from tests.calendars.conftest import day, days, expand, recurrence, starts, times, wall, wall_time
from tests.calendars.editing.stored import ALL_DAY, LATER, dump_calendars, subjects
from tests.conftest import NOW, utc


def test_series_change_applies_to_values_without_an_exception(with_exceptions):
    editing.change(with_exceptions, {"subject": "Planning", "show_as": "free"}, LATER)

    assert subjects(with_exceptions)[:3] == ["Planning", "Planning", "Retrospective"]
    assert {each.details.show_as for each in expand(with_exceptions)} == {"free"}
    assert days(with_exceptions)[:4] == ["2026-01-05", "2026-01-13", "2026-01-19", "2026-02-02"]


PLACEHOLDERS = {"month": 0, "dayOfMonth": 0, "index": "first", "firstDayOfWeek": "sunday"}
SAME = {
    "nothing": {},
    "another subject": {"subject": "Planning"},
    "its start and end": times("2026-01-05T10:00"),
    "its start and end in UTC": times("2026-01-05T09:00", zone="UTC"),
    "its start and end in another zone": times("2026-01-05T14:30", zone="Asia/Kolkata"),
    "its zone under another name": times("2026-01-05T10:00", zone="W. Europe Standard Time"),
    "its recurrence": {"recurrence": recurrence(count=10)},
    "its recurrence with placeholders": {
        "recurrence": {
            "pattern": {**recurrence()["pattern"], **PLACEHOLDERS},
            "range": {**recurrence(count=10)["range"], "endDate": "0001-01-01", "recurrenceTimeZone": "Europe/Berlin"},
        }
    },
    "a zone that Windows does not tell from its own": {
        **times("2026-01-05T10:00", zone="Europe/Rome"),
        "recurrence": recurrence(count=10),
    },
    "all of it, in UTC": {
        **times("2026-01-05T09:00", zone="UTC"),
        "recurrence": recurrence(count=10, recurrenceTimeZone="Europe/Berlin"),
    },
}
OTHER = {
    "another time of the day": times("2026-01-05T10:30"),
    "another length": {"end": wall("2026-01-05T11:30")},
    "another first day": times("2026-01-12T10:00"),
    "another pattern": {"recurrence": recurrence("daily", count=10)},
    "another count": {"recurrence": recurrence(count=11)},
    "another range": {"recurrence": recurrence(type="endDate", endDate="2026-12-31")},
    "another zone": {**times("2026-01-05T10:00", zone="America/New_York"), "recurrence": recurrence(count=10)},
    "all-day": ALL_DAY,
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_exceptions_stay_if_a_change_does_not_move_occurrences(with_exceptions, changes):
    event = editing.change(with_exceptions, changes, LATER)

    assert event.exceptions.count() == 3
    assert starts(event)[:3] == ["2026-01-05T10:00", "2026-01-13T15:00", "2026-01-19T10:00"]


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_change_that_moves_occurrences_deletes_exceptions_and_cancellations(with_exceptions, changes):
    event = editing.change(with_exceptions, changes, LATER)

    assert not event.exceptions.exists()
    assert "Retrospective" not in subjects(event)


def test_exceptions_move_with_their_series_to_a_zone_with_other_past_offsets(make_event):
    # Italy had summer time in 1975, Germany did not
    changes = {"recurrence": recurrence("daily", "1975-07-01", count=5)}
    series = make_event(**times("1975-07-01T10:00"), **changes)
    editing.change_occurrence(series, day("1975-07-02"), {"subject": "Other"}, NOW)

    there = editing.change(series, {**times("1975-07-01T10:00", zone="Europe/Rome"), **changes}, LATER)

    assert there.exceptions.get().start_at == utc("1975-07-02T08:00Z")
    assert starts(there, "1975-01-01", "1976-01-01")[1] == "1975-07-02T10:00"


@pytest.mark.parametrize(
    "zone, other",
    [
        ("CST6CDT", "EST5EDT"),  # Windows has no name for either
        ("Pacific/Fakaofo", "Etc/GMT-13"),  # one for both, but Fakaofo never had the day on which the series begins
    ],
)
def test_exceptions_are_deleted_if_the_days_of_the_new_zone_differ(make_event, zone, other):
    changes = {"recurrence": recurrence("daily", "2011-12-30", count=5)}
    series = make_event(**times("2011-12-30T10:00", zone=zone), **changes)
    editing.cancel_occurrence(series, day("2012-01-02"), NOW)

    there = editing.change(series, {**times("2011-12-30T10:00", zone=other), **changes}, LATER)

    assert there.zone == other
    assert not there.exceptions.exists()


def test_change_without_effect_keeps_the_revision(with_exceptions):
    event = editing.change(with_exceptions, {"subject": "Stand-up", **SAME["all of it, in UTC"]}, LATER)
    again = editing.change(event, {"subject": "Stand-up", **SAME["all of it, in UTC"]}, LATER)

    assert again.revision_pair == event.revision_pair


def test_change_of_only_the_start_moves_the_series(weekly):
    event = editing.change(weekly, times("2026-01-12T08:00"), LATER)

    assert starts(event)[:2] == ["2026-01-12T08:00", "2026-01-19T08:00"]
    assert len(days(event)) == 10
    assert event.recurrence["range"]["startDate"] == "2026-01-12"


def test_start_in_another_zone_keeps_the_zone_of_the_series(weekly):
    event = editing.change(weekly, times("2026-01-05T10:00", zone="America/New_York"), LATER)

    assert (event.zone, event.start) == ("Europe/Berlin", wall_time("2026-01-05T16:00"))
    assert event.start_zone_name == "America/New_York"
    assert event.recurrence["range"]["recurrenceTimeZone"] == "Europe/Berlin"


def test_change_of_only_the_recurrence_moves_the_series_to_its_start_date(weekly):
    event = editing.change(weekly, {"recurrence": recurrence("daily", "2026-02-01", count=2)}, LATER)

    assert starts(event) == ["2026-02-01T10:00", "2026-02-02T10:00"]


def test_recurrence_without_a_zone_keeps_the_zone_of_the_series(make_event):
    event = make_event(recurrence=recurrence(recurrenceTimeZone="America/New_York"))

    event = editing.change(event, {"recurrence": recurrence("daily", count=2)}, LATER)

    assert (event.zone, event.start) == ("America/New_York", wall_time("2026-01-05T04:00"))
    assert event.recurrence["range"]["recurrenceTimeZone"] == "America/New_York"


def test_recurrence_with_a_zone_changes_the_zone_of_the_series(weekly):
    document = recurrence(count=10, recurrenceTimeZone="America/New_York")

    event = editing.change(weekly, {"recurrence": document}, LATER)

    assert (event.zone, event.start, event.end) == (
        "America/New_York",
        wall_time("2026-01-05T04:00"),
        wall_time("2026-01-05T05:00"),
    )


def test_series_without_recurrence_becomes_a_single_event_at_its_start(with_exceptions):
    event = editing.change(with_exceptions, {"recurrence": None}, LATER)

    assert starts(event) == ["2026-01-05T10:00"]
    assert event.covers_until == utc("2026-01-05T10:00Z")
    assert not event.exceptions.exists()


def test_a_single_event_becomes_a_series(make_event):
    event = editing.change(make_event(), {"recurrence": recurrence(count=3)}, LATER)

    assert days(event) == ["2026-01-05", "2026-01-12", "2026-01-19"]
    assert event.covers_until == utc("2026-01-19T10:00Z")


def test_single_event_gets_the_zone_of_its_new_start(make_event):
    event = editing.change(make_event(), {"start": wall("2026-01-05T04:30", "America/New_York")}, LATER)

    assert (event.zone, event.start, event.end) == (
        "America/New_York",
        wall_time("2026-01-05T04:30"),
        wall_time("2026-01-05T05:00"),
    )


def test_change_of_only_the_start_does_not_move_the_end(make_event):
    with pytest.raises(CalendarError) as refused:
        editing.change(make_event(), {"start": wall("2026-01-05T12:00")}, LATER)

    assert refused.value.code == "ends_before_it_starts"


# Berlin's clocks skip 02:00 to 03:00 on 29 March 2026: an event at 02:30 is returned as 01:30 UTC, which is 03:30
GAP = times("2026-03-29T02:30", "2026-03-29T03:15")


@pytest.mark.parametrize("zone, text", [("UTC", "2026-03-29T01:30"), ("Europe/Berlin", "2026-03-29T03:30")])
def test_sending_back_the_shown_time_of_an_event_in_a_gap_changes_nothing(make_event, zone, text):
    event = make_event(**GAP, recurrence=recurrence("daily", "2026-03-29"))
    shown = expand(event)[0]
    assert (shown.start, shown.end) == (utc("2026-03-29T01:30Z"), utc("2026-03-29T01:30Z"))

    again = editing.change(event, times(text, text, zone), LATER)

    assert (again.start, again.end) == (event.start, event.end)


def test_revisions_of_event_master_and_exception_increase_with_their_changes(weekly):
    calendar = weekly.calendar
    calendar.refresh_from_db()

    exception = editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Other"}, LATER)

    event = Event.objects.select_related("calendar").get()
    assert (event.revision, event.master_revision, exception.revision) == (2, 1, 2)
    assert event.calendar.revision == calendar.revision + 1
    assert (event.updated_at, event.created_at) == (LATER, NOW)

    event = editing.change(event, {"subject": "New"}, LATER)
    assert (event.revision, event.master_revision) == (3, 2)


def test_change_with_an_outdated_revision_is_refused(weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Other"}, LATER)
    before = dump_calendars()

    with pytest.raises(ChangedSince):
        editing.change(weekly, {"subject": "New"}, LATER, revision=weekly.revision_pair)
    with pytest.raises(ChangedSince):
        editing.delete(weekly, LATER, revision=weekly.revision_pair)

    assert dump_calendars() == before


def test_change_with_the_current_revision_is_accepted(weekly):
    event = editing.change(weekly, {"subject": "New"}, LATER, revision=weekly.revision_pair)

    editing.delete(event, LATER, revision=event.revision_pair)

    assert not Event.objects.exists()
