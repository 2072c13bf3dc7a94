"""The page that leaves out, moves and adds single fire times of a trigger."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst

from api.errors import RequestError
from jobs.forms.fields import MomentField, parse_instant
from jobs.pages.fires import UPCOMING, fire_rows
from recurrence.wire import WireError
from triggers import single_fires
from triggers.models import Trigger
from triggers.upcoming import next_fire_times

DONE = {
    "skip": "The run is left out.",
    "move": "The run is moved.",
    "add": "The run is added.",
    "undo": "The exception is removed.",
}


class FireTimeField(forms.CharField):
    """A fire time as the page writes it.  The value is an instant in UTC; None for another text."""

    def clean(self, value: object) -> Any:
        return parse_instant(super().clean(value))


class FireTimeForm(forms.Form):
    """What to do with a fire time.  `at` is the fire time, `to` another time; `exception` is a text of the schedule."""

    order = forms.ChoiceField(choices=[(name, name) for name in DONE])
    at = FireTimeField(required=False)
    to = MomentField(required=False, label="New time, in UTC")
    exception = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        order = values.get("order")
        if order in ("skip", "move") and values.get("at") is None:
            self.add_error("at", "Choose a run.")
        if order in ("move", "add") and values.get("to") is None and "to" not in self.errors:
            self.add_error("to", "Enter a date and a time.")
        return values


class FireTimesView:
    """The view of the administration with the coming fire times and the exceptions of a trigger."""

    def fire_times_view(self, request, object_id: int) -> HttpResponse:
        trigger = self.find_changeable(request, object_id)  # type: ignore[attr-defined]
        now = timezone.now()
        form = FireTimeForm(request.POST or None)
        if request.method == "POST":
            if form.is_valid() and self._change_fire_times(request, trigger, form.cleaned_data, now):
                return HttpResponseRedirect(reverse("admin:triggers_trigger_fire_times", args=[trigger.pk]))
            for errors in form.errors.values():
                messages.error(request, str(errors[0]))
        fires = next_fire_times([trigger], UPCOMING)
        rows = fire_rows(fires, now, trigger.parsed.zone) if trigger.parsed_or_none else []
        context = {
            **self.admin_site.each_context(request),  # type: ignore[attr-defined]
            "title": f"Fire times of {trigger.name} of {trigger.job.name}",
            "job": trigger.job,
            "trigger": trigger,
            "rows": [{**row, "text": _text(fire)} for row, fire in zip(rows, fires, strict=False)],
            "exceptions": single_fires.coming_exceptions(trigger, now),
            "chosen": request.POST.get("at") or request.GET.get("at", ""),
        }
        return TemplateResponse(request, "admin/triggers/trigger/fire_times.html", context)

    def _change_fire_times(self, request, trigger: Trigger, values: dict[str, Any], now: datetime) -> bool:
        """Carry out the order; report an error and return False when it is refused."""
        at, to = values["at"], values["to"]
        try:
            match values["order"]:
                case "skip":
                    single_fires.leave_out(trigger, at, now)
                case "move":
                    single_fires.move(trigger, at, to, now)
                case "add":
                    single_fires.add(trigger, to, now)
                case _:
                    single_fires.undo(trigger, values["exception"], now)
        except (WireError, RequestError) as error:
            messages.error(request, capfirst(error.message))
            return False
        done = DONE[values["order"]]
        self.log_change(request, trigger.job, f"{done} Trigger “{trigger.name}”.")  # type: ignore[attr-defined]
        messages.success(request, done)
        return True


def _text(fire: datetime) -> str:
    return fire.isoformat().replace("+00:00", "Z")
