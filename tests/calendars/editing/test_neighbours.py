"""An occurrence stays between the days of its neighbours."""

import pytest

from calendars import editing
from calendars.errors import CalendarError
from calendars.models import Event
from tests.calendars.conftest import day, days, recurrence, starts, times
from tests.calendars.editing.stored import LATER, SECOND, dump_calendars
from tests.conftest import utc

NEIGHBOURS = {
    # the series is on Mondays, and its second occurrence is moved: its neighbours' days are the 5th and the 19th
    "to the day after its neighbour's": ("2026-01-06T00:00", True),
    "to the end of the day before its neighbour's": ("2026-01-18T23:59", True),
    "to its neighbour's day, when that is over": ("2026-01-05T23:00", False),
    "to its neighbour's day, before that begins": ("2026-01-19T00:00", False),
    "beyond its neighbour's": ("2026-01-20T10:00", False),
    "before its neighbour's": ("2026-01-04T10:00", False),
}


@pytest.mark.parametrize("start, is_allowed", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_an_occurrence_stays_between_the_days_of_its_neighbours(weekly, start, is_allowed):
    before = dump_calendars()

    if is_allowed:
        editing.change_occurrence(weekly, SECOND, times(start), LATER)
        assert starts(weekly)[1] == start
        return
    with pytest.raises(CalendarError) as refused:
        editing.change_occurrence(weekly, SECOND, {"subject": "Other", **times(start)}, LATER)
    assert (refused.value.path, refused.value.code) == ("start", "crosses_a_neighbour")
    assert dump_calendars() == before


def test_the_first_and_the_last_occurrence_have_one_neighbour(weekly):
    editing.change_occurrence(weekly, day("2026-01-05"), times("2025-12-01T10:00"), LATER)
    editing.change_occurrence(weekly, day("2026-03-09"), times("2026-12-01T10:00"), LATER)

    event = Event.objects.get()
    assert (event.covers_from, event.covers_until) == (utc("2025-12-01T09:00Z"), utc("2026-12-01T10:00Z"))
    assert days(event, "2025-01-01")[0] == "2025-12-01"
    assert days(event)[-1] == "2026-12-01"


def test_moved_neighbour_limits_at_its_current_day(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-15T10:00"), LATER)

    editing.change_occurrence(weekly, day("2026-01-05"), times("2026-01-14T10:00"), LATER)
    with pytest.raises(CalendarError):
        editing.change_occurrence(weekly, day("2026-01-19"), times("2026-01-15T18:00"), LATER)
    with pytest.raises(CalendarError):
        editing.change_occurrence(weekly, SECOND, times("2026-01-13T10:00"), LATER)


def test_cancelled_occurrence_is_not_a_neighbour(weekly):
    editing.cancel_occurrence(weekly, day("2026-01-19"), LATER)

    editing.change_occurrence(weekly, SECOND, times("2026-01-20T10:00"), LATER)

    assert days(weekly)[:3] == ["2026-01-05", "2026-01-20", "2026-01-26"]


def test_change_that_stays_on_its_day_is_never_refused(make_event):
    daily = make_event(recurrence=recurrence("daily", count=3))

    for changes in ({"subject": "Other"}, times("2026-01-06T23:00", "2026-01-08T12:00"), times("2026-01-06T00:00")):
        editing.change_occurrence(daily, day("2026-01-06"), changes, LATER)

    assert starts(daily)[1] == "2026-01-06T00:00"


def test_days_of_neighbours_are_in_the_zone_of_the_series(make_event):
    # 20:00 in New York is 02:00 of the next day in Berlin
    series = make_event(**times("2026-01-05T20:00", zone="America/New_York"), recurrence=recurrence("daily", count=3))

    editing.change_occurrence(series, day("2026-01-06"), times("2026-01-07T05:59"), LATER)

    assert starts(series)[1] == "2026-01-06T23:59"


def test_occurrence_cannot_be_restored_across_its_neighbour(weekly):
    editing.cancel_occurrence(weekly, SECOND, LATER)
    editing.change_occurrence(weekly, day("2026-01-05"), times("2026-01-12T08:00"), LATER)

    with pytest.raises(CalendarError) as refused:
        editing.restore_occurrence(weekly, SECOND, LATER)

    assert refused.value.code == "crosses_a_neighbour"
