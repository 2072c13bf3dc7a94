"""Runs that need the same token at the same moment request it once, even if one of them stops."""

import asyncio
import time
from threading import Barrier, Thread

import pytest
from aiohttp import ClientSession

from jobs.actions import documents, http, oauth, perform
from jobs.actions.result import AttemptResult
from tests.jobs.attempts import CONTEXT, attempt, attempts
from tests.jobs.oauth.tokens import FixedResponse, document, token_of
from tests.peers.server import eventually

DEADLINE_S = 30


@pytest.fixture
def silent(peer, settings):
    """An authority that responds when the test allows it."""
    authority = peer(FixedResponse, token_of(expires_in=3600))
    authority.may_answer.clear()
    settings.OAUTH_AUTHORITY = authority.url
    return authority


def test_runs_that_need_the_same_token_request_it_once(issuer, protected):
    outcomes = attempts(document(protected.url), 50)

    assert all(outcome.succeeded for outcome in outcomes)
    assert len(issuer.calls) == 1


def test_runs_of_two_event_loops_request_a_token_once(peer, settings, target):
    issuer = peer(FixedResponse, token_of(expires_in=3600), pause=0.3)
    settings.OAUTH_AUTHORITY = issuer.url
    together = Barrier(2)
    outcomes = []

    def work():
        together.wait()
        outcomes.extend(attempts(document(target.url), 20))

    _in_threads(work, work)

    assert [outcome.succeeded for outcome in outcomes] == [True] * 40
    assert len(issuer.calls) == 1


def test_runs_that_wait_for_a_token_share_its_refusal(issuer, protected):
    outcomes = attempts(document(protected.url, secret="wrong"), 50)

    assert {outcome.message for outcome in outcomes} == {outcomes[0].message}
    assert len(issuer.calls) == 1
    assert protected.calls == []


def test_refusal_of_a_token_is_not_cached(issuer, protected):
    assert not attempt(document(protected.url, secret="set later")).succeeded

    issuer.clients["app"] = "set later"

    assert attempt(document(protected.url, secret="set later")).succeeded


def test_another_run_requests_the_token_when_the_first_is_cancelled(silent, target):

    async def go():
        async with http.open_session() as session:
            first, *others = [asyncio.create_task(_send(target.url, session)) for _ in range(5)]
            await asyncio.to_thread(eventually, lambda: silent.calls)
            first.cancel()
            await asyncio.wait([first])
            silent.may_answer.set()
            return first.cancelled(), await asyncio.wait_for(asyncio.gather(*others), DEADLINE_S)

    cancelled, outcomes = asyncio.run(go())

    assert cancelled
    assert [outcome.succeeded for outcome in outcomes] == [True] * 4
    assert len(silent.calls) == 2


def test_other_runs_get_the_token_when_a_waiting_run_is_cancelled(silent, target):

    async def go():
        async with http.open_session() as session:
            first, second, third = [asyncio.create_task(_send(target.url, session)) for _ in range(3)]
            await asyncio.to_thread(eventually, lambda: silent.calls)
            second.cancel()
            silent.may_answer.set()
            return await asyncio.wait_for(asyncio.gather(first, third), DEADLINE_S)

    assert [outcome.succeeded for outcome in asyncio.run(go())] == [True, True]
    assert len(silent.calls) == 1


def test_run_of_another_event_loop_requests_the_token_when_the_first_loop_stops(silent, target):
    outcomes = []

    def stops():
        with asyncio.Runner() as runner:
            session = runner.run(_opened())
            asks = runner.get_loop().create_task(_send(target.url, session))
            runner.run(asyncio.to_thread(eventually, lambda: silent.calls))
            time.sleep(0.2)  # the loop does not run in the meantime
            asks.cancel()
            runner.run(asyncio.wait([asks]))
            runner.run(session.close())
        silent.may_answer.set()

    def goes_on():
        eventually(lambda: silent.calls)
        outcomes.extend(attempts(document(target.url), 3))

    _in_threads(stops, goes_on)

    assert [outcome.succeeded for outcome in outcomes] == [True] * 3
    assert len(silent.calls) == 2


def test_event_loop_that_closes_while_it_waits_does_not_affect_others(silent, target):
    outcomes = []

    def asks():
        outcomes.extend(attempts(document(target.url), 1))

    def leaves():
        eventually(lambda: silent.calls)

        async def go():
            async with http.open_session() as session:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(_send(target.url, session), 0.05)

        asyncio.run(go())
        silent.may_answer.set()

    _in_threads(asks, leaves)

    assert [outcome.succeeded for outcome in outcomes] == [True]
    assert len(silent.calls) == 1


def test_unexpected_error_of_a_token_request_reaches_all_waiting_runs(monkeypatch, issuer, target):
    async def broken(*arguments):
        await asyncio.sleep(0.05)
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(oauth, "_ask", broken)

    async def go():
        async with http.open_session() as session:
            tasks = (_send(target.url, session) for _ in range(3))
            return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), DEADLINE_S)

    assert [str(error) for error in asyncio.run(go())] == ["unforeseen"] * 3


async def _opened() -> ClientSession:
    return http.open_session()


async def _send(uri: str, session: ClientSession) -> AttemptResult:
    parsed = documents.parse(document(uri))
    return await perform(parsed.document, parsed.secrets, CONTEXT, session)


def _in_threads(*work) -> None:
    threads = [Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
