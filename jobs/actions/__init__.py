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
    slow_work,
    storage_queue,
    task,
    templates,
    uris,
)
from jobs.actions.http import Call
from jobs.actions.result import AttemptResult, CallRefused, Context, Operation, refused

__all__ = [
    "AttemptResult",
    "Call",
    "Context",
    "Operation",
    "host_of",
    "host_of_address",
    "perform",
    "poll",
    "prepare",
    "secrets_below",
]

KINDS = {
    "Http": ("request", requests.prepare),
    "Https": ("request", requests.prepare),
    "StorageQueue": ("queueMessage", storage_queue.prepare),
    "ServiceBusQueue": ("serviceBusQueueMessage", service_bus.prepare),
    "ServiceBusTopic": ("serviceBusTopicMessage", service_bus.prepare),
}

QUICK_SECRETS = 2_000  # characters of secrets up to which a call is prepared in the event loop


def prepare(action: Mapping[str, Any], secrets: Mapping[str, str], context: Context) -> Call:
    """Return the call of an attempt, for an action other than a task.  `secrets` are by their path below `action`.

    The token of an authority is not part of the call yet.  Raises CallRefused when no valid call can be made.
    """
    name, prepare_message = KINDS[action["type"]]
    fill = templates.filler(context) if action.get("template") else templates.keep_text
    return prepare_message(action[name], secrets_below(name, secrets), context, fill)


def _has_many_secrets(secrets: Mapping[str, str]) -> bool:
    """Return True if it takes more than about a millisecond to compute the forms of these secrets."""
    return sum(len(text) for path, text in secrets.items() if not path.endswith(".pfx")) > QUICK_SECRETS


async def perform(
    action: Mapping[str, Any], secrets: Mapping[str, str], context: Context, session: aiohttp.ClientSession
) -> AttemptResult:
    """Make one attempt; `session` comes from `http.open_session`.  Failures of the target are returned as results."""
    if action["type"] == "Task":
        return await task.perform(action["task"], context)
    try:
        call = await slow_work.run(_has_many_secrets(secrets), prepare, action, secrets, context)
    except CallRefused as error:
        return refused(str(error))
    follows = action.get("follow", False)
    evaluator = partial(polling.detect_operation, call=call) if follows else http.evaluate
    return await _send(call, action, secrets, session, evaluator)


async def poll(
    action: Mapping[str, Any],
    secrets: Mapping[str, str],
    context: Context,
    operation: Operation,
    session: aiohttp.ClientSession,
) -> AttemptResult:
    """Poll an operation that a request of the action has begun.

    Credentials and tokens are sent to the action's own origin only.
    """
    get_request = {**action["request"], "method": "GET"}
    get_request.pop("body", None)
    try:
        own = await slow_work.run(
            _has_many_secrets(secrets), prepare, {**action, "request": get_request}, secrets, context
        )
    except CallRefused as error:
        return refused(str(error))
    call = polling.poll_of(own, operation.address)
    evaluator = partial(polling.read_status, operation=operation)
    if uris.origin(str(call.url)) == uris.origin(str(own.url)):
        return await _send(call, action, secrets, session, evaluator)
    return await http.send(call, session, evaluator)


async def _send(
    call: Call,
    action: Mapping[str, Any],
    secrets: Mapping[str, str],
    session: aiohttp.ClientSession,
    evaluator: http.Evaluator,
) -> AttemptResult:
    credentials = action.get("request", {}).get("authentication") or {}
    if grant := authentication.grant(credentials, secrets_below("request", secrets)):
        return await oauth.send(call, grant, session, evaluator)
    return await http.send(call, session, evaluator)


def host_of(action: Mapping[str, Any]) -> str:
    """Return the host and port that an action calls; the account or namespace for a queue or topic.

    All tasks have the same pseudo host.
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
    except ValueError:  # not an address: its call will be refused
        return address
    return f"{host}:{port}"


def secrets_below(member: str, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets within `member`, by their path below it."""
    prefix = f"{member}."
    return {path.removeprefix(prefix): text for path, text in secrets.items() if path.startswith(prefix)}
