"""New events and series: their times, and transaction ids that prevent duplicates."""

import pytest

from calendars import editing
from calendars.editing import WallTime
from tests.calendars.conftest import days, expand, recurrence, starts, times, wall, wall_time
from tests.calendars.editing.stored import ALL_DAY, LATER
from tests.conftest import NOW, utc


def test_new_event_is_at_its_wall_time_in_its_zone(make_event):
    event = make_event()

    assert (event.covers_from, event.covers_until) == (utc("2026-01-05T09:00Z"), utc("2026-01-05T10:00Z"))
    assert (event.zone, event.revision, event.created_at) == ("Europe/Berlin", 1, NOW)


def test_a_series_begins_with_its_first_occurrence(make_event):
    pattern = {"type": "relativeMonthly", "interval": 2, "daysOfWeek": ["Thursday"], "index": "first"}

    event = make_event(**times("2017-08-29T13:00"), recurrence=recurrence(pattern, "2017-08-29"))

    assert event.start == wall_time("2017-09-07T13:00")
    assert event.recurrence["range"]["startDate"] == "2017-09-07"
    assert (event.covers_from, event.covers_until) == (utc("2017-09-07T11:00Z"), None)


def test_transaction_id_creates_only_one_event(calendar):
    first, is_new = editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a")
    second, is_new_again = editing.create(calendar, times("2026-01-06T10:00"), LATER, transaction_id="a")

    assert (is_new, is_new_again) == (True, False)
    assert second == first
    assert second.start == first.start


def test_transaction_id_is_unique_only_within_one_calendar(owner, calendar):
    other = editing.create_calendar(owner, "Other", None, NOW)

    made = [editing.create(each, times("2026-01-05T10:00"), NOW, transaction_id="a")[1] for each in (calendar, other)]

    assert made == [True, True]


@pytest.mark.parametrize(
    "start, end, stored",
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
def test_end_in_another_zone_is_stored_in_the_zone_of_the_start(make_event, start, end, stored):
    event = make_event(start=wall(*start), end=wall(*end))

    assert event.end == wall_time(stored)
    assert (event.start_zone_name, event.end_zone_name) == (start[1], end[1])


def test_recurrence_in_another_zone_keeps_the_wall_time_of_that_zone(make_event):
    document = recurrence("daily", "2026-03-28", count=3, recurrenceTimeZone="America/New_York")

    event = make_event(**times("2026-03-28T15:00"), recurrence=document)

    # Berlin's clocks change on the 29th, New York's did on the 8th
    assert (event.zone, event.start) == ("America/New_York", wall_time("2026-03-28T10:00"))
    assert [each.start for each in expand(event)] == [utc(f"2026-03-{n}T14:00Z") for n in (28, 29, 30)]
    assert event.start_zone_name == "Europe/Berlin"


def test_count_may_exceed_the_last_year_of_the_calendar(make_event):
    """Exchange accepts intervals up to 99 months and counts up to 999."""
    pattern = {"type": "absoluteMonthly", "interval": 99, "dayOfMonth": 5}

    event = make_event(recurrence=recurrence(pattern, count=999))

    assert event.covers_until is None
    assert days(event)[0] == "2026-01-05"


def test_fractions_of_a_second_are_dropped(make_event):
    event = make_event(
        start=WallTime(wall_time("2026-01-05T10:00:00.999999"), "UTC"), end=wall("2026-01-05T11:00", "UTC")
    )

    assert event.start == wall_time("2026-01-05T10:00")


def test_event_may_have_a_length_of_zero(make_event):
    event = make_event(**times("2026-01-05T10:00", "2026-01-05T10:00"))

    assert starts(event) == ["2026-01-05T10:00"]


def test_all_day_event_covers_midnight_to_midnight(make_event):
    event = make_event(**ALL_DAY)

    assert (event.covers_from, event.covers_until) == (utc("2026-01-05T00:00Z"), utc("2026-01-06T00:00Z"))


def test_zone_of_a_recurrence_does_not_move_an_all_day_event(make_event):
    event = make_event(**ALL_DAY, recurrence=recurrence(recurrenceTimeZone="America/New_York"))

    assert (event.start, event.zone) == (wall_time("2026-01-05T00:00"), "America/New_York")
