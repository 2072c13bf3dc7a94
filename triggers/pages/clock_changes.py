"""The page of the coming clock changes, which also changes the rule of several triggers."""

from collections import Counter
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.models import Role
from accounts.visibility import rows_visible_to, visible_subscription_names
from api.errors import RequestError
from recurrence.clock_effects import ClockEffect, Effect
from recurrence.english_words import clock
from recurrence.wire import WireError
from recurrence.zones import DAY
from triggers.clock_rules import MOST_TRIGGERS, FiringTrigger, TouchedTriggers, coming_changes, set_clock_rule
from triggers.models import MAIN, Trigger

DAYS = timedelta(days=400)
MOST_CHANGED = 100  # triggers whose rule one request changes
EFFECTS: dict[Effect, tuple[str, Promise]] = {
    Effect.LEFT_OUT: ("missed", _("Left out")),
    Effect.MOVED: ("late", _("Moved")),
    Effect.DOUBLED: ("late", _("Runs twice")),
    Effect.NONE: ("success", _("No change")),
}
RULES: dict[str, tuple[Promise, object]] = {
    "cron": (_("cron: fire skipped times at the end of the gap, repeated times once, intervals evenly"), "cron"),
    "quartz": (_("Quartz: leave skipped times out, fire repeated times the second time"), "quartz"),
    "shift": (
        _("Shift: fire skipped times later by the size of the gap, repeated times the first time"),
        {"gap": "shift", "repeat": "first"},
    ),
    "skip": (
        _("Skip: leave skipped times out, fire repeated times the first time"),
        {"gap": "skip", "repeat": "first"},
    ),
    "both": (
        _("Both: fire skipped times at the end of the gap, repeated times both times"),
        {"gap": "next", "repeat": "both"},
    ),
}


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def clock_changes(request) -> HttpResponse:
    if request.method == "POST":
        change_rules(request)
        return redirect(reverse("clock-changes"))
    now = timezone.now()
    changes, is_complete = coming_changes(rows_visible_to(request.user, Trigger.objects.all()), now, now + DAYS)
    operated = set(visible_subscription_names(request.user, Role.OPERATOR))
    rows = [change_row(each, operated) for each in changes]
    context = {
        "title": gettext("Clock changes"),
        "rows": rows,
        "rules": [(name, label) for name, (label, _rule) in RULES.items()],
        "may_operate": any(trigger["may_operate"] for row in rows for trigger in row["triggers"]),
        "is_complete": is_complete,
        "limit": MOST_TRIGGERS,
    }
    return render(request, "triggers/clock_changes.html", context)


def change_row(touched: TouchedTriggers, operated: set) -> dict[str, Any]:
    change = touched.change
    low, high = clock(change.first % DAY), clock(change.beyond % DAY)
    counts = Counter(effect.effect for _trigger, effect in touched.effects)
    return {
        "at": change.at,
        "local": change.at.astimezone(change.zone),
        "zone": str(change.zone).replace("_", " "),
        "is_gap": change.is_gap,
        "low": low,
        "high": high,
        "counts": [(EFFECTS[effect][1], counts[effect]) for effect in Effect if counts[effect]],
        "triggers": [trigger_row(*each, operated) for each in touched.effects],
    }


def trigger_row(trigger: FiringTrigger, effect: ClockEffect, operated: set) -> dict[str, Any]:
    state, word = EFFECTS[effect.effect]
    return {
        "trigger": trigger,
        "is_main": trigger.name == MAIN,
        "state": state,
        "word": word,
        "text": effect.text.partition(": ")[2],
        "may_operate": trigger.subscription_id in operated,
    }


def change_rules(request) -> None:
    """Give the chosen triggers the chosen rule, each in its own transaction, and report what was done."""
    chosen = [int(key) for key in dict.fromkeys(request.POST.getlist("trigger")) if key.isdecimal() and len(key) < 19]
    found = rows_visible_to(request.user, Trigger.objects.select_related("job__collection"), Role.OPERATOR)
    triggers = list(found.filter(pk__in=chosen[: MOST_CHANGED + 1]).order_by("pk"))
    rule = RULES.get(request.POST.get("rule", ""))
    if rule is None or not triggers:
        messages.error(request, gettext("Choose triggers and a rule."))
        return
    if len(triggers) > MOST_CHANGED:
        messages.error(request, gettext("Choose at most %(count)d triggers at once.") % {"count": MOST_CHANGED})
        return
    changed = 0
    for trigger in triggers:
        try:
            set_clock_rule(trigger, rule[1], timezone.now())
            changed += 1
        except (RequestError, WireError) as error:
            names = {"job": trigger.job.name, "trigger": trigger.name, "error": error}
            messages.error(request, gettext("%(job)s, trigger %(trigger)s: %(error)s") % names)
    if changed:
        text = ngettext(
            "The rule of %(count)d trigger was changed.", "The rule of %(count)d triggers was changed.", changed
        )
        messages.success(request, text % {"count": changed})


urlpatterns = [path("", clock_changes, name="clock-changes")]
