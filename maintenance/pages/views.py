"""/maintenance/: what waits for approval, what is under way, and what happened; and one notice."""

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
from maintenance import lifecycle
from maintenance.models import Affected, Notice, Resource, Transition, View
from maintenance.pages.consequences import Consequences, consequences_of
from maintenance.pages.rights import seen_by, subscriptions_of
from maintenance.pages.rows import LISTED, notice_card, notice_row, resource_row, state_of, step_row, title_of

CARDS = 5  # notices that wait and are shown with what they affect; more are lines
LINES = 50  # of the table of those under way
RECENT = 20  # newest notices, besides those under way, among which the newest steps are looked for
PAGE = 20  # notices on a page of the history
AFFECTED = Prefetch("affected", Affected.objects.select_related("resource"))


@login_required
@require_safe
def page(request) -> HttpResponse:
    now, subscriptions = timezone.now(), subscriptions_of(request.user)
    operated = set(subscriptions_of(request.user, Role.OPERATOR))
    lifecycle.advance(now, Notice.objects.filter(subscription__in=subscriptions))
    shown = list(
        Notice.objects.filter(subscription__in=subscriptions, status__in=Notice.SHOWN)
        .order_by("not_before", "pk")
        .prefetch_related(AFFECTED)[: CARDS + LINES]
    )
    waiting = [notice for notice in shown if notice.status == Notice.Status.SCHEDULED][:CARDS]
    under_way = [notice for notice in shown if notice not in waiting]
    means, clock = consequences_of(shown, now), request.user.hour_cycle
    own = Resource.objects.filter(subscription__in=subscriptions)
    resources = list(own.order_by("scope_group", "name", "pk")[: LISTED + 1])
    context = {
        "title": gettext("Maintenance"),
        "now": now,
        "incarnation": incarnation_of(subscriptions),
        "cards": [
            {
                **notice_card(notice, means[notice.pk], now, clock, notice.subscription_id in operated),
                "subscription": subscriptions[notice.subscription_id] if len(subscriptions) > 1 else "",
            }
            for notice in waiting
        ],
        "under_way": [
            {
                **notice_row(notice, now, clock, notice.subscription_id in operated),
                "live": len(means[notice.pk].live),
                "held": means[notice.pk].held,
                "to_be_held": len(means[notice.pk].to_be_held),
                "subscription": subscriptions[notice.subscription_id] if len(subscriptions) > 1 else "",
            }
            for notice in under_way
        ],
        "steps": [
            {**step_row(step, now, clock), "title": title_of(step.notice)}
            for step in newest_steps(list(subscriptions), shown)
        ],
        "resources": [resource_row(each, now, each.subscription_id in operated) for each in resources[:LISTED]],
        "has_more_resources": len(resources) > LISTED,
        "may_announce": bool(operated),
        "is_member": bool(subscriptions),
    }
    return render(request, "maintenance/page.html", context)


def incarnation_of(subscriptions: dict[UUID, str]) -> int | None:
    """The number of the subscription's list; None where there are several, or nothing was announced yet."""
    if len(subscriptions) != 1:
        return None
    numbers = View.objects.filter(subscription__in=subscriptions, key=View.EVERYTHING)
    return numbers.values_list("incarnation", flat=True).first()


def newest_steps(subscriptions: Sequence[UUID], shown: Sequence[Notice]) -> list[Transition]:
    """The newest steps of notices that are under way or among the newest, oldest first."""
    recent = of_subscriptions(subscriptions).values_list("pk", flat=True)[:RECENT]
    among = {*recent, *(notice.pk for notice in shown)}
    steps = Transition.objects.filter(notice__in=among).order_by("-at", "-pk")
    return list(steps.select_related("notice").prefetch_related("notice__affected")[:LISTED])[::-1]


def of_subscriptions(subscriptions: Sequence[UUID]) -> QuerySet[Notice]:
    """Newest first.  With one subscription, as most have, its index answers what is newest."""
    rows = Notice.objects.order_by("-announced_at", "-pk")
    if len(subscriptions) == 1:
        return rows.filter(subscription=subscriptions[0])
    return rows.filter(subscription__in=subscriptions)


@login_required
@require_safe
def notice(request, notice_id: UUID) -> HttpResponse:
    """One notice: what it affects while it is not over, every step of it, and who has approved it."""
    now, subscriptions = timezone.now(), subscriptions_of(request.user)
    lifecycle.advance(now, Notice.objects.filter(subscription__in=subscriptions))
    rows = seen_by(request.user, Notice.objects).prefetch_related(AFFECTED, "transitions")
    found = get_object_or_404(rows, pk=notice_id)
    may_operate = found.subscription_id in subscriptions_of(request.user, Role.OPERATOR)
    means = consequences_of([found], now)[found.pk] if found.status in Notice.SHOWN else Consequences()
    approvals = found.approvals.select_related("user", "resource").order_by("at", "pk")
    context = {
        "title": title_of(found),
        "card": notice_card(found, means, now, request.user.hour_cycle, may_operate),
        "state": state_of(found),
        "steps": [step_row(step, now, request.user.hour_cycle) for step in found.transitions.all()],
        "approvals": [str(each.resource or each.user or gettext("somebody who is gone")) for each in approvals],
        "subscription": subscriptions[found.subscription_id] if len(subscriptions) > 1 else "",
        "now": now,
    }
    return render(request, "maintenance/notice.html", context)


@login_required
@require_safe
def history(request) -> HttpResponse:
    """Every notice with its steps, newest first.  `before` is the last notice of the page before."""
    now, subscriptions = timezone.now(), subscriptions_of(request.user)
    lifecycle.advance(now, Notice.objects.filter(subscription__in=subscriptions))
    rows = of_subscriptions(list(subscriptions))
    before = last_of(rows, request.GET.get("before", ""))
    if before is not None:
        at_once = Q(announced_at=before.announced_at, pk__lt=before.pk)
        rows = rows.filter(Q(announced_at__lt=before.announced_at) | at_once)
    found = list(rows.prefetch_related("affected", "transitions")[: PAGE + 1])
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


def last_of(rows: QuerySet[Notice], text: str) -> Notice | None:
    try:
        return rows.filter(pk=UUID(text)).first() if text else None
    except ValueError:
        return None


urlpatterns = [
    path("", page, name="page"),
    path("history/", history, name="history"),
    path("notices/<uuid:notice_id>/", notice, name="notice"),
]
