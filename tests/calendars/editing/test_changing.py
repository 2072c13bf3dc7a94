"""What a change of an event or series reaches, when it drops exceptions, and revisions."""

import pytest

from calendars import editing
from calendars.errors import CalendarError, ChangedSince
from calendars.models import Event
from tests.calendars.conftest import day, days, laid_out, reading, recurrence, starts, times, wall
from tests.calendars.editing.stored import ALL_DAY, LATER, everything, subjects
from tests.conftest import NOW, utc


def test_a_change_of_a_series_reaches_what_no_exception_says(with_exceptions):
    editing.change(with_exceptions, {"subject": "Planning", "show_as": "free"}, LATER)

    assert subjects(with_exceptions)[:3] == ["Planning", "Planning", "Retrospective"]
    assert {each.details.show_as for each in laid_out(with_exceptions)} == {"free"}
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
def test_a_change_that_leaves_the_occurrences_where_they_are_drops_no_exception(with_exceptions, changes):
    event = editing.change(with_exceptions, changes, LATER)

    assert event.exceptions.count() == 3
    assert starts(event)[:3] == ["2026-01-05T10:00", "2026-01-13T15:00", "2026-01-19T10:00"]


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_a_change_of_the_occurrences_drops_exceptions_and_cancellations(with_exceptions, changes):
    event = editing.change(with_exceptions, changes, LATER)

    assert not event.exceptions.exists()
    assert "Retrospective" not in subjects(event)


def test_exceptions_follow_their_series_to_a_zone_with_another_past(make_event):
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
def test_zones_whose_days_differ_are_not_the_same(make_event, zone, other):
    changes = {"recurrence": recurrence("daily", "2011-12-30", count=5)}
    series = make_event(**times("2011-12-30T10:00", zone=zone), **changes)
    editing.cancel_occurrence(series, day("2012-01-02"), NOW)

    there = editing.change(series, {**times("2011-12-30T10:00", zone=other), **changes}, LATER)

    assert there.zone == other
    assert not there.exceptions.exists()


def test_what_changes_nothing_leaves_the_revision(with_exceptions):
    event = editing.change(with_exceptions, {"subject": "Stand-up", **SAME["all of it, in UTC"]}, LATER)
    again = editing.change(event, {"subject": "Stand-up", **SAME["all of it, in UTC"]}, LATER)

    assert again.revision_pair == event.revision_pair


def test_a_start_alone_takes_the_series_along(weekly):
    event = editing.change(weekly, times("2026-01-12T08:00"), LATER)

    assert starts(event)[:2] == ["2026-01-12T08:00", "2026-01-19T08:00"]
    assert len(days(event)) == 10
    assert event.recurrence["range"]["startDate"] == "2026-01-12"


def test_a_start_in_another_zone_leaves_the_series_in_its_own(weekly):
    event = editing.change(weekly, times("2026-01-05T10:00", zone="America/New_York"), LATER)

    assert (event.zone, event.start) == ("Europe/Berlin", reading("2026-01-05T16:00"))
    assert event.start_zone_name == "America/New_York"
    assert event.recurrence["range"]["recurrenceTimeZone"] == "Europe/Berlin"


def test_a_recurrence_alone_begins_on_its_start_date(weekly):
    event = editing.change(weekly, {"recurrence": recurrence("daily", "2026-02-01", count=2)}, LATER)

    assert starts(event) == ["2026-02-01T10:00", "2026-02-02T10:00"]


def test_a_recurrence_alone_keeps_the_zone_that_it_does_not_name(make_event):
    event = make_event(recurrence=recurrence(recurrenceTimeZone="America/New_York"))

    event = editing.change(event, {"recurrence": recurrence("daily", count=2)}, LATER)

    assert (event.zone, event.start) == ("America/New_York", reading("2026-01-05T04:00"))
    assert event.recurrence["range"]["recurrenceTimeZone"] == "America/New_York"


def test_a_recurrence_alone_moves_to_the_zone_that_it_names(weekly):
    document = recurrence(count=10, recurrenceTimeZone="America/New_York")

    event = editing.change(weekly, {"recurrence": document}, LATER)

    assert (event.zone, event.start, event.end) == (
        "America/New_York",
        reading("2026-01-05T04:00"),
        reading("2026-01-05T05:00"),
    )


def test_a_series_without_its_recurrence_is_a_single_event_at_its_start(with_exceptions):
    event = editing.change(with_exceptions, {"recurrence": None}, LATER)

    assert starts(event) == ["2026-01-05T10:00"]
    assert event.covers_until == utc("2026-01-05T10:00Z")
    assert not event.exceptions.exists()


def test_a_single_event_becomes_a_series(make_event):
    event = editing.change(make_event(), {"recurrence": recurrence(count=3)}, LATER)

    assert days(event) == ["2026-01-05", "2026-01-12", "2026-01-19"]
    assert event.covers_until == utc("2026-01-19T10:00Z")


def test_a_single_event_takes_the_zone_of_its_start(make_event):
    event = editing.change(make_event(), {"start": wall("2026-01-05T04:30", "America/New_York")}, LATER)

    assert (event.zone, event.start, event.end) == (
        "America/New_York",
        reading("2026-01-05T04:30"),
        reading("2026-01-05T05:00"),
    )


def test_a_start_alone_does_not_take_the_end_along(make_event):
    with pytest.raises(CalendarError) as refused:
        editing.change(make_event(), {"start": wall("2026-01-05T12:00")}, LATER)

    assert refused.value.code == "ends_before_it_starts"


# Berlin's clocks skip 02:00 to 03:00 on 29 March 2026: an event at 02:30 is answered as 01:30 UTC, which is 03:30
GAP = times("2026-03-29T02:30", "2026-03-29T03:15")


@pytest.mark.parametrize("zone, text", [("UTC", "2026-03-29T01:30"), ("Europe/Berlin", "2026-03-29T03:30")])
def test_an_answer_from_a_gap_that_comes_back_changes_nothing(make_event, zone, text):
    event = make_event(**GAP, recurrence=recurrence("daily", "2026-03-29"))
    shown = laid_out(event)[0]
    assert (shown.start, shown.end) == (utc("2026-03-29T01:30Z"), utc("2026-03-29T01:30Z"))

    again = editing.change(event, times(text, text, zone), LATER)

    assert (again.start, again.end) == (event.start, event.end)


def test_revisions_grow_with_what_they_stand_for(weekly):
    calendar = weekly.calendar
    calendar.refresh_from_db()

    exception = editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Other"}, LATER)

    event = Event.objects.select_related("calendar").get()
    assert (event.revision, event.master_revision, exception.revision) == (2, 1, 2)
    assert event.calendar.revision == calendar.revision + 1
    assert (event.updated_at, event.created_at) == (LATER, NOW)

    event = editing.change(event, {"subject": "New"}, LATER)
    assert (event.revision, event.master_revision) == (3, 2)


def test_who_has_read_an_older_revision_changes_nothing(weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Other"}, LATER)
    before = everything()

    with pytest.raises(ChangedSince):
        editing.change(weekly, {"subject": "New"}, LATER, revision=weekly.revision_pair)
    with pytest.raises(ChangedSince):
        editing.delete(weekly, LATER, revision=weekly.revision_pair)

    assert everything() == before


def test_who_has_read_the_present_revision_may_change(weekly):
    event = editing.change(weekly, {"subject": "New"}, LATER, revision=weekly.revision_pair)

    editing.delete(event, LATER, revision=event.revision_pair)
