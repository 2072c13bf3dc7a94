"""Pages below /maintenance/ that only show: the overview, the history, and one notice."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import Role
from accounts.visibility import rows_visible_to, visible_subscription_names
from maintenance.models import EventScope, Notice, NoticeResource, Resource, Transition
from maintenance.pages.impact import Impact, impact_of
from maintenance.pages.presenters import LISTED, notice_card, notice_row, resource_row, state_of, step_row, title_of

CARDS = 5  # scheduled notices that are shown as cards; more of them are lines of the table
LINES = 50  # lines of the table of notices under way
RECENT = 20  # newest notices whose steps are shown, as well as the steps of notices under way
PAGE = 20  # notices on a page of the history
AFFECTED = Prefetch("affected_resources", NoticeResource.objects.select_related("resource"))


@login_required
@require_safe
def overview(request) -> HttpResponse:
    now, subscriptions = timezone.now(), visible_subscription_names(request.user)
    operated = set(visible_subscription_names(request.user, Role.OPERATOR))
    rows = (
        Notice.objects.filter(subscription__in=subscriptions, status__in=Notice.ACTIVE)
        .order_by("not_before", "pk")
        .prefetch_related(AFFECTED)[: CARDS + LINES]
    )
    shown = [notice for row in rows if (notice := row.as_of(now)).status in Notice.ACTIVE]
    waiting = [notice for notice in shown if notice.status == Notice.Status.SCHEDULED][:CARDS]
    under_way = [notice for notice in shown if notice not in waiting]
    impacts, clock = impact_of(shown, now), request.user.hour_cycle
    own = Resource.objects.filter(subscription__in=subscriptions)
    resources = list(own.order_by("scope_group", "name", "pk")[: LISTED + 1])
    context = {
        "title": gettext("Maintenance"),
        "now": now,
        "incarnation": incarnation_of(subscriptions),
        "cards": [
            {
                **notice_card(notice, impacts[notice.pk], now, clock, notice.subscription_id in operated),
                "subscription": subscriptions[notice.subscription_id] if len(subscriptions) > 1 else "",
            }
            for notice in waiting
        ],
        "under_way": [
            {
                **notice_row(notice, now, clock, notice.subscription_id in operated),
                "live": len(impacts[notice.pk].running),
                "held": impacts[notice.pk].held_run_count,
                "to_be_held": len(impacts[notice.pk].upcoming_holds),
                "subscription": subscriptions[notice.subscription_id] if len(subscriptions) > 1 else "",
            }
            for notice in under_way
        ],
        "steps": [
            {**step_row(step, now, clock), "title": title_of(step.notice)}
            for step in latest_transitions(list(subscriptions), shown)
        ],
        "resources": [resource_row(each, now, each.subscription_id in operated) for each in resources[:LISTED]],
        "has_more_resources": len(resources) > LISTED,
        "may_announce": bool(operated),
        "is_member": bool(subscriptions),
    }
    return render(request, "maintenance/page.html", context)


def incarnation_of(subscriptions: dict[UUID, str]) -> int | None:
    """Return the incarnation of the subscription's list of notices.

    None: there is not exactly one subscription, or nothing was announced yet.
    """
    if len(subscriptions) != 1:
        return None
    scopes = EventScope.objects.filter(subscription__in=subscriptions, scope_key=EventScope.EVERYTHING)
    return scopes.values_list("incarnation", flat=True).first()


def latest_transitions(subscriptions: Sequence[UUID], shown: Sequence[Notice]) -> list[Transition]:
    """Return the newest steps of the notices in `shown` and of the newest notices, oldest step first."""
    recent = of_subscriptions(subscriptions).values_list("pk", flat=True)[:RECENT]
    notice_ids = {*recent, *(notice.pk for notice in shown)}
    steps = Transition.objects.filter(notice__in=notice_ids).order_by("-at", "-pk")
    return list(steps.select_related("notice").prefetch_related("notice__affected_resources")[:LISTED])[::-1]


def of_subscriptions(subscriptions: Sequence[UUID]) -> QuerySet[Notice]:
    """Return the notices of the subscriptions, newest first.

    Most users have one subscription.  Then the filter is an equality, so that the index gives the newest notices.
    """
    rows = Notice.objects.order_by("-announced_at", "-pk")
    if len(subscriptions) == 1:
        return rows.filter(subscription=subscriptions[0])
    return rows.filter(subscription__in=subscriptions)


@login_required
@require_safe
def notice(request, notice_id: UUID) -> HttpResponse:
    """Show one notice: its impact while it is not over, all its steps, and its approvals."""
    now, subscriptions = timezone.now(), visible_subscription_names(request.user)
    rows = rows_visible_to(request.user, Notice.objects).prefetch_related(AFFECTED, "transitions")
    found = get_object_or_404(rows, pk=notice_id).as_of(now)
    may_operate = found.subscription_id in visible_subscription_names(request.user, Role.OPERATOR)
    impact = impact_of([found], now)[found.pk] if found.status in Notice.ACTIVE else Impact()
    approvals = found.approvals.select_related("user", "resource").order_by("at", "pk")
    context = {
        "title": title_of(found),
        "card": notice_card(found, impact, now, request.user.hour_cycle, may_operate),
        "state": state_of(found),
        "steps": [step_row(step, now, request.user.hour_cycle) for step in found.transitions.all()],
        "approvals": [str(each.resource or each.user or gettext("a deleted user")) for each in approvals],
        "subscription": subscriptions[found.subscription_id] if len(subscriptions) > 1 else "",
        "now": now,
    }
    return render(request, "maintenance/notice.html", context)


@login_required
@require_safe
def history(request) -> HttpResponse:
    """List all notices with their steps, newest first.

    The query parameter `before` is the id of the last notice on the page before.
    """
    now, subscriptions = timezone.now(), visible_subscription_names(request.user)
    rows = of_subscriptions(list(subscriptions))
    before = cursor_of(rows, request.GET.get("before", ""))
    if before is not None:
        at_same_time = Q(announced_at=before.announced_at, pk__lt=before.pk)
        rows = rows.filter(Q(announced_at__lt=before.announced_at) | at_same_time)
    found = [row.as_of(now) for row in rows.prefetch_related("affected_resources", "transitions")[: PAGE + 1]]
    clock = request.user.hour_cycle
    context: dict[str, Any] = {
        "title": gettext("History"),
        "rows": [
            {
                **notice_row(each, now, clock, may_operate=False),
                "steps": [step_row(step, now, clock) for step in each.transitions.all()],
                "subscription": subscriptions[each.subscription_id] if len(subscriptions) > 1 else "",
            }
            for each in found[:PAGE]
        ],
        "older": f"{reverse('maintenance:history')}?before={found[PAGE - 1].pk}" if len(found) > PAGE else "",
        "is_first_page": before is None,
        "now": now,
    }
    return render(request, "maintenance/history.html", context)


def cursor_of(rows: QuerySet[Notice], text: str) -> Notice | None:
    try:
        return rows.filter(pk=UUID(text)).first() if text else None
    except ValueError:
        return None


urlpatterns = [
    path("", overview, name="page"),
    path("history/", history, name="history"),
    path("notices/<uuid:notice_id>/", notice, name="notice"),
]
