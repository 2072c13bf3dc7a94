"""Secret addresses at which calendar programs read what somebody sees."""

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
        """The address of a new feed."""
        return reverse("calendar:feed", args=[feeds.make(for_user, name, NOW, **of)[1]])

    return make


@pytest.fixture
def address(make_feed, calendar) -> str:
    return make_feed(calendar=calendar)


@pytest.fixture
def reader(db) -> Client:
    """A calendar program, which is not signed in."""
    return Client()


def subjects(response) -> list[str]:
    return sorted(str(each["SUMMARY"]) for each in icalendar.Calendar.from_ical(response.content).walk("VEVENT"))


def test_a_feed_is_read_without_a_log_in_and_leaves_no_cookie(reader, address, weekly):
    response = reader.get(address)

    assert (response.status_code, response["Content-Type"]) == (200, "text/calendar; charset=utf-8")
    assert subjects(response) == ["Stand-up"]
    assert not response.cookies
    assert response["Cache-Control"] == "private, no-cache"


def test_its_address_is_not_kept(calendar, owner):
    feed, secret = feeds.make(owner, "Phone", NOW, calendar=calendar)

    assert len(secret) >= 43
    assert secret not in str(Feed.objects.values().get())
    assert feeds.find(secret) == feed


def test_a_revoked_feed_is_gone_at_once(reader, address):
    Feed.objects.get().delete()

    response = reader.get(address)

    assert (response.status_code, response["Content-Type"]) == (404, "text/plain; charset=utf-8")


@pytest.mark.parametrize("secret", ["x", "a" * 43, "%00", "a%2Fb", "ü", "x" * 5000])
def test_a_wrong_address_is_missing(reader, address, secret):
    assert reader.get(f"/calendar/feeds/{secret}.ics").status_code == 404


def test_a_feed_of_somebody_who_is_not_active_is_missing(reader, address, owner):
    owner.is_active = False
    owner.save()

    assert reader.get(address).status_code == 404


def test_no_refused_address_is_written_to_the_log(reader, address, owner, caplog):
    owner.is_active = False
    owner.save()

    with caplog.at_level(logging.DEBUG, "django"):
        reader.get(address)

    assert address not in caplog.text


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_a_feed_is_only_read(reader, address, method):
    assert getattr(reader, method)(address).status_code == 405


def test_head_tells_the_same_without_a_body(reader, address, weekly):
    response, whole = reader.head(address), reader.get(address)

    assert (response.status_code, response.content) == (200, b"")
    assert response["ETag"] == whole["ETag"]


def test_guessing_is_slowed_down(reader):
    *responses, refused = [reader.get(f"/calendar/feeds/{n}.ics") for n in range(101)]

    assert [response.status_code for response in responses] == [404] * 100
    assert (refused.status_code, 1 <= int(refused["Retry-After"]) <= 301) == (429, True)


def test_guessing_does_not_lock_out_others_at_the_same_address(reader, address):
    """Many people share one, such as the subscribers of one calendar service."""
    for n in range(101):
        reader.get(f"/calendar/feeds/{n}.ics")

    assert reader.get(address).status_code == 200


# Copies that are up to date


def test_a_copy_that_is_up_to_date_is_not_told_again(reader, address, weekly, monkeypatch):
    first = reader.get(address)
    monkeypatch.setattr(feed_views, "content_of", None)  # nothing is made

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
def test_a_change_makes_copies_out_of_date(reader, address, weekly, change):
    first = reader.get(address)

    change(weekly)

    again = reader.get(address, HTTP_IF_NONE_MATCH=first["ETag"])
    assert again.status_code == 200
    assert again.content != first.content


def test_a_feed_of_several_calendars_has_no_date_of_change(reader, make_feed, calendar):
    """It may lose one, and be as it was before."""
    address = make_feed(query={"calendars": None})

    assert "Last-Modified" not in reader.get(address)


def test_an_answer_without_news_takes_four_queries(reader, address, weekly, django_assert_max_num_queries):
    etag = reader.get(address)["ETag"]

    with django_assert_max_num_queries(4):
        reader.get(address, HTTP_IF_NONE_MATCH=etag)


def test_it_is_noted_when_a_feed_was_read(reader, address):
    reader.get(address)

    read_at = Feed.objects.get().last_read_at
    assert abs(timezone.now() - read_at) < timedelta(minutes=1)

    reader.get(address)
    assert Feed.objects.get().last_read_at == read_at


# What its owner sees


@pytest.fixture
def bob(make_user):
    return make_user("bob", Role.READER)


def test_a_withdrawn_share_takes_the_feed_along(reader, make_feed, calendar, weekly, bob):
    sharing.share(calendar, bob, Role.READER)
    address = make_feed(for_user=bob, calendar=calendar)
    assert subjects(reader.get(address)) == ["Stand-up"]

    sharing.unshare(calendar, bob)

    assert reader.get(address).status_code == 404


def test_what_is_private_to_others_is_veiled(reader, make_feed, calendar, make_event, bob):
    make_event(subject="Doctor", sensitivity="private")
    sharing.share(calendar, bob, Role.READER)

    assert subjects(reader.get(make_feed(for_user=bob, calendar=calendar))) == ["Private"]
    assert subjects(reader.get(make_feed(calendar=calendar))) == ["Doctor"]


def test_a_filter_shows_the_calendars_that_it_names(reader, make_feed, owner, calendar, make_event, bob):
    second, third = (Calendar.objects.create(owner=owner, name=name) for name in ("Second", "Third"))
    for each in (calendar, second, third):
        make_event(each, subject=each.name)
    chosen = {"calendars": [str(calendar.pk), str(third.pk)]}

    assert subjects(reader.get(make_feed(query=chosen))) == ["Calendar", "Third"]
    assert subjects(reader.get(make_feed(query={}))) == ["Calendar", "Second", "Third"]
    assert subjects(reader.get(make_feed(query={"calendars": []}))) == []


def test_a_calendar_that_is_not_seen_cannot_be_named(calendar, bob):
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
def test_a_wrong_filter_is_refused(owner, query, path):
    with pytest.raises(CalendarError) as refused:
        feeds.make(owner, "Wrong", NOW, query=query)

    assert refused.value.path == path


# Runs of jobs


@pytest.fixture
def ran(make_job):
    """A run of an hour ago."""
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


def test_runs_are_shown_if_the_filter_says_so(reader, make_feed, ran):
    told = reader.get(make_feed(query={"calendars": [], "runs": True}))

    (run,) = [
        each for each in icalendar.Calendar.from_ical(told.content).walk("VEVENT") if each.uid.startswith("run-")
    ][:1]
    assert str(run["SUMMARY"]).startswith("backup: ")
    assert run["TRANSP"] == "TRANSPARENT"
    assert run["URL"].startswith("http://testserver/")
    assert subjects(reader.get(make_feed(query={"calendars": []}))) == []
    assert subjects(reader.get(make_feed(query={"calendars": [], "runs": True, "collections": []}))) == []


def test_runs_to_come_and_those_of_frequent_jobs_are_shown(reader, make_feed, make_job):
    hourly = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute", "interval": 5}}
    make_job("often", now=timezone.now(), schedule=hourly)
    make_job("seldom", now=timezone.now(), schedule={**hourly, "recurrence": {"frequency": "Week"}})

    told = icalendar.Calendar.from_ical(reader.get(make_feed(query={"calendars": [], "runs": True})).content)

    often = [each for each in told.walk("VEVENT") if each["SUMMARY"].startswith("often")]
    seldom = [each for each in told.walk("VEVENT") if each["SUMMARY"].startswith("seldom")]
    assert 90 <= len(often) <= 94
    assert 12 <= len(seldom) <= 14
    assert often[1]["SUMMARY"] == "often: every 5 min, 288 runs"
    assert (often[1]["DTSTART"].params["VALUE"], often[1].end - often[1].start) == ("DATE", timedelta(days=1))
    uids = [each.uid for each in told.walk("VEVENT")]
    assert len(set(uids)) == len(uids)


def test_runs_to_come_have_the_new_name_of_their_job_and_are_known_again(reader, make_feed, make_job):
    weekly = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Week"}}
    job = make_job("seldom", now=timezone.now(), schedule=weekly)
    address = make_feed(query={"calendars": [], "runs": True})

    def events() -> dict[str, str]:
        told = icalendar.Calendar.from_ical(reader.get(address).content)
        return {each.uid: str(each["SUMMARY"]) for each in told.walk("VEVENT")}

    before = events()
    patch_job(job, {}, timezone.now(), Destination(name="weekly"))

    assert len(before) >= 12
    assert events() == {uid: summary.replace("seldom", "weekly") for uid, summary in before.items()}


def test_a_copy_with_runs_is_good_for_a_few_minutes(reader, make_feed, time_machine, owner):
    address = make_feed(query={"runs": True})
    time_machine.move_to(NOW, tick=False)
    etag = reader.get(address)["ETag"]

    time_machine.move_to(NOW + timedelta(minutes=4), tick=False)
    soon = reader.get(address, HTTP_IF_NONE_MATCH=etag)
    time_machine.move_to(NOW + timedelta(minutes=6), tick=False)
    later = reader.get(address, HTTP_IF_NONE_MATCH=etag)

    assert etag.startswith('W/"')
    assert (soon.status_code, later.status_code) == (304, 200)


def test_runs_of_others_are_not_shown(reader, make_feed, ran, make_user):
    stranger = make_user("eve", None)

    assert subjects(reader.get(make_feed(for_user=stranger, query={"runs": True}))) == []
