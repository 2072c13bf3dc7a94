"""Events and whole series: what is made, what a change reaches, what drops exceptions, what is refused."""

from datetime import date, timedelta

import pytest
from django.core import serializers

from calendars import editing
from calendars.editing import WallTime
from calendars.errors import CalendarError, ChangedSince, Gone
from calendars.models import Calendar, Event, EventException
from tests.calendars.conftest import day, days, laid_out, reading, recurrence, starts, times, wall
from tests.conftest import NOW, utc

LATER = NOW + timedelta(hours=1)


def everything() -> str:
    return "".join(
        serializers.serialize("json", model.objects.order_by("pk")) for model in (Calendar, Event, EventException)
    )


@pytest.fixture
def with_exceptions(weekly):
    """The second Monday is on a Tuesday, the third has a subject of its own, the fourth is cancelled."""
    editing.change_occurrence(weekly, day("2026-01-12"), times("2026-01-13T15:00"), NOW)
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Retrospective"}, NOW)
    editing.cancel_occurrence(weekly, day("2026-01-26"), NOW)
    return Event.objects.get()


def subjects(event) -> list[str]:
    return [each.details.subject for each in laid_out(event)]


# Made


def test_a_new_event_is_where_clocks_in_its_zone_have_it(make_event):
    event = make_event()

    assert (event.first_at, event.ends_at) == (utc("2026-01-05T09:00Z"), utc("2026-01-05T10:00Z"))
    assert (event.zone, event.revision, event.created_at) == ("Europe/Berlin", 1, NOW)


def test_a_series_begins_with_its_first_occurrence(make_event):
    pattern = {"type": "relativeMonthly", "interval": 2, "daysOfWeek": ["Thursday"], "index": "first"}

    event = make_event(**times("2017-08-29T13:00"), recurrence=recurrence(pattern, "2017-08-29"))

    assert event.start == reading("2017-09-07T13:00")
    assert event.recurrence["range"]["startDate"] == "2017-09-07"
    assert (event.first_at, event.ends_at) == (utc("2017-09-07T11:00Z"), None)


def test_a_key_of_creation_makes_one_event(calendar):
    first, is_new = editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a")
    second, is_new_again = editing.create(calendar, times("2026-01-06T10:00"), LATER, transaction_id="a")

    assert (is_new, is_new_again) == (True, False)
    assert second == first
    assert second.start == first.start


def test_a_key_of_creation_counts_in_one_calendar(owner, calendar):
    other = editing.create_calendar(owner, "Other", None, NOW)

    made = [editing.create(each, times("2026-01-05T10:00"), NOW, transaction_id="a")[1] for each in (calendar, other)]

    assert made == [True, True]


@pytest.mark.parametrize(
    "start, end, kept",
    [
        (("2026-01-05T10:00", "Europe/Berlin"), ("2026-01-05T10:30", "UTC"), "2026-01-05T11:30"),
        (
            ("2026-01-05T10:00", "W. Europe Standard Time"),
            ("2026-01-05T18:00", "India Standard Time"),
            "2026-01-05T13:30",
        ),
        (("2026-01-05T10:00", "tzone://Microsoft/Utc"), ("2026-01-05T12:00", "Europe/Berlin"), "2026-01-05T11:00"),
    ],
)
def test_an_end_in_another_zone_is_kept_on_the_clocks_of_the_start(make_event, start, end, kept):
    event = make_event(start=wall(*start), end=wall(*end))

    assert event.end == reading(kept)
    assert (event.start_zone_name, event.end_zone_name) == (start[1], end[1])


def test_a_recurrence_in_another_zone_keeps_the_clocks_there(make_event):
    document = recurrence("daily", "2026-03-28", count=3, recurrenceTimeZone="America/New_York")

    event = make_event(**times("2026-03-28T15:00"), recurrence=document)

    # Berlin's clocks change on the 29th, New York's did on the 8th
    assert (event.zone, event.start) == ("America/New_York", reading("2026-03-28T10:00"))
    assert [each.start for each in laid_out(event)] == [utc(f"2026-03-{n}T14:00Z") for n in (28, 29, 30)]
    assert event.start_zone_name == "Europe/Berlin"


def test_a_count_may_reach_beyond_the_years_of_calendars(make_event):
    """Exchange takes intervals up to 99 months and counts up to 999."""
    pattern = {"type": "absoluteMonthly", "interval": 99, "dayOfMonth": 5}

    event = make_event(recurrence=recurrence(pattern, count=999))

    assert event.ends_at is None
    assert days(event)[0] == "2026-01-05"


def test_fractions_of_a_second_are_dropped(make_event):
    event = make_event(
        start=WallTime(reading("2026-01-05T10:00:00.999999"), "UTC"), end=wall("2026-01-05T11:00", "UTC")
    )

    assert event.start == reading("2026-01-05T10:00")


def test_an_event_may_have_no_length(make_event):
    event = make_event(**times("2026-01-05T10:00", "2026-01-05T10:00"))

    assert starts(event) == ["2026-01-05T10:00"]


ALL_DAY = {"is_all_day": True, **times("2026-01-05T00:00", "2026-01-06T00:00")}


def test_an_all_day_event_lies_between_midnights(make_event):
    event = make_event(**ALL_DAY)

    assert (event.first_at, event.ends_at) == (utc("2026-01-05T00:00Z"), utc("2026-01-06T00:00Z"))


def test_no_zone_of_a_recurrence_moves_an_all_day_event(make_event):
    event = make_event(**ALL_DAY, recurrence=recurrence(recurrenceTimeZone="America/New_York"))

    assert (event.start, event.zone) == (reading("2026-01-05T00:00"), "America/New_York")


REFUSED = {
    "no start": ({"start": None}, "start", "required"),
    "no end": ({"end": None}, "end", "required"),
    "an end before the start": (times("2026-01-05T10:00", "2026-01-05T09:59"), "end", "ends_before_it_starts"),
    # Berlin's noon is Kolkata's 16:30
    "an end before the start elsewhere": (
        {"start": wall("2026-01-05T12:00"), "end": wall("2026-01-05T16:00", "Asia/Kolkata")},
        "end",
        "ends_before_it_starts",
    ),
    "more than five years": (times("2026-01-05T10:00", "2031-01-05T10:00"), "end", "out_of_range"),
    "more than a year of a series": (
        {**times("2026-01-05T10:00", "2027-01-07T10:00"), "recurrence": recurrence()},
        "end",
        "out_of_range",
    ),
    "before 1900": (times("1899-12-31T10:00"), "start", "out_of_range"),
    "year 1": (times("0001-01-01T00:00", zone="Pacific/Apia"), "start", "out_of_range"),
    "after 4500": (times("2026-01-05T10:00", "4501-01-01T00:00"), "end", "out_of_range"),
    "year 9999": (times("9999-12-31T10:00", "9999-12-31T23:00", "Pacific/Niue"), "start", "out_of_range"),
    "an unknown zone": (times("2026-01-05T10:00", zone="Mars/Phobos"), "start.timeZone", "unknown_value"),
    "a zone name with NUL": (times("2026-01-05T10:00", zone="UTC\0"), "start.timeZone", "unknown_value"),
    "all-day at noon": ({"is_all_day": True, **times("2026-01-05T12:00", "2026-01-06T00:00")}, "start", "invalid"),
    "all-day to noon": ({"is_all_day": True, **times("2026-01-05T00:00", "2026-01-06T12:00")}, "end", "invalid"),
    "all-day of no day": (
        {"is_all_day": True, **times("2026-01-05T00:00", "2026-01-05T00:00")},
        "end",
        "ends_before_it_starts",
    ),
    "all-day in two zones": ({**ALL_DAY, "end": wall("2026-01-06T00:00", "UTC")}, "end.timeZone", "invalid"),
    "all-day perhaps": ({"is_all_day": "yes"}, "isAllDay", "invalid"),
    "no recurrence": ({"recurrence": "weekly"}, "recurrence", "invalid"),
    "no range": ({"recurrence": {"pattern": recurrence()["pattern"]}}, "recurrence.range", "required"),
    "an interval of 0": (
        {"recurrence": recurrence({"type": "daily", "interval": 0})},
        "recurrence.pattern.interval",
        "out_of_range",
    ),
    "another day than the start's": (
        {"recurrence": recurrence(start="2026-01-06")},
        "recurrence.range.startDate",
        "not_allowed",
    ),
    "an end before the first occurrence": (
        {"recurrence": recurrence(type="endDate", endDate="2026-01-04")},
        "recurrence.range.endDate",
        "never_fires",
    ),
    "an end after Exchange's": (
        {"recurrence": recurrence(type="endDate", endDate="9999-12-31")},
        "recurrence.range.endDate",
        "out_of_range",
    ),
    "an unknown zone of the recurrence": (
        {"recurrence": recurrence(recurrenceTimeZone="Mars/Phobos")},
        "recurrence.range.recurrenceTimeZone",
        "unknown_value",
    ),
    "a subject that is none": ({"subject": 5}, "subject", "invalid"),
    "a long subject": ({"subject": "x" * 256}, "subject", "too_long"),
    "NUL": ({"subject": "a\0b"}, "subject", "invalid"),
    "half a surrogate pair": ({"body": "\ud83d"}, "body", "invalid"),
    "a body of another type": ({"body_type": "markdown"}, "bodyType", "unknown_value"),
    "a word that is none": ({"show_as": ["busy"]}, "showAs", "unknown_value"),
    "a reminder that is none": ({"is_reminder_on": 1}, "isReminderOn", "invalid"),
    "a negative reminder": ({"reminder_minutes": -1}, "reminderMinutes", "out_of_range"),
    "an endless reminder": ({"reminder_minutes": 10**5000}, "reminderMinutes", "out_of_range"),
    "a reminder of true": ({"reminder_minutes": True}, "reminderMinutes", "invalid"),
    "categories that are none": ({"categories": "work"}, "categories", "invalid"),
    "a category that is none": ({"categories": ["work", 5]}, "categories[1]", "invalid"),
    "too many categories": ({"categories": ["x"] * 101}, "categories", "too_many"),
    "a place that is none": ({"locations": ["Room"]}, "locations[0]", "invalid"),
    "a place with a wrong name": ({"locations": [{"displayName": 5}]}, "locations[0].displayName", "invalid"),
    "NUL in a place": ({"locations": [{"address": {"cit\0y": 1}}]}, "locations", "invalid"),
    "not a number": ({"attendees": [{"x": float("nan")}]}, "attendees", "invalid"),
    "a number beyond 64 bits": ({"attendees": [{"x": 1e30}]}, "attendees", "out_of_range"),
    "too many attendees": ({"attendees": [{}] * 501}, "attendees", "too_many"),
    "large attendees": ({"attendees": [{"x": "y" * 300_000}]}, "attendees", "too_long"),
}


@pytest.mark.parametrize("changes, path, code", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_of_a_new_event_names_its_member(make_event, changes, path, code):
    with pytest.raises(CalendarError) as refused:
        make_event(**changes)

    assert (refused.value.path, refused.value.code) == (path, code)
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "changes, path, code", [each for name, each in REFUSED.items() if not name.startswith("another day")]
)
def test_a_refused_change_changes_nothing(with_exceptions, changes, path, code):
    before = everything()

    with pytest.raises(CalendarError) as refused:
        editing.change(with_exceptions, {"subject": "New", **changes}, LATER)

    assert refused.value.path in (path, "recurrence.range.endDate", "recurrence")
    assert everything() == before


# Changed


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

    assert again.version == event.version


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
    assert event.ends_at == utc("2026-01-05T10:00Z")
    assert not event.exceptions.exists()


def test_a_single_event_becomes_a_series(make_event):
    event = editing.change(make_event(), {"recurrence": recurrence(count=3)}, LATER)

    assert days(event) == ["2026-01-05", "2026-01-12", "2026-01-19"]
    assert event.ends_at == utc("2026-01-19T10:00Z")


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
    assert (event.revision, event.series_revision, exception.revision) == (2, 1, 2)
    assert event.calendar.revision == calendar.revision + 1
    assert (event.updated_at, event.created_at) == (LATER, NOW)

    event = editing.change(event, {"subject": "New"}, LATER)
    assert (event.revision, event.series_revision) == (3, 2)


def test_who_has_read_an_older_revision_changes_nothing(weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Other"}, LATER)
    before = everything()

    with pytest.raises(ChangedSince):
        editing.change(weekly, {"subject": "New"}, LATER, revision=weekly.version)
    with pytest.raises(ChangedSince):
        editing.delete(weekly, LATER, revision=weekly.version)

    assert everything() == before


def test_who_has_read_the_present_revision_may_change(weekly):
    event = editing.change(weekly, {"subject": "New"}, LATER, revision=weekly.version)

    editing.delete(event, LATER, revision=event.version)


# Moved and deleted


def test_an_event_moves_to_another_calendar(owner, with_exceptions):
    other = editing.create_calendar(owner, "Other", None, NOW)

    event = editing.move(with_exceptions, other, LATER)

    assert event.calendar == other
    assert Event.objects.get().calendar == other
    assert days(event)[1] == "2026-01-13"
    assert set(Calendar.objects.values_list("updated_at", flat=True)) == {LATER}


def test_what_is_private_does_not_move_to_another_owner(owner, make_user, with_exceptions):
    editing.change_occurrence(with_exceptions, date(2026, 2, 2), {"sensitivity": "private"}, NOW)
    theirs = Calendar.objects.default_of(make_user("bob"))

    with pytest.raises(CalendarError) as refused:
        editing.move(with_exceptions, theirs, LATER)

    assert refused.value.path == "calendarId"
    assert Event.objects.get().calendar.owner == owner
    assert editing.move(with_exceptions, editing.create_calendar(owner, "Other", None, NOW), LATER)


def test_a_key_of_creation_that_is_taken_elsewhere_stays_behind(owner, calendar):
    other = editing.create_calendar(owner, "Other", None, NOW)
    first, _ = editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a")
    editing.create(other, times("2026-01-05T10:00"), NOW, transaction_id="a")

    assert editing.move(first, other, LATER).transaction_id is None


def test_who_deletes_an_event_deletes_what_became_of_its_occurrences(with_exceptions):
    editing.delete(with_exceptions, LATER)

    assert not Event.objects.exists()
    assert not EventException.objects.exists()


GONE = {
    "change": lambda event: editing.change(event, {"subject": "New"}, LATER),
    "change an occurrence": lambda event: editing.change_occurrence(event, date(2026, 1, 12), {}, LATER),
    "cancel": lambda event: editing.cancel_occurrence(event, date(2026, 1, 12), LATER),
    "restore": lambda event: editing.restore_occurrence(event, date(2026, 1, 12), LATER),
    "change the rest": lambda event: editing.change_following(event, date(2026, 1, 12), {}, LATER),
    "end": lambda event: editing.end_before(event, date(2026, 1, 12), LATER),
    "move": lambda event: editing.move(event, event.calendar, LATER),
    "delete": lambda event: editing.delete(event, LATER),
}


@pytest.mark.parametrize("act", GONE.values(), ids=GONE)
def test_what_is_deleted_is_gone(weekly, act):
    editing.delete(weekly, LATER)

    with pytest.raises(Gone):
        act(weekly)


@pytest.mark.parametrize("act", [act for name, act in GONE.items() if name != "move"])
def test_what_has_moved_away_is_gone(owner, with_exceptions, act):
    """Whoever looked it up had rights in the calendar where it was."""
    editing.move(with_exceptions, editing.create_calendar(owner, "Other", None, NOW), LATER)

    with pytest.raises(Gone):
        act(with_exceptions)


# Calendars


def test_a_new_calendar_gets_the_hue_that_its_owner_uses_least(owner, calendar):
    hues = [editing.create_calendar(owner, str(n), None, NOW).hue for n in range(8)]

    assert hues == ["moss", "clay", "iris", "straw", "sea", "plum", "brick", "sky"]


def test_a_calendar_gets_another_name_and_hue(calendar):
    changed = editing.change_calendar(calendar, {"name": " Home ", "hue": "plum"}, LATER)

    assert (changed.name, changed.hue, changed.revision, changed.updated_at) == ("Home", "plum", 2, LATER)


def test_who_has_read_an_older_revision_of_a_calendar_changes_nothing(calendar):
    editing.change_calendar(calendar, {"name": "Home"}, LATER)

    with pytest.raises(ChangedSince):
        editing.change_calendar(calendar, {"name": "Work"}, LATER, revision=calendar.revision)


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": 5}, "name"),
        ({"hue": "pink"}, "hue"),
        ({"hue": ["sky"]}, "hue"),
    ],
)
def test_a_calendar_has_a_name_in_one_line_and_a_hue_of_the_look(calendar, changes, path):
    with pytest.raises(CalendarError) as refused:
        editing.change_calendar(calendar, changes, LATER)

    assert refused.value.path == path


def test_the_default_calendar_stays(calendar):
    with pytest.raises(CalendarError) as refused:
        editing.delete_calendar(calendar, LATER)

    assert refused.value.code == "is_default"


def test_another_calendar_goes_with_its_events(owner, calendar, make_event):
    other = editing.create_calendar(owner, "Other", None, NOW)
    make_event(other)

    editing.delete_calendar(other, LATER)

    assert list(Calendar.objects.all()) == [calendar]
    assert not Event.objects.exists()


def test_nobody_has_calendars_without_end(owner, calendar, monkeypatch):
    monkeypatch.setattr(editing, "CALENDARS", 1)

    with pytest.raises(CalendarError) as refused:
        editing.create_calendar(owner, "Other", None, NOW)

    assert refused.value.code == "too_many"
