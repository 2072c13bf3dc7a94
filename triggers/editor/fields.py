"""Form fields of the schedule editor: wall times, times of day, lists of days and durations."""

import re
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms

from jobs import durations
from jobs.forms.fields import CODE, JSONDocumentField, TextNotationField
from recurrence.wire import WireError, solar
from recurrence.wire.json_values import DAY, LONGEST_LIST

SECOND = timedelta(seconds=1)
SEPARATORS = re.compile(r"[,;\n]")
TIME_OF_DAY = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)
WALL_FORMATS = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"]
LIST_LENGTH = 30_000  # characters; enough for the longest list of times


class WallTimeField(forms.DateTimeField):
    """A date and a time of day as clocks of the schedule's zone show them, in whole seconds."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local", "step": 1}, format=WALL_FORMATS[0])

    def prepare_value(self, value):
        return value

    def to_python(self, value):
        if value in self.empty_values or isinstance(value, datetime):
            return value or None
        wall = _read_wall_time(str(value).strip())
        if wall is None:
            raise forms.ValidationError("Enter a date and a time such as 2030-01-31 08:00", code="invalid")
        return wall

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != self.to_python(initial)
        except forms.ValidationError:
            return True


class TimesOfDayField(TextNotationField):
    """Times of day, separated by commas, such as "09:00, 17:30"."""

    def write(self, value: list[time]) -> str:
        return ", ".join(f"{each:%H:%M}" for each in value)

    def read(self, text: str) -> list[time]:
        parts = [part for part in re.split(r"[,;\s]+", text) if part]
        return sorted({self._time(part) for part in parts})

    @staticmethod
    def _time(part: str) -> time:
        match = TIME_OF_DAY.fullmatch(part)
        if match is None:
            raise forms.ValidationError(f"{part[:20]!r} is not a time of day such as 09:00")
        return time(int(match[1]), int(match[2]))


class WallTimesField(TextNotationField):
    """Dates, or dates with a time of day, separated by commas or lines."""

    widget = forms.Textarea(attrs={**CODE, "rows": 2})

    def __init__(self, *, allows_days: bool, **kwargs):
        super().__init__(max_length=LIST_LENGTH, **kwargs)
        self.allows_days = allows_days

    def write(self, value: list[date]) -> str:
        return ", ".join(write_wall_time(each) for each in value)

    def read(self, text: str) -> list[date]:
        parts = [part.strip() for part in SEPARATORS.split(text) if part.strip()]
        if len(parts) > LONGEST_LIST:
            raise forms.ValidationError(f"Enter at most {LONGEST_LIST} times")
        return [self._day_or_time(part) for part in parts]

    def _day_or_time(self, part: str) -> date:
        if wall := _read_wall_time(part):
            return wall
        day = _read_day(part)
        if day is None or not self.allows_days:
            examples = "2026-12-24 or 2026-12-24 09:00" if self.allows_days else "2026-12-24 09:00"
            raise forms.ValidationError(f"{part[:40]!r} is not a time such as {examples}")
        return day


class DurationField(TextNotationField):
    """A duration in ISO 8601, or as hours:minutes:seconds."""

    def write(self, value: timedelta) -> str:
        fraction = value % SECOND
        text = durations.render(value - fraction)
        return f"PT{value / SECOND:.3f}S" if fraction else text

    def read(self, text: str) -> timedelta | None:
        try:
            return durations.parse(text) if text else None
        except (ValueError, OverflowError):
            raise forms.ValidationError("Enter a duration such as PT15M or 00:15:00") from None


class OffsetField(TextNotationField):
    """A duration of at most twelve hours in ISO 8601, which may be negative, such as -PT45M."""

    def write(self, value: timedelta) -> str:
        return solar.rendered_offset(value)

    def read(self, text: str) -> timedelta | None:
        try:
            return solar.read_offset(text) if text else None
        except WireError:
            raise forms.ValidationError("Enter a duration such as PT30M or -PT45M, at most 12 hours") from None


class DefaultedChoiceField(forms.ChoiceField):
    """A choice whose initial value holds while none is made."""

    def __init__(self, **kwargs):
        super().__init__(required=False, **kwargs)

    def to_python(self, value):
        return super().to_python(value) or self.initial or ""

    def has_changed(self, initial, data) -> bool:
        return self.to_python(initial) != self.to_python(data)


class ScheduleDocumentField(JSONDocumentField):
    """A schedule as JSON; null if `allows_null` and the job has none of its own."""

    allows_null = False

    def prepare_value(self, value):
        return "null" if value is None and self.allows_null else super().prepare_value(value)

    def read(self, text: str) -> dict[str, Any] | None:  # type: ignore[override]
        return None if self.allows_null and text == "null" else super().read(text)

    def has_changed(self, initial, data) -> bool:
        try:
            return self.to_python(data) != initial
        except forms.ValidationError:
            return True


def _read_wall_time(text: str) -> datetime | None:
    for pattern in WALL_FORMATS:
        try:
            return datetime.strptime(text, pattern).replace(tzinfo=None)  # noqa: DTZ007  # a wall time
        except ValueError:
            continue
    return None


def _read_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        return None


def write_wall_time(value: date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    return f"{value:%Y-%m-%d %H:%M:%S}" if value.second else f"{value:%Y-%m-%d %H:%M}"
