"""On every page the header says how many notices wait for the viewer's approval."""

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


def waiting(browser, address: str = "/maintenance/") -> str | None:
    """What a reader hears after the word Maintenance."""
    (place,) = re.findall(r'<a href="/maintenance/"[^>]* data-key="m">(.*?)</a>', browser.get(address).text)
    said = " ".join(re.sub(r"<[^>]*>", " ", place).split())
    return said.removeprefix("Maintenance").strip() or None


@pytest.mark.parametrize("address", ["/admin/", "/calendar/", "/admin/jobs/job/", "/account/", "/maintenance/history/"])
def test_every_page_says_that_something_waits(browser, make_resource, make_notice, address):
    assert waiting(browser, address) is None

    resource = make_resource()
    make_notice(resource)
    make_notice(resource)

    assert waiting(browser, address) == "2 waiting for approval"


def test_only_what_an_approval_would_start_is_counted(browser, make_resource, make_notice):
    resource, now = make_resource(), timezone.now()
    make_notice(resource, has_started=True)
    lifecycle.complete(make_notice(resource, has_started=True), "ada", now)
    lifecycle.cancel(make_notice(resource), "ada", now)
    Notice.objects.filter(pk=make_notice(resource).pk).update(approve_when_idle=True)
    past = make_notice(resource)
    Notice.objects.filter(pk=past.pk).update(not_before=now - timedelta(seconds=1))

    assert waiting(browser, "/calendar/") is None


@pytest.mark.parametrize("role, said", [(Role.OWNER, "1"), (Role.OPERATOR, "1"), (Role.READER, None), (None, None)])
def test_it_is_said_to_who_may_approve(people, make_resource, make_notice, role, said):
    make_notice(make_resource())

    assert waiting(people(role)) == (said and f"{said} waiting for approval")


def test_what_waits_elsewhere_is_not_counted(browser, make_resource, make_notice):
    elsewhere = Subscription.objects.create(name="elsewhere")
    make_notice(make_resource("theirs", in_subscription=elsewhere))

    assert waiting(browser) is None


def test_it_is_one_query_a_page_that_an_index_answers(browser, make_resource, make_notice):
    resource = make_resource()
    for _ in range(3):
        make_notice(resource)

    with CaptureQueriesContext(connection) as asked:
        browser.get("/account/")

    (counting,) = [query["sql"] for query in asked if "maintenance_" in query["sql"]]
    if connection.vendor == "sqlite":  # PostgreSQL takes an index when there is more than a page of rows
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {counting}")
            assert "USING INDEX notice_shown" in str(cursor.fetchall())
