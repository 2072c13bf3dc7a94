"""Conversion of an action's document to values of form fields, and back.

No member is lost, also in documents that the form did not write.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from jobs.actions import member_types as types
from jobs.forms.action_fields import MEMBERS, ActionFields
from jobs.forms.action_members import CHOOSING, lookup, set_path, visible_fields, visible_members
from jobs.forms.fields import ScalarField, keeps_secret, parse_instant


def values_of(action: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields for an action. The action may be unchecked."""
    values = {name: ActionFields.base_fields[name].initial for name in MEMBERS}
    values["type"] = _canonical(action.get("type", "Http"), CHOOSING["type"])
    paths = visible_fields(values)
    for name in CHOOSING.keys() & paths.keys() - {"type"}:
        values[name] = _canonical(_choice_in(action, paths[name], MEMBERS[name]), CHOOSING[name])
    for name, path in visible_fields(values).items():
        member = lookup(action, path)
        if name not in CHOOSING and member is not None:
            values[name] = _field_value(MEMBERS[name], member)
    return values


def action_fields_can_express(action: Mapping[str, Any]) -> bool:
    """Return True if each member of the action has a field that shows it and returns it unchanged."""
    values = values_of(action)
    if any(values[name] not in known for name, known in CHOOSING.items()):
        return False
    members = visible_members(values)
    for path in _leaf_paths(action, members):
        member = members.get(path)
        if not member:
            return False
        if member.form and not isinstance(member, types.Secret) and not _is_preserved(values, member.form.name):
            return False
    return True


def merge_action(document: dict[str, Any], values: Mapping[str, Any], changed: set[str]) -> dict[str, Any]:
    """Write the values of the `changed` fields into `document`, and return it.

    The document is changed in place.  Members that belong to another choice are removed.
    """
    before, after = visible_members(values_of(document)), visible_members(values)
    is_new = not document
    for path in before.keys() - after.keys():
        set_path(document, path, None)
    for path, member in after.items():
        if not member.form:
            continue
        is_changed, value = member.form.name in changed, values.get(member.form.name)
        if isinstance(member, types.Names) and is_changed and not is_new:
            set_path(document, path, value or [])  # without the member, the stored marks would stay
        elif is_new or is_changed or path not in before:
            set_path(document, path, _member_value(member, value))
    return document


def _choice_in(action: Mapping[str, Any], path: str, member: types.Member) -> str:
    """Return the choice at `path`; the default if only the object above has been sent, and nothing without it."""
    if choice := lookup(action, path):
        return choice
    is_sent = lookup(action, path.rpartition(".")[0])
    return (is_sent and isinstance(member, types.Choice) and member.default) or ""


def _field_value(member: types.Member, value: Any) -> Any:
    """Return the value of the field of `member` for a value in the document."""
    match member:
        case types.Secret():
            return None
        case types.Scalar():
            return None if isinstance(value, list | dict) else ScalarField.write(value)
        case types.Number():
            return [value]
        case types.Flag(default=None) if isinstance(value, bool):
            return str(value).lower()
        case types.Instant():
            return parse_instant(value)
        case types.Choice(form=types.FormField(choices=known)):
            return _canonical(value, known)
    return value


def _member_value(member: types.Member, value: Any) -> Any:
    """Return the value in the document for a value of the field of `member`; None: the member is left out."""
    match member:
        case types.Number():
            return value[0] if value else None
        case types.Instant():
            return f"{value:%Y-%m-%dT%H:%M:%SZ}" if value else None
        case types.Flag(default=False):
            return value or None
    return None if value in ("", [], {}) else value


def _is_preserved(values: Mapping[str, Any], name: str) -> bool:
    """Return True if the field `name` returns its value unchanged."""
    return values[name] is not None and keeps_secret(ActionFields.base_fields[name], values[name])


def _leaf_paths(value: Mapping[str, Any], known: Container[str], path: str = "") -> Iterator[str]:
    """Yield the paths of members that are not None, without descending below a known path."""
    for name, member in value.items():
        member_path = f"{path}.{name}" if path else name
        if isinstance(member, Mapping) and member_path not in known:
            yield from _leaf_paths(member, known, member_path)
        elif member is not None:
            yield member_path


def _canonical(value: object, known: Iterable[str]) -> str:
    """Return the text with the letter case of the equal known one, because the wire accepts any case.

    An unknown text is returned unchanged.
    """
    text = str(value)
    return next((name for name in known if name.lower() == text.lower()), text)
