"""Calendars and events that are valid by default; a test names only what matters to it."""

import html
from datetime import date, datetime, timedelta

import pytest
import time_machine

from calendars import editing, expansion
from calendars.editing import WallTime
from calendars.models import Calendar, Event
from recurrence.wire.zone_names import zone_of
from tests.conftest import NOW

PATTERNS = {
    "daily": {"type": "daily", "interval": 1},
    "weekly": {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]},
    "monthly": {"type": "absoluteMonthly", "interval": 1, "dayOfMonth": 31},
}


def wall_time(text: str) -> datetime:
    """Return the wall clock time in `text`: a naive datetime."""
    return datetime.fromisoformat(text)


def wall(text: str, zone: str = "Europe/Berlin") -> WallTime:
    return WallTime(wall_time(text), zone)


def recurrence(pattern: str | dict = "weekly", start: str = "2026-01-05", count: int = 0, **range) -> dict:
    """Return Graph's document: a pattern by name or in full, from `start` on, `count` times or without an end."""
    kind = {"type": "numbered", "numberOfOccurrences": count} if count else {"type": "noEnd"}
    named = PATTERNS[pattern] if isinstance(pattern, str) else pattern
    return {"pattern": named, "range": {**kind, "startDate": start, **range}}


def times(start: str, end: str | None = None, zone: str = "Europe/Berlin") -> dict:
    """Return `start` and `end` as changes; without `end`, the event lasts one hour."""
    first = wall(start, zone)
    return {"start": first, "end": wall(end, zone) if end else WallTime(first.wall + timedelta(hours=1), zone)}


def days(event: Event, since: str = "2026-01-01", until: str = "2027-01-01") -> list[str]:
    """Return the current days of the occurrences, in the time zone of the event."""
    return [start.split("T")[0] for start in starts(event, since, until)]


def starts(event: Event, since: str = "2026-01-01", until: str = "2027-01-01") -> list[str]:
    zone = event.tzinfo
    return [f"{each.start.astimezone(zone):%Y-%m-%dT%H:%M}" for each in expand(event, since, until)]


def expand(event: Event, since: str = "2026-01-01", until: str = "2027-01-01", **options):
    zone = zone_of(event.zone, "zone")
    window = (wall_time(text).replace(tzinfo=zone) for text in (since, until))
    viewer = event.calendar.owner
    return expansion.occurrences(Event.objects.filter(pk=event.pk), *window, zone, viewer=viewer, **options)


def day(text: str) -> date:
    return date.fromisoformat(text)


@pytest.fixture
def calendar(owner) -> Calendar:
    return Calendar.objects.default_of(owner)


@pytest.fixture
def make_event(calendar):
    """Make an event on Monday, 5 January 2026, from 10:00 to 11:00 in Berlin; with a recurrence, a series."""

    def make(in_calendar: Calendar | None = None, now: datetime = NOW, **changes) -> Event:
        values = {"subject": "Stand-up", **times("2026-01-05T10:00"), **changes}
        return editing.create(in_calendar or calendar, values, now)[0]

    return make


@pytest.fixture
def weekly(make_event) -> Event:
    """Ten Mondays from 5 January to 9 March 2026."""
    return make_event(recurrence=recurrence(count=10))


@pytest.fixture
def today():
    """Set the clock to 2026: pages do not show the current year."""
    with time_machine.travel("2026-01-01T12:00Z"):
        yield


@pytest.fixture
def browser(client, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    client.force_login(owner)
    return client


@pytest.fixture
def load_page_as(client):
    """Return a function that signs a user in, with the time zone Berlin, and returns a function to load the page."""

    def load_page_as(user):
        user.time_zone = "Europe/Berlin"
        user.save()
        client.force_login(user)

        def load_page(query: str = "") -> str:
            response = client.get(f"/calendar/?{query}")
            assert response.status_code == 200
            return html.unescape(response.content.decode())

        return load_page

    return load_page_as


@pytest.fixture
def load_page(load_page_as, owner):
    return load_page_as(owner)
