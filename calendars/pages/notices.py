"""Announced maintenance in a window of the calendar: one query, also if there is none."""

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo

from accounts.visibility import rows_visible_to
from calendars.items import NoticeItem
from calendars.pages.window import ONE_DAY, midnight
from maintenance import holds
from maintenance.hold_windows import NoticeWithResources
from maintenance.models import Notice
from maintenance.pages.presenters import format_title, label_of, length_words, state_of

MOST = 500  # notices that are read; those that are not over come first
NO_LEADS: Mapping[str, datetime] = {}


def load_announced(user, start: datetime, end: datetime, now: datetime) -> list[NoticeWithResources]:
    """Return the visible notices in [start, end), and all that are not over, at any time.

    Withdrawn notices are left out. Each notice has its state at `now`, and nothing is written.
    """
    rows = Notice.objects.between(start, end) | Notice.objects.filter(status__in=Notice.ACTIVE)
    in_order = rows_visible_to(user, rows).order_by("-status", "-announced_at", "pk")  # started, scheduled, completed
    notices = holds.with_resources(Notice.objects.filter(pk__in=in_order.values("pk")[:MOST]))
    return [each.as_of(now) for each in notices]


def names_of(notice_with_resources: NoticeWithResources) -> list[str]:
    return [name for name, _ in notice_with_resources.affected_resources]


def title_of(notice_with_resources: NoticeWithResources) -> str:
    return format_title(notice_with_resources.notice, names_of(notice_with_resources))


def notice_items(
    notices: Iterable[NoticeWithResources],
    start: datetime,
    end: datetime,
    zone: tzinfo,
    now: datetime,
    leads: Mapping[str, datetime] = NO_LEADS,
) -> list[NoticeItem]:
    """Return the items in [start, end), earliest first. `leads` are the lead times by the key of the notice."""
    items = (notice_item(each, zone, now, leads.get(each.key)) for each in notices)
    shown = (item for item in items if item.start < end and (item.end > start or item.start == item.end >= start))
    return sorted(shown, key=lambda item: (item.start, item.title, item.id))


def notice_item(
    notice_with_resources: NoticeWithResources, zone: tzinfo, now: datetime, lead: datetime | None
) -> NoticeItem:
    """Return the item of a notice.

    Without a known end it lasts to the end of its first day, or to the end of today while it goes on.
    """
    notice = notice_with_resources.notice
    start, end = notice.begins_at, notice.ends_at
    is_over = notice.status not in Notice.ACTIVE
    is_open_ended = notice.is_open_ended(now)
    if end is None or is_open_ended:
        end = midnight(max(start, now).astimezone(zone).date() + ONE_DAY, zone)
    outcome = state_of(notice)
    return NoticeItem(
        id=notice.pk,
        title=title_of(notice_with_resources),
        start=start,
        end=max(start, end),
        icon=outcome.mark,
        state=outcome.state,
        label=label_of(outcome),
        is_open_ended=is_open_ended,
        duration_text=length_words(notice, now) if is_open_ended else "",
        is_over=is_over,
        holds_from=lead if lead is not None and lead < start else None,
    )
