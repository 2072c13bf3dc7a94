"""Occurrences that are cancelled and restored."""

import pytest

from calendars import editing
from calendars.errors import Gone
from calendars.models import EventException
from tests.calendars.conftest import days, laid_out, starts, times
from tests.calendars.editing.stored import LATER, SECOND, subjects
from tests.conftest import utc


def test_a_cancelled_occurrence_is_not_refilled(weekly):
    editing.cancel_occurrence(weekly, SECOND, LATER)

    assert len(days(weekly)) == 9
    assert days(weekly)[-1] == "2026-03-09"


def test_a_cancelled_occurrence_is_seen_where_it_was_if_asked_for(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)
    editing.cancel_occurrence(weekly, SECOND, LATER)

    cancelled = [each for each in laid_out(weekly, cancelled=True) if each.is_cancelled]

    assert [each.start for each in cancelled] == [utc("2026-01-13T14:00Z")]
    assert SECOND not in [each.day for each in laid_out(weekly)]


@pytest.mark.parametrize(
    "act",
    [
        lambda event: editing.cancel_occurrence(event, SECOND, LATER),
        lambda event: editing.change_occurrence(event, SECOND, {"subject": "A", **times("2026-01-13T15:00")}, LATER),
    ],
)
def test_a_restored_occurrence_is_as_its_series_has_it(weekly, act):
    act(weekly)

    editing.restore_occurrence(weekly, SECOND, LATER)

    assert (starts(weekly)[1], subjects(weekly)[1]) == ("2026-01-12T10:00", "Stand-up")
    assert not EventException.objects.exists()


def test_what_is_as_its_series_has_it_cannot_be_restored(weekly):
    with pytest.raises(Gone):
        editing.restore_occurrence(weekly, SECOND, LATER)
