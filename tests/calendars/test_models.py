"""Fields of events, ids of events and occurrences, and calendars in the admin."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.urls import reverse

from accounts.models import User
from calendars import editing, ids, sharing
from calendars.ids import ItemId
from calendars.model_fields import bucket_of, buckets
from calendars.models import Calendar, Event
from tests.calendars.conftest import day, recurrence, times, wall_time
from tests.conftest import NOW, utc

# Fields


def test_wall_time_is_stored_unchanged(make_event):
    event = Event.objects.get(pk=make_event().pk)

    assert (event.start, event.end) == (wall_time("2026-01-05T10:00"), wall_time("2026-01-05T11:00"))
    assert Event.objects.filter(
        start__gt=wall_time("2026-01-05T09:59:59"), start__lte=wall_time("2026-01-05T10:00")
    ).exists()


def test_event_stores_the_instants_of_its_wall_times(make_event):
    event = make_event()
    assert (event.start_at, event.end_at) == (utc("2026-01-05T09:00Z"), utc("2026-01-05T10:00Z"))

    event.start, event.zone = wall_time("2026-01-05T09:00"), "UTC"
    event.save()

    assert Event.objects.get(start_at=utc("2026-01-05T09:00Z"), end_at=utc("2026-01-05T11:00Z")) == event


def test_event_in_a_skipped_hour_does_not_end_before_its_start(make_event):
    event = make_event(**times("2026-03-29T02:30", "2026-03-29T03:15"))

    assert event.start_at == event.end_at == utc("2026-03-29T01:30Z")


BUCKETS = [
    ("2026-01-31T23:00Z", "2026-01-31T23:00Z", 202601),
    ("2026-01-31T23:00Z", "2026-03-03T23:00Z", 202601),
    ("2026-01-31T23:00Z", "2026-03-03T23:00:01Z", 2026),
    ("2026-01-31T23:00Z", "2027-02-01T23:00Z", 2026),
    ("2026-01-31T23:00Z", "2027-02-01T23:00:01Z", 0),
    ("2026-01-31T23:00Z", None, 0),
]


@pytest.mark.parametrize("first, last, bucket", BUCKETS)
def test_time_bucket_of_an_event_depends_on_its_bounds(first, last, bucket):
    assert bucket_of(utc(first), utc(last) if last else None) == bucket


@pytest.mark.parametrize(
    "since, until", [("2026-01-01T00:00Z", "2026-01-01T00:01Z"), ("2025-12-15T00:00Z", "2027-02-01T00:00Z")]
)
def test_time_buckets_of_a_window_contain_all_its_events(since, until):
    since, until = utc(since), utc(until)
    for length in (timedelta(0), timedelta(31), timedelta(32), timedelta(366), timedelta(367)):
        for first in (since - length, since, until - timedelta(seconds=1)):
            assert bucket_of(first, first + length) in buckets(since, until)


def test_window_of_many_years_has_no_list_of_time_buckets():
    assert buckets(utc("2000-01-01T00:00Z"), utc("2030-01-01T00:00Z")) is None


@pytest.mark.parametrize("changes", [{}, {"recurrence": recurrence(count=500)}, {"recurrence": recurrence()}])
@pytest.mark.parametrize("until", ["2026-01-06T00:00Z", "2045-01-01T00:00Z"])
def test_overlapping_finds_events_in_each_time_bucket(make_event, changes, until):
    event = make_event(**changes)

    assert list(Event.objects.overlapping(utc("2026-01-05T00:00Z"), utc(until))) == [event]


# Ids

EVENT = UUID("0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize(
    "text, item",
    [
        (EVENT.hex, ItemId(EVENT)),
        (f"{EVENT.hex}_20260112", ItemId(EVENT, day("2026-01-12"))),
        (f"OID.{EVENT.hex}.2026-01-12", ItemId(EVENT, day("2026-01-12"))),
    ],
)
def test_ids_of_events_and_occurrences_are_parsed(text, item):
    assert ids.parse(text) == item
    assert text in (str(item), item.occurrence_id)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        str(EVENT),
        EVENT.hex.upper(),
        EVENT.hex + "_",
        EVENT.hex + "_20260230",
        EVENT.hex + "_00000101",
        EVENT.hex + "\n",
        EVENT.hex + "_２０２６０１１２",
    ],
)
def test_invalid_id_is_not_parsed(text):
    assert ids.parse(text) is None


# Admin


def test_calendars_are_not_in_the_admin_and_are_deleted_with_their_owner(client, owner, calendar, make_user):
    """Calendars are personal data, so administrators must not see them."""
    user = make_user("grace", is_staff=True)
    sharing.share(user.calendars.get(), owner, 2)
    editing.create(user.calendars.get(), {**times("2026-01-05T10:00"), "subject": "Doctor"}, NOW)
    client.force_login(owner)

    assert b"calendars" not in client.get(reverse("admin:index")).content.lower().replace(b"/calendar/", b"")
    address = reverse("admin:accounts_user_delete", args=[user.pk])
    page = client.get(address)
    assert page.status_code == 200
    assert b"Doctor" not in page.content
    assert client.post(address, {"post": "yes"}).status_code == 302

    assert not User.objects.filter(username="grace").exists()
    assert Calendar.objects.get() == calendar
    assert not Event.objects.exists()
