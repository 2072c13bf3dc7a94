"""What every kind of action does alike when it reads its members: secrets apart, durations as they were sent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs import durations
from jobs.encryption import MASK, Secrets
from jobs.members import Members

# Characters
MESSAGE_LIMIT = 16_384
SECRET_LIMIT = 16_384
SHORT_LIMIT = 256

NAME_OF_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?"


@dataclass(frozen=True, slots=True)
class Stored:
    """An object within the document that is replaced, with the place where it stands; empty where there was none."""

    document: Mapping[str, Any]
    secrets: Secrets
    place: str = ""

    def at(self, name: str) -> "Stored":
        return Stored(self.document.get(name) or {}, self.secrets, self.place_of(name))

    def emptied(self) -> "Stored":
        """The same place as if nothing had been there: what was stored is not for what stands there now."""
        return Stored({}, Secrets(), self.place)

    def place_of(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name

    def secret(self, name: str) -> str | None:
        return self.secrets.get(self.place_of(name))


def keep_secret(members: Members, name: str, public: Mapping[str, Any], stored: Stored, secrets: Secrets) -> None:
    """Move the secret `name` into `secrets`, the stored one when it is absent or masked and still belongs here."""
    value = secret_text(members, name)
    if value in (None, MASK):
        value = stored.secret(name) if all(stored.document.get(key) == public[key] for key in public) else None
    if value is None:
        members.refuse(name, "is required: none is stored for this place, host and identity", "required")
    secrets[stored.place_of(name)] = value


def secret_text(members: Members, name: str) -> str | None:
    if name in members and not isinstance(members.value[name], str):
        members.refuse(name, "must be a text", "wrong_type")  # the refused value is not repeated
    return members.text(name, SECRET_LIMIT)


def duration(members: Members, name: str) -> str | None:
    """A duration, in the form in which it was sent."""
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
