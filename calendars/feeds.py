"""Secret addresses at which calendar programs read what somebody sees: made, found and revoked.

A feed tells what its owner sees when it is read.  What was shared with them is gone from it as soon as it is
withdrawn, and all of it while they are not active.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from calendars.details import text
from calendars.errors import CalendarError
from calendars.models import Calendar, Feed
from jobs.models import JobCollection

SECRET_BYTES = 32  # 256 random bits
NAME_LENGTH = 255
FEEDS = 100  # that one person may have
LISTED = 1_000  # calendars and collections that a filter may name
USE_PRECISION = timedelta(minutes=1)  # of Feed.last_read_at: a busy reader is not a write with every request


@dataclass(frozen=True, slots=True)
class Filter:
    """What a feed of the page shows.  None: all that its owner sees."""

    calendars: tuple[UUID, ...] | None = None
    collections: tuple[int, ...] | None = None  # of jobs, whose runs are shown
    runs: bool = False

    @classmethod
    def read(cls, query: Mapping[str, Any]) -> "Filter":
        """Raises CalendarError.  Of what else there is nothing is taken."""
        runs = query.get("runs", False)
        if not isinstance(runs, bool):
            raise CalendarError("must be true or false", path="query.runs")
        return cls(keys(query, "calendars", UUID), keys(query, "collections", int), runs)

    def query(self) -> dict[str, Any]:
        return {
            "calendars": None if self.calendars is None else [str(key) for key in self.calendars],
            "collections": None if self.collections is None else list(self.collections),
            "runs": self.runs,
        }


def keys(query: Mapping[str, Any], member: str, kind: type) -> tuple | None:
    listed, path = query.get(member), f"query.{member}"
    if listed is None:
        return None
    if not isinstance(listed, list) or len(listed) > LISTED:
        raise CalendarError(f"must be a list of at most {LISTED} ids, or null", path=path)
    return tuple(key(each, kind, f"{path}[{position}]") for position, each in enumerate(listed))


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
    """Make a feed of one calendar, or of a filter of the page.  The second value is the secret in its address, which
    nobody can read again.  Raises CalendarError."""
    if (calendar is None) is (query is None):
        raise CalendarError("must be of a calendar, or of a query", path="calendarId", code="required")
    name = text(name.strip(), "name", NAME_LENGTH)
    if not name:
        raise CalendarError("must not be empty", path="name", code="required")
    if owner.feeds.count() >= FEEDS:
        raise CalendarError(f"nobody has more than {FEEDS} feeds", code="too_many")
    chosen = Filter((calendar.pk,)) if calendar is not None else Filter.read(query or {})
    require_visible(chosen, owner)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    feed = Feed.objects.create(
        owner=owner,
        name=name,
        digest=digest_of(secret),
        calendar=calendar,
        query={} if query is None else chosen.query(),
        created_at=now,
    )
    return feed, secret


def require_visible(chosen: Filter, owner) -> None:
    """Raise CalendarError for what `owner` does not see.  What they do not see later, the feed will leave out."""
    for member, named, rows in (
        ("calendars", chosen.calendars or (), Calendar.objects.visible_to(owner)),
        ("collections", chosen.collections or (), JobCollection.objects.visible_to(owner)),
    ):
        seen: set[Any] = set(rows.filter(pk__in=list(named)).values_list("pk", flat=True))
        for position, each in enumerate(named):
            if each not in seen:
                message = "must be one that you see"
                raise CalendarError(message, path=f"query.{member}[{position}]", code="does_not_exist")


def find(secret: str) -> Feed | None:
    """The feed at an address, with its active owner; None when there is none, or it is one's no more."""
    return Feed.objects.select_related("owner").filter(digest=digest_of(secret), owner__is_active=True).first()


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def note_use(feed: Feed, now: datetime) -> None:
    """Write when the feed was last read, at most once in USE_PRECISION."""
    stale = Q(last_read_at=None) | Q(last_read_at__lt=now - USE_PRECISION)
    if feed.last_read_at is None or feed.last_read_at < now - USE_PRECISION:
        Feed.objects.filter(stale, pk=feed.pk).update(last_read_at=now)


def filter_of(feed: Feed) -> Filter:
    return Filter((feed.calendar_id,)) if feed.calendar_id else Filter.read(feed.query)


def calendars_of(feed: Feed) -> Sequence[Calendar]:
    """Those that the feed shows, and its owner still sees."""
    visible = Calendar.objects.visible_to(feed.owner).order_by("created_at", "pk")
    wanted = filter_of(feed).calendars
    return list(visible if wanted is None else visible.filter(pk__in=wanted))
