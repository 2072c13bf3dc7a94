"""Tokens: an authority that issues them, and targets that take nothing else."""

import asyncio
import json
import time
from threading import Barrier, Thread
from urllib.parse import parse_qs

import pytest
from aiohttp import ClientSession

from jobs.actions import documents, http, oauth, perform
from jobs.actions.outcome import Outcome
from jobs.errors import Invalid
from tests.jobs.attempts import CONTEXT, attempt, attempts
from tests.peers.oauth import ProtectedTarget, TokenAuthority, refusal
from tests.peers.server import Answer, Server, eventually
from tests.peers.target import Target
from tests.peers.webhooks import Receiver

SECRET = "the client's secret & more"
SIGNING_SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQ="


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Each test begins without clock, with a clock of its own."""
    clock = Clock()
    monkeypatch.setattr(oauth, "TOKENS", oauth.Tokens(clock))
    return clock


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def issuer(peer, settings):
    issuer = peer(TokenAuthority, {"app": SECRET})
    settings.OAUTH_AUTHORITY = issuer.url
    return issuer


@pytest.fixture
def protected(peer, issuer):
    return peer(ProtectedTarget, issuer, audience="https://api.example")


def document(uri: str, method="GET", template=False, request=None, **grant) -> dict:
    authentication = {
        "type": "ActiveDirectoryOAuth",
        "tenant": "contoso.example",
        "audience": "https://api.example",
        "clientId": "app",
        "secret": SECRET,
        **grant,
    }
    request = {"uri": uri, "method": method, "authentication": authentication, **(request or {})}
    return {"type": "Http", "template": template, "request": request}


class Saying(Server):
    """An authority that always answers the same."""

    def __init__(self, answer: Answer, pause: float = 0):
        self.said = answer
        self.pause = pause
        super().__init__()

    def answer(self, call):
        self.closing.wait(self.pause)
        return self.said


def token_of(text="a-token", **members) -> Answer:
    return Answer(body=json.dumps({"access_token": text, **members}))


# Asking


def test_a_call_is_made_with_a_token_of_the_authority(issuer, protected):
    outcome = attempt(document(f"{protected.url}/hook"))

    assert (outcome.succeeded, outcome.status_code) == (True, 200)
    (asked,) = issuer.calls
    assert (asked.method, asked.path) == ("POST", "/contoso.example/oauth2/token")
    assert parse_qs(asked.body, strict_parsing=True) == {
        "grant_type": ["client_credentials"],
        "client_id": ["app"],
        "client_secret": [SECRET],
        "resource": ["https://api.example"],
    }
    assert protected.calls[0].headers.get_all("Authorization") == [f"Bearer {issuer.issued[0].text}"]


def test_without_an_audience_the_originals_is_asked_for(issuer, target):
    attempt(document(target.url, audience=None))

    assert issuer.issued[0].resource == "https://management.core.windows.net/"


def test_a_token_takes_the_place_of_the_jobs_own_header(issuer, target):
    attempt(document(target.url, request={"headers": {"authorization": "Basic of the job"}}))

    assert target.calls[0].headers.get_all("Authorization") == [f"Bearer {issuer.issued[0].text}"]


def test_a_job_may_have_an_authority_of_its_own_with_its_own_certificate(peer, target, authority):
    issuer = peer(TokenAuthority, {"app": SECRET}, tls=authority.server())
    trusting = {"certificateAuthority": authority.pem}

    assert not attempt(document(target.url, authority=f"{issuer.url}/")).succeeded
    assert attempt(document(target.url, authority=f"{issuer.url}/", request=trusting)).succeeded
    assert [call.path for call in issuer.calls] == ["/contoso.example/oauth2/token"]


# Sharing


def test_a_token_is_used_again(issuer, protected):
    for _ in range(3):
        assert attempt(document(protected.url)).succeeded

    assert len(issuer.calls) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": "fabrikam.example"},
        {"clientId": "other"},
        {"audience": "https://other.example"},
        {"secret": "another"},
    ],
)
def test_a_token_is_for_all_of_what_was_asked(issuer, target, other):
    issuer.clients |= {"other": SECRET}
    assert attempt(document(target.url)).succeeded

    outcome = attempt(document(target.url, **other))

    assert len(issuer.calls) == 2
    assert outcome.succeeded is ("secret" not in other)


@pytest.mark.parametrize("life, used_s", [(3600, 3300), (7200, 6900), (600, 540), (10, 9)])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_token_is_used_until_shortly_before_its_end(peer, target, settings, clock, life, used_s, as_text):
    issuer = peer(Saying, token_of(expires_in=str(life) if as_text else life))
    settings.OAUTH_AUTHORITY = issuer.url
    attempt(document(target.url))

    clock.now += used_s - 0.1
    attempt(document(target.url))
    assert len(issuer.calls) == 1

    clock.now += 0.2
    attempt(document(target.url))
    assert len(issuer.calls) == 2


@pytest.mark.parametrize("expiry", [{}, {"expires_in": 0}, {"expires_in": "0"}, {"expires_in": -1}])
def test_a_token_without_a_life_is_used_once(peer, target, settings, expiry):
    issuer = peer(Saying, token_of(**expiry))
    settings.OAUTH_AUTHORITY = issuer.url

    assert attempt(document(target.url)).succeeded
    assert attempt(document(target.url)).succeeded
    assert len(issuer.calls) == 2


def test_no_token_is_used_for_more_than_a_day(peer, target, settings, clock):
    issuer = peer(Saying, token_of(expires_in=10**15))
    settings.OAUTH_AUTHORITY = issuer.url
    attempt(document(target.url))

    clock.now += 86_400
    attempt(document(target.url))

    assert len(issuer.calls) == 2


def test_the_tokens_that_are_kept_have_a_limit(issuer, target, monkeypatch):
    monkeypatch.setattr(oauth, "KEPT_LIMIT", 2)
    for tenant in ("a", "b", "a", "c", "a", "b"):  # c pushes b out, which was used longer ago than a
        attempt(document(target.url, tenant=tenant))

    assert [token.tenant for token in issuer.issued] == ["a", "b", "c", "b"]


# At once


def test_runs_that_need_the_same_token_ask_once(issuer, protected):
    outcomes = attempts(document(protected.url), 50)

    assert all(outcome.succeeded for outcome in outcomes)
    assert len(issuer.calls) == 1


def test_runs_of_two_event_loops_ask_once(peer, settings, target):
    issuer = peer(Saying, token_of(expires_in=3600), pause=0.3)
    settings.OAUTH_AUTHORITY = issuer.url
    together = Barrier(2)
    outcomes = []

    def work():
        together.wait()
        outcomes.extend(attempts(document(target.url), 20))

    _in_threads(work, work)

    assert [outcome.succeeded for outcome in outcomes] == [True] * 40
    assert len(issuer.calls) == 1


def test_runs_that_wait_share_a_refusal(issuer, protected):
    outcomes = attempts(document(protected.url, secret="wrong"), 50)

    assert {outcome.message for outcome in outcomes} == {outcomes[0].message}
    assert len(issuer.calls) == 1
    assert protected.calls == []


def test_a_refusal_is_not_remembered(issuer, protected):
    assert not attempt(document(protected.url, secret="set later")).succeeded

    issuer.clients["app"] = "set later"

    assert attempt(document(protected.url, secret="set later")).succeeded


def test_when_the_run_that_asks_is_cancelled_another_one_asks(peer, settings, target):
    issuer = peer(Saying, token_of(expires_in=3600), pause=0.3)
    settings.OAUTH_AUTHORITY = issuer.url

    async def go():
        async with http.open_session() as session:
            first, *others = [asyncio.create_task(_send(target.url, session)) for _ in range(5)]
            await asyncio.to_thread(eventually, lambda: issuer.calls)
            first.cancel()
            await asyncio.wait([first])
            return first.cancelled(), await asyncio.wait_for(asyncio.gather(*others), 5)

    cancelled, outcomes = asyncio.run(go())

    assert cancelled
    assert [outcome.succeeded for outcome in outcomes] == [True] * 4
    assert len(issuer.calls) == 2


def test_when_a_run_that_waits_is_cancelled_the_others_still_get_the_token(peer, settings, target):
    issuer = peer(Saying, token_of(expires_in=3600), pause=0.3)
    settings.OAUTH_AUTHORITY = issuer.url

    async def go():
        async with http.open_session() as session:
            first, second, third = [asyncio.create_task(_send(target.url, session)) for _ in range(3)]
            await asyncio.to_thread(eventually, lambda: issuer.calls)
            second.cancel()
            return await asyncio.wait_for(asyncio.gather(first, third), 5)

    assert [outcome.succeeded for outcome in asyncio.run(go())] == [True, True]
    assert len(issuer.calls) == 1


def test_when_the_loop_that_asks_stops_a_run_of_another_loop_asks(peer, settings, target):
    issuer = peer(Saying, token_of(expires_in=3600), pause=0.3)
    settings.OAUTH_AUTHORITY = issuer.url
    outcomes = []

    def stops():
        with asyncio.Runner() as runner:
            session = runner.run(_opened())
            asks = runner.get_loop().create_task(_send(target.url, session))
            runner.run(asyncio.to_thread(eventually, lambda: issuer.calls))
            time.sleep(0.2)  # nothing turns the loop meanwhile
            asks.cancel()
            runner.run(asyncio.wait([asks]))
            runner.run(session.close())

    def goes_on():
        eventually(lambda: issuer.calls)
        outcomes.extend(attempts(document(target.url), 3))

    _in_threads(stops, goes_on)

    assert [outcome.succeeded for outcome in outcomes] == [True] * 3
    assert len(issuer.calls) == 2


def test_a_loop_that_is_closed_while_it_waits_disturbs_nobody(peer, settings, target):
    issuer = peer(Saying, token_of(expires_in=3600), pause=0.3)
    settings.OAUTH_AUTHORITY = issuer.url
    outcomes = []

    def asks():
        outcomes.extend(attempts(document(target.url), 1))

    def leaves():
        eventually(lambda: issuer.calls)

        async def go():
            async with http.open_session() as session:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(_send(target.url, session), 0.05)

        asyncio.run(go())

    _in_threads(asks, leaves)

    assert [outcome.succeeded for outcome in outcomes] == [True]
    assert len(issuer.calls) == 1


def test_a_failure_that_nobody_foresaw_leaves_nobody_waiting(monkeypatch, issuer, target):
    async def broken(*arguments):
        await asyncio.sleep(0.05)
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(oauth, "_ask", broken)

    async def go():
        async with http.open_session() as session:
            tasks = (_send(target.url, session) for _ in range(3))
            return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)

    assert [str(error) for error in asyncio.run(go())] == ["unforeseen"] * 3


# A token that is not taken any more


def test_a_token_that_the_target_refuses_is_replaced_once(issuer, protected):
    assert attempt(document(protected.url)).succeeded
    issuer.revoke()

    outcome = attempt(document(protected.url, method="POST", request={"body": "once"}))

    assert outcome.succeeded
    assert len(issuer.calls) == 2
    assert [call.method for call in protected.calls] == ["GET", "POST", "POST"]
    assert [call.body for call in protected.calls[1:]] == ["once", "once"]


def test_many_runs_with_a_token_that_is_refused_ask_for_one_new_token(issuer, protected):
    assert attempt(document(protected.url)).succeeded
    issuer.revoke()

    outcomes = attempts(document(protected.url), 50)

    assert all(outcome.succeeded for outcome in outcomes)
    assert len(issuer.calls) == 2


def test_a_target_that_refuses_every_token_is_called_twice(issuer, target):
    target.answers["/"] = [Answer(401)]

    outcome = attempt(document(f"{target.url}/"))

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, 401, True)
    assert len(target.calls) == 2
    assert len({call.headers["Authorization"] for call in target.calls}) == 2


def test_an_answer_that_a_job_counts_as_success_replaces_no_token(issuer, target):
    target.answers["/"] = [Answer(401)]

    assert attempt(document(f"{target.url}/", request={"success": {"statusCodes": [401]}})).succeeded
    assert (len(target.calls), len(issuer.calls)) == (1, 1)


@pytest.mark.parametrize("status", [400, 403, 500])
def test_another_refusal_replaces_no_token(issuer, target, status):
    target.answers["/"] = [Answer(status)]

    assert attempt(document(f"{target.url}/")).status_code == status
    assert (len(target.calls), len(issuer.calls)) == (1, 1)


def test_the_second_call_is_signed_and_filled_in_like_the_first(issuer, peer):
    class Choosy(Receiver):
        def answer(self, call):
            return Answer(401) if len(self.calls) == 1 else super().answer(call)

    receiver = peer(Choosy, [SIGNING_SECRET])
    request = {"body": "für {{ job.name }}", "headers": {"X-Run": "{{ run_id }}"}}

    outcome = attempt(
        document(f"{receiver.url}/{{{{ job.name }}}}", method="POST", template=True, request=request),
        signing_secrets=(SIGNING_SECRET,),
    )

    first, second = receiver.calls
    assert (outcome.succeeded, outcome.status_code) == (True, 204)
    assert (first.path, first.body, first.headers["X-Run"]) == ("/backup", "für backup", str(CONTEXT.run_id))
    assert (second.path, second.body, second.headers["X-Run"]) == (first.path, first.body, first.headers["X-Run"])
    assert receiver.verified_with(first) == receiver.verified_with(second) == [SIGNING_SECRET]


# An authority that gives no token


def test_a_refused_token_is_told_with_the_authoritys_reason(issuer, protected):
    outcome = attempt(document(protected.url, secret="wrong secret"))

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, None, True)
    assert outcome.message == (
        "Authority '127.0.0.1' refused a token with the error 'invalid_client': "
        "the client secret is not the one of this client."
    )
    assert protected.calls == []


@pytest.mark.parametrize(
    "answer, message",
    [
        (refusal(400, "invalid_scope", "one\r\ntwo\x1b[31m\tthree"), "the error 'invalid_scope': one two [31m three."),
        (refusal(400, "invalid_scope", "x" * 5000), f"the error 'invalid_scope': {'x' * 200}…."),
        (refusal(400, "invalid_client", SECRET), "the error 'invalid_client': ********."),
        (refusal(400, "invalid_client", "it+" + "the+client%27s+secret+%26+more"), "'invalid_client': it+********."),
        (refusal(400, SECRET, "x"), "the error '********': x."),
        (refusal(400, "invalid_client", "x" * 190 + SECRET), f"'invalid_client': {'x' * 190}********."),
        (refusal(400, "two\nlines", "x"), "answered 'Bad Request' without a token that can be used."),
        (Answer(400, body='{"error": {"code": 1}}'), "answered 'Bad Request' without a token that can be used."),
        (Answer(500, body="<html>"), "answered 'Internal Server Error' without a token that can be used."),
        (Answer(302, {"Location": "/elsewhere"}), "answered 'Found' without a token that can be used."),
        (Answer(201, body='{"access_token": "x"}'), "answered 'Created' without a token that can be used."),
        (Answer(body=""), "answered 'OK' without a token that can be used."),
        (Answer(body="null"), "answered 'OK' without a token that can be used."),
        (Answer(body='["access_token"]'), "answered 'OK' without a token that can be used."),
        (Answer(body="[" * 50_000), "answered 'OK' without a token that can be used."),
        (Answer(body="{}"), "answered 'OK' without a token that can be used."),
        (Answer(body='{"access_token": null}'), "answered 'OK' without a token that can be used."),
        (Answer(body='{"access_token": ["a"]}'), "answered 'OK' without a token that can be used."),
        (token_of(""), "answered 'OK' without a token that can be used."),
        (token_of("a b"), "answered 'OK' without a token that can be used."),
        (token_of("a\r\nX-Injected: 1"), "answered 'OK' without a token that can be used."),
        (token_of("tökén"), "answered 'OK' without a token that can be used."),
        (token_of("x" * 20_000), "answered 'OK' without a token that can be used."),
        (token_of("x" * 100_000), "answered 'OK' without a token that can be used."),
        (token_of(token_type="mac"), "answered 'OK' without a token that can be used."),
        (token_of(expires_in="soon"), "answered 'OK' without a token that can be used."),
        (token_of(expires_in=True), "answered 'OK' without a token that can be used."),
        (token_of(expires_in=[1]), "answered 'OK' without a token that can be used."),
        (Answer(body='{"access_token": "x", "expires_in": NaN}'), "answered 'OK' without a token that can be used."),
    ],
)
def test_an_answer_without_a_usable_token_fails_the_attempt(peer, settings, target, answer, message):
    issuer = peer(Saying, answer)
    settings.OAUTH_AUTHORITY = issuer.url

    outcome = attempt(document(target.url))

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, None, True)
    assert outcome.message.startswith("Authority '127.0.0.1' ")
    assert outcome.message.endswith(message)
    assert SECRET not in f"{outcome}"
    assert target.calls == []


@pytest.mark.parametrize("type_", ["Bearer", "bearer", "BEARER", None])
def test_the_type_of_a_token_is_read_in_any_case(peer, settings, target, type_):
    settings.OAUTH_AUTHORITY = peer(Saying, token_of(token_type=type_)).url

    assert attempt(document(target.url)).succeeded
    assert target.calls[0].headers["Authorization"] == "Bearer a-token"


def test_an_authority_that_asks_to_be_left_alone_is_obeyed(peer, settings, target):
    settings.OAUTH_AUTHORITY = peer(Saying, Answer(429, {"Retry-After": "70"})).url

    assert attempt(document(target.url)).retry_after.total_seconds() == 70


def test_an_authority_at_a_closed_address_is_not_asked(issuer, target, settings):
    settings.EGRESS_ALLOW = []

    outcome = attempt(document(target.url))

    assert outcome.message.startswith("There is no token for the call: Host '127.0.0.1' was not called")
    assert issuer.calls == []


def test_an_authority_that_does_not_answer_is_told(peer, settings, target, monkeypatch):
    monkeypatch.setattr(http, "CALL_LIMIT_S", 0.2)
    settings.OAUTH_AUTHORITY = peer(Saying, token_of(), pause=5).url

    outcome = attempt(document(target.url))

    assert outcome.message.startswith("There is no token for the call: No complete answer from host '127.0.0.1'")
    assert outcome.may_retry


def test_tokens_and_calls_have_one_limit_together(peer, settings, monkeypatch):
    monkeypatch.setattr(oauth, "FLOW_LIMIT_S", 1.0)
    settings.OAUTH_AUTHORITY = peer(Saying, token_of(), pause=0.6).url
    target = peer(Saying, Answer(), pause=0.6)
    started = time.monotonic()

    outcome = attempt(document(target.url))

    assert (outcome.succeeded, outcome.may_retry) == (False, True)
    assert "tokens included" in outcome.message
    assert time.monotonic() - started < 1.5


# Secrets


def test_a_token_that_the_target_repeats_is_hidden(issuer, peer):
    class Echo(Target):
        def answer(self, call):
            text = call.headers["Authorization"]
            return Answer(200, {"X-Echo": text}, f"you sent {text}")

    outcome = attempt(document(peer(Echo).url))

    assert outcome.body == "you sent Bearer ********"
    assert issuer.issued[0].text not in f"{outcome}"


def test_a_token_is_not_carried_to_another_origin(issuer, target, peer):
    elsewhere = peer(Target)
    target.answers["/"] = [Answer(307, {"Location": f"{elsewhere.url}/"})]

    assert attempt(document(f"{target.url}/", request={"followRedirects": True})).succeeded
    assert target.calls[0].headers["Authorization"]
    assert elsewhere.calls[0].headers["Authorization"] is None


def test_what_is_kept_tells_neither_secret_nor_token(issuer, target):
    attempt(document(target.url))

    kept = repr(vars(oauth.TOKENS))
    assert SECRET not in kept
    assert issuer.issued[0].text not in kept


# What is refused when a job is saved


@pytest.mark.parametrize(
    "member, value",
    [
        ("authority", "http://login.example"),  # the secret would travel in the clear
        ("authority", "ftp://login.example"),
        ("authority", "login.example"),
        ("authority", ""),
        ("authority", "https://"),
        ("authority", "https://login.example?x="),
        ("authority", "https://login.example/?"),
        ("authority", "https://login.example/#"),
        ("authority", "https://user:pw@login.example"),
        ("authority", "https://login.example\\@evil.example"),
        ("authority", "https://login.example\r\nX: y"),
        ("authority", "https://2130706433"),
        ("tenant", "contoso/../fabrikam"),
        ("tenant", "contoso.example/x?"),
        ("tenant", ".."),
        ("tenant", "a\n"),
        ("tenant", "a%2Fb"),
        ("tenant", ""),
        ("audience", "https://api.example\r\nX: y"),
        ("audience", "a\n"),
        ("clientId", "a\nb"),
    ],
)
def test_a_grant_that_is_no_plain_text_is_refused(member, value):
    with pytest.raises(Invalid) as caught:
        documents.parse(document("https://api.example", **{member: value}))

    assert caught.value.path == f"action.request.authentication.{member}"


def test_an_authority_may_have_a_path(issuer, target, settings):
    settings.OAUTH_AUTHORITY = f"{issuer.url}/deep"

    attempt(document(target.url))

    assert issuer.calls[0].path == "/deep/contoso.example/oauth2/token"


async def _opened() -> ClientSession:
    return http.open_session()


async def _send(uri: str, session: ClientSession) -> Outcome:
    parsed = documents.parse(document(uri))
    return await perform(parsed.document, parsed.secrets, CONTEXT, session)


def _in_threads(*work) -> None:
    threads = [Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
