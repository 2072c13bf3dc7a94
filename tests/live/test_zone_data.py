"""Time zone data that is replaced while an installation is stopped, and several beats that notice it together."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from tests.live.installation import BASE_DIR, Installation
from tests.peers.server import eventually
from tests.zone_trees import make_tree

BEAT = (sys.executable, "-m", "celery", "--quiet", "--app", "scheduler_site", "beat")
KIND = "time_zone_data.apply"


@pytest.fixture
def further_beat(tmp_path):
    """Return a function that starts one more beat of an installation, and returns the file of its log."""
    started = []

    def start(installation: Installation):
        log = tmp_path / f"beat-{len(started)}.log"
        with log.open("wb") as output:
            variables, streams = installation.variables, {"stdout": output, "stderr": output}
            started.append(subprocess.Popen(BEAT, cwd=BASE_DIR, env=variables, stdin=subprocess.DEVNULL, **streams))
        return log

    yield start
    for beat in started:
        beat.terminate()
    assert [beat.wait(timeout=20) for beat in started] == [0] * len(started)


def test_beats_that_start_together_recompute_stored_times_once(launch, further_beat, tmp_path):
    old = make_tree(tmp_path / "old", "2031a")
    new = make_tree(tmp_path / "new", "2031b", {"Europe/Vaduz": "Asia/Tokyo"})
    first = launch(environment={"PYTHONTZPATH": str(old.path)}).wait_until_ready()
    collection = send(first, "POST", "/api/collections", {"name": "zones"})
    action = {"type": "Http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}}
    year = datetime.now(UTC).year + 1
    far = {"startTime": f"{year}-01-10T00:00:00Z"}
    job = send(first, "POST", "/api/jobs", {"collection": collection["id"], "name": "nine", "action": action, **far})
    schedule = {"format": "quartz", "expression": f"0 0 9 10 1 ? {year}", "timeZone": "Europe/Vaduz"}
    trigger = send(first, "POST", "/api/triggers", {"job": job["id"], "name": "nine", "schedule": schedule})
    assert trigger["nextFireAt"] == f"{year}-01-10T08:00:00Z"
    assert operations(first) == []
    first.stop()

    second = launch(environment={"PYTHONTZPATH": str(new.path)})
    logs = [second.log, *(further_beat(second) for _ in range(2))]
    second.wait_until_ready()
    second.token = first.token

    assert eventually(lambda: [each["state"] for each in operations(second)] == ["succeeded"], within=60), second.logs
    assert send(second, "GET", f"/api/triggers/{trigger['id']}")["nextFireAt"] == f"{year}-01-10T00:00:00Z"
    assert eventually(lambda: number_of_beats(second) == 3, within=30)
    text = "".join(log.read_text() for log in logs)
    assert text.count("time zone data 2031b instead of 2031a: zones with changes: 1, operations: 1") == 1
    assert text.count("Time zone data: 2031b, before 2031a; Triggers: 1 of 1 moved; Events: 0 of 0 moved") == 1
    assert len(operations(second)) == 1


def send(installation: Installation, method: str, path: str, document: object = None) -> dict:
    status, answer = installation.request(method, path, document)
    assert status < 300, answer
    return answer


def operations(installation: Installation) -> list[dict]:
    return send(installation, "GET", f"/api/operations?kind={KIND}")["value"]


def number_of_beats(installation: Installation) -> int:
    script = "from jobs.models import Process; print(Process.objects.filter(kind='beat').count())"
    return int(installation.manage("shell", "--no-imports", "-c", script))
