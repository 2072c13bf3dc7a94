"""Maintenance on the calendar in a real browser: what it is going to hold is seen there before it happens."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from jobs.models import Run
from maintenance.models import Notice, Resource
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
    """The next one: a working day whose hours are all to come."""
    today = timezone.now().astimezone(UTC).date()
    return today + ((2 - today.weekday()) % 7 or 7) * ONE_DAY


@pytest.fixture
def reindex(make_job):
    """Every day at noon."""
    daily = {"frequency": "Day", "schedule": {"hours": [12], "minutes": [0]}}
    return make_job("reindex", schedule={"recurrence": daily}, now=timezone.now())


@pytest.fixture
def full(db_2, subscription, make_job, reindex, wednesday):
    """Work that waits, goes on and is over, of an hour, without an end and for days; it holds single runs and many."""
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


def close(page):
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_held_run_is_seen_on_the_calendar_before_it_happens(open_page, sign_in, db_2, reindex, wednesday):
    page = sign_in(open_page())
    page.goto(f"/maintenance/jobs/{reindex.pk}")
    page.get_by_role("checkbox", name="db-2").check()
    page.get_by_role("radio", name="holds its planned runs").check()
    page.get_by_role("button", name="Save changes").click()
    page.goto("/maintenance/announce")
    page.get_by_label("What is done").select_option("Reboot")
    page.get_by_role("checkbox", name="db-2").check()
    page.get_by_role("radio", name="not before a time").check()
    page.locator("#id_not_before").fill(f"{wednesday}T11:30")
    page.get_by_label("Interruption in minutes").fill("90")
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
    close(page)
    sheet = open_item(page, day.locator(".item.notice"))
    expect(sheet).to_contain_text("reindex")
    sheet.get_by_role("link", name="Open maintenance").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Reboot of db-2")
    assert not Run.objects.exists()


def test_the_layer_is_switched_off_and_held_runs_stay(open_page, sign_in, full, wednesday):
    page = sign_in(open_page())
    page.goto(f"/calendar/?view=day&date={wednesday}")
    expect(page.locator(".item.notice, .background.maintenance")).not_to_have_count(0)

    page.get_by_label("Maintenance", exact=True).uncheck()

    expect(page.locator(".item.notice, .background.maintenance")).to_have_count(0)
    expect(page.locator('.item.run[data-state="held"]')).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Maintenance", exact=True)).not_to_be_checked()


def test_an_hour_with_maintenance_takes_an_event(open_page, sign_in, full, wednesday):
    page = sign_in(open_page())
    page.goto(f"/calendar/?view=day&date={wednesday}")
    lanes = page.locator(".lanes")
    place = {"x": 300, "y": lanes.bounding_box()["height"] / 24 * 21.5}

    lanes.click(position=place)
    lanes.click(position=place)

    page.wait_for_url(f"**/events/new*start={wednesday}T21%3A00*")


def test_without_script_a_notice_opens_on_a_page_of_its_own(open_page, sign_in, full, wednesday):
    page = sign_in(open_page(javascript=False))
    page.goto(f"/calendar/?view=agenda&date={wednesday}")

    page.get_by_role("link", name="Reboot of db-2").click()

    expect(page.get_by_text("Kernel update")).to_be_visible()
    page.get_by_role("link", name="Close").click()
    assert f"view=agenda&date={wednesday}" in page.url


@pytest.mark.parametrize("width", [1280, 390])
def test_every_view_is_readable_to_everybody_in_light_and_dark_and_fits(
    open_page, sign_in, faults_of, full, wednesday, width
):
    page = sign_in(open_page(width=width))
    faults = []

    def look_at(where: str) -> None:
        faults.extend(f"{where} {fault}" for fault in faults_of(page) if not is_half_covered(fault))
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            faults.append(f"{where} scrolls sideways")

    for view in VIEWS:
        page.goto(f"/calendar/?view={view}&date={wednesday}")
        expect(page.locator(".item.notice, .entry", has_text="db-2").first).to_be_attached()
        look_at(view)
    for item in (page.get_by_role("link", name="Reboot of db-2"), page.get_by_role("link", name="reindex").first):
        expect(open_item(page, item)).to_be_in_viewport(ratio=0.99)
        look_at("what opens")
        close(page)
    page.goto("/calendar/?q=db-2")
    look_at("search")

    assert not faults, "\n".join(faults)


def is_half_covered(fault: str) -> bool:
    """What lies under the edge of the sheet is smaller as long as that is open."""
    return fault.startswith(('target-size: <a class="item', 'target-size: <a class="entry'))
