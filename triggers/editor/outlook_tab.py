"""The tab Outlook: a calendar series, with the fields of the event form."""

from collections.abc import Mapping
from typing import Any, ClassVar

from recurrence import wire
from triggers.editor.common import Document, SeriesForm
from triggers.editor.recurrence_form import (
    LIMITS,
    NEVER,
    RECURRENCE_FIELDS,
    WORKDAYS,
    RecurrenceForm,
    fields_of,
)

MONDAY = 0


class OutlookForm(RecurrenceForm, SeriesForm):
    key, title, formats, main = "outlook", "Outlook", ("outlook",), "pattern"
    MAIN_FIELDS = ("event_start", "time_zone")
    SOURCES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **SeriesForm.SOURCES,
        "recurrence": (*RECURRENCE_FIELDS, "event_start", "time_zone"),
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, week_start=MONDAY, **kwargs)
        pattern = self.fields["pattern"]
        pattern.choices = [choice for choice in pattern.choices if choice[0] != NEVER]
        pattern.initial = "weekly"

    @property
    def PLACES(self) -> Mapping[str, str]:  # type: ignore[override]  # noqa: N802  # depends on the chosen pattern
        fields = {f"recurrence.pattern.{name}": self.field_for_recurrence_path(f"pattern.{name}") for name in MEMBERS}
        limits = {f"recurrence.range.{name}": self.field_for_recurrence_path(f"range.{name}") for name in RANGE}
        return {**SeriesForm.PLACES, **fields, **limits, "recurrence": "pattern"}

    @property
    def unused_fields(self) -> set[str]:
        return set(RECURRENCE_FIELDS) - self.recurrence_fields()

    @property
    def detail_fields(self):
        return [field for field in super().detail_fields if field.name not in RECURRENCE_FIELDS]

    def own_document(self) -> Document:
        start = self.cleaned_data.get("event_start")
        recurrence = self.recurrence(start.date()) if start else None
        first_day = self._stored_first_day if self.cleaned_data["pattern"] == WORKDAYS else None
        if recurrence and first_day:
            recurrence["pattern"]["firstDayOfWeek"] = first_day
        return {
            "format": self.key,
            **self.span(needs_end=True),
            "recurrence": recurrence,
            **self.bounds(),
            **self.clock_members(),
        }

    @property
    def _stored_first_day(self) -> str | None:
        """The first day of the week in the stored pattern; the fields of "Every weekday" do not show it."""
        recurrence = (self.stored or {}).get("recurrence")
        return (
            recurrence["pattern"].get("firstDayOfWeek")
            if isinstance(recurrence, Mapping) and "pattern" in recurrence
            else None
        )

    @classmethod
    def values_of(cls, document: Mapping[str, Any]) -> dict[str, Any] | None:
        rendered: dict[str, Any] = wire.render(
            "outlook", {name: value for name, value in document.items() if name != "format"}
        )
        values = super().values_of(rendered)
        return None if values is None else {**values, **fields_of(rendered["recurrence"])}


MEMBERS = ("type", "interval", "month", "dayOfMonth", "daysOfWeek", "firstDayOfWeek", "index")
RANGE = ("type", "startDate", *(name for members in LIMITS.values() for name in members))
