"""What was sent and what came back, as it reads on the wire: of an attempt, and of a test."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlsplit

from jobs import actions, words
from jobs.actions.outcome import Refused
from jobs.descriptions import written
from jobs.encryption import MASK
from jobs.models import Attempt, Run
from jobs.outcomes import ATTEMPT_OUTCOMES
from jobs.rehearsal import Part, Rehearsal, shown_call

# in the place of an action's secrets, for showing what was sent without reading them
MASKED = {
    "request.authentication.password": MASK,
    "request.authentication.pfx": MASK,
    "request.authentication.secret": MASK,
    "queueMessage.sasToken": f"sig={MASK}",
    "serviceBusQueueMessage.authentication.sasKey": MASK,
    "serviceBusTopicMessage.authentication.sasKey": MASK,
}


def request_text(run: Run, attempt: Attempt, document: dict) -> str:
    """What was sent, as a request reads on the wire; credentials are masked, and signatures are not made again."""
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
        return call_text(shown_call(document, MASKED, context))
    except Refused as refusal:
        return str(refusal)


def rehearsal_page(rehearsal: Rehearsal, part: Part, now: datetime) -> dict:
    outcome = rehearsal.outcome
    return {
        "part": part.label,
        "at": now,
        "outcome": ATTEMPT_OUTCOMES[Attempt.State.SUCCEEDED if outcome.succeeded else Attempt.State.FAILED],
        "message": outcome.message,
        "took": words.took(rehearsal.took),
        "request": call_text(rehearsal.request) if rehearsal.request else "",
        "answer": outcome_text(outcome),
    }


def call_text(call: Mapping) -> str:
    """What `shown_call` says, as a request reads on the wire; a task as its name and its arguments."""
    if "name" in call:
        return _message_text([call["name"]], written(call.get("arguments", {})))
    address = urlsplit(call["uri"])
    lines = [
        f"{call['method']} {address.path or '/'}{'?' + address.query if address.query else ''}",
        f"Host: {address.netloc}",
        *(f"{name}: {value}" for name, value in call["headers"]),
    ]
    return _message_text(lines, call["body"])


def outcome_text(outcome: actions.Outcome) -> str:
    status = [str(outcome.status_code)] if outcome.status_code else []
    return _message_text([*status, *(f"{name}: {value}" for name, value in outcome.headers)], outcome.body)


def answer_text(attempt: Attempt) -> str:
    status = [str(attempt.status_code)] if attempt.status_code else []
    return _message_text(
        [*status, *(f"{name}: {value}" for name, value in attempt.response_headers)], attempt.response_body
    )


def _message_text(head: Sequence[str], body: str) -> str:
    return "\n".join(head) + (f"\n\n{body}" if body else "")
