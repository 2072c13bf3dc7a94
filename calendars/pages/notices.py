"""Announced maintenance in a window of the calendar: one query, also when there is none."""

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from uuid import UUID

from calendars.pages.items import NoticeItem
from calendars.pages.window import ONE_DAY, midnight
from maintenance import heeding, lifecycle
from maintenance.models import Notice
from maintenance.pages.rights import seen_by
from maintenance.pages.rows import state_of, titled, word_of
from maintenance.spells import Told

MOST = 500  # notices that are looked at; those that are not over come first
NO_LEADS: Mapping[UUID, datetime] = {}


def announced(user, start: datetime, end: datetime, now: datetime) -> list[Told]:
    """What the user may see of what takes place in [start, end), and all that is not over, wherever that is.

    What was withdrawn is not among it.
    """
    found = read(user, start, end)
    due = [each.notice.pk for each in found if is_due(each.notice, now)]
    if due:
        lifecycle.advance(now, Notice.objects.filter(pk__in=due))
        found = read(user, start, end)
    return found


def read(user, start: datetime, end: datetime) -> list[Told]:
    rows = Notice.objects.between(start, end) | Notice.objects.filter(status__in=Notice.SHOWN)
    in_order = seen_by(user, rows).order_by("-status", "-announced_at", "pk")  # started, scheduled, completed
    return heeding.told_in(Notice.objects.filter(pk__in=in_order.values("pk")[:MOST]))


def is_due(notice: Notice, now: datetime) -> bool:
    """Whether time has brought about a step of it that nobody has looked at yet."""
    if notice.status == Notice.Status.SCHEDULED:
        return notice.not_before <= now
    ends = notice.status == Notice.Status.STARTED and notice.ends_after_duration and not notice.keep_open
    return ends and notice.ends_at is not None and notice.ends_at <= now


def names_of(told: Told) -> list[str]:
    return [name for name, _ in told.affected]


def title_of(told: Told) -> str:
    return titled(told.notice, names_of(told))


def drawn(
    found: Iterable[Told],
    start: datetime,
    end: datetime,
    zone: tzinfo,
    now: datetime,
    leads: Mapping[UUID, datetime] = NO_LEADS,
) -> list[NoticeItem]:
    """Those in [start, end), earliest first.  `leads` says from when each holds jobs that are in view."""
    items = (notice_item(each, zone, now, leads.get(each.notice.pk)) for each in found)
    shown = (item for item in items if item.start < end and (item.end > start or item.start == item.end >= start))
    return sorted(shown, key=lambda item: (item.start, item.title, item.id))


def notice_item(told: Told, zone: tzinfo, now: datetime, lead: datetime | None) -> NoticeItem:
    """What has no known end is drawn to the end of its first day, or of today while it goes on."""
    notice = told.notice
    start, end = notice.begins_at, notice.ends_at
    is_over = notice.status not in Notice.SHOWN
    is_open = not is_over and (end is None or end <= now)
    if end is None or is_open:
        end = midnight(max(start, now).astimezone(zone).date() + ONE_DAY, zone)
    outcome = state_of(notice)
    return NoticeItem(
        id=notice.pk,
        title=title_of(told),
        start=start,
        end=max(start, end),
        mark=outcome.mark,
        state=outcome.state,
        word=word_of(outcome),
        is_open=is_open,
        is_over=is_over,
        lead=lead if lead is not None and lead < start else None,
    )
