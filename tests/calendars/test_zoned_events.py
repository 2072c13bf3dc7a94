"""Stored instants of events after a start with other time zone data."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Membership, Role, Subscription
from calendars import editing, feeds
from calendars.models import Calendar, Event, EventException
from operations import tasks
from operations.models import Operation
from operations.reports import read_report
from tests.calendars.conftest import days, expand, recurrence, times, wall
from tests.conftest import NOW, utc
from tests.triggers.rows import HOUR
from triggers.zone_updates import apply_data

VADUZ = "Europe/Vaduz"
TOKYO = {VADUZ: "Asia/Tokyo"}
TEN, EARLIER = utc("2026-01-05T09:00:00Z"), utc("2026-01-05T01:00:00Z")  # 10:00 in Vaduz, and with the new rules
LAST = utc("2026-03-09T10:00:00Z"), utc("2026-03-09T02:00:00Z")


@pytest.fixture(autouse=True)
def unsent(monkeypatch):
    """Leave out the messages to workers, which would wait for a broker."""
    monkeypatch.setattr(tasks.carry_out, "delay", lambda operation_id: None)


@pytest.fixture
def change_zones(db, start_with_zones, carry_out):
    """Return a function that starts a process with other data, lets workers work, and returns the operations."""
    apply_data(start_with_zones("2031a"), timezone.now())

    def change(zones: dict[str, str] = TOKYO) -> list[Operation]:
        operations = apply_data(start_with_zones("2031b", zones), timezone.now())
        carry_out()
        return [Operation.objects.get(pk=each.pk) for each in operations]

    return change


@pytest.fixture
def make_event(make_event):
    """Make an event as `make_event` does, but in Vaduz, which has the clocks of Berlin."""
    return lambda *args, **changes: make_event(*args, **{**times("2026-01-05T10:00", zone=VADUZ), **changes})


@pytest.fixture
def weekly(make_event) -> Event:
    """Ten Mondays from 5 January to 9 March 2026."""
    return make_event(recurrence=recurrence(count=10))


def stored(event: Event) -> Event:
    return Event.objects.select_related("calendar").get(pk=event.pk)


def bounds(event: Event) -> tuple:
    row = stored(event)
    return row.start_at, row.end_at, row.covers_from, row.covers_until


def events_of(operation: Operation) -> str:
    return dict(read_report(operation).facts)["Events"]


def test_single_event_moves(change_zones, make_event):
    event = make_event()
    assert bounds(event) == (TEN, TEN + HOUR, TEN, TEN + HOUR)

    (operation,) = change_zones()

    assert bounds(event) == (EARLIER, EARLIER + HOUR, EARLIER, EARLIER + HOUR)
    assert events_of(operation) == "1 of 1 moved"
    assert stored(event).revision == event.revision + 1


def test_series_and_its_exceptions_move(change_zones, weekly):
    editing.change_occurrence(weekly, NOW.date() + timedelta(days=11), {"start": wall("2026-01-12T07:00", VADUZ)}, NOW)
    assert bounds(weekly) == (TEN, TEN + HOUR, TEN, LAST[0])

    (operation,) = change_zones()

    assert bounds(weekly) == (EARLIER, EARLIER + HOUR, EARLIER, LAST[1])
    moved = EventException.objects.get()
    assert (moved.start_at, moved.end_at) == (utc("2026-01-11T22:00:00Z"), utc("2026-01-12T02:00:00Z"))
    assert [f"{each.start:%dT%H}" for each in expand(weekly)][:2] == ["05T01", "11T22"]
    assert events_of(operation) == "1 of 1 moved"
    assert len(days(weekly)) == 10


def test_moved_event_is_found_in_the_month_to_which_it_moved(change_zones, make_event):
    event = make_event(**times("2026-02-01T05:00", zone=VADUZ))
    window = utc("2026-01-29T00:00:00Z"), utc("2026-01-30T12:00:00Z")

    change_zones()

    assert stored(event).time_bucket == 202601
    assert Event.objects.overlapping(*window).filter(pk=event.pk).exists() is False
    assert Event.objects.overlapping(utc("2026-01-31T00:00:00Z"), utc("2026-02-01T00:00:00Z")).get() == event


@pytest.mark.parametrize("is_series", [False, True])
def test_all_day_event_stays(change_zones, make_event, is_series):
    whole = {"is_all_day": True, **times("2026-01-05", "2026-01-06", VADUZ)}
    event = make_event(**whole, **({"recurrence": recurrence(count=3)} if is_series else {}))
    before = bounds(event)

    (operation,) = change_zones()

    assert bounds(event) == before
    assert events_of(operation) == "0 of 1 moved"


def test_events_in_other_zones_stay(change_zones, make_event):
    event = make_event(**times("2026-01-05T10:00", zone="Europe/Monaco"))
    before, revision = bounds(event), stored(event).calendar.revision

    assert change_zones() == []

    assert bounds(event) == before
    assert stored(event).calendar.revision == revision


def test_clients_load_a_series_again_although_its_bounds_stay(change_zones, make_event):
    """Only later occurrences move: in January, both zones have the same offset."""
    event = make_event(recurrence=recurrence())
    before, revisions = bounds(event), (event.revision, event.master_revision)

    (operation,) = change_zones({VADUZ: "Africa/Algiers"})

    assert bounds(event) == before
    assert events_of(operation) == "0 of 1 moved"
    assert (stored(event).revision, stored(event).master_revision) == tuple(each + 1 for each in revisions)


def test_copies_of_feeds_become_invalid(change_zones, make_event, owner, client):
    calendar = make_event().calendar
    address = f"/calendar/feeds/{feeds.make(owner, 'Phone', NOW, calendar=calendar)[1]}.ics"
    etag = client.get(address)["ETag"]
    assert client.get(address, headers={"If-None-Match": etag}).status_code == 304

    change_zones({VADUZ: "Africa/Algiers"})  # the event stays where it is, but the file describes its zone

    assert client.get(address, headers={"If-None-Match": etag}).status_code == 200


def test_events_are_recomputed_in_steps(change_zones, make_event, monkeypatch):
    monkeypatch.setattr("calendars.zoned_events.BATCH", 2)
    events = [make_event() for _ in range(5)]

    (operation,) = change_zones()

    assert {bounds(each)[0] for each in events} == {EARLIER}
    assert events_of(operation) == "5 of 5 moved"


def test_events_are_recomputed_with_the_subscription_of_their_owner(change_zones, make_event, make_user):
    elsewhere = Subscription.objects.create(name="elsewhere")
    people = {"ben": make_user("ben", Role.READER, elsewhere), "eve": make_user("eve", None)}
    both = make_user("zoe", Role.READER)
    Membership.objects.create(user=both, subscription=elsewhere, role=Role.OWNER)
    both.default_subscription = elsewhere
    both.save()
    events = [make_event(Calendar.objects.default_of(each)) for each in (*people.values(), both)]

    operations = change_zones()

    counts = {each.subscription.name: events_of(each) for each in operations}
    assert counts == {"elsewhere": "2 of 2 moved", "default": "1 of 1 moved"}  # eve has no subscription
    assert {bounds(each)[0] for each in events} == {EARLIER}


def test_report_says_nothing_of_the_events(change_zones, make_event):
    make_event(subject="Interview")

    (operation,) = change_zones()

    assert "Interview" not in str(operation.state_data)
    assert read_report(operation).moves == []
