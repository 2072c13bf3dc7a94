"""Every page: accessible (axe) in light and dark, and without horizontal scrolling at each width."""

import pytest
import time_machine
from django.utils import timezone

from accounts.invitations import invite
from accounts.models import ApiToken, Role, Subscription
from jobs.models import Run
from tests.browser.layout import find_overflow, scrolls_sideways
from tests.conftest import utc
from triggers import closed_days
from triggers.models import ClosedDays

pytestmark = pytest.mark.django_db(transaction=True)


CLOSED_DAYS = {
    "weekend": ["saturday", "sunday"],
    "holidays": [{"country": "DE", "subdivision": "BE"}],
    "dates": [{"from": "2026-12-24", "to": "2027-01-01", "name": "Company holidays"}],
}
TABS = ("cron", "rrule", "outlook", "once", "sun", "json", "none")  # of the schedule editor
WIDTHS = (320, 390, 520, 640, 720, 800, 960)  # 640 to 960: common windows at a zoom of 200 %


def page_urls(job, owner, jobs_of_all_kinds, job_with_triggers) -> list[str]:
    runs = Run.objects.filter(state__in=["failed", "running"]).values_list("pk", flat=True)
    other_triggers = job_with_triggers.triggers.exclude(name="default")
    token, _ = ApiToken.objects.issue(owner, "ci")
    subscription = job.collection.subscription_id
    other_subscription, now = Subscription.objects.create(name="elsewhere"), timezone.now()
    received = invite(other_subscription, owner.username, Role.READER, owner, now)
    invite(job.collection.subscription, "grace@example.com", Role.READER, owner, now)
    closed_days.create(job.collection.subscription, "germany", CLOSED_DAYS, now)
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
        *(f"/admin/jobs/job/add/?tab={tab}" for tab in TABS),
        f"/admin/jobs/job/{job.pk}/",
        f"/admin/jobs/job/{job.pk}/change/",
        f"/admin/jobs/job/{job.pk}/history/",
        f"/admin/jobs/job/{job.pk}/delete/",
        *(f"/admin/jobs/job/{kind.pk}/" for kind in jobs_of_all_kinds),
        *(f"/admin/jobs/job/{kind.pk}/change/" for kind in jobs_of_all_kinds),
        *(f"/admin/jobs/job/{jobs_of_all_kinds[0].pk}/{page}/" for page in ("signing", "test")),
        f"/admin/jobs/job/{jobs_of_all_kinds[-1].pk}/signing/",
        f"/admin/jobs/job/{job_with_triggers.pk}/",
        "/admin/triggers/trigger/",
        "/admin/triggers/trigger/?q=nothing",
        f"/admin/triggers/trigger/add/?job={job_with_triggers.pk}",
        *(f"/admin/triggers/trigger/{trigger.pk}/change/" for trigger in other_triggers),
        f"/admin/triggers/trigger/{other_triggers[0].pk}/delete/",
        f"/admin/triggers/trigger/{other_triggers[0].pk}/fire-times/",
        "/clock-changes/",
        "/closed-days/",
        "/closed-days/new",
        *(f"/closed-days/{pk}/" for pk in ClosedDays.objects.values_list("pk", flat=True)),
        *(f"/closed-days/{pk}/remove" for pk in ClosedDays.objects.values_list("pk", flat=True)),
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


def test_each_page_is_accessible_in_light_and_dark_and_fits_each_width(
    open_page, sign_in, find_accessibility_faults, owner, job_with_runs, jobs_of_all_kinds, job_with_triggers
):
    page = sign_in(open_page())
    faults = []

    for address in page_urls(job_with_runs, owner, jobs_of_all_kinds, job_with_triggers):
        page.goto(address)
        faults += [f"{address} {fault}" for fault in find_accessibility_faults(page)]
        faults += [f"{address} {fault}" for fault in find_overflow(page, *WIDTHS)]

    assert not faults, "\n".join(faults)


def test_main_pages_are_accessible_on_a_phone(
    open_page, sign_in, find_accessibility_faults, owner, job_with_runs, job_with_triggers
):
    page = sign_in(open_page(width=390))
    run = Run.objects.get(state="failed")
    faults = []

    triggers = (
        f"jobs/job/{job_with_triggers.pk}/",
        "triggers/trigger/",
        f"triggers/trigger/add/?job={job_with_triggers.pk}",
    )
    for address in ("", "jobs/job/", "jobs/job/add/", f"jobs/run/{run.pk}/change/", *triggers):
        page.goto(f"/admin/{address}")
        faults += [f"{address} {fault}" for fault in find_accessibility_faults(page)]

    assert not faults, "\n".join(faults)


def test_sign_in_page_is_accessible_also_with_an_error(open_page, find_accessibility_faults, owner):
    page = open_page(width=390)
    page.goto("/sign-in/")
    faults_without_error = find_accessibility_faults(page)
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("is incorrect").wait_for()

    assert faults_without_error + find_accessibility_faults(page) == []


def test_pages_with_a_secret_or_a_test_result_are_accessible(
    open_page, sign_in, find_accessibility_faults, owner, jobs_of_all_kinds, target, settings
):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    jobs_of_all_kinds[0].action.document["request"] |= {"uri": target.url, "authentication": None}
    jobs_of_all_kinds[0].action.save()
    page = sign_in(open_page(width=390))

    page.goto(f"/admin/jobs/job/{jobs_of_all_kinds[0].pk}/signing/")
    page.get_by_role("button", name="Create a new secret").click()
    page.locator("#secret").wait_for()
    faults = find_accessibility_faults(page)
    page.goto(f"/admin/jobs/job/{jobs_of_all_kinds[0].pk}/test/")
    page.get_by_role("button", name="Send a test").click()
    page.get_by_text("answered 'OK'").wait_for()
    faults += find_accessibility_faults(page)

    assert not faults, "\n".join(faults)
    assert not scrolls_sideways(page)


@pytest.mark.parametrize("now", ["2026-11-04T00:00:00Z", "2026-11-04T23:59:00Z"])
def test_dashboard_does_not_scroll_sideways_at_the_start_and_end_of_a_day(open_page, sign_in, owner, now):
    with time_machine.travel(utc(now)):
        page = sign_in(open_page(width=390))
        page.goto("/admin/")

        assert not scrolls_sideways(page)
