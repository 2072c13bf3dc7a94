"""One occurrence of a series, cancelled or put back by one click."""

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
from calendars.pages.lookup import event_of, occurrence_of
from calendars.pages.news import tell
from calendars.pages.popover import day_of, is_veiled
from calendars.pages.whence import setting


@login_required
@require_POST
def occurrence_cancel(request, item_id: str) -> HttpResponse:
    whence, manner = setting(request)
    event, day, found = changeable(request, item_id, whence.zone)
    try:
        editing.cancel_occurrence(event, day, manner.now)
    except Gone:
        messages.error(request, gettext("It is cancelled already."))
    else:
        tell(request, gettext("Cancelled:"), found, manner, whence, gettext("Put it back"))
    return redirect(whence.back(day_of(found, manner)))


@login_required
@require_POST
def occurrence_restore(request, item_id: str) -> HttpResponse:
    whence, manner = setting(request)
    event, day, found = changeable(request, item_id, whence.zone)
    try:
        editing.restore_occurrence(event, day, manner.now)
    except CalendarError as error:
        messages.error(request, capfirst(error.message) + ".")
        return redirect(whence.to("item", found.id))
    tell(request, gettext("Put back:"), occurrence_of(request, event, day, whence.zone), manner, whence)
    return redirect(whence.back(day_of(found, manner)))


def changeable(request, item_id: str, zone: tzinfo) -> tuple[Event, date, Occurrence]:
    """Raises Http404 for what is no occurrence of a series, PermissionDenied for one that the viewer may not see."""
    event, day = event_of(request, item_id, to_change=True)
    found = occurrence_of(request, event, day, zone)
    if day is None:
        raise Http404
    if is_veiled(event, found.details, request.user):
        raise PermissionDenied
    return event, day, found


urlpatterns: list = [
    path("items/<str:item_id>/cancel", occurrence_cancel, name="occurrence-cancel"),
    path("items/<str:item_id>/restore", occurrence_restore, name="occurrence-restore"),
]
