"""Events on pages: what a click opens, the form in which they are written, and the questions before one is deleted."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Role
from accounts.readings import ReadingField
from calendars import editing, ids
from calendars.errors import CalendarError, ChangedSince, Gone
from calendars.expansion import Occurrence, differing, find, walls_of
from calendars.models import ONE_DAY, Calendar, CalendarQuerySet, Event
from calendars.pages.entries import name_of
from calendars.pages.event_form import EventForm, Scope, Written
from calendars.pages.meaning import FAR, Meaning, meaning_of
from calendars.pages.notice_popover import notice_popover
from calendars.pages.popover import day_of, event_popover, is_veiled, may_change, repeats, when
from calendars.pages.run_popover import planned_popover, run_popover
from calendars.pages.runs import seen_by, will_fire
from calendars.pages.spoken import Manner
from calendars.pages.whence import Whence, whence_of
from calendars.times import YEARS, Times, count_before
from jobs.models import Run
from maintenance import lifecycle
from maintenance.models import Notice
from maintenance.pages import rights
from triggers.models import Trigger

MORNING = time(9)
HOUR = timedelta(hours=1)
REVISION = re.compile(r"(\d{1,9})\.(\d{1,9})", re.ASCII)
SOME_PAST = (0, 0)  # a revision that nothing has any more


# What a click opens


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


def setting(request) -> tuple[Whence, Manner]:
    whence = whence_of(request)
    return whence, Manner(whence.zone, request.user.hour_cycle, timezone.now())


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


# Single occurrences, by one click


@login_required
@require_POST
def occurrence_cancel(request, item_id: str) -> HttpResponse:
    whence, manner = setting(request)
    event, day = event_of(request, item_id, to_change=True)
    found = occurrence_of(request, event, day, whence.zone)
    if day is None:
        raise Http404
    if is_veiled(event, found.details, request.user):
        raise PermissionDenied
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
    event, day = event_of(request, item_id, to_change=True)
    found = occurrence_of(request, event, day, whence.zone)
    if day is None:
        raise Http404
    if is_veiled(event, found.details, request.user):
        raise PermissionDenied
    try:
        editing.restore_occurrence(event, day, manner.now)
    except CalendarError as error:
        messages.error(request, capfirst(error.message) + ".")
        return redirect(whence.to("item", found.id))
    tell(request, gettext("Put back:"), occurrence_of(request, event, day, whence.zone), manner, whence)
    return redirect(whence.back(day_of(found, manner)))


def tell(request, what: str, found: Occurrence, manner: Manner, whence: Whence, offer: str = "") -> None:
    """News of an occurrence, with a link to it."""
    link = whence.to("item", found.id)
    said = f"{name_of(found)}, {when(found, manner)}."
    messages.success(
        request,
        format_html('{} {} <a href="{}">{}</a>', what, said, link, offer) if offer else f"{what} {said}",
    )


# The form


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


def revision_text(revision: tuple[int, int]) -> str:
    return "{}.{}".format(*revision)


def revision_in(text: str) -> tuple[int, int]:
    """What a viewer has read; what is no revision is none that anything has."""
    match = REVISION.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else SOME_PAST


def save(form: EventForm, request, manner: Manner, whence: Whence) -> date:
    """Save what was written and tell so; the answer is the day on which it is now.  Raises CalendarError."""
    written, changes, now = form.written, form.changes(), manner.now
    revision = revision_in(form.cleaned_data["revision"])
    event, day = cast(Event, written.event), cast(date, written.day)
    match written.scope:
        case Scope.NEW:
            event, _ = editing.create(form.cleaned_data["calendar"], changes, now)
        case Scope.SINGLE | Scope.SERIES:
            event = change_and_move(event, changes, form.cleaned_data["calendar"], now, revision)
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


def change_and_move(event: Event, changes: dict, calendar: Calendar, now: datetime, revision) -> Event:
    """In one transaction; the move comes first, since it holds both calendars in the order in which everybody does."""
    if calendar.pk == event.calendar_id:
        return editing.change(event, changes, now, revision=revision)
    with transaction.atomic():
        moved = editing.move(event, calendar, now)
        read, rest = revision
        return editing.change(moved, changes, now, revision=(read + 1, rest))  # the move counts as a change


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


def scopes_of(event: Event, day: date) -> dict[Scope, str]:
    """What an occurrence may stand for when it is changed or deleted; from the first one on, it is the series."""
    scopes = {
        Scope.OCCURRENCE: gettext("This occurrence"),
        Scope.FOLLOWING: gettext("This and following"),
        Scope.SERIES: gettext("The series"),
    }
    if day == event.series.first.day:
        del scopes[Scope.FOLLOWING]
    return scopes


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


def occurrences_words(event: Event, since: date | None = None) -> str:
    """248 occurrences; of a series without end, all of them."""
    series = event.series
    if series.last is None:
        return gettext("All occurrences")
    count = count_before(series, series.last + ONE_DAY) - (count_before(series, since) if since else 0)
    return ngettext("%(count)d occurrence", "%(count)d occurrences", count) % {"count": count}


# Deletion


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


urlpatterns: list = [
    path("items/<str:item_id>", item, name="item"),
    path("items/<str:item_id>/cancel", occurrence_cancel, name="occurrence-cancel"),
    path("items/<str:item_id>/restore", occurrence_restore, name="occurrence-restore"),
    path("runs/<uuid:run_id>", run, name="run"),
    path("planned/<int:trigger_id>/<str:instant>", planned, name="planned"),
    path("notices/<uuid:notice_id>", notice, name="notice"),
    path("events/new", event_new, name="event-new"),
    path("events/preview", event_preview, name="event-preview"),
    path("events/<str:item_id>/edit", event_edit, name="event-edit"),
    path("events/<str:item_id>/delete", event_delete, name="event-delete"),
]
