"""The dashboard: the health of the scheduler, and past and upcoming runs."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Role
from jobs.models import Process, Run
from scheduler_site import dashboard
from scheduler_site.restarts import RestartLog
from triggers.dispatch import dispatch_due
from triggers.models import Trigger

LATER = {"startTime": "2027-06-01T00:00:00Z"}


def test_dashboard_without_a_scheduler_explains_how_to_start_it(browser):
    page = browser.get("/admin/").text

    assert "No scheduler has ever run" in page
    assert "make run" in page
    assert 'data-state="failure"' in page


@pytest.mark.parametrize(
    "kind, message",
    [
        (None, "The scheduler is running"),
        ("beat", "The scheduler is not running"),
        ("worker", "No worker is running"),
    ],
)
def test_process_without_heartbeats_is_reported(browser, alive, kind, message):
    Process.objects.filter(kind=kind).update(seen_at=timezone.now() - timedelta(minutes=5))

    assert message in browser.get("/admin/pulse/").text


def test_restarted_process_is_reported(browser, alive, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    log = RestartLog(tmp_path)
    for minutes in (5, 3):
        log.add("worker", -9, timezone.now() - timedelta(minutes=minutes))

    page = " ".join(browser.get("/admin/pulse/").text.split())

    assert "The worker process was started again" in page
    assert "after signal 9, 2 times since the start of Quando" in page


def test_overdue_trigger_is_reported_as_late_scheduler(browser, alive, make_job):
    make_job()
    Trigger.objects.update(next_fire_at=timezone.now() - timedelta(minutes=2))

    page = browser.get("/admin/pulse/").text

    assert "The scheduler is behind" in page
    assert "2 min" in page


def test_group_without_a_worker_is_reported_before_and_after_its_runs_wait(
    browser, alive, make_job, make_trigger, make_run
):
    job = make_job(schedule=LATER)
    make_trigger(job, group="message-processor")

    before = browser.get("/admin/pulse/").text
    make_run(job, Run.State.WAITING, ago=timedelta(minutes=2), queue="message-processor")
    Trigger.objects.update(next_fire_at=None)
    waiting = browser.get("/admin/pulse/")

    assert "No worker serves message-processor" in before
    assert "Runs of its triggers will wait until a worker is started with --queues message-processor" in before
    assert "1 run waits until a worker is started" in waiting.text
    assert waiting.context["waiting"] == 1


def test_several_groups_without_workers_are_summarized(browser, alive, make_job, make_trigger):
    job = make_job(schedule=LATER)
    for group in ("b", "a", "c"):
        make_trigger(job, group, group=group)

    page = browser.get("/admin/pulse/").text

    assert "No worker serves a and 2 other groups" in page
    assert "--queues a,b,c" in page


def test_group_with_a_worker_is_not_reported(browser, alive, make_job, make_trigger):
    make_trigger(make_job(schedule=LATER), group="message-processor")
    Trigger.objects.update(next_fire_at=timezone.now())
    Process.objects.filter(kind="worker").update(queues=["default", "message-processor"])

    assert "The scheduler is running" in browser.get("/admin/pulse/").text


def test_a_run_that_waits_for_its_next_attempt_is_not_overdue(browser, alive, make_job, make_run):
    make_run(make_job(schedule=LATER), Run.State.RETRYING, not_before=timezone.now() + timedelta(minutes=5))

    response = browser.get("/admin/pulse/")

    assert "The scheduler is running" in response.text
    assert response.context["overdue"] == 0


def test_figures_count_failed_running_overdue_and_disabled(browser, alive, make_job, make_run):
    job = make_job(schedule=LATER)
    make_job("stopped", state="disabled")
    make_run(job, Run.State.FAILED)
    make_run(job, Run.State.FAILED, ago=timedelta(days=2))
    make_run(job, Run.State.RUNNING, ago=timedelta(minutes=3))
    make_run(job, Run.State.WAITING, ago=timedelta(minutes=2))

    context = browser.get("/admin/").context

    assert context["failed"] == {"count": 1, "jobs": 1}
    assert context["running"]["count"] == 1
    assert (context["overdue"], context["disabled"]) == (1, 1)


def test_outcomes_are_counted_by_the_hour_of_their_fire_time(owner, make_job, make_run):
    job = make_job()
    now = timezone.now()
    make_run(job, ago=timedelta(hours=2))
    make_run(job, ago=timedelta(hours=2, seconds=1), delay=timedelta(minutes=2))
    make_run(job, Run.State.FAILED, ago=timedelta(hours=5))
    make_run(job, Run.State.MISSED, ago=timedelta(hours=5, seconds=1))
    make_run(job, ago=timedelta(hours=30))

    hours = dashboard.outcomes_by_hour(owner, now)

    assert len(hours) == 24
    totals = {name: sum(hour[name] for hour in hours) for name in ("ran", "late", "failed", "missed", "total")}
    assert totals == {"ran": 1, "late": 1, "failed": 1, "missed": 1, "total": 4}
    failed = next(hour for hour in hours if hour["failed"])
    assert failed["start"] <= now - timedelta(hours=5) < failed["start"] + timedelta(hours=1)


def test_chart_and_table_of_outcomes_agree(browser, make_job, make_run):
    make_run(make_job(), Run.State.FAILED)

    assert "1 failed" in browser.get("/admin/").context["chart_title"]
    assert sum(hour["failed"] for hour in browser.get("/admin/outcomes/").context["hours"]) == 1


def test_next_two_hours_show_single_starts_and_summarize_frequent_jobs(owner, make_job):
    now = timezone.now()
    make_job("often", schedule={"recurrence": {"frequency": "Minute"}}, now=now)
    make_job("single", schedule={"startTime": (now + timedelta(minutes=30)).isoformat()}, now=now)
    make_job("tomorrow", schedule={"startTime": (now + timedelta(days=1)).isoformat()}, now=now)

    outlook = dashboard.next_hours(owner, now)

    assert [line["job"].name for line in outlook["lines"]] == ["single"]
    assert [line["job"].name for line in outlook["often"]] == ["often"]
    assert len(outlook["stacks"]) == 1
    assert outlook["summary"].endswith("of 2 jobs, 120 of them of 1 frequent job")


def test_starts_in_the_same_minute_are_stacked(owner, make_job):
    now = timezone.now()
    for number in range(3):
        make_job(f"job-{number}", schedule={"startTime": (now + timedelta(minutes=10)).isoformat()}, now=now)

    outlook = dashboard.next_hours(owner, now)

    assert len(outlook["stacks"][0].dots) == 3
    assert outlook["lines"][0]["more"] == "and 2 more"


def test_running_run_shows_its_share_of_the_usual_duration(owner, make_job, make_run):
    job = make_job()
    make_run(job, ago=timedelta(hours=2))
    make_run(job, Run.State.RUNNING, ago=timedelta(seconds=1))

    (row,) = dashboard.running_runs(owner, timezone.now())

    assert row["usual"] == "2 s"
    assert 40 <= row["share"] <= 90


def test_dashboard_takes_the_same_number_of_queries_for_any_number_of_rows(
    browser, alive, make_job, make_trigger, make_run, django_assert_num_queries, django_assert_max_num_queries
):
    job = make_job()
    make_run(job, Run.State.FAILED)
    make_run(job, Run.State.RUNNING, lock_key=None)
    with django_assert_max_num_queries(21) as one:
        browser.get("/admin/")
    for number in range(12):
        other = make_job(f"job-{number}")
        make_run(other, Run.State.FAILED)
        make_run(other, Run.State.RUNNING)
        make_trigger(other, group=f"group-{number}")

    with django_assert_num_queries(len(one)):
        browser.get("/admin/")


def test_pulse_is_a_fragment_that_refreshes_itself(browser, alive):
    page = browser.get("/admin/pulse/").text

    assert 'hx-get="/admin/pulse/"' in page
    assert "<html" not in page


@pytest.fixture
def make_certified_job(make_job, authority):
    def make(name, days, **fields):
        certificate = authority.client(name, expires_at=timezone.now() + timedelta(days=days))
        authentication = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
        request = {"uri": "https://x.example/", "method": "GET", "authentication": authentication}
        return make_job(name, action={"type": "Http", "request": request}, **fields)

    return make


def test_expiring_certificates_are_sorted_by_expiry(browser, make_certified_job):
    for name, days in {"soon": 20, "later": 90, "expired": -2, "sooner": 3}.items():
        make_certified_job(name, days)

    rows = browser.get("/admin/").context["certificates"]

    assert [(row["job"].name, row["state"].word) for row in rows] == [
        ("expired", "Expired"),
        ("sooner", "Expires soon"),
        ("soon", "Expires soon"),
    ]


def test_renewed_certificate_is_no_longer_listed(browser, make_certified_job):
    make_certified_job("billing", 3)
    before = browser.get("/admin/").context["certificates"]

    make_certified_job("billing", 90)

    assert len(before) == 1
    assert browser.get("/admin/").context["certificates"] == []


def test_certificates_of_other_subscriptions_and_completed_jobs_are_not_listed(
    sign_in_as, operator, collection_of_others, make_certified_job
):
    make_certified_job("theirs", 3, in_collection=collection_of_others)
    ended = make_certified_job("ended", 3)
    type(ended).objects.filter(pk=ended.pk).update(state="completed")

    page = sign_in_as(operator).get("/admin/")

    assert page.context["certificates"] == []
    assert "Certificates to renew" not in page.text


def test_next_hours_have_runs_that_wait_for_their_jitter(browser, make_job, make_trigger, owner):
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    job = make_job(schedule=None)
    definition = {"expression": "0 0 * * * ?", "jitter": "PT50M"}
    trigger = make_trigger(job, definition=definition, now=now - timedelta(minutes=1))
    dispatch_due(now)
    start = trigger.start_of(now)

    lines = dashboard.next_hours(owner, now)["lines"]

    assert (lines[0]["at"], lines[0]["words"][:9]) == (start, "starts at")
    assert f"starts between {now + timedelta(hours=1):%H:%M} and" in lines[1]["words"]


def test_operators_may_leave_out_coming_runs_of_the_next_hours(browser, client, make_job, make_user):
    start = timezone.now() + timedelta(minutes=30)
    job = make_job(schedule={"startTime": start.isoformat(), "recurrence": {"frequency": "Day"}})
    address = f'action="/admin/triggers/trigger/{job.triggers.get().pk}/fire-times/"'

    assert address in browser.get("/admin/").text
    client.force_login(make_user("bob", role=Role.READER, is_staff=True))
    page = client.get("/admin/").text
    assert job.name in page
    assert address not in page
