"""From a request to a call: web, worker, beat and broker as processes, with a server of the tests as the target."""

from datetime import UTC, datetime, timedelta

from tests.live.installation import VERSION
from tests.peers.server import eventually


def test_job_calls_its_target_once_at_its_start_time(live, put_job, target):
    due_at = datetime.now(UTC) + timedelta(seconds=2)
    request = {"uri": f"{target.url}/due", "method": "POST", "body": "hello"}
    job = put_job("once", {"startTime": due_at.isoformat(), "action": {"type": "Http", "request": request}})

    target.wait_for("/due")
    state = eventually(lambda: job_state(live, job) == "completed")
    (call,) = target.calls_to("/due")

    assert due_at <= call.arrived_at < due_at + timedelta(seconds=1)
    assert (call.method, call.body) == ("POST", "hello")
    assert state, job_state(live, job)
    _, history = live.request("GET", f"{job}/history{VERSION}")
    (entry,) = history["value"]
    assert entry["properties"]["actionName"] == "MainAction"
    assert datetime.fromisoformat(entry["properties"]["expectedExecutionTime"]) == due_at


def test_a_job_without_a_start_runs_at_once(live, put_job, target):
    created_at = datetime.now(UTC)
    put_job("now", {"action": {"type": "Http", "request": {"uri": f"{target.url}/now", "method": "GET"}}})

    (call,) = target.wait_for("/now")

    assert call.arrived_at - created_at < timedelta(seconds=3)


def test_manual_run_calls_its_target(live, put_job, target):
    action = {"type": "Http", "request": {"uri": f"{target.url}/by-hand", "method": "GET"}}
    in_a_month = datetime.now(UTC) + timedelta(days=30)
    job = put_job("far", {"startTime": in_a_month.isoformat(), "action": action})

    status, _ = live.request("POST", f"{job}/run{VERSION}")
    (call,) = target.wait_for("/by-hand")

    assert status == 200
    assert call.method == "GET"


def job_state(live, job: str) -> str:
    return live.request("GET", job + VERSION)[1]["properties"]["state"].lower()
