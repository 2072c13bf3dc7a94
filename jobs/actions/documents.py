"""Action documents: what a job does, in the original service's wire form.

Source: the service's published contract, as its client reads it (member names, enums, size limits).
Enums are read in any case and written in PascalCase, members nobody knows are dropped, and optional parts that are not
sent are not made up.  Nothing is looked up in the network here; whether an address may be called is the call's matter.

A secret never stays in the document: it is split out under its place in it, such as
`errorAction.request.authentication.password`.
"""

from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from jobs import durations
from jobs.actions import requests, service_bus, storage_queue, task
from jobs.actions.stored import Stored, duration, present
from jobs.encryption import Secrets
from jobs.members import Members
from jobs.models import Action

RETRY_TYPES = ("None", "Fixed", "Exponential")
RETRY_COUNT_LIMIT = 20
RETRY_INTERVAL_LEAST = timedelta(seconds=15)
RETRY_INTERVAL_MOST = timedelta(days=548)  # 18 months, as in the limits of a recurrence
FOLLOW_LEAST = timedelta(seconds=1)
FOLLOW_MOST = timedelta(hours=24)
FOLLOWING = ("Http", "Https")

KINDS = {
    "Http": ("request", requests.parse),
    "Https": ("request", requests.parse),
    "StorageQueue": ("queueMessage", storage_queue.parse),
    "ServiceBusQueue": ("serviceBusQueueMessage", service_bus.parse_queue),
    "ServiceBusTopic": ("serviceBusTopicMessage", service_bus.parse_topic),
    "Task": ("task", task.parse),
}
ACTION_TYPES = tuple(KINDS)


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """A checked action: its document in canonical form, and apart from it the secrets by their place in it."""

    document: dict[str, Any]
    secrets: Secrets


def parse(document: object, previous: Action | None = None, path: str = "action") -> ParsedAction:
    """Check an action document.  Raises Invalid, naming the member by its path below `path`.

    A secret that is absent or masked is taken from `previous`, the action it replaces, if that has one at the same
    place, of the same authentication type, for the same public identity and for the same host: who may change a
    job but was never told its password cannot have it sent elsewhere.
    """
    secrets = Secrets()
    stored = Stored(previous.document, previous.secrets) if previous else Stored({}, Secrets())
    return ParsedAction(_action(Members(document, path), stored, secrets), secrets)


def render(action: Action) -> dict[str, Any]:
    """The action as answers show it: without its secrets."""
    return deepcopy(action.document)


def _action(members: Members, stored: Stored, secrets: Secrets) -> dict[str, Any]:
    type_ = members.required_choice("type", ACTION_TYPES)
    name, parse_message = KINDS[type_]
    is_template = members.boolean("template") or False
    if is_template and type_ == "Task":
        members.refuse("template", "must not be true: nothing in a task is a template")
    message = parse_message(members.required_members(name), stored.at(name), secrets, is_template)
    result: dict[str, Any] = {"type": type_, name: message}
    if is_template:
        result["template"] = True
    result |= _follow(members, type_)
    if policy := members.members("retryPolicy"):
        result["retryPolicy"] = _retry_policy(policy)
    if (error_action := members.members("errorAction")) and not stored.place:
        result["errorAction"] = _action(error_action, stored.at("errorAction"), secrets)
    return result


def _follow(members: Members, type_: str) -> dict[str, Any]:
    """Whether an operation that the request begins is followed to its end, and for how long at most."""
    follows, limit = members.boolean("follow") or False, duration(members, "followLimit")
    if follows and type_ not in FOLLOWING:
        members.refuse("follow", f"must not be true: only requests begin operations, not a {type_}")
    if limit is not None and not follows:
        members.refuse("followLimit", 'must not be given without "follow": true')
    if limit is not None and not FOLLOW_LEAST <= durations.parse(limit) <= FOLLOW_MOST:
        members.refuse("followLimit", f"must be 1 second to 24 hours, not {limit!r}", "out_of_range")
    return present(follow=follows or None, followLimit=limit)


def _retry_policy(members: Members) -> dict[str, Any]:
    interval, most = duration(members, "retryInterval"), duration(members, "maximumRetryInterval")
    for name, text in (("retryInterval", interval), ("maximumRetryInterval", most)):
        if text and not RETRY_INTERVAL_LEAST <= durations.parse(text) <= RETRY_INTERVAL_MOST:
            members.refuse(name, f"must be 15 seconds to 18 months, not {text!r}", "out_of_range")
    return present(
        retryType=members.choice("retryType", RETRY_TYPES),
        retryInterval=interval,
        retryCount=members.integer("retryCount", 0, RETRY_COUNT_LIMIT),
        maximumRetryInterval=most,
    )
