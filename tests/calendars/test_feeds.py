"""Feeds: secret addresses from which calendar programs read the events of a user."""

import logging
from datetime import timedelta

import icalendar
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Role
from calendars import editing, feed_views, feeds, sharing
from calendars.errors import CalendarError
from calendars.models import Calendar, Feed
from jobs.models import Run
from tests.calendars.conftest import day, times
from tests.conftest import NOW
from triggers.scheduling import Destination, patch_job


@pytest.fixture
def make_feed(owner):
    def make(name: str = "Phone", for_user=owner, **of) -> str:
        """Return the address of a new feed."""
        return reverse("calendar:feed", args=[feeds.make(for_user, name, NOW, **of)[1]])

    return make


@pytest.fixture
def address(make_feed, calendar) -> str:
    return make_feed(calendar=calendar)


@pytest.fixture
def reader(db) -> Client:
    """A calendar program, without a session."""
    return Client()


def subjects(response) -> list[str]:
    return sorted(str(each["SUMMARY"]) for each in icalendar.Calendar.from_ical(response.content).walk("VEVENT"))


def test_feed_is_read_without_sign_in_and_sets_no_cookie(reader, address, weekly):
    response = reader.get(address)

    assert (response.status_code, response["Content-Type"]) == (200, "text/calendar; charset=utf-8")
    assert subjects(response) == ["Stand-up"]
    assert not response.cookies
    assert response["Cache-Control"] == "private, no-cache"


def test_feed_address_is_not_stored(calendar, owner):
    feed, secret = feeds.make(owner, "Phone", NOW, calendar=calendar)

    assert len(secret) >= 43
    assert secret not in str(Feed.objects.values().get())
    assert feeds.find(secret) == feed


def test_revoked_feed_is_not_found(reader, address):
    Feed.objects.get().delete()

    response = reader.get(address)

    assert (response.status_code, response["Content-Type"]) == (404, "text/plain; charset=utf-8")


@pytest.mark.parametrize("secret", ["x", "a" * 43, "%00", "a%2Fb", "ü", "x" * 5000])
def test_unknown_feed_address_is_not_found(reader, address, secret):
    assert reader.get(f"/calendar/feeds/{secret}.ics").status_code == 404


def test_feed_of_an_inactive_user_is_not_found(reader, address, owner):
    owner.is_active = False
    owner.save()

    assert reader.get(address).status_code == 404


def test_refused_feed_address_is_not_logged(reader, address, owner, caplog):
    owner.is_active = False
    owner.save()

    with caplog.at_level(logging.DEBUG, "django"):
        reader.get(address)

    assert address not in caplog.text


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_feed_refuses_other_methods(reader, address, method):
    assert getattr(reader, method)(address).status_code == 405


def test_head_request_returns_the_headers_without_a_body(reader, address, weekly):
    response, full_response = reader.head(address), reader.get(address)

    assert (response.status_code, response.content) == (200, b"")
    assert response["ETag"] == full_response["ETag"]


def test_requests_to_unknown_feeds_are_throttled(reader):
    *responses, refused = [reader.get(f"/calendar/feeds/{n}.ics") for n in range(101)]

    assert [response.status_code for response in responses] == [404] * 100
    assert (refused.status_code, 1 <= int(refused["Retry-After"]) <= 301) == (429, True)


def test_throttled_address_can_still_read_existing_feeds(reader, address):
    """Many users share one IP address, such as the subscribers of one calendar service."""
    for n in range(101):
        reader.get(f"/calendar/feeds/{n}.ics")

    assert reader.get(address).status_code == 200


# Conditional requests


def test_unchanged_feed_is_not_modified(reader, address, weekly, monkeypatch):
    first = reader.get(address)
    monkeypatch.setattr(feed_views, "content_of", None)  # the feed is not rendered

    for header in ({"HTTP_IF_NONE_MATCH": first["ETag"]}, {"HTTP_IF_MODIFIED_SINCE": first["Last-Modified"]}):
        again = reader.get(address, **header)

        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])


CHANGES = {
    "an event is changed": lambda event: editing.change(event, {"subject": "Other"}, timezone.now()),
    "an occurrence is cancelled": lambda event: editing.cancel_occurrence(event, day("2026-01-12"), timezone.now()),
    "an event is made": lambda event: editing.create(event.calendar, times("2026-01-05T10:00"), timezone.now()),
    "an event is deleted": lambda event: editing.delete(event, timezone.now()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_of_an_event_changes_the_etag_of_the_feed(reader, address, weekly, change):
    first = reader.get(address)

    change(weekly)

    again = reader.get(address, HTTP_IF_NONE_MATCH=first["ETag"])
    assert again.status_code == 200
    assert again.content != first.content


def test_feed_of_several_calendars_has_no_last_modified_header(reader, make_feed, calendar):
    """If the feed loses a calendar, an earlier date could become the last one again."""
    address = make_feed(query={"calendars": None})

    assert "Last-Modified" not in reader.get(address)


def test_not_modified_response_takes_four_queries(reader, address, weekly, django_assert_max_num_queries):
    etag = reader.get(address)["ETag"]

    with django_assert_max_num_queries(4):
        reader.get(address, HTTP_IF_NONE_MATCH=etag)


def test_last_read_time_of_a_feed_is_stored(reader, address):
    reader.get(address)

    read_at = Feed.objects.get().last_read_at
    assert abs(timezone.now() - read_at) < timedelta(minutes=1)

    reader.get(address)
    assert Feed.objects.get().last_read_at == read_at


# Permissions of the owner


@pytest.fixture
def bob(make_user):
    return make_user("bob", Role.READER)


def test_feed_is_not_found_after_its_share_is_removed(reader, make_feed, calendar, weekly, bob):
    sharing.share(calendar, bob, Role.READER)
    address = make_feed(for_user=bob, calendar=calendar)
    assert subjects(reader.get(address)) == ["Stand-up"]

    sharing.unshare(calendar, bob)

    assert reader.get(address).status_code == 404


def test_feed_hides_private_events_of_others(reader, make_feed, calendar, make_event, bob):
    make_event(subject="Doctor", sensitivity="private")
    sharing.share(calendar, bob, Role.READER)

    assert subjects(reader.get(make_feed(for_user=bob, calendar=calendar))) == ["Private"]
    assert subjects(reader.get(make_feed(calendar=calendar))) == ["Doctor"]


def test_feed_query_selects_calendars(reader, make_feed, owner, calendar, make_event, bob):
    second, third = (Calendar.objects.create(owner=owner, name=name) for name in ("Second", "Third"))
    for each in (calendar, second, third):
        make_event(each, subject=each.name)
    chosen = {"calendars": [str(calendar.pk), str(third.pk)]}

    assert subjects(reader.get(make_feed(query=chosen))) == ["Calendar", "Third"]
    assert subjects(reader.get(make_feed(query={}))) == ["Calendar", "Second", "Third"]
    assert subjects(reader.get(make_feed(query={"calendars": []}))) == []


def test_feed_of_a_hidden_calendar_is_refused(calendar, bob):
    with pytest.raises(CalendarError) as refused:
        feeds.make(bob, "Theirs", NOW, query={"calendars": [str(calendar.pk)]})

    assert refused.value.path == "query.calendars[0]"
    with pytest.raises(CalendarError):
        feeds.make(bob, "Theirs", NOW, calendar=calendar)
    assert not Feed.objects.exists()


@pytest.mark.parametrize(
    "query, path",
    [
        ({"calendars": "all"}, "query.calendars"),
        ({"calendars": [5]}, "query.calendars[0]"),
        ({"collections": ["a"]}, "query.collections[0]"),
        ({"collections": [True]}, "query.collections[0]"),
        ({"collections": [2**63]}, "query.collections[0]"),
        ({"collections": [10**9]}, "query.collections[0]"),
        ({"runs": "yes"}, "query.runs"),
    ],
)
def test_invalid_feed_query_is_refused(owner, query, path):
    with pytest.raises(CalendarError) as refused:
        feeds.make(owner, "Wrong", NOW, query=query)

    assert refused.value.path == path


# Runs of jobs


@pytest.fixture
def failed_run(make_job):
    """A failed run, one hour ago."""
    job, at = make_job("backup"), timezone.now() - timedelta(hours=1)
    return Run.objects.create(
        subscription=job.collection.subscription,
        job=job,
        job_name=job.name,
        collection_name="nightly",
        fire_at=at,
        publish_after=at,
        started_at=at,
        finished_at=at + timedelta(minutes=5),
        state=Run.State.FAILED,
    )


def test_feed_shows_runs_only_if_the_query_selects_them(reader, make_feed, failed_run):
    feed = reader.get(make_feed(query={"calendars": [], "runs": True}))

    (run,) = [
        each for each in icalendar.Calendar.from_ical(feed.content).walk("VEVENT") if each.uid.startswith("run-")
    ][:1]
    assert str(run["SUMMARY"]).startswith("backup: ")
    assert run["TRANSP"] == "TRANSPARENT"
    assert run["URL"].startswith("http://testserver/")
    assert subjects(reader.get(make_feed(query={"calendars": []}))) == []
    assert subjects(reader.get(make_feed(query={"calendars": [], "runs": True, "collections": []}))) == []


def test_feed_shows_planned_runs_and_summaries_of_frequent_jobs(reader, make_feed, make_job):
    hourly = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute", "interval": 5}}
    make_job("often", now=timezone.now(), schedule=hourly)
    make_job("seldom", now=timezone.now(), schedule={**hourly, "recurrence": {"frequency": "Week"}})

    feed = icalendar.Calendar.from_ical(reader.get(make_feed(query={"calendars": [], "runs": True})).content)

    often = [each for each in feed.walk("VEVENT") if each["SUMMARY"].startswith("often")]
    seldom = [each for each in feed.walk("VEVENT") if each["SUMMARY"].startswith("seldom")]
    assert 90 <= len(often) <= 94
    assert 12 <= len(seldom) <= 14
    assert often[1]["SUMMARY"] == "often: every 5 min, 288 runs"
    assert (often[1]["DTSTART"].params["VALUE"], often[1].end - often[1].start) == ("DATE", timedelta(days=1))
    uids = [each.uid for each in feed.walk("VEVENT")]
    assert len(set(uids)) == len(uids)


def test_planned_runs_of_a_renamed_job_keep_their_uid(reader, make_feed, make_job):
    weekly = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Week"}}
    job = make_job("seldom", now=timezone.now(), schedule=weekly)
    address = make_feed(query={"calendars": [], "runs": True})

    def events() -> dict[str, str]:
        feed = icalendar.Calendar.from_ical(reader.get(address).content)
        return {each.uid: str(each["SUMMARY"]) for each in feed.walk("VEVENT")}

    before = events()
    patch_job(job, {}, timezone.now(), Destination(name="weekly"))

    assert len(before) >= 12
    assert events() == {uid: summary.replace("seldom", "weekly") for uid, summary in before.items()}


def test_feed_with_runs_has_a_weak_etag_for_five_minutes(reader, make_feed, time_machine, owner):
    address = make_feed(query={"runs": True})
    time_machine.move_to(NOW, tick=False)
    etag = reader.get(address)["ETag"]

    time_machine.move_to(NOW + timedelta(minutes=4), tick=False)
    soon = reader.get(address, HTTP_IF_NONE_MATCH=etag)
    time_machine.move_to(NOW + timedelta(minutes=6), tick=False)
    later = reader.get(address, HTTP_IF_NONE_MATCH=etag)

    assert etag.startswith('W/"')
    assert (soon.status_code, later.status_code) == (304, 200)


def test_feed_shows_no_runs_of_other_subscriptions(reader, make_feed, failed_run, make_user):
    stranger = make_user("eve", None)

    assert subjects(reader.get(make_feed(for_user=stranger, query={"runs": True}))) == []
