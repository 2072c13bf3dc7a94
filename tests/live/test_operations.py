"""The real pollers of the published libraries follow operations of a running installation to every kind of end.

Tested are the poller of azure-mgmt-core and the general one of azure-core; each with the header
`Azure-AsyncOperation`, and with `Location` alone, after a policy has removed the header.
"""

import signal
from contextlib import contextmanager

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.polling.base_polling import (
    LocationPolling,
    LROBasePolling,
    OperationResourcePolling,
    StatusCheckPolling,
)
from azure.mgmt.scheduler import SchedulerManagementClient, models

from tests.live.installation import COLLECTION, VERSION
from tests.live.test_azure_sdk import PLAIN, Credential, in_days
from tests.peers.server import eventually

GROUP = "operations"


class ResponseRecorder(SansIOHTTPPolicy):
    """A policy that records each response and removes headers before the poller, which it also creates, sees them."""

    def __init__(self, poller: str, without: tuple[str, ...]):
        self.poller = poller
        self.without = without
        self.seen: list[tuple[str, str, int]] = []
        self.headers: list[dict[str, str]] = []

    def on_response(self, request, response):
        answer = response.http_response
        self.seen.append((answer.request.method, answer.request.url, answer.status_code))
        self.headers.append({name.lower(): value for name, value in answer.headers.items()})
        for name in self.without:
            answer.headers.pop(name, None)

    @property
    def polling(self):
        if self.poller == "mgmt":
            return True  # the default poller of the client
        algorithms = [OperationResourcePolling("Azure-AsyncOperation"), LocationPolling(), StatusCheckPolling()]
        return LROBasePolling(30, lro_algorithms=algorithms, **PLAIN)


POLLERS = {
    f"{poller}-by-{way}": (poller, without)
    for poller in ("mgmt", "core")
    for way, without in (("status", ()), ("location", ("Azure-AsyncOperation",)))
}


@pytest.fixture(params=POLLERS.values(), ids=POLLERS)
def recorder(request) -> ResponseRecorder:
    return ResponseRecorder(*request.param)


one_poller = pytest.mark.parametrize("recorder", [POLLERS["mgmt-by-status"]], indirect=True)


@pytest.fixture
def collections(live, recorder):
    client = SchedulerManagementClient(
        Credential(live.token),
        live.subscription_id,
        base_url=live.url,
        retry_total=0,
        per_retry_policies=[recorder],
    )
    yield client.job_collections
    client.close()


@pytest.fixture
def name(live, collections, request) -> str:
    """The name of a new collection with jobs, which is deleted after the test."""
    name = request.node.name.replace("[", "-").replace("]", "")[:90]
    definition = models.JobCollectionDefinition(
        location="westus", properties=models.JobCollectionProperties(sku=models.Sku(name="P20Premium"))
    )
    path = collections.create_or_update(GROUP, name, definition, **PLAIN).id
    put_jobs(live, path)
    yield name
    live.delete_collection(path + VERSION)


def put_jobs(live, path: str) -> None:
    job = {
        "properties": {
            "action": {"type": "Http", "request": {"uri": "http://127.0.0.1:9/", "method": "GET"}},
            "startTime": f"{in_days(30):%Y-%m-%dT%H:%M:%SZ}",
        }
    }
    for number in range(30):
        assert live.request("PUT", f"{path}/jobs/j{number}{VERSION}", job)[0] == 201


@pytest.fixture
def suspend_workers(live):
    """Return a context manager that suspends the workers, as if the machine were asleep."""

    @contextmanager
    def suspended():
        workers = [process for process in live.processes() if "worker" in process.cmdline()]
        assert workers
        for process in workers:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in workers:
                process.send_signal(signal.SIGCONT)

    return suspended


@pytest.fixture
def begin(collections, recorder):
    def begin(kind: str, name: str):
        return getattr(collections, f"begin_{kind}")(GROUP, name, polling=recorder.polling, **PLAIN)

    return begin


@pytest.mark.parametrize("kind", ["delete", "enable", "disable"])
def test_poller_follows_an_operation_to_success(collections, begin, recorder, name, kind):
    poller = begin(kind, name)

    assert poller.result(timeout=60) is None

    assert poller.status() == "Succeeded"
    polled = [(url.split("/")[-2], status) for _, url, status in recorder.seen if "/locations/" in url]
    if recorder.without:
        assert polled[-1] == ("operationResults", 204)
        assert set(polled[:-1]) <= {("operationResults", 202)}
    else:  # the poller requests the result of a successful enabling or disabling, but not of a deletion
        assert polled.count(("operationResults", 204)) == (kind != "delete")
        assert set(polled) - {("operationResults", 204)} == {("operations", 200)}
    waits = [headers.get("retry-after") for headers in recorder.headers if "location" in headers]
    assert waits
    assert set(waits) == {"1"}
    if kind == "delete":
        with pytest.raises(ResourceNotFoundError):
            collections.get(GROUP, name, **PLAIN)
    else:
        assert collections.get(GROUP, name, **PLAIN).properties.state == f"{kind.capitalize()}d"


def test_poller_raises_the_code_of_a_failed_operation(live, collections, begin, name, suspend_workers):
    """The collection is enabled by another request before the workers disable it."""
    path = collections.get(GROUP, name, **PLAIN).id
    with suspend_workers():
        poller = begin("disable", name)
        answer = live.request("PATCH", path + VERSION, {"properties": {"state": "Enabled"}})
        assert answer[0] == 200, answer

    with pytest.raises(HttpResponseError) as failed:
        poller.result(timeout=60)

    assert failed.value.error.code == "Superseded"
    assert "by another request" in failed.value.error.message
    assert poller.status() in ("Failed", "InProgress")
    assert collections.get(GROUP, name, **PLAIN).properties.state == "Enabled"


def test_poller_raises_the_cancellation_of_an_operation(live, collections, begin, recorder, name, suspend_workers):
    with suspend_workers():
        poller = begin("delete", name)
        accepted = next(headers for headers in reversed(recorder.headers) if "location" in headers)
        operation = accepted["location"].removeprefix(live.url).partition("?")[0].rpartition("/")[2]
        path = f"/subscriptions/{live.subscription_id}/providers/Microsoft.Scheduler/locations/westus/operations"
        assert live.request("POST", f"{path}/{operation}/cancel{VERSION}")[0] == 202

    with pytest.raises(HttpResponseError) as cancelled:
        poller.result(timeout=60)

    assert cancelled.value.error.code == "OperationCanceled"
    assert collections.get(GROUP, name, **PLAIN).properties.state == "Enabled"


@one_poller
def test_repeated_deletion_follows_the_same_operation(begin, recorder, name, suspend_workers):
    with suspend_workers():
        pollers = [begin("delete", name) for _ in range(2)]

    assert [poller.result(timeout=60) for poller in pollers] == [None, None]
    assert len({headers["location"] for headers in recorder.headers if "location" in headers}) == 1
    with pytest.raises(ResourceNotFoundError):
        begin("delete", name)


DYING = """
import time
from django.utils import timezone
from operations import service
service.carry_out("{}", timezone.now, lambda: print("a step is done", flush=True) or time.sleep(600))
"""
SOME_TIME_LATER = """
from django.db.models import F
from operations.models import HEARTBEAT_TIMEOUT, Operation
Operation.objects.filter(pk="{}").update(heartbeat_at=F("heartbeat_at") - HEARTBEAT_TIMEOUT)
"""


def test_operation_of_a_killed_worker_fails_and_can_be_repeated(live, suspend_workers):
    path = COLLECTION.format("dying")
    live.request("PUT", path + VERSION, {"properties": {"sku": {"name": "P20Premium"}}})
    put_jobs(live, path)
    (collection,) = live.request("GET", "/api/collections?name=dying")[1]["value"]
    with suspend_workers():
        operation = live.request("DELETE", f"/api/collections/{collection['id']}")[1]["id"]
        worker = live.start("shell", "--verbosity", "0", "-c", DYING.format(operation))
        assert worker.stdout.readline() == b"a step is done\n"
        worker.kill()
        worker.communicate()
    going = live.request("GET", f"/api/operations/{operation}")[1]
    assert (going["state"], 0 < going["percent"] < 100) == ("running", True)

    live.manage("shell", "-c", SOME_TIME_LATER.format(operation))

    def ended() -> dict | None:
        document = live.request("GET", f"/api/operations/{operation}")[1]
        return document if document["finishedAt"] else None

    document = eventually(ended, within=60)  # by the next housekeeping of operations
    assert (document["state"], document["error"]["code"]) == ("failed", "WorkerLost")
    assert live.request("GET", path + VERSION)[1]["properties"]["provisioningState"] == "Succeeded"
    assert len(live.request("GET", f"{path}/jobs{VERSION}")[1]["value"]) == 20
    assert live.request("DELETE", path + VERSION)[0] == 202
    assert eventually(lambda: live.request("GET", path + VERSION)[0] == 404, within=60)


@one_poller
def test_logs_of_web_and_worker_contain_the_ids_of_the_caller(live, collections, name):
    ids = {"x-ms-correlation-request-id": "c-of-the-test", "x-ms-client-request-id": "r-of-the-test"}
    collections.begin_disable(GROUP, name, headers=ids, **PLAIN).result(timeout=60)

    both = "correlation c-of-the-test, client request r-of-the-test"
    lines = [line for line in live.logs.splitlines() if both in line]
    assert any("POST" in line and "/disable: 202" in line for line in lines)
    eventually(lambda: any("succeeded" in line and both in line for line in live.logs.splitlines()))
