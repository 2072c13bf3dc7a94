"""The pages on which an event is written, be it new or there already, and the preview of what that means."""

from datetime import date, datetime, time, timedelta
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import Role
from accounts.readings import ReadingField
from calendars import editing, ids
from calendars.errors import CalendarError, ChangedSince
from calendars.expansion import find, walls_of
from calendars.models import ONE_DAY, Calendar, CalendarQuerySet, Event
from calendars.pages.event_form import EventForm, Scope, Written
from calendars.pages.lookup import event_of, occurrence_of
from calendars.pages.meaning import Meaning, meaning_of
from calendars.pages.news import tell
from calendars.pages.popover import day_of, is_veiled
from calendars.pages.revisions import revision_in, revision_text
from calendars.pages.scopes import occurrences_words, scopes_of
from calendars.pages.spoken import Manner
from calendars.pages.whence import Whence, setting
from calendars.times import YEARS, Times

MORNING = time(9)
HOUR = timedelta(hours=1)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def event_new(request) -> HttpResponse:
    whence, manner = setting(request)
    written = new_event(request, whence, manner.now)
    return written_in(request, written, whence, manner)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def event_edit(request, item_id: str) -> HttpResponse:
    whence, manner = setting(request)
    event, day = event_of(request, item_id, to_change=True)
    written = stored_event(request, event, day, whence)
    if written is None:  # cancelled, or not there at all
        return redirect(whence.to("item", ids.ItemId(event.pk, day)))
    return written_in(request, written, whence, manner)


@login_required
@require_POST
def event_preview(request) -> HttpResponse:
    """What the form means as it stands: nothing is saved."""
    whence, manner = setting(request)
    written: Written | None = new_event(request, whence, manner.now)
    if named := request.GET.get("event"):
        written = stored_event(request, *event_of(request, named, to_change=True), whence)
    if written is None:
        meaning = Meaning(error=gettext("This occurrence is not there any more."))
    else:
        form = form_of(request, written, request.POST)
        form.is_valid()
        meaning = meaning_of(form, manner)
    return render(request, "calendar/_event_beside.html", {"meaning": meaning})


def written_in(request, written: Written, whence: Whence, manner: Manner) -> HttpResponse:
    """Show the form, preview what was written in it, or save that."""
    conflict = False
    form = form_of(request, written, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and "_preview" not in request.POST:
        try:
            day = save(form, request, manner, whence)
            return redirect(whence.back(day))
        except ChangedSince:
            conflict = True
            form = form_of(request, written, with_revision(request.POST, written.revision))
            form.is_valid()
        except CalendarError as error:
            form.refuse(error)
    if "_preview" in request.POST:
        form.errors.pop("subject", None)
    context = {
        "form": form,
        "meaning": meaning_of(form, manner),
        "conflict": conflict,
        "whence": whence,
        **addresses(written, whence),
        **headings(written, whence, manner),
        "may_move": written.scope in (Scope.NEW, Scope.SINGLE, Scope.SERIES),
    }
    return render(request, "calendar/event_form.html", context)


def form_of(request, written: Written, data) -> EventForm:
    return EventForm(data, written=written, calendars=writable(request.user), viewer=request.user)


def with_revision(data, revision: str):
    """What was written, as if it had been written with the present state before one's eyes."""
    renewed = data.copy()
    renewed["revision"] = revision
    return renewed


def writable(user) -> CalendarQuerySet:
    own = Calendar.objects.visible_to(user, Role.OPERATOR).select_related("owner")
    return own.order_by("-is_default", "name", "pk")


# What the form begins with


def new_event(request, whence: Whence, now: datetime) -> Written:
    """What a new event begins with: on the day and in the zone of the view, or as the address says."""
    local = now.astimezone(whence.zone).replace(tzinfo=None)
    day = whence.query.date or local.date()
    start = asked_reading(request.GET.get("start", ""))
    if asked_day := asked_reading(request.GET.get("start", "") + "T00:00"):
        day = asked_day.date()
    if start is None and day == local.date():
        start = local.replace(minute=0, second=0, microsecond=0) + HOUR
    start = start or datetime.combine(day, MORNING)
    end = asked_reading(request.GET.get("end", ""))
    is_all_day = request.GET.get("all_day") == "1"
    if is_all_day:
        start = datetime.combine(start.date(), time())
    if end is None or end < start:
        end = start + (ONE_DAY if is_all_day else HOUR)
    default = Calendar.objects.default_of(request.user)
    asked = request.GET.get("calendar", "")
    calendar = next((each for each in writable(request.user) if each.pk.hex == asked), default)
    return Written(Scope.NEW, start, end, str(whence.zone), calendar, is_all_day)


def asked_reading(text: str) -> datetime | None:
    try:
        reading = ReadingField().to_python(text)
    except ValidationError:
        return None
    return reading if reading and reading.year in YEARS else None


def stored_event(request, event: Event, day: date | None, whence: Whence) -> Written | None:
    """What the form of an event, an occurrence or a series begins with; None for an occurrence that is not (any more).

    Raises PermissionDenied for an occurrence that somebody else keeps to themselves.
    """
    scope = scope_of(request, event, day)
    if scope in (Scope.SINGLE, Scope.SERIES):
        return Written(
            scope,
            event.start,
            event.end,
            event.zone,
            event.calendar,
            event.is_all_day,
            event.details,
            event.recurrence,
            revision_text(event.version),
            event,
            day,
        )
    found = find(event, day, whence.zone, viewer=request.user)
    if found is None or day is None:
        return None
    if is_veiled(event, found.details, request.user):
        raise PermissionDenied
    times = Times.of(event).split(day)[1] if scope == Scope.FOLLOWING else None
    start, end, is_all_day = walls_of(event, day, found.exception.changes if found.exception and not times else {})
    return Written(
        scope,
        start,
        end,
        event.zone,
        event.calendar,
        is_all_day,
        event.details if times else found.details,
        times.recurrence if times else None,
        revision_text(found.revision),
        event,
        day,
    )


def scope_of(request, event: Event, day: date | None) -> Scope:
    if not event.is_series:
        return Scope.SINGLE
    if day is None:
        return Scope.SERIES
    asked = request.GET.get("scope")
    if asked == Scope.FOLLOWING and day == event.series.first.day:
        return Scope.SERIES
    return Scope(asked) if asked in (Scope.FOLLOWING, Scope.SERIES) else Scope.OCCURRENCE


# Saving


def save(form: EventForm, request, manner: Manner, whence: Whence) -> date:
    """Save what was written and tell so; the answer is the day on which it is now.  Raises CalendarError."""
    written, changes, now = form.written, form.changes(), manner.now
    revision = revision_in(form.cleaned_data["revision"])
    event, day = cast(Event, written.event), cast(date, written.day)
    match written.scope:
        case Scope.NEW:
            event, _ = editing.create(form.cleaned_data["calendar"], changes, now)
        case Scope.SINGLE | Scope.SERIES:
            event = editing.change_and_move(event, changes, form.cleaned_data["calendar"], now, revision=revision)
        case Scope.FOLLOWING:
            event = editing.change_following(event, day, changes, now, revision=revision)
        case Scope.OCCURRENCE:
            editing.change_occurrence(event, day, changes, now, revision=revision)
    first = event.series.first.day if event.is_series else None
    saved = Event.objects.select_related("calendar__owner").get(pk=event.pk)
    found = occurrence_of(request, saved, day if written.scope == Scope.OCCURRENCE else first, whence.zone)
    what = gettext("Created:") if written.scope == Scope.NEW else gettext("Saved:")
    tell(request, what, found, manner, whence, gettext("Show it"))
    return day_of(found, manner)


# Around the form


def addresses(written: Written, whence: Whence) -> dict[str, str]:
    """Where the form is saved and previewed."""
    if written.event is None:
        return {"action": whence.to("event-new"), "preview_url": whence.to("event-preview")}
    named, scope = ids.ItemId(written.event.pk, written.day), written.scope.value
    return {
        "action": whence.to("event-edit", named, scope=scope),
        "preview_url": whence.to("event-preview", event=named, scope=scope),
        "delete_url": whence.to("event-delete", named),
    }


def headings(written: Written, whence: Whence, manner: Manner) -> dict[str, Any]:
    """What the page of the form says of itself, and what its button says."""
    event, day = written.event, written.day
    if event is None:
        return {"title": gettext("New event"), "verb": gettext("Create event")}
    name = written.details.subject or gettext("(no title)")
    named = ids.ItemId(event.pk, day)
    scopes = scopes_of(event, day) if event.is_series and day else {}
    return {
        "title": gettext("Edit %(name)s") % {"name": name},
        "verb": gettext("Save changes"),
        "consequence": consequence(written, manner),
        "scopes": [
            {
                "name": words,
                "url": whence.to("event-edit", named, scope=scope.value),
                "current": scope == written.scope,
            }
            for scope, words in scopes.items()
        ],
    }


def consequence(written: Written, manner: Manner) -> str:
    """What a change reaches, and what it takes away."""
    event, day = cast(Event, written.event), cast(date, written.day)
    if not event.is_series:
        return ""
    if written.scope == Scope.OCCURRENCE:
        return gettext("Only %(day)s is changed; the rest of the series stays.") % {"day": manner.day(day)}
    differing = event.exceptions.filter(original_day__gte=day) if written.scope == Scope.FOLLOWING else event.exceptions
    if written.scope == Scope.FOLLOWING:
        said = gettext("From %(day)s on. The series ends before, and another one begins.") % {"day": manner.day(day)}
    else:
        said = gettext("%(occurrences)s, past ones too.") % {"occurrences": occurrences_words(event)}
    count = differing.count()
    if not count:
        return said
    lost = ngettext(
        "If its days or times change, %(count)d that differs or is cancelled comes afresh.",
        "If its days or times change, %(count)d that differ or are cancelled come afresh.",
        count,
    )
    return f"{said} {lost % {'count': count}}"


urlpatterns: list = [
    path("events/new", event_new, name="event-new"),
    path("events/preview", event_preview, name="event-preview"),
    path("events/<str:item_id>/edit", event_edit, name="event-edit"),
]
