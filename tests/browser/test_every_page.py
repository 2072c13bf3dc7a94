"""Every page: readable to everybody (axe), in light and dark, and without sideways scrolling at any width."""

import pytest
import time_machine
from django.utils import timezone

from accounts.invitations import invite
from accounts.models import ApiToken, Role, Subscription
from jobs.models import Run
from tests.browser.layout import find_overflow
from tests.conftest import utc

pytestmark = pytest.mark.django_db(transaction=True)


WIDTHS = (320, 390, 520, 640, 720, 800, 960)  # 640 to 960 is a common window at 200 %


def addresses(job, owner, kinds, several) -> list[str]:
    runs = Run.objects.filter(state__in=["failed", "running"]).values_list("pk", flat=True)
    beside = several.triggers.exclude(name="default")
    token, _ = ApiToken.objects.issue(owner, "ci")
    subscription = job.collection.subscription_id
    elsewhere, now = Subscription.objects.create(name="elsewhere"), timezone.now()
    received = invite(elsewhere, owner.username, Role.READER, owner, now)
    invite(job.collection.subscription, "grace@example.com", Role.READER, owner, now)
    return [
        "/admin/",
        "/admin/outcomes/",
        "/account/",
        "/account/subscriptions/",
        f"/account/invitations/{received.pk}/",
        "/account/tokens/",
        f"/account/tokens/{token.pk}/revoke/",
        "/account/password/",
        "/admin/jobs/job/",
        "/admin/jobs/job/?q=nothing",
        "/admin/jobs/job/add/",
        f"/admin/jobs/job/{job.pk}/",
        f"/admin/jobs/job/{job.pk}/change/",
        f"/admin/jobs/job/{job.pk}/history/",
        f"/admin/jobs/job/{job.pk}/delete/",
        *(f"/admin/jobs/job/{kind.pk}/" for kind in kinds),
        *(f"/admin/jobs/job/{kind.pk}/change/" for kind in kinds),
        *(f"/admin/jobs/job/{kinds[0].pk}/{page}/" for page in ("signing", "test")),
        f"/admin/jobs/job/{kinds[-1].pk}/signing/",
        f"/admin/jobs/job/{several.pk}/",
        "/admin/triggers/trigger/",
        "/admin/triggers/trigger/?q=nothing",
        f"/admin/triggers/trigger/add/?job={several.pk}",
        *(f"/admin/triggers/trigger/{trigger.pk}/change/" for trigger in beside),
        f"/admin/triggers/trigger/{beside[0].pk}/delete/",
        "/admin/jobs/run/",
        *(f"/admin/jobs/run/{run}/change/" for run in runs),
        "/admin/jobs/jobcollection/",
        "/admin/jobs/jobcollection/add/",
        f"/admin/jobs/jobcollection/{job.collection_id}/change/",
        "/admin/accounts/user/",
        "/admin/accounts/user/add/",
        f"/admin/accounts/user/{owner.pk}/change/",
        f"/admin/accounts/user/{owner.pk}/password/",
        "/admin/accounts/subscription/",
        f"/admin/accounts/subscription/{subscription}/change/",
        f"/admin/accounts/subscription/{subscription}/invitations/",
        "/admin/accounts/apitoken/",
        "/admin/accounts/apitoken/add/",
        f"/admin/accounts/apitoken/{token.pk}/change/",
        "/admin/django_celery_beat/",
        "/admin/django_celery_beat/periodictask/",
        "/admin/django_celery_beat/periodictask/add/",
    ]


def test_every_page_is_readable_to_everybody_in_light_and_dark_and_fits_every_width(
    open_page, sign_in, faults_of, owner, history, kinds, several
):
    page = sign_in(open_page())
    faults = []

    for address in addresses(history, owner, kinds, several):
        page.goto(address)
        faults += [f"{address} {fault}" for fault in faults_of(page)]
        faults += [f"{address} {fault}" for fault in find_overflow(page, *WIDTHS)]

    assert not faults, "\n".join(faults)


def test_the_main_pages_are_readable_to_everybody_on_a_telephone(
    open_page, sign_in, faults_of, owner, history, several
):
    page = sign_in(open_page(width=390))
    run = Run.objects.get(state="failed")
    faults = []

    triggers = (f"jobs/job/{several.pk}/", "triggers/trigger/", f"triggers/trigger/add/?job={several.pk}")
    for address in ("", "jobs/job/", "jobs/job/add/", f"jobs/run/{run.pk}/change/", *triggers):
        page.goto(f"/admin/{address}")
        faults += [f"{address} {fault}" for fault in faults_of(page)]

    assert not faults, "\n".join(faults)


def test_sign_in_is_readable_to_everybody_also_when_refused(open_page, faults_of, owner):
    page = open_page(width=390)
    page.goto("/sign-in/")
    fresh = faults_of(page)
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("do not belong together").wait_for()

    assert fresh + faults_of(page) == []


def test_what_is_shown_once_is_readable_to_everybody(open_page, sign_in, faults_of, owner, kinds, target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    kinds[0].action.document["request"] |= {"uri": target.url, "authentication": None}
    kinds[0].action.save()
    page = sign_in(open_page(width=390))

    page.goto(f"/admin/jobs/job/{kinds[0].pk}/signing/")
    page.get_by_role("button", name="Make a new secret").click()
    page.locator("#secret").wait_for()
    faults = faults_of(page)
    page.goto(f"/admin/jobs/job/{kinds[0].pk}/test/")
    page.get_by_role("button", name="Send a test").click()
    page.get_by_text("answered 'OK'").wait_for()
    faults += faults_of(page)

    assert not faults, "\n".join(faults)
    assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


@pytest.mark.parametrize("now", ["2026-11-04T00:00:00Z", "2026-11-04T23:59:00Z"])
def test_no_page_scrolls_sideways_at_the_edges_of_a_day(open_page, sign_in, owner, now):
    with time_machine.travel(utc(now)):
        page = sign_in(open_page(width=390))

        assert not page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
