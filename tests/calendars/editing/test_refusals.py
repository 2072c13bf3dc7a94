"""Refused values of new and changed events: the error names the member, and nothing is stored."""

import pytest

from calendars import editing
from calendars.errors import CalendarError
from calendars.models import Event
from tests.calendars.conftest import recurrence, times, wall
from tests.calendars.editing.stored import ALL_DAY, LATER, dump_calendars

REFUSED = {
    "no start": ({"start": None}, "start", "required"),
    "no end": ({"end": None}, "end", "required"),
    "an end before the start": (times("2026-01-05T10:00", "2026-01-05T09:59"), "end", "ends_before_it_starts"),
    # 12:00 in Berlin is 16:30 in Kolkata
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
def test_error_of_a_new_event_names_its_member(make_event, changes, path, code):
    with pytest.raises(CalendarError) as refused:
        make_event(**changes)

    assert (refused.value.path, refused.value.code) == (path, code)
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "changes, path, code", [each for name, each in REFUSED.items() if not name.startswith("another day")]
)
def test_a_refused_change_changes_nothing(with_exceptions, changes, path, code):
    before = dump_calendars()

    with pytest.raises(CalendarError) as refused:
        editing.change(with_exceptions, {"subject": "New", **changes}, LATER)

    assert refused.value.path in (path, "recurrence.range.endDate", "recurrence")
    assert dump_calendars() == before
