"""Form fields whose text represents another value: numbers, headers, JSON, instants.

The fields refuse values that no database column can store.  When a form is refused, the page shows the posted text
again, with MASK in place of each secret.
"""

import base64
import json
import math
import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from django import forms

from api.json_object import UNSTORABLE
from jobs.action_text import written
from jobs.actions import address_keys
from jobs.actions.members import AUTHENTICATIONS
from jobs.actions.queue_members import QUEUE_MESSAGE, SHARED_ACCESS_KEY
from jobs.actions.secret_names import NO_MARKS, is_secret_header, marks_of
from jobs.encryption import MASK

DOCUMENT_LENGTH = 16_384  # characters; the same as the limit of a job in the API
PFX_LENGTH = 12_288  # bytes: as long as a secret may be, as base64

FIELDS, JSON = "fields", "json"  # the two modes of editing the schedule or the action of a job
CODE = {"class": "code", "spellcheck": "false"}
SECRET_MEMBERS = {  # by the object that they are in
    "authentication": set().union(*(kind.secret_names for kind in (*AUTHENTICATIONS.values(), SHARED_ACCESS_KEY))),
    "queueMessage": QUEUE_MESSAGE.secret_names,
}
MARKS = ("secretHeaders", "secretQuery")  # of a request: names whose values are secrets
MARKED_NAMES = re.compile(r'"(?:secretHeaders|secretQuery)"\s*:\s*\[([^\]]*)')
HEADER_LINE = re.compile(r"^([^:\r\n]*)(:[ \t]*)(.*)$", re.MULTILINE)
# A string without an end matches to the end of the text: a search that restarts at each quotation mark is quadratic
JSON_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
JSON_MEMBER = re.compile(rf'({JSON_TEXT})(?:(\s*:\s*)({JSON_TEXT}|[^\s,{{}}\[\]"]+))?', re.DOTALL)


def without_credentials(lines: str, marked: Collection[str] = ()) -> str:
    """Return posted headers with MASK in place of each credential. `marked` are further names of secret headers."""
    marks = marks_of(marked)

    def masked(match: re.Match[str]) -> str:
        name, colon, value = match.groups()
        return f"{name}{colon}{MASK}" if value and is_secret_header(name.strip(), marks) else match[0]

    return HEADER_LINE.sub(masked, lines)


def without_secrets(text: str) -> str:
    """Return a posted JSON action with MASK in place of each secret.

    If the text is not JSON, every member with the name of a secret counts as one.
    """
    try:
        document = json.loads(text)
        masked = _masked(document)
    except (ValueError, RecursionError):
        return _masked_text(text)
    return text if masked == document else written(masked)


def _masked(value: Any, name: str = "", within: str = "", marked: frozenset[str] = NO_MARKS) -> Any:
    """Return `value`, the member `name` of the object `within`, with MASK in place of each secret.

    `marked` are the names that the enclosing request marks as secret, as `marks_of` returns them.
    """
    if (within, name) == ("task", "arguments"):
        return value  # arguments of tasks are not stored as secrets
    if isinstance(value, dict):
        if name != "headers":
            marked = marks_of(each for marks in MARKS for each in _texts(value.get(marks)))
        return {key: _masked(member, key, name, marked) for key, member in value.items()}
    if (within, name) == ("request", "uri") and isinstance(value, str):
        return address_keys.mask_keys(value, marked)
    is_secret = is_secret_header(name, marked) if within == "headers" else name in SECRET_MEMBERS.get(within, ())
    return MASK if is_secret and value is not None else value


def _masked_text(text: str) -> str:
    """Return a text that is not JSON with MASK in place of each secret. It may be unfinished JSON, or an address."""
    marked = marks_of(name for marks in MARKED_NAMES.findall(text) for name in re.findall(r'"([^"]*)', marks))

    def masked(match: re.Match[str]) -> str:
        name, colon, value = match.groups()
        plain = name.strip('"')
        is_secret = is_secret_header(plain, marked) or any(plain in names for names in SECRET_MEMBERS.values())
        return f'{name}{colon}"{MASK}"' if value and is_secret else match[0]

    return address_keys.mask_keys_in_text(JSON_MEMBER.sub(masked, text), marked)


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


class TextNotationField(forms.CharField):
    """A text that represents another value. `read` parses the text, and `write` renders the value as text."""

    def prepare_value(self, value):
        return value if value is None or isinstance(value, str) else self.write(value)

    def to_python(self, value):
        return self.read(super().to_python(value))

    def read(self, text: str) -> Any:
        raise NotImplementedError

    def write(self, value: Any) -> str:
        raise NotImplementedError

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != (self.read("") if initial is None else initial)
        except forms.ValidationError:
            return True


class TextField(forms.CharField):
    """A text.  Line ends of browsers (CR LF) become LF, so that they do not count as a change."""

    def to_python(self, value):
        return _plain_lines(super().to_python(value))

    def has_changed(self, initial, data) -> bool:
        return not isinstance(initial, str | None) or self.to_python(initial) != self.to_python(data)


class NumbersField(TextNotationField):
    """Numbers, separated by commas.  A part that is not a number stays text, which the wire format then refuses."""

    def write(self, value: list) -> str:
        return ", ".join(map(str, value))

    def read(self, text: str) -> list[int | str]:
        parts = re.split(r"[,\s]+", text.strip())
        return [int(part) if re.fullmatch(r"-?[0-9]{1,9}", part) else part for part in parts if part]


class OccurrencesField(TextNotationField):
    """Weekdays of a month, such as "Friday 1, Friday -1".  A day without a number means every such day of the month."""

    def write(self, value: list) -> str:
        parts = ((item.get("day", ""), item.get("Occurrence", item.get("occurrence"))) for item in value)
        return ", ".join(day if number is None else f"{day} {number}" for day, number in parts)

    def read(self, text: str) -> list[dict[str, Any]]:
        return [self._occurrence(part) for part in text.split(",") if part.strip()]

    @staticmethod
    def _occurrence(part: str) -> dict[str, Any]:
        day, _, number = part.strip().partition(" ")
        number = number.strip()
        if not number:
            return {"day": day}
        return {"day": day, "Occurrence": int(number) if re.fullmatch(r"-?[0-9]{1,9}", number) else number}

    def has_changed(self, initial, data) -> bool:
        return self.to_python(data) != self.to_python(self.prepare_value(initial or []))


class PairsField(TextNotationField):
    """Pairs, one on each line, as "Name: value"."""

    widget = forms.Textarea(attrs={**CODE, "rows": 3})

    def write(self, value: Mapping[str, str]) -> str:
        return "\n".join(f"{name}: {text}" for name, text in value.items())

    def read(self, text: str) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for line in text.splitlines():
            name, colon, content = line.partition(":")
            if not line.strip():
                continue
            if not colon:
                raise forms.ValidationError(f"{name[:50]!r} has no colon. Enter each line as Name: value")
            if name.strip() in pairs:
                raise forms.ValidationError(f"{name.strip()[:50]!r} appears twice")
            pairs[name.strip()] = content.strip()
        return pairs


class HeadersField(PairsField):
    marked: Collection[str] = ()  # names that the form marks as secret

    def prepare_value(self, value):
        return without_credentials(value, self.marked) if isinstance(value, str) else super().prepare_value(value)


class AddressField(TextField):
    """An address. Keys in its query are never shown."""

    marked: Collection[str] = ()  # names of query members that the form marks as secret

    def prepare_value(self, value):
        return address_keys.mask_keys(value, self.marked) if isinstance(value, str) else value


class NamesField(TextNotationField):
    """Names, separated by commas."""

    def write(self, value: list) -> str:
        return ", ".join(value)

    def read(self, text: str) -> list[str]:
        return [name for name in re.split(r"[,\s]+", text) if name]


class ScalarField(forms.CharField):
    """A text, a number, true or false.  A text that could be read as another type is written in quotation marks."""

    @classmethod
    def write(cls, value: str | int | float | bool) -> str:
        is_plain = isinstance(value, str) and value != "" and _scalar(value) == value
        return str(value) if is_plain else json.dumps(value, ensure_ascii=False)

    def to_python(self, value):
        value = _scalar(super().to_python(value))
        if isinstance(value, dict | list):
            raise forms.ValidationError("Enter one text, one number, true or false")
        refuse_unstorable(value)
        return value

    def has_changed(self, initial, data) -> bool:
        try:
            return json.dumps(self.to_python(data)) != json.dumps(self.to_python(initial))  # 1 is not true
        except forms.ValidationError:
            return True


class JSONDocumentField(TextNotationField):
    """A JSON object as text.

    Values that no column can store are refused: NaN, infinity, NUL, half of a surrogate pair.
    """

    widget = forms.Textarea(attrs={**CODE, "rows": 16})

    def __init__(self, **kwargs):
        super().__init__(max_length=DOCUMENT_LENGTH, **kwargs)

    def prepare_value(self, value):
        return without_secrets(value) if isinstance(value, str) else super().prepare_value(value)

    def write(self, value: Mapping) -> str:
        return written(_masked(value))

    def read(self, text: str) -> dict[str, Any]:
        if not text:
            return {}
        try:
            document = json.loads(text)
            refuse_unstorable(document)
        except json.JSONDecodeError as error:
            raise forms.ValidationError(f"{error.msg} in line {error.lineno}, column {error.colno}") from None
        except RecursionError:
            raise forms.ValidationError("This is nested too deeply") from None
        except ValueError:  # Python refuses to convert integers with thousands of digits
            raise forms.ValidationError("A number here has too many digits") from None
        if not isinstance(document, dict):
            raise forms.ValidationError("Enter a JSON object: { … }")
        return document


class ArgumentsField(JSONDocumentField):
    """The arguments of a task. None of them is a secret, whatever its name is."""

    widget = forms.Textarea(attrs={**CODE, "rows": 4})

    def prepare_value(self, value):
        return TextNotationField.prepare_value(self, value)

    def write(self, value: Mapping) -> str:
        return written(value)


class MomentField(forms.DateTimeField):
    """An instant in UTC, in whole seconds as in the wire formats."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S")
    input_formats = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"]
    default_error_messages = {"invalid": "Enter a date and a time such as 2030-01-31 08:00"}

    def prepare_value(self, value):
        is_stored = isinstance(value, datetime) and value.tzinfo
        return value.astimezone(UTC).replace(tzinfo=None, microsecond=0) if is_stored else value

    def to_python(self, value):
        if value in self.empty_values:
            return None
        for pattern in self.input_formats:
            try:
                return datetime.strptime(str(value).strip().rstrip("Z"), pattern).replace(tzinfo=UTC)
            except ValueError:
                continue
        raise forms.ValidationError(self.error_messages["invalid"], code="invalid")

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != (initial and initial.replace(microsecond=0))
        except forms.ValidationError:
            return True


# Secrets


class SecretField(forms.CharField):
    """A secret.  It can be written and is never shown.  If the field is empty, the stored secret stays."""

    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})

    def __init__(self, **kwargs):
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value):
        return None

    def has_changed(self, initial, data) -> bool:
        return bool(data)


class PFXField(forms.FileField):
    """A PFX file with a client certificate and its key.  The value is base64, as in the wire format."""

    widget = forms.FileInput(attrs={"accept": ".pfx,.p12,application/x-pkcs12"})

    def to_python(self, data):
        file = super().to_python(data)
        if file is None:
            return None
        if file.size > PFX_LENGTH:
            raise forms.ValidationError(
                f"This file has {file.size:,} bytes; the limit for a PFX file is {PFX_LENGTH:,}"
            )
        return base64.b64encode(file.read()).decode()

    def clean(self, data, initial=None):
        return self.to_python(data)


# Conversion of unchecked values


def keeps_secret(field: forms.Field, value: Any) -> bool:
    """Return True if the field returns `value` unchanged when the page shows it and sends it back."""
    try:
        text = field.prepare_value(value)
        field.clean(text)
        return not field.has_changed(value, text)
    except (forms.ValidationError, AttributeError, TypeError):  # the last two: the field cannot show this type
        return False


def field_for_path(fields: Mapping[str, str], path: str) -> tuple[str | None, str]:
    """Return the field of the member at `path`, or of the nearest member above it, and the rest of the path.

    `fields` has the names of fields by the paths of their members.  The field is None if there is no such member.
    """
    prefix = path
    while prefix and prefix not in fields:
        prefix = prefix.rpartition(".")[0]
    return fields.get(prefix), path[len(prefix) :].removeprefix(".")


def parse_instant(text: object) -> datetime | None:
    """Return the instant in UTC, or None if `text` is not an instant. A text without an offset is taken as UTC."""
    try:
        instant = datetime.fromisoformat(text)  # type: ignore[arg-type]  # another type raises TypeError
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def refuse_unstorable(value: object) -> None:
    """Raise ValidationError for infinite numbers, NaN, NUL and halves of surrogate pairs, at any depth of `value`."""
    if isinstance(value, dict):
        for name, member in value.items():
            refuse_unstorable(name)
            refuse_unstorable(member)
    elif isinstance(value, list):
        for item in value:
            refuse_unstorable(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise forms.ValidationError("A number is infinite or not a number")
    elif isinstance(value, str) and UNSTORABLE.search(value):
        raise forms.ValidationError("A text contains NUL or an unpaired surrogate")


def _scalar(text: str) -> Any:
    """Return the JSON value of `text`; the text itself if it is not JSON, and None if it is empty."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text or None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
