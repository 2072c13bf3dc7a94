"""Signed requests and tests of a job: who may order them, what is shown once, what is left behind."""

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


def page_of(job, page="") -> str:
    return f"/admin/jobs/job/{job.pk}/{page}"


@pytest.fixture
def signed(make_job):
    job = make_job()
    new_secret(job, timedelta(0), timezone.now())
    return job


# Signing


def test_a_secret_is_made_and_shown_in_the_answer_alone(browser, make_job):
    job = make_job()

    answer = browser.post(page_of(job, "signing/"), {"order": "new", "overlap": "0"})

    secret = SigningSecret.objects.get().secrets[SECRET_PATH]
    assert f'id="secret">{secret}</pre>' in answer.text
    assert "Copy it now." in answer.text
    assert "no-store" in answer["Cache-Control"]
    assert Webhook(secret)
    for page in ("signing/", "", "document/", "history/"):
        assert secret not in browser.get(page_of(job, page)).text
    assert secret not in str(dict(browser.session))
    assert LogEntry.objects.get().get_change_message() == "Made a signing secret."


@pytest.mark.parametrize("overlap, hours", [("0", 0), ("3600", 1), ("86400", 24), ("604800", 168)])
def test_the_one_before_signs_for_as_long_as_was_chosen(browser, signed, overlap, hours):
    before = SigningSecret.objects.get()

    browser.post(page_of(signed, "signing/"), {"order": "new", "overlap": overlap})

    before.refresh_from_db()
    left = before.expires_at - timezone.now()
    assert abs(left - timedelta(hours=hours)) < timedelta(seconds=30)
    assert SigningSecret.objects.filter(expires_at=None).count() == 1


def test_an_overlap_that_is_not_offered_makes_no_secret(browser, signed):
    answer = browser.post(page_of(signed, "signing/"), {"order": "new", "overlap": "31536000"})

    assert "overlap" in answer.context["form"].errors
    assert SigningSecret.objects.count() == 1


def test_signing_is_stopped(browser, signed):
    page = browser.post(page_of(signed, "signing/"), {"order": "remove"}, follow=True).text

    assert not SigningSecret.objects.exists()
    assert "Requests are not signed any more." in page
    assert LogEntry.objects.get().get_change_message() == "Removed the signing secrets."


def test_a_job_says_since_when_it_signs(browser, signed):
    new_secret(signed, timedelta(hours=1), timezone.now())

    page = browser.get(page_of(signed)).text

    assert "with a secret of" in page
    assert "<dt>One before</dt><dd>signs until" in page


def test_a_job_that_sends_messages_is_not_offered_signatures(browser, make_job):
    job = make_job(action={"type": "StorageQueue", "queueMessage": QUEUE})

    assert page_of(job, "signing/") not in browser.get(page_of(job)).text
    assert "this job sends messages" in browser.get(page_of(job, "signing/")).text


# Tests


@pytest.fixture
def reachable(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


@pytest.fixture
def make_calling_job(make_job, target, reachable):
    def make(**fields):
        proof = {"type": "Basic", "username": "ada", "password": "opensesame"}
        request = {"uri": f"{target.url}/hook?a=b", "method": "POST", "body": "<b>hello</b>", "authentication": proof}
        alarm = {"type": "Http", "request": {"uri": f"{target.url}/alarm", "method": "POST"}}
        return make_job(action={"type": "Http", "request": request, "errorAction": alarm}, **fields)

    return make


def test_the_page_says_first_that_the_target_is_really_called(browser, make_calling_job, target):
    page = browser.get(page_of(make_calling_job(), "test/")).text

    assert "The target is really called" in page
    assert "Send the error action" in page
    assert target.calls == []


def test_a_test_shows_what_was_sent_and_what_came_back_as_text(browser, make_calling_job, target):
    target.answers["/hook?a=b"] = [Answer(500, {"X-Kind": "oops"}, body="<script>alert('opensesame')</script>")]
    job = make_calling_job()

    answer = browser.post(page_of(job, "test/"), {"part": "action"})

    (call,) = target.calls
    assert (call.method, call.path, call.body) == ("POST", "/hook?a=b", "<b>hello</b>")
    assert "POST /hook?a=b" in answer.text
    assert "&lt;b&gt;hello&lt;/b&gt;" in answer.text
    assert "Authorization: ********" in answer.text
    assert "answered &#x27;Internal Server Error&#x27;." in answer.text
    assert "X-Kind: oops" in answer.text
    assert "&lt;script&gt;alert(&#x27;********&#x27;)" in answer.text
    assert "no-store" in answer["Cache-Control"]
    assert not Run.objects.exists()
    assert LogEntry.objects.get().get_change_message() == "Tested the action: it failed."


def test_the_error_action_is_tested_by_itself(browser, make_calling_job, target):
    job = make_calling_job()

    browser.post(page_of(job, "test/"), {"part": "errorAction"})

    assert [call.path for call in target.calls] == ["/alarm"]
    assert LogEntry.objects.get().get_change_message() == "Tested the error action: it succeeded."


@pytest.mark.parametrize("part", ["", "everything", "errorAction"])
def test_a_part_that_is_not_there_is_not_called(browser, make_job, target, reachable, part):
    job = make_job(action={"type": "Http", "request": {"uri": target.url, "method": "GET"}})

    answer = browser.post(page_of(job, "test/"), {"part": part})

    assert answer.status_code == 200
    assert target.calls == []


@pytest.mark.parametrize("state", [Job.State.DISABLED, Job.State.COMPLETED])
def test_a_job_that_does_not_run_can_be_tested(browser, make_calling_job, target, state):
    job = make_calling_job()
    Job.objects.update(state=state)

    assert f"That the job is {state} does not matter" in browser.get(page_of(job, "test/")).text
    browser.post(page_of(job, "test/"), {"part": "action"})

    assert len(target.calls) == 1


def test_one_person_sends_no_more_than_so_many_a_minute(browser, make_calling_job, target, monkeypatch):
    now = timezone.now().replace(second=0)  # of one minute
    monkeypatch.setattr("jobs.admin.job_actions.timezone.now", lambda: now)
    job = make_calling_job()

    answers = [browser.post(page_of(job, "test/"), {"part": "action"}) for _ in range(CALL_TESTS.most + 1)]

    assert [answer.status_code for answer in answers] == [200] * CALL_TESTS.most + [429]
    assert len(target.calls) == CALL_TESTS.most
    assert "Nothing was sent." in answers[-1].text


@pytest.mark.django_db(transaction=True)
def test_one_person_leaves_a_place_to_others_however_slow_the_target_is(
    browser, owner, operator, make_job, target, reachable, monkeypatch
):
    monkeypatch.setattr("jobs.call_test.LIMIT_S", 120)
    slow, fast = (
        make_job(path, action={"type": "Http", "request": {"uri": f"{target.url}/{uri}", "method": "GET"}})
        for path, uri in (("slow", "slow/120"), ("fast", "fast"))
    )
    colleague, answers = Client(), {}
    colleague.force_login(operator)

    def begin():
        answers["slow"] = in_own_connection(browser.post, page_of(slow, "test/"), {"part": "action"})

    thread = Thread(target=begin)
    thread.start()
    target.wait_for("/slow/120")
    again = Client()
    again.force_login(owner)
    refused = again.post(page_of(fast, "test/"), {"part": "action"})
    sent = colleague.post(page_of(fast, "test/"), {"part": "action"})
    target.closing.set()
    thread.join(30)

    assert (refused.status_code, "still running" in refused.text) == (429, True)
    assert "GET /fast" in sent.text
    assert [call.path for call in target.calls] == ["/slow/120", "/fast"]
    assert answers["slow"].status_code == 200
    assert again.post(page_of(fast, "test/"), {"part": "action"}).status_code == 200


# Who may


@pytest.mark.parametrize("page, order", [("signing/", {"order": "new", "overlap": "0"}), ("test/", {"part": "action"})])
def test_orders_are_for_operators(browser_of, reader, make_calling_job, target, page, order):
    job = make_calling_job()
    browser = browser_of(reader)

    assert browser.get(page_of(job, page)).status_code == 403
    assert browser.post(page_of(job, page), order).status_code == 403
    assert page_of(job, page) not in browser.get(page_of(job)).text
    assert target.calls == []
    assert not SigningSecret.objects.exists()


@pytest.mark.parametrize("page, order", [("signing/", {"order": "new", "overlap": "0"}), ("test/", {"part": "action"})])
def test_a_job_of_others_is_not_found(browser_of, operator, make_calling_job, elsewhere, target, page, order):
    job = make_calling_job(in_collection=elsewhere)
    browser = browser_of(operator)

    assert browser.get(page_of(job, page)).status_code == 404
    assert browser.post(page_of(job, page), order).status_code == 404
    assert target.calls == []


@pytest.mark.parametrize("page, order", [("signing/", {"order": "new", "overlap": "0"}), ("test/", {"part": "action"})])
def test_orders_come_from_our_own_pages(owner, make_calling_job, target, page, order):
    job = make_calling_job()
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)

    assert client.post(page_of(job, page), order).status_code == 403
    assert target.calls == []
    assert not SigningSecret.objects.exists()
