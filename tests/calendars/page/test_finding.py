"""Search on the calendar page."""

from datetime import UTC, date, datetime

import pytest

from calendars import editing
from tests.calendars.conftest import recurrence, times
from tests.calendars.page.reading import DAILY, WEDNESDAY, add_run
from tests.conftest import NOW

pytestmark = pytest.mark.django_db


def test_search_shows_the_nearest_occurrences_and_runs(load_page, make_event, make_job):
    make_event(recurrence=recurrence("daily", start="2025-11-01"), **times("2025-11-01T10:00"))
    make_event(subject="Unrelated")
    job = make_job("stand-in", now=WEDNESDAY)
    add_run(job, datetime(2026, 1, 6, 8, tzinfo=UTC))

    page = load_page("q=STAND")

    assert "1 event, 1 job" in page
    assert page.count(">Stand-up</a>") == 3 + 5
    assert page.count(">stand-in</a>") == 1 + 5
    assert "Unrelated" not in page


@pytest.mark.parametrize("changes", [{"locations": [{"displayName": "Room Ümit"}]}, {"categories": ["room ümit"]}])
def test_search_includes_locations_and_categories(load_page, make_event, changes):
    make_event(**changes)

    assert ">Stand-up</a>" in load_page("q=%C3%9Cmit")


def test_search_finds_an_occurrence_with_another_subject(load_page, make_event):
    series = make_event(recurrence=DAILY)
    editing.change_occurrence(series, date(2026, 1, 9), {"subject": "Retrospective"}, NOW)

    page = load_page("q=retro")

    assert page.count(">Retrospective</a>") == 1
    assert ">Stand-up</a>" not in page
