"""The members of an action that count for each choice in its form, and access to members by their path."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobs.actions.member_types import Member, Object, OneOf
from jobs.actions.members import ACTIONS, TEMPLATE
from jobs.forms.action_fields import MEMBERS

HEADERS = "request.headers."
QUERY = "request.query."
# fields that decide which members count, and their values
CHOOSING = {name: member.form.choices for name, member in MEMBERS.items() if member.form and member.form.decides}


def visible_members(values: Mapping[str, Any]) -> dict[str, Member]:
    """Return the members that count for these values of the choices, by path."""
    action = ACTIONS.get(values.get("type", ""), ACTIONS["Http"])
    # the form shows the switch of templates for all types; the parser refuses it for a task
    return {TEMPLATE.name: TEMPLATE, **dict(_members_below("", action.members, values))}


def visible_fields(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that count for these values of the choices, with the paths of the members that they write."""
    return {member.form.name: path for path, member in visible_members(values).items() if member.form}


def _members_below(prefix: str, members: Sequence[Member], values: Mapping[str, Any]) -> Iterator[tuple[str, Member]]:
    for member in members:
        path = f"{prefix}{member.name}"
        if isinstance(member, Object):
            yield from _members_below(f"{path}.", member.type.members, values)
        elif isinstance(member, OneOf):
            form = member.type.form
            kind = member.kinds.get(values.get(form.name) or "") if form else None
            yield from _members_below(f"{path}.", kind.members if kind else (member.type,), values)
        elif not member.form or all(values.get(name) in known for name, known in member.form.only_with.items()):
            yield path, member


def lookup(document: object, path: str) -> Any:
    """Return the member at a path; None if there is none."""
    for name in path.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def set_path(document: dict[str, Any], path: str, value: object) -> None:
    """Set the member at a path.  None removes it, and removes the objects above it that become empty."""
    name, _, rest = path.partition(".")
    if rest and (value is not None or isinstance(document.get(name), dict)):
        inner = document.get(name)
        document[name] = inner if isinstance(inner, dict) else {}
        set_path(document[name], rest, value)
        if value is None and not document[name]:
            del document[name]
    elif not rest and value is None:
        document.pop(name, None)
    elif not rest:
        document[name] = value
