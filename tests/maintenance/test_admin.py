"""Resources and notices in the admin: shown to their people, filtered, and changed nowhere but on their pages."""

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


def announced(*resources, **members) -> Notice:
    return announce(*resources, now=timezone.now(), **members)


def listed(answer) -> list[str]:
    return [getattr(row, "name", None) or row.description for row in answer.context["cl"].result_list]


def test_lists_are_filtered(browser, subscription, db_2):
    web = resource(subscription, "web-1")
    Resource.objects.filter(pk=web.pk).update(last_seen_at=timezone.now() - timedelta(hours=1))
    announced(db_2, description="coming")
    announced(web, description="going", has_started=True)

    resources, notices = ADDRESSES
    assert listed(browser.get(resources)) == ["db-2", "web-1"]
    assert listed(browser.get(resources, {"polls": "yes"})) == ["web-1"]
    assert listed(browser.get(resources, {"polls": "no"})) == ["db-2"]
    assert listed(browser.get(resources, {"group": "db"})) == ["db-2"]
    assert listed(browser.get(notices, {"status__exact": "started"})) == ["going"]
    assert listed(browser.get(notices, {"q": "db-2"})) == ["coming"]


def test_a_notice_stands_with_every_step(browser, db_2, owner):
    notice = announced(db_2, description="Kernel")
    lifecycle.approve([notice], "ada", timezone.now(), user=owner)

    page = browser.get(f"/admin/maintenance/notice/{notice.pk}/change/")

    assert [step["word"] for step in page.context["steps"]] == ["Announced", "Started"]
    assert [who for who, _ in page.context["approvals"]] == [owner]
    assert f"/maintenance/notices/{notice.pk}/" in page.text


def test_a_resource_stands_with_its_notices_and_without_its_token(browser, db_2):
    announced(db_2)

    page = browser.get(f"/admin/maintenance/resource/{db_2.pk}/change/")

    assert [row["title"] for row in page.context["notices"]] == ["Reboot of db-2"]
    assert "rack=r7" in page.text
    for address in (*ADDRESSES, f"/admin/maintenance/resource/{db_2.pk}/change/"):
        assert db_2.digest not in browser.get(address).text


@pytest.mark.parametrize("order", ["add/", "{}/delete/"])
def test_nothing_is_written_here(browser, db_2, order):
    notice = announced(db_2)

    for kind, row in (("resource", db_2), ("notice", notice)):
        answer = browser.post(f"/admin/maintenance/{kind}/{order.format(row.pk)}", {"post": "yes"})
        assert answer.status_code in (403, 404)
        browser.post(f"/admin/maintenance/{kind}/{row.pk}/change/", {"name": "other", "status": "completed"})

    notice.refresh_from_db()
    db_2.refresh_from_db()
    assert (notice.status, db_2.name) == ("scheduled", "db-2")


def test_staff_see_what_is_theirs(client, make_user, db_2):
    elsewhere = Subscription.objects.create(name="elsewhere")
    theirs = resource(elsewhere, "secret-1")
    notice = announced(theirs, description="secret")
    announced(db_2, description="ours")
    client.force_login(make_user("mira", Role.READER, is_staff=True))

    assert [listed(client.get(address)) for address in ADDRESSES] == [["db-2"], ["ours"]]
    for kind, row in (("resource", theirs), ("notice", notice)):
        assert client.get(f"/admin/maintenance/{kind}/{row.pk}/change/").status_code == 404


@pytest.mark.parametrize("key", ["0", "x", "9" * 30, "00000000-0000-0000-0000-000000000000", "a%00b"])
def test_what_is_not_there_is_not_found(browser, key):
    for kind in ("resource", "notice"):
        for page in ("change", "history"):
            assert browser.get(f"/admin/maintenance/{kind}/{key}/{page}/").status_code == 404


@pytest.mark.parametrize("count", [1, 12])
def test_lists_cost_the_same_however_long(browser, subscription, django_assert_max_num_queries, count):
    for number in range(count):
        announced(resource(subscription, f"db-{number}"))

    for address in ADDRESSES:
        with django_assert_max_num_queries(11):
            browser.get(address)
