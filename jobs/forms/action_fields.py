"""The form fields of an action, one for each member of its document, derived from `jobs.actions.members`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms

from jobs import registry
from jobs.actions import member_types as types
from jobs.actions.members import ACTIONS, ERROR_ACTION, RETRIES
from jobs.forms.fields import (
    CODE,
    FIELDS,
    JSON,
    AddressField,
    ArgumentsField,
    HeadersField,
    JSONDocumentField,
    MomentField,
    NamesField,
    NumbersField,
    PairsField,
    PFXField,
    ScalarField,
    SecretField,
    TextField,
)


class ErrorActionField(JSONDocumentField):
    """An error action: an address, to which a POST is sent, or an action as JSON."""

    def write(self, value: Mapping) -> str:
        uri = (value.get("request") or {}).get("uri", "")
        return uri if value == _post_action(uri) else super().write(value)

    def read(self, text: str) -> dict[str, Any]:
        return _post_action(text) if text and not text.startswith("{") else super().read(text)


def _post_action(uri: str) -> dict[str, Any]:
    is_secure = uri.lower().startswith("https:")
    return {"type": "Https" if is_secure else "Http", "request": {"method": "POST", "uri": uri}}


FIELD_CLASSES: dict[type[types.Member], type[forms.Field]] = {
    types.Address: AddressField,
    types.Duration: TextField,
    types.ErrorAction: ErrorActionField,
    types.Flag: forms.BooleanField,
    types.Headers: HeadersField,
    types.Instant: MomentField,
    types.JsonValues: ArgumentsField,
    types.Names: NamesField,
    types.Number: NumbersField,
    types.PfxFile: SecretField,
    types.Scalar: ScalarField,
    types.Secret: SecretField,
    types.StatusCodes: NumbersField,
    types.Text: TextField,
    types.Texts: PairsField,
}


def _field_of(member: types.Member, form: types.FormField) -> forms.Field:
    options: dict[str, Any] = {"label": form.label, "help_text": form.help_text}
    if form.rows:
        options["widget"] = forms.Textarea(attrs={**CODE, "rows": form.rows, **form.attributes})
    elif form.is_code:
        options["widget"] = forms.TextInput(attrs=CODE)
    if isinstance(member, types.PfxFile):
        options["widget"] = forms.PasswordInput(attrs={**CODE, "autocomplete": "off"})
    if not form.strip:
        options["strip"] = False
    if isinstance(member, types.Secret):
        return SecretField(**options)
    options |= {"required": False, "initial": form.initial}
    if isinstance(member, types.TaskName):
        return forms.ChoiceField(**options, choices=lambda: [(name, name) for name in registry.names()])
    if isinstance(member, types.Flag) and form.choices:
        choices = list(form.choices.items())
        return forms.TypedChoiceField(**options, choices=choices, coerce=lambda text: text == "true", empty_value=None)
    if form.choices:
        return forms.ChoiceField(**options, choices=list(form.choices.items()))
    return FIELD_CLASSES[type(member)](**options)


def _members_in_form(members: Sequence[types.Member]) -> Iterator[types.Member]:
    """Yield the members that have a field, also those of the objects below."""
    for member in members:
        if member.form:
            yield member
        if isinstance(member, types.Object):
            yield from _members_in_form(member.type.members)
        elif isinstance(member, types.OneOf):
            for kind in member.kinds.values():
                yield from _members_in_form(kind.members)


LAST = (RETRIES, ERROR_ACTION)  # the page has their fields behind those of all kinds of actions
MEMBERS = {  # by the names of their fields
    member.form.name: member
    for members in ([each for action in ACTIONS.values() for each in action.members if each not in LAST], LAST)
    for member in _members_in_form(members)
    if member.form
}


class ActionFields(forms.Form):
    """The fields of an action. None is required here; `action_members.visible_fields` decides which of them count."""

    pfx_file = PFXField(label="PFX file", required=False, help_text="A certificate with its private key.")
    what = forms.ChoiceField(choices=[(FIELDS, FIELDS), (JSON, JSON)], initial=FIELDS, widget=forms.HiddenInput)
    action_json = JSONDocumentField(
        label="Action as JSON",
        required=False,
        help_text="Secrets are never shown. A secret that you leave out keeps its stored value.",
    )


ActionFields.base_fields.update(
    {name: _field_of(member, member.form) for name, member in MEMBERS.items() if member.form}
)
WHAT_FIELDS = tuple(name for name in ActionFields.base_fields if name != "what")
