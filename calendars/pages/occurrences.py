"""Cancel or restore one occurrence of a series."""

from datetime import date, tzinfo

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from calendars import editing
from calendars.errors import CalendarError, Gone
from calendars.expansion import Occurrence
from calendars.models import Event
from calendars.pages.messages import flash
from calendars.pages.navigation import template_context
from calendars.pages.popover import is_redacted, start_day
from calendars.pages.queries import get_event_or_404, get_occurrence_or_404


@login_required
@require_POST
def occurrence_cancel(request, item_id: str) -> HttpResponse:
    target, formatter = template_context(request)
    event, day, occurrence = changeable(request, item_id, target.zone)
    try:
        editing.cancel_occurrence(event, day, formatter.now)
    except Gone:
        messages.error(request, gettext("It is already cancelled."))
    else:
        flash(request, gettext("Cancelled:"), occurrence, formatter, target, gettext("Restore"))
    return redirect(target.return_url(start_day(occurrence, formatter)))


@login_required
@require_POST
def occurrence_restore(request, item_id: str) -> HttpResponse:
    target, formatter = template_context(request)
    event, day, occurrence = changeable(request, item_id, target.zone)
    try:
        editing.restore_occurrence(event, day, formatter.now)
    except CalendarError as error:
        messages.error(request, capfirst(error.message) + ".")
        return redirect(target.link_to("item", occurrence.id))
    flash(request, gettext("Restored:"), get_occurrence_or_404(request, event, day, target.zone), formatter, target)
    return redirect(target.return_url(start_day(occurrence, formatter)))


def changeable(request, item_id: str, zone: tzinfo) -> tuple[Event, date, Occurrence]:
    """Return the event, the day and the occurrence to change.

    Raise Http404 if there is no such occurrence, PermissionDenied if the viewer may not see or change it.
    """
    event, day = get_event_or_404(request, item_id, to_change=True)
    occurrence = get_occurrence_or_404(request, event, day, zone)
    if day is None:
        raise Http404
    if is_redacted(event, occurrence.details, request.user):
        raise PermissionDenied
    return event, day, occurrence


urlpatterns: list = [
    path("items/<str:item_id>/cancel", occurrence_cancel, name="occurrence-cancel"),
    path("items/<str:item_id>/restore", occurrence_restore, name="occurrence-restore"),
]
