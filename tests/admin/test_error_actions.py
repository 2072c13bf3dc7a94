"""An error action belongs to the failed run: no page counts it as a run of the job."""

from datetime import timedelta

import pytest
from django.utils import timezone

from calendars.pages.runs import load_runs
from jobs.models import Run
from scheduler_site import dashboard

JOBS, RUNS = "/admin/jobs/job/", "/admin/jobs/run/"
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def job(make_job):
    error_action = {"type": "Http", "request": {"uri": "https://alerts.example/", "method": "POST"}}
    call = {"uri": "https://partner.example/", "method": "GET"}
    action = {"type": "Http", "request": call, "errorAction": error_action}
    return make_job(action=action, schedule={"startTime": "2027-06-01T00:00:00Z"})


@pytest.fixture
def failed(job, make_run):
    return make_run(job, Run.State.FAILED)


@pytest.fixture
def error_run(job, failed, make_run):
    fields = {"origin": Run.Origin.ERROR_ACTION, "parent": failed, "trigger_name": None}
    return make_run(job, ago=HOUR - MINUTE, **fields)


def test_job_list_shows_a_failing_job_as_failing(browser, error_run):
    page = browser.get(JOBS).text

    assert "Last 1, oldest first: 1 failed" in page
    assert "Succeeded" not in page


def test_job_page_counts_only_runs_and_shows_the_error_action_at_its_run(browser, job, failed, error_run):
    response = browser.get(f"{JOBS}{job.pk}/")

    assert [item["run"] for item in response.context["strip"]] == [failed]
    assert [row["run"] for row in response.context["runs"]] == [failed]
    assert response.context["record"] == "0 % of 1 due run succeeded"
    assert f'<a href="{RUNS}{error_run.pk}/change/">error action succeeded</a>' in response.text


@pytest.mark.parametrize(
    "query, expected_name",
    [
        ("", "failed"),
        ("?origin=error_action", "error_run"),
        ("?result=succeeded", None),
        ("?result=succeeded&origin=error_action", "error_run"),
    ],
)
def test_run_list_shows_error_actions_only_on_request(browser, failed, error_run, query, expected_name):
    response = browser.get(RUNS + query)

    expected = {"failed": [failed], "error_run": [error_run], None: []}[expected_name]
    assert list(response.context["cl"].result_list) == expected
    assert ("error action succeeded" in response.text) == (expected_name == "failed")


def test_run_page_shows_the_result_of_its_error_action(browser, failed, error_run):
    response = browser.get(f"{RUNS}{failed.pk}/change/")

    last = response.context["steps"][-1]
    assert (last["what"], last["outcome"].word) == ("Error action succeeded", "Succeeded")


def test_links_to_previous_and_next_runs_skip_error_actions(browser, job, failed, error_run, make_run):
    newer = make_run(job, ago=MINUTE)

    assert browser.get(f"{RUNS}{newer.pk}/change/").context["previous"] == failed


def test_home_does_not_count_error_actions(browser, owner, job, failed, make_run):
    fields = {"origin": Run.Origin.ERROR_ACTION, "trigger_name": None}
    make_run(job, Run.State.FAILED, ago=HOUR, parent=failed, **fields)
    for state in (Run.State.RUNNING, Run.State.WAITING):
        other = make_run(job, Run.State.FAILED, ago=timedelta(days=2), trigger_name=state)
        make_run(job, state, parent=other, **fields)

    context = browser.get("/admin/").context

    assert context["failed"] == {"count": 1, "jobs": 1}
    assert [row["run"] for row in context["failed_runs"]] == [failed]
    assert context["running"]["count"] == len(context["running_runs"]) == context["overdue"] == 0
    assert sum(hour["total"] for hour in dashboard.outcomes_by_hour(owner, timezone.now())) == 1


def test_calendar_does_not_show_error_actions(owner, failed, error_run):
    now = timezone.now()

    view = load_runs(owner, now - 2 * HOUR, now + HOUR, timezone.get_current_timezone(), now)

    assert [run.run_id for run in view.runs if run.run_id] == [failed.pk]
