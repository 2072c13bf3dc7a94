"""Signing secrets and call tests of a job: permissions, contents and log entries."""

from datetime import timedelta
from threading import Thread

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone
from standardwebhooks import Webhook

from jobs.call_test import CALL_TESTS
from jobs.models import SECRET_PATH, Job, Run, SigningSecret
from jobs.signing import new_secret
from tests.peers.server import Answer
from tests.racing import in_own_connection

REQUEST = {"uri": "https://example.com/x", "method": "POST"}
QUEUE = {"storageAccount": "account1", "queueName": "mail", "sasToken": "sig=topsecret", "message": "hi"}


def job_url(job, page="") -> str:
    return f"/admin/jobs/job/{job.pk}/{page}"


@pytest.fixture
def signed(make_job):
    job = make_job()
    new_secret(job, timedelta(0), timezone.now())
    return job


# Signing


def test_new_signing_secret_is_shown_only_once(browser, make_job):
    job = make_job()

    response = browser.post(job_url(job, "signing/"), {"order": "new", "overlap": "0"})

    secret = SigningSecret.objects.get().secrets[SECRET_PATH]
    assert f'id="secret">{secret}</pre>' in response.text
    assert "Copy it now." in response.text
    assert "no-store" in response["Cache-Control"]
    assert Webhook(secret)
    for page in ("signing/", "", "document/", "history/"):
        assert secret not in browser.get(job_url(job, page)).text
    assert secret not in str(dict(browser.session))
    assert LogEntry.objects.get().get_change_message() == "Created a signing secret."


@pytest.mark.parametrize("overlap, hours", [("0", 0), ("3600", 1), ("86400", 24), ("604800", 168)])
def test_old_signing_secret_is_valid_for_the_chosen_overlap(browser, signed, overlap, hours):
    before = SigningSecret.objects.get()

    browser.post(job_url(signed, "signing/"), {"order": "new", "overlap": overlap})

    before.refresh_from_db()
    remaining = before.expires_at - timezone.now()
    assert abs(remaining - timedelta(hours=hours)) < timedelta(seconds=30)
    assert SigningSecret.objects.filter(expires_at=None).count() == 1


def test_invalid_overlap_creates_no_signing_secret(browser, signed):
    response = browser.post(job_url(signed, "signing/"), {"order": "new", "overlap": "31536000"})

    assert "overlap" in response.context["form"].errors
    assert SigningSecret.objects.count() == 1


def test_signing_secrets_can_be_removed(browser, signed):
    page = browser.post(job_url(signed, "signing/"), {"order": "remove"}, follow=True).text

    assert not SigningSecret.objects.exists()
    assert "Requests are no longer signed." in page
    assert LogEntry.objects.get().get_change_message() == "Removed the signing secrets."


def test_job_page_shows_the_age_of_its_signing_secrets(browser, signed):
    new_secret(signed, timedelta(hours=1), timezone.now())

    page = browser.get(job_url(signed)).text

    assert "<dt>Signing secret</dt><dd>created " in page
    assert "<dt>Previous signing secret</dt><dd>active until" in page


def test_job_that_sends_messages_has_no_signing_page(browser, make_job):
    job = make_job(action={"type": "StorageQueue", "queueMessage": QUEUE})

    assert job_url(job, "signing/") not in browser.get(job_url(job)).text
    assert "this job sends messages" in browser.get(job_url(job, "signing/")).text


# Tests


@pytest.fixture
def reachable(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


@pytest.fixture
def make_calling_job(make_job, target, reachable):
    def make(**fields):
        authentication = {"type": "Basic", "username": "ada", "password": "opensesame"}
        request = {
            "uri": f"{target.url}/hook?a=b",
            "method": "POST",
            "body": "<b>hello</b>",
            "authentication": authentication,
        }
        error_action = {"type": "Http", "request": {"uri": f"{target.url}/alarm", "method": "POST"}}
        return make_job(action={"type": "Http", "request": request, "errorAction": error_action}, **fields)

    return make


def test_call_test_page_warns_that_the_target_is_called(browser, make_calling_job, target):
    page = browser.get(job_url(make_calling_job(), "test/")).text

    assert "This calls the target" in page
    assert "Send the error action" in page
    assert target.calls == []


def test_call_test_shows_the_masked_request_and_response_as_text(browser, make_calling_job, target):
    target.answers["/hook?a=b"] = [Answer(500, {"X-Kind": "oops"}, body="<script>alert('opensesame')</script>")]
    job = make_calling_job()

    response = browser.post(job_url(job, "test/"), {"part": "action"})

    (call,) = target.calls
    assert (call.method, call.path, call.body) == ("POST", "/hook?a=b", "<b>hello</b>")
    assert "POST /hook?a=b" in response.text
    assert "&lt;b&gt;hello&lt;/b&gt;" in response.text
    assert "Authorization: ********" in response.text
    assert "answered &#x27;Internal Server Error&#x27;." in response.text
    assert "X-Kind: oops" in response.text
    assert "&lt;script&gt;alert(&#x27;********&#x27;)" in response.text
    assert "no-store" in response["Cache-Control"]
    assert not Run.objects.exists()
    assert LogEntry.objects.get().get_change_message() == "Tested the action: it failed."


def test_error_action_can_be_tested(browser, make_calling_job, target):
    job = make_calling_job()

    browser.post(job_url(job, "test/"), {"part": "errorAction"})

    assert [call.path for call in target.calls] == ["/alarm"]
    assert LogEntry.objects.get().get_change_message() == "Tested the error action: it succeeded."


@pytest.mark.parametrize("part", ["", "everything", "errorAction"])
def test_call_test_of_a_missing_part_calls_nothing(browser, make_job, target, reachable, part):
    job = make_job(action={"type": "Http", "request": {"uri": target.url, "method": "GET"}})

    response = browser.post(job_url(job, "test/"), {"part": part})

    assert response.status_code == 200
    assert target.calls == []


@pytest.mark.parametrize("state", [Job.State.DISABLED, Job.State.COMPLETED])
def test_disabled_or_completed_job_can_be_tested(browser, make_calling_job, target, state):
    job = make_calling_job()
    Job.objects.update(state=state)

    assert f"The test works although the job is {state}." in browser.get(job_url(job, "test/")).text
    browser.post(job_url(job, "test/"), {"part": "action"})

    assert len(target.calls) == 1


def test_number_of_call_tests_per_user_and_minute_is_limited(browser, make_calling_job, target, monkeypatch):
    now = timezone.now().replace(second=0)  # all requests in the same minute
    monkeypatch.setattr("jobs.admin.job_actions.timezone.now", lambda: now)
    job = make_calling_job()

    responses = [browser.post(job_url(job, "test/"), {"part": "action"}) for _ in range(CALL_TESTS.most + 1)]

    assert [response.status_code for response in responses] == [200] * CALL_TESTS.most + [429]
    assert len(target.calls) == CALL_TESTS.most
    assert "Nothing was sent." in responses[-1].text


@pytest.mark.django_db(transaction=True)
def test_slow_call_test_of_one_user_does_not_block_other_users(
    browser, owner, operator, make_job, target, reachable, monkeypatch
):
    monkeypatch.setattr("jobs.call_test.LIMIT_S", 120)
    slow, fast = (
        make_job(path, action={"type": "Http", "request": {"uri": f"{target.url}/{uri}", "method": "GET"}})
        for path, uri in (("slow", "slow/120"), ("fast", "fast"))
    )
    colleague, responses = Client(), {}
    colleague.force_login(operator)

    def start_slow_test():
        responses["slow"] = in_own_connection(browser.post, job_url(slow, "test/"), {"part": "action"})

    thread = Thread(target=start_slow_test)
    thread.start()
    target.wait_for("/slow/120")
    again = Client()
    again.force_login(owner)
    refused = again.post(job_url(fast, "test/"), {"part": "action"})
    sent = colleague.post(job_url(fast, "test/"), {"part": "action"})
    target.closing.set()
    thread.join(30)

    assert (refused.status_code, "still running" in refused.text) == (429, True)
    assert "GET /fast" in sent.text
    assert [call.path for call in target.calls] == ["/slow/120", "/fast"]
    assert responses["slow"].status_code == 200
    assert again.post(job_url(fast, "test/"), {"part": "action"}).status_code == 200


# Permissions


@pytest.mark.parametrize("page, form", [("signing/", {"order": "new", "overlap": "0"}), ("test/", {"part": "action"})])
def test_signing_and_call_tests_require_the_operator_role(sign_in_as, reader, make_calling_job, target, page, form):
    job = make_calling_job()
    browser = sign_in_as(reader)

    assert browser.get(job_url(job, page)).status_code == 403
    assert browser.post(job_url(job, page), form).status_code == 403
    assert job_url(job, page) not in browser.get(job_url(job)).text
    assert target.calls == []
    assert not SigningSecret.objects.exists()


@pytest.mark.parametrize("page, form", [("signing/", {"order": "new", "overlap": "0"}), ("test/", {"part": "action"})])
def test_signing_and_call_tests_of_other_subscriptions_are_not_found(
    sign_in_as, operator, make_calling_job, collection_of_others, target, page, form
):
    job = make_calling_job(in_collection=collection_of_others)
    browser = sign_in_as(operator)

    assert browser.get(job_url(job, page)).status_code == 404
    assert browser.post(job_url(job, page), form).status_code == 404
    assert target.calls == []


@pytest.mark.parametrize("page, form", [("signing/", {"order": "new", "overlap": "0"}), ("test/", {"part": "action"})])
def test_signing_and_call_tests_require_a_csrf_token(owner, make_calling_job, target, page, form):
    job = make_calling_job()
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)

    assert client.post(job_url(job, page), form).status_code == 403
    assert target.calls == []
    assert not SigningSecret.objects.exists()
