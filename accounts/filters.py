"""Filters of our own lists, as strict as the members of our documents are."""

import re
from datetime import datetime

from django import forms
from django_filters import Filter
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework.exceptions import ValidationError

from accounts.fields import InstantField

WHOLE_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


class WholeNumberFormField(forms.CharField):
    def clean(self, value) -> int | None:
        text = super().clean(value)
        if not text:
            return None
        if not WHOLE_NUMBER.fullmatch(text):
            raise forms.ValidationError("must be a whole number", "invalid")
        return int(text)


class InstantFormField(forms.CharField):
    def clean(self, value) -> datetime | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return InstantField().to_internal_value(text)
        except ValidationError as error:
            refusal = error.detail[0]  # it shows what was sent, which may have a % in it
            raise forms.ValidationError("%(refusal)s", refusal.code, {"refusal": refusal}) from None


@extend_schema_field({"type": "integer", "minimum": 0, "maximum": 10**18 - 1})
class WholeNumberFilter(Filter):
    field_class = WholeNumberFormField


@extend_schema_field(OpenApiTypes.DATETIME)
class InstantFilter(Filter):
    field_class = InstantFormField
