"""Carry out what an action document says."""

from collections.abc import Mapping
from typing import Any

import aiohttp

from jobs.actions import http
from jobs.actions.outcome import Context, Outcome, refused

__all__ = ["Context", "Outcome", "perform"]


async def perform(
    action: Mapping[str, Any], secrets: Mapping[str, str], context: Context, session: aiohttp.ClientSession
) -> Outcome:
    """Make one attempt.  `secrets` are by their path below `action`; `session` is one of `http.open_session`.

    Whatever the target does ends in an Outcome.  An action of a kind that is stored but that nobody here carries out is
    refused with the reason.
    """
    if action["type"] in ("Http", "Https"):
        return await http.call(action["request"], below("request", secrets), context, session)
    return refused(f"Actions of type {action['type']} are kept, but this installation does not carry them out.")


def below(member: str, secrets: Mapping[str, str]) -> dict[str, str]:
    """The secrets within `member`, by their path below it."""
    prefix = f"{member}."
    return {path.removeprefix(prefix): text for path, text in secrets.items() if path.startswith(prefix)}
