"""The admin of triggers as an operator uses it, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import press_in_sequence
from triggers.models import Trigger

pytestmark = pytest.mark.django_db(transaction=True)


def test_trigger_is_created_previewed_corrected_disabled_and_deleted(open_page, sign_in, owner, job_with_runs):
    page = sign_in(open_page())
    page.goto(f"/admin/jobs/job/{job_with_runs.pk}/")
    page.get_by_role("link", name="Add a trigger").click()
    preview = page.get_by_role("complementary", name="Preview")

    page.get_by_role("link", name="Quartz").click()
    page.get_by_label("Cron expression").fill("0 30 2 28 3 ?")
    page.get_by_label("Name", exact=True).fill("nightly")
    page.get_by_label("Time zone").fill("Europe/Berlin")
    expect(preview.get_by_role("listitem")).to_have_count(10)
    expect(preview).to_contain_text("moved from 02:30, which clocks skip")
    page.get_by_text("Bounds, closed days and exceptions").click()
    page.get_by_label("Clock changes").select_option("quartz")
    expect(preview).to_contain_text("left out: clocks skip it")
    page.get_by_label("Group").fill("message-processor")
    expect(preview).to_contain_text("Nobody serves message-processor: its runs wait.")

    page.get_by_label("Cron expression").fill("0 30 2 * * *")
    expect(preview).to_contain_text("One of day of month and day of week must be ?")
    page.get_by_role("button", name="Save trigger").click()
    expect(page.get_by_role("alert")).to_contain_text("Please correct the error below.")
    expect(page.locator("#id_expression_error")).to_contain_text("must be ?")
    page.get_by_label("Cron expression").fill("0 30 2 ? * 6L")
    page.get_by_role("button", name="Save trigger").click()

    expect(page.get_by_role("rowheader", name="nightly")).to_contain_text("the last Friday of each month")
    expect(page.get_by_role("cell", name="no worker serves it: its runs wait")).to_be_visible()
    page.get_by_role("button", name="Disable nightly").click()
    expect(page.get_by_role("status").first).to_contain_text("Disabled: nightly.")
    page.get_by_role("button", name="Enable nightly").click()
    expect(page.get_by_role("button", name="Disable nightly")).to_be_visible()
    page.get_by_role("link", name="Delete nightly…").click()
    page.get_by_role("button", name="Delete nightly").click()
    expect(page.get_by_role("status").first).to_contain_text("Deleted: nightly.")
    assert not Trigger.objects.filter(name="nightly").exists()


def test_form_that_nobody_has_changed_requests_no_preview(open_page, sign_in, owner, job_with_triggers):
    page = sign_in(open_page())
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    triggers = job_with_triggers.triggers.exclude(name="default")

    for address in (
        *(f"/admin/triggers/trigger/{trigger.pk}/change/" for trigger in triggers),
        f"/admin/jobs/job/{job_with_triggers.pk}/change/",
    ):
        page.goto(address)
        page.wait_for_timeout(400)  # longer than a form waits after an input

    assert [url for url in requests if "/preview/" in url] == []
    page.get_by_label("Name", exact=True).fill("another")
    with page.expect_request("**/preview/*"):
        pass


def test_each_tab_has_its_own_fields(open_page, sign_in, owner, job_with_runs):
    page = sign_in(open_page())
    page.goto(f"/admin/triggers/trigger/add/?job={job_with_runs.pk}")
    shown = {
        "Cron": {"expression", "time_zone"},
        "RRULE": {"rrule", "event_start", "time_zone"},
        "Outlook": {"pattern", "event_start", "time_zone"},
        "Once": {"at", "time_zone"},
        "Sun": {"event", "latitude", "time_zone"},
        "JSON": {"schedule_json"},
        "Simple": {"frequency", "interval", "time_zone"},
    }

    for tab, names in shown.items():
        page.get_by_role("link", name=tab, exact=True).click()
        expect(page.get_by_role("link", name=tab, exact=True)).to_have_attribute("aria-current", "page")
        visible = {name for name in set.union(*shown.values()) if page.locator(f"[name={name}]:visible").count()}
        assert visible == names


def test_trigger_form_previews_and_saves_without_javascript(open_page, sign_in, owner, job_with_runs):
    page = sign_in(open_page(javascript=False))
    page.goto(f"/admin/triggers/trigger/add/?job={job_with_runs.pk}")
    page.get_by_role("link", name="Cron", exact=True).click()
    page.get_by_role("link", name="Simple").click()
    page.get_by_label("Name", exact=True).fill("often")
    page.get_by_label("Repeats").select_option("Every … seconds")
    page.get_by_role("textbox", name="Interval").fill("90")

    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("complementary", name="Preview")).to_contain_text("Every 90 seconds")
    page.get_by_role("button", name="Save trigger").click()

    expect(page.get_by_role("rowheader", name="often")).to_be_visible()


def test_job_is_created_without_a_schedule(open_page, sign_in, owner, collection):
    page = sign_in(open_page())
    page.goto("/admin/jobs/job/add/")
    page.get_by_label("Name", exact=True).fill("bare")
    page.get_by_label("Address").fill("http://127.0.0.1:9/hook")
    page.get_by_role("link", name="No schedule").click()
    expect(page.get_by_label("First run")).to_be_hidden()
    expect(page.get_by_label("Missed runs")).to_be_hidden()

    page.get_by_role("button", name="Save job").click()

    expect(page.get_by_text("No schedule of its own.")).to_be_visible()


def test_keys_open_triggers_and_search_finds_one(open_page, sign_in, owner, job_with_triggers):
    page = sign_in(open_page())
    page.goto("/admin/")
    press_in_sequence(page, "g", "t")
    page.wait_for_url("**/admin/triggers/trigger/")
    page.get_by_role("searchbox", name="Name, or the job's").fill("often")
    page.keyboard.press("Enter")

    expect(page.get_by_role("rowheader")).to_have_count(1)
    page.get_by_role("link", name="often").click()
    expect(page.get_by_role("heading", name="Trigger often")).to_be_visible()
