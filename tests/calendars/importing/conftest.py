"""Import files into the owner's default calendar."""

import pytest

from calendars.ics.import_report import Line
from calendars.ics.importing import import_calendar
from calendars.models import Event
from tests.calendars.importing.files import REFUSED, TAKEN, build_file, vevent
from tests.conftest import NOW


@pytest.fixture
def import_parts(calendar):
    """Return a function that imports a file with `parts` and returns the lines of the report."""

    def run(*parts: str, head: str = "", **options) -> list[Line]:
        return list(import_calendar(calendar, build_file(*parts, head=head), NOW, **options).lines)

    return run


@pytest.fixture
def import_accepted(import_parts):
    """Return a function that imports one accepted component and returns its event and the notes."""

    def run(*lines: str, **options) -> tuple[Event, list[str]]:
        (line,) = import_parts(vevent(*lines, **options))
        assert line.status is TAKEN, line.notes
        return Event.objects.get(pk=line.event_id), line.notes

    return run


@pytest.fixture
def import_refused(import_parts):
    """Return a function that imports one refused component and returns the reason."""

    def run(*lines: str, **options) -> str:
        (line,) = import_parts(vevent(*lines, **options))
        assert (line.status, line.event_id) == (REFUSED, None)
        assert not Event.objects.exists()
        return line.notes[-1]

    return run
