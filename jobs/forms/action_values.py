"""Conversion of an action's document to values of form fields, and back.

No member is lost, also in documents that the form did not write.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from jobs.action_text import MESSAGES
from jobs.forms.action_fields import MARKS, SECRETS, SWITCHES, WHAT_FIELDS, ActionFields
from jobs.forms.action_members import (
    AUTHENTICATIONS,
    BUS_TARGETS,
    CHOICES,
    CHOOSING,
    DESCRIBED,
    FOLLOWING,
    RETRIES,
    TYPES,
    lookup,
    set_path,
    visible_fields,
)
from jobs.forms.fields import ScalarField, keeps_secret, parse_instant


def values_of(action: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields for an action. The action may be unchecked."""
    kind = _canonical(action.get("type", "Http"), TYPES)
    values = {name: ActionFields.base_fields[name].initial for name in WHAT_FIELDS if name != "action_json"}
    values["type"] = kind
    values["authentication"] = _canonical(lookup(action, "request.authentication.type") or "", AUTHENTICATIONS)
    values["retry"] = _canonical(
        lookup(action, "retryPolicy.retryType") or ("Fixed" if action.get("retryPolicy") else ""), RETRIES
    )
    if kind in BUS_TARGETS:
        key = lookup(action, f"{BUS_TARGETS[kind][0]}.authentication.type") or ""
        values["bus_authentication"] = _canonical(key, ("SharedAccessKey",))
    for name, path in visible_fields(values).items():
        member = lookup(action, path)
        if name not in CHOOSING and member is not None:
            values[name] = _field_value(name, member)
    return values


def action_fields_can_express(action: Mapping[str, Any]) -> bool:
    """Return True if each member of the action has a field that shows it and returns it unchanged."""
    values = values_of(action)
    if any(values[name] not in known for name, known in CHOOSING.items()):
        return False
    fields = {path: name for name, path in visible_fields(values).items()}
    for path in _leaf_paths(action, fields):
        name = fields.get(path)
        if name is None and path.rpartition(".")[2] not in DESCRIBED:
            return False
        if name and name not in SECRETS and not _is_preserved(name, values[name]):
            return False
    return True


def merge_action(document: dict[str, Any], values: Mapping[str, Any], changed: set[str]) -> dict[str, Any]:
    """Write the values of the `changed` fields into `document`, and return it.

    The document is changed in place.  Members that belong to another choice are removed.
    """
    before, paths = visible_fields(values_of(document)), visible_fields(values)
    for name in set(FOLLOWING) - set(paths):
        document.pop(FOLLOWING[name], None)
    is_new = not document
    for name in changed & set(CHOICES):
        set_path(document, CHOICES[name], None)
        before = {field: path for field, path in before.items() if not path.startswith(CHOICES[name])}
    for message in MESSAGES:
        if not any(path.startswith(f"{message}.") for path in paths.values()):
            document.pop(message, None)
    for name, path in paths.items():
        if name in MARKS and name in changed and not is_new:
            set_path(document, path, values.get(name) or [])  # without the member, the stored marks would stay
        elif is_new or name in changed or before.get(name) != path:
            set_path(document, path, _with_sent_secrets(name, values.get(name)))
    return document


def _field_value(name: str, value: Any) -> Any:
    """Return the value of the field `name` for the value of its member."""
    if name == "body_value":
        return None if value is None or isinstance(value, list | dict) else ScalarField.write(value)
    if name == "retry_count":
        return None if value is None else [value]
    if name == "force_persistence" and isinstance(value, bool):
        return str(value).lower()
    if name == "enqueue_at":
        return parse_instant(value)
    if name == "method" and isinstance(value, str):
        return value.upper()
    return None if name in SECRETS else value


def _with_sent_secrets(name: str, value: Any) -> Any:
    """Return the value of the member for the value of its field `name`; None: the member is left out."""
    if name == "retry_count":
        return value[0] if value else None
    if name == "enqueue_at":
        return f"{value:%Y-%m-%dT%H:%M:%SZ}" if value else None
    if name in SWITCHES:
        return value or None
    return None if value in ("", [], {}) else value


def _is_preserved(name: str, value: Any) -> bool:
    """Return True if the field `name` returns the value unchanged."""
    return value is not None and keeps_secret(ActionFields.base_fields[name], value)


def _leaf_paths(value: Mapping[str, Any], known: Mapping[str, str], path: str = "") -> Iterator[str]:
    """Yield the paths of members that are not None, without descending below a known path."""
    for name, member in value.items():
        member_path = f"{path}.{name}" if path else name
        if isinstance(member, Mapping) and member_path not in known:
            yield from _leaf_paths(member, known, member_path)
        elif member is not None:
            yield member_path


def _canonical(text: Any, known: Mapping[str, str] | tuple[str, ...]) -> Any:
    """Return the text with the letter case of the equal known one, because the wire accepts any case.

    An unknown text is returned unchanged.
    """
    return next((name for name in known if name.lower() == str(text).lower()), text)
