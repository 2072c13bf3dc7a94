"""What an address names: an event or one of its occurrences, as far as the viewer may see or change it."""

from datetime import date, datetime, tzinfo

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404

from calendars import ids
from calendars.expansion import Occurrence, differing, find
from calendars.models import Event
from calendars.pages.meaning import FAR
from calendars.pages.popover import may_change


def event_of(request, item_id: str, *, to_change: bool = False) -> tuple[Event, date | None]:
    """Raises Http404 for what is not there or not the viewer's, and PermissionDenied for what they only read."""
    named = ids.parse(item_id)
    if named is None:
        raise Http404
    visible = Event.objects.visible_to(request.user).select_related("calendar__owner")
    event = get_object_or_404(visible, pk=named.event)
    if to_change and not may_change(event, event.details, request.user):
        raise PermissionDenied
    return event, named.day


def occurrence_of(request, event: Event, day: date | None, zone: tzinfo) -> Occurrence:
    """The event, or the occurrence of `day`, also when it is cancelled.  Raises Http404."""
    found = find(event, day, zone, viewer=request.user)
    if found is not None:
        return found
    cancelled = event.exceptions.filter(original_day=day, is_cancelled=True).first() if day else None
    found = next(differing(event, {day: cancelled}, zone, request.user), None) if day and cancelled else None
    if found is None:
        raise Http404
    return found


def next_day(event: Event, now: datetime) -> date:
    """The day of the next occurrence, or the last one, by the rule of the series."""
    series = event.series
    coming = next(series.occurrences(now, FAR), None)
    last = series.last_occurrence if coming is None else None
    return (coming or last or series.first).day
