"""The popovers of the calendar: an event, a run, a future fire time, or announced maintenance."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.views.decorators.http import require_safe

from accounts.visibility import rows_visible_to
from calendars import ids
from calendars.pages.future_runs import will_fire
from calendars.pages.navigation import ReturnTarget, template_context
from calendars.pages.notice_popover import notice_popover
from calendars.pages.popover import event_popover
from calendars.pages.queries import get_event_or_404, get_occurrence_or_404, next_day
from calendars.pages.run_popover import planned_popover, run_popover
from jobs.models import Run
from maintenance.models import Notice
from triggers.models import Trigger


@login_required
@require_safe
def item(request, item_id: str) -> HttpResponse:
    """Show an event or an occurrence; the id of a series redirects to its next occurrence."""
    target, formatter = template_context(request)
    event, day = get_event_or_404(request, item_id)
    if event.is_series and day is None:
        return redirect(target.link_to("item", ids.ItemId(event.pk, next_day(event, formatter.now))))
    found = get_occurrence_or_404(request, event, day, target.zone)
    return render_popover(request, target, "event", event_popover(found, request.user, formatter, target))


@login_required
@require_safe
def run(request, run_id) -> HttpResponse:
    target, formatter = template_context(request)
    found = get_object_or_404(rows_visible_to(request.user, Run.objects).select_related("job__collection"), pk=run_id)
    return render_popover(request, target, "run", run_popover(found, request.user, formatter, target))


@login_required
@require_safe
def planned(request, trigger_id: int, instant: str) -> HttpResponse:
    """Show a future fire time of a trigger; if it has a run by now, redirect to the run."""
    target, formatter = template_context(request)
    at = instant_in(instant)
    trigger = get_object_or_404(
        rows_visible_to(request.user, Trigger.objects).select_related("job__collection"), pk=trigger_id
    )
    existing = Run.objects.filter(job=trigger.job_id, trigger_name=trigger.name, fire_at=at).first()
    if existing is not None:
        return redirect(target.link_to("run", existing.pk))
    if not will_fire(trigger, at):
        raise Http404
    return render_popover(request, target, "run", planned_popover(trigger, at, request.user, formatter, target))


@login_required
@require_safe
def notice(request, notice_id: UUID) -> HttpResponse:
    """Show announced maintenance."""
    target, formatter = template_context(request)
    rows = rows_visible_to(request.user, Notice.objects)
    found = get_object_or_404(rows.prefetch_related("affected_resources"), pk=notice_id).as_of(formatter.now)
    return render_popover(request, target, "notice", notice_popover(found, formatter, target))


def render_popover(request, target: ReturnTarget, kind: str, row: dict[str, Any]) -> HttpResponse:
    """Render a popover for htmx; without JavaScript, a page of its own."""
    fragment = f"calendar/_popover_{kind}.html"
    context = {"item": row, "return_target": target, "fragment": fragment, "title": row["title"]}
    if request.htmx:
        return render(request, fragment, {**context, "is_fragment": True})
    return render(request, "calendar/popover.html", context)


def instant_in(text: str) -> datetime:
    """Parse an instant with its offset, and return it in UTC. Raise Http404 for other texts."""
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
