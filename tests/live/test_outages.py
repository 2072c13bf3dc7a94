"""A beat that is killed and started again some minutes later: what the pages then show about the outage."""

import re
import signal

from tests.clock import clock_ahead
from tests.live.installation import COLLECTION, VERSION, is_alive
from tests.peers.server import eventually

AWAY_S = 240
PASSWORD = "correct horse battery staple"


def test_outage_is_recorded_when_the_beat_starts_again(launch, target, tmp_path):
    environment = {"ADMIN_PASSWORD": PASSWORD, "EGRESS_ALLOW": "127.0.0.0/8"}
    first = launch(environment=environment).wait_until_ready()
    collection = COLLECTION.format("outage")
    first.request("PUT", collection + VERSION, {"location": "here", "properties": {}})
    action = {"type": "Http", "request": {"uri": f"{target.url}/tick", "method": "GET"}}
    body = {"properties": {"action": action, "recurrence": {"frequency": "Minute", "interval": 1}}}
    status, answer = first.request("PUT", f"{collection}/jobs/tick{VERSION}", body)
    assert status == 201, answer
    assert target.wait_for("/tick")
    beat = next(process for process in first.processes() if "beat" in process.cmdline())

    processes = first.processes()
    first.process.kill()  # otherwise it starts the beat again at once
    beat.kill()
    assert first.process.wait(timeout=20) == -signal.SIGKILL
    assert eventually(lambda: not any(map(is_alive, processes)), within=20)
    second = launch(environment=environment | clock_ahead(AWAY_S, tmp_path)).wait_until_ready()
    second.token = first.token

    def missed() -> list[dict]:
        return second.request("GET", "/api/runs?state=missed")[1]["value"]

    assert eventually(missed, within=30), second.logs
    page = second.sign_in("ada", PASSWORD)

    home = page("/admin/")
    (sentence,) = set(re.findall(r"The scheduler did not run from [^<.]*\d\d:\d\d:\d\d to [^<.]*\d\d:\d\d:\d\d", home))
    assert "Every due run was taken in time" not in home
    assert f"{len(missed())} runs were missed in the last 24 h." in home
    assert sentence in page("/admin/jobs/run/?result=missed")
    assert sentence in page(f"/admin/jobs/run/{missed()[0]['id']}/change/")
    assert sentence in page("/calendar/?view=agenda")
    assert second.logs.count("no pass was made from") == 1
