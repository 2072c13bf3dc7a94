from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.arm import lists
from jobs.models import Attempt, Job, Run
from tests.conftest import NOW


@pytest.fixture
def job(make_job):
    return make_job()


@pytest.fixture
def make_attempt(job):
    """Return a function that creates an attempt of a new run, or of `run`; `start` is in minutes from NOW."""

    def make(start: int = 0, run: Run | None = None, number: int = 1, **fields) -> Attempt:
        started_at = NOW + timedelta(minutes=start)
        fields = {"state": "succeeded", "finished_at": started_at + timedelta(seconds=2), **fields}
        run = run or make_run(job, fire_at=started_at)
        return Attempt.objects.create(run=run, job=job, number=number, started_at=started_at, **fields)

    return make


def make_run(job: Job, **fields) -> Run:
    fields = {"fire_at": NOW, "publish_after": NOW, "state": "succeeded", "occurrence": 7, **fields}
    return Run.objects.create(
        subscription=job.collection.subscription,
        job=job,
        action=job.action,
        collection_name=job.collection.name,
        job_name=job.name,
        **fields,
    )


def entries(response) -> list[dict]:
    assert response.status_code == 200, response.content
    return [entry["properties"] for entry in response.json()["value"]]


def starts(response) -> list[str]:
    return [entry["startTime"][14:16] for entry in entries(response)]


def test_history_entry_describes_an_attempt(arm, make_attempt):
    attempt = make_attempt(
        start=3,
        message="Host 'example.com' answered 'OK'.",
        response_headers=[["Content-Type", "text/plain"], ["Server", "x"]],
        response_body="done",
    )

    [entry] = arm.get(arm.job() + "/history").json()["value"]

    key = f"{3155378975999999999 - 639028225800000000:020}:{3155378975999999999 - attempt.pk:020}"
    assert entry == {
        "id": f"{arm.job()}/history/{key}",
        "type": "Microsoft.Scheduler/jobCollections/jobs/history",
        "name": f"nightly/backup/{key}",
        "properties": {
            "startTime": "2026-01-01T00:03:00Z",
            "endTime": "2026-01-01T00:03:02Z",
            "expectedExecutionTime": "2026-01-01T00:03:00Z",
            "actionName": "MainAction",
            "status": "Completed",
            "message": "Host 'example.com' answered 'OK'. "
            "Response headers: Content-Type: text/plain\r\nServer: x\r\nBody: done",
            "retryCount": 0,
            "repeatCount": 7,
        },
    }


def test_entry_of_a_failure_without_a_response_has_only_the_message(arm, make_attempt):
    make_attempt(state="failed", message="No connection to host 'example.com'.")

    [entry] = entries(arm.get(arm.job() + "/history"))

    assert (entry["status"], entry["message"]) == ("Failed", "No connection to host 'example.com'.")


def test_history_has_an_entry_for_each_attempt_newest_first(arm, job, make_attempt):
    run = make_run(job, state="failed")
    for number in (1, 2, 3):
        make_attempt(start=number, run=run, number=number, state="failed")

    found = entries(arm.get(arm.job() + "/history"))

    assert [entry["retryCount"] for entry in found] == [2, 1, 0]
    assert {entry["expectedExecutionTime"] for entry in found} == {"2026-01-01T00:00:00Z"}


def test_names_of_entries_sort_the_newest_first(arm, make_attempt):
    for start in (1, 3, 3, 2):
        make_attempt(start=start)

    names = [entry["name"] for entry in arm.get(arm.job() + "/history").json()["value"]]

    assert names == sorted(names)
    assert len(set(names)) == 4


def test_entry_of_an_error_action_has_the_repeat_count_of_its_run(arm, job, make_attempt):
    parent = make_run(job, state="failed", occurrence=4)
    make_attempt(run=make_run(job, parent=parent, origin=Run.Origin.ERROR_ACTION, occurrence=None))

    [entry] = entries(arm.get(arm.job() + "/history"))

    assert (entry["actionName"], entry["repeatCount"]) == ("ErrorAction", 4)


def manual_run(job: Job, minute: int, **fields) -> Run:
    at = NOW + timedelta(minutes=minute)
    return make_run(job, origin=Run.Origin.MANUAL, occurrence=None, fire_at=at, **fields)


def test_manual_run_has_the_repeat_count_of_the_occurrence_before_it(arm, job, make_attempt):
    make_attempt(0, run=manual_run(job, 0))
    for minute, number in ((10, 1), (20, 2)):
        make_attempt(minute, run=make_run(job, fire_at=NOW + timedelta(minutes=minute), occurrence=number))
    for minute in (15, 25, 26):
        make_attempt(minute, run=manual_run(job, minute))

    found = entries(arm.get(arm.job() + "/history"))

    assert [(entry["startTime"][14:16], entry["repeatCount"]) for entry in found] == [
        ("26", 2), ("25", 2), ("20", 2), ("15", 1), ("10", 1), ("00", 0)
    ]  # fmt: skip


def test_repeat_count_is_that_of_an_occurrence_of_the_same_job(arm, job, make_attempt, make_job):
    """Missed fire times, error actions and runs of other jobs are not counted."""
    make_run(job, state="missed", occurrence=None, fire_at=NOW + timedelta(minutes=4))
    parent = make_run(job, state="failed", occurrence=3)
    make_run(job, parent=parent, origin=Run.Origin.ERROR_ACTION, occurrence=3, fire_at=NOW + timedelta(minutes=2))
    make_run(make_job("other"), occurrence=9, fire_at=NOW + timedelta(minutes=4))
    make_attempt(5, run=manual_run(job, 5))

    assert [entry["repeatCount"] for entry in entries(arm.get(arm.job() + "/history"))] == [3]


def test_error_action_of_a_manual_run_has_the_repeat_count_of_that_run(arm, job, make_attempt):
    make_run(job, occurrence=6)
    parent = manual_run(job, 1, state="failed")
    at = NOW + timedelta(minutes=2)
    make_attempt(9, run=make_run(job, parent=parent, origin=Run.Origin.ERROR_ACTION, occurrence=None, fire_at=at))

    [entry] = entries(arm.get(arm.job() + "/history"))

    assert (entry["actionName"], entry["repeatCount"]) == ("ErrorAction", 6)


def test_running_attempt_has_no_history_entry(arm, make_attempt):
    make_attempt(state="running", finished_at=None)

    assert arm.get(arm.job() + "/history").json() == {"value": [], "nextLink": None}


def test_history_contains_no_attempts_of_other_jobs(arm, make_attempt, make_job):
    make_attempt()
    make_job("other")

    assert entries(arm.get(arm.job("other") + "/history")) == []


@pytest.fixture
def history(arm, make_attempt):
    for start, state in enumerate(["succeeded", "failed", "lost", "succeeded", "running"]):
        make_attempt(start=start, state=state)
    return arm.job() + "/history"


@pytest.mark.parametrize(
    "query, found",
    [
        ({}, ["03", "02", "01", "00"]),
        ({"top": 2}, ["03", "02"]),
        ({"top": 2, "skip": 2}, ["01", "00"]),
        ({"skip": 3}, ["00"]),
        ({"filter": "status eq Completed"}, ["03", "00"]),
        ({"filter": "status eq 'failed'"}, ["02", "01"]),  # an attempt with an unknown result did not succeed
        ({"filter": "status eq Postponed"}, []),
        ({"filter": "status eq Completed", "top": 1, "skip": 1}, ["00"]),
    ],
)
def test_history_can_be_filtered(arm, history, query, found):
    response = arm.get(history, **query)

    assert starts(response) == found
    assert response.json()["nextLink"] is None


@pytest.mark.parametrize(
    "name, text",
    [
        ("top", "0"),
        ("top", "101"),
        ("skip", "-1"),
        ("filter", "state eq Completed"),
        ("filter", "status eq Running"),
        ("filter", "status eq 'Completed"),
        ("skiptoken", "x"),
        ("skiptoken", "\0"),
        ("skiptoken", "9" * 20 + ":" + "0" * 20),
        ("skiptoken", "0" * 20 + ":" + "9" * 20),
        ("skiptoken", "٠" * 20 + ":" + "٠" * 20),
    ],
)
def test_wrong_query_parameter_of_the_history_is_refused(arm, history, name, text):
    response = arm.get(history, **{name: text})

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "MissingOrInvalidRequiredQueryParameter"
    assert response.json()["error"]["target"] == f"${name}"


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_pages_together_contain_the_whole_history(arm, history, make_attempt, monkeypatch, length):
    make_attempt(start=2, state="failed")  # at the same time as another attempt
    monkeypatch.setattr(lists, "PAGE_LENGTH", length)

    response = arm.get(history)
    found = starts(response)
    while link := response.json()["nextLink"]:
        make_attempt(start=30)  # the history grows while it is read
        response = arm.client.get(link)
        found += starts(response)

    assert found == ["03", "02", "02", "01", "00"]


def test_history_takes_a_fixed_number_of_queries(arm, history, django_assert_num_queries):
    arm.get(history)  # writes when the token was last used

    with django_assert_num_queries(3):  # the token, the job, the attempts with their runs
        assert len(entries(arm.get(history))) == 4


def test_repeat_counts_of_manual_runs_take_two_queries_for_any_number_of_runs(
    arm, job, history, make_attempt, django_assert_num_queries
):
    for minute in range(40, 50):
        make_attempt(minute, run=manual_run(job, minute))
    make_run(job, fire_at=NOW + timedelta(minutes=45))  # after some of the manual runs, before the others
    arm.get(history)

    with django_assert_num_queries(5):
        assert {entry["repeatCount"] for entry in entries(arm.get(history))} == {7}


def test_occurrences_between_manual_runs_are_not_read(arm, job, make_attempt):
    for minute in (0, 55):
        make_attempt(minute, run=manual_run(job, minute))
    for minute in range(1, 55):  # without attempts, so that they are not on the page
        make_run(job, state="skipped", fire_at=NOW + timedelta(minutes=minute), occurrence=minute)

    with CaptureQueriesContext(connection) as captured:
        found = entries(arm.get(arm.job() + "/history"))

    assert [entry["repeatCount"] for entry in found] == [54, 0]
    selects = [query["sql"] for query in captured if query["sql"].startswith("SELECT")]
    assert max(count_rows(sql) for sql in selects) == 2


def count_rows(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return len(cursor.fetchall())
