"""The header of each page shows how many notices wait for approval by the user."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Role, Subscription
from maintenance import lifecycle
from maintenance.models import Notice

pytestmark = pytest.mark.django_db


def read_badge(browser, address: str = "/maintenance/") -> str | None:
    """Return the accessible text after the word Maintenance."""
    (link,) = re.findall(r'<a href="/maintenance/"[^>]* data-key="m">(.*?)</a>', browser.get(address).text)
    count = " ".join(re.sub(r"<[^>]*>", " ", link).split())
    return count.removeprefix("Maintenance").strip() or None


@pytest.mark.parametrize("address", ["/admin/", "/calendar/", "/admin/jobs/job/", "/account/", "/maintenance/history/"])
def test_each_page_shows_the_number_of_waiting_notices(browser, make_resource, make_notice, address):
    assert read_badge(browser, address) is None

    resource = make_resource()
    make_notice(resource)
    make_notice(resource)

    assert read_badge(browser, address) == "2 waiting for approval"


def test_only_notices_that_an_approval_starts_are_counted(browser, make_resource, make_notice):
    resource, now = make_resource(), timezone.now()
    make_notice(resource, has_started=True)
    lifecycle.complete(make_notice(resource, has_started=True), "ada", now)
    lifecycle.cancel(make_notice(resource), "ada", now)
    Notice.objects.filter(pk=make_notice(resource).pk).update(approve_when_idle=True)
    past = make_notice(resource)
    Notice.objects.filter(pk=past.pk).update(not_before=now - timedelta(seconds=1))

    assert read_badge(browser, "/calendar/") is None


@pytest.mark.parametrize("role, count", [(Role.OWNER, "1"), (Role.OPERATOR, "1"), (Role.READER, None), (None, None)])
def test_number_is_shown_only_to_users_who_may_approve(sign_in_as, make_resource, make_notice, role, count):
    make_notice(make_resource())

    assert read_badge(sign_in_as(role)) == (count and f"{count} waiting for approval")


def test_notices_of_other_subscriptions_are_not_counted(browser, make_resource, make_notice):
    other_subscription = Subscription.objects.create(name="elsewhere")
    make_notice(make_resource("theirs", in_subscription=other_subscription))

    assert read_badge(browser) is None


def test_number_of_waiting_notices_takes_one_indexed_query(browser, make_resource, make_notice):
    resource = make_resource()
    for _ in range(3):
        make_notice(resource)

    with CaptureQueriesContext(connection) as captured:
        browser.get("/account/")

    (counting,) = [query["sql"] for query in captured if "maintenance_" in query["sql"]]
    if connection.vendor == "sqlite":  # PostgreSQL takes an index when there is more than a page of rows
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {counting}")
            assert "USING INDEX notice_shown" in str(cursor.fetchall())
