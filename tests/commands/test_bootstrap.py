from collections import Counter
from datetime import UTC, timedelta

import pytest

from accounts.models import DEFAULT_SUBSCRIPTION_ID, Membership, Role, Subscription, User
from calendars.expansion import occurrences
from calendars.models import Calendar, Event, EventException
from jobs.models import Job, JobCollection
from maintenance.models import JobMaintenancePolicy, Notice
from scheduler_site.bootstrap import bootstrap
from scheduler_site.demo_data import two_months
from scheduler_site.urls_base import base_url, echo_url
from tests.conftest import NOW, utc

ECHO = "http://127.0.0.1:8000/echo/"


def test_bootstrap_makes_the_first_user_owner_of_the_default_subscription(db):
    bootstrap("ada", "a password", None, NOW)

    subscription = Subscription.objects.get(id=DEFAULT_SUBSCRIPTION_ID, name="default")
    membership = Membership.objects.get(subscription=subscription)
    assert (membership.user.username, membership.role) == ("ada", Role.OWNER)
    assert membership.user.check_password("a password")
    assert membership.user.is_superuser
    assert membership.user.is_staff


def test_bootstrap_generates_a_password_if_none_is_given(db):
    username, password = bootstrap("ada", None, None, NOW)

    assert User.objects.get(username=username).check_password(password)


def test_bootstrap_does_not_return_a_given_password(db):
    assert bootstrap("ada", "a password", None, NOW) == ("ada", None)


def test_second_bootstrap_changes_nothing(db):
    bootstrap("ada", "a password", ECHO, NOW)
    JobCollection.objects.get(name="billing").delete()
    before = set(Job.objects.values_list("name", "revision"))

    assert bootstrap("eve", "another", ECHO, NOW) == ("ada", None)

    assert set(Job.objects.values_list("name", "revision")) == before
    assert User.objects.count() == 1


def test_samples_contain_enabled_and_disabled_jobs(db):
    bootstrap("ada", "a password", ECHO, NOW)

    assert set(Job.objects.values_list("state", flat=True)) == {"enabled", "disabled"}
    assert Job.objects.filter(action__document__retryPolicy__retryCount=2).exists()
    calling = Job.objects.exclude(action__document__type="Task")
    assert calling.count() == 10
    for job in calling:
        assert job.action.document["request"]["uri"].startswith(ECHO)


@pytest.mark.parametrize("now", ["2026-01-01T00:00Z", "2026-10-21T12:32Z", "2028-02-29T23:59Z", "2026-12-31T23:59Z"])
def test_sample_calendar_has_events_in_the_current_month(db, now):
    bootstrap("ada", "a password", ECHO, utc(now))

    calendar = Calendar.objects.get(name="Team")
    first, end = two_months(utc(now))
    items = occurrences(calendar.events.all(), first, end, UTC, viewer=calendar.owner, cancelled=True)
    names = Counter(item.details.subject for item in items)
    assert calendar.owner.username == "ada"
    assert set(names) == {"Stand-up", "Monthly review", "Out of office"}
    assert names["Stand-up"] >= 8
    moved, cancelled = EventException.objects.order_by("original_day")
    assert (moved.is_cancelled, cancelled.is_cancelled) == (False, True)
    assert moved.original_day.month == utc(now).month


def test_no_samples_are_created_without_an_echo_page(db):
    bootstrap("ada", "a password", None, NOW)

    assert not JobCollection.objects.exists()
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "echo, host", [(ECHO, "127.0.0.1"), ("http://[::1]:8000/echo/", "::1"), ("http://10.0.0.7/echo/", "10.0.0.7")]
)
def test_samples_that_calls_cannot_reach_are_left_out(db, settings, caplog, echo, host):
    settings.EGRESS_ALLOW = []

    bootstrap("ada", "a password", echo, NOW)

    assert {job.action.document["type"] for job in Job.objects.all()} == {"Task"}
    assert Event.objects.exists()
    assert Notice.objects.count() == 2
    (line,) = [record.getMessage() for record in caplog.records if record.name == "scheduler_site.demo_data"]
    assert line.startswith(f"The samples that call this installation are left out: {host} is a ")
    assert line.endswith(" address, and EGRESS_ALLOW does not open it.")


@pytest.mark.parametrize(
    "host, url",
    [
        ("127.0.0.1", "http://127.0.0.1:80/echo/"),
        ("localhost", "http://127.0.0.1:80/echo/"),  # the name may resolve to ::1 too, which calls may not reach
        ("0.0.0.0", "http://127.0.0.1:80/echo/"),
        ("::1", "http://[::1]:80/echo/"),
        ("10.0.0.7", "http://10.0.0.7:80/echo/"),
    ],
)
def test_samples_call_the_echo_page_at_the_address_of_the_server(host, url):
    assert echo_url(host, 80) == url


def test_address_for_people_uses_the_name_localhost():
    assert base_url("localhost", 8000) == "http://localhost:8000"


def test_samples_contain_started_and_scheduled_maintenance(db):
    bootstrap("ada", "a password", ECHO, NOW)

    assert dict(Notice.objects.values_list("event_type", "status")) == {"Redeploy": "started", "Reboot": "scheduled"}
    assert Notice.objects.get(event_type="Reboot").not_before > NOW + timedelta(minutes=15)
    assert set(JobMaintenancePolicy.objects.values_list("job__name", "on_notice")) == {
        ("nightly-backup", "hold"),
        ("import-old-data", "nothing"),
    }
