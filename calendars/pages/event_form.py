"""The form of an event: from the event to the fields, and from the fields to the changes that the core applies.

The form contains no rules about events. Fields that a viewer did not change are not among the changes, so that values
written by other clients stay as they are. An error of the core is shown at the field to which it belongs.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Any

from django import forms
from django.forms.utils import flatatt
from django.utils.functional import cached_property
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.wall_time_field import WallTimeField
from accounts.zones import ZoneField
from calendars.body_text import get_plain_text
from calendars.errors import CalendarError
from calendars.event_times import Times, WallTime, apply_changes
from calendars.models import (
    ONE_DAY,
    SUBJECT_LENGTH,
    BodyType,
    Calendar,
    CalendarQuerySet,
    Details,
    Event,
    Importance,
    Sensitivity,
    ShowAs,
)
from calendars.pages.recurrence_tabs import (
    EDITOR_FIELDS,
    FIELDS_BY_TAB,
    TAB_FIELDS,
    TabbedRecurrenceForm,
    values_of_tab,
)
from jobs.forms.fields import TextField
from recurrence.wire import WireError
from triggers.editor.recurrence_form import ANY_DAYS, RECURRENCE_FIELDS, fields_of, recurrence_of, suggest_values

MIDNIGHT, MORNING = time(), time(9)
HOUR = timedelta(hours=1)
SELECTED = SafeString(" selected")
REMINDERS = (0, 5, 15, 30, 60, 120, 1440, 10_080)  # minutes before the start
UNITS = ((10_080, "week"), (1440, "day"), (60, "hour"), (1, "minute"))
# the field of each member that the core may refuse; errors of other members are shown above the form
FIELDS_BY_MEMBER = {
    "subject": "subject",
    "body": "notes",
    "locations": "place",
    "categories": "categories",
    "showAs": "show_as",
    "sensitivity": "sensitivity",
    "importance": "importance",
    "reminderMinutes": "reminder",
    "isAllDay": "is_all_day",
}


# fields with the same name and value as in the core
UNCONVERTED_FIELDS = ("subject", "show_as", "sensitivity", "importance")


class Scope(StrEnum):
    """What the form creates or changes."""

    NEW = "new"
    SINGLE = "single"  # an event that does not repeat
    OCCURRENCE = "occurrence"
    FOLLOWING = "following"  # an occurrence and all later ones
    SERIES = "series"


@dataclass(frozen=True, slots=True)
class EventFormData:
    """Initial data of the form: of an event, an occurrence, or a proposed new event.

    `start` and `end` are wall times in `zone`; for an all-day event midnights, and `end` is exclusive.
    """

    scope: Scope
    start: datetime
    end: datetime
    zone: str
    calendar: Calendar
    is_all_day: bool = False
    details: Details = Details()  # noqa: RUF009  # frozen
    recurrence: dict[str, Any] | None = None
    revision: str = ""
    event: Event | None = None
    day: date | None = None

    @property
    def may_repeat(self) -> bool:
        return self.scope != Scope.OCCURRENCE

    @property
    def times(self) -> Times:
        """The times as the core computes them.  Raises CalendarError."""
        start, end = WallTime(self.start, self.zone), WallTime(self.end, self.zone)
        values = {"start": start, "end": end, "is_all_day": self.is_all_day}
        return apply_changes(None, {**values, "recurrence": self.recurrence if self.may_repeat else None})

    def values_of_tab(self, tab: str) -> dict[str, Any]:
        """Return the values of the fields of a tab; empty ones if the tab cannot express the recurrence."""
        try:
            return values_of_tab(tab, self.times.recurrence, self.times.series)
        except CalendarError:
            return values_of_tab(tab, None, None)


class LongSelect(forms.Select):
    """A select for hundreds of options. Django would render a template for each option."""

    def render(self, name, value, attrs=None, renderer=None) -> SafeString:
        options = ((choice, SELECTED if str(choice) == str(value) else "", label) for choice, label in self.choices)
        return format_html(
            "<select{}>{}</select>",
            flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})})),
            format_html_join("", '<option value="{}"{}>{}</option>', options),
        )


class DayField(forms.DateField):
    widget = forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    input_formats = ["%Y-%m-%d"]
    default_error_messages = {"invalid": _("Enter a date such as 2026-10-20")}


class CategoriesField(forms.CharField):
    """Names, separated by commas."""

    def prepare_value(self, value):
        return ", ".join(value) if isinstance(value, list) else value

    def to_python(self, value):
        names = (name.strip() for name in super().to_python(value).split(","))
        return [*dict.fromkeys(name for name in names if name)]

    def has_changed(self, initial, data) -> bool:
        return self.to_python(data) != (initial or [])


class CalendarField(forms.ModelChoiceField):
    """Calendars by name; those of other people with their owner."""

    viewer = None

    def to_python(self, value):
        try:
            return super().to_python(value)
        except forms.ValidationError:  # also for a malformed key
            raise forms.ValidationError(gettext("Choose one of the calendars"), code="invalid_choice") from None

    def label_from_instance(self, calendar: Calendar) -> str:
        return calendar.name if calendar.owner_id == getattr(self.viewer, "pk", None) else with_owner(calendar)


def with_owner(calendar: Calendar) -> str:
    owner = calendar.owner.get_full_name() or calendar.owner.get_username()
    return gettext("%(calendar)s, of %(owner)s") % {"calendar": calendar.name, "owner": owner}


class EventForm(TabbedRecurrenceForm):
    """The form of an event.

    `form_data` is its initial data; `calendars` are those that the viewer may change.  `tab_values` are the initial
    values of a tab other than the first one.
    """

    field_order = ("subject", "is_all_day", "start", "end", "first_day", "last_day", "zone")

    subject = forms.CharField(
        label=_("Title"), max_length=SUBJECT_LENGTH, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    is_all_day = forms.BooleanField(label=_("All day"), required=False)
    start = WallTimeField(label=_("Starts"), required=False)
    end = WallTimeField(label=_("Ends"), required=False)
    first_day = DayField(label=_("First day"), required=False)
    last_day = DayField(label=_("Last day"), required=False)
    zone = ZoneField(label=_("Time zone"), required=False, help_text="", widget=LongSelect)
    calendar = CalendarField(Calendar.objects.none(), label=_("Calendar"), empty_label=None)
    place = forms.CharField(
        label=_("Location"),
        required=False,
        max_length=SUBJECT_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    show_as = forms.ChoiceField(
        label=_("Show as"),
        choices=[
            (ShowAs.BUSY, _("Busy")),
            (ShowAs.FREE, _("Free")),
            (ShowAs.TENTATIVE, _("Tentative")),
            (ShowAs.OOF, _("Out of office")),
            (ShowAs.WORKING_ELSEWHERE, _("Working elsewhere")),
        ],
    )
    sensitivity = forms.ChoiceField(
        label=_("Sensitivity"),
        choices=[
            (Sensitivity.NORMAL, _("Normal")),
            (Sensitivity.PERSONAL, _("Personal")),
            (Sensitivity.PRIVATE, _("Private: others do not see details")),
            (Sensitivity.CONFIDENTIAL, _("Confidential: others do not see details")),
        ],
    )
    importance = forms.ChoiceField(
        label=_("Importance"),
        choices=[(Importance.LOW, _("Low")), (Importance.NORMAL, _("Normal")), (Importance.HIGH, _("High"))],
    )
    reminder = forms.TypedChoiceField(label=_("Reminder"), required=False, coerce=int, empty_value=None)
    categories = CategoriesField(
        label=_("Categories"),
        required=False,
        help_text=_("Separate them with commas."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    notes = TextField(label=_("Notes"), required=False, widget=forms.Textarea(attrs={"rows": 3}))
    revision = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, data=None, *, form_data: EventFormData, calendars: CalendarQuerySet, viewer, tab_values=None):
        self.form_data = form_data
        initial = {**initial_of(form_data, viewer.week_start), **(tab_values or {})}
        super().__init__(data, initial=initial, week_start=viewer.week_start)
        if not form_data.may_repeat:
            for name in EDITOR_FIELDS:
                del self.fields[name]
        calendar, show_as = self.fields["calendar"], self.fields["show_as"]
        calendar.queryset, calendar.viewer = calendars, viewer
        calendar.disabled = form_data.scope in (Scope.OCCURRENCE, Scope.FOLLOWING)
        self.fields["reminder"].choices = reminder_choices(self.initial["reminder"])
        if self.initial["show_as"] == ShowAs.UNKNOWN:
            show_as.choices = [*show_as.choices, (ShowAs.UNKNOWN, gettext("Not specified"))]
        if form_data.zone not in dict(self.fields["zone"].choices):
            self.fields["zone"].choices = [*self.fields["zone"].choices, (form_data.zone, form_data.zone)]

    @property
    def is_all_day_chosen(self) -> bool:
        return bool(self["is_all_day"].value())

    def active_fields(self) -> set[str]:
        """Return the fields about time and recurrence that apply to the current choices."""
        when = ("first_day", "last_day") if self.is_all_day_chosen else ("start", "end", "zone")
        return {"is_all_day", *when, *(self.recurrence_fields() if self.form_data.may_repeat else ())}

    @property
    def preview_params(self) -> str:
        """The names of the fields that a preview needs, for `hx-params`."""
        return ",".join(("csrfmiddlewaretoken", *TIME_FIELDS))

    @cached_property
    def changed_names(self) -> set[str]:
        """The fields that the viewer changed; for a new event, all fields.

        Fields that do not apply to the current choices were hidden, and so do not count.
        """
        names = self.fields if self.form_data.scope == Scope.NEW else self.changed_data
        return set(names) - (set(TIME_FIELDS) - self.active_fields())

    def clean(self) -> None:
        super().clean()
        for name in {"start", "end", "zone", "first_day", "last_day"} - self.active_fields():
            self.errors.pop(name, None)
        first, last = ("first_day", "last_day") if self.is_all_day_chosen else ("start", "end")
        for name in (first, last):
            if name not in self.errors and self.cleaned_data.get(name) is None:
                self.add_error(name, gettext("Enter a date and a time"))
        if not self.is_all_day_chosen and "zone" not in self.errors and not self.cleaned_data.get("zone"):
            self.add_error("zone", gettext("Choose a time zone"))
        if not {first, last} & set(self.errors) and self.cleaned_data[last] < self.cleaned_data[first]:
            self.add_error(last, gettext("The end is before the start"))

    @property
    def wall_span(self) -> tuple[datetime, datetime]:
        """The wall times of start and end; for an all-day event midnights, and the end is exclusive.

        Raise OverflowError if the last day has no next day.
        """
        data = self.cleaned_data
        if not self.is_all_day_chosen:
            return data["start"], data["end"]
        return datetime.combine(data["first_day"], MIDNIGHT), datetime.combine(data["last_day"] + ONE_DAY, MIDNIGHT)

    @property
    def zone_name(self) -> str:
        return self.form_data.zone if self.is_all_day_chosen else self.cleaned_data["zone"]

    def changes(self) -> dict[str, Any]:
        """Return the changes for the core. Raise CalendarError if the last day has no next day."""
        data, changed = self.cleaned_data, self.changed_names
        changes: dict[str, Any] = {name: data[name] for name in UNCONVERTED_FIELDS if name in changed}
        if "place" in changed:
            changes["locations"] = self._locations()
        if "notes" in changed:
            changes |= {"body": data["notes"], "body_type": BodyType.TEXT.value}
        if "categories" in changed:
            changes["categories"] = data["categories"]
        if "reminder" in changed:
            changes["is_reminder_on"] = data["reminder"] is not None
            if data["reminder"] is not None:
                changes["reminder_minutes"] = data["reminder"]
        return {**changes, **self.time_changes()}

    def _locations(self) -> list[dict[str, Any]]:
        place = self.cleaned_data["place"]
        return [*([{"displayName": place}] if place else []), *self.form_data.details.locations[1:]]

    def time_changes(self) -> dict[str, Any]:
        """Return the changes of times and recurrence. Raise CalendarError as `changes` does."""
        try:
            start, end = self.wall_span
        except OverflowError:
            raise CalendarError(gettext("this is the last possible day"), path="end") from None
        changes: dict[str, Any] = {}
        is_moved = bool(self.changed_names & {"is_all_day", "start", "end", "zone", "first_day", "last_day"})
        if is_moved:
            changes["is_all_day"] = self.is_all_day_chosen
            changes["start"], changes["end"] = WallTime(start, self.zone_name), WallTime(end, self.zone_name)
        if not self.form_data.may_repeat:
            return changes
        stored = recurrence_of(self._initial_recurrence, self.form_data.start.date())
        if self._has_stored_text:
            recurrence = recurrence_of(self._initial_recurrence, start.date())
        else:
            recurrence = self.recurrence_between(start, end, self.zone_name)
        if recurrence != stored or (is_moved and recurrence):
            changes["recurrence"] = recurrence
        return changes

    @property
    def _has_stored_text(self) -> bool:
        """True if a tab with a text shows the stored recurrence, of which the text may not show every member."""
        tab = self.chosen_tab
        return tab in FIELDS_BY_TAB and self.values_of_posted_tab() == self.form_data.values_of_tab(tab)

    @property
    def _initial_recurrence(self) -> dict[str, Any]:
        """The initial values of the recurrence fields, as if they had been cleaned."""
        values = {name: self.get_initial_for_field(field, name) for name, field in self.fields.items()}
        for name in ANY_DAYS:
            values[name] = self.fields[name].clean(values[name])
        return values

    def refuse(self, error: CalendarError | WireError) -> None:
        """Add an error of the core or the engine to the field to which it belongs."""
        self.add_error(self.field_for_path(error.path or ""), capfirst(error.message))

    def field_for_path(self, path: str) -> str | None:
        """Return the field for the member `path`; None for the whole form."""
        member = re.split(r"[.\[]", path, maxsplit=1)[0]
        if path in ("start.timeZone", "end.timeZone"):
            return "zone"
        if member in ("start", "end"):
            return {"start": "first_day", "end": "last_day"}[member] if self.is_all_day_chosen else member
        if member == "recurrence":
            return self.field_for_recurrence_path(path) if self.form_data.may_repeat else None
        return FIELDS_BY_MEMBER.get(member)


TIME_FIELDS = ("is_all_day", "start", "end", "first_day", "last_day", "zone", *RECURRENCE_FIELDS, *TAB_FIELDS)


def initial_of(form_data: EventFormData, week_start: int) -> dict[str, Any]:
    details, start, end = form_data.details, form_data.start, form_data.end
    first_day, last_day = start.date(), end.date()
    if form_data.is_all_day:  # the times to propose if the viewer turns all-day off
        last_day = max(first_day, last_day - ONE_DAY)
        start, end = datetime.combine(first_day, MORNING), datetime.combine(last_day, MORNING) + HOUR
    return {
        "calendar": form_data.calendar,
        "is_all_day": form_data.is_all_day,
        "start": start,
        "end": end,
        "first_day": first_day,
        "last_day": last_day,
        "zone": form_data.zone,
        "subject": details.subject,
        "place": details.location_name,
        "show_as": details.show_as,
        "sensitivity": details.sensitivity,
        "importance": details.importance,
        "reminder": details.reminder_minutes if details.is_reminder_on else None,
        "categories": details.categories,
        "notes": get_plain_text(details),
        "revision": form_data.revision,
        **suggest_values(first_day, week_start),
        **(fields_of(form_data.recurrence) if form_data.may_repeat else {}),
    }


def reminder_choices(chosen: int | None) -> list[tuple[object, str]]:
    minutes = sorted({*REMINDERS, *([] if chosen is None else [chosen])})
    return [("", gettext("None")), *((each, reminder_words(each)) for each in minutes)]


def reminder_words(minutes: int) -> str:
    """Return the text as in 15 min before, 1 day before."""
    if not minutes:
        return gettext("At the start")
    size, unit = next(each for each in UNITS if not minutes % each[0])
    number = minutes // size
    words = {
        "week": ngettext("%d week before", "%d weeks before", number),
        "day": ngettext("%d day before", "%d days before", number),
        "hour": gettext("%d h before"),
        "minute": gettext("%d min before"),
    }
    return words[unit] % number
