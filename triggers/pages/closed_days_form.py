"""The form of a calendar of closed days."""

import re
from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.utils.dates import WEEKDAYS as DAY_NAMES
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Subscription
from jobs.names import NAME_LENGTH
from recurrence.closed_days import WEEKDAYS
from recurrence.wire import WireError
from recurrence.wire import closed_days as documents
from triggers.models import ClosedDays
from triggers.pages.date_lines import parse_lines, render_lines
from triggers.pages.places import country_choices, subdivision_choices

ITEM = re.compile(r"\A(holidays|dates)\[(\d+)\]")
DATES_LENGTH = 250_000  # characters
DAYS = tuple(DAY_NAMES[number] for number in range(7))  # from Monday


class ClosedDaysForm(forms.Form):
    """Create or change a calendar of closed days.

    `subscriptions` are those in which the viewer may create calendars; an existing calendar stays in its subscription.
    There is a pair of fields for each of the holidays, and one more for another.
    """

    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_LENGTH,
        help_text=_("Schedules name the calendar. It can be renamed while none does."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    subscription = forms.ModelChoiceField(Subscription.objects.none(), label=_("Subscription"), empty_label=None)
    weekend = forms.MultipleChoiceField(
        label=_("Closed on"),
        required=False,
        choices=list(zip(WEEKDAYS, DAYS, strict=True)),
        widget=forms.CheckboxSelectMultiple,
    )
    dates = forms.CharField(
        label=_("Dates"),
        required=False,
        max_length=DATES_LENGTH,
        help_text=_(
            "One per line, then its name: <code>2026-06-05 Bridge day</code>, a range as"
            " <code>2026-12-24..2027-01-01 Company holidays</code>, a day of each year as"
            " <code>12-24 Christmas Eve</code>."
        ),
        widget=forms.Textarea(attrs={"rows": 6, "class": "code", "spellcheck": "false"}),
    )

    def __init__(self, data=None, *, subscriptions, calendar: ClosedDays | None = None):
        super().__init__(data, initial=_initial(calendar) if calendar else {"weekend": ["saturday", "sunday"]})
        cast(forms.ModelChoiceField, self.fields["subscription"]).queryset = subscriptions
        self.calendar = calendar
        self.only_subscription = None
        if calendar is not None or len(subscriptions) == 1:
            del self.fields["subscription"]
            self.only_subscription = calendar.subscription if calendar else subscriptions[0]
        self._add_holidays(calendar.document["holidays"] if calendar else [])

    def _add_holidays(self, stored: list[Mapping[str, str]]) -> None:
        rows = self._posted_rows() if self.is_bound else len(stored) + 1
        for number in range(min(rows, documents.MAX_HOLIDAYS)):
            holiday = stored[number] if number < len(stored) else {}
            country = self.data.get(f"country-{number}", "") if self.is_bound else holiday.get("country", "")
            self.fields[f"country-{number}"] = forms.ChoiceField(
                label=_("Public holidays of"),
                required=False,
                choices=[("", "–"), *country_choices()],
                initial=holiday.get("country", ""),
            )
            self.fields[f"subdivision-{number}"] = forms.ChoiceField(
                label=_("Part of the country"),
                required=False,
                choices=[("", _("whole country")), *subdivision_choices(country)],
                initial=holiday.get("subdivision", ""),
            )

    def _posted_rows(self) -> int:
        """Return the number of rows with a country, and one more."""
        numbers = [number for number in range(documents.MAX_HOLIDAYS) if self.data.get(f"country-{number}")]
        return (numbers[-1] + 2) if numbers else 1

    @property
    def holiday_rows(self) -> list[tuple[forms.BoundField, forms.BoundField]]:
        numbers = [name.partition("-")[2] for name in self.fields if name.startswith("country-")]
        return [(self[f"country-{number}"], self[f"subdivision-{number}"]) for number in numbers]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        self.document: dict[str, Any] = {}
        if self.errors:
            return data
        items, self.line_numbers = parse_lines(data["dates"])
        rows = [number for number in range(len(self.holiday_rows)) if data[f"country-{number}"]]
        self.holiday_numbers = rows
        holidays = [{"country": data[f"country-{n}"], "subdivision": data[f"subdivision-{n}"] or None} for n in rows]
        try:
            self.document = documents.render({"weekend": data["weekend"], "holidays": holidays, "dates": items})
        except WireError as error:
            for each in (error, *error.others):
                self.refuse(each)
        return data

    def refuse(self, error: Any) -> None:
        """Add an error of the core, with a path and a message, to the form at the field that it is about."""
        path, message = error.path or "", capfirst(error.message)
        item = ITEM.match(path)
        if item and item[1] == "dates":
            number = self.line_numbers[int(item[2])]
            self.add_error("dates", gettext("Line %(number)d: %(message)s") % {"number": number, "message": message})
        elif item:
            name = "subdivision" if path.endswith("subdivision") else "country"
            self.add_error(f"{name}-{self.holiday_numbers[int(item[2])]}", message)
        else:
            self.add_error(path if path in self.fields else None, message)

    @property
    def merged_document(self) -> dict[str, Any]:
        """Return the document of a valid form, with the stored calendars of events, for which it has no field."""
        return {**self.document, "calendars": self.calendar.document["calendars"] if self.calendar else []}

    @property
    def chosen_subscription(self) -> Subscription:
        """Return the subscription in which to create the calendar."""
        return self.only_subscription or self.cleaned_data["subscription"]


def _initial(calendar: ClosedDays) -> dict[str, Any]:
    document = calendar.document
    return {"name": calendar.name, "weekend": document["weekend"], "dates": render_lines(document["dates"])}
