"""Pages that list, create, change and delete calendars of closed days."""

import hashlib
import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Role, Subscription
from accounts.visibility import get_row_or_404, rows_visible_to, visible_subscription_names
from api.errors import RequestError
from operations.service import Caller
from recurrence.closed_days import WEEKDAYS
from recurrence.closed_days import ClosedDays as Days
from recurrence.wire import WireError
from recurrence.wire import closed_days as documents
from triggers import closed_days
from triggers.closed_days import COMPARED_DAYS, Comparison
from triggers.models import MAIN, ClosedDays, parse_event_days
from triggers.pages.closed_days_form import DAYS, ClosedDaysForm
from triggers.pages.places import place_name

DAY = timedelta(days=1)
LISTED = timedelta(days=365)  # coming closed days of a page
USERS_LISTED = 50
SOURCES_LISTED = 3  # public holidays in one line


@login_required
@require_safe
def calendars(request) -> HttpResponse:
    """List the calendars of closed days that the viewer sees; a subscription has at most 100."""
    subscriptions = visible_subscription_names(request.user)
    operated = visible_subscription_names(request.user, Role.OPERATOR)
    rows = ClosedDays.objects.filter(subscription__in=subscriptions).select_related("version")
    rows = rows.annotate(trigger_count=Count("versions__triggers")).order_by("name", "pk")
    today = timezone.localdate()
    context = {
        "title": gettext("Closed days"),
        "rows": [
            {
                "calendar": each,
                "subscription": subscriptions[each.subscription_id] if len(subscriptions) > 1 else "",
                "days": days_in_words(each.document),
                "next": next_named_day(each.days, today),
                "may_operate": each.subscription_id in operated,
            }
            for each in rows
        ],
        "may_make": bool(operated),
    }
    return render(request, "triggers/closed_days/list.html", context)


def days_in_words(document: Mapping[str, Any]) -> str:
    """Return what closes days, such as Saturday, Sunday; Germany: Berlin; 3 dates."""
    places = [place_name(each["country"], each.get("subdivision")) for each in document["holidays"]]
    if len(places) > SOURCES_LISTED:
        places[SOURCES_LISTED:] = [gettext("%(count)d more") % {"count": len(places) - SOURCES_LISTED}]
    count = len(document["dates"])
    parts = [
        ", ".join(str(DAYS[WEEKDAYS.index(each)]) for each in document["weekend"]),
        ", ".join(places),
        ngettext("%(count)d date", "%(count)d dates", count) % {"count": count} if count else "",
    ]
    return "; ".join(filter(None, parts)) or gettext("no day")


def next_named_day(days: Days, today: date) -> dict[str, Any] | None:
    return next(iter(coming_days(days, today)), None)


def coming_days(days: Days, today: date) -> list[dict[str, Any]]:
    """Return the closed days of the coming year that are not only days of the weekend.

    Days in a row with the same name are one item, from `day` to `last`.
    """
    found: list[dict[str, Any]] = []
    for each in days.closed_between(today, today + LISTED):
        name = each.name or gettext("closed")
        if each.source == "weekend":
            continue
        if found and found[-1]["last"] == each.day - DAY and found[-1]["name"] == name:
            found[-1]["last"] = each.day
        else:
            found.append({"day": each.day, "last": each.day, "name": name})
    return found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_new(request) -> HttpResponse:
    own = rows_visible_to(request.user, Subscription.objects.order_by("name"), Role.OPERATOR)
    if not own.exists():
        raise PermissionDenied
    form = ClosedDaysForm(request.POST or None, subscriptions=own)
    if request.method == "POST" and form.is_valid() and "preview" not in request.POST:
        try:
            calendar = closed_days.create(
                form.chosen_subscription, form.cleaned_data["name"], form.document, timezone.now(), request.user
            )
        except (RequestError, WireError) as error:
            form.refuse(error)
        else:
            messages.success(request, gettext("Created: %(name)s.") % {"name": calendar.name})
            return redirect("closed-days:calendar", calendar.pk)
    context = {"title": gettext("New calendar of closed days"), "form": form, **listed_days(form, None)}
    return render(request, "triggers/closed_days/form.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar(request, calendar_id: int) -> HttpResponse:
    """Show a calendar to readers; operators change it.  A change that moves fire times is saved when it was shown."""
    rows = ClosedDays.objects.select_related("version", "subscription")
    found = get_row_or_404(
        request.user, rows, Role.OPERATOR if request.method == "POST" else Role.READER, pk=calendar_id
    )
    may_operate = rows_visible_to(request.user, rows, Role.OPERATOR).filter(pk=found.pk).exists()
    form = ClosedDaysForm(request.POST or None, subscriptions=Subscription.objects.none(), calendar=found)
    comparison, now = None, timezone.now()
    if request.method == "POST" and form.is_valid():
        comparison = closed_days.compare(found, form.merged_document, request.user, now)
        is_shown = not comparison.triggers or request.POST.get("shown") == digest(form.document)
        if "preview" not in request.POST and is_shown and save(request, form, found, now):
            return redirect("closed-days:calendar", found.pk)
    users = closed_days.users_of(found)
    context = {
        "title": found.name,
        "form": form if may_operate else None,
        "calendar": found,
        "subtitle": days_in_words(found.document),
        "users": [
            {
                "job": each.job,
                "trigger": "" if each.name == MAIN else each.name,
                "next_fire_at": each.next_fire_at,
            }
            for each in users.select_related("job__collection").order_by("pk")[:USERS_LISTED]
        ],
        "user_count": users.count(),
        "effect": effect(comparison) if comparison else None,
        "shown": digest(form.document) if comparison else "",
        "compared_days": COMPARED_DAYS,
        **listed_days(form, found),
    }
    return render(request, "triggers/closed_days/form.html", context)


def save(request, form: ClosedDaysForm, found: ClosedDays, now: datetime) -> bool:
    """Save the calendar.  Return False if it is refused; the form has the reason."""
    try:
        with closed_days.locked(found) as stored:
            if str(stored.revision) != request.POST.get("revision"):
                form.add_error(None, gettext("It was changed in the meantime. Load the page again."))
                return False
            name = form.cleaned_data["name"]
            operation = closed_days.change(stored, form.merged_document, name, Caller(request.user), now)
    except ClosedDays.DoesNotExist:
        raise Http404 from None
    except (RequestError, WireError) as error:
        form.refuse(error)
        return False
    text = gettext("Saved.")
    if operation is not None:
        text = gettext("Saved. The next fire times are being recomputed.")
    messages.success(request, text)
    return True


def digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]


def listed_days(form: ClosedDaysForm, stored: ClosedDays | None) -> dict[str, Any]:
    """Return the coming closed days of the form if it is valid, else the stored ones."""
    today = timezone.localdate()
    if form.is_bound and form.is_valid():
        event_days = parse_event_days(stored.version.event_days) if stored and stored.version else {}
        return {"days": coming_days(documents.parse(form.merged_document, event_days), today)}
    return {"days": coming_days(stored.days, today) if stored else None}


def effect(comparison: Comparison) -> dict[str, Any]:
    """Return what a change does to fire times, for the page."""
    return {
        "is_complete": comparison.is_complete,
        "user_count": comparison.trigger_count,
        "rows": [
            {
                "trigger": each.trigger,
                "name": "" if each.trigger.name == MAIN else each.trigger.name,
                "words": changes_in_words(each.changes),
                "changes": each.changes,
            }
            for each in comparison.triggers
        ],
    }


def changes_in_words(changes) -> str:
    """Return the numbers of changes, such as 2 moved, 1 left out."""
    parts = [
        (changes.moved_count, ngettext("%(count)d moved", "%(count)d moved", changes.moved_count)),
        (changes.removed_count, ngettext("%(count)d left out", "%(count)d left out", changes.removed_count)),
        (changes.added_count, ngettext("%(count)d added", "%(count)d added", changes.added_count)),
    ]
    text = ", ".join(words % {"count": count} for count, words in parts if count)
    return text if changes.is_complete else gettext("%(text)s at least") % {"text": text or gettext("0 changed")}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def calendar_remove(request, calendar_id: int) -> HttpResponse:
    found = get_row_or_404(request.user, ClosedDays.objects, Role.OPERATOR, pk=calendar_id)
    count = closed_days.users_of(found).count()
    if request.method == "POST":
        try:
            with closed_days.locked(found) as stored:
                closed_days.delete(stored)
        except ClosedDays.DoesNotExist:
            raise Http404 from None
        except RequestError as error:
            messages.error(request, error.message)
            return redirect("closed-days:calendar", found.pk)
        messages.success(request, gettext("Removed: %(name)s.") % {"name": found.name})
        return redirect("closed-days:list")
    used = ngettext("%(count)d schedule names it.", "%(count)d schedules name it.", count) % {"count": count}
    advice = gettext("Change the schedules first.")
    context = {
        "title": gettext("Remove %(name)s?") % {"name": found.name},
        "calendar": found,
        "sentence": f"{used} {advice}" if count else gettext("No schedule names it."),
        "is_used": bool(count),
    }
    return render(request, "triggers/closed_days/remove.html", context)


app_name = "closed-days"
urlpatterns = [
    path("", calendars, name="list"),
    path("new", calendar_new, name="new"),
    path("<int:calendar_id>/", calendar, name="calendar"),
    path("<int:calendar_id>/remove", calendar_remove, name="remove"),
]
