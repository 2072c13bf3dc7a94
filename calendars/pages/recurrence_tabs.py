"""The repeat section of an event's form in three tabs: the patterns of Outlook, a rule of iCalendar, and JSON.

Each tab edits the same recurrence of Graph.  A field takes a pasted schedule, which is translated into this recurrence.
"""

import json
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from calendars.errors import CalendarError
from calendars.pages.pasted_rules import EventTimes
from jobs.forms.fields import CODE, JSONDocumentField
from recurrence.schedules import TICK
from recurrence.series import Series
from recurrence.wire import WireError, graph, rrule
from recurrence.wire.json_values import shown
from recurrence.wire.recognition import LONGEST_TEXT
from recurrence.wire.zone_names import zone_of
from triggers.editor.recurrence_form import (
    ANY_DAYS,
    ONCE_A_WEEK,
    RECURRENCE_FIELDS,
    RecurrenceForm,
    fields_of,
    recurrence_of,
)

OUTLOOK, RRULE, JSON = "outlook", "rrule", "json"
TABS = {OUTLOOK: _("Patterns"), RRULE: "RRULE", JSON: "JSON"}
FIELDS_BY_TAB = {RRULE: "rrule", JSON: "recurrence_json"}
TAB_FIELDS = ("tab", *FIELDS_BY_TAB.values())
EDITOR_FIELDS = (*RECURRENCE_FIELDS, *TAB_FIELDS, "paste")


class TabbedRecurrenceForm(RecurrenceForm):
    """A recurrence as fields, as a rule of iCalendar or as JSON; the hidden field `tab` says which one counts."""

    tab = forms.CharField(required=False, initial=OUTLOOK, widget=forms.HiddenInput)
    rrule = forms.CharField(
        label=_("Rule of iCalendar"),
        required=False,
        max_length=rrule.MAX_RULE_LENGTH,
        widget=forms.Textarea(attrs={**CODE, "rows": 3, "placeholder": "FREQ=WEEKLY;BYDAY=MO,WE"}),
        help_text=_("The series begins with the event. Empty: it does not repeat."),
    )
    recurrence_json = JSONDocumentField(
        label=_("Recurrence as JSON"),
        required=False,
        help_text=_(
            "pattern and range, as in an event of Microsoft Graph. The startDate is that of the event. Empty: it does"
            " not repeat."
        ),
    )
    paste = forms.CharField(
        label=_("Schedule text"),
        required=False,
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={**CODE, "rows": 1, "placeholder": "0 9 * * 1-5"}),
        help_text=_("An RRULE, a crontab line, a Quartz expression, or JSON of a schedule or an event."),
    )

    note = ""  # what a change of the tab or a pasted rule left out

    @property
    def chosen_tab(self) -> str:
        value = str(self["tab"].value())
        return value if value in TABS else OUTLOOK

    def recurrence_fields(self) -> set[str]:
        """Return the names of the fields that apply to the chosen tab, and to its pattern and range."""
        if self.chosen_tab == OUTLOOK:
            return super().recurrence_fields()
        return {FIELDS_BY_TAB[self.chosen_tab]}

    def clean(self) -> None:
        if "tab" not in self.fields:
            return
        if self.chosen_tab == OUTLOOK:
            super().clean()
        for name in {*EDITOR_FIELDS} - self.recurrence_fields():
            self.errors.pop(name, None)

    def recurrence_between(self, start: datetime, end: datetime, zone_name: str) -> dict[str, Any] | None:
        """Return the recurrence of an event with these wall times, as the fields write it; None: it does not repeat.

        Raises CalendarError.
        """
        if self.chosen_tab == OUTLOOK:
            return self.recurrence(start.date())
        value = self.cleaned_data[FIELDS_BY_TAB[self.chosen_tab]]
        if not value:
            return None
        try:
            zone = zone_of(zone_name, "start.timeZone")
            read = _read_rule if self.chosen_tab == RRULE else _read_document
            document = read(value, start, end, zone)
        except WireError as error:
            raise CalendarError(error.message, path=error.path, code=error.code) from None
        return as_fields_write(document, start.date())

    def values_of_posted_tab(self) -> dict[str, Any]:
        """Return the posted text of a tab as `values_of_tab` writes it."""
        name = FIELDS_BY_TAB[self.chosen_tab]
        return {"tab": self.chosen_tab, name: str(self[name].value() or "").replace("\r\n", "\n").strip()}

    def field_for_recurrence_path(self, path: str) -> str:
        if self.chosen_tab == OUTLOOK:
            return super().field_for_recurrence_path(path)
        return FIELDS_BY_TAB[self.chosen_tab]


def _read_rule(rule: str, start: datetime, end: datetime, zone: Any) -> Mapping[str, Any]:
    text = rule.strip()
    text = text[len("RRULE:") :] if text.upper().startswith("RRULE:") else text
    document = rrule.graph_of(text, start, end, zone, path="recurrence")
    if document is None:
        raise WireError("recurrence", "unsupported", gettext("An event cannot express this rule"))
    return document


def _read_document(value: Mapping[str, Any], start: datetime, end: datetime, zone: Any) -> Mapping[str, Any]:
    limits = value.get("range")
    if not isinstance(limits, Mapping):
        raise WireError("recurrence.range", "invalid", f"must be an object, not {shown(limits)}")
    own = {name: each for name, each in limits.items() if name != "recurrenceTimeZone"}
    document = {**value, "range": {**own, "startDate": start.date().isoformat()}}
    return graph.read(document, start, end, zone).document


def as_fields_write(document: Mapping[str, Any], first: date) -> dict[str, Any] | None:
    """Return a document of Graph in the form in which the fields of the patterns write it."""
    values = fields_of(document)
    for name in {*ANY_DAYS} & {*values}:
        values[name] = [day for day in ONCE_A_WEEK if day in document["pattern"]["daysOfWeek"]]
    return recurrence_of(values, first)


def values_of_tab(tab: str, recurrence: Mapping[str, Any] | None, series: Series | None) -> dict[str, Any]:
    """Return the values of the fields of a tab for a stored recurrence, and `tab` itself.

    Raises CalendarError if the tab cannot express it.
    """
    if tab == OUTLOOK:
        return {"tab": tab, **fields_of(recurrence)}
    if recurrence is None or series is None:
        return {"tab": tab, FIELDS_BY_TAB[tab]: ""}
    if tab == JSON:
        return {"tab": tab, "recurrence_json": json.dumps(_shown_document(recurrence), indent=2)}
    rule = rrule.rrule_of(series, is_all_day=True)  # the last day stays the same when the event moves within a day
    if rule is None:
        raise CalendarError(gettext("A rule of iCalendar cannot express this series"), path="recurrence")
    return {"tab": tab, "rrule": _with_count(rule, recurrence["range"])}


def _shown_document(recurrence: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a document that count for its type."""
    plain = as_fields_write(recurrence, date.fromisoformat(recurrence["range"]["startDate"]))
    return {} if plain is None else plain


def _with_count(rule: str, limits: Mapping[str, Any]) -> str:
    """Return the rule with the number of occurrences in place of the last one."""
    if limits["type"] != "numbered":
        return rule
    parts = [part for part in rule.split(";") if not part.startswith("UNTIL=")]
    return ";".join([*parts, f"COUNT={limits['numberOfOccurrences']}"])


def with_values(data: QueryDict, values: Mapping[str, Any]) -> QueryDict:
    """Return posted data with other values of some fields, as a browser would send them."""
    changed = data.copy()
    for name, value in values.items():
        changed.setlist(name, [_as_text(each) for each in (value if isinstance(value, list) else [value])])
    return changed


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds" if value.second else "minutes")
    return "" if value is None else str(value)


def values_of_times(times: EventTimes) -> dict[str, Any]:
    """Return the values of the form for the times of a pasted text."""
    values: dict[str, Any] = {"tab": OUTLOOK, "paste": "", **fields_of(_in_normal_form(times))}
    if not times.has_times:  # the event keeps its time, and moves to the first day
        return values | {"start": times.start, "end": times.end} | _days(times)
    return values | {"is_all_day": [], "start": times.start, "end": times.end, "zone": times.zone} | _days(times)


def _days(times: EventTimes) -> dict[str, date]:
    return {"first_day": times.start.date(), "last_day": max(times.start, times.end - TICK).date()}


def _in_normal_form(times: EventTimes) -> dict[str, Any] | None:
    if times.recurrence is None:
        return None
    zone = zone_of(times.zone, "start.timeZone")
    limits = {name: value for name, value in times.recurrence["range"].items() if name != "recurrenceTimeZone"}
    return graph.read({**times.recurrence, "range": limits}, times.start, times.end, zone).document
