from datetime import timedelta

import pytest

from jobs.arm import lists
from jobs.models import Attempt, Job, Run
from tests.conftest import NOW


@pytest.fixture
def job(make_job):
    return make_job()


@pytest.fixture
def make_attempt(job):
    """An attempt of a run of its own, or of `run`; `start` is in minutes from NOW."""

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


def test_an_entry_tells_what_an_attempt_did(arm, make_attempt):
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


def test_a_failure_without_an_answer_is_a_sentence(arm, make_attempt):
    make_attempt(state="failed", message="No connection to host 'example.com'.")

    [entry] = entries(arm.get(arm.job() + "/history"))

    assert (entry["status"], entry["message"]) == ("Failed", "No connection to host 'example.com'.")


def test_there_is_an_entry_for_each_attempt_newest_first(arm, job, make_attempt):
    run = make_run(job, state="failed")
    for number in (1, 2, 3):
        make_attempt(start=number, run=run, number=number, state="failed")

    found = entries(arm.get(arm.job() + "/history"))

    assert [entry["retryCount"] for entry in found] == [2, 1, 0]
    assert {entry["expectedExecutionTime"] for entry in found} == {"2026-01-01T00:00:00Z"}


def test_keys_sort_the_newest_first(arm, make_attempt):
    for start in (1, 3, 3, 2):
        make_attempt(start=start)

    names = [entry["name"] for entry in arm.get(arm.job() + "/history").json()["value"]]

    assert names == sorted(names)
    assert len(set(names)) == 4


def test_an_error_action_is_named_and_has_the_number_of_its_occurrence(arm, job, make_attempt):
    parent = make_run(job, state="failed", occurrence=4)
    make_attempt(run=make_run(job, parent=parent, origin=Run.Origin.ERROR_ACTION, occurrence=None))

    [entry] = entries(arm.get(arm.job() + "/history"))

    assert (entry["actionName"], entry["repeatCount"]) == ("ErrorAction", 4)


def test_a_run_by_hand_has_no_number(arm, job, make_attempt):
    make_attempt(run=make_run(job, origin=Run.Origin.MANUAL, occurrence=None))

    [entry] = entries(arm.get(arm.job() + "/history"))

    assert "repeatCount" not in entry


def test_an_attempt_that_goes_on_has_no_entry_yet(arm, make_attempt):
    make_attempt(state="running", finished_at=None)

    assert arm.get(arm.job() + "/history").json() == {"value": [], "nextLink": None}


def test_history_of_another_job_stays_there(arm, make_attempt, make_job):
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
        ({"filter": "status eq 'failed'"}, ["02", "01"]),  # an attempt whose outcome is unknown did not succeed
        ({"filter": "status eq Postponed"}, []),
        ({"filter": "status eq Completed", "top": 1, "skip": 1}, ["00"]),
    ],
)
def test_history_can_be_narrowed(arm, history, query, found):
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
def test_a_wrong_query_is_refused(arm, history, name, text):
    response = arm.get(history, **{name: text})

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "MissingOrInvalidRequiredQueryParameter"
    assert response.json()["error"]["target"] == f"${name}"


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_pages_join_to_the_whole_history(arm, history, make_attempt, monkeypatch, length):
    make_attempt(start=2, state="failed")  # at the same time as another
    monkeypatch.setattr(lists, "PAGE_LENGTH", length)

    response = arm.get(history)
    found = starts(response)
    while link := response.json()["nextLink"]:
        make_attempt(start=30)  # history grows while somebody reads it
        response = arm.client.get(link)
        found += starts(response)

    assert found == ["03", "02", "02", "01", "00"]


def test_history_takes_a_fixed_number_of_queries(arm, history, django_assert_num_queries):
    arm.get(history)  # notes the use of the token

    with django_assert_num_queries(3):  # the token, the job, the attempts with their runs
        assert len(entries(arm.get(history))) == 4
