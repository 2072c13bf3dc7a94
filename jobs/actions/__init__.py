"""Carry out what an action document says."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import aiohttp

from jobs.actions import (
    authentication,
    http,
    oauth,
    polling,
    requests,
    service_bus,
    storage_queue,
    task,
    templates,
    uris,
)
from jobs.actions.http import Call
from jobs.actions.outcome import Context, Operation, Outcome, Refused, refused

__all__ = [
    "Call",
    "Context",
    "Operation",
    "Outcome",
    "below",
    "host_of",
    "host_of_address",
    "perform",
    "poll",
    "prepare",
]

KINDS = {
    "Http": ("request", requests.prepare),
    "Https": ("request", requests.prepare),
    "StorageQueue": ("queueMessage", storage_queue.prepare),
    "ServiceBusQueue": ("serviceBusQueueMessage", service_bus.prepare),
    "ServiceBusTopic": ("serviceBusTopicMessage", service_bus.prepare),
}


def prepare(action: Mapping[str, Any], secrets: Mapping[str, str], context: Context) -> Call:
    """The call that an attempt makes, of an action other than a task.  `secrets` are by their path below `action`.

    What an authority issues, a token, is not in it yet.  Raises Refused when there is nothing that could be sent.
    """
    name, prepare_message = KINDS[action["type"]]
    fill = templates.filler(context) if action.get("template") else templates.as_it_is
    return prepare_message(action[name], below(name, secrets), context, fill)


async def perform(
    action: Mapping[str, Any], secrets: Mapping[str, str], context: Context, session: aiohttp.ClientSession
) -> Outcome:
    """Make one attempt; `session` is one of `http.open_session`.  Whatever the target does ends in an Outcome."""
    if action["type"] == "Task":
        return await task.perform(action["task"], context)
    try:
        call = prepare(action, secrets, context)
    except Refused as refusal:
        return refused(str(refusal))
    follows = action.get("follow", False)
    judge = partial(polling.begun, call=call) if follows else http.judged
    return await _send(call, action, secrets, session, judge)


async def poll(
    action: Mapping[str, Any],
    secrets: Mapping[str, str],
    context: Context,
    operation: Operation,
    session: aiohttp.ClientSession,
) -> Outcome:
    """Ask how an operation goes on that a request of the action has begun.

    Credentials, tokens among them, go to the action's own origin alone.
    """
    asking = {**action["request"], "method": "GET"}
    asking.pop("body", None)
    try:
        own = prepare({**action, "request": asking}, secrets, context)
    except Refused as refusal:
        return refused(str(refusal))
    call = polling.poll_of(own, operation.address)
    judge = partial(polling.read, operation=operation)
    if uris.origin(str(call.url)) == uris.origin(str(own.url)):
        return await _send(call, action, secrets, session, judge)
    return await http.send(call, session, judge)


async def _send(
    call: Call,
    action: Mapping[str, Any],
    secrets: Mapping[str, str],
    session: aiohttp.ClientSession,
    judge: http.Judge,
) -> Outcome:
    proof = action.get("request", {}).get("authentication") or {}
    if grant := authentication.grant(proof, below("request", secrets)):
        return await oauth.send(call, grant, session, judge)
    return await http.send(call, session, judge)


def host_of(action: Mapping[str, Any]) -> str:
    """To which host and port an action's calls go; an account or a namespace stands for its own.

    All tasks are on one host.
    """
    if action["type"] == "Task":
        return task.HOST
    message = action[KINDS[action["type"]][0]]
    if "uri" not in message:
        return message.get("storageAccount") or message["namespace"]
    return host_of_address(message["uri"])


def host_of_address(address: str) -> str:
    try:
        _, host, port = uris.origin(address)
    except ValueError:  # no address, so its call is refused
        return address
    return f"{host}:{port}"


def below(member: str, secrets: Mapping[str, str]) -> dict[str, str]:
    """The secrets within `member`, by their path below it."""
    prefix = f"{member}."
    return {path.removeprefix(prefix): text for path, text in secrets.items() if path.startswith(prefix)}
