"""Find the hosts in an action document: literal addresses that calls cannot reach, and international names."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.json_object import JsonObject
from jobs.actions import host_names, uris
from jobs.actions.addresses import closed_host_reason

CLOSED = "closed_address"
MESSAGES = ("request", "serviceBusQueueMessage", "serviceBusTopicMessage")  # members that name hosts


def refuse_closed(members: JsonObject, message: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Refuse each member of `message` whose host is a literal address that calls cannot reach.

    A host that the stored message `before` has at the same path is not refused: other members must stay editable.
    `message` was read from `members`.
    """
    stored = _hosts_of_message(before)
    for path, host in _hosts_of_message(message).items():
        if stored.get(path) != host and (reason := closed_host_reason(host)):
            members.fault(path, f"must not have the host {host}: it {reason}", CLOSED)


def closed_hosts(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the path, the host and the reason of each literal address that calls cannot reach.

    The reason is to be written after "it".  The error action is not searched.
    """
    for path, host in _hosts_of_action(document):
        if reason := closed_host_reason(host):
            yield path, host, reason


def unicode_hosts(document: Mapping[str, Any], path: str = "") -> dict[str, str]:
    """Return the international hosts of an action and of its error action in Unicode, by path."""
    found = {
        f"{path}{member_path}": name
        for member_path, host in _hosts_of_action(document)
        if (name := host_names.in_unicode(host))
    }
    if error_action := document.get("errorAction"):
        found |= unicode_hosts(error_action, f"{path}errorAction.")
    return found


def _hosts_of_action(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in MESSAGES:
        for path, host in _hosts_of_message(document.get(name) or {}).items():
            yield f"{name}.{path}", host


def _hosts_of_message(message: Mapping[str, Any]) -> dict[str, str]:
    """Return the hosts by the path of the member that names them.  A namespace without a dot is not a host."""
    addresses = {
        "uri": message.get("uri"),
        "authentication.authority": (message.get("authentication") or {}).get("authority"),
    }
    found = {path: uris.origin(address)[1] or "" for path, address in addresses.items() if address}
    if "." in (namespace := message.get("namespace") or ""):
        found["namespace"] = namespace.lower()
    return found
