"""New events and series: where they lie, and what makes one of them only."""

import pytest

from calendars import editing
from calendars.editing import WallTime
from tests.calendars.conftest import days, laid_out, reading, recurrence, starts, times, wall
from tests.calendars.editing.stored import ALL_DAY, LATER
from tests.conftest import NOW, utc


def test_a_new_event_is_where_clocks_in_its_zone_have_it(make_event):
    event = make_event()

    assert (event.covers_from, event.covers_until) == (utc("2026-01-05T09:00Z"), utc("2026-01-05T10:00Z"))
    assert (event.zone, event.revision, event.created_at) == ("Europe/Berlin", 1, NOW)


def test_a_series_begins_with_its_first_occurrence(make_event):
    pattern = {"type": "relativeMonthly", "interval": 2, "daysOfWeek": ["Thursday"], "index": "first"}

    event = make_event(**times("2017-08-29T13:00"), recurrence=recurrence(pattern, "2017-08-29"))

    assert event.start == reading("2017-09-07T13:00")
    assert event.recurrence["range"]["startDate"] == "2017-09-07"
    assert (event.covers_from, event.covers_until) == (utc("2017-09-07T11:00Z"), None)


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

    assert event.covers_until is None
    assert days(event)[0] == "2026-01-05"


def test_fractions_of_a_second_are_dropped(make_event):
    event = make_event(
        start=WallTime(reading("2026-01-05T10:00:00.999999"), "UTC"), end=wall("2026-01-05T11:00", "UTC")
    )

    assert event.start == reading("2026-01-05T10:00")


def test_an_event_may_have_no_length(make_event):
    event = make_event(**times("2026-01-05T10:00", "2026-01-05T10:00"))

    assert starts(event) == ["2026-01-05T10:00"]


def test_an_all_day_event_lies_between_midnights(make_event):
    event = make_event(**ALL_DAY)

    assert (event.covers_from, event.covers_until) == (utc("2026-01-05T00:00Z"), utc("2026-01-06T00:00Z"))


def test_no_zone_of_a_recurrence_moves_an_all_day_event(make_event):
    event = make_event(**ALL_DAY, recurrence=recurrence(recurrenceTimeZone="America/New_York"))

    assert (event.start, event.zone) == (reading("2026-01-05T00:00"), "America/New_York")
