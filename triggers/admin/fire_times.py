"""The page that leaves out, moves and adds single fire times of a trigger."""

from datetime import UTC, date, datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop, override

from accounts.languages import language_of
from api.errors import RequestError
from jobs import humanize
from jobs.forms.fields import MomentField, parse_instant
from jobs.pages.coming_runs import coming_run_rows
from jobs.pages.fires import UPCOMING
from recurrence.schedules import just_before
from recurrence.wire import WireError
from recurrence.wire.zone_names import zone_of
from recurrence.zones import instant_of, to_zone
from triggers import single_fires
from triggers.models import Trigger
from triggers.single_fires import Change, Exceptions
from triggers.upcoming import ExpectedRun, next_fire_times

DONE = {
    "skip": gettext_noop("The run is left out."),
    "move": gettext_noop("The run is moved."),
    "add": gettext_noop("The run is added."),
    "revert": gettext_noop("The change is undone."),
}
LISTS = ("added_skip", "added_extra", "removed_skip", "removed_extra")
MAX_TEXTS = 200  # exceptions of one undo
TEXT_LENGTH = 40  # characters of an exception
PATH_LENGTH = 2_000  # characters of the address to return to


class FireTimeField(forms.CharField):
    """A fire time as the page writes it.  The value is an instant in UTC; None for another text."""

    def clean(self, value: object) -> Any:
        return parse_instant(super().clean(value))


class TextsField(forms.MultipleChoiceField):
    """Skips or extras of a schedule, each a hidden field of the same name."""

    widget = forms.MultipleHiddenInput

    def validate(self, value: list[str]) -> None:
        if len(value) > MAX_TEXTS or any(len(text) > TEXT_LENGTH for text in value):
            raise forms.ValidationError(f"At most {MAX_TEXTS} exceptions can be undone at once.")


class FireTimeForm(forms.Form):
    """What to do with a fire time.

    `at` is the fire time, `to` another time on the clocks of `zone`, without it in UTC.  The lists belong to the order
    "revert": texts to remove from the exceptions of the schedule and to add again.
    """

    order = forms.ChoiceField(choices=[(name, name) for name in DONE])
    at = FireTimeField(required=False)
    to = MomentField(required=False, label="New time")
    zone = forms.CharField(required=False, max_length=100)
    added_skip = TextsField(required=False)
    added_extra = TextsField(required=False)
    removed_skip = TextsField(required=False)
    removed_extra = TextsField(required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        order = values.get("order")
        if order in ("skip", "move") and values.get("at") is None:
            self.add_error("at", "Choose a run.")
        if order in ("move", "add") and values.get("to") is None and "to" not in self.errors:
            self.add_error("to", "Enter a date and a time.")
        if order == "revert" and not self.errors and not any(values[name] for name in LISTS):
            self.add_error(None, "Choose what to undo.")
        if values.get("to") and values.get("zone"):
            self._read_in_zone(values)
        return values

    def _read_in_zone(self, values: dict[str, Any]) -> None:
        try:
            values["to"] = instant_of(values["to"].replace(tzinfo=None), zone_of(values["zone"], "zone"))
        except WireError as error:
            self.add_error("zone", capfirst(error.message))
        except OverflowError:
            self.add_error("to", "Enter a date that the calendar of the time zone has.")

    def undone(self) -> Change:
        """Return the change that is to be undone."""
        values = self.cleaned_data
        return Change(
            Exceptions(values["added_skip"], values["added_extra"]),
            Exceptions(values["removed_skip"], values["removed_extra"]),
        )


class FireTimesView:
    """The view of the administration with the coming fire times and the exceptions of a trigger."""

    def fire_times_view(self, request, object_id: int) -> HttpResponse:
        trigger = self.find_changeable(request, object_id)  # type: ignore[attr-defined]
        now, back = timezone.now(), return_address(request)
        form = FireTimeForm(request.POST or None)
        if request.method == "POST":
            if form.is_valid() and self._change_fire_times(request, trigger, form, back, now):
                own = reverse("admin:triggers_trigger_fire_times", args=[trigger.pk])
                return HttpResponseRedirect(back or own)
            for errors in form.errors.values():
                messages.error(request, str(errors[0]))
        chosen = parse_instant(request.POST.get("at") or request.GET.get("at"))
        fires = _listed_fires(trigger, chosen)
        parsed, zone = trigger.parsed_or_none, timezone.get_current_timezone()
        rows = coming_run_rows([ExpectedRun(fire, trigger) for fire in fires], now, parsed.zone if parsed else UTC)
        context = {
            **self.admin_site.each_context(request),  # type: ignore[attr-defined]
            "title": f"Fire times of {trigger.name} of {trigger.job.name}",
            "job": trigger.job,
            "trigger": trigger,
            "rows": [{**row, "is_chosen": row["at"] == chosen} for row in rows],
            "exceptions": _exception_rows(trigger, now) if parsed else [],
            "chosen_time": to_zone(chosen, zone) if chosen in fires else None,
            "zone": str(zone),
            "back": back,
        }
        return TemplateResponse(request, "admin/triggers/trigger/fire_times.html", context)

    def _change_fire_times(self, request, trigger: Trigger, form: FireTimeForm, back: str, now: datetime) -> bool:
        """Carry out the order; report an error and return False when it is refused."""
        order = form.cleaned_data["order"]
        try:
            change = _carry_out(trigger, form, now)
        except (WireError, RequestError) as error:
            messages.error(request, capfirst(error.message))
            return False
        self.log_change(request, trigger.job, f"{DONE[order]} Trigger “{trigger.name}”.")  # type: ignore[attr-defined]
        with override(language_of(request) if back.startswith(reverse("calendar:page")) else "en"):
            context = {"text": gettext(DONE[order]), "trigger": trigger, "change": change, "back": back}
            messages.success(request, render_to_string("admin/triggers/trigger/_done.html", context, request))
        return True


def _carry_out(trigger: Trigger, form: FireTimeForm, now: datetime) -> Change | None:
    """Carry out the order of a form.  Return the change, which can be undone; None for an order that undoes one."""
    at, to = form.cleaned_data["at"], form.cleaned_data["to"]
    match form.cleaned_data["order"]:
        case "skip":
            return single_fires.leave_out(trigger, at, now)
        case "move":
            return single_fires.move(trigger, at, to, now)
        case "add":
            return single_fires.add(trigger, to, now)
        case _:
            single_fires.undo(trigger, form.undone(), now)
    return None


def _listed_fires(trigger: Trigger, chosen: datetime | None) -> list[datetime]:
    """Return the next fire times, and the chosen one if it is a later fire time."""
    fires = next_fire_times([trigger], UPCOMING)
    if chosen and fires and chosen > fires[-1] and trigger.parsed.schedule.after(just_before(chosen)) == chosen:
        fires.append(chosen)
    return fires


def _exception_rows(trigger: Trigger, now: datetime) -> list[dict[str, str]]:
    """Return the coming exceptions of a trigger in the order of their times, with times in the viewer's zone."""
    found = single_fires.coming_exceptions(trigger, now)
    rows = [("added_skip", "Left out", text) for text in found.skips]
    rows += [("added_extra", "Added", text) for text in found.extras]
    rows.sort(key=lambda row: row[2])
    return [{"name": name, "text": text, "words": f"{done}: {_in_words(text, now)}"} for name, done, text in rows]


def _in_words(text: str, now: datetime) -> str:
    """Return an exception in words: a day of the schedule, or a time in the viewer's zone."""
    instant = parse_instant(text) if "T" in text else None
    if instant is None:
        return f"{date_format(date.fromisoformat(text), 'DATE_FORMAT')}, the whole day"
    return f"{humanize.format_date(instant, now)}, {timezone.localtime(instant):%H:%M:%S}".removesuffix(":00")


def return_address(request) -> str:
    """Return the address of this site to which the page leads back; empty: none is given, or it is not safe."""
    address = request.POST.get("next") or request.GET.get("next") or ""
    is_path = address.startswith("/") and len(address) <= PATH_LENGTH
    return address if is_path and url_has_allowed_host_and_scheme(address, allowed_hosts=None) else ""
