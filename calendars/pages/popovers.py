"""What a click on the calendar opens: an event, a run, a fire time to come, or announced maintenance."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.views.decorators.http import require_safe

from calendars import ids
from calendars.pages.coming_runs import will_fire
from calendars.pages.lookup import event_of, next_day, occurrence_of
from calendars.pages.notice_popover import notice_popover
from calendars.pages.popover import event_popover
from calendars.pages.rights import seen_by
from calendars.pages.run_popover import planned_popover, run_popover
from calendars.pages.whence import Whence, setting
from jobs.models import Run
from maintenance import lifecycle
from maintenance.models import Notice
from maintenance.pages import rights
from triggers.models import Trigger


@login_required
@require_safe
def item(request, item_id: str) -> HttpResponse:
    """An event or an occurrence; the id of a series leads to its next occurrence."""
    whence, manner = setting(request)
    event, day = event_of(request, item_id)
    if event.is_series and day is None:
        return redirect(whence.to("item", ids.ItemId(event.pk, next_day(event, manner.now))))
    found = occurrence_of(request, event, day, whence.zone)
    return shown(request, whence, "event", event_popover(found, request.user, manner, whence))


@login_required
@require_safe
def run(request, run_id) -> HttpResponse:
    whence, manner = setting(request)
    found = get_object_or_404(seen_by(request.user, Run.objects).select_related("job__collection"), pk=run_id)
    return shown(request, whence, "run", run_popover(found, request.user, manner, whence))


@login_required
@require_safe
def planned(request, trigger_id: int, instant: str) -> HttpResponse:
    """A fire time of a trigger; once it has been a run, that."""
    whence, manner = setting(request)
    at = instant_in(instant)
    trigger = get_object_or_404(seen_by(request.user, Trigger.objects).select_related("job__collection"), pk=trigger_id)
    made = Run.objects.filter(job=trigger.job_id, trigger_name=trigger.name, fire_at=at).first()
    if made is not None:
        return redirect(whence.to("run", made.pk))
    if not will_fire(trigger, at):
        raise Http404
    return shown(request, whence, "run", planned_popover(trigger, at, request.user, manner, whence))


@login_required
@require_safe
def notice(request, notice_id: UUID) -> HttpResponse:
    """Maintenance that was announced."""
    whence, manner = setting(request)
    rows = rights.seen_by(request.user, Notice.objects)
    lifecycle.advance(manner.now, rows.filter(pk=notice_id))
    found = get_object_or_404(rows.prefetch_related("affected"), pk=notice_id)
    return shown(request, whence, "notice", notice_popover(found, manner, whence))


def shown(request, whence: Whence, kind: str, row: dict[str, Any]) -> HttpResponse:
    """Beside the item that was clicked, or without script as a page of its own."""
    fragment = f"calendar/_popover_{kind}.html"
    context = {"item": row, "whence": whence, "fragment": fragment, "title": row["title"]}
    if request.htmx:
        return render(request, fragment, {**context, "is_fragment": True})
    return render(request, "calendar/popover.html", context)


def instant_in(text: str) -> datetime:
    """Raises Http404 for what is no instant."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise Http404


urlpatterns: list = [
    path("items/<str:item_id>", item, name="item"),
    path("runs/<uuid:run_id>", run, name="run"),
    path("planned/<int:trigger_id>/<str:instant>", planned, name="planned"),
    path("notices/<uuid:notice_id>", notice, name="notice"),
]
