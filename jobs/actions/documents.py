"""Action documents: what a job does, in the original service's wire form.

Source: the service's published contract, as its client reads it (member names, enums, size limits).
Enums are read in any case and written in PascalCase.  Unknown members are dropped.  Optional parts that were not sent
get no default.  Nothing here uses the network: a literal address that calls cannot reach is refused, and the addresses
of a name are checked when it is called.

A secret never stays in the document.  It is stored separately under its path in the document, such as
`errorAction.request.authentication.password`.
"""

from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from jobs import durations
from jobs.actions import hosts, requests, service_bus, storage_queue, task
from jobs.actions.previous import PreviousAction, duration, present
from jobs.encryption import Secrets
from jobs.errors import Invalid
from jobs.members import JsonObject, collected
from jobs.models import Action
from recurrence.wire import Faults

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
    """A checked action: its document in canonical form, and its secrets by their path in the document."""

    document: dict[str, Any]
    secrets: Secrets


def parse(document: object, previous: Action | None = None, path: str = "action") -> ParsedAction:
    """Check an action document.  Raises Invalid with all faults, each with its path below `path`.

    A secret that is absent or masked is taken from `previous`, the action that is replaced.  That action must have a
    secret at the same path, of the same authentication type, for the same public identity and the same host.  So a
    person who may change a job but does not know its password cannot have the password sent elsewhere.
    """
    secrets = Secrets()
    previous_part = PreviousAction(previous.document, previous.secrets) if previous else PreviousAction({}, Secrets())
    faults = Faults(Invalid)
    action = faults.read(_action, JsonObject(document, path, faults), previous_part, secrets)
    faults.refuse()
    return ParsedAction(action, secrets)


def render(action: Action) -> dict[str, Any]:
    """Return the document of the action as responses show it, without its secrets."""
    return deepcopy(action.document)


def _action(members: JsonObject, previous_part: PreviousAction, secrets: Secrets) -> dict[str, Any]:
    """Return the checked action.  If faults are collected, a part with a fault is left out."""
    type_ = members.required_choice("type", ACTION_TYPES)
    result: dict[str, Any] = {"type": type_}
    if type_:
        result |= _message(members, type_, previous_part, secrets) or {}
        result |= _follow(members, type_)
    if policy := members.members("retryPolicy"):
        result["retryPolicy"] = _retry_policy(policy)
    if (error_action := members.members("errorAction")) and not previous_part.path:
        result["errorAction"] = _action(error_action, previous_part.child("errorAction"), secrets)
    return result


@collected
def _message(members: JsonObject, type_: str, previous_part: PreviousAction, secrets: Secrets) -> dict[str, Any]:
    name, parse_message = KINDS[type_]
    is_template = members.boolean("template") or False
    if is_template and type_ == "Task":
        members.fault("template", "must not be true: nothing in a task is a template")
    message_members = members.required_members(name)
    message = parse_message(message_members, previous_part.child(name), secrets, is_template)
    hosts.refuse_closed(message_members, message, previous_part.child(name).document)
    return {name: message, **present(template=is_template or None)}


def _follow(members: JsonObject, type_: str) -> dict[str, Any]:
    """Return `follow` and `followLimit`: whether an operation is followed to its end, and for how long at most."""
    follows, limit = members.boolean("follow") or False, duration(members, "followLimit")
    if follows and type_ not in FOLLOWING:
        members.fault("follow", f"must not be true: only requests begin operations, not a {type_}")
    if limit is not None and not follows and "follow" not in members.refused:
        members.fault("followLimit", 'must not be given without "follow": true')
    if limit is not None and not FOLLOW_LEAST <= durations.parse(limit) <= FOLLOW_MOST:
        members.fault("followLimit", f"must be 1 second to 24 hours, not {limit!r}", "out_of_range")
    return present(follow=follows or None, followLimit=limit)


def _retry_policy(members: JsonObject) -> dict[str, Any]:
    interval, most = duration(members, "retryInterval"), duration(members, "maximumRetryInterval")
    for name, text in (("retryInterval", interval), ("maximumRetryInterval", most)):
        if text and not RETRY_INTERVAL_LEAST <= durations.parse(text) <= RETRY_INTERVAL_MOST:
            members.fault(name, f"must be 15 seconds to 18 months, not {text!r}", "out_of_range")
    return present(
        retryType=members.choice("retryType", RETRY_TYPES),
        retryInterval=interval,
        retryCount=members.integer("retryCount", 0, RETRY_COUNT_LIMIT),
        maximumRetryInterval=most,
    )
