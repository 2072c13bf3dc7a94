"""What a click on a run of a job opens."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role
from jobs.holds import HeldRun, end_holds, start_holds
from jobs.models import Run
from tests.calendars.popover.items import shown
from tests.maintenance.notices import announce, resource
from triggers.models import Trigger

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


@pytest.fixture
def ran(make_job, owner):
    """A job with runs of every kind, the newest last; and its trigger."""
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


def test_a_run_tells_how_it_went(browser, ran):
    item = shown(run_page(browser, "succeeded"))

    assert (item["title"], item["collection"], item["outcome"].word) == ("backup", "nightly", "Late")
    assert (item["duration"], item["delay"], item["typical_duration"], item["reason"]) == (
        "4 min",
        "9 min",
        "4 min",
        "",
    )
    assert item["repeats"] == "Every day at 08:00 UTC"
    assert item["outcome_counts"] == "1 late, 1 failed, 1 missed, 1 skipped"


def test_a_run_tells_what_held_it_when_that_is_over(browser, ran, subscription):
    now = timezone.now().replace(second=0, microsecond=0)
    notice = announce(resource(subscription), now=now - timedelta(hours=12), has_started=True)
    run = Run.objects.get(state="succeeded")
    start_holds([HeldRun(run.pk, f"notice {notice.pk}", "held by maintenance: Reboot of db-2")], now)
    end_holds([run.pk], now + timedelta(minutes=5))

    page = run_page(browser, "succeeded")

    [hold] = shown(page)["holds"]
    assert hold["what"] == "Reboot of db-2"
    assert hold["when"] == "Thu 1 January, 13:00–13:05"
    assert browser.get(hold["url"]).status_code == 200
    assert f'<a href="{hold["url"]}">Reboot of db-2</a>' in page.text
    notice.delete()
    [hold] = shown(run_page(browser, "succeeded"))["holds"]
    assert (hold["what"], hold["url"]) == ("held by maintenance: Reboot of db-2", "")


@pytest.mark.parametrize("state, label", [("skipped", "Still going"), ("succeeded", "Waited for")])
def test_a_run_names_the_one_that_was_still_going(browser, ran, state, label):
    going = Run.objects.get(state="failed")
    Run.objects.filter(state=state).update(blocked_by=going.pk)

    page = run_page(browser, state)

    row = shown(page)["blocking"]
    assert (row["label"], row["url"]) == (label, f"/calendar/runs/{going.pk}")
    assert f'<a href="{row["url"]}">{row["words"]}</a>' in page.text
    going.delete()
    assert shown(run_page(browser, state))["blocking"] is None


@pytest.mark.parametrize(
    "state, word, why",
    [("missed", "Missed", "The scheduler was down"), ("skipped", "Skipped", "One still ran")],
)
def test_a_run_that_was_not_tells_why(browser, ran, state, word, why):
    item = shown(run_page(browser, state))

    assert (item["outcome"].word, item["reason"]) == (word, why)
    assert item["last_run"]["outcome"].word in ("Failed", "Missed")


def test_missed_times_are_told_together(browser, ran):
    run = Run.objects.get(state="missed")
    Run.objects.filter(pk=run.pk).update(missed_count=13, missed_until=run.fire_at + timedelta(hours=1))

    assert shown(run_page(browser, "missed"))["reason"].startswith("13 times until ")


def test_a_run_outlives_its_job(browser, ran):
    ran.delete()

    item = shown(run_page(browser, "failed"))

    assert (item["title"], item["job_url"], item["order_url"], item["outcomes"]) == ("backup", "", "", [])


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_links_lead_only_where_the_viewer_may_go(client, make_user, ran, role):
    client.force_login(make_user("olga", role))

    item = shown(run_page(client, "failed"))

    assert client.get(item["run_url"]).status_code == client.get(item["job_url"]).status_code == 200
    assert bool(item["order_url"]) is (role == Role.OPERATOR)


def test_a_superuser_of_no_subscription_runs_any_job(client, make_user, ran):
    client.force_login(make_user("root", None, is_staff=True, is_superuser=True))

    order = shown(run_page(client, "failed"))["order_url"]

    assert client.post(order).url.startswith("/admin/jobs/run/")


def test_runs_of_others_are_not_found(client, make_user, ran):
    client.force_login(make_user("stranger", None, is_staff=True))

    assert run_page(client, "failed").status_code == 404
    assert client.get(planned(ran.triggers.get())).status_code == 404


def planned(trigger: Trigger, at=None) -> str:
    return f"/calendar/planned/{trigger.pk}/{(at or trigger.next_fire_at):%Y-%m-%dT%H:%M:%SZ}"


def test_a_run_to_come_tells_when_and_how_the_last_one_went(browser, ran):
    trigger = ran.triggers.get()

    item = shown(browser.get(planned(trigger, trigger.next_fire_at + timedelta(days=3))))

    assert (item["title"], item["outcome"].word) == ("backup", "Planned")
    assert item["last_run"]["outcome"].word == "Skipped"


def test_a_run_that_has_come_is_that(browser, ran):
    run = Run.objects.get(state="failed")

    assert browser.get(planned(ran.triggers.get(), run.fire_at)).url == f"/calendar/runs/{run.pk}"


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
def test_an_instant_at_which_nothing_runs_is_not_found(browser, ran, instant):
    assert browser.get(f"/calendar/planned/{ran.triggers.get().pk}/{instant}").status_code == 404


@pytest.mark.parametrize("trigger", ["0", str(2**63), "9" * 400])
def test_a_trigger_that_is_none_is_not_found(browser, trigger):
    assert browser.get(f"/calendar/planned/{trigger}/2026-10-22T16:00:00Z").status_code == 404
