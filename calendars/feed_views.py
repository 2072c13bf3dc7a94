"""/calendar/feeds/<secret>.ics: feeds for calendar programs.  The secret address replaces a log-in."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse
from django.urls import path, reverse
from django.utils import timezone, translation
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from accounts.rate_limits import RateLimit, address_of
from calendars import feeds
from calendars.ics import exporting
from calendars.models import Calendar, Feed
from calendars.pages.folded_days import folded_words
from calendars.pages.maintenance_holds import apply_holds
from calendars.pages.notices import load_announced
from calendars.pages.runs import load_runs

FORMAT_VERSION = 1  # the version of the format; a new value invalidates all cached copies
RUNS_BACK, RUNS_AHEAD = timedelta(days=31), timedelta(days=92)
RUNS_STEADY = timedelta(minutes=5)  # a cached copy with runs stays valid for so long
WRONG_ADDRESSES = RateLimit("wrong-feeds-of-address", 100, window_s=300)


@require_safe
def feed(request, secret: str) -> HttpResponse:
    """Answer with the feed of `request.path_secret`; the argument `secret` is only its mask."""
    now = timezone.now()
    row = feeds.find(request.path_secret)
    calendars = feeds.calendars_of(row) if row else []
    if row is None or (row.calendar_id and not calendars):
        # only now: others at the same address go on reading their feeds
        if WRONG_ADDRESSES.is_exhausted(address_of(request), now):
            retry_after_s = round(WRONG_ADDRESSES.retry_after_s(now)) + 1
            return refusal(429, "too many wrong addresses", **{"Retry-After": str(retry_after_s)})
        WRONG_ADDRESSES.count(address_of(request), now)
        return refusal(404, "there is no such feed, or no more")
    feeds.record_use(row, now)
    etag, last_modified = etag_of(row, calendars, now), changed_at_of(row, calendars, now)
    response = get_conditional_response(request, etag=etag, last_modified=last_modified)
    if response is None:
        response = HttpResponse(content_of(request, row, calendars, now), content_type="text/calendar; charset=utf-8")
        response["Content-Disposition"] = 'inline; filename="calendar.ics"'
    response["ETag"] = etag
    if last_modified is not None:
        response["Last-Modified"] = http_date(last_modified)
    response["Cache-Control"] = "private, no-cache"
    return response


def refusal(status: int, message: str, **headers: str) -> HttpResponse:
    return HttpResponse(f"{message}\n", "text/plain; charset=utf-8", status, headers=headers)


def etag_of(row: Feed, calendars: Sequence[Calendar], now: datetime) -> str:
    """Return the ETag without rendering the file.  It is weak for a feed with runs, which change all the time."""
    owner, month = row.owner, exporting.window_around(now)[0]
    parts = [FORMAT_VERSION, row.pk, row.name, owner.time_zone, owner.language, month.isoformat()]
    parts += [(str(calendar.pk), calendar.revision) for calendar in calendars]
    has_runs = feeds.filter_of(row).runs
    if has_runs:
        parts.append(int(now.timestamp() // RUNS_STEADY.total_seconds()))
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    return f'W/"{digest}"' if has_runs else f'"{digest}"'


def changed_at_of(row: Feed, calendars: Sequence[Calendar], now: datetime) -> int | None:
    """Return the time of the last change, in seconds since the epoch; None for a feed of a filter.

    A filter can lose a calendar, and the latest change of the others would then be an older one.
    """
    if row.calendar_id is None:
        return None
    return int(max(calendars[0].updated_at, row.created_at, month_of(now)).timestamp())


def month_of(now: datetime) -> datetime:
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def content_of(request, row: Feed, calendars: Sequence[Calendar], now: datetime) -> bytes:
    owner = row.owner
    with translation.override(owner.language or settings.LANGUAGE_CODE):
        return exporting.render_calendar(row.name, owner.time_zone, parts_of(request, row, calendars, now))


def parts_of(request, row: Feed, calendars: Sequence[Calendar], now: datetime) -> Iterator[bytes]:
    yield from exporting.render_events(calendars, row.owner, now)
    feed_filter = feeds.filter_of(row)
    if feed_filter.runs:
        window, zone = (now - RUNS_BACK, now + RUNS_AHEAD), ZoneInfo(row.owner.time_zone)
        view = load_runs(row.owner, *window, zone, now, feed_filter.collections)
        view, _ = apply_holds(view, load_announced(row.owner, *window, now), *window, zone, now)
        yield from exporting.render_runs(view.runs, view.bands, site_of(request), now)
        if view.is_cut:
            yield exporting.render_folded_runs(
                folded_words(view.hidden_jobs), site_of(request) + reverse("calendar:page"), now
            )


def site_of(request) -> str:
    return settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")


urlpatterns = [path("feeds/<str:secret>.ics", feed, name="feed")]
