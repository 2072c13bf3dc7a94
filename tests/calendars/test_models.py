"""Columns, names of events and occurrences, and what staff can do with people's calendars."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.urls import reverse

from accounts.models import User
from calendars import editing, ids, sharing
from calendars.ids import ItemId
from calendars.model_fields import bucket_of, buckets
from calendars.models import Calendar, Event
from tests.calendars.conftest import day, reading, recurrence, times
from tests.conftest import NOW, utc

# Columns


def test_a_reading_comes_back_as_it_was(make_event):
    event = Event.objects.get(pk=make_event().pk)

    assert (event.start, event.end) == (reading("2026-01-05T10:00"), reading("2026-01-05T11:00"))
    assert Event.objects.filter(
        start__gt=reading("2026-01-05T09:59:59"), start__lte=reading("2026-01-05T10:00")
    ).exists()


def test_a_row_says_when_its_readings_are(make_event):
    event = make_event()
    assert (event.start_at, event.end_at) == (utc("2026-01-05T09:00Z"), utc("2026-01-05T10:00Z"))

    event.start, event.zone = reading("2026-01-05T09:00"), "UTC"
    event.save()

    assert Event.objects.get(start_at=utc("2026-01-05T09:00Z"), end_at=utc("2026-01-05T11:00Z")) == event


def test_nothing_ends_before_it_starts_when_clocks_skip_its_start(make_event):
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
def test_the_time_bucket_of_an_event_follows_from_its_bounds(first, last, bucket):
    assert bucket_of(utc(first), utc(last) if last else None) == bucket


@pytest.mark.parametrize(
    "since, until", [("2026-01-01T00:00Z", "2026-01-01T00:01Z"), ("2025-12-15T00:00Z", "2027-02-01T00:00Z")]
)
def test_the_buckets_of_a_window_contain_every_event_in_it(since, until):
    since, until = utc(since), utc(until)
    for length in (timedelta(0), timedelta(31), timedelta(32), timedelta(366), timedelta(367)):
        for first in (since - length, since, until - timedelta(seconds=1)):
            assert bucket_of(first, first + length) in buckets(since, until)


def test_a_window_of_many_years_has_no_list_of_buckets():
    assert buckets(utc("2000-01-01T00:00Z"), utc("2030-01-01T00:00Z")) is None


@pytest.mark.parametrize("recurs", [{}, {"recurrence": recurrence(count=500)}, {"recurrence": recurrence()}])
@pytest.mark.parametrize("until", ["2026-01-06T00:00Z", "2045-01-01T00:00Z"])
def test_overlapping_finds_what_is_on_any_shelf(make_event, recurs, until):
    event = make_event(**recurs)

    assert list(Event.objects.overlapping(utc("2026-01-05T00:00Z"), utc(until))) == [event]


# Names

EVENT = UUID("0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize(
    "text, item",
    [
        (EVENT.hex, ItemId(EVENT)),
        (f"{EVENT.hex}_20260112", ItemId(EVENT, day("2026-01-12"))),
        (f"OID.{EVENT.hex}.2026-01-12", ItemId(EVENT, day("2026-01-12"))),
    ],
)
def test_events_and_occurrences_have_names(text, item):
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
def test_what_names_nothing_is_no_name(text):
    assert ids.parse(text) is None


# Staff


def test_calendars_are_not_in_the_admin_and_go_with_their_owner(client, owner, calendar, make_user):
    """They are personal: who administers the installation has no business in them."""
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
