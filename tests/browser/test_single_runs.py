"""Closed days, jitter windows and orders for single runs on the calendar, in a real browser."""

from datetime import UTC, date, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.layout import scrolls_sideways
from triggers import closed_days
from triggers.models import Trigger

pytestmark = pytest.mark.django_db(transaction=True)

VIEWS = ("month", "week", "day", "agenda")


@pytest.fixture
def wednesday() -> date:
    """The next Wednesday: a working day that is completely in the future."""
    today = timezone.now().astimezone(UTC).date()
    return today + timedelta((2 - today.weekday()) % 7 or 7)


@pytest.fixture
def trigger(owner, subscription, make_job, make_trigger, wednesday) -> Trigger:
    """A trigger with jitter that fires every day at noon; Tuesdays are closed and move to Wednesday."""
    owner.time_zone = "UTC"
    owner.save()
    now = timezone.now()
    tuesday = {"date": (wednesday - timedelta(1)).isoformat(), "name": "Founders' day"}
    closed_days.create(subscription, "offices", {"weekend": ["saturday", "sunday"], "dates": [tuesday]}, now)
    members = {"closedDays": {"calendar": "offices", "rule": "after"}}
    make_trigger(make_job("weekly", schedule=None), definition={"expression": "0 0 9 ? * TUE", **members}, now=now)
    definition = {"expression": "0 0 12 * * ?", "jitter": "PT2H"}
    return make_trigger(make_job("report", schedule=None), definition=definition, now=now)


@pytest.mark.parametrize("javascript", [True, False])
def test_run_is_left_out_and_brought_back_by_keyboard(open_page, sign_in, trigger, wednesday, javascript):
    page = sign_in(open_page(javascript=javascript))
    page.goto(f"/calendar/?view=week&date={wednesday}")
    runs = page.locator(f'td.day[data-date="{wednesday}"]').get_by_role("link", name="report")
    expect(runs).to_have_count(1)

    runs.press("Enter")
    page.get_by_role("button", name="Leave this run out").press("Enter")

    expect(page.locator(".banner[role=status]")).to_contain_text("The run is left out.")
    expect(page).to_have_url(f"{page.url.split('/calendar')[0]}/calendar/?view=week&date={wednesday}")
    expect(runs).to_have_count(0)
    page.get_by_role("button", name="Undo").press("Enter")

    expect(page.locator(".banner[role=status]")).to_contain_text("The change is undone.")
    expect(runs).to_have_count(1)
    assert "skips" not in Trigger.objects.get(pk=trigger.pk).definition


@pytest.mark.parametrize("javascript", [True, False])
def test_run_of_a_list_is_moved_and_the_page_leads_back(open_page, sign_in, trigger, javascript):
    page = sign_in(open_page(width=390, javascript=javascript))
    page.goto(f"/admin/jobs/job/{trigger.job_id}/")
    first = page.locator(".upcoming li").first
    expect(first).to_contain_text("starts between 12:00 and 14:00")

    first.locator("summary").press("Enter")
    first.get_by_role("link", name="Move it…").press("Enter")
    page.get_by_label("Move it to, in UTC").fill("2030-01-02T10:30")
    page.get_by_role("button", name="Move it").press("Enter")

    expect(page.locator(".banner[role=status]")).to_contain_text("The run is moved.")
    expect(page.get_by_role("heading", name="report")).to_be_visible()
    assert Trigger.objects.get(pk=trigger.pk).definition["extras"] == ["2030-01-02T10:30:00Z"]
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.locator(".banner[role=status]")).to_contain_text("The change is undone.")
    assert Trigger.objects.get(pk=trigger.pk).definition.keys() == {"expression", "jitter"}


@pytest.mark.parametrize("width", [1280, 390])
def test_closed_days_and_windows_are_accessible(
    open_page, sign_in, find_accessibility_faults, trigger, wednesday, width
):
    page, faults = sign_in(open_page(width=width)), []

    for view in VIEWS:
        page.goto(f"/calendar/?view={view}&date={wednesday - timedelta(1)}")
        expect(page.locator("#calendar-main [data-closed]").first).to_be_visible()
        faults += [f"{view} {fault}" for fault in find_accessibility_faults(page)]
        if scrolls_sideways(page):
            faults.append(f"{view} scrolls sideways")
    for address in (f"/admin/triggers/trigger/{trigger.pk}/fire-times/", "/calendar/planned/"):
        at = f"{wednesday}T12:00:00Z"
        page.goto(f"{address}{trigger.pk}/{at}" if address.endswith("planned/") else f"{address}?at={at}")
        faults += [f"{address} {fault}" for fault in find_accessibility_faults(page)]

    assert not faults, "\n".join(faults)
