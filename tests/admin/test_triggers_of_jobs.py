"""Pages of jobs that have no schedule of their own, or triggers beside it."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs.models import Job
from tests.admin.forms import submitted
from triggers.models import Trigger


def address(name, job):
    return reverse(f"admin:jobs_job_{name}", args=[job.pk])


@pytest.fixture
def bare(make_job):
    return make_job("bare", schedule=None)


@pytest.fixture
def several(make_job, make_trigger):
    now = timezone.now()
    job = make_job("several", now=now, schedule={"startTime": f"{now + timedelta(days=9):%Y-%m-%dT%H:%M:%SZ}"})
    make_trigger(job, "every-minute", now=now, definition={"expression": "0 * * * * ?"})
    make_trigger(job, "off", now=now, enabled=False)
    return job


@pytest.mark.parametrize("page", ["page", "document", "change"])
@pytest.mark.parametrize("kind", ["bare", "several"])
def test_every_page_of_such_a_job_opens(browser, request, page, kind):
    assert browser.get(address(page, request.getfixturevalue(kind))).status_code == 200


def test_the_page_tells_that_a_job_runs_by_hand_only(browser, bare):
    page = browser.get(address("page", bare)).content.decode()

    assert "No schedule of its own." in page
    assert "Nothing by itself: it runs by hand." in page


def test_the_page_tells_every_schedule_and_the_next_times_of_all(browser, several):
    page = browser.get(address("page", several))

    text = page.content.decode().lower()
    assert "every-minute" in text
    assert "every minute (utc)" in text
    assert ">off<" in text
    assert "disabled" in text
    assert page.context["next_run"]["runs_at"] == Trigger.objects.get(name="every-minute").next_fire_at
    assert len(page.context["fires"]) == 10


def test_the_list_tells_the_schedules_and_the_earliest_time(browser, bare, several):
    page = browser.get(reverse("admin:jobs_job_changelist"))

    rows = {job.name: job for job in page.context["cl"].result_list}
    assert rows["several"].next_at == Trigger.objects.get(name="every-minute").next_fire_at
    assert rows["bare"].next_at is None
    text = page.content.decode()
    assert "only by hand" in text
    assert "; every minute (UTC); every hour at :00" in text


def test_an_order_for_ticked_jobs_is_confirmed_with_their_schedules(browser, bare, several):
    page = browser.post(
        reverse("admin:jobs_job_changelist"), {"action": "run_ticked", "_selected_action": [bare.pk, several.pk]}
    )

    assert page.status_code == 200
    assert "only by hand" in page.content.decode()


def test_a_form_saved_without_a_schedule_leaves_the_job_without_one(browser, bare):
    page = browser.get(address("change", bare))

    saved = browser.post(address("change", bare), submitted(page.content.decode(), "job_form") | {"overlap": "allow"})

    assert saved.status_code == 302
    assert Job.objects.get().overlap == "allow"
    assert not Trigger.objects.exists()


@pytest.mark.parametrize("fields", [{"frequency": "None"}, {"when": "json", "schedule_json": "null"}])
def test_a_job_is_made_without_a_schedule(browser, collection, fields):
    page = browser.get("/admin/jobs/job/add/")
    form = submitted(page.content.decode(), "job_form") | {"name": "bare", "uri": "http://127.0.0.1:9/hook"} | fields

    saved = browser.post("/admin/jobs/job/add/", form)

    assert saved.status_code == 302
    assert Job.objects.get().state == "enabled"
    assert not Trigger.objects.exists()


def test_a_job_gives_its_schedule_up(browser, make_job):
    job = make_job()
    page = browser.get(address("change", job))

    browser.post(address("change", job), submitted(page.content.decode(), "job_form") | {"frequency": "None"})

    assert not Trigger.objects.exists()
    assert Job.objects.get().state == "enabled"


def test_the_form_says_of_no_schedule_what_it_means_and_writes_it_as_json(browser, bare):
    page = browser.get(address("change", bare))
    form = submitted(page.content.decode(), "job_form")

    preview = browser.post(f"/admin/jobs/job/preview/?job={bare.pk}", form)
    switched = browser.post(address("change", bare), form | {"_switch": "when:json"})
    back = browser.post(
        address("change", bare), submitted(switched.content.decode(), "job_form") | {"_switch": "when:fields"}
    )

    assert form["frequency"] == ["None"]
    assert "it runs by hand, and by the triggers beside it" in preview.content.decode()
    assert submitted(switched.content.decode(), "job_form")["schedule_json"] == ["null"]
    assert submitted(back.content.decode(), "job_form")["frequency"] == ["None"]


def test_a_single_run_at_once_is_no_schedule_for_a_job_that_is_there(browser, bare):
    page = browser.get(address("change", bare))

    refused = browser.post(address("change", bare), submitted(page.content.decode(), "job_form") | {"frequency": ""})

    assert "Run now" in refused.context["form"].errors["start"][0]


def test_a_form_gives_a_job_a_schedule_of_its_own(browser, bare):
    page = browser.get(address("change", bare))

    saved = browser.post(
        address("change", bare), submitted(page.content.decode(), "job_form") | {"frequency": "Day", "hours": "5"}
    )

    assert saved.status_code == 302
    assert Trigger.objects.get().definition["recurrence"]["frequency"] == "Day"


def test_the_desk_counts_jobs_and_not_triggers(browser, several, alive):
    page = browser.get(reverse("admin:index"))

    assert "of 1 job" in page.content.decode()
