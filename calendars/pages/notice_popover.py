"""What a click on maintenance opens: what it is and when, how far it is, and the jobs that it holds."""

from datetime import UTC
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from calendars.pages.spoken import Manner, place_of, zone_words
from calendars.pages.whence import Whence
from maintenance.models import Notice
from maintenance.pages.consequences import Consequences, consequences_of
from maintenance.pages.rows import (
    LISTED,
    duration_words,
    held_row,
    held_words,
    state_of,
    title_of,
    type_word,
    word_of,
)


def notice_popover(notice: Notice, manner: Manner, whence: Whence) -> dict[str, Any]:
    """`notice.affected` should have been read."""
    is_shown = notice.status in Notice.SHOWN
    means = consequences_of([notice], manner.now)[notice.pk] if is_shown else Consequences()
    approvals = notice.approvals.select_related("user", "resource").order_by("at", "pk")
    names = [each.name for each in notice.affected.all()]
    start, outcome = notice.begins_at, state_of(notice)
    return {
        "title": title_of(notice),
        "close": whence.back(start.astimezone(manner.zone).date()),
        "outcome": outcome,
        "word": word_of(outcome),
        "type": type_word(notice.event_type),
        "resources": names[:LISTED],
        "more_resources": max(0, len(names) - LISTED),
        "when": when(notice, manner),
        "at": start.astimezone(manner.zone).isoformat(),
        "place_of_zone": place_of(manner.zone),
        "zone_title": zone_words(manner.zone, start),
        "elsewhere": manner.elsewhere(start, [UTC]),
        "duration": duration_words(notice) if is_shown else "",
        "description": notice.description,
        "approved_by": [str(each.resource or each.user or gettext("somebody who is gone")) for each in approvals],
        "held": held_words(means.held),
        "to_be_held": [held_row(each, manner.now, manner.hour_cycle) for each in means.to_be_held[:LISTED]],
        "more_held": max(0, len(means.to_be_held) - LISTED),
        "url": reverse("maintenance:notice", args=[notice.pk]),
    }


def when(notice: Notice, manner: Manner) -> str:
    """From when to when; of what has no known end, or has lasted longer than was expected, from when."""
    is_over = notice.status not in Notice.SHOWN
    if notice.ends_at is None or not is_over and notice.ends_at <= manner.now:
        return gettext("from %s") % manner.moment(notice.begins_at)
    return manner.span(notice.begins_at, notice.ends_at)
