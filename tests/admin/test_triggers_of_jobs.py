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

    text = page.content.decode()
    assert "<strong>every-minute</strong>: every minute (UTC)." in text
    assert "<strong>off</strong> (disabled)" in text
    assert page.context["next_fire_at"] == Trigger.objects.get(name="every-minute").next_fire_at
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
