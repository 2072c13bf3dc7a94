"""The pages that create and edit events, and the preview of the form."""

from datetime import date, datetime, time, timedelta
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import Role
from accounts.wall_time_field import WallTimeField
from calendars import editing, ids
from calendars.errors import CalendarError, ChangedSince
from calendars.event_times import YEARS, Times
from calendars.expansion import find_occurrence, wall_times
from calendars.models import ONE_DAY, Calendar, CalendarQuerySet, Event
from calendars.pages.edit_scopes import occurrences_words, scopes_of
from calendars.pages.event_form import EventForm, EventFormData, Scope
from calendars.pages.formatting import TimeFormatter
from calendars.pages.messages import flash
from calendars.pages.navigation import ReturnTarget, template_context
from calendars.pages.popover import is_redacted, start_day
from calendars.pages.queries import get_event_or_404, get_occurrence_or_404
from calendars.pages.recurrence_changes import in_tab, with_pasted_rule
from calendars.pages.recurrence_preview import RecurrencePreview, preview_recurrence
from calendars.pages.recurrence_tabs import TABS
from calendars.pages.revisions import revision_in, revision_text

MORNING = time(9)
HOUR = timedelta(hours=1)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def event_new(request) -> HttpResponse:
    target, formatter = template_context(request)
    form_data = new_event(request, target, formatter.now)
    return bound_form(request, form_data, target, formatter)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def event_edit(request, item_id: str) -> HttpResponse:
    target, formatter = template_context(request)
    event, day = get_event_or_404(request, item_id, to_change=True)
    form_data = stored_event(request, event, day, target)
    if form_data is None:  # cancelled, or it does not exist
        return redirect(target.link_to("item", ids.ItemId(event.pk, day)))
    return bound_form(request, form_data, target, formatter)


@login_required
@require_POST
def event_preview(request) -> HttpResponse:
    """Show what the form would save, without saving it."""
    target, formatter = template_context(request)
    form_data: EventFormData | None = new_event(request, target, formatter.now)
    if event_id := request.GET.get("event"):
        form_data = stored_event(request, *get_event_or_404(request, event_id, to_change=True), target)
    if form_data is None:
        preview = RecurrencePreview(error=gettext("This occurrence no longer exists."))
    else:
        form = form_of(request, form_data, request.POST)
        form.is_valid()
        preview = preview_recurrence(form, formatter)
    return render(request, "calendar/_event_preview.html", {"preview": preview})


def bound_form(request, form_data: EventFormData, target: ReturnTarget, formatter: TimeFormatter) -> HttpResponse:
    """Show the form, preview its contents, or save them."""
    conflict = False
    form, is_edited = edited_form(request, form_data)
    if request.method == "POST" and not is_edited and form.is_valid() and "_preview" not in request.POST:
        try:
            day = save(form, request, formatter, target)
            return redirect(target.return_url(day))
        except ChangedSince:
            conflict = True
            form = form_of(request, form_data, with_revision(request.POST, form_data.revision))
            form.is_valid()
        except CalendarError as error:
            form.refuse(error)
    if "_preview" in request.POST or is_edited:
        form.errors.pop("subject", None)
    context = {
        "form": form,
        "tabs": tab_links(request, form) if form_data.may_repeat else [],
        "preview": preview_recurrence(form, formatter),
        "conflict": conflict,
        "return_target": target,
        **addresses(form_data, target),
        **titles(form_data, target, formatter),
        "may_move": form_data.scope in (Scope.NEW, Scope.SINGLE, Scope.SERIES),
    }
    return render(request, "calendar/event_form.html", context)


def edited_form(request, form_data: EventFormData) -> tuple[EventForm, bool]:
    """Return the form of the request, and True if it only changes the repeat section and saves nothing.

    An address with a tab shows the recurrence in this tab; a button takes over a pasted rule.
    """
    tab = request.GET.get("tab") if form_data.may_repeat else None
    if request.method != "POST":
        return EventForm(
            form_data=form_data,
            calendars=writable_calendars(request.user),
            viewer=request.user,
            tab_values=form_data.values_of_tab(tab) if tab in TABS else None,
        ), False
    form = form_of(request, form_data, request.POST)
    if tab in TABS:
        change = in_tab(form, request.POST, tab)
    elif "_paste" in request.POST and form_data.may_repeat:
        change = with_pasted_rule(form, request.POST)
    else:
        return form, False
    form = form_of(request, form_data, change.data)
    form.is_valid()
    change.show(form)
    return form, True


def tab_links(request, form: EventForm) -> list[dict[str, Any]]:
    """Return the tabs of the repeat section with their addresses, which keep the parameters of this page."""
    return [
        {
            "name": name,
            "url": f"{request.path}?{urlencode({**request.GET.dict(), 'tab': tab})}",
            "current": tab == form.chosen_tab,
        }
        for tab, name in TABS.items()
    ]


def form_of(request, form_data: EventFormData, data) -> EventForm:
    return EventForm(data, form_data=form_data, calendars=writable_calendars(request.user), viewer=request.user)


def with_revision(data, revision: str):
    """Return the data of the form with this revision, as if the viewer had seen the current version."""
    renewed = data.copy()
    renewed["revision"] = revision
    return renewed


def writable_calendars(user) -> CalendarQuerySet:
    """Return the calendars in which the user may change events."""
    own = Calendar.objects.visible_to(user, Role.OPERATOR).select_related("owner")
    return own.order_by("-is_default", "name", "pk")


# Initial data


def new_event(request, target: ReturnTarget, now: datetime) -> EventFormData:
    """Return the initial data of a new event: on the day and in the zone of the view, or as the address says."""
    local = now.astimezone(target.zone).replace(tzinfo=None)
    day = target.query.date or local.date()
    start = requested_wall_time(request.GET.get("start", ""))
    if requested_day := requested_wall_time(request.GET.get("start", "") + "T00:00"):
        day = requested_day.date()
    if start is None and day == local.date():
        start = local.replace(minute=0, second=0, microsecond=0) + HOUR
    start = start or datetime.combine(day, MORNING)
    end = requested_wall_time(request.GET.get("end", ""))
    is_all_day = request.GET.get("all_day") == "1"
    if is_all_day:
        start = datetime.combine(start.date(), time())
    if end is None or end < start:
        end = start + (ONE_DAY if is_all_day else HOUR)
    default = Calendar.objects.default_of(request.user)
    requested_id = request.GET.get("calendar", "")
    calendar = next((each for each in writable_calendars(request.user) if each.pk.hex == requested_id), default)
    return EventFormData(Scope.NEW, start, end, str(target.zone), calendar, is_all_day)


def requested_wall_time(text: str) -> datetime | None:
    """Parse a wall time of the address; None if it is missing, malformed or outside of YEARS."""
    try:
        wall_time = WallTimeField().to_python(text)
    except ValidationError:
        return None
    return wall_time if wall_time and wall_time.year in YEARS else None


def stored_event(request, event: Event, day: date | None, target: ReturnTarget) -> EventFormData | None:
    """Return the initial data for an event, an occurrence or a series; None if there is no such occurrence.

    Raise PermissionDenied for an occurrence that is another person's private one.
    """
    scope = scope_of(request, event, day)
    if scope in (Scope.SINGLE, Scope.SERIES):
        return EventFormData(
            scope,
            event.start,
            event.end,
            event.zone,
            event.calendar,
            event.is_all_day,
            event.details,
            event.recurrence,
            revision_text(event.revision_pair),
            event,
            day,
        )
    occurrence = find_occurrence(event, day, target.zone, viewer=request.user)
    if occurrence is None or day is None:
        return None
    if is_redacted(event, occurrence.details, request.user):
        raise PermissionDenied
    times = Times.from_event(event).split(day)[1] if scope == Scope.FOLLOWING else None
    start, end, is_all_day = wall_times(
        event, day, occurrence.exception.changes if occurrence.exception and not times else {}
    )
    return EventFormData(
        scope,
        start,
        end,
        event.zone,
        event.calendar,
        is_all_day,
        event.details if times else occurrence.details,
        times.recurrence if times else None,
        revision_text(occurrence.revision_pair),
        event,
        day,
    )


def scope_of(request, event: Event, day: date | None) -> Scope:
    """Return the scope that the address asks for, if it applies to the event and the day."""
    if not event.is_series:
        return Scope.SINGLE
    if day is None:
        return Scope.SERIES
    requested = request.GET.get("scope")
    if requested == Scope.FOLLOWING and day == event.series.first.day:
        return Scope.SERIES
    return Scope(requested) if requested in (Scope.FOLLOWING, Scope.SERIES) else Scope.OCCURRENCE


# Saving


def save(form: EventForm, request, formatter: TimeFormatter, target: ReturnTarget) -> date:
    """Save the form, add a message, and return the day on which the event is now. Raise CalendarError."""
    form_data, changes, now = form.form_data, form.changes(), formatter.now
    revision = revision_in(form.cleaned_data["revision"])
    event, day = cast(Event, form_data.event), cast(date, form_data.day)
    match form_data.scope:
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
    occurrence = get_occurrence_or_404(
        request, saved, day if form_data.scope == Scope.OCCURRENCE else first, target.zone
    )
    verb = gettext("Created:") if form_data.scope == Scope.NEW else gettext("Saved:")
    flash(request, verb, occurrence, formatter, target, gettext("Show"))
    return start_day(occurrence, formatter)


# The page of the form


def addresses(form_data: EventFormData, target: ReturnTarget) -> dict[str, str]:
    """Return the addresses to which the form is sent."""
    if form_data.event is None:
        return {"action": target.link_to("event-new"), "preview_url": target.link_to("event-preview")}
    item_id, scope = ids.ItemId(form_data.event.pk, form_data.day), form_data.scope.value
    return {
        "action": target.link_to("event-edit", item_id, scope=scope),
        "preview_url": target.link_to("event-preview", event=item_id, scope=scope),
        "delete_url": target.link_to("event-delete", item_id),
    }


def titles(form_data: EventFormData, target: ReturnTarget, formatter: TimeFormatter) -> dict[str, Any]:
    """Return the titles and labels of the form's page."""
    event, day = form_data.event, form_data.day
    if event is None:
        return {"title": gettext("New event"), "verb": gettext("Create event")}
    name = form_data.details.subject or gettext("(no title)")
    item_id = ids.ItemId(event.pk, day)
    scopes = scopes_of(event, day) if event.is_series and day else {}
    return {
        "title": gettext("Edit %(name)s") % {"name": name},
        "verb": gettext("Save changes"),
        "consequence": edit_effect_text(form_data, formatter),
        "scopes": [
            {
                "name": words,
                "url": target.link_to("event-edit", item_id, scope=scope.value),
                "current": scope == form_data.scope,
            }
            for scope, words in scopes.items()
        ],
    }


def edit_effect_text(form_data: EventFormData, formatter: TimeFormatter) -> str:
    """Return what a change affects, and which exceptions it may remove."""
    event, day = cast(Event, form_data.event), cast(date, form_data.day)
    if not event.is_series:
        return ""
    if form_data.scope == Scope.OCCURRENCE:
        return gettext("Only %(day)s is changed, not the rest of the series.") % {"day": formatter.format_day(day)}
    exceptions = (
        event.exceptions.filter(original_day__gte=day) if form_data.scope == Scope.FOLLOWING else event.exceptions
    )
    if form_data.scope == Scope.FOLLOWING:
        text = gettext("From %(day)s on. This series ends before that day, and a new series begins.") % {
            "day": formatter.format_day(day)
        }
    else:
        text = gettext("%(occurrences)s, including past ones.") % {"occurrences": occurrences_words(event)}
    count = exceptions.count()
    if not count:
        return text
    lost_text = ngettext(
        "If you change its days or times, %(count)d changed or cancelled occurrence is reset.",
        "If you change its days or times, %(count)d changed or cancelled occurrences are reset.",
        count,
    )
    return f"{text} {lost_text % {'count': count}}"


urlpatterns: list = [
    path("events/new", event_new, name="event-new"),
    path("events/preview", event_preview, name="event-preview"),
    path("events/<str:item_id>/edit", event_edit, name="event-edit"),
]
