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


def reading(text: str) -> datetime:
    """What clocks show: a naive datetime."""
    return datetime.fromisoformat(text)


def wall(text: str, zone: str = "Europe/Berlin") -> WallTime:
    return WallTime(reading(text), zone)


def recurrence(pattern: str | dict = "weekly", start: str = "2026-01-05", count: int = 0, **range) -> dict:
    """Graph's document: a pattern by name or whole, from `start` on, `count` times or without end."""
    kind = {"type": "numbered", "numberOfOccurrences": count} if count else {"type": "noEnd"}
    named = PATTERNS[pattern] if isinstance(pattern, str) else pattern
    return {"pattern": named, "range": {**kind, "startDate": start, **range}}


def times(start: str, end: str | None = None, zone: str = "Europe/Berlin") -> dict:
    """`start` and `end` as changes; an hour unless it says otherwise."""
    first = wall(start, zone)
    return {"start": first, "end": wall(end, zone) if end else WallTime(first.wall + timedelta(hours=1), zone)}


def days(event: Event, since: str = "2026-01-01", until: str = "2027-01-01") -> list[str]:
    """The days on which occurrences are now, as clocks in the zone of the event show them."""
    return [start.split("T")[0] for start in starts(event, since, until)]


def starts(event: Event, since: str = "2026-01-01", until: str = "2027-01-01") -> list[str]:
    zone = event.tzinfo
    return [f"{each.start.astimezone(zone):%Y-%m-%dT%H:%M}" for each in laid_out(event, since, until)]


def laid_out(event: Event, since: str = "2026-01-01", until: str = "2027-01-01", **options):
    zone = zone_of(event.zone, "zone")
    window = (reading(text).replace(tzinfo=zone) for text in (since, until))
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
        said = {"subject": "Stand-up", **times("2026-01-05T10:00"), **changes}
        return editing.create(in_calendar or calendar, said, now)[0]

    return make


@pytest.fixture
def weekly(make_event) -> Event:
    """Ten Mondays from 5 January to 9 March 2026."""
    return make_event(recurrence=recurrence(count=10))


@pytest.fixture
def today():
    """A page leaves out the year while it is this one."""
    with time_machine.travel("2026-01-01T12:00Z"):
        yield


@pytest.fixture
def browser(client, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    client.force_login(owner)
    return client


@pytest.fixture
def look_as(client):
    """Sign somebody in, in Berlin; return what reads the text of the page under a query."""

    def look_as(user):
        user.time_zone = "Europe/Berlin"
        user.save()
        client.force_login(user)

        def look(query: str = "") -> str:
            response = client.get(f"/calendar/?{query}")
            assert response.status_code == 200
            return html.unescape(response.content.decode())

        return look

    return look_as


@pytest.fixture
def look(look_as, owner):
    return look_as(owner)
