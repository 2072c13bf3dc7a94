"""An installation that uses peers as its services, which check all requests, and jobs in it."""

from collections.abc import Callable

import pytest

from tests.live.actions.jobs import BUS_KEY, CLIENT_SECRET, IN_A_YEAR, NAMES, Job, request_json
from tests.peers import azurite
from tests.peers.oauth import TokenAuthority
from tests.peers.service_bus import ServiceBus


@pytest.fixture(scope="package")
def bus():
    with ServiceBus([], {"send": BUS_KEY}) as bus:
        yield bus


@pytest.fixture(scope="package")
def tokens():
    with TokenAuthority({"quando": CLIENT_SECRET}) as tokens:
        yield tokens


@pytest.fixture(scope="package")
def live(bus, tokens, storage_port, run_installation):
    """An installation that uses the peers as its services."""
    services = {
        "SERVICE_BUS_URL": bus.address,
        "OAUTH_AUTHORITY": tokens.url,
        "STORAGE_QUEUE_URL": azurite.address(storage_port),
        "EGRESS_ALLOW": "127.0.0.0/8",
    }
    with run_installation("actions", **services) as installation:
        yield installation
    assert "Traceback" not in installation.logs


@pytest.fixture
def make(live, put_job) -> Callable[..., Job]:
    """Return a function that creates a job for manual runs, without retries unless the action has a policy."""

    def make(action: dict) -> Job:
        name = next(NAMES)
        action = {"retryPolicy": {"retryType": "None"}} | action
        path = put_job(name, {"startTime": IN_A_YEAR, "action": action})
        (job,) = request_json(live, "GET", f"/api/jobs?name={name}")["value"]
        return Job(live, path, job["id"], name)

    return make


@pytest.fixture
def carry_out(make) -> Callable[[dict], dict]:
    """Return a function that runs a new job with an action and returns the run."""
    return lambda action: make(action).run()
