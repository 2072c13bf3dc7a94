"""A calendar page reads a limited number of events, and says so."""

import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Role
from calendars import editing, sharing
from calendars.models import Calendar
from calendars.pages import occurrence_cache, search
from calendars.pages.filters import Filter
from calendars.pages.occurrence_cache import MOST, OccurrenceCache, occurrences_in
from calendars.pages.page_data import layers_of
from recurrence.wire.zone_names import zone_of
from tests.calendars.conftest import recurrence, times, wall_time
from tests.calendars.page.reading import DAILY, cell, items
from tests.conftest import NOW, utc

pytestmark = pytest.mark.django_db
BANNER = "There are more events than this view can show. Only the first {} are shown."
WINDOW = utc("2026-01-05T00:00Z"), utc("2026-01-12T00:00Z"), zone_of("Europe/Berlin", "zone")


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch):
    monkeypatch.setattr(occurrence_cache, "CACHE", OccurrenceCache(MOST))


@pytest.fixture
def limit(monkeypatch):
    """Return a function that sets the limits of a page."""

    def set_limits(events: int, occurrences: int = 10_000) -> None:
        monkeypatch.setattr(occurrence_cache, "MAX_EVENTS", events)
        monkeypatch.setattr(occurrence_cache, "MAX_OCCURRENCES", occurrences)

    return set_limits


@pytest.fixture
def make_series(make_event):
    """Return a function that makes daily series with the names 1, 2, ..., which start one day after the other."""

    def make_series(count: int, calendar: Calendar | None = None, prefix: str = "") -> list:
        first = wall_time("2025-12-01T10:00")
        return [
            make_event(
                calendar,
                subject=f"{prefix}{number}",
                **times((first + timedelta(days=number)).isoformat()),
                recurrence=recurrence("daily", start=f"{first + timedelta(days=number):%Y-%m-%d}"),
            )
            for number in reversed(range(1, count + 1))
        ]

    return make_series


def subjects(page: str) -> list[str]:
    return [item.split()[1] for item in items(cell(page, "2026-01-08"))]


def found_subjects(user, cancelled: bool = False) -> tuple[list[str], int, int]:
    """Return the distinct subjects of all occurrences in WINDOW, their number, and the number of events."""
    versions = {layer.cache_key: layer.version for layer in layers_of(user, Filter())[0]}
    found = occurrences_in(versions, user, *WINDOW, cancelled=cancelled)
    merged = occurrence_cache.merge_sorted(found.by_calendar.values())
    return sorted({each.details.subject for each in merged}), len(merged), found.event_count


@pytest.mark.parametrize("view", ["month", "week", "workweek", "day", "agenda"])
def test_view_shows_the_first_events_and_says_that_there_are_more(load_page, make_series, limit, view):
    make_series(4, prefix="Series-")
    limit(2)

    page = html.unescape(load_page(f"view={view}"))
    fragment = html.unescape(load_page(f"view={view}", **{"HX-Request": "true"}))

    for each in (page, fragment):
        assert BANNER.format(2) in each
        assert set(re.findall(r"Series-\d", each)) == {"Series-1", "Series-2"}


def test_view_at_the_limit_has_no_banner(load_page, make_series, limit):
    make_series(3)
    limit(3)

    page = load_page()

    assert BANNER[:40] not in page
    assert subjects(page) == ["1", "2", "3"]


def test_number_of_occurrences_is_limited(load_page, make_series, limit):
    make_series(3)
    limit(events=10, occurrences=20)  # a week of two series has 14 occurrences

    page = load_page("view=week")

    assert BANNER.format(2) in page
    assert not any(" 3 " in each for each in items(page))


def test_own_calendars_are_read_before_those_of_others(load_page, make_series, make_user, viewer, limit):
    other = editing.create_calendar(make_user("grace"), "A first name", None, NOW)
    sharing.share(other, viewer, Role.READER)
    own = editing.create_calendar(viewer, "Z last name", None, NOW)
    make_series(3, other, "other-")
    make_series(2, own, "own-")
    limit(3)

    page = load_page()

    assert BANNER.format(3) in page
    assert subjects(page) == ["other-1", "own-1", "own-2"]
    assert BANNER[:40] not in load_page(f"off={other.pk.hex}")


def test_sidebar_counts_only_calendars_that_are_shown_completely(load_page, make_series, viewer, client, limit):
    second = editing.create_calendar(viewer, "Second", None, NOW)
    third = editing.create_calendar(viewer, "Third", None, NOW)
    make_series(1)
    make_series(2, second)
    make_series(1, third)
    limit(2)

    load_page()
    layers = client.get("/calendar/?view=week").context["layers"]["calendars"]

    assert [layer["count"] for layer in layers] == ["7", "", ""]


def test_cached_and_uncached_pages_leave_out_the_same_events(make_series, viewer, calendar, limit):
    """Calendars that change, in any order, keep a cache that agrees with an empty one."""
    second = editing.create_calendar(viewer, "Second", None, NOW)
    third = editing.create_calendar(viewer, "Third", None, NOW)
    made = [*make_series(3, prefix="a"), *make_series(3, second, "b"), *make_series(3, third, "c")]

    def both() -> list:
        cached = found_subjects(viewer)
        occurrence_cache.CACHE = OccurrenceCache(MOST)
        return [cached, found_subjects(viewer)]

    for events, occurrences in ((9, 100), (5, 100), (3, 100), (2, 100), (9, 30), (9, 3)):
        limit(events, occurrences)
        occurrence_cache.CACHE = OccurrenceCache(MOST)
        found_subjects(viewer)
        for event in made:
            found_subjects(viewer)
            editing.change(event, {"importance": "high" if event.importance == "low" else "low"}, NOW)
            cached, uncached = both()
            assert cached == uncached
            assert uncached[2] <= events
            assert uncached[1] <= occurrences
    editing.delete(made[0], NOW)
    limit(5, 100)
    cached, uncached = both()
    assert cached == uncached == (["a1", "a2", "b1", "b2", "b3"], 35, 5)


def test_cancelled_occurrences_count_for_the_limit(make_series, viewer, limit):
    """They are loaded and expanded, shown or not."""
    for event in make_series(2):
        with editing.occurrences_of(event, NOW) as occurrences:
            for number in range(5, 11):
                occurrences.cancel(wall_time(f"2026-01-{number:02}").date())
    limit(10, 10)

    assert found_subjects(viewer) == (["1"], 1, 1)
    assert found_subjects(viewer, cancelled=True) == (["1"], 7, 1)


def test_exceptions_are_loaded_in_batches(make_series, viewer, limit):
    for event in make_series(4):
        editing.change_occurrence(event, wall_time("2026-01-08").date(), {"subject": f"{event.subject}!"}, NOW)
    limit(10, 30)  # a window of 7 days with its margins has up to 15 exceptions of an event

    with CaptureQueriesContext(
        connection,
    ) as queries:
        found = found_subjects(viewer)

    assert found == (["1", "1!", "2", "2!", "3", "3!", "4", "4!"], 28, 4)
    assert sum('FROM "calendars_eventexception" WHERE' in each["sql"] for each in queries) >= 2


def test_database_returns_no_more_events_than_the_limit(load_page, make_series, viewer, limit, monkeypatch):
    make_series(8)
    limit(2)
    expanded = []
    original = occurrence_cache.expand
    monkeypatch.setattr(
        occurrence_cache, "expand", lambda event, *rest: expanded.append(event.subject) or original(event, *rest)
    )

    with CaptureQueriesContext(connection) as queries:
        load_page("view=agenda")

    reads = [each["sql"] for each in queries if '"calendars_event"."time_bucket" IN' in each["sql"]]
    assert reads
    assert all("LIMIT 3" in sql for sql in reads)
    assert len(expanded) <= 3


def test_search_reads_a_limited_number_of_events(load_page, make_series, make_event, monkeypatch):
    make_series(3, prefix="Stand-")
    monkeypatch.setattr(search, "MAX_SEARCHED", 2)

    page = load_page("q=stand")

    assert "There are more events than a search can read or show." in page
    assert "2 events" in page
    assert "Stand-3" not in page
    monkeypatch.setattr(search, "MAX_SEARCHED", 3)
    page = load_page("q=stand")
    assert "than a search can read" not in page
    assert "3 events" in page


def test_search_says_that_more_events_match_than_it_shows(load_page, make_series, monkeypatch):
    make_series(3, prefix="Stand-")
    monkeypatch.setattr(search, "MOST_EVENTS", 2)

    page = load_page("q=stand")

    assert "There are more events than a search can read or show." in page
    assert "2 events" in page
    assert "than a search can read" not in load_page("q=stand-3")


def test_search_reads_a_limited_number_of_exceptions(load_page, make_event, monkeypatch):
    series = make_event(recurrence=DAILY)
    for number in (8, 9):
        editing.change_occurrence(series, wall_time(f"2026-01-{number:02}").date(), {"subject": f"Other {number}"}, NOW)
    monkeypatch.setattr(search, "MAX_EXCEPTIONS", 1)

    page = load_page("q=other")

    assert "There are more events than a search can read or show." in page
    monkeypatch.setattr(search, "MAX_EXCEPTIONS", 2)
    assert "than a search can read" not in load_page("q=other")
