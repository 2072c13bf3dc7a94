"""Imports into the owner's default calendar."""

import pytest

from calendars.ics.import_report import Line
from calendars.ics.importing import import_calendar
from calendars.models import Event
from tests.calendars.importing.files import REFUSED, TAKEN, file_of, vevent
from tests.conftest import NOW


@pytest.fixture
def take(calendar):
    """Import what consists of `parts`; returns the lines of the report."""

    def run(*parts: str, head: str = "", **options) -> list[Line]:
        return list(import_calendar(calendar, file_of(*parts, head=head), NOW, **options).lines)

    return run


@pytest.fixture
def taken(take):
    """Import one component that is taken; returns its event and the notes."""

    def run(*lines: str, **options) -> tuple[Event, list[str]]:
        (line,) = take(vevent(*lines, **options))
        assert line.status is TAKEN, line.notes
        return Event.objects.get(pk=line.event_id), line.notes

    return run


@pytest.fixture
def refused(take):
    """Import one component that is refused; returns why."""

    def run(*lines: str, **options) -> str:
        (line,) = take(vevent(*lines, **options))
        assert (line.status, line.event_id) == (REFUSED, None)
        assert not Event.objects.exists()
        return line.notes[-1]

    return run
