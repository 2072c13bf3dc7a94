"""What a job does, as a form: every member of an action's document has a field, and choices say which of them count.

The form starts from the stored document and changes in it what was changed in the fields.  Secrets are written here and
never shown.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.utils.text import capfirst

from jobs.action_fields import SECRETS, WHAT_FIELDS, ActionFields
from jobs.action_members import CHOOSING, HEADERS, lookup, places_of
from jobs.action_values import changed_action, fields_do, values_of
from jobs.actions import documents
from jobs.credentials import date_in_words
from jobs.encryption import MASK
from jobs.models import Action
from jobs.notations import JSON, PFXField, SecretField, nearest

PARTS = {
    "success": ("status_codes", "body_contains", "body_path", "body_value"),
    "following": ("follow", "follow_limit"),
    "connection": ("follow_redirects", "certificate_authority"),
    "properties": (
        *("label", "message_id", "correlation_id", "session_id", "to", "reply_to", "reply_to_session_id"),
        *("partition_key", "via_partition_key", "force_persistence", "transport"),
    ),
}
# what an action of their kind cannot be stored without
ALWAYS_SET = {"password", "pfx", "client_secret", "sas_token", "sas_key"}


class ActionForm(ActionFields):
    """`stored` is the action to begin with, None for a new one."""

    fields: dict[str, Any]  # each of its own class
    stored: Action | None = None

    def clean(self) -> None:
        """Errors of fields that do not count are nobody's."""
        super().clean()
        counting = self.counting_fields()
        for name in set(WHAT_FIELDS) - counting:
            self.errors.pop(name, None)
        if "retry_count" in counting and len(self.cleaned_data.get("retry_count") or []) > 1:
            self.add_error("retry_count", "Write one number")
        if "pfx" in counting and self.cleaned_data.get("pfx_file"):
            if self.cleaned_data.get("pfx"):
                self.add_error("pfx", "There is a file as well: take one of the two")
            self.cleaned_data["pfx"] = self.cleaned_data["pfx_file"]

    def counting_fields(self) -> set[str]:
        """The fields that go with the way of writing and with the chosen type, authentication and retries."""
        if self["what"].value() == JSON:
            return {"action_json"}
        names = set(self._places())
        return names | {"pfx_file"} if "pfx" in names else names

    def action(self) -> dict[str, Any]:
        """The action that the form describes: the stored one, with what was changed in the fields."""
        if self.cleaned_data["what"] == JSON:
            return self.cleaned_data["action_json"]
        stored = self._stored_document()
        return changed_action(stored if fields_do(stored) else {}, self.cleaned_data, set(self.changed_data))

    def place_in_action(self, path: str) -> tuple[str | None, str]:
        """The field that writes the member `path`, or one that holds it, and the path from there on."""
        name, rest = nearest({place: name for name, place in self._places().items()}, path.removeprefix("action."))
        return ("pfx_file" if name == "pfx" and not self["pfx"].data else name), rest

    @property
    def rewritten(self) -> list[str]:
        """The labels of fields whose secrets were written and do not come back to the page."""
        return [
            str(self[name].label)
            for name in self.fields
            if name in self.counting_fields() and self[name].data and _hides(self[name])
        ]

    @property
    def opened(self) -> set[str]:
        """Which of the parts that usually stay closed have something to show."""
        return {part for part, names in PARTS.items() if any(self[name].value() or self[name].errors for name in names)}

    @property
    def stored_authentication(self) -> Mapping[str, Any]:
        return lookup(self._stored_document(), "request.authentication") or {}

    def say_what_is_set(self, now: datetime) -> None:
        """Beside each secret that is stored, since when."""
        if not self.stored:
            return
        set_on = {
            place: f"set on {date_in_words(datetime.fromisoformat(text), now)}"
            for place, text in self.stored.secrets_set_at.items()
        }
        for name, place in places_of(values_of(self._stored_document())).items():
            if name in SECRETS and (place in set_on or name in ALWAYS_SET):
                shown_at = "pfx_file" if name == "pfx" else name
                self.fields[shown_at].help_text = capfirst(f"{set_on.get(place, 'set')}. Empty keeps it.")
        headers = [
            f"{place.removeprefix(HEADERS)} {since}" for place, since in set_on.items() if place.startswith(HEADERS)
        ]
        if headers:
            self.fields["headers"].help_text += f" {MASK} keeps what is stored: {', '.join(headers)}."

    def _places(self) -> dict[str, str]:
        return places_of({name: self[name].value() for name in CHOOSING})

    def _stored_document(self) -> dict[str, Any]:
        return documents.render(self.stored) if self.stored else {}


def _hides(field: forms.BoundField) -> bool:
    shown = field.field.prepare_value(field.data)
    return isinstance(field.field, SecretField | PFXField) or (isinstance(field.data, str) and shown != field.data)
