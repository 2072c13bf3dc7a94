"""Maintenance in a real browser: announcing, approving and completing; with and without JavaScript."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Route, expect

from jobs.models import Run
from maintenance import holds, lifecycle, resources
from maintenance.models import Notice, Resource
from maintenance.policies import PolicyInput
from tests.browser.conftest import press_in_sequence
from tests.browser.layout import resize, scrolls_sideways
from tests.maintenance.notices import announce

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def servers(owner, subscription) -> list[Resource]:
    owner.time_zone = "Europe/Berlin"
    owner.save()
    now = timezone.now()
    made = [
        resources.register(subscription, name, group, {"rack": "r7"}, now)[0]
        for name, group in (("db-2", "db"), ("db-3", "db"), ("web-1", ""))
    ]
    Resource.objects.filter(name="db-2").update(last_seen_at=now - timedelta(seconds=3))
    Resource.objects.filter(name="db-3").update(last_seen_at=now - timedelta(days=2))
    return made


@pytest.fixture
def job_with_notices(servers, make_job):
    """A job with scheduled, started and cancelled notices, with a running run and with planned runs to hold."""
    db_2, db_3, web = servers
    now = timezone.now()
    job = make_job("reindex", schedule={"recurrence": {"frequency": "Hour"}}, now=now)
    holds.set_policy(job, PolicyInput(resource_names=("db-2",), on_notice="hold"), now)
    Run.objects.create(
        subscription=db_2.subscription,
        job=job,
        job_name=job.name,
        collection_name="nightly",
        fire_at=now,
        publish_after=now,
        started_at=now - timedelta(minutes=38),
        state=Run.State.RUNNING,
    )
    announce(db_2, db_3, now=now, not_before=now + timedelta(hours=7), description="Kernel update", duration_s=5400)
    announce(web, now=now, has_started=True, event_type="Redeploy", description="New image 4.2, drained first")
    cancelled = announce(web, now=now - timedelta(hours=1), not_before=now + timedelta(hours=1))
    lifecycle.cancel(cancelled, "ada", now)
    return job


def status_message(page):
    return page.locator(".banner[role=status]").first


@pytest.mark.parametrize("javascript", [True, False])
def test_notice_is_announced_approved_and_completed(open_page, sign_in, servers, javascript):
    page = sign_in(open_page(javascript=javascript))
    page.goto("/admin/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Maintenance").click()
    page.locator(".page-head").get_by_role("link", name="Announce…").click()

    page.get_by_label("Maintenance type").select_option("Reboot")
    page.get_by_role("checkbox", name="db-2").check()
    page.get_by_role("checkbox", name="db-3").check()
    page.get_by_label("Interruption, in minutes").fill("90")
    page.get_by_label("Description").fill("Kernel update")
    page.get_by_role("button", name="Announce").click()

    expect(status_message(page)).to_contain_text("Announced: Reboot of db-2 and db-3.")
    card = page.get_by_role("region", name="Reboot of db-2 and db-3")
    expect(card).to_contain_text("Waiting for approval")
    expect(card.locator(".countdown time")).to_have_text(re.compile("1[45] min"))  # a busy machine may take seconds
    expect(card).to_contain_text("db-2 polling, last seen")
    card.get_by_role("link", name="Approve Reboot of db-2 and db-3…", exact=True).click()
    page.get_by_role("button", name="Approve").click()

    expect(status_message(page)).to_contain_text("Approved: Reboot of db-2 and db-3.")
    row = page.get_by_role("row", name="Reboot of db-2 and db-3")
    expect(row).to_contain_text("Started")
    row.get_by_role("link", name="Complete Reboot of db-2 and db-3…").click()
    page.get_by_role("button", name="Complete").click()

    expect(status_message(page)).to_contain_text("Completed: Reboot of db-2 and db-3.")
    expect(page.get_by_role("heading", name="No maintenance is announced")).to_be_visible()
    steps = page.get_by_role("region", name="History").get_by_role("listitem")
    expect(steps).to_have_count(3)
    expect(steps.last).to_contain_text("Completed")
    assert Notice.objects.get().status == "completed"


def test_double_click_announces_only_once(open_page, sign_in, servers):
    page = sign_in(open_page())
    page.goto("/maintenance/announce")
    page.get_by_role("checkbox", name="db-2").check()
    sent: list[Route] = []  # without a response
    page.route("**/announce", lambda route: sent.append(route))

    page.clock.pause_at(timezone.now() + timedelta(minutes=1))  # no time passes between the two clicks
    button = page.get_by_role("button", name="Announce")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    with page.expect_request("**/announce"):
        page.mouse.click(box["x"] + 5, box["y"] + 5)
    page.mouse.click(box["x"] + 5, box["y"] + 5)
    sent[0].continue_()  # a second request would have replaced it

    expect(status_message(page)).to_contain_text("Announced: Freeze of db-2.")
    assert (len(sent), Notice.objects.count()) == (1, 1)


def test_two_keys_open_maintenance(open_page, sign_in, servers):
    page = sign_in(open_page())
    page.goto("/admin/")

    press_in_sequence(page, "g", "m")

    page.wait_for_url("**/maintenance/")


@pytest.mark.parametrize(
    "remaining, before, after",
    [
        (timedelta(seconds=50), "50 s", "48 s"),
        (timedelta(days=2, hours=5, seconds=1), "2 Tage 5 h", "2 Tage 4 h"),
        (timedelta(days=1, seconds=1), "1 Tag", "23 h 59 min"),
    ],
)
def test_countdown_runs_in_the_language_of_the_user(open_page, sign_in, owner, servers, remaining, before, after):
    owner.language = "de"
    owner.save()
    page = sign_in(open_page())
    now = timezone.now().replace(microsecond=0) + timedelta(minutes=1)
    page.clock.pause_at(now)
    announce(servers[0], now=timezone.now(), not_before=now + remaining)
    page.goto("/maintenance/")
    countdown = page.locator(".countdown time")
    expect(countdown).to_have_text(before)

    page.clock.run_for(2000)

    expect(countdown).to_have_text(after)


def test_time_field_is_shown_only_for_a_chosen_time(open_page, sign_in, servers):
    page = sign_in(open_page())
    page.goto("/maintenance/announce")

    expect(page.locator("#id_not_before")).to_be_hidden()
    page.get_by_role("radio", name="not before a given time").check()
    expect(page.locator("#id_not_before")).to_be_visible()
    page.get_by_role("button", name="Announce").click()

    expect(page.get_by_role("alert")).to_contain_text("Resources")
    expect(page.locator("#id_resources_error")).to_have_text("Select at least one")


def test_token_of_a_new_resource_is_shown_once(open_page, sign_in, servers):
    page = sign_in(open_page())
    page.goto("/maintenance/resources/")
    page.get_by_role("link", name="New resource").click()
    page.get_by_label("Name").fill("cache-1")
    page.get_by_role("button", name="Create resource").click()

    expect(page.locator("#token")).to_be_visible()
    expect(page.get_by_role("button", name="Copy")).to_be_visible()
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("rowheader", name="cache-1")).to_be_visible()


def test_maintenance_policy_of_a_job_can_be_changed(open_page, sign_in, job_with_notices):
    page = sign_in(open_page())
    page.goto(f"/admin/jobs/job/{job_with_notices.pk}/")
    expect(page.locator(".upcoming .remark[data-state=held]").first).to_contain_text("Held by maintenance")

    page.get_by_role("link", name="Change the maintenance policy").click()
    page.get_by_label("run as planned").check()
    page.get_by_role("button", name="Save changes").click()

    expect(page.get_by_role("region", name="Maintenance")).to_contain_text("Runs as planned during maintenance of db-2")
    expect(page.locator(".upcoming .remark[data-state=held]")).to_have_count(0)


@pytest.mark.parametrize("language", ["en", "de"])
def test_maintenance_pages_are_accessible_and_fit(
    open_page, sign_in, find_accessibility_faults, owner, job_with_notices, language
):
    owner.language = language
    owner.save()
    page = sign_in(open_page())
    waiting = Notice.objects.get(status="scheduled")
    started = Notice.objects.get(status="started")
    web = Resource.objects.get(name="web-1")
    faults = []

    for address in (
        "/maintenance/",
        "/maintenance/history/",
        "/maintenance/announce",
        f"/maintenance/notices/{waiting.pk}/",
        f"/maintenance/notices/{waiting.pk}/approve",
        f"/maintenance/notices/{waiting.pk}/change",
        f"/maintenance/notices/{started.pk}/complete",
        "/maintenance/resources/",
        "/maintenance/resources/new",
        f"/maintenance/resources/{web.pk}/edit",
        f"/maintenance/resources/{web.pk}/remove",
        f"/maintenance/jobs/{job_with_notices.pk}",
        f"/admin/jobs/job/{job_with_notices.pk}/",
        "/admin/maintenance/notice/",
        f"/admin/maintenance/notice/{waiting.pk}/change/",
        "/admin/maintenance/resource/",
        f"/admin/maintenance/resource/{web.pk}/change/",
    ):
        page.goto(address)
        for width in (1280, 390):
            resize(page, width)
            faults += [f"{address} at {width} px: {fault}" for fault in find_accessibility_faults(page)]
            if scrolls_sideways(page):
                faults.append(f"{address} at {width} px scrolls sideways")

    assert not faults, "\n".join(faults)


def test_longest_names_do_not_widen_pages(open_page, sign_in, owner, subscription, make_job):
    now, name = timezone.now(), "x" * 255
    resource = resources.register(subscription, name, "g" * 255, {"l" * 255: "r" * 255}, now)[0]
    job = make_job("reindex", schedule={"recurrence": {"frequency": "Hour"}}, now=now)
    holds.set_policy(job, PolicyInput(resource_names=(name,), on_notice="hold"), now)
    notice = announce(resource, now=now, description="d" * 1000)
    announce(resource, now=now, has_started=True, description="d" * 1000)
    lifecycle.cancel(announce(resource, now=now), "ada", now)
    page = sign_in(open_page())

    too_wide = []
    for address in (
        "/maintenance/",
        "/maintenance/history/",
        "/maintenance/announce",
        f"/maintenance/notices/{notice.pk}/",
        f"/maintenance/notices/{notice.pk}/approve",
        "/maintenance/resources/",
        f"/maintenance/resources/{resource.pk}/remove",
        f"/maintenance/jobs/{job.pk}",
        "/admin/maintenance/notice/",
        f"/admin/maintenance/notice/{notice.pk}/change/",
        "/admin/maintenance/resource/",
        f"/admin/maintenance/resource/{resource.pk}/change/",
        *(f"/calendar/?view={view}" for view in ("month", "week", "day", "agenda")),
        f"/calendar/notices/{notice.pk}",
    ):
        page.goto(address)
        for width in (1280, 390):
            resize(page, width)
            if scrolls_sideways(page):
                too_wide.append(f"{address} at {width} px")

    assert too_wide == []
