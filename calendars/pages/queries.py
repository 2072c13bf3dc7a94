"""Load the event or occurrence that an address names, if the viewer may see or change it."""

from datetime import date, datetime, tzinfo

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404

from calendars import ids
from calendars.expansion import Occurrence, find_occurrence, with_exceptions
from calendars.models import Event
from calendars.pages.popover import may_change
from calendars.pages.recurrence_preview import FAR


def get_event_or_404(request, item_id: str, *, to_change: bool = False) -> tuple[Event, date | None]:
    """Return the event and the day of the occurrence, or None as the day.

    Raise Http404 if the event does not exist or the viewer may not see it. With `to_change`, raise PermissionDenied if
    the viewer may only read it.
    """
    parsed = ids.parse(item_id)
    if parsed is None:
        raise Http404
    visible = Event.objects.visible_to(request.user).select_related("calendar__owner")
    event = get_object_or_404(visible, pk=parsed.event)
    if to_change and not may_change(event, event.details, request.user):
        raise PermissionDenied
    return event, parsed.day


def get_occurrence_or_404(request, event: Event, day: date | None, zone: tzinfo) -> Occurrence:
    """Return the occurrence of `day`, also a cancelled one; without a day, the event. Raise Http404."""
    found = find_occurrence(event, day, zone, viewer=request.user)
    if found is not None:
        return found
    cancelled = event.exceptions.filter(original_day=day, is_cancelled=True).first() if day else None
    found = next(with_exceptions(event, {day: cancelled}, zone, request.user), None) if day and cancelled else None
    if found is None:
        raise Http404
    return found


def next_day(event: Event, now: datetime) -> date:
    """Return the day of the next occurrence by the rule of the series; of an ended series, its last day."""
    series = event.series
    upcoming = next(series.occurrences(now, FAR), None)
    last = series.last_occurrence if upcoming is None else None
    return (upcoming or last or series.first).day
