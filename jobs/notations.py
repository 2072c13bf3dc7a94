"""Fields of forms whose text stands for something else: numbers, headers, JSON, moments.

What no column could store is refused where it is written.  A text that a viewer wrote goes back to the page when the
form is refused, but never the secrets in it: the mask stands for them.
"""

import base64
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import forms

from jobs.actions.headers import CREDENTIAL_HEADER
from jobs.descriptions import written
from jobs.encryption import MASK

DOCUMENT_LENGTH = 16_384  # characters; the same as the limit of a job in the API
PFX_LENGTH = 12_288  # bytes: as long as a secret may be, as base64

FIELDS, JSON = "fields", "json"  # the two ways of writing half of a job
CODE = {"class": "code", "spellcheck": "false"}
SECRET_MEMBERS = {
    "authentication": re.compile("password|pfx|secret|sasKey"),
    "queueMessage": re.compile("sasToken"),
    "headers": CREDENTIAL_HEADER,
}
HEADER_LINE = re.compile(r"^([^:\r\n]*)(:[ \t]*)(.*)$", re.MULTILINE)
JSON_TEXT = r'"(?:[^"\\]|\\.)*'
JSON_MEMBER = re.compile(rf'({JSON_TEXT}")(?:(\s*:\s*)({JSON_TEXT}"?|[^\s,{{}}\[\]"]+))?', re.DOTALL)


def without_credentials(lines: str) -> str:
    """Headers as somebody wrote them, with the mask for each credential."""

    def masked(match: re.Match[str]) -> str:
        name, colon, value = match.groups()
        return f"{name}{colon}{MASK}" if value and CREDENTIAL_HEADER.fullmatch(name.strip()) else match[0]

    return HEADER_LINE.sub(masked, lines)


def without_secrets(text: str) -> str:
    """An action as somebody wrote it in JSON, with the mask for each secret.

    In what is no JSON, whatever is called like a secret counts as one.
    """
    try:
        document = json.loads(text)
        masked = _masked(document)
    except (ValueError, RecursionError):
        return JSON_MEMBER.sub(_masked_pair, text)
    return text if masked == document else written(masked)


def _masked(value: Any, name: str = "", within: str = "") -> Any:
    if (within, name) == ("task", "arguments"):
        return value  # nothing there is kept apart as a secret
    if isinstance(value, dict):
        return {key: _masked(member, key, name) for key, member in value.items()}
    secret = SECRET_MEMBERS.get(within)
    return MASK if secret and secret.fullmatch(name) and value is not None else value


def _masked_pair(match: re.Match[str]) -> str:
    name, colon, value = match.groups()
    is_secret = value and any(secret.fullmatch(name.strip('"')) for secret in SECRET_MEMBERS.values())
    return f'{name}{colon}"{MASK}"' if is_secret else match[0]


class NotationField(forms.CharField):
    """A text that stands for something else, which `read` makes of it and `write` makes a text of."""

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
    """A text as it is sent.  That a browser ends lines in its own way does not change it."""

    def to_python(self, value):
        return _plain_lines(super().to_python(value))

    def has_changed(self, initial, data) -> bool:
        return not isinstance(initial, str | None) or self.to_python(initial) != self.to_python(data)


class NumbersField(NotationField):
    """Numbers with commas between them.  What is no number stays text, which the wire format then refuses by name."""

    def write(self, value: list) -> str:
        return ", ".join(map(str, value))

    def read(self, text: str) -> list[int | str]:
        parts = re.split(r"[,\s]+", text.strip())
        return [int(part) if re.fullmatch(r"-?[0-9]{1,9}", part) else part for part in parts if part]


class OccurrencesField(NotationField):
    """Weekdays of a month: "Friday 1, Friday -1"; a day without a number is every such day."""

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


class PairsField(NotationField):
    """One pair a line, "Name: value"."""

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
                raise forms.ValidationError(f"{name[:50]!r} has no colon. Write a line as Name: value")
            if name.strip() in pairs:
                raise forms.ValidationError(f"{name.strip()[:50]!r} is there twice")
            pairs[name.strip()] = content.strip()
        return pairs


class HeadersField(PairsField):
    def prepare_value(self, value):
        return without_credentials(value) if isinstance(value, str) else super().prepare_value(value)


class ScalarField(forms.CharField):
    """A text, a number, true or false.  A text that could be taken for something else stands in quotation marks."""

    @classmethod
    def write(cls, value: str | int | float | bool) -> str:
        is_plain = isinstance(value, str) and value != "" and _scalar(value) == value
        return str(value) if is_plain else json.dumps(value, ensure_ascii=False)

    def to_python(self, value):
        value = _scalar(super().to_python(value))
        if isinstance(value, dict | list):
            raise forms.ValidationError("Write one text, one number, true or false")
        refuse_unstorable(value)
        return value

    def has_changed(self, initial, data) -> bool:
        try:
            return json.dumps(self.to_python(data)) != json.dumps(self.to_python(initial))  # 1 is not true
        except forms.ValidationError:
            return True


class JSONDocumentField(NotationField):
    """A JSON object as text.  What no column could store is refused here: NaN, infinity, NUL, half a surrogate pair."""

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
        if not isinstance(document, dict):
            raise forms.ValidationError("Write an object: { … }")
        return document


class ArgumentsField(JSONDocumentField):
    """The arguments of a task, which are no secrets whatever they are called."""

    widget = forms.Textarea(attrs={**CODE, "rows": 4})

    def prepare_value(self, value):
        return NotationField.prepare_value(self, value)

    def write(self, value: Mapping) -> str:
        return written(value)


class MomentField(forms.DateTimeField):
    """A moment in UTC, to the second, as the wire formats count."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format="%Y-%m-%dT%H:%M:%S")
    input_formats = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"]
    default_error_messages = {"invalid": "Write a moment such as 2030-01-31 08:00"}

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
    """A secret: written, never shown.  Left empty, it stays what it is."""

    widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})

    def __init__(self, **kwargs):
        super().__init__(required=False, strip=False, **kwargs)

    def prepare_value(self, value):
        return None

    def has_changed(self, initial, data) -> bool:
        return bool(data)


class PFXField(forms.FileField):
    """A file with a client certificate and its key; its value is base64, as the wire has it."""

    widget = forms.FileInput(attrs={"accept": ".pfx,.p12,application/x-pkcs12"})

    def to_python(self, data):
        file = super().to_python(data)
        if file is None:
            return None
        if file.size > PFX_LENGTH:
            raise forms.ValidationError(f"This has {file.size:,} bytes; a PFX of at most {PFX_LENGTH:,} is taken")
        return base64.b64encode(file.read()).decode()

    def clean(self, data, initial=None):
        return self.to_python(data)


# What fields make of values that nobody has checked


def survives(field: forms.Field, value: Any) -> bool:
    """Whether `value`, shown by the field, is still the same when the page sends it back."""
    try:
        text = field.prepare_value(value)
        field.clean(text)
        return not field.has_changed(value, text)
    except (forms.ValidationError, AttributeError, TypeError):  # the latter: of another type than the field's
        return False


def nearest(fields: Mapping[str, str], path: str) -> tuple[str | None, str]:
    """Of fields by the path of their member, the one with the longest that leads to `path`, and the rest of it."""
    known = path
    while known and known not in fields:
        known = known.rpartition(".")[0]
    return fields.get(known), path[len(known) :].removeprefix(".")


def moment_of(text: object) -> datetime | None:
    """A moment in UTC, which a text without an offset is in; None where it is none."""
    try:
        moment = datetime.fromisoformat(text)  # type: ignore[arg-type]  # anything else is none
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def refuse_unstorable(value: object) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            refuse_unstorable(name)
            refuse_unstorable(member)
    elif isinstance(value, list):
        for item in value:
            refuse_unstorable(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise forms.ValidationError("A number here is infinite or none at all")
    elif isinstance(value, str) and re.search("[\0\ud800-\udfff]", value):
        raise forms.ValidationError("A text here holds NUL or half of a surrogate pair")


def _scalar(text: str) -> Any:
    """What `text` is as JSON; the text itself where it is none, None where it is empty."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text or None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
