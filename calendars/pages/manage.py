"""The pages that manage calendars: names and hues, sharing, feeds and import."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Role, User
from api.links import absolute
from calendars import editing, feeds, sharing
from calendars.errors import CalendarError
from calendars.ics.import_report import Report, Status
from calendars.ics.importing import import_calendar
from calendars.models import Calendar, Color, Feed, Share
from calendars.pages.filters import Filter
from calendars.pages.manage_forms import HUES, ROLES, CalendarForm, FeedForm, ImportForm, ShareForm, person_words
from calendars.pages.navigation import ReturnTarget, return_target
from jobs.models import JobCollection

REPORTED = 500  # lines of a report that a page shows
STATUSES = {
    Status.TAKEN: _("new"),
    Status.CHANGED: _("changed"),
    Status.UNCHANGED: _("unchanged"),
    Status.REFUSED: _("rejected"),
}


@login_required
@require_safe
def calendars(request) -> HttpResponse:
    """List the calendars that the viewer sees, and the viewer's feeds."""
    target = return_target(request)
    own = Calendar.objects.filter(owner=request.user).prefetch_related("shares").order_by("-is_default", "name", "pk")
    seen = Calendar.objects.visible_to(request.user).exclude(owner=request.user)
    shared = Share.objects.filter(user=request.user, calendar__in=seen).select_related("calendar__owner")
    context = {
        "title": gettext("Calendars"),
        "return_target": target,
        "own": [own_row(calendar, target) for calendar in own],
        "shared": [
            {
                "calendar": each.calendar,
                "owner": person_words(each.calendar.owner),
                "may": ROLES[Role(each.role)],
                "feed_url": target.link_to("feed-new", calendar=each.calendar_id.hex),
            }
            for each in shared.order_by("calendar__name", "pk")
        ],
        "feeds": [feed_row(feed, target) for feed in feeds_of(request.user)],
        "urls": urls(target, ("calendar-new", "import", "feed-new")),
    }
    return render(request, "calendar/manage/calendars.html", context)


def urls(target: ReturnTarget, names: tuple[str, ...]) -> dict[str, str]:
    return {name.replace("-", "_"): target.link_to(name) for name in names}


def own_row(calendar: Calendar, target: ReturnTarget) -> dict[str, Any]:
    return {"calendar": calendar, "people": sharing_text(calendar), "url": target.link_to("calendar-edit", calendar.pk)}


def sharing_text(calendar: Calendar) -> str:
    """Return with whom the calendar is shared, as in 2 see it, 1 changes its events."""
    roles = [share.role for share in calendar.shares.all()]
    readers, editors = roles.count(Role.READER), roles.count(Role.OPERATOR)
    texts = [
        ngettext("%d can view", "%d can view", readers) % readers if readers else "",
        ngettext("%d can edit", "%d can edit", editors) % editors if editors else "",
    ]
    return ", ".join(filter(None, texts)) or gettext("nobody")


def feeds_of(user):
    return Feed.objects.filter(owner=user).select_related("calendar").order_by("-created_at", "-pk")


def feed_row(feed: Feed, target: ReturnTarget) -> dict[str, Any]:
    source = gettext("calendar %(name)s") % {"name": feed.calendar.name} if feed.calendar else gettext("a view")
    return {"feed": feed, "of": source, "url": target.link_to("feed-revoke", feed.pk)}


# One calendar


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_new(request) -> HttpResponse:
    target = return_target(request)
    form = CalendarForm(request.POST or None, initial={"hue": unused_hue(request.user)})
    if request.method == "POST" and form.is_valid():
        try:
            calendar = editing.create_calendar(request.user, **form.cleaned_data, now=timezone.now())
        except CalendarError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Created: %(name)s.") % {"name": calendar.name})
            return redirect(target.link_to("calendar-edit", calendar.pk))
    context = {
        "title": gettext("New calendar"),
        "form": form,
        "return_target": target,
        "action": target.link_to("calendar-new"),
        "keep_url": target.link_to("calendars"),
    }
    return render(request, "calendar/manage/calendar_new.html", context)


def unused_hue(user) -> str:
    """Return the first hue that no visible calendar has; SKY if all are used."""
    used = set(Calendar.objects.visible_to(user).values_list("hue", flat=True))
    return next((hue for hue in HUES if hue not in used), Color.SKY).value


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_edit(request, calendar_id: UUID) -> HttpResponse:
    """Edit name and hue of a calendar; show its shares and feeds."""
    target, calendar = return_target(request), own_calendar(request, calendar_id)
    form = CalendarForm(request.POST or None, initial={"name": calendar.name, "hue": calendar.hue})
    if request.method == "POST" and form.is_valid():
        try:
            editing.change_calendar(calendar, form.cleaned_data, timezone.now())
        except CalendarError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Saved."))
            return redirect(target.link_to("calendar-edit", calendar.pk))
    return edit_page(request, calendar, form, ShareForm(people=non_members(calendar)), target)


def edit_page(
    request, calendar: Calendar, form: CalendarForm, share_form: ShareForm, target: ReturnTarget
) -> HttpResponse:
    shares = calendar.shares.select_related("user").order_by("user__username")
    context = {
        "title": calendar.name,
        "calendar": calendar,
        "form": form,
        "share_form": share_form,
        "shares": [
            {
                "id": share.user_id,
                "person": person_words(share.user),
                "may": ROLES[Role(share.role)],
                "other_role": (Role.READER if share.role == Role.OPERATOR else Role.OPERATOR).value,
                "is_editor": share.role == Role.OPERATOR,
            }
            for share in shares
        ],
        "has_strangers": non_members(calendar).exists(),
        "feeds": [feed_row(feed, target) for feed in feeds_of(request.user).filter(calendar=calendar)],
        "return_target": target,
        "keep_url": target.link_to("calendars"),
        "action": target.link_to("calendar-edit", calendar.pk),
        "people_url": target.link_to("calendar-people", calendar.pk),
        "delete_url": "" if calendar.is_default else target.link_to("calendar-delete", calendar.pk),
        "feed_url": target.link_to("feed-new", calendar=calendar.pk.hex),
        "import_url": target.link_to("import", calendar=calendar.pk.hex),
    }
    return render(request, "calendar/manage/calendar_edit.html", context)


def own_calendar(request, calendar_id: UUID) -> Calendar:
    """Return the calendar.

    Raise Http404 if the viewer does not see it, PermissionDenied if it belongs to somebody else.
    """
    calendar = get_object_or_404(Calendar.objects.visible_to(request.user), pk=calendar_id)
    if calendar.owner_id != request.user.pk:
        raise PermissionDenied
    return calendar


def non_members(calendar: Calendar):
    """Return the people with whom the calendar can still be shared."""
    return sharing.people_to_share_with(calendar.owner).exclude(shared_calendars__calendar=calendar)


def refuse(form, error: CalendarError) -> None:
    """Add an error of the core to the field to which it belongs, or to the form."""
    form.add_error(error.path if error.path in form.fields else None, capfirst(error.message))


@login_required
@require_POST
def calendar_people(request, calendar_id: UUID) -> HttpResponse:
    """Share the calendar with a person, change the person's role, or end the sharing (`remove`)."""
    target, calendar = return_target(request), own_calendar(request, calendar_id)
    back = redirect(target.link_to("calendar-edit", calendar.pk))
    if removed := request.POST.get("remove", ""):
        person = User.objects.filter(shared_calendars__calendar=calendar, pk=number(removed)).first()
        if person is not None:
            sharing.unshare(calendar, person)
            messages.success(request, gettext("%(person)s no longer has access.") % {"person": person_words(person)})
        return back
    form = ShareForm(request.POST, people=sharing.people_to_share_with(calendar.owner))
    if not form.is_valid():
        initial = {"name": calendar.name, "hue": calendar.hue}
        return edit_page(request, calendar, CalendarForm(initial=initial), form, target)
    person, role = form.cleaned_data["person"], Role(form.cleaned_data["role"])
    sharing.share(calendar, person, role)
    messages.success(request, f"{person_words(person)}: {ROLES[role]}.")
    return back


def number(text: str) -> int:
    """Parse a key from a form; return 0, which no row has, for other texts."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_delete(request, calendar_id: UUID) -> HttpResponse:
    target, calendar = return_target(request), own_calendar(request, calendar_id)
    if request.method == "POST":
        try:
            editing.delete_calendar(calendar, timezone.now())
        except CalendarError as error:
            messages.error(request, capfirst(error.message) + ".")
            return redirect(target.link_to("calendar-edit", calendar.pk))
        messages.success(request, gettext("Deleted: %(name)s.") % {"name": calendar.name})
        return redirect(target.link_to("calendars"))
    count = calendar.events.count()
    people = calendar.shares.count()
    context = {
        "title": gettext("Delete %(name)s") % {"name": calendar.name},
        "question": gettext("Delete %(name)s?") % {"name": calendar.name},
        "events": ngettext("%(count)d event or series", "%(count)d events and series", count) % {"count": count},
        "people": ngettext("%(count)d person", "%(count)d people", people) % {"count": people} if people else "",
        "answer": gettext("Delete calendar"),
        "action": target.link_to("calendar-delete", calendar.pk),
        "keep_url": target.link_to("calendar-edit", calendar.pk),
        "list_url": target.link_to("calendars"),
        "return_target": target,
    }
    return render(request, "calendar/manage/calendar_delete.html", context)


# Feeds


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def feed_new(request) -> HttpResponse:
    """Create a feed of one calendar (`calendar`), or of the view from which the viewer came."""
    target = return_target(request)
    calendar = calendar_in(request)
    form = FeedForm(request.POST or None, initial={"name": calendar.name if calendar else gettext("My calendar")})
    if request.method == "POST" and form.is_valid():
        source = {"calendar": calendar} if calendar else {"query": query_of(target.query.filter, request.user)}
        try:
            feed, secret = feeds.make(request.user, form.cleaned_data["name"], timezone.now(), **source)
        except CalendarError as error:
            refuse(form, error)
        else:
            return render_feed_address(request, feed, secret, target)
    parameters = {"calendar": calendar.pk.hex} if calendar else {}
    context = {
        "title": gettext("New feed address"),
        "form": form,
        "return_target": target,
        "what": feed_contents_text(calendar, target.query.filter, request.user),
        "action": target.link_to("feed-new", **parameters),
        "keep_url": target.link_to("calendars"),
    }
    return render(request, "calendar/manage/feed_new.html", context)


def calendar_in(request) -> Calendar | None:
    """Return the calendar that the address names, or None. Raise Http404 if the viewer does not see it."""
    text = request.GET.get("calendar", "")
    if not text:
        return None
    try:
        key = UUID(text)
    except ValueError:
        key = None
    return get_object_or_404(Calendar.objects.visible_to(request.user), pk=key)


def query_of(chosen: Filter, user) -> dict[str, Any]:
    """Return the filter as a feed stores it; None means all calendars or all collections."""
    calendars = Calendar.objects.visible_to(user).exclude(pk__in=chosen.off)
    collections = JobCollection.objects.visible_to(user).exclude(pk__in=chosen.noruns)
    listed = list(collections.values_list("pk", flat=True))
    return {
        "calendars": [str(key) for key in calendars.values_list("pk", flat=True)] if chosen.off else None,
        "collections": listed if chosen.noruns else None,
        "runs": bool(listed),
    }


def feed_contents_text(calendar: Calendar | None, chosen: Filter, user) -> list[str]:
    """Return the names of the calendars and job collections that the feed shows."""
    if calendar is not None:
        return [calendar.name]
    names = list(
        Calendar.objects.visible_to(user).exclude(pk__in=chosen.off).order_by("name").values_list("name", flat=True)
    )
    collections = JobCollection.objects.visible_to(user).exclude(pk__in=chosen.noruns).order_by("name")
    return [*names, *(gettext("runs of %(name)s") % {"name": each.name} for each in collections)]


def render_feed_address(request, feed: Feed, secret: str, target: ReturnTarget) -> HttpResponse:
    """Show the secret address of the new feed once. It is not stored in messages, session or cookies."""
    address = reverse("calendar:feed", args=[secret])
    context = {
        "title": feed.name,
        "address": absolute(request, address),
        "back": target.link_to("calendars"),
        "return_target": target,
    }
    response = render(request, "calendar/manage/feed.html", context)
    add_never_cache_headers(response)
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def feed_revoke(request, feed_id: int) -> HttpResponse:
    target = return_target(request)
    feed = get_object_or_404(Feed, owner=request.user, pk=feed_id)
    if request.method == "POST":
        feed.delete()
        messages.success(request, gettext("Revoked: %(name)s.") % {"name": feed.name})
        return redirect(target.link_to("calendars"))
    context = {
        "title": gettext("Revoke %(name)s") % {"name": feed.name},
        "return_target": target,
        "action": target.link_to("feed-revoke", feed.pk),
        "keep_url": target.link_to("calendars"),
    }
    return render(request, "calendar/manage/feed_revoke.html", context)


# Import


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def import_(request) -> HttpResponse:
    """Report what an import would change, then import."""
    target, writable = return_target(request), Calendar.objects.visible_to(request.user, Role.OPERATOR)
    form = ImportForm(
        request.POST or None,
        request.FILES or None,
        calendars=writable.select_related("owner").order_by("-is_default", "name", "pk"),
        viewer=request.user,
        initial={"calendar": calendar_in(request)},
    )
    report = None
    if request.method == "POST" and form.is_valid():
        calendar, is_taking = form.cleaned_data["calendar"], "_take" in request.POST
        try:
            report = import_calendar(calendar, form.content, timezone.now(), dry_run=not is_taking, viewer=request.user)
        except CalendarError as error:
            form.add_error("file" if form.cleaned_data["file"] else "text", capfirst(error.message))
        else:
            if is_taking:
                messages.success(request, f"{calendar.name}: {', '.join(counts(report))}.")
                return redirect(target.link_to("calendars"))
    context = {
        "title": gettext("Import"),
        "form": form,
        "report": report and report_rows(report),
        "content": form.content if report else "",
        "return_target": target,
        "action": target.link_to("import"),
        "keep_url": target.link_to("calendars"),
    }
    return render(request, "calendar/manage/import.html", context)


def counts(report: Report) -> list[str]:
    """Return the number of lines by status, as in 12 taken, 1 changed, 2 refused."""
    return [f"{n} {STATUSES[status]}" for status in Status if (n := report.count(status))] or [gettext("nothing")]


def report_rows(report: Report) -> dict[str, Any]:
    return {
        "counts": ", ".join(counts(report)),
        "rows": [{"line": line, "word": STATUSES[line.status]} for line in report.lines[:REPORTED]],
        "more": max(0, len(report.lines) - REPORTED),
        "brings": any(line.status in (Status.TAKEN, Status.CHANGED) for line in report.lines),
    }


urlpatterns: list = [
    path("calendars/", calendars, name="calendars"),
    path("calendars/new", calendar_new, name="calendar-new"),
    path("calendars/<uuid:calendar_id>/edit", calendar_edit, name="calendar-edit"),
    path("calendars/<uuid:calendar_id>/people", calendar_people, name="calendar-people"),
    path("calendars/<uuid:calendar_id>/delete", calendar_delete, name="calendar-delete"),
    path("calendars/import", import_, name="import"),
    path("calendars/feeds/new", feed_new, name="feed-new"),
    path("calendars/feeds/<int:feed_id>/revoke", feed_revoke, name="feed-revoke"),
]
