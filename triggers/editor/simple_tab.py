"""The tab Simple: every n seconds, minutes, hours, days, weeks or months, written as an Azure recurrence.

Seconds are written in the format `simple`, which counts elapsed time.  A stored schedule of this format keeps it as
long as only its interval, its number of runs and common members are chosen.
"""

from collections.abc import Mapping
from datetime import datetime, time
from typing import Any, ClassVar

from django import forms

from jobs.forms.fields import NumbersField, OccurrencesField
from recurrence.english_words import listed
from recurrence.wire import azure, simple
from recurrence.wire.zone_names import zone_of
from triggers.editor.common import ClockForm, Document, wall_of, without_empty
from triggers.editor.fields import TimesOfDayField

SECONDS, MINUTE, HOUR, WEEK, MONTH = "Second", "Minute", "Hour", "Week", "Month"
ELAPSED = {HOUR: 3_600_000, MINUTE: 60_000, SECONDS: 1_000}  # milliseconds of the units of the format `simple`
BY_DAYS = ("Day", WEEK, MONTH)  # frequencies with times of day
SHOWN_TIMES = 5  # further times that an error names
RECURRENCE_FIELDS = (
    *("frequency", "interval", "times", "minutes", "week_days", "month_days", "monthly_occurrences"),
    *("count", "end", "time_zone"),
)


class SimpleForm(ClockForm):
    key, title, formats, main = "simple", "Simple", ("azure", "simple"), "frequency"
    MAIN_FIELDS = (
        *("frequency", "interval", "times", "minutes", "week_days", "month_days", "monthly_occurrences"),
        *("time_zone", "count"),
    )
    PLACES: ClassVar[Mapping[str, str]] = {
        **ClockForm.PLACES,
        "recurrence": "frequency",
        "recurrence.interval": "interval",
        "recurrence.count": "count",
        "recurrence.endTime": "end",
        "recurrence.schedule": "times",
        "recurrence.schedule.weekDays": "week_days",
        "recurrence.schedule.monthDays": "month_days",
        "recurrence.schedule.monthlyOccurrences": "monthly_occurrences",
        "interval": "interval",
        "repeatCount": "count",
    }
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **ClockForm.SOURCES,
        "recurrence": RECURRENCE_FIELDS,
        "interval": ("interval", "frequency"),
        "repeatCount": ("count",),
    }

    frequency = forms.ChoiceField(
        label="Repeats",
        initial="Day",
        choices=[
            (SECONDS, "Every … seconds"),
            (MINUTE, "Every … minutes"),
            (HOUR, "Every … hours"),
            ("Day", "Every … days"),
            (WEEK, "Every … weeks"),
            (MONTH, "Every … months"),
        ],
    )
    interval = NumbersField(
        label="Interval", required=False, help_text="1 if empty: every minute, every hour and so on."
    )
    times = TimesOfDayField(
        label="Times", required=False, help_text="Such as 09:00, 17:30. The time of the start if empty."
    )
    minutes = NumbersField(
        label="Minutes", required=False, help_text="Minutes of the hour, such as 0, 30. That of the start if empty."
    )
    week_days = forms.MultipleChoiceField(
        label="Weekdays",
        required=False,
        choices=[(day, day[:3]) for day in azure.WEEKDAYS],
        widget=forms.CheckboxSelectMultiple,
        help_text="The weekday of the start if none is chosen.",
    )
    month_days = NumbersField(
        label="Days of the month", required=False, help_text="1 to 31; -1 is the last day, -2 the day before."
    )
    monthly_occurrences = OccurrencesField(
        label="Weekdays of the month",
        required=False,
        help_text="Friday 1 is the first Friday, Friday -1 the last, Friday every Friday.",
    )
    count = NumbersField(label="Run at most", required=False, help_text="Number of runs. Unlimited if empty.")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["start"].help_text = "The next scheduled time if empty."

    def clean(self) -> None:
        super().clean()
        for name in ("interval", "count"):
            if len(self.cleaned_data.get(name) or []) > 1:
                self.add_error(name, "Enter one number")
        times = self.cleaned_data.get("times")
        if self.cleaned_data.get("frequency") in BY_DAYS and times:
            self._refuse_further_times(times)

    def _refuse_further_times(self, times: list[time]) -> None:
        """Add an error unless the times are all combinations of their hours and minutes, as Azure runs them."""
        further = sorted({time(a.hour, b.minute) for a in times for b in times} - set(times))
        if further:
            shown = listed([f"{each:%H:%M}" for each in further[:SHOWN_TIMES]])
            rest = f" ({len(further)} in all)" if len(further) > SHOWN_TIMES else ""
            self.add_error(
                "times",
                f"Every hour runs with every minute, so {shown} would run too{rest}. Add them here, or use one"
                " additional trigger for each time",
            )

    def own_document(self) -> Document:
        data = self.cleaned_data
        if self._counts_elapsed_time:
            return self._elapsed_document()
        zone_text = (data.get("time_zone") or "UTC").upper()
        return {
            "format": "azure",
            "startTime": self._bound("start", zone_text == "UTC"),
            "recurrence": without_empty(
                {
                    "frequency": data["frequency"],
                    "interval": _single(data.get("interval")),
                    "count": _single(data.get("count")),
                    "endTime": self._bound("end", zone_text == "UTC"),
                    "schedule": without_empty(self._plan()),
                }
            ),
            **self.clock_members(),
        }

    def _plan(self) -> Document:
        """Return the member `schedule`.  Fields that the frequency hides are ignored."""
        data, frequency = self.cleaned_data, self.cleaned_data["frequency"]
        if frequency == HOUR:
            return {"minutes": data.get("minutes")}
        if frequency not in BY_DAYS:
            return {}
        times = data.get("times") or []
        plan: Document = {
            "hours": sorted({each.hour for each in times}),
            "minutes": sorted({each.minute for each in times}),
        }
        if frequency == WEEK:
            plan["weekDays"] = data.get("week_days")
        if frequency == MONTH:
            plan |= {name: data.get(field) for name, field in MONTH_MEMBERS.items()}
        return plan

    @property
    def _counts_elapsed_time(self) -> bool:
        """Return True if the schedule is written in the format `simple`."""
        frequency = self.cleaned_data["frequency"]
        if frequency not in ELAPSED or frequency == SECONDS:
            return frequency == SECONDS
        has_clocks = (frequency == HOUR and bool(self.cleaned_data.get("minutes"))) or bool(self.clock_members())
        return (self.stored or {}).get("format") == "simple" and not has_clocks

    def _elapsed_document(self) -> Document:
        interval, count = _single(self.cleaned_data.get("interval")), _single(self.cleaned_data.get("count"))
        unit = ELAPSED[self.cleaned_data["frequency"]]
        return {
            "format": "simple",
            **self.bounds(),
            "interval": unit if interval is None else interval * unit if _is_number(interval) else interval,
            "repeatCount": count - 1 if isinstance(count, int) else count,
        }

    def _bound(self, name: str, is_utc: bool) -> str | None:
        """Return a bound as a wall time of the schedule's zone, or in UTC as an instant."""
        wall: datetime | None = self.cleaned_data.get(name)
        return None if wall is None else f"{wall:%Y-%m-%dT%H:%M:%S}{'Z' if is_utc else ''}"

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        values = super().values_of(document)
        assert values is not None
        if document["format"] == "simple":
            return {**values, **_elapsed_values(document)}
        recurrence = document.get("recurrence")
        if not recurrence:
            return None
        own = _recurrence_values(document, recurrence)
        return None if own is None else {**values, **own}


MONTH_MEMBERS = {"monthDays": "month_days", "monthlyOccurrences": "monthly_occurrences"}


def with_times(definition: Mapping[str, Any], *, has_start: bool) -> Document:
    """Return a definition of Azure that repeats by days with the times that follow from its start.

    Unless `has_start`, a start that then says nothing more is left out: it is only the next fire time.
    """
    recurrence, plan = definition.get("recurrence") or {}, (definition.get("recurrence") or {}).get("schedule") or {}
    start = wall_of(definition.get("startTime"), zone_of(definition.get("timeZone"), "timeZone"), is_wall=True)
    if start and recurrence.get("frequency") == "Day" and not plan:
        plan = {"hours": [start.hour], "minutes": [start.minute]}
        recurrence = {**recurrence, "schedule": plan}
    is_said = not has_start and not recurrence.get("interval") and plan.get("hours") and plan.get("minutes")
    members = {**definition, "recurrence": recurrence}
    return {name: value for name, value in members.items() if name != "startTime"} if is_said else members


def _elapsed_values(document: Mapping[str, Any]) -> dict[str, Any]:
    rendered = simple.render(document)
    interval, repeats = rendered.get("interval"), rendered.get("repeatCount")
    is_limited = isinstance(repeats, int) and repeats != simple.FOREVER
    frequency = next(
        (name for name, unit in ELAPSED.items() if isinstance(interval, int) and interval % unit == 0), SECONDS
    )
    return {
        "frequency": frequency,
        "interval": [interval // ELAPSED[frequency]] if isinstance(interval, int) else None,
        "count": [repeats + 1] if isinstance(repeats, int) and is_limited else None,
    }


def _recurrence_values(document: Mapping[str, Any], recurrence: Mapping[str, Any]) -> dict[str, Any] | None:
    plan = recurrence.get("schedule") or {}
    zone = zone_of(document.get("timeZone"), "timeZone")
    start = wall_of(document.get("startTime"), zone, is_wall=True)
    end = recurrence.get("endTime") or document.get("endTime")
    frequency = str(recurrence.get("frequency") or "").capitalize()
    times = _times(plan, start) if frequency in BY_DAYS else []
    if times is None:
        return None
    occurrences = next((plan[name] for name in azure.OCCURRENCES_SPELLINGS if plan.get(name)), None)
    return {
        "frequency": frequency,
        "interval": _as_list(recurrence.get("interval")),
        "count": _as_list(recurrence.get("count")),
        "start": start,
        "end": wall_of(end, zone, is_wall=True),
        "times": times,
        "minutes": _as_list(plan.get("minutes")) if frequency == HOUR else None,
        "week_days": [str(day).capitalize() for day in _as_list(plan.get("weekDays")) or []],
        "month_days": _as_list(plan.get("monthDays")),
        "monthly_occurrences": occurrences,
    }


def _times(plan: Mapping[str, Any], start: datetime | None) -> list[time] | None:
    """Return the times of day of a plan; None: they are more than the field shows, or follow from the creation."""
    hours, minutes = _as_list(plan.get("hours")), _as_list(plan.get("minutes"))
    if not hours:
        return None if minutes else []
    if not minutes and start is None:
        return None
    return [time(hour, minute) for hour in sorted(set(hours)) for minute in sorted(set(minutes or [start.minute]))]  # type: ignore[union-attr]


def _as_list(value: object) -> list | None:
    return value if value is None or isinstance(value, list) else [value]


def _single(values: list | None):
    return values[0] if values else None


def _is_number(value: object) -> bool:
    return isinstance(value, int)
