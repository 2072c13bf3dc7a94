"""Helpers that all kinds of action share when they read members: secrets, and durations in the form as sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from api.json_object import JsonObject, collected
from jobs import durations
from jobs.encryption import MASK, Secrets

# Characters
MESSAGE_LIMIT = 16_384
SECRET_LIMIT = 16_384
SHORT_LIMIT = 256

NAME_OF_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?"


@dataclass(frozen=True, slots=True)
class PreviousAction:
    """An object of the document that is being replaced, with its path; empty if there was none."""

    document: Mapping[str, Any]
    secrets: Secrets
    path: str = ""

    def child(self, name: str) -> "PreviousAction":
        return PreviousAction(self.document.get(name) or {}, self.secrets, self.path_of(name))

    def without_content(self) -> "PreviousAction":
        """Return an empty object with the same path: the stored secrets do not belong to the new content."""
        return PreviousAction({}, Secrets(), self.path)

    def path_of(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def secret(self, name: str) -> str | None:
        return self.secrets.get(self.path_of(name))


@collected
def keep_secret(
    members: JsonObject, name: str, public: Mapping[str, Any], previous: PreviousAction, secrets: Secrets
) -> None:
    """Move the secret `name` into `secrets`.

    If it is absent or masked, take the stored secret, provided that the public members have not changed.
    """
    value = secret_text(members, name)
    if value in (None, MASK):
        known = [key for key in public if public[key] is not None]  # a refused member is None
        value = previous.secret(name) if all(previous.document.get(key) == public[key] for key in known) else None
    if value is None:
        members.refuse(name, "is required: none is stored for this place, host and identity", "required")
    secrets[previous.path_of(name)] = value


def secret_text(members: JsonObject, name: str) -> str | None:
    if name in members and not isinstance(members.value[name], str):
        members.refuse(name, "must be a text", "wrong_type")  # the refused value is not repeated
    return members.text(name, SECRET_LIMIT)


@collected
def duration(members: JsonObject, name: str) -> str | None:
    """Return a duration in the form in which it was sent."""
    text = members.text(name, SHORT_LIMIT)
    if text is None:
        return None
    try:
        durations.parse(text)
    except ValueError as error:
        members.refuse(name, str(error), "malformed")
    return durations.canonical(text)


def present(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
