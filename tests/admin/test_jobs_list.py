"""The list of jobs: rows, filters, and actions on selected rows."""

from datetime import timedelta

import pytest

from jobs.models import Job, Run
from tests.conftest import NOW
from triggers.scheduling import set_job_state

LIST = "/admin/jobs/job/"


def test_row_shows_action_schedule_and_results(browser, make_job, make_run):
    job = make_job("backup")
    make_run(job, Run.State.FAILED)
    make_run(job, Run.State.SUCCEEDED, ago=timedelta(minutes=5))

    page = browser.get(LIST).text

    assert f'href="/admin/jobs/job/{job.pk}/">backup</a>' in page
    assert "GET 127.0.0.1:9/hook" in page
    assert "every day at 08:00 UTC" in page
    assert "Last 2, oldest first: 1 failed, 1 succeeded" in page


def test_job_list_takes_the_same_number_of_queries_for_any_length(
    browser, make_job, make_run, django_assert_num_queries, django_assert_max_num_queries
):
    make_run(make_job("first"))
    browser.get(LIST)
    with django_assert_max_num_queries(10) as one:
        browser.get(LIST)
    for number in range(12):
        job = make_job(f"job-{number}")
        for _ in range(3):
            make_run(job, ago=timedelta(minutes=number + 1), trigger_name=None)

    with django_assert_num_queries(len(one)):
        page = browser.get(LIST).text

    assert page.count('<tr role="row"') == 14


def test_job_list_is_sorted_by_next_run(browser, make_job):
    make_job("stopped", state="disabled")
    make_job("later", schedule={"startTime": "2027-01-01T00:00:00Z"})
    make_job("sooner", schedule={"startTime": "2026-12-31T00:00:00Z"})

    page = browser.get(LIST).text

    assert page.index(">sooner<") < page.index(">later<") < page.index(">stopped<")


@pytest.mark.parametrize(
    "query, found",
    [
        ("?q=back", {"backup"}),
        ("?state__exact=disabled", {"stopped"}),
        ("?failed=1", {"stopped"}),
        ("?q=nightly&state__exact=enabled", {"backup"}),
    ],
)
def test_job_list_is_filtered_and_searched(browser, make_job, make_run, query, found):
    make_job("backup")
    make_run(make_job("stopped", state="disabled"), Run.State.FAILED)

    page = browser.get(LIST + query).text

    assert {name for name in ("backup", "stopped") if f">{name}</a>" in page} == found


@pytest.mark.parametrize("action", ["run_ticked", "disable_ticked", "enable_ticked"])
def test_confirmation_names_jobs_that_would_be_refused(browser, make_job, collection, action):
    fine, stopped, completed = make_job("fine"), make_job("stopped", state="disabled"), make_job("over")
    Job.objects.filter(pk=completed.pk).update(state="completed", finished_at=NOW)
    selected = [fine.pk, stopped.pk, completed.pk]

    page = browser.post(LIST, {"_selected_action": selected, "action": action, "index": 0})

    refused = {job.name: reason for job, reason in page.context["refused"]}
    assert set(refused) == ({"stopped", "over"} if action == "run_ticked" else {"over"})
    accepted = [job.pk for job, *_ in page.context["jobs"]]
    assert set(accepted) == set(selected) - {job.pk for job, _ in page.context["refused"]}
    assert f">{page.context['verb']} {len(accepted)} job" in page.text
    form = {"_selected_action": accepted, "action": action, "index": 0, "confirmed": "yes"}
    messages = [message.level_tag for message in browser.post(LIST, form, follow=True).context["messages"]]
    assert messages == ["success"]
    assert Run.objects.count() == (len(accepted) if action == "run_ticked" else 0)


def test_confirmation_without_accepted_jobs_has_no_button(browser, make_job, collection):
    job = make_job()
    collection.state = "disabled"
    collection.save()

    page = browser.post(LIST, {"_selected_action": [job.pk], "action": "run_ticked", "index": 0}).text

    assert "Not possible for any of them" in page
    assert "its jobs cannot be run" in page
    assert "Run 0 of 1 job" in page
    assert '<button class="button primary" type="submit">Run' not in page


def test_action_on_selected_jobs_requires_confirmation(browser, make_job):
    first, second = make_job("first"), make_job("second")

    page = browser.post(LIST, {"_selected_action": [first.pk, second.pk], "action": "disable_ticked", "index": 0}).text

    assert "Disable 2 jobs" in page
    assert Job.objects.filter(state="disabled").count() == 0


def test_confirmed_action_names_refused_jobs(browser, make_job):
    running, stopped = make_job("running"), make_job("stopped", state="disabled")
    form = {"_selected_action": [running.pk, stopped.pk], "action": "run_ticked", "confirmed": "yes"}

    page = browser.post(LIST, form, follow=True).text

    assert Run.objects.get().job == running
    assert "Run queued: 1 job." in page
    assert "only an enabled job can be run" in page


@pytest.mark.parametrize("action, state", [("disable_ticked", "disabled"), ("enable_ticked", "enabled")])
def test_selected_jobs_are_disabled_and_enabled(browser, make_job, action, state):
    job = make_job("one", state="enabled" if state == "disabled" else "disabled")

    browser.post(LIST, {"_selected_action": [job.pk], "action": action, "confirmed": "yes"})

    assert Job.objects.get().state == state


def test_reader_has_no_actions_on_jobs(sign_in_as, reader, make_job):
    job = make_job("one")
    browser = sign_in_as(reader)

    browser.post(LIST, {"_selected_action": [job.pk], "action": "disable_ticked", "confirmed": "yes"})

    assert "disable_ticked" not in browser.get(LIST).text
    assert Job.objects.get().state == "enabled"


def test_deleting_selected_jobs_cancels_waiting_runs_and_keeps_history(browser, make_job, make_run):
    job = make_job("one")
    make_run(job, Run.State.WAITING)
    form = {"_selected_action": [job.pk], "action": "delete_selected", "post": "yes"}

    browser.post(LIST, form)

    assert not Job.objects.exists()
    assert Run.objects.get().state == Run.State.CANCELLED


def test_job_of_a_disabled_collection_shows_the_reason(browser, collection, make_job):
    make_job("one")
    type(collection).objects.update(state="disabled")

    assert "the collection is disabled" in browser.get(LIST).text


def test_faulted_job_shows_its_state(browser, make_job):
    job = make_job("one")
    Job.objects.filter(pk=job.pk).update(state="faulted", finished_at=NOW)

    assert "Faulted" in browser.get(LIST).text


def test_empty_job_list_shows_a_hint(browser, collection):
    assert "No job yet" in browser.get(LIST).text
    assert "No job matches" in browser.get(LIST + "?q=nothing").text


def test_disabled_job_is_shown_as_paused(browser, make_job):
    set_job_state(make_job("one"), "disabled", NOW)

    assert 'data-state="paused"' in browser.get(LIST).text
