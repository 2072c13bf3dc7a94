"""Cancelling and restoring occurrences."""

import pytest

from calendars import editing
from calendars.errors import Gone
from calendars.models import EventException
from tests.calendars.conftest import days, expand, starts, times
from tests.calendars.editing.stored import LATER, SECOND, subjects
from tests.conftest import utc


def test_cancelled_occurrence_still_counts_for_the_number_of_occurrences(weekly):
    editing.cancel_occurrence(weekly, SECOND, LATER)

    assert len(days(weekly)) == 9
    assert days(weekly)[-1] == "2026-03-09"


def test_cancelled_occurrence_is_listed_at_its_last_time_on_request(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)
    editing.cancel_occurrence(weekly, SECOND, LATER)

    cancelled = [each for each in expand(weekly, cancelled=True) if each.is_cancelled]

    assert [each.start for each in cancelled] == [utc("2026-01-13T14:00Z")]
    assert SECOND not in [each.day for each in expand(weekly)]


@pytest.mark.parametrize(
    "act",
    [
        lambda event: editing.cancel_occurrence(event, SECOND, LATER),
        lambda event: editing.change_occurrence(event, SECOND, {"subject": "A", **times("2026-01-13T15:00")}, LATER),
    ],
)
def test_restored_occurrence_has_the_values_of_its_series(weekly, act):
    act(weekly)

    editing.restore_occurrence(weekly, SECOND, LATER)

    assert (starts(weekly)[1], subjects(weekly)[1]) == ("2026-01-12T10:00", "Stand-up")
    assert not EventException.objects.exists()


def test_unchanged_occurrence_cannot_be_restored(weekly):
    with pytest.raises(Gone):
        editing.restore_occurrence(weekly, SECOND, LATER)
