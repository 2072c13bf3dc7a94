"""The peers accept right requests and refuse wrong ones, so that tests with them are meaningful."""

import base64
import uuid
from datetime import UTC, datetime, timedelta

import pytest
import requests
from azure.core.exceptions import HttpResponseError
from azure.storage.queue import QueueClient
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12
from standardwebhooks import Webhook

from tests.peers.oauth import ProtectedTarget, TokenAuthority
from tests.peers.server import Answer, Server
from tests.peers.target import Target
from tests.peers.webhooks import Receiver

GRANT = {"grant_type": "client_credentials", "client_id": "quando", "client_secret": "its secret", "resource": "there"}


@pytest.fixture(autouse=True)
def fixed_start():
    """Leave the time unchanged: the emulator of queues reads the machine's clock."""


def get(server: Server, path: str = "/", **fields) -> requests.Response:
    return requests.get(server.url + path, timeout=10, **fields)


def test_target_returns_its_responses_in_turn(target):
    target.answers["/flaky"] = [Answer(503, {"Retry-After": "20"}), Answer(204)]

    first, second, third = (get(target, "/flaky") for _ in range(3))

    assert [first.status_code, second.status_code, third.status_code] == [503, 204, 204]
    assert first.headers["Retry-After"] == "20"
    assert len(target.calls_to("/flaky")) == 3


def test_target_redirects_its_callers(target):
    answer = get(target, "/redirect/307?to=http://elsewhere/a%3Fb=c", allow_redirects=False)

    assert (answer.status_code, answer.headers["Location"]) == (307, "http://elsewhere/a?b=c")


# Tokens


@pytest.fixture
def tokens(peer):
    return peer(TokenAuthority, {"quando": "its secret"})


def ask(tokens: TokenAuthority, **form) -> requests.Response:
    return requests.post(f"{tokens.url}/tenant/oauth2/token", data=GRANT | form, timeout=10)


@pytest.mark.parametrize(
    "form, status, error",
    [
        ({"client_secret": "another"}, 401, "invalid_client"),
        ({"client_id": "another"}, 401, "invalid_client"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"resource": None}, 400, "invalid_request"),
    ],
)
def test_a_wrong_request_gets_no_token(tokens, form, status, error):
    answer = ask(tokens, **form)

    assert (answer.status_code, answer.json()["error"]) == (status, error)
    assert tokens.issued == []


def test_token_is_valid_until_it_is_revoked_or_expires(tokens, peer):
    protected = peer(ProtectedTarget, tokens, audience="there")

    def status(token: str) -> int:
        return get(protected, headers={"Authorization": f"Bearer {token}"}).status_code

    token = ask(tokens).json()["access_token"]
    assert (status(token), status("made up"), get(protected).status_code) == (200, 401, 401)
    assert status(ask(tokens, resource="elsewhere").json()["access_token"]) == 401

    tokens.revoke()
    assert status(token) == 401
    tokens.lifetime = -1
    assert status(ask(tokens).json()["access_token"]) == 401


# TLS


def test_server_requires_a_certificate_of_its_authority(authority, peer, tmp_path):
    server = peer(Target, tls=authority.server(demands_certificate=True))
    client = authority.client("backup", expires_at=datetime.now(UTC) + timedelta(days=7))
    key, certificate, _ = pkcs12.load_key_and_certificates(base64.b64decode(client.pfx), client.password.encode())
    pem = tmp_path / "client.pem"
    pem.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificate.public_bytes(Encoding.PEM)
    )
    trusted = tmp_path / "authority.pem"
    trusted.write_text(authority.pem)

    with pytest.raises(requests.ConnectionError):
        get(server, verify=str(trusted))
    assert server.calls == []
    assert get(server, verify=str(trusted), cert=str(pem)).status_code == 200

    (call,) = server.calls
    assert client.subject.startswith("CN=backup,")
    assert call.certificate == certificate


# Signed requests


def test_receiver_accepts_only_calls_signed_with_one_of_its_secrets(peer):
    ours, theirs = ("whsec_" + base64.b64encode(uuid.uuid4().bytes).decode() for _ in range(2))
    receiver = peer(Receiver, [ours])

    def send(secret: str, body: str = "hello") -> int:
        now = datetime.now(UTC)
        signed = {"webhook-id": "1", "webhook-timestamp": str(int(now.timestamp()))}
        signed["webhook-signature"] = Webhook(secret).sign("1", now, "hello")
        return requests.post(receiver.url, data=body, headers=signed, timeout=10).status_code

    assert (send(ours), send(theirs), send(ours, "another")) == (204, 401, 401)
    assert [receiver.verified_with(call) for call in receiver.calls] == [[ours], [], []]


# Storage queues


def test_token_of_one_queue_adds_messages_only_to_that_queue(storage):
    mine, other = storage.queue("mine"), storage.queue("other")

    def add(name: str, token: str) -> None:
        QueueClient(storage.address.format(account=storage.account), name, credential=token).send_message("hello")

    add("mine", storage.queue_sas("mine"))
    add("other", storage.account_sas())
    for name, token in (("other", storage.queue_sas("mine")), ("mine", storage.queue_sas("mine", -timedelta(hours=1)))):
        with pytest.raises(HttpResponseError):
            add(name, token)

    assert [[message.content for message in queue.receive_messages()] for queue in (mine, other)] == [["hello"]] * 2
