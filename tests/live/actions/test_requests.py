"""Requests of worker processes, the redirects that they follow, and their retries."""

import json
from datetime import datetime, timedelta
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.live.actions.jobs import http, message, with_certificate, with_token
from tests.peers.oauth import ProtectedTarget
from tests.peers.server import Answer
from tests.peers.target import Target


def test_request_is_sent_unchanged(target, carry_out):
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
def test_success_is_defined_by_the_job(answer, success, state, target, carry_out):
    target.answers["/"] = [answer]

    run = carry_out(http(target.url + "/", success=success))

    assert (run["state"], run["attempts"][0]["statusCode"]) == (state, answer.status), message(run)


def test_redirect_is_not_followed_by_default(target, carry_out):
    run = carry_out(http(f"{target.url}/redirect/302?to=/landing"))

    assert (run["state"], run["attempts"][0]["statusCode"]) == ("failed", 302)
    assert "redirects are not followed" in message(run)
    assert target.calls_to("/landing") == []


def test_credentials_are_sent_to_a_redirect_on_the_same_host_only(target, peer, make):
    elsewhere = peer(Target)
    onwards = quote(f"/redirect/307?to={elsewhere.url}/landing", safe="")
    job = make(
        http(
            f"{target.url}/redirect/308?to={onwards}",
            followRedirects=True,
            headers={"Accept-Language": "de", "X-Team": "ops", "X-Api-Key": "opensesame"},
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
    for name in ("Authorization", "X-Api-Key", "X-Team", "Webhook-Signature"):
        assert first.headers[name] == second.headers[name] is not None, name
        assert landed.headers[name] is None, name
    assert landed.headers["Accept-Language"] == "de"


def test_client_certificate_is_not_sent_to_another_host(peer, authority, carry_out):
    first, elsewhere = (peer(Target, tls=authority.server(demands_certificate=True)) for _ in range(2))
    action = with_certificate(first, authority, authority.client())
    action["request"] |= {"uri": f"{first.url}/redirect/307?to={elsewhere.url}/landing", "followRedirects": True}

    run = carry_out(action)

    assert run["state"] == "failed"
    assert len(first.calls) == 1
    assert elsewhere.calls == []
    assert elsewhere.refused


def test_token_is_not_sent_to_another_host(tokens, target, peer, carry_out):
    protected = peer(ProtectedTarget, tokens)
    action = with_token(protected, "northwind")
    action["request"] |= {"uri": f"{protected.url}/redirect/307?to={target.url}/landing", "followRedirects": True}

    run = carry_out(action)

    assert run["state"] == "succeeded", message(run)
    assert [call.headers["Authorization"] for call in target.calls_to("/landing")] == [None]


def test_failed_attempt_is_retried_at_the_time_of_retry_after(target, make):
    """The shortest interval is 15 s; the target asks for 2 s more."""
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
