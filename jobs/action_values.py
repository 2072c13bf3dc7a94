"""An action's document as values of its fields, and back without losing anything on the way, whatever put it there."""

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.action_fields import SECRETS, SWITCHES, WHAT_FIELDS, ActionFields
from jobs.action_members import (
    AUTHENTICATIONS,
    BUS_TARGETS,
    CHOICES,
    CHOOSING,
    DESCRIBED,
    FOLLOWING,
    RETRIES,
    TYPES,
    lookup,
    places_of,
    put,
)
from jobs.descriptions import MESSAGES
from jobs.notations import ScalarField, moment_of, survives


def values_of(action: Mapping[str, Any]) -> dict[str, Any]:
    """What the fields show of an action, also of one that nobody has checked yet."""
    kind = _spelled(action.get("type", "Http"), TYPES)
    values = {name: ActionFields.base_fields[name].initial for name in WHAT_FIELDS if name != "action_json"}
    values["type"] = kind
    values["authentication"] = _spelled(lookup(action, "request.authentication.type") or "", AUTHENTICATIONS)
    values["retry"] = _spelled(
        lookup(action, "retryPolicy.retryType") or ("Fixed" if action.get("retryPolicy") else ""), RETRIES
    )
    if kind in BUS_TARGETS:
        key = lookup(action, f"{BUS_TARGETS[kind][0]}.authentication.type") or ""
        values["bus_authentication"] = _spelled(key, ("SharedAccessKey",))
    for name, place in places_of(values).items():
        member = lookup(action, place)
        if name not in CHOOSING and member is not None:
            values[name] = _shown(name, member)
    return values


def fields_do(action: Mapping[str, Any]) -> bool:
    """Whether the fields can show the action whole: each member has one, and comes out of it as it went in."""
    values = values_of(action)
    if any(values[name] not in known for name, known in CHOOSING.items()):
        return False
    fields = {place: name for name, place in places_of(values).items()}
    for place in _leaves(action, fields):
        name = fields.get(place)
        if name is None and place.rpartition(".")[2] not in DESCRIBED:
            return False
        if name and name not in SECRETS and not _survives(name, values[name]):
            return False
    return True


def changed_action(document: dict[str, Any], values: Mapping[str, Any], changed: set[str]) -> dict[str, Any]:
    """`document`, changed in place: with the values of those fields, without what another choice has left behind."""
    before, places = places_of(values_of(document)), places_of(values)
    for name in set(FOLLOWING) - set(places):
        document.pop(FOLLOWING[name], None)
    is_new = not document
    for name in changed & set(CHOICES):
        put(document, CHOICES[name], None)
        before = {field: place for field, place in before.items() if not place.startswith(CHOICES[name])}
    for message in MESSAGES:
        if not any(place.startswith(f"{message}.") for place in places.values()):
            document.pop(message, None)
    for name, place in places.items():
        if is_new or name in changed or before.get(name) != place:
            put(document, place, _sent(name, values.get(name)))
    return document


def _shown(name: str, value: Any) -> Any:
    if name == "body_value":
        return None if value is None or isinstance(value, list | dict) else ScalarField.write(value)
    if name == "retry_count":
        return None if value is None else [value]
    if name == "force_persistence" and isinstance(value, bool):
        return str(value).lower()
    if name == "enqueue_at":
        return moment_of(value)
    if name == "method" and isinstance(value, str):
        return value.upper()
    return None if name in SECRETS else value


def _sent(name: str, value: Any) -> Any:
    if name == "retry_count":
        return value[0] if value else None
    if name == "enqueue_at":
        return f"{value:%Y-%m-%dT%H:%M:%SZ}" if value else None
    if name in SWITCHES:
        return value or None
    return None if value in ("", [], {}) else value


def _survives(name: str, value: Any) -> bool:
    return value is not None and survives(ActionFields.base_fields[name], value)


def _leaves(value: Mapping[str, Any], known: Mapping[str, str], path: str = "") -> Iterator[str]:
    """The paths of members that hold something, none deeper than the known ones."""
    for name, member in value.items():
        place = f"{path}.{name}" if path else name
        if isinstance(member, Mapping) and place not in known:
            yield from _leaves(member, known, place)
        elif member is not None:
            yield place


def _spelled(text: Any, known: Mapping[str, str] | tuple[str, ...]) -> Any:
    """The text as it is spelled among the known ones, which the wire takes in any case."""
    return next((name for name in known if name.lower() == str(text).lower()), text)
