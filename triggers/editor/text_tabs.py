"""The tabs that write one text or one moment: Cron, Quartz, RRULE, Once, Sun, JSON and No schedule."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.utils.text import capfirst

from jobs.forms.fields import CODE
from recurrence import wire
from recurrence.solar import SolarEvent
from recurrence.wire import solar
from recurrence.wire.zone_names import zone_of
from triggers.editor.common import BoundedForm, ClockForm, CommonForm, Document, SeriesForm, TabForm, wall_of
from triggers.editor.fields import OffsetField, ScheduleDocumentField, WallTimeField

FORMAT = "azure"  # of a JSON document that does not name its format
TEXT = {**CODE, "autocapitalize": "none", "autocomplete": "off"}


class ExpressionForm(ClockForm):
    main = "expression"
    MAIN_FIELDS = ("expression", "time_zone")
    PLACES: ClassVar[Mapping[str, str]] = {**ClockForm.PLACES, "expression": "expression"}
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {**ClockForm.SOURCES, "expression": ("expression",)}

    expression = forms.CharField(required=False)

    def own_document(self) -> Document:
        expression = self.cleaned_data["expression"]
        return {"format": self.key, "expression": expression, **self.bounds(), **self.clock_members()}

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        values = super().values_of(document)
        assert values is not None
        return {**values, "expression": document.get("expression")}


class CronForm(ExpressionForm):
    key, title, formats = "cron", "Cron", ("cron",)

    expression = forms.CharField(
        label="Crontab line",
        required=False,
        widget=forms.TextInput(attrs={**TEXT, "placeholder": "30 9 * * 1-5"}),
        help_text="Minute, hour, day of month, month, day of week (0 or 7 is Sunday), or a word such as @daily.",
    )


class QuartzForm(ExpressionForm):
    key, title, formats = "quartz", "Quartz", ("quartz",)

    expression = forms.CharField(
        label="Cron expression",
        required=False,
        widget=forms.TextInput(attrs={**TEXT, "placeholder": "0 15 10 ? * MON-FRI"}),
        help_text="Second, minute, hour, day of month, month, day of week (1 is Sunday), and optionally year. One of"
        " the two day fields must be ?.",
    )


class RuleForm(SeriesForm):
    key, title, formats, main = "rrule", "RRULE", ("rrule",), "rrule"
    MAIN_FIELDS = ("rrule", "event_start", "time_zone")
    PLACES: ClassVar[Mapping[str, str]] = {**SeriesForm.PLACES, "rrule": "rrule"}
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {**SeriesForm.SOURCES, "rrule": ("rrule",)}

    rrule = forms.CharField(
        label="Rule",
        required=False,
        widget=forms.TextInput(attrs={**TEXT, "placeholder": "FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9,17"}),
        help_text="A rule of iCalendar (RFC 5545). Members that it leaves out follow from the first occurrence.",
    )

    def own_document(self) -> Document:
        rule = self.cleaned_data["rrule"]
        return {
            "format": self.key,
            **self.span(needs_end=False),
            "rrule": rule,
            **self.bounds(),
            **self.clock_members(),
        }

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        values = super().values_of(document)
        return None if values is None else {**values, "rrule": document.get("rrule")}


class OnceForm(CommonForm):
    """One moment.  A stored schedule of Azure without a recurrence keeps its format."""

    key, title, formats, main = "once", "Once", ("once",), "at"
    MAIN_FIELDS = ("at", "time_zone")
    PLACES: ClassVar[Mapping[str, str]] = {**CommonForm.PLACES, "at": "at", "startTime": "at", "recurrence": "at"}
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **CommonForm.SOURCES,
        "at": ("at", "time_zone"),
        "startTime": ("at", "time_zone"),
    }

    at = WallTimeField(label="Time", required=False)

    def own_document(self) -> Document:
        stored = self.stored or {}
        is_azure = stored.get("format") == FORMAT and not stored.get("recurrence")
        member = "startTime" if is_azure else "at"
        at = self.instant(self.cleaned_data.get("at"), member)
        return {"format": FORMAT if is_azure else "once", member: at}

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        if document.get("recurrence"):
            return None
        values, is_azure = super().values_of(document), document["format"] == FORMAT
        assert values is not None
        at = document.get("startTime" if is_azure else "at")
        return {**values, "at": wall_of(at, zone_of(document.get("timeZone"), "timeZone"), is_wall=is_azure)}


class SunForm(BoundedForm):
    key, title, formats, main = "sun", "Sun", ("solar",), "event"
    MAIN_FIELDS = ("event", "offset", "latitude", "longitude", "time_zone")
    PLACES: ClassVar[Mapping[str, str]] = {
        **BoundedForm.PLACES,
        **{name: name for name in ("event", "offset", "latitude", "longitude")},
    }
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **BoundedForm.SOURCES,
        **{name: (name,) for name in ("event", "offset", "latitude", "longitude")},
    }

    event = forms.ChoiceField(
        label="Event", required=False, choices=[(event.value, capfirst(event.value)) for event in SolarEvent]
    )
    offset = OffsetField(
        label="Later by", required=False, help_text="Such as PT30M, or -PT45M for 45 minutes before the event."
    )
    latitude = forms.FloatField(
        label="Latitude",
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="In degrees; south is negative.",
    )
    longitude = forms.FloatField(
        label="Longitude",
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="In degrees; west is negative.",
    )
    time_zone = forms.CharField(
        label="Time zone",
        required=False,
        max_length=200,
        widget=CommonForm.base_fields["time_zone"].widget,
        help_text="The zone in which the times are shown, and closed days begin. UTC if empty.",
    )

    def own_document(self) -> Document:
        data = self.cleaned_data
        offset = data.get("offset")
        return {
            "format": "solar",
            **{name: data.get(name) for name in ("event", "latitude", "longitude")},
            "offset": None if not offset else solar.rendered_offset(offset),
            **self.bounds(),
        }

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        values, offset = super().values_of(document), document.get("offset")
        assert values is not None
        own = {name: document.get(name) for name in ("latitude", "longitude")}
        return {
            **values,
            **own,
            "event": str(document.get("event") or "").lower(),
            "offset": solar.read_offset(offset) if offset else None,
        }


class JSONForm(TabForm):
    """Any document.  One that is stored is not checked for unknown members."""

    key, title, main = "json", "JSON", "schedule_json"
    MAIN_FIELDS = ("schedule_json",)

    schedule_json = ScheduleDocumentField(
        label="Schedule as JSON",
        required=False,
        help_text=f"format is one of {', '.join(wire.MEMBERS)}; azure if left out.",
    )

    def clean_schedule_json(self) -> Document | None:
        """Return the document with its format and without nulls."""
        document = self.cleaned_data["schedule_json"]
        if document is None:
            return None
        document = {"format": FORMAT} | {name: value for name, value in document.items() if value is not None}
        if document != self.stored:
            refuse_unknown(document)
        return document

    def document(self) -> Document | None:
        return self.cleaned_data["schedule_json"]

    @classmethod
    def values_of(cls, document: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return {"schedule_json": document}


class NoScheduleForm(TabForm):
    """No fields: the job has no schedule of its own."""

    key, title = "none", "No schedule"

    def document(self) -> Document | None:
        return None

    @classmethod
    def values_of(cls, document: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return {} if document is None else None


def refuse_unknown(document: Mapping[str, Any]) -> None:
    """Raise ValidationError for an unknown format, and for a member that the format does not have."""
    format = document.get("format")
    if not isinstance(format, str) or format not in wire.MEMBERS:
        raise forms.ValidationError(f"format: must be one of {', '.join(wire.MEMBERS)}")
    members = {name: value for name, value in document.items() if name != "format"}
    unknown = next(wire.unknown_members(members, wire.MEMBERS[format]), None)
    if unknown:
        raise forms.ValidationError(f"{unknown.path[:100]}: is not known here; use {', '.join(unknown.known)}")
