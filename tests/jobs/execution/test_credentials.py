"""Secrets and signatures in the calls of runs."""

import pytest
from django.db import connection
from standardwebhooks import Webhook

from jobs.models import Run
from jobs.signing import new_secret
from tests.jobs.conftest import START
from tests.jobs.runs import HOUR, NO_RETRY, attempts_of, dispatched, the_run

pytestmark = pytest.mark.django_db


BASIC = {"type": "Basic", "username": "ada", "password": "swordfish"}


def test_credentials_are_sent_and_not_written_to_the_history(make_job, target, work):
    request = {"uri": f"{target.url}/ok", "method": "GET", "authentication": BASIC}
    make_job(action={"type": "Http", "request": request})
    run = the_run()

    work(run)

    assert target.calls[0].headers["Authorization"] == "Basic YWRhOnN3b3JkZmlzaA=="
    assert "swordfish" not in str([vars(attempt) for attempt in attempts_of(run)])


def test_error_action_sends_its_own_credentials(make_job, target, work):
    action = {
        "type": "Http",
        "request": {"uri": f"{target.url}/status/500", "method": "GET"},
        "retryPolicy": NO_RETRY,
        "errorAction": {
            "type": "Http",
            "request": {"uri": f"{target.url}/error", "method": "GET", "authentication": BASIC},
        },
    }
    make_job(action=action)
    run = the_run()
    work(run)

    work(run.error_run)

    main, error = target.calls
    assert "Authorization" not in main.headers
    assert error.headers["Authorization"] == "Basic YWRhOnN3b3JkZmlzaA=="


def test_unreadable_credentials_fail_only_their_own_run(make_job, calling, target, work):
    request = {"uri": f"{target.url}/ok", "method": "GET", "authentication": BASIC}
    sealed = make_job("a-sealed", action={"type": "Http", "request": request})
    calling(name="b-open")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_action SET secrets = 'written with another key' WHERE id = %s", [sealed.action_id])
    runs = dispatched()

    work(*runs)

    assert [run.state for run in runs] == [Run.State.FAILED, Run.State.SUCCEEDED]
    assert "ENCRYPTION_KEYS" in attempts_of(runs[0])[0].message


def test_requests_are_signed_with_the_secrets_that_have_not_expired(calling, target, work):
    job = calling()
    for now in (START - 3 * HOUR, START - 2 * HOUR, START):
        newest = new_secret(job, overlap=HOUR, now=now)
    run = the_run()

    work(run)

    (call,) = target.calls
    assert (call.headers["webhook-id"], call.headers["webhook-timestamp"]) == (str(run.pk), str(int(START.timestamp())))
    assert len(call.headers["webhook-signature"].split()) == 2  # the first has expired
    signature = Webhook(newest).sign(str(run.pk), START, "")
    assert call.headers["webhook-signature"].startswith(signature)


def test_requests_of_other_jobs_are_not_signed(calling, target, work):
    new_secret(calling(name="a"), overlap=HOUR, now=START)
    calling(name="b", path="/other")

    work(*dispatched())

    (call,) = target.calls_to("/other")
    assert "webhook-id" not in call.headers


def test_unreadable_signing_secret_fails_only_its_own_run(calling, target, work):
    new_secret(calling(name="a"), overlap=HOUR, now=START)
    calling(name="b")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE jobs_signingsecret SET secrets = 'written with another key'")
    runs = dispatched()

    work(*runs)

    assert [run.state for run in runs] == [Run.State.FAILED, Run.State.SUCCEEDED]
    assert "ENCRYPTION_KEYS" in attempts_of(runs[0])[0].message
