"""The watch over secrets finds leaks: one deliberate leak for each output of an installation."""

import base64
import html
import logging
from types import SimpleNamespace

import pytest
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import path

from jobs.actions.result import Context
from jobs.encryption import Secrets
from jobs.models import Action, Attempt, JobCollection, Run
from tests import secrets_watch
from tests.conftest import NOW

PASSWORD = "violet&harbour<31>"
ACTION = {
    "type": "Http",
    "request": {"uri": "https://example.com", "method": "GET", "authentication": {"type": "Basic", "username": "ada"}},
}
PAIR = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
LEAK = "shows request.authentication.password"

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.test_secrets_watch")]


def leaking(request):
    answer = HttpResponse(request.GET.get("body", ""))
    if "header" in request.GET:
        answer["X-Debug"] = request.GET["header"]
    if "cookie" in request.GET:
        answer.set_cookie("remembered", request.GET["cookie"])
    return answer


urlpatterns = [path("leak", leaking), path("api/jobs/7/signing-secret", leaking)]


@pytest.fixture
def watch():
    """A watch in addition to the one of this test; it has recorded an action with a password."""
    with secrets_watch.separate_watch() as watch:
        action = Action.objects.create(document=ACTION, secrets=Secrets({"request.authentication.password": PASSWORD}))
        yield watch
        action.delete()


def test_secret_that_is_only_stored_is_no_leak(watch, client):
    client.get("/leak", {"body": "nothing"})
    logging.getLogger("jobs").warning("nothing either")
    watch.search_after_test()

    assert watch.needles
    assert watch.leaks == []


@pytest.mark.parametrize("form", [PASSWORD, html.escape(PASSWORD), PAIR], ids=["plain", "in html", "as Basic"])
@pytest.mark.parametrize("place", ["body", "header", "cookie"])
def test_response_that_contains_a_secret_is_a_leak(watch, client, place, form):
    client.get("/leak", {place: form})

    assert watch.leaks == [f"the answer to GET /leak {LEAK}"]


def test_messages_in_cookies_are_searched(watch):
    request = RequestFactory().get("/")
    storage = CookieStorage(request)
    response = HttpResponse()
    storage.add(20, f"the password is {PASSWORD}")
    storage.update(response)

    watch.search_answer(request, response)

    assert watch.leaks == [f"the answer to GET / {LEAK}"]


def test_log_record_that_contains_a_secret_is_a_leak(watch):
    logging.getLogger("django.request").warning("sent %s", PAIR)
    watch.search_after_test()

    assert [leak.endswith(LEAK) for leak in watch.leaks] == [True]


def test_tracebacks_in_the_log_are_searched(watch):
    try:
        raise ValueError(PASSWORD)
    except ValueError:
        logging.getLogger("jobs").exception("it failed")
    watch.search_after_test()

    assert [leak.endswith(LEAK) for leak in watch.leaks] == [True]


def test_every_column_of_every_table_is_searched(watch, collection):
    JobCollection.objects.update(tags={"note": PASSWORD})
    watch.search_after_test()

    assert f"the table jobs_jobcollection {LEAK}" in watch.leaks


def test_attempts_are_searched(watch, make_job):
    job = make_job()
    run = Run.objects.create(subscription=job.collection.subscription, job=job, fire_at=NOW, publish_after=NOW)
    Attempt.objects.create(run=run, number=1, started_at=NOW, response_headers=[["X-Echo", PAIR]])
    watch.search_after_test()

    assert f"the table jobs_attempt {LEAK}" in watch.leaks


def test_sessions_are_searched(watch):
    session = SessionStore()
    session["draft"] = {"password": PASSWORD}
    session.save()
    watch.search_after_test()

    assert watch.leaks == [f"a session {LEAK}"]


@pytest.mark.parametrize("cls", [Action, Secrets, Context])
def test_repr_of_objects_is_searched(watch, monkeypatch, cls):
    monkeypatch.setattr(cls, "__repr__", lambda self: f"<{PASSWORD}>")
    watch.search_after_test()

    assert any(leak.endswith(LEAK) for leak in watch.leaks)


def test_new_signing_secret_is_allowed_only_in_the_response_that_creates_it(watch, client):
    watch.remember("signing", "whsec_dmlvbGV0LWhhcmJvdXI=")
    shown = RequestFactory().post("/api/jobs/7/signing-secret")

    watch.search_answer(shown, HttpResponse('{"secret": "whsec_dmlvbGV0LWhhcmJvdXI="}', status=201))
    assert watch.leaks == []

    watch.search_answer(shown, HttpResponse('{"id": "whsec_dmlvbGV0LWhhcmJvdXI="}', status=201))
    client.get("/api/jobs/7/signing-secret", {"body": '{"secret": "whsec_dmlvbGV0LWhhcmJvdXI="}'})
    assert watch.leaks == [
        "the answer to POST /api/jobs/7/signing-secret shows signing",
        "the answer to GET /api/jobs/7/signing-secret shows signing",
    ]


@pytest.mark.parametrize(
    "request_, place",
    [
        ({"uri": "https://x.example/?page=1&code=violet"}, "request.uri: code"),
        ({"uri": "https://x.example/?who=violet", "secretQuery": ["WHO"]}, "request.uri: who"),
        ({"uri": "https://x.example/", "headers": {"X-Passwd": "violet"}}, "request.headers.X-Passwd"),
        ({"uri": "", "headers": {"X-Foo": "violet"}, "secretHeaders": ["x-foo"]}, "request.headers.X-Foo"),
    ],
)
@pytest.mark.parametrize("is_error_action", [False, True])
def test_credential_in_the_document_of_an_action_is_a_leak(request_, place, is_error_action):
    action = {"type": "Http", "request": request_}
    document = {"type": "Http", "request": {}, "errorAction": action} if is_error_action else action
    with secrets_watch.separate_watch() as watch:
        Action.objects.create(document=document).delete()

    assert watch.leaks == [f"an action holds {'errorAction.' if is_error_action else ''}{place}"]


def test_secret_that_is_too_short_to_be_searched_for_is_refused(watch):
    watch.remember("queueMessage.sasToken", "sig")

    assert watch.leaks == ["queueMessage.sasToken is too short to be searched for: take 8 characters or more"]


def test_leak_makes_a_test_fail(watch, collection):
    end_of_test = secrets_watch.pytest_runtest_call(SimpleNamespace(stash={secrets_watch.WATCH: watch}))
    next(end_of_test)
    JobCollection.objects.update(location=PASSWORD)

    with pytest.raises(pytest.fail.Exception, match=f"the table jobs_jobcollection {LEAK}"):
        end_of_test.send(None)
