"""Maintenance on the calendar in a real browser: runs that it will hold are shown in advance."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from jobs.models import Run
from maintenance.models import Notice, Resource
from tests.browser.layout import scrolls_sideways
from tests.maintenance.notices import announce, holds, resource

pytestmark = pytest.mark.django_db(transaction=True)

ONE_DAY = timedelta(days=1)
VIEWS = ("month", "week", "workweek", "day", "agenda")


@pytest.fixture
def db_2(owner, subscription) -> Resource:
    owner.time_zone = "UTC"
    owner.save()
    return resource(subscription)


@pytest.fixture
def wednesday() -> date:
    """The next Wednesday: a working day that is completely in the future."""
    today = timezone.now().astimezone(UTC).date()
    return today + ((2 - today.weekday()) % 7 or 7) * ONE_DAY


@pytest.fixture
def reindex(make_job):
    """A job that runs every day at noon."""
    daily = {"frequency": "Day", "schedule": {"hours": [12], "minutes": [0]}}
    return make_job("reindex", schedule={"recurrence": daily}, now=timezone.now())


@pytest.fixture
def calendar_with_notices(db_2, subscription, make_job, reindex, wednesday):
    """Notices that are scheduled, started and completed, of different lengths; they hold one run or many."""
    now = timezone.now()

    def at(hour: int, minute: int = 0) -> datetime:
        return datetime.combine(wednesday, time(hour, minute), UTC)

    often = {"recurrence": {"frequency": "Minute", "interval": 5}}
    web = resource(subscription, "web-1")
    holds(reindex, lead_time=timedelta(hours=1), now=now)
    holds(make_job("sensor-poll", schedule=often, now=now), now=now)
    announce(db_2, now=now, not_before=at(11, 30), duration_s=5400, description="Kernel update")
    announce(web, now=now, has_started=True, event_type="Redeploy")
    announce(web, now=now, not_before=at(20), duration_s=3 * 86_400, event_type="Freeze")
    Notice.objects.filter(pk=announce(web, now=now).pk).update(
        status=Notice.Status.COMPLETED, started_at=now - ONE_DAY, ended_at=now - ONE_DAY / 2, ends_at=now - ONE_DAY / 2
    )


def open_item(page, item):
    item.click()
    sheet = page.get_by_role("dialog")
    expect(sheet).to_be_focused()
    return sheet


def close_popover(page):
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_held_run_is_shown_before_the_maintenance(open_page, sign_in, db_2, reindex, wednesday):
    page = sign_in(open_page())
    page.goto(f"/maintenance/jobs/{reindex.pk}")
    page.get_by_role("checkbox", name="db-2").check()
    page.get_by_role("radio", name="hold planned runs").check()
    page.get_by_role("button", name="Save changes").click()
    page.goto("/maintenance/announce")
    page.get_by_label("Maintenance type").select_option("Reboot")
    page.get_by_role("checkbox", name="db-2").check()
    page.get_by_role("radio", name="not before a given time").check()
    page.locator("#id_not_before").fill(f"{wednesday}T11:30")
    page.get_by_label("Interruption, in minutes").fill("90")
    page.get_by_role("button", name="Announce").click()
    page.get_by_role("region", name="Reboot of db-2").wait_for()

    page.goto(f"/calendar/?date={wednesday}")

    day = page.locator(f'td[data-date="{wednesday}"]')
    expect(day.locator(".item")).to_have_count(3)
    expect(day.get_by_role("link", name="11:30 Reboot of db-2 , maintenance, waiting for approval")).to_be_visible()
    expect(day.get_by_role("link", name="13:00 reindex , planned, once, after maintenance")).to_be_visible()
    held = day.get_by_role("link", name="12:00 reindex , held, held by maintenance: Reboot of db-2")
    expect(held.locator("use")).to_have_attribute("href", "#m-held")
    sheet = open_item(page, held)
    expect(sheet).to_contain_text("Held by maintenance: Reboot of db-2")
    expect(sheet).to_contain_text("once after the maintenance, at about")
    close_popover(page)
    sheet = open_item(page, day.locator(".item.notice"))
    expect(sheet).to_contain_text("reindex")
    sheet.get_by_role("link", name="Open notice").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reboot of db-2")
    assert not Run.objects.exists()


def test_maintenance_layer_can_be_switched_off_and_held_runs_stay(open_page, sign_in, calendar_with_notices, wednesday):
    page = sign_in(open_page())
    page.goto(f"/calendar/?view=day&date={wednesday}")
    expect(page.locator(".item.notice, .background.maintenance")).not_to_have_count(0)

    page.get_by_label("Maintenance", exact=True).uncheck()

    expect(page.locator(".item.notice, .background.maintenance")).to_have_count(0)
    expect(page.locator('.item.run[data-state="held"]')).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Maintenance", exact=True)).not_to_be_checked()


def test_click_on_an_hour_with_maintenance_creates_an_event(open_page, sign_in, calendar_with_notices, wednesday):
    page = sign_in(open_page())
    page.goto(f"/calendar/?view=day&date={wednesday}")
    lanes = page.locator(".lanes")
    position = {"x": 300, "y": lanes.bounding_box()["height"] / 24 * 21.5}

    lanes.click(position=position)
    lanes.click(position=position)

    page.wait_for_url(f"**/events/new*start={wednesday}T21%3A00*")


def test_notice_opens_on_a_page_without_javascript(open_page, sign_in, calendar_with_notices, wednesday):
    page = sign_in(open_page(javascript=False))
    page.goto(f"/calendar/?view=agenda&date={wednesday}")

    page.get_by_role("link", name="Reboot of db-2").click()

    expect(page.get_by_text("Kernel update")).to_be_visible()
    page.get_by_role("link", name="Close").click()
    assert f"view=agenda&date={wednesday}" in page.url


@pytest.mark.parametrize("width", [1280, 390])
def test_views_with_notices_are_accessible_and_fit(
    open_page, sign_in, find_accessibility_faults, calendar_with_notices, wednesday, width
):
    page = sign_in(open_page(width=width))
    faults = []

    def check_page(where: str) -> None:
        faults.extend(f"{where} {fault}" for fault in find_accessibility_faults(page) if not is_half_covered(fault))
        if scrolls_sideways(page):
            faults.append(f"{where} scrolls sideways")

    for view in VIEWS:
        page.goto(f"/calendar/?view={view}&date={wednesday}")
        expect(page.locator(".item.notice, .entry", has_text="db-2").first).to_be_attached()
        check_page(view)
    for item in (page.get_by_role("link", name="Reboot of db-2"), page.get_by_role("link", name="reindex").first):
        expect(open_item(page, item)).to_be_in_viewport(ratio=0.99)
        check_page("what opens")
        close_popover(page)
    page.goto("/calendar/?q=db-2")
    check_page("search")

    assert not faults, "\n".join(faults)


def is_half_covered(fault: str) -> bool:
    """Items that the open popover partly covers have a smaller target size."""
    return fault.startswith(('target-size: <a class="item', 'target-size: <a class="entry'))
