"""Carry out what an action document says."""

from collections.abc import Mapping
from typing import Any

import aiohttp

from jobs.actions import authentication, http, oauth, requests, service_bus, storage_queue, task, templates, uris
from jobs.actions.http import Call
from jobs.actions.outcome import Context, Outcome, Refused, refused

__all__ = ["Call", "Context", "Outcome", "below", "host_of", "perform", "prepare"]

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
    proof = action.get("request", {}).get("authentication") or {}
    if grant := authentication.grant(proof, below("request", secrets)):
        return await oauth.send(call, grant, session)
    return await http.send(call, session)


def host_of(action: Mapping[str, Any]) -> str:
    """To which host and port an action's calls go; an account or a namespace stands for its own.

    All tasks are on one host.
    """
    if action["type"] == "Task":
        return task.HOST
    message = action[KINDS[action["type"]][0]]
    if "uri" not in message:
        return message.get("storageAccount") or message["namespace"]
    try:
        _, host, port = uris.origin(message["uri"])
    except ValueError:  # no address, so its call is refused
        return message["uri"]
    return f"{host}:{port}"


def below(member: str, secrets: Mapping[str, str]) -> dict[str, str]:
    """The secrets within `member`, by their path below it."""
    prefix = f"{member}."
    return {path.removeprefix(prefix): text for path, text in secrets.items() if path.startswith(prefix)}
