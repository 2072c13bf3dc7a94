"""One call at once: really made, shown without its secrets, and leaving no trace."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs import call_test
from jobs.call_test import Part, run_call_test
from jobs.errors import Conflict
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


def test_the_target_is_called_and_its_answer_told(make_job, target):
    target.answers["/hook?a=b"] = [Answer(202, {"X-Kind": "later"}, body="in a while")]
    job = make_job(action=http(f"{target.url}/hook?a=b", headers={"X-Tag": "1"}, body="hello"))

    rehearsed = run_call_test(job, Part.ACTION, NOW)

    (call,) = target.calls
    assert (call.method, call.path, call.body) == ("POST", "/hook?a=b", "hello")
    assert call.headers["X-Scheduler-Attempt"] == "1"
    assert (rehearsed.result.succeeded, rehearsed.result.status_code) == (True, 202)
    assert rehearsed.result.body == "in a while"
    assert ("X-Kind", "later") in rehearsed.result.headers
    assert (rehearsed.request["method"], rehearsed.request["body"]) == ("POST", "hello")
    assert timedelta(0) < rehearsed.elapsed < timedelta(seconds=10)


def test_what_it_begins_is_not_followed(make_job, target):
    target.answers["/start"] = [Answer(202, {"Location": f"{target.url}/poll"}, "")]

    rehearsed = run_call_test(make_job(action={**http(f"{target.url}/start"), "follow": True}), Part.ACTION, NOW)

    assert rehearsed.result.succeeded
    assert rehearsed.result.message == "Host '127.0.0.1' answered 'Accepted' and has begun an operation."
    assert target.calls_to("/poll") == []
    assert not AsyncOperation.objects.exists()


def test_no_run_no_counter_and_no_second_try(make_job, target):
    job = make_job(action=http(f"{target.url}/status/503", body="x"))
    before = Job.objects.values().get()

    rehearsed = run_call_test(job, Part.ACTION, NOW)

    assert not rehearsed.result.succeeded
    assert len(target.calls) == 1
    assert not Run.objects.exists()
    assert not Attempt.objects.exists()
    assert Job.objects.values().get() == before


def test_each_is_a_call_of_its_own(make_job, target):
    job = make_job(action=http(target.url))

    run_call_test(job, Part.ACTION, NOW)
    run_call_test(job, Part.ACTION, NOW)

    assert len({call.headers["Idempotency-Key"] for call in target.calls}) == 2


def test_the_error_action_is_called_alone_and_with_its_own_secrets(make_job, target):
    proof = {"type": "Basic", "username": "ada", "password": "opensesame"}
    alarm = http(f"{target.url}/alarm", authentication=proof)
    job = make_job(action={**http(f"{target.url}/main"), "errorAction": alarm})

    run_call_test(job, Part.ERROR_ACTION, NOW)

    (call,) = target.calls
    assert call.path == "/alarm"
    assert call.headers["Authorization"] == "Basic YWRhOm9wZW5zZXNhbWU="


def test_a_job_without_an_error_action_has_none_to_test(make_job, target):
    with pytest.raises(Conflict, match="has no error action"):
        run_call_test(make_job(action=http(target.url)), Part.ERROR_ACTION, NOW)


def test_a_disabled_job_can_be_tested(make_job, target):
    assert run_call_test(make_job(action=http(target.url), state="disabled"), Part.ACTION, NOW).result.succeeded


def test_secrets_are_sent_and_not_shown(make_job, target):
    target.answers["/"] = [Answer(body="you said Bearer tellnobody")]
    job = make_job(action=http(f"{target.url}/", headers={"Authorization": "Bearer tellnobody"}))

    rehearsed = run_call_test(job, Part.ACTION, NOW)

    assert target.calls[0].headers["Authorization"] == "Bearer tellnobody"
    assert "tellnobody" not in repr(rehearsed)
    assert rehearsed.result.body == "you said ********"


def test_a_signed_job_signs_its_test(make_job, peer):
    receiver = peer(Receiver)
    job = make_job(action=http(receiver.url, body="hello"))
    now = timezone.now()  # a receiver refuses old signatures
    receiver.secrets.append(new_secret(job, timedelta(0), now))

    assert run_call_test(job, Part.ACTION, now).result.status_code == 204


def test_who_answers_too_slowly_is_given_up(make_job, target, monkeypatch):
    monkeypatch.setattr(call_test, "LIMIT_S", 0.2)

    rehearsed = run_call_test(make_job(action=http(f"{target.url}/slow/5")), Part.ACTION, NOW)

    assert "A run waits longer." in rehearsed.result.message
    assert rehearsed.elapsed < timedelta(seconds=2)


def test_slow_tests_leave_the_web_server_its_other_threads(make_job, target, monkeypatch):
    monkeypatch.setattr(call_test, "CONCURRENT_TESTS", threading.BoundedSemaphore(1))
    job = make_job(action=http(target.url))

    with call_test.CONCURRENT_TESTS:
        refused = run_call_test(job, Part.ACTION, NOW)

    assert "other tests are under way" in refused.result.message
    assert target.calls == []
    assert run_call_test(job, Part.ACTION, NOW).result.succeeded
    assert run_call_test(job, Part.ACTION, NOW).result.succeeded


def test_an_address_that_is_closed_to_calls_is_not_called(make_job, target, settings):
    job = make_job(action=http(target.url))
    settings.EGRESS_ALLOW = []

    rehearsed = run_call_test(job, Part.ACTION, NOW)

    assert target.calls == []
    assert "was not called" in rehearsed.result.message


def test_credentials_that_no_key_opens_are_said(make_job, target, settings):
    proof = {"type": "Basic", "username": "ada", "password": "opensesame"}
    job = make_job(action=http(target.url, authentication=proof))
    settings.ENCRYPTION_KEYS = ["3vRaZG7fHVpSSL2D1FfzqrfXr0KOMPUqVQgGqV5sWbU="]

    rehearsed = run_call_test(job, Part.ACTION, NOW)

    assert "no key in ENCRYPTION_KEYS" in rehearsed.result.message
    assert target.calls == []
