"""The page that asks before it deletes an event."""

from datetime import date
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from calendars import editing
from calendars.errors import ChangedSince, Gone
from calendars.expansion import Occurrence
from calendars.models import Event
from calendars.pages.edit_scopes import occurrences_words, scopes_of
from calendars.pages.event_form import Scope
from calendars.pages.formatting import TimeFormatter
from calendars.pages.item_rows import name_of
from calendars.pages.messages import flash
from calendars.pages.navigation import ReturnTarget, template_context
from calendars.pages.popover import is_redacted, recurrence_text, start_day, time_text
from calendars.pages.queries import get_event_or_404, get_occurrence_or_404, next_day
from calendars.pages.revisions import revision_in, revision_text


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def event_delete(request, item_id: str) -> HttpResponse:
    """Ask, then delete. For an occurrence, ask also if the following ones or the series are deleted."""
    target, formatter = template_context(request)
    event, day = get_event_or_404(request, item_id, to_change=True)
    occurrence = get_occurrence_or_404(
        request, event, day if day or not event.is_series else next_day(event, formatter.now), target.zone
    )
    if day and is_redacted(event, occurrence.details, request.user):
        raise PermissionDenied
    scopes = scopes_of(event, day) if event.is_series and day else {}
    scope = request.POST.get("scope", "") if scopes else Scope.SERIES
    conflict = False
    if request.method == "POST" and (scope in scopes or not scopes):
        try:
            if revision_in(request.POST.get("revision", "")) != event.revision_pair:
                raise ChangedSince
            return delete_scope(request, occurrence, Scope(scope), formatter, target)
        except ChangedSince:
            conflict = True
        except Gone:
            return redirect(target.return_url(start_day(occurrence, formatter)))
    context = {
        "title": gettext("Delete %(name)s") % {"name": name_of(occurrence)},
        "question": gettext("Delete %(name)s?") % {"name": name_of(occurrence)},
        "what": recurrence_text(event, formatter.hour_cycle) if event.is_series else time_text(occurrence, formatter),
        "choices": choices(scopes, occurrence, formatter),
        "answer": gettext("Delete") if event.is_series else gettext("Delete event"),
        "revision": revision_text(event.revision_pair),
        "conflict": conflict,
        "return_target": target,
    }
    return render(request, "calendar/event_delete.html", context)


def delete_scope(
    request, occurrence: Occurrence, scope: Scope, formatter: TimeFormatter, target: ReturnTarget
) -> HttpResponse:
    """Delete what the scope says, add a message, and redirect to the calendar."""
    event, day = occurrence.event, cast(date, occurrence.day)
    back = redirect(target.return_url(start_day(occurrence, formatter)))
    if scope == Scope.OCCURRENCE:
        editing.cancel_occurrence(event, day, formatter.now, revision=occurrence.revision_pair)
        flash(request, gettext("Deleted:"), occurrence, formatter, target, gettext("Restore"))
        return back
    if scope == Scope.FOLLOWING:
        editing.truncate_series(event, day, formatter.now, revision=occurrence.revision_pair)
        text = gettext("Deleted: %(name)s, from %(day)s on.") % {
            "name": name_of(occurrence),
            "day": formatter.format_day(day),
        }
    else:
        editing.delete(event, formatter.now, revision=event.revision_pair)
        text = gettext("Deleted: %(name)s.") % {"name": name_of(occurrence)}
    messages.success(request, text)
    return back


def choices(scopes: dict[Scope, str], occurrence: Occurrence, formatter: TimeFormatter) -> list[dict[str, str]]:
    """Return the scopes to choose from, with their effects and the texts of their buttons."""
    event, day = occurrence.event, cast(date, occurrence.day)
    if not scopes:
        return []
    texts = {
        Scope.OCCURRENCE: (time_text(occurrence, formatter), gettext("Delete this occurrence")),
        Scope.FOLLOWING: (
            gettext("%(day)s and later") % {"day": formatter.format_day(day)},
            delete_words(event, day) or gettext("Delete this and following"),
        ),
        Scope.SERIES: (
            gettext("%(occurrences)s, including past ones") % {"occurrences": occurrences_words(event)},
            delete_words(event) or gettext("Delete the series"),
        ),
    }
    return [
        {"scope": scope.value, "name": name, "consequence": texts[scope][0], "answer": texts[scope][1]}
        for scope, name in scopes.items()
    ]


def delete_words(event: Event, since: date | None = None) -> str:
    """Return the text of the button with the number of occurrences; empty for a series without end."""
    if event.series.last is None:
        return ""
    return gettext("Delete %(occurrences)s") % {"occurrences": occurrences_words(event, since)}


urlpatterns: list = [path("events/<str:item_id>/delete", event_delete, name="event-delete")]
