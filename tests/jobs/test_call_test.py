"""Test calls: one real call at once, shown without secrets and not stored."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from api.errors import Conflict
from jobs import call_test
from jobs.call_test import Part, run_call_test
from jobs.models import AsyncOperation, Attempt, Job, Run
from jobs.signing import new_secret
from tests.conftest import NOW
from tests.peers.server import Answer
from tests.peers.webhooks import Receiver


def http(uri, **members) -> dict:
    return {"type": "Http", "request": {"uri": uri, "method": "POST", **members}}


@pytest.fixture(autouse=True)
def open_addresses(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


def test_test_call_calls_the_target_and_returns_its_response(make_job, target):
    target.answers["/hook?a=b"] = [Answer(202, {"X-Kind": "later"}, body="in a while")]
    job = make_job(action=http(f"{target.url}/hook?a=b", headers={"X-Tag": "1"}, body="hello"))

    tested = run_call_test(job, Part.ACTION, NOW)

    (call,) = target.calls
    assert (call.method, call.path, call.body) == ("POST", "/hook?a=b", "hello")
    assert call.headers["X-Scheduler-Attempt"] == "1"
    assert (tested.result.succeeded, tested.result.status_code) == (True, 202)
    assert tested.result.body == "in a while"
    assert ("X-Kind", "later") in tested.result.headers
    assert (tested.request["method"], tested.request["body"]) == ("POST", "hello")
    assert timedelta(0) < tested.elapsed < timedelta(seconds=10)


def test_test_call_does_not_follow_an_operation(make_job, target):
    target.answers["/start"] = [Answer(202, {"Location": f"{target.url}/poll"}, "")]

    tested = run_call_test(make_job(action={**http(f"{target.url}/start"), "follow": True}), Part.ACTION, NOW)

    assert tested.result.succeeded
    assert tested.result.message == "Host '127.0.0.1' answered 'Accepted' and has begun an operation."
    assert target.calls_to("/poll") == []
    assert not AsyncOperation.objects.exists()


def test_test_call_creates_no_run_and_no_retry(make_job, target):
    job = make_job(action=http(f"{target.url}/status/503", body="x"))
    before = Job.objects.values().get()

    tested = run_call_test(job, Part.ACTION, NOW)

    assert not tested.result.succeeded
    assert len(target.calls) == 1
    assert not Run.objects.exists()
    assert not Attempt.objects.exists()
    assert Job.objects.values().get() == before


def test_each_test_call_has_its_own_idempotency_key(make_job, target):
    job = make_job(action=http(target.url))

    run_call_test(job, Part.ACTION, NOW)
    run_call_test(job, Part.ACTION, NOW)

    assert len({call.headers["Idempotency-Key"] for call in target.calls}) == 2


def test_error_action_is_tested_alone_and_with_its_own_secrets(make_job, target):
    proof = {"type": "Basic", "username": "ada", "password": "opensesame"}
    alarm = http(f"{target.url}/alarm", authentication=proof)
    job = make_job(action={**http(f"{target.url}/main"), "errorAction": alarm})

    run_call_test(job, Part.ERROR_ACTION, NOW)

    (call,) = target.calls
    assert call.path == "/alarm"
    assert call.headers["Authorization"] == "Basic YWRhOm9wZW5zZXNhbWU="


def test_testing_a_missing_error_action_is_a_conflict(make_job, target):
    with pytest.raises(Conflict, match="has no error action"):
        run_call_test(make_job(action=http(target.url)), Part.ERROR_ACTION, NOW)


def test_a_disabled_job_can_be_tested(make_job, target):
    assert run_call_test(make_job(action=http(target.url), state="disabled"), Part.ACTION, NOW).result.succeeded


def test_test_call_sends_secrets_and_does_not_show_them(make_job, target):
    target.answers["/"] = [Answer(body="you said Bearer tellnobody")]
    job = make_job(action=http(f"{target.url}/", headers={"Authorization": "Bearer tellnobody"}))

    tested = run_call_test(job, Part.ACTION, NOW)

    assert target.calls[0].headers["Authorization"] == "Bearer tellnobody"
    assert "tellnobody" not in repr(tested)
    assert tested.result.body == "you said ********"


def test_test_call_of_a_signed_job_is_signed(make_job, peer):
    receiver = peer(Receiver)
    job = make_job(action=http(receiver.url, body="hello"))
    now = timezone.now()  # receivers refuse old signatures
    receiver.secrets.append(new_secret(job, timedelta(0), now))

    assert run_call_test(job, Part.ACTION, now).result.status_code == 204


def test_slow_test_call_is_given_up(make_job, target, monkeypatch):
    monkeypatch.setattr(call_test, "LIMIT_S", 0.2)

    tested = run_call_test(make_job(action=http(f"{target.url}/slow/5")), Part.ACTION, NOW)

    assert "A run waits longer." in tested.result.message
    assert tested.elapsed < timedelta(seconds=2)


def test_number_of_concurrent_test_calls_has_a_limit(make_job, target, monkeypatch):
    monkeypatch.setattr(call_test, "CONCURRENT_TESTS", threading.BoundedSemaphore(1))
    job = make_job(action=http(target.url))

    with call_test.CONCURRENT_TESTS:
        refused = run_call_test(job, Part.ACTION, NOW)

    assert "other tests are under way" in refused.result.message
    assert target.calls == []
    assert run_call_test(job, Part.ACTION, NOW).result.succeeded
    assert run_call_test(job, Part.ACTION, NOW).result.succeeded


def test_test_call_does_not_call_a_closed_address(make_job, target, settings):
    job = make_job(action=http(target.url))
    settings.EGRESS_ALLOW = []

    tested = run_call_test(job, Part.ACTION, NOW)

    assert target.calls == []
    assert "was not called" in tested.result.message


def test_test_call_with_credentials_that_cannot_be_decrypted_fails_with_the_reason(make_job, target, settings):
    proof = {"type": "Basic", "username": "ada", "password": "opensesame"}
    job = make_job(action=http(target.url, authentication=proof))
    settings.ENCRYPTION_KEYS = ["3vRaZG7fHVpSSL2D1FfzqrfXr0KOMPUqVQgGqV5sWbU="]

    tested = run_call_test(job, Part.ACTION, NOW)

    assert "no key in ENCRYPTION_KEYS" in tested.result.message
    assert target.calls == []
