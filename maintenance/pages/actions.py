"""Announce maintenance, change a notice, and carry out actions on it.

Each action asks for confirmation first, because no action can be undone.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.models import Role
from accounts.visibility import get_row_or_404, rows_visible_to, visible_subscription_names
from jobs import humanize
from maintenance import lifecycle
from maintenance.errors import MaintenanceError, TooLate
from maintenance.models import MINIMUM_NOTICE, Notice, NoticePhase, Resource
from maintenance.pages.forms import PICKED_MOST, AnnounceForm, ChangeForm, refuse, suggested_time
from maintenance.pages.impact import impact_of
from maintenance.pages.presenters import title_of, type_word


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def announce(request) -> HttpResponse:
    """Announce maintenance.  If the notice is shorter than the minimum of its type, ask for confirmation first."""
    if not visible_subscription_names(request.user, Role.OPERATOR):
        raise PermissionDenied
    now = timezone.now()
    own = rows_visible_to(request.user, Resource.objects.select_related("subscription"), Role.OPERATOR)
    resources = list(own.order_by("subscription__name", "scope_group", "name")[: PICKED_MOST + 1])
    form = AnnounceForm(
        request.POST or None,
        resources=resources[:PICKED_MOST],
        now=now,
        initial={"not_before": suggested_time(now), "resources": request.GET.getlist("resource")},
    )
    warning = ""
    if request.method == "POST" and form.is_valid():
        try:
            wanted = form.announcement()
            wanted.start_time(now)
            warning = short_notice_words(wanted) if lifecycle.notice_warning(wanted, now) else ""
            if not warning or "_anyway" in request.POST:
                subscription = wanted.resources[0].subscription
                notice = lifecycle.announce(subscription, wanted, str(request.user), now)
                messages.success(request, gettext("Announced: %(notice)s.") % {"notice": title_of(notice)})
                return redirect("maintenance:page")
        except MaintenanceError as error:
            refuse(form, error)
            warning = ""
    context = {
        "title": gettext("Announce maintenance"),
        "form": form,
        "warning": warning,
        "has_resources": bool(resources),
        "is_cut": len(resources) > PICKED_MOST,
        "most": PICKED_MOST,
    }
    return render(request, "maintenance/announce.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def change(request, notice_id: UUID) -> HttpResponse:
    """Change a notice that has not started.  Machines that poll see the changes."""
    now = timezone.now()
    notice = current_notice(request, get_row_or_404(request.user, Notice.objects, Role.OPERATOR, pk=notice_id), now)
    if notice.status != Notice.Status.SCHEDULED:
        return too_late(request, notice)
    own = Resource.objects.filter(subscription=notice.subscription_id).select_related("subscription")
    picked = list(own.filter(notices=notice))
    others = own.exclude(pk__in=[each.pk for each in picked]).order_by("scope_group", "name")[:PICKED_MOST]
    form = ChangeForm(request.POST or None, notice=notice, resources=[*picked, *others], now=now)
    if request.method == "POST" and form.is_valid():
        try:
            lifecycle.change(notice, form.changes(), str(request.user), now)
        except MaintenanceError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Saved."))
            return redirect("maintenance:notice", notice.pk)
    context = {
        "title": gettext("Change %(notice)s") % {"notice": title_of(notice)},
        "form": form,
        "has_resources": True,
        "notice": notice,
    }
    return render(request, "maintenance/announce.html", context)


def current_notice(request, notice: Notice, now: datetime) -> Notice:
    """Return the notice with the steps that time has brought about.

    A GET only shows these steps; a POST takes them first.
    """
    if request.method == "POST":
        lifecycle.advance(now, Notice.objects.filter(pk=notice.pk))
        notice.refresh_from_db()
    return notice.as_of(now)


def too_late(request, notice: Notice) -> HttpResponse:
    messages.warning(request, gettext("Someone else changed the notice first. This is its current state."))
    return redirect("maintenance:notice", notice.pk)


def short_notice_words(wanted: lifecycle.Announcement) -> str:
    minimum = humanize.format_duration(MINIMUM_NOTICE[wanted.event_type])
    values = {"type": type_word(wanted.event_type), "span": minimum}
    return gettext("%(type)s requires %(span)s of notice. This start time gives less.") % values


# Actions


class NoticeAction(NamedTuple):
    """An action on a notice, with the texts of its confirmation page."""

    apply: Callable[[Notice, Any, datetime], object]  # carries it out for the notice and the user, at a time
    required_status: str  # the status that a notice must have
    title: Promise
    confirm_text: Promise
    cancel_text: Promise
    success_text: Promise
    is_dangerous: bool = False


def approve(notice: Notice, user, now: datetime) -> None:
    lifecycle.approve([notice], str(user), now, user=user)
    if notice.status not in Notice.ACTIVE:  # a person is told that it is too late, a machine is not
        raise TooLate(f"it is {notice.status}")


def complete(notice: Notice, user, now: datetime) -> None:
    lifecycle.complete(notice, str(user), now)


def cancel(notice: Notice, user, now: datetime) -> None:
    lifecycle.cancel(notice, str(user), now)


def drain(notice: Notice, user, now: datetime) -> None:
    lifecycle.change(notice, {"approve_when_idle": True}, str(user), now)


ACTIONS = {
    "approve": NoticeAction(
        approve,
        Notice.Status.SCHEDULED,
        _("Approve %(notice)s?"),
        _("Approve"),
        _("Cancel"),
        _("Approved: %(notice)s."),
    ),
    "drain": NoticeAction(
        drain,
        Notice.Status.SCHEDULED,
        _("Approve %(notice)s when idle?"),
        _("Approve when idle"),
        _("Cancel"),
        _("Starts when the last run has ended: %(notice)s."),
    ),
    "complete": NoticeAction(
        complete,
        Notice.Status.STARTED,
        _("Complete %(notice)s?"),
        _("Complete"),
        _("Keep open"),
        _("Completed: %(notice)s."),
    ),
    "cancel": NoticeAction(
        cancel,
        Notice.Status.SCHEDULED,
        _("Cancel %(notice)s?"),
        _("Cancel notice"),
        _("Keep it"),
        _("Cancelled: %(notice)s."),
        is_dangerous=True,
    ),
}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_view(request, notice_id: UUID, verb: str) -> HttpResponse:
    if verb not in ACTIONS:
        raise Http404
    action, now = ACTIONS[verb], timezone.now()
    notice = current_notice(request, get_row_or_404(request.user, Notice.objects, Role.OPERATOR, pk=notice_id), now)
    values = {"notice": title_of(notice)}
    if request.method == "POST":
        try:
            action.apply(notice, request.user, now)
        except TooLate:
            return too_late(request, notice)
        messages.success(request, action.success_text % values)
        return redirect("maintenance:page")
    if notice.status != action.required_status:
        return too_late(request, notice)
    context = {
        "title": action.title % values,
        "consequences": consequence_words(notice, verb, now),
        "cancel_url": reverse("maintenance:notice", args=[notice.pk]),
        "cancel_text": action.cancel_text,
        "confirm_text": action.confirm_text,
        "is_dangerous": action.is_dangerous,
    }
    return render(request, "maintenance/confirm.html", context)


PHASES = {"approve": NoticePhase.START, "complete": NoticePhase.COMPLETE, "cancel": NoticePhase.CANCEL}


def consequence_words(notice: Notice, verb: str, now: datetime) -> list[str]:
    """Return the sentences that say what the action will do, with the numbers of runs and jobs."""
    impact = impact_of([notice], now)[notice.pk]
    live, held = len(impact.running), impact.held_run_count
    going = ngettext(
        "%(count)d run is in progress on its resources.", "%(count)d runs are in progress on its resources.", live
    )
    if verb == "drain":
        now_going = going % {"count": live} if live else gettext("No run is in progress on its resources.")
        return [gettext("Until it starts, no new run starts on its resources."), now_going]
    sentences = {
        "approve": gettext("Maintenance starts immediately for all its resources. This cannot be undone."),
        "complete": gettext("Resources that poll see that the maintenance is over, and resume work."),
        "cancel": gettext("The notice is withdrawn. Resources that poll no longer see it."),
    }
    holding = ngettext(
        "Planned runs of %(count)d job are held until the maintenance ends.",
        "Planned runs of %(count)d jobs are held until the maintenance ends.",
        impact.holding_job_count,
    )
    releasing = ngettext(
        "%(count)d held run is released as its job's policy says.",
        "%(count)d held runs are released as their jobs' policies say.",
        held,
    )
    started = impact.started_job_counts[PHASES[verb]]
    starting = ngettext(
        "%(count)d job runs once as its policy says.", "%(count)d jobs run once as their policies say.", started
    )
    counted = [(live, going), (impact.holding_job_count, holding)] if verb == "approve" else [(held, releasing)]
    return [sentences[verb], *(text % {"count": count} for count, text in [*counted, (started, starting)] if count)]


urlpatterns = [
    path("announce", announce, name="announce"),
    path("notices/<uuid:notice_id>/change", change, name="change"),
    path("notices/<uuid:notice_id>/<slug:verb>", confirm_view, name="order"),
]
