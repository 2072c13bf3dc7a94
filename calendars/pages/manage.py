"""What belongs to calendars: their names and hues, who else sees them, feeds, and import."""

from typing import Any
from uuid import UUID

from django.conf import settings
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
from calendars import editing, feeds, sharing
from calendars.errors import CalendarError
from calendars.import_report import Report, Status
from calendars.importing import import_calendar
from calendars.models import Calendar, Feed, Hue, Share
from calendars.pages.filters import Filter
from calendars.pages.manage_forms import HUES, ROLES, CalendarForm, FeedForm, ImportForm, ShareForm, person_words
from calendars.pages.whence import Whence, whence_of
from jobs.models import JobCollection

REPORTED = 500  # lines of a report on a page
STATUSES = {
    Status.TAKEN: _("taken"),
    Status.CHANGED: _("changed"),
    Status.UNCHANGED: _("as it was"),
    Status.REFUSED: _("refused"),
}


@login_required
@require_safe
def calendars(request) -> HttpResponse:
    """Every calendar that the viewer sees, and the addresses at which programs read for them."""
    whence = whence_of(request)
    own = Calendar.objects.filter(owner=request.user).prefetch_related("shares").order_by("-is_default", "name", "pk")
    seen = Calendar.objects.visible_to(request.user).exclude(owner=request.user)
    shared = Share.objects.filter(user=request.user, calendar__in=seen).select_related("calendar__owner")
    context = {
        "title": gettext("Calendars"),
        "whence": whence,
        "own": [own_row(calendar, whence) for calendar in own],
        "shared": [
            {
                "calendar": each.calendar,
                "owner": person_words(each.calendar.owner),
                "may": ROLES[Role(each.role)],
                "feed_url": whence.to("feed-new", calendar=each.calendar_id.hex),
            }
            for each in shared.order_by("calendar__name", "pk")
        ],
        "feeds": [feed_row(feed, whence) for feed in feeds_of(request.user)],
        "urls": urls(whence, ("calendar-new", "import", "feed-new")),
    }
    return render(request, "calendar/manage/calendars.html", context)


def urls(whence: Whence, names: tuple[str, ...]) -> dict[str, str]:
    return {name.replace("-", "_"): whence.to(name) for name in names}


def own_row(calendar: Calendar, whence: Whence) -> dict[str, Any]:
    return {"calendar": calendar, "people": people_words(calendar), "url": whence.to("calendar-edit", calendar.pk)}


def people_words(calendar: Calendar) -> str:
    """2 see it, 1 changes its events."""
    roles = [share.role for share in calendar.shares.all()]
    readers, editors = roles.count(Role.READER), roles.count(Role.OPERATOR)
    said = [
        ngettext("%d sees it", "%d see it", readers) % readers if readers else "",
        ngettext("%d changes its events", "%d change its events", editors) % editors if editors else "",
    ]
    return ", ".join(filter(None, said)) or gettext("nobody else")


def feeds_of(user):
    return Feed.objects.filter(owner=user).select_related("calendar").order_by("-created_at", "-pk")


def feed_row(feed: Feed, whence: Whence) -> dict[str, Any]:
    of = gettext("calendar %(name)s") % {"name": feed.calendar.name} if feed.calendar else gettext("a view")
    return {"feed": feed, "of": of, "url": whence.to("feed-revoke", feed.pk)}


# One calendar


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_new(request) -> HttpResponse:
    whence = whence_of(request)
    form = CalendarForm(request.POST or None, initial={"hue": unused_hue(request.user)})
    if request.method == "POST" and form.is_valid():
        try:
            calendar = editing.create_calendar(request.user, **form.cleaned_data, now=timezone.now())
        except CalendarError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Created: %(name)s.") % {"name": calendar.name})
            return redirect(whence.to("calendar-edit", calendar.pk))
    context = {
        "title": gettext("New calendar"),
        "form": form,
        "whence": whence,
        "action": whence.to("calendar-new"),
        "keep_url": whence.to("calendars"),
    }
    return render(request, "calendar/manage/calendar_new.html", context)


def unused_hue(user) -> str:
    used = set(Calendar.objects.visible_to(user).values_list("hue", flat=True))
    return next((hue for hue in HUES if hue not in used), Hue.SKY).value


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_edit(request, calendar_id: UUID) -> HttpResponse:
    """Its name and hue, who else sees it, and where programs read it."""
    whence, calendar = whence_of(request), own_calendar(request, calendar_id)
    form = CalendarForm(request.POST or None, initial={"name": calendar.name, "hue": calendar.hue})
    if request.method == "POST" and form.is_valid():
        try:
            editing.change_calendar(calendar, form.cleaned_data, timezone.now())
        except CalendarError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Saved."))
            return redirect(whence.to("calendar-edit", calendar.pk))
    return edit_page(request, calendar, form, ShareForm(people=strangers(calendar)), whence)


def edit_page(request, calendar: Calendar, form: CalendarForm, share_form: ShareForm, whence: Whence) -> HttpResponse:
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
        "has_strangers": strangers(calendar).exists(),
        "feeds": [feed_row(feed, whence) for feed in feeds_of(request.user).filter(calendar=calendar)],
        "whence": whence,
        "keep_url": whence.to("calendars"),
        "action": whence.to("calendar-edit", calendar.pk),
        "people_url": whence.to("calendar-people", calendar.pk),
        "delete_url": "" if calendar.is_default else whence.to("calendar-delete", calendar.pk),
        "feed_url": whence.to("feed-new", calendar=calendar.pk.hex),
        "import_url": whence.to("import", calendar=calendar.pk.hex),
    }
    return render(request, "calendar/manage/calendar_edit.html", context)


def own_calendar(request, calendar_id: UUID) -> Calendar:
    """Raises Http404 for what the viewer does not see, and PermissionDenied for the calendar of somebody else."""
    calendar = get_object_or_404(Calendar.objects.visible_to(request.user), pk=calendar_id)
    if calendar.owner_id != request.user.pk:
        raise PermissionDenied
    return calendar


def strangers(calendar: Calendar):
    """People who could be let in."""
    return sharing.people_to_share_with(calendar.owner).exclude(shared_calendars__calendar=calendar)


def refuse(form, error: CalendarError) -> None:
    form.add_error(error.path if error.path in form.fields else None, capfirst(error.message))


@login_required
@require_POST
def calendar_people(request, calendar_id: UUID) -> HttpResponse:
    """Let somebody in, with another role, or out again (`remove`)."""
    whence, calendar = whence_of(request), own_calendar(request, calendar_id)
    back = redirect(whence.to("calendar-edit", calendar.pk))
    if removed := request.POST.get("remove", ""):
        person = User.objects.filter(shared_calendars__calendar=calendar, pk=number(removed)).first()
        if person is not None:
            sharing.unshare(calendar, person)
            messages.success(request, gettext("%(person)s sees it no more.") % {"person": person_words(person)})
        return back
    form = ShareForm(request.POST, people=sharing.people_to_share_with(calendar.owner))
    if not form.is_valid():
        initial = {"name": calendar.name, "hue": calendar.hue}
        return edit_page(request, calendar, CalendarForm(initial=initial), form, whence)
    person, role = form.cleaned_data["person"], Role(form.cleaned_data["role"])
    sharing.share(calendar, person, role)
    messages.success(request, f"{person_words(person)}: {ROLES[role]}.")
    return back


def number(text: str) -> int:
    """A key as a form sends it; 0, which nothing has, for what is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else 0


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_delete(request, calendar_id: UUID) -> HttpResponse:
    whence, calendar = whence_of(request), own_calendar(request, calendar_id)
    if request.method == "POST":
        try:
            editing.delete_calendar(calendar, timezone.now())
        except CalendarError as error:
            messages.error(request, capfirst(error.message) + ".")
            return redirect(whence.to("calendar-edit", calendar.pk))
        messages.success(request, gettext("Deleted: %(name)s.") % {"name": calendar.name})
        return redirect(whence.to("calendars"))
    count = calendar.events.count()
    people = calendar.shares.count()
    context = {
        "title": gettext("Delete %(name)s") % {"name": calendar.name},
        "question": gettext("Delete %(name)s?") % {"name": calendar.name},
        "events": ngettext("%(count)d event or series", "%(count)d events and series", count) % {"count": count},
        "people": ngettext("%(count)d person", "%(count)d people", people) % {"count": people} if people else "",
        "answer": gettext("Delete calendar"),
        "action": whence.to("calendar-delete", calendar.pk),
        "keep_url": whence.to("calendar-edit", calendar.pk),
        "list_url": whence.to("calendars"),
        "whence": whence,
    }
    return render(request, "calendar/manage/calendar_delete.html", context)


# Feeds


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def feed_new(request) -> HttpResponse:
    """Make the address of a calendar (`calendar`), or of what the view that one came from shows."""
    whence = whence_of(request)
    calendar = calendar_in(request)
    form = FeedForm(request.POST or None, initial={"name": calendar.name if calendar else gettext("My calendar")})
    if request.method == "POST" and form.is_valid():
        of = {"calendar": calendar} if calendar else {"query": query_of(whence.query.filter, request.user)}
        try:
            feed, secret = feeds.make(request.user, form.cleaned_data["name"], timezone.now(), **of)
        except CalendarError as error:
            refuse(form, error)
        else:
            return issued(request, feed, secret, whence)
    said = {"calendar": calendar.pk.hex} if calendar else {}
    context = {
        "title": gettext("New feed address"),
        "form": form,
        "whence": whence,
        "what": contained(calendar, whence.query.filter, request.user),
        "action": whence.to("feed-new", **said),
        "keep_url": whence.to("calendars"),
    }
    return render(request, "calendar/manage/feed_new.html", context)


def calendar_in(request) -> Calendar | None:
    """Raises Http404 for one that the viewer does not see."""
    text = request.GET.get("calendar", "")
    if not text:
        return None
    try:
        key = UUID(text)
    except ValueError:
        key = None
    return get_object_or_404(Calendar.objects.visible_to(request.user), pk=key)


def query_of(chosen: Filter, user) -> dict[str, Any]:
    """What a filter of the page leaves, as a feed keeps it: all that there is, or those that are chosen."""
    calendars = Calendar.objects.visible_to(user).exclude(pk__in=chosen.off)
    collections = JobCollection.objects.visible_to(user).exclude(pk__in=chosen.noruns)
    listed = list(collections.values_list("pk", flat=True))
    return {
        "calendars": [str(key) for key in calendars.values_list("pk", flat=True)] if chosen.off else None,
        "collections": listed if chosen.noruns else None,
        "runs": bool(listed),
    }


def contained(calendar: Calendar | None, chosen: Filter, user) -> list[str]:
    """What the feed shows, name by name."""
    if calendar is not None:
        return [calendar.name]
    names = list(
        Calendar.objects.visible_to(user).exclude(pk__in=chosen.off).order_by("name").values_list("name", flat=True)
    )
    collections = JobCollection.objects.visible_to(user).exclude(pk__in=chosen.noruns).order_by("name")
    return [*names, *(gettext("runs of %(name)s") % {"name": each.name} for each in collections)]


def issued(request, feed: Feed, secret: str, whence: Whence) -> HttpResponse:
    """The address, this once; it is in no message, session or cookie."""
    address = reverse("calendar:feed", args=[secret])
    absolute = settings.PUBLIC_URL + address if settings.PUBLIC_URL else request.build_absolute_uri(address)
    context = {"title": feed.name, "address": absolute, "back": whence.to("calendars"), "whence": whence}
    response = render(request, "calendar/manage/feed.html", context)
    add_never_cache_headers(response)
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def feed_revoke(request, feed_id: int) -> HttpResponse:
    whence = whence_of(request)
    feed = get_object_or_404(Feed, owner=request.user, pk=feed_id)
    if request.method == "POST":
        feed.delete()
        messages.success(request, gettext("Revoked: %(name)s.") % {"name": feed.name})
        return redirect(whence.to("calendars"))
    context = {
        "title": gettext("Revoke %(name)s") % {"name": feed.name},
        "whence": whence,
        "action": whence.to("feed-revoke", feed.pk),
        "keep_url": whence.to("calendars"),
    }
    return render(request, "calendar/manage/feed_revoke.html", context)


# Import


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def import_(request) -> HttpResponse:
    """Report first what would become of a file, then take it."""
    whence, writable = whence_of(request), Calendar.objects.visible_to(request.user, Role.OPERATOR)
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
                return redirect(whence.to("calendars"))
    context = {
        "title": gettext("Import"),
        "form": form,
        "report": report and report_rows(report),
        "content": form.content if report else "",
        "whence": whence,
        "action": whence.to("import"),
        "keep_url": whence.to("calendars"),
    }
    return render(request, "calendar/manage/import.html", context)


def counts(report: Report) -> list[str]:
    """12 taken, 1 changed, 2 refused."""
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
