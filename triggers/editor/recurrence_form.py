"""The recurrence of an event as form fields, and the fields as a Graph document that the engine checks.

Each pattern has its own fields. The fields of the other patterns are present, but ignored.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django import forms
from django.utils.dates import MONTHS, WEEKDAYS, WEEKDAYS_ABBR
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from recurrence.wire.graph import LARGEST, MOST_OCCURRENCES

NEVER, WORKDAYS = "none", "workdays"
ONCE_A_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WORKING_DAYS = list(ONCE_A_WEEK[:5])
SETS = {"day": list(ONCE_A_WEEK), "weekday": WORKING_DAYS, "weekendDay": list(ONCE_A_WEEK[5:])}
LAST_DAY = 31  # of a month
INDEXES = ("first", "second", "third", "fourth", "last")

# the field of each member of a pattern
FIELDS_BY_PATTERN: dict[str, dict[str, str]] = {
    NEVER: {},
    "daily": {"interval": "daily_interval"},
    WORKDAYS: {},
    "weekly": {"interval": "weekly_interval", "daysOfWeek": "weekly_days", "firstDayOfWeek": "weekly_first"},
    "absoluteMonthly": {"dayOfMonth": "monthly_day", "interval": "monthly_interval"},
    "relativeMonthly": {
        "index": "monthly_index",
        "daysOfWeek": "monthly_weekday",
        "interval": "monthly_weekday_interval",
    },
    "absoluteYearly": {"interval": "yearly_interval", "dayOfMonth": "yearly_day", "month": "yearly_month"},
    "relativeYearly": {
        "interval": "yearly_weekday_interval",
        "index": "yearly_index",
        "daysOfWeek": "yearly_weekday",
        "month": "yearly_weekday_month",
    },
}
# the field of each member of a range
LIMITS: dict[str, dict[str, str]] = {
    "noEnd": {},
    "endDate": {"endDate": "until"},
    "numbered": {"numberOfOccurrences": "times"},
}
# the sentence of each choice, with its fields by member
SENTENCES = {
    "daily": _("every {interval} days"),
    WORKDAYS: _("Monday to Friday"),
    "weekly": _("every {interval} weeks on {daysOfWeek} <span>weeks start on {firstDayOfWeek}</span>"),
    "absoluteMonthly": _("day {dayOfMonth} of every {interval} months"),
    "relativeMonthly": _("the {index} {daysOfWeek} of every {interval} months"),
    "absoluteYearly": _("every {interval} years on {dayOfMonth} {month}"),
    "relativeYearly": _("every {interval} years on the {index} {daysOfWeek} of {month}"),
    "endDate": "{endDate}",
    "numbered": _("{numberOfOccurrences} occurrences, including cancelled ones"),
}
ANY_DAYS = ("monthly_weekday", "yearly_weekday")  # fields for one weekday or a set of weekdays
RECURRENCE_FIELDS = (
    "pattern",
    "range",
    *(name for places in (*FIELDS_BY_PATTERN.values(), *LIMITS.values()) for name in places.values()),
)


class NumberField(forms.IntegerField):
    """A whole number from 1 on within a sentence, with `label` as its accessible name."""

    def __init__(self, label, most: int = LARGEST):
        widget = forms.NumberInput(attrs={"class": "control compact tiny", "aria-label": label})
        message = _("Enter a whole number, 1 or more")
        if most < LARGEST:
            message = format_lazy(_("Enter a whole number from 1 to {most}"), most=most)
        super().__init__(
            label=label,
            required=False,
            widget=widget,
            min_value=1,
            max_value=most,
            error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), message),
        )


class ChoiceInSentence(forms.TypedChoiceField):
    def __init__(self, label, choices, **options):
        widget = forms.Select(attrs={"class": "control compact", "aria-label": label})
        super().__init__(label=label, required=False, choices=choices, widget=widget, **options)


def _index_choices():
    words = (_("first"), _("second"), _("third"), _("fourth"), _("last"))
    return list(zip(INDEXES, words, strict=True))


def _weekday_choices():
    return list(zip(ONCE_A_WEEK, WEEKDAYS.values(), strict=True))


def _days_choices():
    return [*_weekday_choices(), ("day", _("day")), ("weekday", _("weekday")), ("weekendDay", _("weekend day"))]


def _parse_days(choice: str) -> list[str]:
    return SETS.get(choice) or choice.split(",")


def _month_field():
    return ChoiceInSentence(_("Month"), list(MONTHS.items()), coerce=int, empty_value=None)


def _weekday_field():
    return ChoiceInSentence(_("Weekday"), _days_choices(), coerce=_parse_days, empty_value=[])


def _index_field():
    return ChoiceInSentence(_("Position in the month"), _index_choices())


class RecurrenceForm(forms.Form):
    fields: dict[str, Any]  # each of its own class

    pattern = forms.ChoiceField(
        label=_("Pattern"),
        choices=[
            (NEVER, _("Does not repeat")),
            ("daily", _("Daily")),
            (WORKDAYS, _("Every weekday")),
            ("weekly", _("Weekly")),
            ("absoluteMonthly", _("Monthly, on a date")),
            ("relativeMonthly", _("Monthly, on a weekday")),
            ("absoluteYearly", _("Yearly, on a date")),
            ("relativeYearly", _("Yearly, on a weekday")),
        ],
        initial=NEVER,
    )
    daily_interval = NumberField(_("Days between"))
    weekly_interval = NumberField(_("Weeks between"))
    weekly_days = forms.MultipleChoiceField(
        label=_("Weekdays"), required=False, choices=_weekday_choices, widget=forms.CheckboxSelectMultiple
    )
    weekly_first = ChoiceInSentence(_("First day of the week"), _weekday_choices())
    monthly_day = NumberField(_("Day of the month"), most=LAST_DAY)
    monthly_interval = NumberField(_("Months between"))
    monthly_index = _index_field()
    monthly_weekday = _weekday_field()
    monthly_weekday_interval = NumberField(_("Months between"))
    yearly_interval = NumberField(_("Years between"))
    yearly_day = NumberField(_("Day"), most=LAST_DAY)
    yearly_month = _month_field()
    yearly_weekday_interval = NumberField(_("Years between"))
    yearly_index = _index_field()
    yearly_weekday = _weekday_field()
    yearly_weekday_month = _month_field()

    range = forms.ChoiceField(
        label=_("End of the series"),
        required=False,
        choices=[("noEnd", _("Never")), ("endDate", _("On a date")), ("numbered", _("After a number of occurrences"))],
        initial="noEnd",
    )
    until = forms.DateField(
        label=_("Last day"),
        required=False,
        input_formats=["%Y-%m-%d"],
        widget=forms.DateInput(
            format="%Y-%m-%d", attrs={"type": "date", "class": "control compact", "aria-label": _("Last day")}
        ),
        error_messages={"invalid": _("Enter a date such as 2027-06-30")},
    )
    times = NumberField(_("Number of occurrences"), most=MOST_OCCURRENCES)

    def __init__(self, *args, week_start: int, **kwargs):
        self.week_start = week_start
        super().__init__(*args, **kwargs)
        stored = self.initial.get("times") or 0
        if stored > MOST_OCCURRENCES:  # stored before the limit existed, and still allowed
            self.fields["times"] = NumberField(_("Number of occurrences"), most=stored)
        for name in ANY_DAYS:
            self._add_stored_choice(name, self.get_initial_for_field(self.fields[name], name))

    def _add_stored_choice(self, name: str, choice: str | None) -> None:
        """Add a choice for a combination of weekdays that another client stored."""
        choices = list(self.fields[name].choices)
        if choice and choice not in dict(choices):
            names = dict(_weekday_choices())
            words = gettext(" or ").join(str(names[day]) for day in choice.split(","))
            self.fields[name].choices = [*choices, (choice, words)]

    @property
    def kind(self) -> str:
        return str(self["pattern"].value())

    @property
    def patterns(self) -> list[dict[str, Any]]:
        """The patterns as lines of the form: a radio button, and the sentence of the pattern."""
        return [
            self._row("pattern", value, label, FIELDS_BY_PATTERN) for value, label in self.fields["pattern"].choices
        ]

    @property
    def limits(self) -> list[dict[str, Any]]:
        """The ranges as lines of the form: a radio button, and the sentence of the range."""
        return [self._row("range", value, label, LIMITS) for value, label in self.fields["range"].choices]

    def _row(self, name: str, value: str, label: str, places: Mapping[str, dict[str, str]]) -> dict[str, Any]:
        members = {member: self[field] for member, field in places[value].items()}
        shown = members | ({"daysOfWeek": self._weekdays()} if value == "weekly" else {})
        return {
            "name": name,
            "value": value,
            "id": f"{self[name].auto_id}_{value}",
            "label": label,
            "is_chosen": self[name].value() == value,
            "sentence": format_html(str(SENTENCES[value]), **shown) if shown else SENTENCES.get(value, ""),
            "errors": [field for field in members.values() if field.errors],
        }

    def _weekdays(self) -> SafeString:
        """Return a button for each weekday, in the order of the viewer's week."""
        days = [*self["weekly_days"]]
        labels = format_html_join(
            "",
            '<label for="{}">{}<span aria-hidden="true">{}</span><span class="visually-hidden">{}</span></label>',
            (
                (each.id_for_label, each.tag(), WEEKDAYS_ABBR[n % 7], each.choice_label)
                for n, each in list(enumerate(days * 2))[self.week_start : self.week_start + 7]
            ),
        )
        field = self["weekly_days"]
        return format_html(
            '<span class="weekdays" role="group" id="{}" aria-label="{}">{}</span>', field.auto_id, field.label, labels
        )

    def recurrence_fields(self) -> set[str]:
        """Return the names of the fields that apply to the chosen pattern and range."""
        if self.kind not in FIELDS_BY_PATTERN or self.kind == NEVER:
            return {"pattern"}
        limits = LIMITS.get(str(self["range"].value()), {})
        return {"pattern", "range", *FIELDS_BY_PATTERN[self.kind].values(), *limits.values()}

    def clean(self) -> None:
        super().clean()
        if "pattern" not in self.fields:
            return
        active = self.recurrence_fields()
        for name in set(RECURRENCE_FIELDS) - active:
            self.errors.pop(name, None)
        for name in active - {"pattern"}:
            if name not in self.errors and self.cleaned_data.get(name) in (None, "", []):
                self.add_error(name, self._missing_message(name))

    def _missing_message(self, name: str) -> str:
        if name == "weekly_days":
            return gettext("Choose at least one weekday")
        return gettext("Enter the last day") if name == "until" else gettext("Enter a number")

    def recurrence(self, first: date) -> dict[str, Any] | None:
        """Return the recurrence of an event that starts on the day `first`; None if it does not repeat."""
        return recurrence_of(self.cleaned_data, first)

    def field_for_recurrence_path(self, path: str) -> str:
        """Return the field for the member `path` of a recurrence."""
        part, _dot, member = path.removeprefix("recurrence.").partition(".")
        member = member.partition("[")[0]
        if part == "range":
            return LIMITS.get(str(self["range"].value()), {}).get(member, "range")
        return FIELDS_BY_PATTERN.get(self.kind, {}).get(member, "pattern")


def recurrence_of(values: Mapping[str, Any], first: date) -> dict[str, Any] | None:
    """Return the Graph document of the fields' values; None if the event does not repeat."""
    kind = values["pattern"]
    if kind == NEVER:
        return None
    pattern = {"type": "weekly", "interval": 1, "daysOfWeek": WORKING_DAYS}
    if kind != WORKDAYS:
        pattern = {"type": kind, **{member: values[name] for member, name in FIELDS_BY_PATTERN[kind].items()}}
    limits = {member: values[name] for member, name in LIMITS[values["range"]].items()}
    if "endDate" in limits:
        limits["endDate"] = limits["endDate"].isoformat()
    return {"pattern": pattern, "range": {"type": values["range"], "startDate": first.isoformat(), **limits}}


def fields_of(recurrence: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of the fields for a document in the normal form of Graph."""
    if recurrence is None:
        return {"pattern": NEVER}
    pattern, limits = recurrence["pattern"], recurrence["range"]
    days = [day for day in ONCE_A_WEEK if day in pattern["daysOfWeek"]]
    kind = pattern["type"]
    if (kind, pattern["interval"], days) == ("weekly", 1, WORKING_DAYS):
        kind = WORKDAYS
    values = {name: pattern[member] for member, name in FIELDS_BY_PATTERN[kind].items()}
    for name in FIELDS_BY_PATTERN[kind].values():
        if name in ANY_DAYS:
            values[name] = next((choice for choice, known in SETS.items() if known == days), ",".join(days))
    values |= {name: limits[member] for member, name in LIMITS[limits["type"]].items()}
    if "until" in values:
        values["until"] = date.fromisoformat(values["until"])
    return {"pattern": kind, "range": limits["type"], **values}


def suggest_values(day: date, week_start: int) -> dict[str, Any]:
    """Return the initial values of all patterns for an event on `day`."""
    weekday, number = ONCE_A_WEEK[day.weekday()], (day.day - 1) // 7
    index = INDEXES[min(number, len(INDEXES) - 1)]
    return {
        **dict.fromkeys(("daily_interval", "weekly_interval", "monthly_interval", "monthly_weekday_interval"), 1),
        **dict.fromkeys(("yearly_interval", "yearly_weekday_interval"), 1),
        **dict.fromkeys(("monthly_day", "yearly_day"), day.day),
        **dict.fromkeys(("monthly_index", "yearly_index"), index),
        **dict.fromkeys(("monthly_weekday", "yearly_weekday"), weekday),
        **dict.fromkeys(("yearly_month", "yearly_weekday_month"), day.month),
        "weekly_days": [weekday],
        "weekly_first": ONCE_A_WEEK[week_start],
        "times": 10,
    }
