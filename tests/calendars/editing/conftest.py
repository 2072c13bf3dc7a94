"""A series with exceptions."""

import pytest

from calendars import editing
from calendars.models import Event
from tests.calendars.conftest import day, times
from tests.conftest import NOW


@pytest.fixture
def with_exceptions(weekly):
    """The second occurrence is moved to a Tuesday, the third has another subject, the fourth is cancelled."""
    editing.change_occurrence(weekly, day("2026-01-12"), times("2026-01-13T15:00"), NOW)
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Retrospective"}, NOW)
    editing.cancel_occurrence(weekly, day("2026-01-26"), NOW)
    return Event.objects.get()
