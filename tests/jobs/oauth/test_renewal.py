"""A token that a target refuses is replaced once."""

import pytest

from tests.jobs.attempts import CONTEXT, attempt, attempts
from tests.jobs.oauth.tokens import document
from tests.peers.server import Answer
from tests.peers.webhooks import Receiver

SIGNING_SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQ="


def test_a_token_that_the_target_refuses_is_replaced_once(issuer, protected):
    assert attempt(document(protected.url)).succeeded
    issuer.revoke()

    outcome = attempt(document(protected.url, method="POST", request={"body": "once"}))

    assert outcome.succeeded
    assert len(issuer.calls) == 2
    assert [call.method for call in protected.calls] == ["GET", "POST", "POST"]
    assert [call.body for call in protected.calls[1:]] == ["once", "once"]


def test_many_runs_with_a_refused_token_request_one_new_token(issuer, protected):
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


def test_status_that_a_job_counts_as_success_does_not_replace_the_token(issuer, target):
    target.answers["/"] = [Answer(401)]

    assert attempt(document(f"{target.url}/", request={"success": {"statusCodes": [401]}})).succeeded
    assert (len(target.calls), len(issuer.calls)) == (1, 1)


@pytest.mark.parametrize("status", [400, 403, 500])
def test_other_error_statuses_do_not_replace_the_token(issuer, target, status):
    target.answers["/"] = [Answer(status)]

    assert attempt(document(f"{target.url}/")).status_code == status
    assert (len(target.calls), len(issuer.calls)) == (1, 1)


def test_the_second_call_is_signed_and_filled_in_like_the_first(issuer, peer):
    class RefusesFirstCall(Receiver):
        def answer(self, call):
            return Answer(401) if len(self.calls) == 1 else super().answer(call)

    receiver = peer(RefusesFirstCall, [SIGNING_SECRET])
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
