"""Maintenance, and jobs with a maintenance policy, in a running installation with beat, worker and housekeeping."""

from collections import Counter
from urllib.parse import urlencode

import pytest

from tests.peers.server import eventually


@pytest.fixture
def api(live):
    def call(method: str, path: str, document: object = None):
        status, answer = live.request(method, f"/api/{path}", document)
        assert status < 300, answer
        return answer

    return call


@pytest.fixture
def job(live, api):
    """Return a function that creates a job whose runs end at once, with a trigger every second or none."""
    collection = api("POST", "collections", {"name": "maintained", "sku": "P20Premium"})["id"]

    def make(name: str, *, every_second: bool = False, **maintenance) -> int:
        request = {"uri": f"{live.url}/healthz", "method": "GET"}  # refused at once, because it is not a public address
        action = {"type": "Http", "request": request, "retryPolicy": {"retryType": "None"}}
        body = {"collection": collection, "name": name, "action": action, "ownSchedule": False}
        made = api("POST", "jobs", body)["id"]
        api("PUT", f"jobs/{made}/maintenance", {"resources": ["db-9"], **maintenance})
        if every_second:
            schedule = {"format": "quartz", "expression": "* * * * * ?"}
            api("POST", "triggers", {"job": made, "name": "ticks", "schedule": schedule})
        return made

    yield make
    live.delete_collection(f"/api/collections/{collection}")


@pytest.fixture
def states(api):
    def count(job: int) -> Counter:
        return Counter(run["state"] for run in api("GET", f"runs?{urlencode({'job': job, 'limit': 200})}")["value"])

    return count


def test_job_is_held_during_maintenance_and_runs_once_afterwards(api, job, states):
    api("POST", "resources", {"name": "db-9"})
    ticking = job("ticking", every_second=True, during="hold")
    eventually(lambda: states(ticking)["failed"] >= 2, within=15)

    notice = api("POST", "notices", {"eventType": "Reboot", "resources": ["db-9"], "notBeforeSeconds": 3600})
    api("POST", f"notices/{notice['eventId']}/approve")
    eventually(lambda: states(ticking)["held"] >= 3, within=15)
    begun = states(ticking)
    api("POST", f"notices/{notice['eventId']}/complete")

    eventually(lambda: not states(ticking)["held"], within=15)
    assert states(ticking)["skipped"] >= begun["held"] - 1


def test_notice_waits_for_idle_resources_runs_its_job_and_ends(api, job, states):
    working = job("working", runOn=["start"])

    notice = api(
        "POST",
        "notices",
        {"eventType": "Redeploy", "resources": ["db-9"], "notBeforeSeconds": 3600, "approveWhenIdle": True},
    )

    path = f"notices/{notice['eventId']}"
    eventually(lambda: api("GET", path)["eventStatus"] == "Completed", within=20)
    assert [step["status"] for step in api("GET", path)["history"]] == ["Scheduled", "Started", "Completed"]
    assert sum(states(working).values()) == 1
