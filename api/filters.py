"""Filters of the lists of our own API. They check values as strictly as the fields of our documents do."""

import re
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.db.models import QuerySet
from django_filters import BaseCSVFilter, CharFilter, ChoiceFilter, Filter, UUIDFilter
from django_filters.fields import ChoiceField
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework.exceptions import ValidationError

from api.fields import ECHO, InstantField

WHOLE_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


class Messages(forms.Field):
    """Error messages that all filters of our own API share."""

    default_error_messages: ClassVar[dict[str, Any]] = {
        "required": "is required",
        "max_length": "must have at most %(limit_value)d characters",
        "null_characters_not_allowed": "must not contain NUL",
    }


class TextFormField(Messages, forms.CharField):
    pass


class WordFormField(Messages, ChoiceField):
    def validate(self, value) -> None:
        if value and not self.valid_value(value):
            words = ", ".join(str(word) for word, _ in self.choices if word)
            raise forms.ValidationError(
                "must be one of %(words)s, not %(shown)s",
                "invalid_choice",
                {"words": words, "shown": repr(value)[:ECHO]},
            )
        super().validate(value)


class IdFormField(Messages, forms.UUIDField):
    default_error_messages: ClassVar[dict[str, Any]] = {"invalid": "must be a UUID"}


class WholeNumberFormField(Messages, forms.CharField):
    def clean(self, value) -> int | None:
        text = super().clean(value)
        if not text:
            return None
        if not WHOLE_NUMBER.fullmatch(text):
            raise forms.ValidationError("must be a whole number", "invalid")
        return int(text)


class InstantFormField(Messages, forms.CharField):
    def clean(self, value) -> datetime | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return InstantField().to_internal_value(text)
        except ValidationError as error:
            refusal = error.detail[0]  # the message repeats the sent text, which may contain a %
            raise forms.ValidationError("%(refusal)s", refusal.code, {"refusal": refusal}) from None


class TextFilter(CharFilter):
    field_class = TextFormField


class NameFilter(TextFilter):
    """The name of a row, in any case."""

    def filter(self, rows: QuerySet, name: str) -> QuerySet:
        return rows.filter(name__lower=name.lower()) if name else rows


class WordFilter(ChoiceFilter):
    """One of a fixed set of words."""

    field_class = WordFormField


@extend_schema_field(OpenApiTypes.BOOL)
class FlagFilter(WordFilter):
    """`true` or `false`."""

    def __init__(self, **options: Any):
        super().__init__(choices=[("true", "true"), ("false", "false")], **options)

    def filter(self, rows: QuerySet, word: str) -> QuerySet:
        return super().filter(rows, word == "true") if word else rows


class ListedWordFormField(WordFormField):
    def validate(self, value) -> None:
        super().validate(value or ",")  # an empty word between two commas is refused; "," is no valid choice


class WordsFilter(BaseCSVFilter):
    """One or several of a fixed set of words, separated by commas."""

    field_class = ListedWordFormField

    def filter(self, rows: QuerySet, words: list[str] | None) -> QuerySet:
        return rows.filter(**{f"{self.field_name}__in": words}) if words else rows


class IdFilter(UUIDFilter):
    field_class = IdFormField


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 10**18 - 1})
class WholeNumberFilter(Filter):
    field_class = WholeNumberFormField


@extend_schema_field(OpenApiTypes.DATETIME)
class InstantFilter(Filter):
    field_class = InstantFormField
