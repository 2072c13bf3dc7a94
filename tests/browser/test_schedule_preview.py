"""Schedules in a real browser: the panel next to the form of a schedule, and the notations of a series of events."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from calendars.models import Event

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def nightly(make_job, make_trigger):
    definition = {"expression": "0 0 2 * * ?", "timeZone": "UTC"}
    return make_trigger(make_job(), "nightly", definition=definition, now=timezone.now())


def test_panel_keeps_the_chosen_days_of_the_comparison(open_page, sign_in, owner, nightly, find_accessibility_faults):
    page = sign_in(open_page())
    page.goto(f"/admin/triggers/trigger/{nightly.pk}/change/")
    panel = page.get_by_role("complementary", name="Preview")
    expect(panel.get_by_text("1 run a day.")).to_be_visible()
    expect(panel.get_by_label("30 days")).to_have_count(0)

    page.get_by_label("Cron expression").fill("0 0 3 * * ?")
    expect(panel.get_by_text("30 runs")).to_be_visible()
    panel.get_by_label("90 days").focus()
    page.keyboard.press("Space")
    expect(panel.get_by_text("90 runs")).to_be_visible()
    page.get_by_label("Cron expression").fill("0 0 4 * * ?")
    expect(panel.get_by_text("02:00 to 04:00")).to_be_visible()

    expect(panel.get_by_label("90 days")).to_be_checked()
    assert find_accessibility_faults(page) == []


def test_pasted_crontab_line_fills_the_form_of_an_event(open_page, sign_in, owner, find_accessibility_faults):
    page = sign_in(open_page())
    page.goto("/calendar/events/new?start=2098-12-01T10:00")
    page.get_by_label("Title").fill("Review")
    page.get_by_text("Paste a rule").click()
    page.evaluate("navigator.clipboard.writeText('CRON_TZ=America/New_York\\n30 8 * * 1-5')")
    page.get_by_label("Schedule text").focus()
    page.keyboard.press("Control+V")

    expect(page.get_by_label("Starts")).to_have_value("2098-12-01T08:30")
    expect(page.get_by_label("Time zone")).to_have_value("America/New_York")
    expect(page.get_by_role("complementary", name="Preview")).to_contain_text("from Monday to Friday from 08:30")
    with page.expect_response("**/events/preview"):  # a preview that is replaced has other colours for a moment
        page.get_by_role("link", name="RRULE").click()
        expect(page.get_by_label("Rule of iCalendar")).to_have_value("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR")
    expect(page.locator(".htmx-swapping, .htmx-settling")).to_have_count(0)
    assert find_accessibility_faults(page) == []
    page.get_by_role("button", name="Create series").click()
    page.wait_for_url("**/calendar/?*")

    event = Event.objects.get()
    assert (event.subject, event.recurrence["pattern"]["type"]) == ("Review", "weekly")


def test_text_that_is_no_rule_is_taken_from_the_field_of_rules(open_page, sign_in, owner):
    page = sign_in(open_page())
    page.goto("/calendar/events/new?start=2098-12-01T10:00&tab=rrule")
    page.evaluate("navigator.clipboard.writeText('@hourly')")
    page.get_by_label("Rule of iCalendar").focus()
    page.keyboard.press("Control+V")

    expect(page.get_by_text("more than one time of the day")).to_be_visible()
    expect(page.get_by_label("Rule of iCalendar")).to_have_value("")


def test_notations_and_pasting_work_without_javascript(open_page, sign_in, owner):
    page = sign_in(open_page(javascript=False))
    page.goto("/calendar/events/new?start=2098-12-01T10:00")
    page.get_by_role("link", name="JSON").click()
    expect(page.get_by_label("Recurrence as JSON")).to_have_value("")
    page.get_by_text("Paste a rule").click()
    page.get_by_label("Schedule text").fill("@daily")
    page.get_by_role("button", name="Take over").click()

    expect(page.get_by_label("Daily")).to_be_checked()


def test_correction_in_the_preview_and_undo_of_a_paste_by_keyboard(open_page, sign_in, owner, collection):
    page = sign_in(open_page(width=390))
    page.goto("/admin/jobs/job/add/?tab=quartz")
    preview = page.get_by_role("complementary", name="Preview")
    expression = page.get_by_label("Cron expression")

    expression.fill("0 15 10 * * *")
    preview.get_by_role("button", name="Use 0 15 10 * * ?").press("Enter")
    expect(expression).to_have_value("0 15 10 * * ?")
    expect(expression).to_be_focused()
    expect(preview).to_contain_text("Every day at 10:15 UTC.")

    page.evaluate("navigator.clipboard.writeText('RRULE:FREQ=DAILY;BYHOUR=9')")
    page.keyboard.press("Control+v")
    expect(page.get_by_label("Rule", exact=True)).to_have_value("FREQ=DAILY;BYHOUR=9")
    expect(page.get_by_label("Rule", exact=True)).to_be_focused()
    expect(preview).to_contain_text("Every day at 09:00 UTC.")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(expression).to_have_value("0 15 10 * * ?")
    expect(page.get_by_text("Recognized a rule")).to_have_count(0)
    expect(preview).to_contain_text("Every day at 10:15 UTC.")


@pytest.mark.parametrize("width, is_beside", [(1280, True), (390, False)])
@pytest.mark.parametrize(
    "address, before, after",
    [
        ("/admin/jobs/job/add/", "#schedule", "section[aria-labelledby=what]"),
        ("/calendar/events/new?start=2098-12-01T10:00", "#repeat-section", "section[aria-label=Details]"),
    ],
)
def test_preview_stands_beside_the_form_or_below_the_schedule(
    open_page, sign_in, owner, collection, width, is_beside, address, before, after
):
    page = sign_in(open_page(width=width))
    page.goto(address)

    schedule, preview, rest = (page.locator(each).bounding_box() for each in (before, "#preview", after))

    if is_beside:
        assert schedule["x"] + schedule["width"] < preview["x"]
        assert 0 < rest["y"] - schedule["y"] - schedule["height"] < 32
    else:
        assert schedule["y"] + schedule["height"] < preview["y"] < preview["y"] + preview["height"] < rest["y"]
