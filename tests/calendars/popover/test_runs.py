"""The popover of a run."""

import html
from datetime import timedelta
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.utils import timezone
from django.utils.translation import get_language
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import Role
from jobs.holds import HeldRun, end_holds, start_holds
from jobs.models import Run
from tests.calendars.popover.items import popover_item
from tests.conftest import utc
from tests.maintenance.notices import announce, resource
from triggers import closed_days
from triggers.admin import fire_times
from triggers.dispatch import dispatch_due
from triggers.models import Trigger

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]
BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = utc("2026-01-05T08:00Z")


@pytest.fixture
def job_with_runs(make_job, owner):
    """A job with a trigger and with runs in several states, the newest last."""
    job = make_job()
    now = timezone.now().replace(microsecond=0)
    reasons = {"succeeded": "", "failed": "", "missed": "the scheduler was down", "skipped": "one still ran"}
    for number, (state, reason) in enumerate(reasons.items()):
        at = now - timedelta(hours=10 - number)
        began = state in ("succeeded", "failed")
        Run.objects.create(
            subscription_id=job.collection.subscription_id,
            job=job,
            action=job.action,
            collection_name="nightly",
            job_name="backup",
            trigger_name="default",
            fire_at=at,
            publish_after=at,
            state=state,
            reason=reason,
            started_at=at + timedelta(minutes=9) if began else None,
            finished_at=at + timedelta(minutes=13) if began else at,
        )
    return job


def run_page(client, state):
    return client.get(f"/calendar/runs/{Run.objects.get(state=state).pk}")


def test_popover_shows_the_result_of_a_run(browser, job_with_runs):
    item = popover_item(run_page(browser, "succeeded"))

    assert (item["title"], item["collection"], item["outcome"].word) == ("backup", "nightly", "Late")
    assert (item["duration"], item["delay"], item["typical_duration"], item["reason"]) == (
        "4 min",
        "9 min",
        "4 min",
        "",
    )
    assert item["repeats"] == "Every day at 08:00 UTC"
    assert item["outcome_counts"] == "1 late, 1 failed, 1 missed, 1 skipped"


def test_popover_shows_past_holds_of_a_run(browser, job_with_runs, subscription):
    now = timezone.now().replace(second=0, microsecond=0)
    notice = announce(resource(subscription), now=now - timedelta(hours=12), has_started=True)
    run = Run.objects.get(state="succeeded")
    start_holds([HeldRun(run.pk, f"notice {notice.pk}", "held by maintenance: Reboot of db-2")], now)
    end_holds([run.pk], now + timedelta(minutes=5))

    page = run_page(browser, "succeeded")

    [hold] = popover_item(page)["holds"]
    assert hold["what"] == "Reboot of db-2"
    assert hold["when"] == "Thu 1 January, 13:00–13:05"
    assert browser.get(hold["url"]).status_code == 200
    assert f'<a href="{hold["url"]}">Reboot of db-2</a>' in page.text
    notice.delete()
    [hold] = popover_item(run_page(browser, "succeeded"))["holds"]
    assert (hold["what"], hold["url"]) == ("held by maintenance: Reboot of db-2", "")


@pytest.mark.parametrize("state, label", [("skipped", "Still running"), ("succeeded", "Waited for")])
def test_popover_links_to_the_run_that_blocked_it(browser, job_with_runs, state, label):
    blocking_run = Run.objects.get(state="failed")
    Run.objects.filter(state=state).update(blocked_by=blocking_run.pk)

    page = run_page(browser, state)

    row = popover_item(page)["blocking"]
    assert (row["label"], row["url"]) == (label, f"/calendar/runs/{blocking_run.pk}")
    assert f'<a href="{row["url"]}">{row["words"]}</a>' in page.text
    blocking_run.delete()
    assert popover_item(run_page(browser, state))["blocking"] is None


@pytest.mark.parametrize(
    "state, word, reason",
    [("missed", "Missed", "The scheduler was down"), ("skipped", "Skipped", "One still ran")],
)
def test_popover_of_a_missed_or_skipped_run_shows_the_reason(browser, job_with_runs, state, word, reason):
    item = popover_item(run_page(browser, state))

    assert (item["outcome"].word, item["reason"]) == (word, reason)
    assert item["last_run"]["outcome"].word in ("Failed", "Missed")


def test_popover_counts_consecutive_missed_fire_times(browser, job_with_runs):
    run = Run.objects.get(state="missed")
    Run.objects.filter(pk=run.pk).update(missed_count=13, missed_until=run.fire_at + timedelta(hours=1))

    assert popover_item(run_page(browser, "missed"))["reason"].startswith("13 times until ")


def test_popover_of_a_run_works_after_its_job_is_deleted(browser, job_with_runs):
    job_with_runs.delete()

    item = popover_item(run_page(browser, "failed"))

    assert (item["title"], item["job_url"], item["order_url"], item["outcomes"]) == ("backup", "", "", [])


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_popover_links_follow_the_permissions_of_the_user(client, make_user, job_with_runs, role):
    client.force_login(make_user("olga", role))

    item = popover_item(run_page(client, "failed"))

    assert client.get(item["run_url"]).status_code == client.get(item["job_url"]).status_code == 200
    assert bool(item["order_url"]) is (role == Role.OPERATOR)


def test_superuser_without_a_membership_can_run_any_job(client, make_user, job_with_runs):
    client.force_login(make_user("root", None, is_staff=True, is_superuser=True))

    run_job_url = popover_item(run_page(client, "failed"))["order_url"]

    assert client.post(run_job_url).url.startswith("/admin/jobs/run/")


def test_runs_of_other_subscriptions_are_not_found(client, make_user, job_with_runs):
    client.force_login(make_user("stranger", None, is_staff=True))

    assert run_page(client, "failed").status_code == 404
    assert client.get(planned_url(job_with_runs.triggers.get())).status_code == 404


def planned_url(trigger: Trigger, at=None) -> str:
    return f"/calendar/planned/{trigger.pk}/{(at or trigger.next_fire_at):%Y-%m-%dT%H:%M:%SZ}"


def test_popover_of_a_planned_run_shows_the_last_result(browser, job_with_runs):
    trigger = job_with_runs.triggers.get()

    item = popover_item(browser.get(planned_url(trigger, trigger.next_fire_at + timedelta(days=3))))

    assert (item["title"], item["outcome"].word) == ("backup", "Planned")
    assert item["last_run"]["outcome"].word == "Skipped"


def test_planned_run_redirects_to_its_stored_run(browser, job_with_runs):
    run = Run.objects.get(state="failed")

    assert browser.get(planned_url(job_with_runs.triggers.get(), run.fire_at)).url == f"/calendar/runs/{run.pk}"


@pytest.mark.parametrize(
    "instant",
    [
        "soon",
        "2026-10-22",
        "2026-10-22T08:00:00",
        "2026-10-22T08:00:01Z",
        "0001-01-01T00:00+14:00",
        "9999-12-31T23:59:59-12:00",
    ],
)
def test_planned_run_at_another_instant_is_not_found(browser, job_with_runs, instant):
    assert browser.get(f"/calendar/planned/{job_with_runs.triggers.get().pk}/{instant}").status_code == 404


@pytest.mark.parametrize("trigger", ["0", str(2**63), "9" * 400])
def test_planned_run_of_an_unknown_trigger_is_not_found(browser, trigger):
    assert browser.get(f"/calendar/planned/{trigger}/2026-10-22T16:00:00Z").status_code == 404


# Moves, jitter, and orders for single runs


@pytest.fixture
def moved(make_job, make_trigger, subscription):
    """A trigger with jitter, whose runs of Saturday, 08:00 UTC, closed days move to Monday."""
    closed_days.create(subscription, "offices", {"weekend": ["saturday", "sunday"]}, timezone.now())
    definition = {
        "expression": "0 0 8 ? * SAT",
        "closedDays": {"calendar": "offices", "rule": "after"},
        "jitter": "PT10M",
    }
    return make_trigger(make_job("weekly", schedule=None), definition=definition, now=timezone.now())


def test_popover_says_from_where_a_run_is_moved_and_when_it_starts(browser, moved):
    start = f"{moved.start_of(MONDAY).astimezone(BERLIN):%H:%M:%S}"

    page = browser.get(f"/calendar/planned/{moved.pk}/2026-01-05T08:00:00Z")

    assertContains(page, "<dd>moved from Sat 3 January, 09:00</dd>")
    assertContains(page, f"<dt>Starts</dt><dd>between 09:00 and 09:10, at {start}</dd>", html=True)
    dispatch_due(MONDAY)
    with time_machine.travel(MONDAY, tick=False):
        page = browser.get(f"/calendar/runs/{Run.objects.get().pk}")
    assertContains(page, "<dd>moved from Sat 3 January, 09:00</dd>")
    assertContains(page, f"<dt>Starts</dt><dd>at {start}</dd>", html=True)


def test_operators_change_single_runs_on_the_popover(browser, moved):
    view = "/calendar/?view=week&date=2026-01-07"
    page = browser.get(f"/calendar/planned/{moved.pk}/2026-01-05T08:00:00Z?view=week&date=2026-01-07")
    address = f"/admin/triggers/trigger/{moved.pk}/fire-times/"

    assertContains(page, f'href="{address}?at=2026-01-05T08%3A00%3A00%2B00%3A00&amp;next={quote(view)}"')
    assertContains(page, f'href="{address}?next={quote(view)}#add"')
    fields = {"order": "skip", "at": "2026-01-05T08:00:00+00:00", "next": view}
    for name, value in fields.items():
        assertContains(page, f'name="{name}" value="{html.escape(value)}"')
    response = browser.post(address, fields)

    assert response["Location"] == view
    assertContains(browser.get(view), "The run is left out.")
    assert Trigger.objects.get(pk=moved.pk).definition["skips"] == ["2026-01-03T08:00:00Z"]


def test_message_on_the_calendar_is_in_the_language_of_the_viewer(browser, owner, moved, monkeypatch):
    owner.language = "de"
    owner.save()
    monkeypatch.setattr(fire_times, "gettext", lambda text: f"{text} ({get_language()})")
    address = f"/admin/triggers/trigger/{moved.pk}/fire-times/"
    for back, language in (("/calendar/", "de"), ("/admin/", "en")):
        browser.post(address, {"order": "add", "to": "2026-02-01T08:00", "next": back})
        assertContains(browser.get(back), f"The run is added. ({language})")


def test_readers_do_not_see_orders_for_single_runs(client, make_user, moved):
    client.force_login(make_user("bob", role=Role.READER))

    page = client.get(f"/calendar/planned/{moved.pk}/2026-01-05T08:00:00Z")

    assertContains(page, "moved from")
    assertNotContains(page, "fire-times")
