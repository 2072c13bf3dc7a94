"""Requests and responses of attempts and tests, as text in the form of the wire."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from jobs import actions, humanize
from jobs.action_text import written
from jobs.actions.result import CallRefused
from jobs.badges import ATTEMPT_OUTCOMES
from jobs.call_test import CallTestResult, Part, render_call
from jobs.encryption import MASK
from jobs.models import Attempt, Run

# stand-ins for the secrets of an action, so that a request can be shown without decrypting them
MASKED = {
    "request.authentication.password": MASK,
    "request.authentication.pfx": MASK,
    "request.authentication.secret": MASK,
    "queueMessage.sasToken": f"sig={MASK}",
    "serviceBusQueueMessage.authentication.sasKey": MASK,
    "serviceBusTopicMessage.authentication.sasKey": MASK,
}


def request_text(run: Run, attempt: Attempt, document: dict) -> str:
    """Return the request of an attempt, in the form of the wire.

    Credentials are masked, and signatures are left out, because they are not computed again.
    """
    context = actions.Context(
        run_id=run.pk,
        attempt=attempt.number,
        fire_at=run.fire_at,
        now=attempt.started_at,
        job_name=run.job_name,
        collection_name=run.collection_name,
        region=run.job.collection.location if run.job else "",
    )
    try:
        return format_request(render_call(document, MASKED, context))
    except CallRefused as refusal:
        return str(refusal)


def test_result_context(result: CallTestResult, part: Part, now: datetime) -> dict:
    outcome = result.result
    return {
        "part": part.label,
        "at": now,
        "outcome": ATTEMPT_OUTCOMES[Attempt.State.SUCCEEDED if outcome.succeeded else Attempt.State.FAILED],
        "message": outcome.message,
        "took": humanize.format_elapsed(result.elapsed),
        "request": format_request(result.request) if result.request else "",
        "answer": outcome_text(outcome),
    }


def format_request(call: Mapping) -> str:
    """Return the result of `render_call` in the form of the wire; for a task, its name and its arguments."""
    if "name" in call:
        return _message_text([call["name"]], written(call.get("arguments", {})))
    address = urlsplit(call["uri"])
    lines = [
        f"{call['method']} {address.path or '/'}{'?' + address.query if address.query else ''}",
        f"Host: {address.netloc}",
        *(f"{name}: {value}" for name, value in call["headers"]),
    ]
    return _message_text(lines, call["body"])


def outcome_text(outcome: actions.AttemptResult) -> str:
    status = [str(outcome.status_code)] if outcome.status_code else []
    return _message_text([*status, *(f"{name}: {value}" for name, value in outcome.headers)], outcome.body)


def answer_text(attempt: Attempt) -> str:
    status = [str(attempt.status_code)] if attempt.status_code else []
    return _message_text(
        [*status, *(f"{name}: {value}" for name, value in attempt.response_headers)], attempt.response_body
    )


def _message_text(head: Sequence[str], body: str) -> str:
    return "\n".join(head) + (f"\n\n{body}" if body else "")
