"""Machines that poll a running installation and approve its notices, with each version of the contract.

The client is a small one of our own: standard library, plain HTTP, a timeout of five seconds, and no redirects, like
the public clients.
"""

import http.client
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.mgmt.maintenance import MaintenanceManagementClient

from tests.live.installation import Installation
from tests.live.test_azure_sdk import PLAIN, Credential
from tests.peers.server import eventually

MEMBERS = {  # by the version that added them
    "2017-03-01": {"EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"},
    "2017-08-01": set(),
    "2017-11-01": set(),
    "2019-01-01": set(),
    "2019-04-01": {"Description"},
    "2019-08-01": {"EventSource"},
    "2020-07-01": {"DurationInSeconds"},
}
NEWEST = "2020-07-01"
TIMEOUT_S = 5


@dataclass
class Machine:
    """The client on a machine, with an address, its token, and one version of the contract."""

    live: Installation
    name: str
    token: str
    version: str = NEWEST
    path: str = "/metadata/scheduledevents"
    headers: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict:
        status, answer = self.ask("GET")
        assert status == 200, answer
        return answer

    def events(self) -> dict[str, dict]:
        return {event["EventId"]: event for event in self.document()["Events"]}

    def statuses(self) -> list[str]:
        return [event["EventStatus"] for event in self.events().values()]

    def approve(self, *ids: str) -> dict:
        """Approve as the samples with curl do: the oldest without the metadata header, and all of them as a form."""
        body = json.dumps({"StartRequests": [{"EventId": each} for each in ids]}).encode()
        metadata = {} if self.version == "2017-03-01" else {"Metadata": "true"}
        status, answer = self.ask("POST", body, {"Content-Type": "application/x-www-form-urlencoded", **metadata})
        assert status == 200, answer
        return answer

    def ask(
        self, method: str, body: bytes | Iterable[bytes] | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict]:
        """Send a request; after a 429 send it again at the time of Retry-After, as polite clients do."""
        sent = {"Authorization": f"Bearer {self.token}", **self.headers, **(headers or {"Metadata": "true"})}
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.live.port, timeout=TIMEOUT_S)
            try:
                connection.request(method, f"{self.path}?api-version={self.version}", body, sent)
                answer = connection.getresponse()
                assert answer.headers["Content-Type"] == "application/json"
                status, document = answer.status, json.loads(answer.read())
            finally:
                connection.close()
            if status != 429:
                return status, document
            time.sleep(int(answer.headers["Retry-After"]))


@pytest.fixture
def api(live):
    def call(path: str, document: object = None) -> dict:
        status, answer = live.request("POST", f"/api/{path}", document)
        assert status < 300, answer
        return answer

    return call


@pytest.fixture
def make_machine(live, api):
    made = []

    def make(name: str, group: str = "", **fields) -> Machine:
        resource = api("resources", {"name": name, "scopeGroup": group})
        made.append(resource["id"])
        return Machine(live, name, resource["token"], **fields)

    yield make
    for pk in made:
        live.request("DELETE", f"/api/resources/{pk}")


@pytest.fixture
def announce(api):
    def announce_notice(*machines: Machine, **members) -> str:
        when = {} if members.get("eventStatus") == "Started" else {"notBeforeSeconds": 3600}
        body = {"eventType": "Reboot", "resources": [each.name for each in machines], **when}
        return api("notices", body | members)["eventId"]

    return announce_notice


@pytest.mark.parametrize("version", MEMBERS)
def test_machines_see_a_notice_in_all_its_states(make_machine, announce, api, version):
    group = f"databases-{version}"
    db2, db3 = (make_machine(f"db-{number}-{version}", group, version=version) for number in (2, 3))
    web = make_machine(f"web-{version}", version=version)
    assert [each.document() for each in (db2, db3, web)] == [{"DocumentIncarnation": 1, "Events": []}] * 3

    announced_at = time.time()
    event_id = announce(db2, description="New kernel", durationInSeconds=300).upper()
    scheduled = db2.document()
    assert db3.document() == scheduled
    assert scheduled["DocumentIncarnation"] == 2
    event = scheduled["Events"][0]
    not_before = event.pop("NotBefore")
    assert not_before == f"{parsedate_to_datetime(not_before):%a, %d %b %Y %H:%M:%S GMT}"
    assert abs(parsedate_to_datetime(not_before).timestamp() - announced_at - 3600) < TIMEOUT_S
    expected = {
        "EventId": event_id,
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": [db2.name],
        "Description": "New kernel",
        "EventSource": "Platform",
        "DurationInSeconds": 300,
    }
    known = set().union(*(added for since, added in MEMBERS.items() if since <= version)) - {"NotBefore"}
    assert event == {member: value for member, value in expected.items() if member in known}

    approved = db3.approve(event_id.lower())
    started = {**event, "EventStatus": "Started", "NotBefore": ""}
    assert approved == {"DocumentIncarnation": 3, "Events": [started]} == db2.document() == db3.document()
    assert db2.approve(event_id) == approved

    api(f"notices/{event_id.lower()}/complete")
    gone = {"DocumentIncarnation": 4, "Events": []}
    assert db2.document() == db3.document() == db3.approve(event_id) == gone
    assert web.document() == {"DocumentIncarnation": 1, "Events": []}


def test_machine_of_another_group_sees_and_approves_no_notice(make_machine, announce):
    db2, web = make_machine("db-2-inside", "databases-inside"), make_machine("web-outside")
    event_id = announce(db2)

    body = json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()
    refused = web.ask("POST", body)

    assert refused[0] == 400
    assert isinstance(refused[1]["error"], str)
    assert (web.events(), db2.statuses()) == ({}, ["Scheduled"])


def test_approval_can_have_a_chunked_body(make_machine, announce):
    """As from a client that does not know the length of its body in advance."""
    db2 = make_machine("db-2-in-pieces")
    body = json.dumps({"StartRequests": [{"EventId": announce(db2)}]}).encode()

    approved = db2.ask("POST", (body[:9], body[9:]))
    too_long = db2.ask("POST", [body, b" " * 600_000, b" " * 600_000])

    assert (approved[0], db2.statuses()) == (200, ["Started"])
    assert (too_long[0], list(too_long[1])) == (413, ["error"])


def test_notice_starts_automatically_at_its_time_and_not_before(make_machine, announce):
    db2 = make_machine("db-2-by-itself")
    event_id = announce(db2, notBeforeSeconds=3).upper()
    not_before = parsedate_to_datetime(db2.events()[event_id]["NotBefore"])

    assert eventually(lambda: db2.statuses() == ["Started"], within=10)
    assert datetime.now(UTC) >= not_before


def test_notice_that_is_not_polled_starts_automatically(live, make_machine, announce):
    """Housekeeping starts it; a poll would show it as started too."""
    db2 = make_machine("db-2-unread")
    event_id = announce(db2, notBeforeSeconds=1)

    log_line = f"notice {event_id} (Reboot) is started by the clock"

    assert eventually(lambda: log_line in live.logs, within=20)


def test_cancelled_notice_disappears_and_a_failure_is_shown_as_started(make_machine, announce, api):
    db2 = make_machine("db-2-short")
    withdrawn = announce(db2)
    api(f"notices/{withdrawn}/cancel")

    failure = announce(db2, eventStatus="Started", eventType="Redeploy").upper()

    assert [(event["EventStatus"], event["NotBefore"]) for event in db2.events().values()] == [("Started", "")]
    assert list(db2.events()) == [failure]


@pytest.mark.parametrize("path", ["/r/{}/metadata/scheduledevents", "/R/{}/metadata/scheduledEvents/", "//r/{}/x"])
def test_token_in_an_address_is_not_logged(live, make_machine, announce, path):
    db2 = make_machine("db-2-by-address", headers={"Authorization": "", "Host": "169.254.169.254"})
    announce(db2)
    db2.path = path.format(db2.token)

    status, answer = db2.ask("GET")
    db2.ask("POST", b"{}")

    assert (status, len(answer.get("Events", []))) == ((404, 0) if path.endswith("x") else (200, 1))
    assert eventually(lambda: "scheduledevents" in live.logs or "Not Found" in live.logs)
    assert db2.token not in live.logs


def test_more_than_five_polls_in_a_second_are_refused(make_machine):
    db2 = make_machine("db-2-in-a-hurry")

    def are_polls_delayed() -> bool:
        began = time.monotonic()
        for _ in range(12):
            db2.ask("GET")
        return time.monotonic() - began > 1

    assert are_polls_delayed()


def test_forwarded_requests_are_refused_without_a_configured_proxy(make_machine):
    db2 = make_machine("db-2-forwarded", headers={"X-Forwarded-For": "10.0.0.1"})

    status, answer = db2.ask("GET")

    assert (status, list(answer)) == (400, ["error"])


# The published client of a control plane


@pytest.fixture
def scheduled_events(live):
    client = MaintenanceManagementClient(Credential(live.token), live.subscription_id, base_url=live.url, retry_total=0)
    yield client.scheduled_events
    client.close()


def test_published_client_acknowledges_notices(scheduled_events, make_machine, announce):
    db2, db3 = (make_machine(f"db-{number}-acknowledged", "databases-acknowledged") for number in (2, 3))
    first, second, third = (announce(db2) for _ in range(3))
    address = {"resource_group_name": "any", "resource_type": "virtualMachines", **PLAIN}

    one = scheduled_events.acknowledge(resource_name=db3.name, scheduled_event_id=first, **address)
    several = scheduled_events.acknowledge_list(
        resource_name=db2.name, scheduled_events_id_list={"value": [first, second.upper()]}, **address
    )

    assert isinstance(one.value, str)
    assert isinstance(several.value, str)
    assert {each: event["EventStatus"] for each, event in db2.events().items()} == {
        first.upper(): "Started",
        second.upper(): "Started",
        third.upper(): "Scheduled",
    }


def test_published_client_gets_the_id_of_an_unknown_notice(scheduled_events, make_machine, announce):
    db2, web = make_machine("db-2-unknown"), make_machine("web-unknown")
    ours, theirs = announce(db2), announce(web)
    address = {"resource_group_name": "any", "resource_type": "virtualMachines", "resource_name": db2.name, **PLAIN}

    with pytest.raises(ResourceNotFoundError):
        scheduled_events.acknowledge(scheduled_event_id=theirs, **address)
    with pytest.raises(HttpResponseError) as refused:
        scheduled_events.acknowledge_list(scheduled_events_id_list={"value": [ours, theirs]}, **address)

    assert refused.value.status_code == 400
    assert [each.target for each in refused.value.model.error.details] == [theirs]
    assert (db2.statuses(), web.statuses()) == (["Scheduled"], ["Scheduled"])
