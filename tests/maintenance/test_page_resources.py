"""Pages of resources: creation with a token that is shown once, changes, new tokens and removal."""

import re

import pytest
from django.utils import timezone

from accounts.models import Membership, Role, Subscription, digest_of
from maintenance.models import Notice, Resource
from tests.maintenance.notices import announce, resource

pytestmark = pytest.mark.django_db

NEW = "/maintenance/resources/new"


@pytest.fixture
def db_2(subscription) -> Resource:
    return resource(subscription, "db-2", "databases", {"rack": "r7"})


def read_token(answer) -> str:
    (token,) = re.findall(r'id="token">([^<]+)</pre>', answer.text)
    return token


def test_new_resource_shows_its_token_only_once(browser, subscription):
    answer = browser.post(NEW, {"name": "db-2", "scope_group": "databases", "labels": "rack=r7\r\nenv = prod"})

    made = Resource.objects.get()
    token = read_token(answer)
    assert (made.name, made.scope_group, made.labels) == ("db-2", "databases", {"rack": "r7", "env": "prod"})
    assert (made.subscription, made.digest) == (subscription, digest_of(token))
    assert "no-store" in answer["Cache-Control"]
    for address in ("/maintenance/", "/maintenance/resources/", f"/maintenance/resources/{made.pk}/edit"):
        assert token not in browser.get(address).text


def test_new_resource_requires_a_subscription_if_the_user_has_several(browser, owner):
    other = Subscription.objects.create(name="elsewhere")
    Membership.objects.create(subscription=other, user=owner, role=Role.OWNER)

    browser.post(NEW, {"name": "db-2", "subscription": str(other.pk)})

    assert Resource.objects.get().subscription == other
    assert "subscription" in browser.post(NEW, {"name": "db-3"}).context["form"].errors


@pytest.mark.parametrize(
    "invalid_values, field",
    [
        ({"name": ""}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "db-2"}, "name"),  # this name is used
        ({"scope_group": "x" * 256}, "scope_group"),
        ({"labels": "rack"}, "labels"),
        ({"labels": "=r7"}, "labels"),
        ({"labels": "rack=" + "x" * 256}, "labels"),
        ({"labels": "\n".join(f"l{number}=x" for number in range(51))}, "labels"),
    ],
)
def test_error_of_a_resource_is_shown_at_its_field(browser, db_2, invalid_values, field):
    answer = browser.post(NEW, {"name": "db-3", **invalid_values})

    assert list(answer.context["form"].errors) == [field]
    assert Resource.objects.count() == 1


def test_resource_name_group_and_labels_can_be_changed(browser, db_2):
    form = browser.get(f"/maintenance/resources/{db_2.pk}/edit").context["form"]
    assert (form["name"].value(), form["scope_group"].value(), form["labels"].value()) == (
        *("db-2", "databases"),
        "rack=r7",
    )

    browser.post(f"/maintenance/resources/{db_2.pk}/edit", {"name": "x", "scope_group": "", "labels": "env=test"})

    db_2.refresh_from_db()
    assert (db_2.name, db_2.scope_group, db_2.labels) == ("x", "", {"env": "test"})


def test_error_of_a_used_name_is_shown_at_its_field(browser, db_2, make_resource):
    make_resource("db-3")

    answer = browser.post(f"/maintenance/resources/{db_2.pk}/edit", {"name": "db-3", "labels": "env=test"})

    db_2.refresh_from_db()
    assert list(answer.context["form"].errors) == ["name"]
    assert (db_2.name, db_2.labels) == ("db-2", {"rack": "r7"})


def test_new_token_replaces_the_old_one(browser, db_2):
    address, before = f"/maintenance/resources/{db_2.pk}/token", db_2.digest

    assert "The current token stops working immediately" in browser.get(address).text
    db_2.refresh_from_db()
    assert db_2.digest == before
    token = read_token(browser.post(address))

    db_2.refresh_from_db()
    assert db_2.digest == digest_of(token)


def test_removed_resource_stays_in_notices_by_name(browser, db_2):
    announce(db_2, now=timezone.now())
    address = f"/maintenance/resources/{db_2.pk}/remove"

    assert "1 open notice affects it" in browser.get(address).text
    browser.post(address)

    assert not Resource.objects.exists()
    (card,) = browser.get("/maintenance/").context["cards"]
    assert [(each["name"], each["seen"]) for each in card["resources"]] == [("db-2", "removed")]
    assert Notice.objects.get().status == "scheduled"


def test_resource_list_has_pages_and_takes_a_fixed_number_of_queries(browser, subscription, django_assert_num_queries):
    for number in range(60):
        resource(subscription, f"db-{number:02}")

    with django_assert_num_queries(
        6
    ):  # session, user, subscriptions of each role, resources; number of waiting notices
        first = browser.get("/maintenance/resources/").context
    second = browser.get("/maintenance/resources/", {"after": first["after"]}).context

    assert [row["resource"].name for row in [*first["rows"], *second["rows"]]] == [f"db-{n:02}" for n in range(60)]
    assert second["after"] is None


@pytest.mark.parametrize("after", ["x", "9" * 40, "-1", "٣"])
def test_invalid_page_of_the_resource_list_is_the_first_page(browser, db_2, after):
    assert browser.get("/maintenance/resources/", {"after": after}).context["is_first_page"]
