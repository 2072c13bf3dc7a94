"""The deletion of an event, with the questions before it."""

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
from calendars.pages.entries import name_of
from calendars.pages.event_form import Scope
from calendars.pages.lookup import event_of, next_day, occurrence_of
from calendars.pages.news import tell
from calendars.pages.popover import day_of, is_veiled, repeats, when
from calendars.pages.revisions import revision_in, revision_text
from calendars.pages.scopes import occurrences_words, scopes_of
from calendars.pages.spoken import Manner
from calendars.pages.whence import Whence, setting


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def event_delete(request, item_id: str) -> HttpResponse:
    """Ask first; of an occurrence, whether it goes alone, with all that follow, or with the series."""
    whence, manner = setting(request)
    event, day = event_of(request, item_id, to_change=True)
    found = occurrence_of(
        request, event, day if day or not event.is_series else next_day(event, manner.now), whence.zone
    )
    if day and is_veiled(event, found.details, request.user):
        raise PermissionDenied
    scopes = scopes_of(event, day) if event.is_series and day else {}
    scope = request.POST.get("scope", "") if scopes else Scope.SERIES
    conflict = False
    if request.method == "POST" and (scope in scopes or not scopes):
        try:
            if revision_in(request.POST.get("revision", "")) != event.version:
                raise ChangedSince
            return deleted(request, found, Scope(scope), manner, whence)
        except ChangedSince:
            conflict = True
        except Gone:
            return redirect(whence.back(day_of(found, manner)))
    context = {
        "title": gettext("Delete %(name)s") % {"name": name_of(found)},
        "question": gettext("Delete %(name)s?") % {"name": name_of(found)},
        "what": repeats(event, manner.hour_cycle) if event.is_series else when(found, manner),
        "choices": choices(scopes, found, manner),
        "answer": gettext("Delete") if event.is_series else gettext("Delete event"),
        "revision": revision_text(event.version),
        "conflict": conflict,
        "whence": whence,
    }
    return render(request, "calendar/event_delete.html", context)


def deleted(request, found: Occurrence, scope: Scope, manner: Manner, whence: Whence) -> HttpResponse:
    event, day = found.event, cast(date, found.day)
    back = redirect(whence.back(day_of(found, manner)))
    if scope == Scope.OCCURRENCE:
        editing.cancel_occurrence(event, day, manner.now, revision=found.revision)
        tell(request, gettext("Deleted:"), found, manner, whence, gettext("Put it back"))
        return back
    if scope == Scope.FOLLOWING:
        editing.end_before(event, day, manner.now, revision=found.revision)
        said = gettext("Deleted: %(name)s, from %(day)s on.") % {"name": name_of(found), "day": manner.day(day)}
    else:
        editing.delete(event, manner.now, revision=event.version)
        said = gettext("Deleted: %(name)s.") % {"name": name_of(found)}
    messages.success(request, said)
    return back


def choices(scopes: dict[Scope, str], found: Occurrence, manner: Manner) -> list[dict[str, str]]:
    event, day = found.event, cast(date, found.day)
    if not scopes:
        return []
    said = {
        Scope.OCCURRENCE: (when(found, manner), gettext("Delete this occurrence")),
        Scope.FOLLOWING: (
            gettext("From %(day)s on") % {"day": manner.day(day)},
            delete_words(event, day) or gettext("Delete this and following"),
        ),
        Scope.SERIES: (
            gettext("%(occurrences)s, past ones too") % {"occurrences": occurrences_words(event)},
            delete_words(event) or gettext("Delete the series"),
        ),
    }
    return [
        {"scope": scope.value, "name": name, "consequence": said[scope][0], "answer": said[scope][1]}
        for scope, name in scopes.items()
    ]


def delete_words(event: Event, since: date | None = None) -> str:
    if event.series.last is None:
        return ""
    return gettext("Delete %(occurrences)s") % {"occurrences": occurrences_words(event, since)}


urlpatterns: list = [path("events/<str:item_id>/delete", event_delete, name="event-delete")]
