"""The admin of jobs as an operator uses it, in a real browser."""

import base64
import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import Role
from jobs.models import Job, Run
from tests.browser.conftest import press_in_sequence
from triggers.definitions import JobDefinition
from triggers.scheduling import save_job

pytestmark = pytest.mark.django_db(transaction=True)


def test_job_is_created_previewed_corrected_and_run(open_page, owner, collection):
    page = open_page()
    page.goto("/sign-in/")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/admin/")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Jobs").click()
    page.get_by_role("link", name="New job").first.click()
    preview = page.get_by_role("complementary", name="Preview")

    page.get_by_label("Name", exact=True).fill("backup")
    page.get_by_label("Address").fill("http://127.0.0.1:9/hook")
    page.get_by_text("Bounds, closed days and exceptions").click()
    page.get_by_label("Start", exact=True).fill("2027-01-04T08:00:00")
    page.get_by_label("Repeats").select_option("Week")
    page.get_by_text("Mon", exact=True).click()
    page.get_by_label("Times", exact=True).fill("06:30")
    expect(preview).to_contain_text("Monday")
    expect(preview.get_by_role("listitem")).to_have_count(10)

    page.get_by_label("Times", exact=True).fill("25:00")
    expect(preview).to_contain_text("'25:00' is not a time of day")
    page.get_by_role("button", name="Save job").click()
    expect(page.get_by_role("alert")).to_contain_text("Please correct the error below.")
    expect(page.get_by_label("Times", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#id_times_error")).to_contain_text("not a time of day")
    assert not Job.objects.exists()

    page.get_by_label("Times", exact=True).fill("06:30")
    page.get_by_role("button", name="Save job").click()
    expect(page.get_by_role("heading", name="backup")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("The next run is Mon 11 January 2027, 06:30 UTC")

    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_text("Started manually")).to_be_visible()
    run = Run.objects.get()
    assert (run.job.name, run.origin) == ("backup", Run.Origin.MANUAL)

    Run.objects.update(state=Run.State.SUCCEEDED, finished_at=run.fire_at)
    expect(page.locator("h1 + .badge")).to_have_text("Succeeded")  # the page refreshes itself


def test_fields_of_other_frequencies_are_hidden(open_page, sign_in, owner, collection):
    page = sign_in(open_page())
    page.goto("/admin/jobs/job/add/")
    shown = {
        "Minute": set(),
        "Hour": {"Minutes"},
        "Day": {"Times"},
        "Week": {"Times"},
        "Month": {"Times", "Days of the month", "Weekdays of the month"},
    }

    for frequency, labels in shown.items():
        page.get_by_label("Repeats").select_option(frequency)
        for label in set.union(*shown.values()):
            expect(page.get_by_label(label, exact=True)).to_be_visible(visible=label in labels)
        expect(page.get_by_role("group", name="Weekdays")).to_be_visible(visible=frequency == "Week")


REQUEST_FIELDS = {"method", "uri", "headers"}
FIELDS_BY_TYPE = {
    "Http": REQUEST_FIELDS,
    "Https": REQUEST_FIELDS,
    "StorageQueue": {"storage_account", "sas_token"},
    "ServiceBusQueue": {"namespace", "sas_key", "custom_properties", "bus_queue"},
    "ServiceBusTopic": {"namespace", "sas_key", "custom_properties", "bus_topic"},
}


@pytest.mark.parametrize("javascript", [True, False])
def test_only_fields_of_the_chosen_type_are_shown(open_page, sign_in, owner, collection, javascript):
    page = sign_in(open_page(javascript=javascript))
    page.goto("/admin/jobs/job/add/")

    for kind, fields in FIELDS_BY_TYPE.items():
        page.get_by_label("Type", exact=True).select_option(kind)
        for name in set().union(*FIELDS_BY_TYPE.values()):
            expect(page.locator(f"[name={name}]")).to_be_visible(visible=name in fields)


def test_only_fields_of_the_chosen_authentication_are_shown(open_page, sign_in, owner, collection):
    page = sign_in(open_page())
    page.goto("/admin/jobs/job/add/")
    shown = {"": [], "Basic": ["password"], "ClientCertificate": ["pfx_file"], "ActiveDirectoryOAuth": ["tenant"]}

    for kind, names in shown.items():
        page.locator("[name=authentication]").select_option(kind)
        for name in ("password", "pfx_file", "tenant"):
            expect(page.locator(f"[name={name}]")).to_be_visible(visible=name in names)


def test_queue_message_job_is_created_without_javascript(open_page, sign_in, owner, collection):
    page = sign_in(open_page(javascript=False))
    page.goto("/admin/jobs/job/add/")
    page.get_by_label("Name", exact=True).fill("mail")
    page.get_by_label("Type", exact=True).select_option("StorageQueue")
    page.get_by_label("Storage account").fill("account1")
    page.locator("[name=storage_queue]").fill("mail")
    page.get_by_label("SAS token").fill("sv=1&sig=topsecret")
    page.locator("[name=queue_message]").fill("hello")
    page.get_by_role("button", name="Save job").click()

    expect(page.get_by_role("heading", name="mail")).to_be_visible()
    expect(page.get_by_text("message to queue mail of account1").first).to_be_visible()


def test_certificate_is_uploaded_and_its_expiry_shown(open_page, sign_in, owner, collection, authority):
    certificate = authority.client("billing", expires_at=timezone.now() + timedelta(days=12))
    page = sign_in(open_page())
    page.goto("/admin/jobs/job/add/")
    page.get_by_label("Name", exact=True).fill("billing")
    page.get_by_label("Address").fill("https://billing.example.com/")
    page.locator("[name=authentication]").select_option("ClientCertificate")
    file = {"name": "billing.pfx", "mimeType": "application/x-pkcs12", "buffer": base64.b64decode(certificate.pfx)}
    page.get_by_label("PFX file").set_input_files(file)
    page.get_by_label("Password of the file").fill(certificate.password)
    page.get_by_role("button", name="Save job").click()

    expect(page.get_by_role("heading", name="billing")).to_be_visible()
    expect(page.get_by_text(certificate.thumbprint)).to_be_visible()
    expect(page.get_by_text("Expires soon")).to_be_visible()


def test_entered_secrets_are_not_sent_to_the_preview(open_page, sign_in, owner, collection):
    page = sign_in(open_page())
    page.goto("/admin/jobs/job/add/")
    page.locator("[name=authentication]").select_option("Basic")
    sent = []
    page.on("request", lambda request: sent.append(request.post_data or ""))

    page.get_by_label("Headers").fill("Authorization: Bearer opensesame")
    page.get_by_label("Password", exact=True).fill("opensesame")
    page.get_by_label("Repeats").select_option("Hour")

    expect(page.get_by_role("complementary", name="Preview")).to_contain_text("Every hour")
    assert sent
    assert not any("opensesame" in text for text in sent)


def test_signing_secret_is_shown_once_and_signing_stopped(open_page, sign_in, owner, job_with_runs):
    page = sign_in(open_page())
    page.goto(f"/admin/jobs/job/{job_with_runs.pk}/")
    page.get_by_role("link", name="Sign requests…").click()
    page.get_by_role("button", name="Sign requests").click()

    secret = page.locator("#secret").inner_text()
    assert secret.startswith("whsec_")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("heading", name="Every request is signed")).to_be_visible()
    assert secret not in page.content()

    page.get_by_role("button", name="Stop signing").click()
    expect(page.get_by_role("heading", name="Requests are not signed")).to_be_visible()


def test_test_request_is_sent_and_its_response_shown(open_page, sign_in, owner, collection, target, settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]
    request = {"uri": f"{target.url}/hook", "method": "POST", "body": "hello"}
    definition = JobDefinition(action={"type": "Http", "request": request}, schedule={}, state="disabled")
    job, _ = save_job(collection, "caller", definition, timezone.now())
    page = sign_in(open_page())
    page.goto(f"/admin/jobs/job/{job.pk}/")
    page.get_by_role("link", name="Send a test…").click()
    expect(page.get_by_text("This calls the target")).to_be_visible()
    assert target.calls == []

    page.get_by_role("button", name="Send a test").click()

    expect(page.get_by_role("group", name="The request")).to_contain_text("POST /hook")
    expect(page.get_by_role("group", name="The response")).to_contain_text("ok")
    assert len(target.calls) == 1


def test_job_form_previews_and_saves_without_javascript(open_page, sign_in, owner, collection):
    page = sign_in(open_page(javascript=False))
    page.goto("/admin/jobs/job/add/")
    page.get_by_label("Name", exact=True).fill("backup")
    page.get_by_label("Address").fill("http://127.0.0.1:9/hook")
    page.get_by_label("Repeats").select_option("Hour")

    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("complementary", name="Preview")).to_contain_text("Every hour")
    assert not Job.objects.exists()

    page.get_by_role("button", name="Save job").click()
    expect(page.get_by_role("heading", name="backup")).to_be_visible()


def test_preview_shows_what_was_entered_before_the_scripts_had_loaded(open_page, sign_in, owner, collection):
    page = sign_in(open_page())
    pending_routes = []
    page.route("**/htmx*.js", lambda route: pending_routes.append(route))
    page.goto("/admin/jobs/job/add/", wait_until="commit")
    page.get_by_label("Repeats").select_option("Hour")
    expect(page.get_by_role("complementary", name="Preview")).not_to_contain_text("Every hour")

    pending_routes[0].continue_()

    expect(page.get_by_role("complementary", name="Preview")).to_contain_text("Every hour")


def test_schedule_is_written_by_keyboard_pasted_translated_and_corrected(open_page, sign_in, owner, collection):
    page = sign_in(open_page(width=390))
    page.goto("/admin/jobs/job/add/")
    preview = page.get_by_role("complementary", name="Preview")
    page.get_by_label("Name", exact=True).fill("backup")
    page.get_by_label("Address").fill("http://127.0.0.1:9/hook")
    page.get_by_label("Headers").fill("Authorization: Bearer swordfish")

    page.get_by_label("Times", exact=True).focus()
    page.evaluate("navigator.clipboard.writeText('30 9 * * 1-5')")
    page.keyboard.press("Control+v")
    expect(page.get_by_text("Recognized a crontab line: 30 9 * * 1-5")).to_be_visible()
    expect(page.get_by_label("Crontab line")).to_have_value("30 9 * * 1-5")
    expect(page.get_by_label("Crontab line")).to_be_focused()
    expect(preview).to_contain_text("At 09:30 UTC on weekdays.")

    page.get_by_role("link", name="Quartz").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Cron expression")).to_have_value("0 30 9 ? * MON-FRI")
    expect(page.get_by_role("link", name="Quartz")).to_be_focused()
    page.get_by_label("Cron expression").fill("0 15 10 * * *")
    expect(preview).to_contain_text("One of day of month and day of week must be ?")
    page.get_by_role("button", name="Save job").press("Enter")
    page.get_by_role("button", name="Use 0 15 10 * * ?").press("Enter")
    expect(page.get_by_label("Cron expression")).to_have_value("0 15 10 * * ?")
    expect(preview).to_contain_text("Every day at 10:15 UTC.")
    page.get_by_role("link", name="JSON").press("Enter")
    expect(page.get_by_label("Schedule as JSON", exact=True)).to_have_value(re.compile('"0 15 10'))
    page.get_by_role("link", name="Simple").press("Enter")
    expect(page.get_by_label("Times", exact=True)).to_have_value("10:15")

    expect(page.get_by_label("Name", exact=True)).to_have_value("backup")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_tabs_are_links_without_javascript(open_page, sign_in, owner, make_job):
    job = make_job(format="cron", schedule={"expression": "30 9 * * 1-5"})
    page = sign_in(open_page(javascript=False))
    page.goto(f"/admin/jobs/job/{job.pk}/change/")

    page.get_by_role("link", name="Quartz").click()
    expect(page.get_by_label("Cron expression")).to_have_value("0 30 9 ? * MON-FRI")
    page.get_by_label("Cron expression").fill("30 10 * * *")
    page.get_by_role("button", name="Save changes").click()
    page.get_by_role("button", name="Open in Cron").click()
    expect(page.get_by_label("Crontab line")).to_have_value("30 10 * * *")
    page.get_by_role("button", name="Save changes").click()

    expect(page.get_by_role("status").first).to_contain_text("Saved.")
    assert job.triggers.get().definition == {"expression": "30 10 * * *"}


def test_selected_rows_show_their_actions(open_page, sign_in, owner, job_with_runs):
    page = sign_in(open_page())
    page.goto("/admin/jobs/job/")
    expect(page.get_by_role("button", name="Disable…")).to_be_hidden()

    page.get_by_label("Select all objects on this page for an action").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_role("button", name="Disable…").click()
    page.get_by_role("button", name="Disable 2 jobs").click()

    expect(page.get_by_role("status").first).to_contain_text("Disabled: 2 jobs.")


def test_dashboard_refreshes_without_a_reload(open_page, sign_in, owner, job_with_runs):
    page = sign_in(open_page())
    page.goto("/admin/")
    expect(page.get_by_role("link", name="1 disabled job not")).to_be_visible()

    type(job_with_runs).objects.filter(name="invoices").update(state="disabled")
    page.clock.run_for(5000)

    expect(page.get_by_role("link", name="2 disabled jobs")).to_be_visible()


def test_keys_open_jobs_and_search(open_page, sign_in, owner, collection):
    page = sign_in(open_page())
    page.goto("/admin/")

    press_in_sequence(page, "g", "j")
    page.wait_for_url("**/admin/jobs/job/")
    page.keyboard.press("/")
    page.keyboard.type("back")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=back*")


def test_keyboard_dialog_is_centred_and_returns_the_focus(open_page, sign_in, owner):
    page = sign_in(open_page())
    page.goto("/admin/")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.outerHTML")

    page.keyboard.press("?")
    expect(sheet.get_by_text("show keyboard shortcuts")).to_be_in_viewport(ratio=1)
    box = sheet.bounding_box()
    assert box["x"] + box["width"] / 2 == pytest.approx(640, abs=10)
    assert box["y"] + box["height"] / 2 == pytest.approx(450, abs=10)
    expect(sheet.get_by_role("button", name="Close")).to_be_focused()

    page.keyboard.press("/")  # keys of the page behind the dialog do nothing
    expect(sheet.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    assert page.evaluate("document.activeElement.outerHTML") == focused

    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(sheet).to_be_visible()
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()


def test_dark_theme_is_chosen_and_kept(open_page, sign_in, owner, collection):
    page = sign_in(open_page())
    page.goto("/admin/")
    page.get_by_label("Account and settings of ada").click()
    page.get_by_role("button", name="Dark").click()
    page.goto("/admin/jobs/job/")

    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(11, 20, 23)"


def test_reader_sees_no_actions(open_page, sign_in, make_user, job_with_runs):
    make_user("rita", Role.READER, is_staff=True)
    page = sign_in(open_page(), "rita")
    page.goto(f"/admin/jobs/job/{job_with_runs.pk}/")

    expect(page.get_by_role("heading", name="invoices")).to_be_visible()
    expect(page.get_by_role("button", name="Run now")).to_be_hidden()
