"""The popover of maintenance: its times, its state, and the jobs that it holds."""

from datetime import UTC
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from calendars.pages.formatting import TimeFormatter, place_of, zone_words
from calendars.pages.navigation import ReturnTarget
from maintenance.models import Notice
from maintenance.pages.impact import Impact, impact_of
from maintenance.pages.presenters import (
    LISTED,
    held_row,
    held_words,
    label_of,
    length_words,
    state_of,
    title_of,
    type_word,
)


def notice_popover(notice: Notice, formatter: TimeFormatter, target: ReturnTarget) -> dict[str, Any]:
    """Return the row of the popover. Prefetch `notice.affected_resources`."""
    is_shown = notice.status in Notice.ACTIVE
    impact = impact_of([notice], formatter.now)[notice.pk] if is_shown else Impact()
    approvals = notice.approvals.select_related("user", "resource").order_by("at", "pk")
    names = [each.name for each in notice.affected_resources.all()]
    start, outcome = notice.begins_at, state_of(notice)
    return {
        "title": title_of(notice),
        "close_url": target.return_url(start.astimezone(formatter.zone).date()),
        "outcome": outcome,
        "word": label_of(outcome),
        "type": type_word(notice.event_type),
        "resources": names[:LISTED],
        "more_resources": max(0, len(names) - LISTED),
        "when": time_text(notice, formatter),
        "at": start.astimezone(formatter.zone).isoformat(),
        "place_of_zone": place_of(formatter.zone),
        "zone_title": zone_words(formatter.zone, start),
        "other_zones": formatter.format_other_zones(start, [UTC]),
        "duration": length_words(notice, formatter.now),
        "description": notice.description,
        "approved_by": [str(each.resource or each.user or gettext("a deleted user")) for each in approvals],
        "held": held_words(impact.held_run_count),
        "to_be_held": [held_row(each, formatter.now, formatter.hour_cycle) for each in impact.upcoming_holds[:LISTED]],
        "more_held": max(0, len(impact.upcoming_holds) - LISTED),
        "url": reverse("maintenance:notice", args=[notice.pk]),
    }


def time_text(notice: Notice, formatter: TimeFormatter) -> str:
    """Return start and end of the notice; only the start if no end is known, or the expected end is past."""
    if notice.ends_at is None or notice.is_open_ended(formatter.now):
        return gettext("from %s") % formatter.format_moment(notice.begins_at)
    return formatter.format_span(notice.begins_at, notice.ends_at)
