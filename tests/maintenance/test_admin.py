"""Resources and notices in the admin: permissions, filters, and read-only pages."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role, Subscription
from maintenance import lifecycle
from maintenance.models import Notice, Resource
from tests.maintenance.notices import announce, resource

pytestmark = pytest.mark.django_db

ADDRESSES = ("/admin/maintenance/resource/", "/admin/maintenance/notice/")


@pytest.fixture
def db_2(subscription) -> Resource:
    return resource(subscription, "db-2", "db", {"rack": "r7"})


def announce_now(*resources, **members) -> Notice:
    return announce(*resources, now=timezone.now(), **members)


def list_names(response) -> list[str]:
    return [getattr(row, "name", None) or row.description for row in response.context["cl"].result_list]


def test_resource_and_notice_lists_are_filtered(browser, subscription, db_2):
    web = resource(subscription, "web-1")
    Resource.objects.filter(pk=web.pk).update(last_seen_at=timezone.now() - timedelta(hours=1))
    announce_now(db_2, description="coming")
    announce_now(web, description="going", has_started=True)

    resources, notices = ADDRESSES
    assert list_names(browser.get(resources)) == ["db-2", "web-1"]
    assert list_names(browser.get(resources, {"polls": "yes"})) == ["web-1"]
    assert list_names(browser.get(resources, {"polls": "no"})) == ["db-2"]
    assert list_names(browser.get(resources, {"group": "db"})) == ["db-2"]
    assert list_names(browser.get(notices, {"status__exact": "started"})) == ["going"]
    assert list_names(browser.get(notices, {"q": "db-2"})) == ["coming"]


def test_notice_page_shows_all_transitions_and_approvals(browser, db_2, owner):
    notice = announce_now(db_2, description="Kernel")
    lifecycle.approve([notice], "ada", timezone.now(), user=owner)

    page = browser.get(f"/admin/maintenance/notice/{notice.pk}/change/")

    assert [step["word"] for step in page.context["steps"]] == ["Announced", "Started"]
    assert [who for who, _ in page.context["approvals"]] == [owner]
    assert f"/maintenance/notices/{notice.pk}/" in page.text


def test_resource_page_shows_notices_and_no_token(browser, db_2):
    announce_now(db_2)

    page = browser.get(f"/admin/maintenance/resource/{db_2.pk}/change/")

    assert [row["title"] for row in page.context["notices"]] == ["Reboot of db-2"]
    assert "rack=r7" in page.text
    for address in (*ADDRESSES, f"/admin/maintenance/resource/{db_2.pk}/change/"):
        assert db_2.digest not in browser.get(address).text


@pytest.mark.parametrize("action", ["add/", "{}/delete/"])
def test_resources_and_notices_are_read_only_in_the_admin(browser, db_2, action):
    notice = announce_now(db_2)

    for kind, row in (("resource", db_2), ("notice", notice)):
        response = browser.post(f"/admin/maintenance/{kind}/{action.format(row.pk)}", {"post": "yes"})
        assert response.status_code in (403, 404)
        browser.post(f"/admin/maintenance/{kind}/{row.pk}/change/", {"name": "other", "status": "completed"})

    notice.refresh_from_db()
    db_2.refresh_from_db()
    assert (notice.status, db_2.name) == ("scheduled", "db-2")


def test_staff_see_only_their_subscriptions(client, make_user, db_2):
    other_subscription = Subscription.objects.create(name="elsewhere")
    resource_of_others = resource(other_subscription, "secret-1")
    notice = announce_now(resource_of_others, description="secret")
    announce_now(db_2, description="ours")
    client.force_login(make_user("mira", Role.READER, is_staff=True))

    assert [list_names(client.get(address)) for address in ADDRESSES] == [["db-2"], ["ours"]]
    for kind, row in (("resource", resource_of_others), ("notice", notice)):
        assert client.get(f"/admin/maintenance/{kind}/{row.pk}/change/").status_code == 404


@pytest.mark.parametrize("key", ["0", "x", "9" * 30, "00000000-0000-0000-0000-000000000000", "a%00b"])
def test_unknown_resource_or_notice_is_not_found(browser, key):
    for kind in ("resource", "notice"):
        for page in ("change", "history"):
            assert browser.get(f"/admin/maintenance/{kind}/{key}/{page}/").status_code == 404


@pytest.mark.parametrize("count", [1, 12])
def test_lists_take_the_same_number_of_queries_for_any_length(
    browser, subscription, django_assert_max_num_queries, count
):
    for number in range(count):
        announce_now(resource(subscription, f"db-{number}"))

    for address in ADDRESSES:
        with django_assert_max_num_queries(11):
            browser.get(address)
