"""The form of an action: every member of its document has a field, and choices decide which of the fields count.

The form starts from the stored document and changes only the members whose fields were changed.  Secrets can be
written here and are never shown.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.utils.html import escape
from django.utils.text import capfirst

from jobs.actions import documents
from jobs.actions.hosts import unicode_hosts
from jobs.actions.member_types import Names, Secret
from jobs.actions.members import REQUEST
from jobs.credentials import date_in_words
from jobs.encryption import MASK
from jobs.forms.action_fields import MEMBERS, WHAT_FIELDS, ActionFields
from jobs.forms.action_members import CHOOSING, HEADERS, QUERY, lookup, visible_fields, visible_members
from jobs.forms.action_values import action_fields_can_express, merge_action, values_of
from jobs.forms.fields import JSON, PFXField, SecretField, field_for_path
from jobs.models import Action

PARTS = {
    "secrets": ("secret_headers", "secret_query"),
    "success": ("status_codes", "body_contains", "body_path", "body_value"),
    "following": ("follow", "follow_limit"),
    "connection": ("follow_redirects", "certificate_authority"),
    "properties": (
        *("label", "message_id", "correlation_id", "session_id", "to", "reply_to", "reply_to_session_id"),
        *("partition_key", "via_partition_key", "force_persistence", "transport"),
    ),
}
# fields that name secrets, and the fields with the values
MARKS = {name: REQUEST[member.marks].form.name for name, member in MEMBERS.items() if isinstance(member, Names)}


class ActionForm(ActionFields):
    """The form of an action. `stored_action` is the action that is edited, None for a new one."""

    fields: dict[str, Any]  # each of its own class
    stored_action: Action | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for marks, name in MARKS.items():
            self.fields[name].marked = self.fields[marks].read(self[marks].value() or "")

    def clean(self) -> None:
        """Check the fields that count, and drop the errors of all other fields."""
        super().clean()
        active = self.active_fields()
        for name in set(WHAT_FIELDS) - active:
            self.errors.pop(name, None)
        if "retry_count" in active and len(self.cleaned_data.get("retry_count") or []) > 1:
            self.add_error("retry_count", "Enter one number")
        if "pfx" in active and self.cleaned_data.get("pfx_file"):
            if self.cleaned_data.get("pfx"):
                self.add_error("pfx", "Enter either a file or its text, not both")
            self.cleaned_data["pfx"] = self.cleaned_data["pfx_file"]

    def active_fields(self) -> set[str]:
        """Return the fields that count for the chosen mode (fields or JSON), type, authentication and retries."""
        if self["what"].value() == JSON:
            return {"action_json"}
        names = set(self._member_paths())
        return names | {"pfx_file"} if "pfx" in names else names

    def action(self) -> dict[str, Any]:
        """Return the action that the form describes: the stored one with the changes that were made in the fields."""
        if self.cleaned_data["what"] == JSON:
            return self.cleaned_data["action_json"]
        stored = self._stored_document()
        return merge_action(
            stored if action_fields_can_express(stored) else {}, self.cleaned_data, set(self.changed_data)
        )

    def find_action_field(self, path: str) -> tuple[str | None, str]:
        """Return the field that writes the member `path` or a member above it, and the rest of the path below it.

        The field is None if no field writes the member.
        """
        name, rest = field_for_path(
            {member: name for name, member in self._member_paths().items()}, path.removeprefix("action.")
        )
        return ("pfx_file" if name == "pfx" and not self["pfx"].data else name), rest

    @property
    def unshown_secrets(self) -> list[str]:
        """Return the labels of fields with posted secrets, which the page does not show again."""
        return [
            str(self[name].label)
            for name in self.fields
            if name in self.active_fields() and self[name].data and _hides(self[name])
        ]

    @property
    def open_parts(self) -> set[str]:
        """Return the collapsible parts of the form that are open: those with a value or an error."""
        return {part for part, names in PARTS.items() if any(self[name].value() or self[name].errors for name in names)}

    @property
    def stored_authentication(self) -> Mapping[str, Any]:
        return lookup(self._stored_document(), "request.authentication") or {}

    def add_secret_dates(self, now: datetime) -> None:
        """Add to the help text of each stored secret the date on which it was set."""
        if not self.stored_action:
            return
        set_on = {
            path: f"set on {date_in_words(datetime.fromisoformat(text), now)}"
            for path, text in self.stored_action.secrets_set_at.items()
        }
        for path, member in visible_members(values_of(self._stored_document())).items():
            if isinstance(member, Secret) and member.form and (path in set_on or member.required):
                shown_at = "pfx_file" if member.form.name == "pfx" else member.form.name
                self.fields[shown_at].help_text = capfirst(f"{set_on.get(path, 'set')}. Leave empty to keep it.")
        for name, prefix in (("headers", HEADERS), ("uri", QUERY)):
            if dates := [f"{path.removeprefix(prefix)} {on}" for path, on in set_on.items() if path.startswith(prefix)]:
                self._add_help(name, f"{MASK} keeps the stored value: {', '.join(dates)}.")

    def add_unicode_hosts(self) -> None:
        """Add to the help text of each address with an international host the Unicode form of the stored host."""
        for path, host in unicode_hosts(self._stored_document()).items():
            name, _ = self.find_action_field(path)
            if name:
                self._add_help(name, f"Stored host: {host}.")

    def _add_help(self, name: str, sentence: str) -> None:
        """Add a sentence to the help text of a field.

        Help texts are HTML, and the sentence may contain text of a user, so it is escaped.
        """
        self.fields[name].help_text = f"{self.fields[name].help_text} {escape(sentence)}".strip()

    def _member_paths(self) -> dict[str, str]:
        return visible_fields({name: self[name].value() for name in CHOOSING})

    def _stored_document(self) -> dict[str, Any]:
        return documents.render(self.stored_action) if self.stored_action else {}


def _hides(field: forms.BoundField) -> bool:
    """Return True if the page does not show the posted value of the field as it was posted."""
    displayed = field.field.prepare_value(field.data)
    return isinstance(field.field, SecretField | PFXField) or (isinstance(field.data, str) and displayed != field.data)
