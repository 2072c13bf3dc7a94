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
from typing import Any

from api.errors import Invalid
from api.json_object import JsonObject, collected
from jobs.actions import hosts, requests, service_bus, storage_queue, task
from jobs.actions.members import ACTION_TYPES, FOLLOW, FOLLOW_LIMIT, FOLLOWING, RETRY_POLICY, TEMPLATE
from jobs.actions.previous import PreviousAction, present
from jobs.encryption import Secrets
from jobs.models import Action
from recurrence.wire import Faults

KINDS = {
    "Http": ("request", requests.parse),
    "Https": ("request", requests.parse),
    "StorageQueue": ("queueMessage", storage_queue.parse),
    "ServiceBusQueue": ("serviceBusQueueMessage", service_bus.parse_queue),
    "ServiceBusTopic": ("serviceBusTopicMessage", service_bus.parse_topic),
    "Task": ("task", task.parse),
}


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
        result["retryPolicy"] = RETRY_POLICY.read(policy)
    if (error_action := members.members("errorAction")) and not previous_part.path:
        result["errorAction"] = _action(error_action, previous_part.child("errorAction"), secrets)
    return result


@collected
def _message(members: JsonObject, type_: str, previous_part: PreviousAction, secrets: Secrets) -> dict[str, Any]:
    name, parse_message = KINDS[type_]
    is_template = TEMPLATE.read(members) or False
    if is_template and type_ == "Task":
        members.fault("template", "must not be true: a task has no member in which placeholders are filled in")
    message_members = members.required_members(name)
    message = parse_message(message_members, previous_part.child(name), secrets, is_template)
    hosts.refuse_closed(message_members, message, previous_part.child(name).document)
    return {name: message, **present(template=is_template or None)}


def _follow(members: JsonObject, type_: str) -> dict[str, Any]:
    """Return `follow` and `followLimit`: whether an operation is followed to its end, and for how long at most."""
    follows, limit = FOLLOW.read(members), FOLLOW_LIMIT.read(members)
    if follows and type_ not in FOLLOWING:
        members.fault("follow", f"must not be true: only HTTP actions can follow operations, not a {type_}")
    if limit is not None and not follows and "follow" not in members.refused:
        members.fault("followLimit", 'must not be given without "follow": true')
    return present(follow=follows, followLimit=limit)
