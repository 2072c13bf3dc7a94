"""Jobs that start operations, carried out by worker processes: a deletion of a collection, and a failing operation."""

import json

import pytest

from tests.live.actions.jobs import IN_A_YEAR, request_json, wait_for_run
from tests.live.installation import COLLECTION, VERSION
from tests.peers.server import Answer

OTHERS = COLLECTION.format("to-be-deleted") + VERSION


@pytest.fixture(autouse=True)
def logs_without_traceback(live):
    earlier = len(live.logs)
    yield
    assert "Traceback" not in live.logs[earlier:]


@pytest.fixture
def run(live, put_job):
    """Return a function that runs a new job with the request manually and returns the ended run with its attempts."""

    def run(request: dict, **action) -> dict:
        action = {"type": "Http", "request": request, "follow": True, "retryPolicy": {"retryType": "None"}, **action}
        path = put_job("begin", {"startTime": IN_A_YEAR, "action": action})
        assert live.request("GET", path + VERSION)[1]["properties"]["action"]["follow"] is True
        (job,) = request_json(live, "GET", "/api/jobs?name=begin")["value"]
        return wait_for_run(live, request_json(live, "POST", f"/api/jobs/{job['id']}/run", {})["id"])

    return run


def test_job_follows_the_deletion_of_a_collection_to_its_end(live, run):
    for number in range(3):
        place = {"location": "westeurope", "properties": {"sku": {"name": "P20Premium"}}}
        assert live.request("PUT", OTHERS, place)[0] in (200, 201)
        job = COLLECTION.format("to-be-deleted") + f"/jobs/job-{number}{VERSION}"
        action = {"type": "Http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}}
        assert live.request("PUT", job, {"properties": {"startTime": IN_A_YEAR, "action": action}})[0] == 201

    done = run({"uri": live.url + OTHERS, "method": "DELETE", "headers": {"Authorization": f"Bearer {live.token}"}})

    (attempt,) = done["attempts"]
    assert (done["state"], done["reason"]) == ("succeeded", "")
    assert (attempt["statusCode"], attempt["message"]) == (202, "The operation succeeded.")
    assert attempt["polls"][-1]["status"] == "Succeeded"
    assert live.token not in json.dumps(done)
    assert live.request("GET", OTHERS)[0] == 404
    operations = request_json(live, "GET", "/api/operations")["value"]
    assert "succeeded" in {each["state"] for each in operations}


def test_run_fails_with_the_operation_that_it_follows(target, run):
    headers = {"Azure-AsyncOperation": f"{target.url}/status", "Retry-After": "1"}
    error = {"code": "NoRoom", "message": "The shelf is full."}
    target.answers["/start"] = [Answer(202, headers, "")]
    target.answers["/status"] = [
        Answer(200, {"Retry-After": "1"}, json.dumps({"status": "Running", "percentComplete": 40})),
        Answer(200, {}, json.dumps({"status": "Failed", "error": error})),
    ]

    done = run({"uri": f"{target.url}/start", "method": "POST"})

    assert (done["state"], done["reason"]) == ("failed", "The operation failed with NoRoom: The shelf is full.")
    assert [(poll["status"], poll["percentComplete"]) for poll in done["attempts"][0]["polls"]] == [
        ("Running", 40),
        ("Failed", None),
    ]
    (first, second), (started,) = target.calls_to("/status"), target.calls_to("/start")
    assert 0.5 < (first.arrived_at - started.arrived_at).total_seconds() < 5
    assert 0.5 < (second.arrived_at - first.arrived_at).total_seconds() < 5
