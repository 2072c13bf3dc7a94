"""Pages of jobs without their own schedule, or with additional triggers."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job
from tests.admin.forms import submitted
from triggers.models import Trigger


def job_url(name, job):
    return reverse(f"admin:jobs_job_{name}", args=[job.pk])


@pytest.fixture
def job_without_schedule(make_job):
    return make_job("bare", schedule=None)


@pytest.fixture
def job_with_triggers(make_job, make_trigger):
    now = timezone.now()
    job = make_job("several", now=now, schedule={"startTime": f"{now + timedelta(days=9):%Y-%m-%dT%H:%M:%SZ}"})
    make_trigger(job, "every-minute", now=now, definition={"expression": "0 * * * * ?"})
    make_trigger(job, "off", now=now, enabled=False)
    return job


@pytest.mark.parametrize("page", ["page", "document", "change"])
@pytest.mark.parametrize("kind", ["job_without_schedule", "job_with_triggers"])
def test_pages_of_jobs_without_a_schedule_or_with_triggers_open(browser, request, page, kind):
    assert browser.get(job_url(page, request.getfixturevalue(kind))).status_code == 200


def test_job_page_shows_that_a_job_runs_only_manually(browser, job_without_schedule):
    page = browser.get(job_url("page", job_without_schedule)).content.decode()

    assert "No schedule of its own." in page
    assert "No schedule: it runs only when started manually." in page


def test_job_page_shows_all_schedules_and_their_next_times(browser, job_with_triggers):
    page = browser.get(job_url("page", job_with_triggers))

    text = page.content.decode().lower()
    assert "every-minute" in text
    assert "every minute (utc)" in text
    assert ">off<" in text
    assert "disabled" in text
    assert page.context["next_run"]["runs_at"] == Trigger.objects.get(name="every-minute").next_fire_at
    assert len(page.context["fires"]) == 10


def test_job_list_shows_all_schedules_and_the_earliest_time(browser, job_without_schedule, job_with_triggers):
    page = browser.get(reverse("admin:jobs_job_changelist"))

    rows = {job.name: job for job in page.context["cl"].result_list}
    assert rows["several"].next_at == Trigger.objects.get(name="every-minute").next_fire_at
    assert rows["bare"].next_at is None
    text = page.content.decode()
    assert "manual only" in text
    assert "; every minute (UTC); every hour at :00" in text


def test_confirmation_for_selected_jobs_shows_their_schedules(browser, job_without_schedule, job_with_triggers):
    page = browser.post(
        reverse("admin:jobs_job_changelist"),
        {"action": "run_ticked", "_selected_action": [job_without_schedule.pk, job_with_triggers.pk]},
    )

    assert page.status_code == 200
    assert "manual only" in page.content.decode()


def test_saving_a_job_without_a_schedule_adds_none(browser, job_without_schedule):
    page = browser.get(job_url("change", job_without_schedule))

    saved = browser.post(
        job_url("change", job_without_schedule), submitted(page.content.decode(), "job_form") | {"overlap": "allow"}
    )

    assert saved.status_code == 302
    assert Job.objects.get().overlap == "allow"
    assert not Trigger.objects.exists()


@pytest.mark.parametrize("fields", [{"tab": "none"}, {"tab": "json", "schedule_json": "null"}])
def test_job_can_be_added_without_a_schedule(browser, collection, fields):
    page = browser.get("/admin/jobs/job/add/")
    form = submitted(page.content.decode(), "job_form") | {"name": "bare", "uri": "http://127.0.0.1:9/hook"} | fields

    saved = browser.post("/admin/jobs/job/add/", form)

    assert saved.status_code == 302
    assert Job.objects.get().state == "enabled"
    assert not Trigger.objects.exists()


def test_schedule_of_a_job_can_be_removed(browser, make_job):
    job = make_job()
    page = browser.get(job_url("change", job))

    browser.post(job_url("change", job), submitted(page.content.decode(), "job_form") | {"tab": "none"})

    assert not Trigger.objects.exists()
    assert Job.objects.get().state == "enabled"


def test_form_without_a_schedule_has_a_preview_and_a_json_form(browser, job_without_schedule):
    page = browser.get(job_url("change", job_without_schedule))
    form = submitted(page.content.decode(), "job_form")

    preview = browser.post(f"/admin/jobs/job/preview/?job={job_without_schedule.pk}", form)
    as_json = browser.get(f"{job_url('change', job_without_schedule)}?tab=json")

    assert form["tab"] == ["none"]
    assert "it runs only manually and by its additional triggers" in preview.content.decode()
    assert submitted(as_json.content.decode(), "job_form")["schedule_json"] == ["null"]


def test_single_run_now_is_refused_for_a_stored_job(browser, job_without_schedule):
    page = browser.get(job_url("change", job_without_schedule))

    refused = browser.post(
        job_url("change", job_without_schedule),
        submitted(page.content.decode(), "job_form") | {"tab": "json", "schedule_json": "{}"},
    )

    assert "unless the job is to run now" in refused.context["form"].errors["schedule_json"][0]


def test_schedule_can_be_added_to_a_job(browser, job_without_schedule):
    page = browser.get(job_url("change", job_without_schedule))

    saved = browser.post(
        job_url("change", job_without_schedule),
        submitted(page.content.decode(), "job_form") | {"tab": "simple", "frequency": "Day", "times": "5:00"},
    )

    assert saved.status_code == 302
    assert Trigger.objects.get().definition["recurrence"]["frequency"] == "Day"


def test_home_counts_jobs_and_not_triggers(browser, job_with_triggers, alive):
    page = browser.get(reverse("admin:index"))

    assert "of 1 job" in page.content.decode()
