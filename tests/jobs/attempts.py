"""Make attempts as a worker does, without a worker."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from jobs.actions import documents, http, perform
from jobs.actions.result import AttemptResult, Context
from tests.conftest import utc

TLS_CLOSE_S = 0.02  # in which the other side of a TLS connection confirms that it is closed
FIRE_AT = utc("2026-01-05T08:00:00Z")
CONTEXT = Context(uuid.UUID(int=7), 3, FIRE_AT, FIRE_AT, "backup", "nightly", "West Europe")


def attempt(document: dict, **context) -> AttemptResult:
    """Validate the document as when a job is saved, and carry it out."""
    return attempts(document, 1, **context)[0]


def attempts(document: dict, count: int, **context) -> list[AttemptResult]:
    """Make `count` attempts at the same time, in one event loop."""
    parsed = documents.parse(document)
    return carry_out([(parsed.document, parsed.secrets)] * count, **context)


def carry_out(actions: Sequence[tuple[dict, Mapping[str, str]]], **context) -> list[AttemptResult]:
    """Carry out stored documents and secrets, which are not validated again."""
    made = replace(CONTEXT, **{"now": datetime.now(UTC), **context})

    async def go() -> list[AttemptResult]:
        async with http.open_session() as session:
            outcomes = await asyncio.gather(*(perform(action, secrets, made, session) for action, secrets in actions))
        await asyncio.sleep(TLS_CLOSE_S)
        return outcomes

    return asyncio.run(go())
