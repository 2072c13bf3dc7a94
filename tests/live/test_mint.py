"""Apigee's interface in a running installation: curl commands of its published walk-through, locks, priorities."""

import json
import subprocess
import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.live.installation import Installation
from tests.peers.server import eventually

NAME = "MINT.CHARGE_DAILY@@@management-server@@@DEFAULT"
ID = f"{NAME}@@@management-server@@@DEFAULT"
EMAIL, PASSWORD = "ada@example.com", "correct horse battery staple"
SET_EMAIL = f"from accounts.models import User; User.objects.update(email={EMAIL!r})"
EVERY_SECOND = "* * * * * ?"
STANDS_FOR = "Stands for 'Daily charges', which recomputes the hourly totals, and from them those of the day before."


@pytest.fixture(scope="module")
def live(run_installation):
    with run_installation("mint", ADMIN_PASSWORD=PASSWORD, EGRESS_ALLOW="127.0.0.0/8") as installation:
        installation.manage("shell", "-c", SET_EMAIL)
        assert installation.manage("load_mint_jobs") == "20 created, 0 were there already\n"
        yield installation
    assert "Traceback" not in installation.logs


def curl(live: Installation, address: str, *arguments: str) -> object:
    """Run curl and return the JSON of the response; an error status raises an exception."""
    command = ["curl", "--fail", "--silent", "--show-error", *arguments, f"{live.url}/v1/mint/{address}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def put(live: Installation, address: str, document: dict) -> object:
    body = json.dumps(document)
    return curl(
        live, address, "-u", f"{EMAIL}:{PASSWORD}", "-X", "PUT", "-H", "Content-Type: application/json", "-d", body
    )


def request_json(live: Installation, method: str, path: str, document: object = None) -> dict:
    status, answer = live.request(method, path, document)
    assert status in (200, 201), answer
    return answer


def runs_of(live: Installation, job: str, state: str | None = None) -> list[dict]:
    (found,) = request_json(live, "GET", f"/api/jobs?name={job}")["value"]
    filtered = f"&state={state}" if state else ""
    return request_json(live, "GET", f"/api/runs?job={found['id']}{filtered}")["value"]


def test_commands_of_the_published_walk_through_work(live):
    triggers = curl(live, "triggers?orgid=default", "-u", f"{EMAIL}:{PASSWORD}")
    one = curl(live, f"triggers/{ID}", "-H", f"Authorization: Bearer {live.token}")

    assert len(triggers) == 20
    assert one in triggers
    assert (one["id"], one["enabled"], one["cronExpression"]) == (ID, True, "0 20 1 * * ?")

    # a new expression fires
    updated = put(live, f"triggers/{ID}", one | {"cronExpression": EVERY_SECOND})
    runs = eventually(lambda: runs_of(live, "charge-daily", "succeeded"))
    assert updated["cronExpression"] == EVERY_SECOND
    assert runs[0]["trigger"] == NAME
    run = request_json(live, "GET", f"/api/runs/{runs[0]['id']}")
    assert [attempt["message"] for attempt in run["attempts"]] == [STANDS_FOR]
    assert f"MINT.CHARGE_DAILY of monetization: {STANDS_FOR}" in live.logs

    # a disabled trigger does not fire
    disabled = put(live, f"triggers/{ID}", {"id": ID, "enabled": False})
    disabled_at = datetime.now(UTC)
    time.sleep(3)
    assert (disabled["enabled"], disabled["cronExpression"]) == (False, EVERY_SECOND)
    assert max(fire_times(live, "charge-daily")) <= disabled_at
    assert curl(live, f"triggers/{ID.replace('@', '%40')}", "-u", f"ada:{PASSWORD}")["enabled"] is False

    # an enabled trigger fires again and does not make up for missed fire times
    enabled = put(live, f"triggers/{ID}", {"id": ID, "enabled": True})
    assert enabled["enabled"] is True
    assert eventually(lambda: max(fire_times(live, "charge-daily")) > disabled_at)
    assert not [at for at in fire_times(live, "charge-daily") if disabled_at < at < disabled_at + timedelta(seconds=3)]
    put(live, f"triggers/{ID}", one)


def fire_times(live: Installation, job: str) -> list[datetime]:
    return [datetime.fromisoformat(run["fireAt"]) for run in runs_of(live, job)]


def test_lower_priority_number_runs_of_two_triggers_with_one_lock_key(live, target):
    collection = request_json(live, "POST", "/api/collections", {"name": "contended"})["id"]
    fire_at = (datetime.now(UTC) + timedelta(seconds=5)).replace(microsecond=0)
    expression = f"{fire_at:%-S %-M %-H %-d %-m} ? {fire_at:%Y}"
    for name, priority in (("second", 2), ("first", 1)):
        action = {"type": "Http", "request": {"uri": f"{target.url}/slow/2?{name}", "method": "GET"}}
        job = {"collection": collection, "name": name, "action": action, "ownSchedule": False}
        trigger = {
            "job": request_json(live, "POST", "/api/jobs", job)["id"],
            "name": f"MINT.{name.upper()}@@@message-processor@@@DEFAULT",
            "schedule": {"format": "quartz", "expression": expression},
            "priority": priority,
            "group": "message-processor",
            "triggerDataMap": {"custom_lock_key": "mint.scheduler.__ORG_ID__.contended@@@management"},
        }
        request_json(live, "POST", "/api/triggers", trigger)

    ended = eventually(lambda: runs_of(live, "first", "succeeded"), within=20)

    (ran,), (skipped,) = ended, runs_of(live, "second")
    assert (ran["state"], skipped["state"]) == ("succeeded", "skipped")
    assert skipped["reason"] == "another run held its lock key"
    assert {datetime.fromisoformat(run["fireAt"]) for run in (ran, skipped)} == {fire_at}
    assert [call.path for call in target.calls] == ["/slow/2?first"]
