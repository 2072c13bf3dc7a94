"""Feeds: secret addresses at which calendar programs read what a person sees.

A feed shows what its owner sees at the time of the request.  A calendar whose share was withdrawn disappears from the
feed at once.  The feed of an owner who is not active is not found.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from calendars.errors import CalendarError
from calendars.models import Calendar, Feed
from calendars.validation import text
from jobs.models import JobCollection

SECRET_BYTES = 32  # 256 random bits
NAME_LENGTH = 255
FEEDS = 100  # of one person
LISTED = 1_000  # calendars, or collections, in one filter
USE_PRECISION = timedelta(minutes=1)  # of Feed.last_read_at, so that not every request writes


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a feed.  None in `calendars` or `collections` means all that the owner sees."""

    calendars: tuple[UUID, ...] | None = None
    collections: tuple[int, ...] | None = None  # of jobs, whose runs are shown
    runs: bool = False

    @classmethod
    def parse(cls, query: Mapping[str, Any]) -> "Filter":
        """Return the filter in a document.  Other members are ignored.  Raises CalendarError."""
        runs = query.get("runs", False)
        if not isinstance(runs, bool):
            raise CalendarError("must be true or false", path="query.runs")
        return cls(keys(query, "calendars", UUID), keys(query, "collections", int), runs)

    def as_document(self) -> dict[str, Any]:
        return {
            "calendars": None if self.calendars is None else [str(key) for key in self.calendars],
            "collections": None if self.collections is None else list(self.collections),
            "runs": self.runs,
        }


def keys(query: Mapping[str, Any], member: str, kind: type) -> tuple | None:
    """Return the ids in `member`, or None if it is absent or null.  Raises CalendarError."""
    listed, path = query.get(member), f"query.{member}"
    if listed is None:
        return None
    if not isinstance(listed, list) or len(listed) > LISTED:
        raise CalendarError(f"must be a list of at most {LISTED} ids, or null", path=path)
    return tuple(key(value, kind, f"{path}[{position}]") for position, value in enumerate(listed))


def key(value: object, kind: type, path: str) -> UUID | int:
    if kind is int and type(value) is int and 0 < value < 2**63:
        return value
    if kind is UUID and isinstance(value, UUID):
        return value
    if kind is UUID and isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            pass
    raise CalendarError(f"must be an id, not {value!r:.80}", path=path)


def make(
    owner, name: str, now: datetime, *, calendar: Calendar | None = None, query: Mapping[str, Any] | None = None
) -> tuple[Feed, str]:
    """Create a feed of one calendar, or of a filter of the page (`query`); exactly one of them is required.

    The second value is the secret in the address.  Only its digest is stored, so it cannot be read again.  Raises
    CalendarError.
    """
    if (calendar is None) is (query is None):
        raise CalendarError("must be of a calendar, or of a query", path="calendarId", code="required")
    name = text(name.strip(), "name", NAME_LENGTH)
    if not name:
        raise CalendarError("must not be empty", path="name", code="required")
    if owner.feeds.count() >= FEEDS:
        raise CalendarError(f"nobody has more than {FEEDS} feeds", code="too_many")
    chosen = Filter((calendar.pk,)) if calendar is not None else Filter.parse(query or {})
    require_visible(chosen, owner)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    feed = Feed.objects.create(
        owner=owner,
        name=name,
        digest=digest_of(secret),
        calendar=calendar,
        query={} if query is None else chosen.as_document(),
        created_at=now,
    )
    return feed, secret


def require_visible(chosen: Filter, owner) -> None:
    """Raise CalendarError if the filter names something that `owner` does not see.

    The feed leaves out what the owner no longer sees later.
    """
    for member, chosen_keys, rows in (
        ("calendars", chosen.calendars or (), Calendar.objects.visible_to(owner)),
        ("collections", chosen.collections or (), JobCollection.objects.visible_to(owner)),
    ):
        visible: set[Any] = set(rows.filter(pk__in=list(chosen_keys)).values_list("pk", flat=True))
        for position, chosen_key in enumerate(chosen_keys):
            if chosen_key not in visible:
                message = "must be one that you see"
                raise CalendarError(message, path=f"query.{member}[{position}]", code="does_not_exist")


def find(secret: str) -> Feed | None:
    """Return the feed with this secret, or None.  The feed of an owner who is not active is not found."""
    return Feed.objects.select_related("owner").filter(digest=digest_of(secret), owner__is_active=True).first()


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def record_use(feed: Feed, now: datetime) -> None:
    """Set `last_read_at`, at most once per USE_PRECISION."""
    stale = Q(last_read_at=None) | Q(last_read_at__lt=now - USE_PRECISION)
    if feed.last_read_at is None or feed.last_read_at < now - USE_PRECISION:
        Feed.objects.filter(stale, pk=feed.pk).update(last_read_at=now)


def filter_of(feed: Feed) -> Filter:
    return Filter((feed.calendar_id,)) if feed.calendar_id else Filter.parse(feed.query)


def calendars_of(feed: Feed) -> Sequence[Calendar]:
    """Return the calendars of the feed that its owner still sees, oldest first."""
    visible = Calendar.objects.visible_to(feed.owner).order_by("created_at", "pk")
    chosen = filter_of(feed).calendars
    return list(visible if chosen is None else visible.filter(pk__in=chosen))
