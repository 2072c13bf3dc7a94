"""Redirects: followed only for jobs that allow it, with the checks of the first call and without credentials."""

import socket
import time

import pytest

from jobs.actions import addresses, http
from tests.jobs.attempts import attempt
from tests.peers.server import Answer
from tests.peers.target import Target
from tests.peers.webhooks import Receiver, verifies

SIGNING_SECRET = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ="


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8", "::1/128"]


@pytest.fixture
def elsewhere(peer):
    return peer(Target)


def document(uri: str, **request) -> dict:
    return {"type": "Http", "request": {"uri": uri, "method": "GET", "followRedirects": True, **request}}


def redirecting_uri(target: Target, status: int, location: str) -> str:
    """Return an address of `target` that redirects to `location`."""
    target.answers["/start"] = [Answer(status, {"Location": location})]
    return f"{target.url}/start"


@pytest.mark.parametrize("member", [{}, {"followRedirects": False}, {"followRedirects": None}])
def test_redirects_are_not_followed_by_default(target, elsewhere, member):
    uri = redirecting_uri(target, 302, elsewhere.url)

    outcome = attempt({"type": "Http", "request": {"uri": uri, "method": "GET", **member}})

    assert (outcome.succeeded, outcome.status_code) == (False, 302)
    assert outcome.message == "Host '127.0.0.1' answered 'Found'; redirects are not followed."
    assert elsewhere.calls == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_for_a_job_that_allows_them(target, elsewhere, status):
    outcome = attempt(document(redirecting_uri(target, status, f"{elsewhere.url}/end?a=%20b")))

    assert (outcome.succeeded, outcome.status_code, outcome.body) == (True, 200, "ok")
    assert elsewhere.calls[0].path == "/end?a=%20b"
    assert elsewhere.calls[0].headers["Host"] == f"127.0.0.1:{elsewhere.port}"


@pytest.mark.parametrize("status", [300, 304, 305, 306])
def test_other_3xx_responses_are_not_redirects(target, elsewhere, status):
    assert attempt(document(redirecting_uri(target, status, elsewhere.url))).status_code == status
    assert elsewhere.calls == []


@pytest.mark.parametrize(
    "location, path",
    [
        ("/end", "/end"),
        ("end?x=1", "/end?x=1"),
        ("../end", "/end"),
        ("?x=1", "/start?x=1"),
        ("/end#part", "/end"),
        ("//127.0.0.1:{port}/end", "/end"),
        ("HTTP://127.0.0.1:{port}/end", "/end"),
        ("/a%2Fb//c/%7E", "/a%2Fb//c/%7E"),
    ],
)
def test_location_is_relative_to_the_address_that_returned_it(target, location, path):
    outcome = attempt(document(redirecting_uri(target, 302, location.replace("{port}", str(target.port)))))

    assert outcome.succeeded
    assert [call.path for call in target.calls] == ["/start", path]


@pytest.mark.parametrize(
    "status, method, sent",
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "DELETE", "GET"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (308, "PATCH", "PATCH"),
        (302, "GET", "GET"),
        (303, "HEAD", "HEAD"),
    ],
)
def test_status_of_a_redirect_decides_the_method_and_the_body(target, elsewhere, status, method, sent):
    has_body = method not in ("GET", "HEAD")
    request = {"method": method, "body": "once" if has_body else None, "headers": {"Content-Type": "text/plain"}}

    assert attempt(document(redirecting_uri(target, status, elsewhere.url), **request)).succeeded

    (call,) = elsewhere.calls
    keeps_body = has_body and sent == method
    assert (call.method, call.body) == (sent, "once" if keeps_body else "")
    assert call.headers["Content-Type"] == ("text/plain" if sent == method else None)


# Credentials


CREDENTIALS = {
    "Basic": {"authentication": {"type": "Basic", "username": "ada", "password": "password"}},
    "Authorization": {"headers": {"Authorization": "Bearer token"}},
    "authorization": {"headers": {"authorization": "Bearer token"}},
    "Cookie": {"headers": {"Cookie": "session=token"}},
    "X-Api-Key": {"headers": {"X-Api-Key": "token"}},
    "X-Auth-Token": {"headers": {"X-Auth-Token": "token"}},
    "My-Secret": {"headers": {"My-Secret": "token"}},
    "DD-APPLICATION-KEY": {"headers": {"DD-APPLICATION-KEY": "token"}},
    "X-Passwd": {"headers": {"X-Passwd": "token"}},
    "X-Tenant": {"headers": {"X-Tenant": "token"}},  # its name does not show what it is
    "X-Marked": {"headers": {"X-Marked": "token"}, "secretHeaders": ["X-Marked"]},
    "Accept": {"headers": {"Accept": "token"}, "secretHeaders": ["Accept"]},
}
HARMLESS = {
    "Accept": "text/plain",
    "Accept-Language": "de",
    "Content-Type": "text/plain",
    "Content-Language": "de",
    "User-Agent": "backup",
    "x-ms-client-request-id": "1234",
}


@pytest.mark.parametrize("name", CREDENTIALS)
@pytest.mark.parametrize("other", ["port", "host"])
def test_credentials_are_not_sent_to_another_origin(target, elsewhere, name, other):
    away = elsewhere if other == "port" else target
    location = f"{elsewhere.url}/end" if other == "port" else f"http://localhost:{target.port}/end"
    header = "Authorization" if name == "Basic" else name

    outcome = attempt(document(redirecting_uri(target, 307, location), **CREDENTIALS[name]))

    assert outcome.succeeded
    assert target.calls[0].headers[header]
    (arrived,) = away.calls_to("/end")
    assert arrived.headers[header] in (None, "*/*")  # Accept has a default
    assert not {"token", "password", "YWRhOnBhc3N3b3Jk"} & set(str(arrived.headers).split())
    assert arrived.headers["Idempotency-Key"]  # not a credential


def test_headers_without_credentials_are_sent_to_another_origin(target, elsewhere):
    uri = redirecting_uri(target, 307, f"{elsewhere.url}/end")

    assert attempt(document(uri, method="POST", body="once", headers=HARMLESS)).succeeded
    (arrived,) = elsewhere.calls_to("/end")
    assert {name: arrived.headers[name] for name in HARMLESS} == HARMLESS


def test_keys_of_the_uri_are_not_sent_to_another_origin(target, elsewhere):
    target.answers["/start?code=opensesame"] = [Answer(307, {"Location": f"{elsewhere.url}/end"})]

    assert attempt(document(f"{target.url}/start?code=opensesame")).succeeded
    assert elsewhere.calls[0].path == "/end"
    assert "opensesame" not in str(elsewhere.calls[0].headers)


def test_key_in_the_location_is_masked_in_the_response(target, elsewhere):
    elsewhere.answers["/end?sig=amber-lantern"] = [Answer(body="you sent amber-lantern to /end?sig=amber-lantern")]

    outcome = attempt(document(redirecting_uri(target, 307, f"{elsewhere.url}/end?sig=amber-lantern")))

    assert outcome.body == "you sent ******** to /end?sig=********"


@pytest.mark.parametrize("name", CREDENTIALS)
def test_credentials_are_sent_again_to_the_same_origin(target, name):
    header = "Authorization" if name == "Basic" else name

    assert attempt(document(redirecting_uri(target, 302, "/end"), **CREDENTIALS[name])).succeeded
    assert target.calls[1].headers[header] == target.calls[0].headers[header]


def test_credentials_are_not_sent_again_after_a_redirect_to_another_origin(target, elsewhere):
    back = redirecting_uri(elsewhere, 307, f"{target.url}/end")

    assert attempt(document(redirecting_uri(target, 307, back), **CREDENTIALS["Basic"])).succeeded
    assert target.calls_to("/end")[0].headers["Authorization"] is None


def test_credentials_are_not_sent_to_another_scheme(target, peer, authority):
    secure = peer(Target, tls=authority.server())
    uri = redirecting_uri(target, 307, f"{secure.url}/end")

    assert attempt(document(uri, certificateAuthority=authority.pem, **CREDENTIALS["Basic"])).succeeded
    assert secure.calls[0].headers["Authorization"] is None


def test_client_certificate_is_not_sent_to_another_origin(peer, authority):
    first, second = (peer(Target, tls=authority.server(demands_certificate=True)) for _ in range(2))
    client = authority.client()
    proof = {"type": "ClientCertificate", "pfx": client.pfx, "password": client.password}
    request = {"authentication": proof, "certificateAuthority": authority.pem}

    assert attempt(document(redirecting_uri(first, 307, "/end"), **request)).succeeded
    assert not attempt(document(redirecting_uri(first, 307, f"{second.url}/end"), **request)).succeeded

    assert all(call.certificate for call in first.calls)
    assert second.calls == []
    assert second.refused


def test_signature_is_not_sent_to_another_origin(peer, target):
    receiver = peer(Receiver, [SIGNING_SECRET])

    outcome = attempt(
        document(redirecting_uri(target, 307, f"{receiver.url}/end"), method="POST", body="once"),
        signing_secrets=(SIGNING_SECRET,),
    )

    assert verifies(SIGNING_SECRET, target.calls[0])
    assert outcome.status_code == 401
    assert receiver.calls[0].headers["webhook-signature"] is None


@pytest.mark.parametrize("status, is_signed", [(307, True), (303, False)])
def test_signature_is_sent_only_with_the_signed_body(target, status, is_signed):
    attempt(
        document(redirecting_uri(target, status, "/end"), method="POST", body="once"),
        signing_secrets=(SIGNING_SECRET,),
    )

    assert verifies(SIGNING_SECRET, target.calls[1]) is is_signed
    assert bool(target.calls[1].headers["webhook-signature"]) is is_signed


# Redirects that are not followed


def test_redirects_from_https_to_http_are_not_followed(target, peer, authority):
    secure = peer(Target, tls=authority.server())

    outcome = attempt(document(redirecting_uri(secure, 302, f"{target.url}/end"), certificateAuthority=authority.pem))

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert outcome.message == "Host '127.0.0.1' redirects from https to http, which is not followed."
    assert target.calls == []


def test_redirect_to_a_host_with_an_untrusted_certificate_is_not_followed(target, peer, authority):
    secure = peer(Target, tls=authority.server())

    assert "certificate" in attempt(document(redirecting_uri(target, 302, secure.url))).message
    assert secure.calls == []


@pytest.mark.parametrize("count, is_followed", [(5, True), (6, False)])
def test_number_of_redirects_has_a_limit(target, count, is_followed):
    for number in range(count):
        target.answers[f"/{number}"] = [Answer(302, {"Location": f"/{number + 1}"})]

    outcome = attempt(document(f"{target.url}/0"))

    assert outcome.succeeded is is_followed
    assert len(target.calls) == 6
    assert is_followed or outcome.message.endswith("more than 5 redirects; no more are followed.")


def test_redirect_loop_ends_at_the_limit(target):
    outcome = attempt(document(redirecting_uri(target, 302, "/start")))

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert len(target.calls) == 6


@pytest.mark.parametrize("status", [301, 302, 307])
def test_redirect_without_a_location_is_an_ordinary_response(target, status):
    target.answers["/start"] = [Answer(status)]

    outcome = attempt(document(f"{target.url}/start"))

    assert (outcome.succeeded, outcome.status_code) == (False, status)
    assert "not followed" not in outcome.message


def test_redirect_status_counts_as_success_only_when_redirects_are_not_followed(target):
    uri = redirecting_uri(target, 302, "/end")
    test = {"statusCodes": [302]}

    assert attempt(document(uri, success=test, followRedirects=False)).status_code == 302
    assert attempt(document(uri, success=test, followRedirects=False)).succeeded
    assert attempt(document(uri, success=test)).status_code == 200


class SlowRedirects(Target):
    """A target that redirects every request after a pause."""

    def answer(self, call):
        self.closing.wait(0.3)
        return Answer(302, {"Location": f"{call.path}x"})


def test_all_redirects_together_share_the_time_limit_of_one_call(peer, monkeypatch):
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.5)
    started = time.monotonic()

    outcome = attempt(document(f"{peer(SlowRedirects).url}/x"))

    assert "No complete answer" in outcome.message
    assert time.monotonic() - started < 1.2


def test_name_is_resolved_again_for_each_redirect(target, monkeypatch, settings):
    """The first lookup returns an open address and the next one a closed address, which is not called."""
    settings.EGRESS_ALLOW = ["127.0.0.1/32"]
    answers = iter(["127.0.0.1", "127.0.0.2"])
    monkeypatch.setattr(
        addresses,
        "lookup",
        lambda host, port, family: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))],
    )
    target.answers["/start"] = [Answer(302, {"Location": "/end"})]

    outcome = attempt(document(f"http://rebound.example:{target.port}/start"))

    assert outcome.message.startswith("Host 'rebound.example' was not called")
    assert [call.path for call in target.calls] == ["/start"]


@pytest.mark.parametrize("location", ["http://[::1", "http://a b/", "/a\tb", "/\\evil", "\x7f", "/ü", "http://x:y/"])
def test_error_for_a_malformed_location_does_not_contain_it(target, location):
    outcome = attempt(document(redirecting_uri(target, 302, location)))

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert outcome.message.startswith("Host '127.0.0.1' redirects to ")
    assert "evil" not in outcome.message
