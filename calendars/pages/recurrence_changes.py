"""Changes of the repeat section of an event's form that save nothing: another tab, and a pasted rule."""

from dataclasses import dataclass

from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext

from calendars.errors import CalendarError
from calendars.event_times import Times
from calendars.pages.event_form import EventForm
from calendars.pages.pasted_rules import EventTimes, NotTranslated, times_of_text
from calendars.pages.recurrence_preview import times_of
from calendars.pages.recurrence_tabs import values_of_tab, values_of_times, with_values
from recurrence.wire import WireError


@dataclass(frozen=True, slots=True)
class FormChange:
    """The data of the changed form, and what the viewer must know: about the tab, or an error at the pasted text."""

    data: QueryDict
    note: str = ""
    error: str = ""

    def show(self, form: EventForm) -> None:
        form.note = self.note
        if self.error:
            form.add_error("paste", self.error)


def in_tab(form: EventForm, data: QueryDict, tab: str) -> FormChange:
    """Return the posted form with its recurrence in another tab; the fields are empty if that is not possible."""
    if tab == form.chosen_tab:
        return FormChange(data)
    try:
        times = _posted_times(form)
        return FormChange(with_values(data, values_of_tab(tab, times.recurrence, times.series)))
    except CalendarError as error:
        note = gettext("Not translated: %(reason)s.") % {"reason": error.message}
        return FormChange(with_values(data, values_of_tab(tab, None, None)), note)


def with_pasted_rule(form: EventForm, data: QueryDict) -> FormChange:
    """Return the posted form with the times and the recurrence of its pasted text, or with the reason why not."""
    text = str(data.get("paste", ""))
    if not text.strip():
        return FormChange(data, error=gettext("Paste a text first"))
    try:
        times = times_of_text(text, _old_times(form))
        changed = with_values(data, values_of_times(times))
    except (NotTranslated, WireError) as error:
        return FormChange(data, error=capfirst(str(error)))
    losses = "; ".join(times.losses)
    return FormChange(changed, gettext("Left out: %(members)s.") % {"members": losses} if losses else "")


def _posted_times(form: EventForm) -> Times:
    """Return the times that the posted form means.  Raises CalendarError, also for invalid fields."""
    form.is_valid()
    for name in form.active_fields() & {*form.errors}:
        raise CalendarError(f"{form[name].label}: {form.errors[name][0]}", path=name)
    return times_of(form)


def _old_times(form: EventForm) -> EventTimes:
    """Return start, end and zone of the posted form; those of its initial data if a field is invalid."""
    form.is_valid()
    initial = form.form_data
    try:
        start, end = form.wall_span
    except (KeyError, OverflowError):
        start, end = initial.start, initial.end
    return EventTimes(start, end, form.cleaned_data.get("zone") or initial.zone, None)
