"""A form field for wall times."""

from datetime import datetime

from django import forms
from django.utils.translation import gettext


class WallTimeField(forms.Field):
    """A wall time: a date and a time to the second, without a zone."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": "any"})
    patterns = ("%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S")

    def prepare_value(self, value):
        if not isinstance(value, datetime):
            return value
        return value.isoformat(timespec="seconds" if value.second else "minutes")

    def to_python(self, value):
        if value in self.empty_values:
            return None
        for pattern in self.patterns:
            try:
                return datetime.strptime(str(value).strip(), pattern)  # noqa: DTZ007  # a wall time has no zone
            except ValueError:
                continue
        raise forms.ValidationError(gettext("Enter a date and a time such as 2026-10-20 10:00"))

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != initial
        except forms.ValidationError:
            return True
