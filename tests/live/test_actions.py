"""Every action and every credential, carried out by worker processes and delivered to peers that check what comes."""

import base64
import itertools
import json
import re
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, quote, urlsplit
from xml.etree import ElementTree

import pytest
from azure.storage.queue import TextBase64DecodePolicy

from tests.live.installation import VERSION, Installation, running
from tests.peers import azurite
from tests.peers.oauth import ProtectedTarget, TokenAuthority
from tests.peers.server import Answer, eventually
from tests.peers.service_bus import NAMESPACE, ServiceBus
from tests.peers.target import Target
from tests.peers.tls import thumbprint
from tests.peers.webhooks import Receiver

NAMES = (f"name-{number}" for number in itertools.count(1))
IN_A_YEAR = (datetime.now(UTC) + timedelta(days=365)).isoformat()
CLIENT_SECRET = secrets.token_urlsafe()
BUS_KEY = base64.b64encode(secrets.token_bytes(32)).decode()


@pytest.fixture(scope="module")
def bus():
    with ServiceBus([], {"send": BUS_KEY}) as bus:
        yield bus


@pytest.fixture(scope="module")
def tokens():
    with TokenAuthority({"quando": CLIENT_SECRET}) as tokens:
        yield tokens


@pytest.fixture(scope="module")
def live(bus, tokens, storage_port, tmp_path_factory):
    """An installation whose services are the peers."""
    services = {
        "SERVICE_BUS_URL": bus.address,
        "OAUTH_AUTHORITY": tokens.url,
        "STORAGE_QUEUE_URL": azurite.address(storage_port),
        "EGRESS_ALLOW": "127.0.0.0/8",
    }
    with running(tmp_path_factory.mktemp("actions"), **services) as installation:
        yield installation
    assert "Traceback" not in installation.logs


@dataclass(frozen=True)
class Job:
    live: Installation
    path: str  # the original service's
    id: int
    name: str

    @property
    def url(self) -> str:
        return f"/api/jobs/{self.id}"

    def read(self) -> dict:
        return answered(self.live, "GET", self.url)

    def run(self) -> dict:
        """Run it by hand, and return the run with its attempts when it is over."""
        return over(self.live, answered(self.live, "POST", f"{self.url}/run", {})["id"])

    def new_secret(self, overlap: str) -> str:
        return answered(self.live, "POST", f"{self.url}/signing-secret", {"overlap": overlap})["secret"]


def answered(live: Installation, method: str, path: str, document: object = None) -> dict:
    status, answer = live.request(method, path, document)
    assert status in (200, 201, 204), answer
    return answer


def over(live: Installation, run_id: str) -> dict:
    """The run with its attempts, when it is over."""

    def finished() -> dict | None:
        run = answered(live, "GET", f"/api/runs/{run_id}")
        return run if run["finishedAt"] else None

    run = eventually(finished, within=40)
    assert run, f"run {run_id} is not over"
    return run


def message(run: dict) -> str:
    return run["attempts"][-1]["message"]


@pytest.fixture
def make(live, put_job) -> Callable[..., Job]:
    """Create a job that runs only by hand, and is not tried again unless the action says so."""

    def make(action: dict) -> Job:
        name = next(NAMES)
        action = {"retryPolicy": {"retryType": "None"}} | action
        path = put_job(name, {"startTime": IN_A_YEAR, "action": action})
        (job,) = answered(live, "GET", f"/api/jobs?name={name}")["value"]
        return Job(live, path, job["id"], name)

    return make


@pytest.fixture
def carry_out(make) -> Callable[[dict], dict]:
    """Have a job carry out an action; return the run."""
    return lambda action: make(action).run()


def http(uri: str, **members) -> dict:
    """An action of type Http."""
    return {"type": "Http", "request": {"uri": uri, "method": "POST", **members}}


# Every type, as the main action and as the error action: a fixture for each, of an action that says "hello", and of a
# function that lists what was received


@dataclass(frozen=True)
class Delivery:
    action: dict
    received: Callable[[], list[str]]


@pytest.fixture
def to_http(target):
    return Delivery(http(target.url + "/in", body="hello"), lambda: [call.body for call in target.calls_to("/in")])


@pytest.fixture
def to_https(peer, authority):
    target = peer(Target, tls=authority.server())
    action = http(target.url + "/in", body="hello", certificateAuthority=authority.pem) | {"type": "Https"}
    return Delivery(action, lambda: [call.body for call in target.calls_to("/in")])


@pytest.fixture
def to_storage_queue(storage):
    name = next(NAMES)
    queue = storage.queue(name)
    action = {"type": "StorageQueue", "queueMessage": queue_message(storage, name)}
    return Delivery(action, lambda: [message.content for message in queue.peek_messages(max_messages=10)])


@pytest.fixture
def to_service_bus_queue(bus):
    name = next(NAMES)
    bus.entities.add(name)
    action = {"type": "ServiceBusQueue", "serviceBusQueueMessage": bus_message(queueName=name)}
    return Delivery(action, lambda: [message.body for message in bus.messages if message.entity == name])


@pytest.fixture
def to_service_bus_topic(bus):
    name = f"events/{next(NAMES)}"
    bus.entities.add(name)
    action = {"type": "ServiceBusTopic", "serviceBusTopicMessage": bus_message(topicPath=name)}
    return Delivery(action, lambda: [message.body for message in bus.messages if message.entity == name])


def queue_message(storage, name: str, **members) -> dict:
    sas = storage.queue_sas(name)
    return {"storageAccount": storage.account, "queueName": name, "sasToken": sas, "message": "hello", **members}


def bus_message(**members) -> dict:
    authentication = {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": BUS_KEY}
    return {"namespace": NAMESPACE, "authentication": authentication, "message": "hello", **members}


EVERY_TYPE = pytest.mark.parametrize(
    "to", ["to_http", "to_https", "to_storage_queue", "to_service_bus_queue", "to_service_bus_topic"]
)


@EVERY_TYPE
def test_an_action_of_every_type_is_delivered_once(to, request, carry_out):
    delivery = request.getfixturevalue(to)

    run = carry_out(delivery.action)

    assert run["state"] == "succeeded", message(run)
    assert len(run["attempts"]) == 1
    assert delivery.received() == ["hello"]


@EVERY_TYPE
def test_an_error_action_of_every_type_follows_a_failure_and_is_linked(to, request, target, live, carry_out):
    delivery = request.getfixturevalue(to)

    run = carry_out(http(f"{target.url}/status/500") | {"errorAction": delivery.action})
    error_run = over(live, run["errorRun"])

    assert (run["state"], error_run["state"]) == ("failed", "succeeded"), message(error_run)
    assert (error_run["parent"], error_run["origin"]) == (run["id"], "error_action")
    assert len(error_run["attempts"]) == 1
    assert delivery.received() == ["hello"]


# Requests


def test_a_request_is_sent_as_it_is_written(target, carry_out):
    headers = {"X-Team": "ops", "Content-Type": "text/plain"}
    run = carry_out(http(f"{target.url}/hook?a=1", method="PUT", headers=headers, body="hellö {{ run_id }}"))

    (call,) = target.calls
    assert (call.method, call.path, call.body) == ("PUT", "/hook?a=1", "hellö {{ run_id }}")
    assert (call.headers["X-Team"], call.headers["Content-Type"]) == ("ops", "text/plain")
    assert (call.headers["Idempotency-Key"], call.headers["X-Scheduler-Attempt"]) == (run["id"], "1")
    assert (run["attempts"][0]["statusCode"], run["attempts"][0]["responseBody"]) == (200, "ok")


def test_a_certificate_of_an_unknown_authority_is_not_accepted(peer, authority, carry_out):
    target = peer(Target, tls=authority.server())

    run = carry_out(http(target.url))

    assert run["state"] == "failed"
    assert "certificate of host '127.0.0.1' is not accepted" in message(run)
    assert target.calls == []


def test_a_certificate_for_another_name_is_not_accepted(peer, authority, carry_out):
    target = peer(Target, tls=authority.server("elsewhere.example"))

    run = carry_out(http(target.url, certificateAuthority=authority.pem))

    assert run["state"] == "failed"
    assert target.calls == []


def test_a_template_is_filled_in_for_each_run(target, make):
    job = make(
        http(
            target.url + "/{{ job.name }}?at={{ fire_time }}",
            headers={"X-Run": "{{ run_id }}/{{ attempt }}", "Content-Type": "application/json"},
            body='{"collection": "{{ collection.name }}", "braces": "{{ "{{" }} }}"}',
        )
        | {"template": True}
    )

    runs = [job.run(), job.run()]

    assert [call.headers["X-Run"] for call in target.calls] == [f"{run['id']}/1" for run in runs]
    for run, call in zip(runs, target.calls, strict=True):
        address = urlsplit(call.path)
        fired = datetime.fromisoformat(run["fireAt"]).replace(microsecond=0)
        assert address.path == f"/{job.name}"
        assert datetime.fromisoformat(parse_qs(address.query)["at"][0]) == fired
        assert json.loads(call.body) == {"collection": run["collectionName"], "braces": "{{ }}"}


@pytest.mark.parametrize(
    "answer, success, state",
    [
        (Answer(404), {"statusCodes": ["200-299", 404]}, "succeeded"),
        (Answer(202), {"statusCodes": [200]}, "failed"),
        (Answer(200, body="all is well"), {"bodyContains": "is well"}, "succeeded"),
        (Answer(200, body="error: disk full"), {"bodyContains": "is well"}, "failed"),
        (Answer(200, body='{"jobs": [{"state": "done"}]}'), {"bodyPath": "$.jobs[0].state"}, "succeeded"),
        (Answer(200, body='{"state": "done"}'), {"bodyPath": "$.state", "bodyValue": "done"}, "succeeded"),
        (Answer(200, body='{"state": "busy"}'), {"bodyPath": "$.state", "bodyValue": "done"}, "failed"),
    ],
)
def test_a_job_says_what_success_is(answer, success, state, target, carry_out):
    target.answers["/"] = [answer]

    run = carry_out(http(target.url + "/", success=success))

    assert (run["state"], run["attempts"][0]["statusCode"]) == (state, answer.status), message(run)


def test_a_redirect_is_not_followed_unless_the_job_says_so(target, carry_out):
    run = carry_out(http(f"{target.url}/redirect/302?to=/landing"))

    assert (run["state"], run["attempts"][0]["statusCode"]) == ("failed", 302)
    assert "redirects are not followed" in message(run)
    assert target.calls_to("/landing") == []


def test_credentials_follow_a_redirect_on_their_host_but_not_to_another(target, peer, make):
    elsewhere = peer(Target)
    onwards = quote(f"/redirect/307?to={elsewhere.url}/landing", safe="")
    job = make(
        http(
            f"{target.url}/redirect/308?to={onwards}",
            followRedirects=True,
            headers={"X-Team": "ops", "X-Api-Key": "opensesame"},
            authentication={"type": "Basic", "username": "ada", "password": "lovelace"},
            body="hello",
        )
    )
    job.new_secret("PT0S")

    run = job.run()

    assert run["state"] == "succeeded", message(run)
    first, second = target.calls
    (landed,) = elsewhere.calls
    assert [(call.method, call.body) for call in (first, second, landed)] == [("POST", "hello")] * 3
    for name in ("Authorization", "X-Api-Key", "Webhook-Signature"):
        assert first.headers[name] == second.headers[name] is not None, name
        assert landed.headers[name] is None, name
    assert landed.headers["X-Team"] == "ops"


def test_a_certificate_is_not_shown_to_another_host(peer, authority, carry_out):
    first, elsewhere = (peer(Target, tls=authority.server(demands_certificate=True)) for _ in range(2))
    action = with_certificate(first, authority, authority.client())
    action["request"] |= {"uri": f"{first.url}/redirect/307?to={elsewhere.url}/landing", "followRedirects": True}

    run = carry_out(action)

    assert run["state"] == "failed"
    assert len(first.calls) == 1
    assert elsewhere.calls == []
    assert elsewhere.refused


def test_a_token_is_not_carried_to_another_host(tokens, target, peer, carry_out):
    protected = peer(ProtectedTarget, tokens)
    action = with_token(protected, "northwind")
    action["request"] |= {"uri": f"{protected.url}/redirect/307?to={target.url}/landing", "followRedirects": True}

    run = carry_out(action)

    assert run["state"] == "succeeded", message(run)
    assert [call.headers["Authorization"] for call in target.calls_to("/landing")] == [None]


def test_a_failed_attempt_is_made_again_when_the_target_asks_for_it(target, make):
    """The shortest interval takes 15 s; the target asks for 2 s more."""
    target.answers["/flaky"] = [Answer(503, {"Retry-After": "17"}), Answer()]
    policy = {"retryType": "Fixed", "retryInterval": "PT15S", "retryCount": 1}
    job = make(http(f"{target.url}/flaky") | {"retryPolicy": policy})

    run = job.run()

    first, second = target.calls
    assert second.arrived_at - first.arrived_at >= timedelta(seconds=17)
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"] == run["id"]
    assert (first.headers["X-Scheduler-Attempt"], second.headers["X-Scheduler-Attempt"]) == ("1", "2")
    assert [attempt["statusCode"] for attempt in run["attempts"]] == [503, 200]
    assert run["state"] == "succeeded"


# Credentials


def test_basic_authentication_is_sent(target, carry_out):
    run = carry_out(http(target.url, authentication={"type": "Basic", "username": "ada", "password": "pässword: 1"}))

    (call,) = target.calls
    scheme, _, pair = call.headers["Authorization"].partition(" ")
    assert (scheme, base64.b64decode(pair).decode()) == ("Basic", "ada:pässword: 1")
    assert run["state"] == "succeeded"


@pytest.fixture
def demanding(peer, authority):
    """A target that takes only callers with a certificate of the authority."""
    return peer(Target, tls=authority.server(demands_certificate=True))


def with_certificate(target: Target, authority, certificate) -> dict:
    proof = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    return http(target.url, certificateAuthority=authority.pem, authentication=proof)


@pytest.mark.parametrize("password", ["opensesame", ""])
def test_a_client_certificate_is_shown(password, demanding, authority, live, make):
    certificate = authority.client("nightly backup", password)
    job = make(with_certificate(demanding, authority, certificate))

    run = job.run()
    shown = answered(live, "GET", job.path + VERSION)["properties"]["action"]["request"]["authentication"]

    assert run["state"] == "succeeded", message(run)
    (call,) = demanding.calls
    assert thumbprint(call.certificate) == certificate.thumbprint == shown["certificateThumbprint"]
    assert shown["certificateSubjectName"] == certificate.subject
    assert datetime.fromisoformat(shown["certificateExpirationDate"]) == certificate.expires_at
    assert job.read()["warnings"] == []


def test_a_target_that_demands_a_certificate_takes_no_job_without_one(demanding, authority, carry_out):
    run = carry_out(http(demanding.url, certificateAuthority=authority.pem))

    assert run["state"] == "failed"
    assert demanding.calls == []
    assert demanding.refused


@pytest.mark.parametrize(
    "days, warning, state",
    [(29, "certificate_expires_soon", "succeeded"), (-1, "certificate_expired", "failed")],
)
def test_a_certificate_at_its_end_is_flagged(days, warning, state, demanding, authority, make):
    expires_at = datetime.now(UTC) + timedelta(days=days)
    job = make(with_certificate(demanding, authority, authority.client(expires_at=expires_at)))

    assert [caution["code"] for caution in job.read()["warnings"]] == [warning]
    assert job.run()["state"] == state


AUDIENCE = "https://api.example.org/"


def with_token(target: Target, tenant: str, secret: str = CLIENT_SECRET) -> dict:
    proof = {"tenant": tenant, "audience": AUDIENCE, "clientId": "quando", "secret": secret}
    return http(target.url, authentication={"type": "ActiveDirectoryOAuth", **proof})


def test_jobs_share_a_token_until_it_is_refused(tokens, peer, carry_out):
    protected = peer(ProtectedTarget, tokens, audience=AUDIENCE)
    path = "/contoso/oauth2/token"

    assert [carry_out(with_token(protected, "contoso"))["state"] for _ in range(2)] == ["succeeded"] * 2
    assert len(tokens.calls_to(path)) == 1

    tokens.revoke()
    run = carry_out(with_token(protected, "contoso"))

    assert (run["state"], len(run["attempts"])) == ("succeeded", 1)
    assert len(tokens.calls_to(path)) == 2
    sent = [call.headers["Authorization"] for call in protected.calls]
    assert sent[0] == sent[1] == sent[2] != sent[3]
    assert len(sent) == 4


def test_a_token_that_stays_refused_is_renewed_only_once(tokens, peer, carry_out):
    protected = peer(ProtectedTarget, tokens, audience="https://another.example.org/")

    run = carry_out(with_token(protected, "fabrikam"))

    assert (run["state"], run["attempts"][0]["statusCode"]) == ("failed", 401)
    assert len(tokens.calls_to("/fabrikam/oauth2/token")) == 2
    assert len(protected.calls) == 2


def test_without_a_token_nothing_is_sent(tokens, peer, carry_out):
    protected = peer(ProtectedTarget, tokens)

    run = carry_out(with_token(protected, "contoso", secret="a wrong secret"))

    assert run["state"] == "failed"
    assert "invalid_client" in message(run)
    assert "a wrong secret" not in str(run)
    assert protected.calls == []


def test_a_job_may_name_an_authority_of_its_own(tokens, peer, authority, carry_out):
    own = peer(TokenAuthority, {"quando": CLIENT_SECRET}, tls=authority.server())
    protected = peer(ProtectedTarget, own, audience=AUDIENCE, tls=authority.server())
    action = with_token(protected, "tailspin")
    action["request"]["authentication"]["authority"] = own.url
    action["request"]["certificateAuthority"] = authority.pem

    run = carry_out(action)

    assert run["state"] == "succeeded", message(run)
    assert [token.tenant for token in own.issued] == ["tailspin"]
    assert tokens.calls_to("/tailspin/oauth2/token") == []


def test_requests_are_signed_with_secrets_that_overlap(peer, make):
    receiver = peer(Receiver)
    job = make(http(receiver.url, body='{"hello": "wörld"}'))
    assert job.run()["state"] == "failed"  # it is not signed yet

    first = job.new_secret("PT1H")
    receiver.secrets = [first]
    assert job.run()["state"] == "succeeded"

    second = job.new_secret("PT1H")
    receiver.secrets = [first, second]
    run = job.run()
    assert receiver.verified_with(receiver.calls[-1]) == [first, second]
    assert receiver.calls[-1].headers["webhook-id"] == run["id"]

    third = job.new_secret("PT0S")
    receiver.secrets = [first, second, third]
    assert job.run()["state"] == "succeeded"
    assert receiver.verified_with(receiver.calls[-1]) == [third]

    answered(job.live, "DELETE", f"{job.url}/signing-secret")
    job.run()
    assert receiver.calls[-1].headers["webhook-signature"] is None


def test_requests_of_error_actions_are_signed(target, peer, live, make):
    receiver = peer(Receiver)
    job = make(http(f"{target.url}/status/500") | {"errorAction": http(receiver.url, body="it failed")})
    receiver.secrets = [job.new_secret("PT0S")]

    error_run = over(live, job.run()["errorRun"])

    assert error_run["state"] == "succeeded", message(error_run)


# Storage queues


@pytest.mark.parametrize(
    "encoding, policies", [("None", {}), ("Base64", {"message_decode_policy": TextBase64DecodePolicy()})]
)
def test_a_queues_own_client_reads_the_message(encoding, policies, storage, carry_out):
    name, text = next(NAMES), "hellö <&> ]]> \U0001f642\n"
    queue = storage.queue(name, **policies)
    sent = queue_message(storage, name, message=text, messageEncoding=encoding)

    run = carry_out({"type": "StorageQueue", "queueMessage": sent})

    assert run["state"] == "succeeded", message(run)
    assert [received.content for received in queue.receive_messages()] == [text]


@pytest.mark.parametrize(
    "encoding, policies", [("None", {}), ("Base64", {"message_decode_policy": TextBase64DecodePolicy()})]
)
def test_the_envelope_of_a_message_says_which_run_sent_it(encoding, policies, storage, make):
    name = next(NAMES)
    queue = storage.queue(name, **policies)
    sent = queue_message(storage, name, message="hellö <&>", messageFormat="Xml", messageEncoding=encoding)
    job = make({"type": "StorageQueue", "queueMessage": sent})

    run = job.run()
    (received,) = queue.receive_messages()
    envelope = ElementTree.fromstring(received.content)
    members = {member.tag: member.text for member in envelope}

    assert re.match(r"""<\?xml version=["']1.0["'] encoding=["']utf-16["']""", received.content, re.IGNORECASE)
    assert envelope.tag == "StorageQueueMessage"
    assert re.fullmatch("[0-9a-f]{32}", members.pop("ExecutionTag"))
    assert uuid.UUID(members.pop("ClientRequestId"))
    expected = datetime.fromisoformat(members.pop("ExpectedExecutionTime"))
    assert expected.tzinfo is None
    assert abs(expected.replace(tzinfo=UTC) - datetime.fromisoformat(run["fireAt"])) < timedelta(seconds=1)
    assert members.pop("Region") == "West Europe"
    assert members == {
        "SchedulerJobId": job.name,
        "SchedulerJobCollectionId": run["collectionName"],
        "Message": "hellö <&>",
    }


@pytest.mark.parametrize("token", ["another queue's", "expired", "with a question mark"])
def test_a_queue_takes_only_a_good_token(token, storage, carry_out):
    name = next(NAMES)
    queue = storage.queue(name)
    sas, state = {
        "another queue's": (storage.queue_sas("elsewhere"), "failed"),
        "expired": (storage.queue_sas(name, -timedelta(hours=1)), "failed"),
        "with a question mark": ("?" + storage.queue_sas(name), "succeeded"),
    }[token]

    run = carry_out({"type": "StorageQueue", "queueMessage": queue_message(storage, name, sasToken=sas)})

    assert run["state"] == state, message(run)
    assert len(list(queue.receive_messages())) == (state == "succeeded")
    assert sas.lstrip("?") not in str(run)


# Service bus


def test_every_property_of_a_message_arrives(bus, carry_out):
    bus.entities.add("orders/eu")
    enqueue_at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    properties = {
        "contentType": "application/json; charset=utf-8",
        "correlationId": "order 7",
        "forcePersistence": True,
        "label": 'größe "L"',
        "messageId": "7",
        "partitionKey": "eu",
        "replyTo": "answers",
        "replyToSessionId": "session 1",
        "scheduledEnqueueTimeUtc": enqueue_at.isoformat(),
        "sessionId": "eu",
        "timeToLive": "PT1M30S",
        "to": "warehouse",
        "viaPartitionKey": "via",
    }
    sent = bus_message(
        topicPath="orders/eu",
        message='{"size": "größe"}',
        brokeredMessageProperties=properties,
        customMessageProperties={"Priority": "high", "Note": 'say "größe"\\', "Count": "7"},
    )

    run = carry_out({"type": "ServiceBusTopic", "serviceBusTopicMessage": sent})

    assert run["state"] == "succeeded", message(run)
    (received,) = [message for message in bus.messages if message.entity == "orders/eu"]
    assert received.body == '{"size": "größe"}'
    assert received.content_type == "application/json; charset=utf-8"
    assert received.custom == {"priority": "high", "note": 'say "größe"\\', "count": "7"}
    assert received.properties == {
        "CorrelationId": "order 7",
        "ForcePersistence": True,
        "Label": 'größe "L"',
        "MessageId": "7",
        "PartitionKey": "eu",
        "ReplyTo": "answers",
        "ReplyToSessionId": "session 1",
        "ScheduledEnqueueTimeUtc": enqueue_at,
        "SessionId": "eu",
        "TimeToLive": 90,
        "To": "warehouse",
        "ViaPartitionKey": "via",
    }


@pytest.mark.parametrize(
    "members, status",
    [
        ({"authentication": {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": "another"}}, 401),
        ({"authentication": {"type": "SharedAccessKey", "sasKeyName": "listen", "sasKey": BUS_KEY}}, 401),
        ({"queueName": "nowhere"}, 404),
        ({"namespace": "elsewhere"}, 404),
    ],
)
def test_what_the_bus_refuses_is_a_failure_that_says_so(members, status, bus, carry_out):
    bus.entities.add("picky")

    run = carry_out({"type": "ServiceBusQueue", "serviceBusQueueMessage": bus_message(queueName="picky") | members})

    assert (run["state"], run["attempts"][0]["statusCode"]) == ("failed", status)
    assert BUS_KEY not in str(run)
    assert [message for message in bus.messages if message.entity == "picky"] == []
