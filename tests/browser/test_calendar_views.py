"""The calendar page in a real browser: accessibility, keyboard, without JavaScript, and printed."""

import re
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from calendars import editing
from calendars.editing import WallTime
from calendars.models import Calendar
from jobs.models import Run
from tests.browser.layout import scrolls_sideways
from triggers.definitions import JobDefinition
from triggers.scheduling import save_job

pytestmark = pytest.mark.django_db(transaction=True)

ZONE = "Europe/Berlin"
VIEWS = ["", "view=week", "view=workweek", "view=day", "view=agenda", "q=stand", "q=nothing"]
CLOCK_CHANGES = [
    "view=week&date=2026-10-25&beside=America/Sao_Paulo",
    "view=day&date=2027-03-28",
    "view=week&date=2026-04-05&zone=Australia/Lord_Howe",
    "view=day&date=2011-12-30&zone=Pacific/Apia",
    "date=2026-10-01",
]


@pytest.fixture
def busy_calendar(owner, collection):
    """A user in Berlin whose calendar has items of each kind."""
    owner.time_zone = ZONE
    owner.save()
    now = timezone.now()
    today = now.astimezone(ZoneInfo(ZONE)).date()
    calendar = Calendar.objects.default_of(owner)
    other = Calendar.objects.create(owner=owner, name="Holidays, Berlin", hue="moss")

    def make(subject: str, start: datetime, length: timedelta, in_calendar=calendar, **details):
        values = {"start": WallTime(start, ZONE), "end": WallTime(start + length, ZONE), **details}
        return editing.create(in_calendar, {"subject": subject, **values}, now)[0]

    def at(hour: int, minute: int = 0, days: int = 0) -> datetime:
        return datetime.combine(today + timedelta(days=days), time(hour, minute))

    hour, day = timedelta(hours=1), timedelta(days=1)
    daily = {
        "pattern": {"type": "daily", "interval": 1},
        "range": {"type": "noEnd", "startDate": (today - 40 * day).isoformat()},
    }
    series = make("Stand-up", at(9, 0, -40), hour / 4, recurrence=daily)
    moved = {"start": WallTime(at(9, 30, 1), ZONE), "end": WallTime(at(9, 45, 1), ZONE)}
    editing.change_occurrence(series, today + day, moved, now)
    editing.cancel_occurrence(series, today - day, now)
    for number, name in enumerate(("Ledger workshop", "Interview", "Vendor call", "Hiring", "Fire drill")):
        make(name, at(13, 10 * number), hour, sensitivity="private" if number == 1 else "normal")
    make("Auditor visit", at(15), hour, show_as="tentative", locations=[{"displayName": "Room Spree"}])
    make("Cut-over", at(22), 4 * hour)
    make("Holidays", at(0, 0, -2), 6 * day, other, is_all_day=True)
    make("Clocks change", at(0), day, other, is_all_day=True, show_as="free")

    action = {"type": "Http", "request": {"uri": "https://example.com/x", "method": "POST"}}
    often = {"recurrence": {"frequency": "Minute", "interval": 5}}
    save_job(collection, "sensor-poll", JobDefinition(action=action, schedule=often), now)
    nightly = {"recurrence": {"frequency": "Day", "schedule": {"hours": [2], "minutes": [30]}}}
    job = save_job(collection, "db-backup", JobDefinition(action=action, schedule=nightly), now - 5 * day)[0]
    for number, state in enumerate(Run.State):
        fire_at = now - timedelta(hours=3 * number + 1)
        has_started = state in (Run.State.RUNNING, Run.State.SUCCEEDED, Run.State.FAILED, Run.State.LOST)
        Run.objects.create(
            subscription=collection.subscription,
            job=job,
            action=job.action,
            collection_name=collection.name,
            job_name=job.name,
            trigger_name="default",
            fire_at=fire_at,
            publish_after=fire_at,
            state=state,
            reason="" if has_started else "why it was so",
            started_at=fire_at if has_started else None,
            finished_at=None if state in Run.OPEN else fire_at + timedelta(minutes=40),
        )
    return owner


@pytest.fixture
def calendar_page(open_page, sign_in, busy_calendar):
    page = sign_in(open_page())
    page.goto("/calendar/")
    return page


def focused_text(page) -> str:
    """Return the label or the text of the focused element."""
    return page.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_views_are_accessible_in_light_and_dark_and_fit(
    open_page, sign_in, find_accessibility_faults, busy_calendar, width
):
    page = sign_in(open_page(width=width))
    faults = []

    for query in (*VIEWS, *CLOCK_CHANGES, "view=week&cancelled=1"):
        page.goto(f"/calendar/?{query}")
        faults += [f"{query} {fault}" for fault in find_accessibility_faults(page)]
        if scrolls_sideways(page):
            faults.append(f"{query} scrolls sideways")

    assert not faults, "\n".join(faults)


def test_popovers_are_accessible_and_within_the_window(calendar_page, find_accessibility_faults):
    page, faults = calendar_page, []

    for query, item in (("", ".item.event"), ("view=week", ".item.run"), ("view=agenda", ".entry")):
        page.goto(f"/calendar/?{query}")
        page.locator(item).last.click()
        sheet = page.get_by_role("dialog")
        sheet.wait_for()
        expect(sheet).to_be_focused()
        expect(sheet).to_be_in_viewport(ratio=0.99)
        found = (fault for fault in find_accessibility_faults(page) if not is_half_covered(fault))
        faults += [f"{query} {fault}" for fault in found]

    assert not faults, "\n".join(faults)


def is_half_covered(fault: str) -> bool:
    """Items that the open popover partly covers have a smaller target size."""
    return fault.startswith(('target-size: <a class="item', 'target-size: <a class="entry'))


def test_tap_on_a_day_of_the_month_lists_its_items_on_a_phone(open_page, sign_in, busy_calendar):
    page = sign_in(open_page(width=390))
    page.goto("/calendar/?date=2031-03-20")

    page.locator('td[data-date="2031-03-05"]').click(position={"x": 30, "y": 50})

    expect(page.locator(".day-agenda").get_by_text("Wednesday 5 March")).to_be_visible()
    expect(page.locator(".day-agenda").get_by_role("link", name="Stand-up")).to_be_visible()
    assert "date=2031-03-05" in page.url


def test_arrow_keys_move_in_the_month(calendar_page):
    page = calendar_page
    page.goto("/calendar/?date=2026-10-30")

    page.keyboard.press("ArrowRight")  # focuses the selected day
    page.keyboard.press("ArrowRight")
    expect(page.locator('td[data-date="2026-10-31"]')).to_be_focused()
    page.keyboard.press("ArrowDown")  # a week in the next month
    expect(page.locator('td[data-date="2026-11-07"]')).to_be_focused()
    expect(page.get_by_role("heading", level=1)).to_have_text("November 2026")
    page.keyboard.press("PageUp")
    expect(page.get_by_role("heading", level=1)).to_have_text("October 2026")
    expect(page.locator('td[data-date="2026-10-30"]')).to_be_focused()


def test_keys_open_an_item_and_return_the_focus(calendar_page):
    page = calendar_page
    page.keyboard.press("ArrowDown")
    today = page.locator("td[data-today]")
    expect(today).to_be_focused()

    page.keyboard.press("Enter")  # into the cell
    first = today.locator(".day-items a").first
    expect(first).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(first).to_be_focused()
    page.keyboard.press("Escape")
    expect(today).to_be_focused()


def test_letter_keys_select_views_and_today(calendar_page):
    page = calendar_page
    page.goto("/calendar/?date=2026-01-07")

    for key, view in (("w", "Week"), ("d", "Day"), ("a", "Agenda"), ("m", "Month")):
        page.keyboard.press(key)
        expect(page.locator(".segments [aria-current]")).to_have_text(view)
        assert "date=2026-01-07" in page.url
    page.keyboard.press("t")
    expect(page.locator("td[data-today]")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_text("earlier, later")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("stand")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("“stand”")


def test_arrow_keys_move_in_hours_and_enter_creates_an_event(calendar_page):
    page = calendar_page
    page.goto("/calendar/?view=week&date=2026-10-25")

    page.keyboard.press("ArrowDown")  # focuses the ninth hour of the axis
    assert focused_text(page).startswith("Monday 19 October 2026, 07:00")  # one hour repeats in this week
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert focused_text(page).startswith("Tuesday 20 October 2026, 08:00")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("events/new"))
    assert "start=2026-10-20T08%3A00" in page.url


def test_arrow_keys_skip_an_hour_that_does_not_exist(calendar_page):
    page = calendar_page
    page.goto("/calendar/?view=day&date=2027-03-28")
    page.keyboard.press("ArrowDown")
    for _ in range(5):
        page.keyboard.press("ArrowUp")

    hours = []
    for _ in range(3):
        page.keyboard.press("ArrowUp") if hours else None
        hours.append(focused_text(page).split(", ")[1])

    assert hours == ["03:00", "01:00", "00:00"]


def test_click_selects_an_hour_and_second_click_creates_an_event(calendar_page):
    page = calendar_page
    page.goto("/calendar/?view=day&date=2026-10-21")
    lanes = page.locator(".lanes")
    position = {"x": 300, "y": lanes.bounding_box()["height"] / 24 * 14.5}

    lanes.click(position=position)
    assert focused_text(page).startswith("Wednesday 21 October 2026, 14:00")
    lanes.click(position=position)

    page.wait_for_url(re.compile("events/new.*start=2026-10-21T14%3A00"))


def test_switches_apply_immediately_and_are_in_the_address(calendar_page):
    page = calendar_page
    expect(page.get_by_text("Holidays", exact=True).first).to_be_visible()

    page.get_by_label("Holidays, Berlin").uncheck()
    expect(page.locator(".month").get_by_text("Holidays", exact=True)).to_have_count(0)
    assert "off=" in page.url
    expect(page.get_by_label("Holidays, Berlin")).to_be_focused()
    page.get_by_label("Cancelled occurrences").check()
    expect(page.locator(".month [data-cancelled]").first).to_be_visible()
    page.reload()
    expect(page.get_by_label("Holidays, Berlin")).not_to_be_checked()
    page.go_back()
    expect(page.locator(".month [data-cancelled]")).to_have_count(0)


def test_zone_is_changed_by_selection_and_by_name(calendar_page):
    page = calendar_page
    page.goto("/calendar/?view=day&date=2026-10-21")

    page.get_by_label("Time zone", exact=True).select_option("UTC")
    expect(page.locator(".zones")).to_have_text(re.compile(r"UTC\s*Berlin"))
    page.get_by_label("Times in").fill("Kolkata")
    page.get_by_label("Times in").press("Enter")
    expect(page.locator(".zones")).to_have_text(re.compile(r"Kolkata\s*Berlin"))
    assert "zone=Asia/Kolkata" in page.url
    expect(page.locator(".lanes").get_by_text("Stand-up")).to_be_visible()


def test_calendar_works_without_javascript(open_page, sign_in, busy_calendar):
    page = sign_in(open_page(javascript=False))
    page.goto("/calendar/")

    page.get_by_role("link", name="Week", exact=True).click()
    page.get_by_label("Holidays, Berlin").uncheck()
    page.locator(".calendar-sidebar form").get_by_role("button", name="Show").first.click()
    expect(page.locator(".week").get_by_text("Holidays", exact=True)).to_have_count(0)
    page.locator(".item.event").first.click()
    expect(page.get_by_role("heading", name="Stand-up").first).to_be_visible()


def test_line_of_the_current_time_moves(open_page, sign_in, busy_calendar):
    page = sign_in(open_page())
    page.goto("/calendar/?view=day&zone=UTC")
    line = page.locator(".now-line")
    before = int(line.get_attribute("data-h")) * 60 + int(line.get_attribute("data-m"))

    page.clock.run_for(5 * 60_000)

    after = int(line.get_attribute("data-h")) * 60 + int(line.get_attribute("data-m"))
    assert after - before in (5, 6)
    label = page.locator(".now-label")
    expect(label).to_have_text(f"{after // 60:02}:{after % 60:02}")


def test_month_fits_one_printed_page(calendar_page):
    page = calendar_page
    page.set_viewport_size({"width": 1047, "height": 500})  # A4 landscape without margins at 96 dpi
    page.emulate_media(media="print")
    page.goto("/calendar/?date=2026-08-31")  # a month with six weeks

    assert page.locator(".month tbody tr").count() == 6
    assert page.evaluate("document.documentElement.scrollHeight") <= 718
    expect(page.locator(".calendar-sidebar")).to_be_hidden()
    expect(page.locator(".print-title")).to_be_visible()
