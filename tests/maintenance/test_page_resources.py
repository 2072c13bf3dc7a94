"""Resources on /maintenance/: made with a token shown once, changed, given another token, removed."""

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


def token_in(answer) -> str:
    (token,) = re.findall(r'id="token">([^<]+)</pre>', answer.text)
    return token


def test_a_resource_is_made_and_its_token_shown_once(browser, subscription):
    answer = browser.post(NEW, {"name": "db-2", "scope_group": "databases", "labels": "rack=r7\r\nenv = prod"})

    made = Resource.objects.get()
    token = token_in(answer)
    assert (made.name, made.scope_group, made.labels) == ("db-2", "databases", {"rack": "r7", "env": "prod"})
    assert (made.subscription, made.digest) == (subscription, digest_of(token))
    assert "no-store" in answer["Cache-Control"]
    for address in ("/maintenance/", "/maintenance/resources/", f"/maintenance/resources/{made.pk}/edit"):
        assert token not in browser.get(address).text


def test_who_may_write_to_several_subscriptions_says_which(browser, owner):
    other = Subscription.objects.create(name="elsewhere")
    Membership.objects.create(subscription=other, user=owner, role=Role.OWNER)

    browser.post(NEW, {"name": "db-2", "subscription": str(other.pk)})

    assert Resource.objects.get().subscription == other
    assert "subscription" in browser.post(NEW, {"name": "db-3"}).context["form"].errors


@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"name": ""}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "db-2"}, "name"),  # there is one
        ({"scope_group": "x" * 256}, "scope_group"),
        ({"labels": "rack"}, "labels"),
        ({"labels": "=r7"}, "labels"),
        ({"labels": "rack=" + "x" * 256}, "labels"),
        ({"labels": "\n".join(f"l{number}=x" for number in range(51))}, "labels"),
    ],
)
def test_what_is_refused_stands_beside_its_field(browser, db_2, wrong, field):
    answer = browser.post(NEW, {"name": "db-3", **wrong})

    assert list(answer.context["form"].errors) == [field]
    assert Resource.objects.count() == 1


def test_name_group_and_labels_are_changed(browser, db_2):
    form = browser.get(f"/maintenance/resources/{db_2.pk}/edit").context["form"]
    assert (form["name"].value(), form["scope_group"].value(), form["labels"].value()) == (
        *("db-2", "databases"),
        "rack=r7",
    )

    browser.post(f"/maintenance/resources/{db_2.pk}/edit", {"name": "x", "scope_group": "", "labels": "env=test"})

    db_2.refresh_from_db()
    assert (db_2.name, db_2.scope_group, db_2.labels) == ("x", "", {"env": "test"})


def test_a_new_name_that_is_taken_is_refused_beside_its_field(browser, db_2, make_resource):
    make_resource("db-3")

    answer = browser.post(f"/maintenance/resources/{db_2.pk}/edit", {"name": "db-3", "labels": "env=test"})

    db_2.refresh_from_db()
    assert list(answer.context["form"].errors) == ["name"]
    assert (db_2.name, db_2.labels) == ("db-2", {"rack": "r7"})


def test_a_new_token_takes_the_place_of_the_one_before(browser, db_2):
    address, before = f"/maintenance/resources/{db_2.pk}/token", db_2.digest

    assert "The one before is worth nothing" in browser.get(address).text
    db_2.refresh_from_db()
    assert db_2.digest == before
    token = token_in(browser.post(address))

    db_2.refresh_from_db()
    assert db_2.digest == digest_of(token)


def test_a_removed_resource_leaves_its_name_in_notices(browser, db_2):
    announce(db_2, now=timezone.now())
    address = f"/maintenance/resources/{db_2.pk}/remove"

    assert "1 notice that is not over affects it" in browser.get(address).text
    browser.post(address)

    assert not Resource.objects.exists()
    (card,) = browser.get("/maintenance/").context["cards"]
    assert [(each["name"], each["seen"]) for each in card["resources"]] == [("db-2", "removed")]
    assert Notice.objects.get().status == "scheduled"


def test_the_list_goes_on_page_by_page_and_costs_the_same(browser, subscription, django_assert_num_queries):
    for number in range(60):
        resource(subscription, f"db-{number:02}")

    with django_assert_num_queries(6):  # session, user, subscriptions of each role, resources; how many notices wait
        first = browser.get("/maintenance/resources/").context
    second = browser.get("/maintenance/resources/", {"after": first["after"]}).context

    assert [row["resource"].name for row in [*first["rows"], *second["rows"]]] == [f"db-{n:02}" for n in range(60)]
    assert second["after"] is None


@pytest.mark.parametrize("after", ["x", "9" * 40, "-1", "٣"])
def test_a_page_of_the_list_that_is_none_is_the_first(browser, db_2, after):
    assert browser.get("/maintenance/resources/", {"after": after}).context["is_first_page"]
