import pytest

from accounts.models import DEFAULT_SUBSCRIPTION_ID, Membership, Role, Subscription, User
from jobs.models import Job, JobCollection
from scheduler_site.addresses import base_url, echo_url
from scheduler_site.bootstrap import bootstrap
from tests.conftest import NOW

ECHO = "http://127.0.0.1:8000/echo/"


def test_the_first_user_owns_the_default_subscription(db):
    bootstrap("ada", "a password", None, NOW)

    subscription = Subscription.objects.get(id=DEFAULT_SUBSCRIPTION_ID, name="default")
    membership = Membership.objects.get(subscription=subscription)
    assert (membership.user.username, membership.role) == ("ada", Role.OWNER)
    assert membership.user.check_password("a password")
    assert membership.user.is_superuser and membership.user.is_staff


def test_a_password_is_made_up_when_none_is_given(db):
    username, password = bootstrap("ada", None, None, NOW)

    assert User.objects.get(username=username).check_password(password)


def test_a_given_password_is_not_shown(db):
    assert bootstrap("ada", "a password", None, NOW) == ("ada", None)


def test_a_second_time_changes_nothing(db):
    bootstrap("ada", "a password", ECHO, NOW)
    JobCollection.objects.get(name="billing").delete()
    before = set(Job.objects.values_list("name", "revision"))

    assert bootstrap("eve", "another", ECHO, NOW) == ("ada", None)

    assert set(Job.objects.values_list("name", "revision")) == before
    assert User.objects.count() == 1


def test_samples_show_every_state_that_a_job_begins_with(db):
    bootstrap("ada", "a password", ECHO, NOW)

    assert set(Job.objects.values_list("state", flat=True)) == {"enabled", "disabled"}
    assert Job.objects.filter(action__document__retryPolicy__retryCount=2).exists()
    calling = Job.objects.exclude(action__document__type="Task")
    assert calling.count() == 10
    for job in calling:
        assert job.action.document["request"]["uri"].startswith(ECHO)


def test_without_an_echo_page_there_are_no_samples(db):
    bootstrap("ada", "a password", None, NOW)

    assert not JobCollection.objects.exists()


@pytest.mark.parametrize(
    "host, url",
    [
        ("127.0.0.1", "http://127.0.0.1:80/echo/"),
        ("localhost", "http://127.0.0.1:80/echo/"),  # the name may mean ::1 too, which calls may not reach
        ("0.0.0.0", "http://127.0.0.1:80/echo/"),
        ("::1", "http://[::1]:80/echo/"),
        ("10.0.0.7", "http://10.0.0.7:80/echo/"),
    ],
)
def test_samples_call_the_echo_page_where_it_is_served(host, url):
    assert echo_url(host, 80) == url


def test_people_may_use_the_name_localhost():
    assert base_url("localhost", 8000) == "http://localhost:8000"
