"""/calendar/feeds/<secret>.ics: what calendar programs read.  Who knows the address needs no log-in."""

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from django.utils import timezone, translation
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from accounts.limits import Limit, address_of
from calendars import feeds, ics
from calendars.models import Calendar, Feed
from calendars.pages.runs import collect

FORM = 1  # of what is told: a change of it makes every copy out of date
RUNS_BACK, RUNS_AHEAD = timedelta(days=31), timedelta(days=92)
RUNS_STEADY = timedelta(minutes=5)  # a copy with runs is good for so long
WRONG_ADDRESSES = Limit("wrong-feeds-of-address", 100, window_s=300)


@require_safe
def feed(request, secret: str) -> HttpResponse:
    now = timezone.now()
    if WRONG_ADDRESSES.is_exhausted(address_of(request), now):
        return refusal(429, "too many wrong addresses", **{"Retry-After": str(round(WRONG_ADDRESSES.wait_s(now)) + 1)})
    found = feeds.find(secret)
    calendars = feeds.calendars_of(found) if found else []
    if found is None or (found.calendar_id and not calendars):
        WRONG_ADDRESSES.count(address_of(request), now)
        return refusal(404, "there is no such feed, or no more")
    feeds.note_use(found, now)
    etag, last_modified = etag_of(found, calendars, now), changed_at_of(found, calendars, now)
    response = get_conditional_response(request, etag=etag, last_modified=last_modified)
    if response is None:
        response = HttpResponse(content_of(request, found, calendars, now), content_type="text/calendar; charset=utf-8")
        response["Content-Disposition"] = 'inline; filename="calendar.ics"'
    response["ETag"] = etag
    if last_modified is not None:
        response["Last-Modified"] = http_date(last_modified)
    response["Cache-Control"] = "private, no-cache"
    return response


def refusal(status: int, message: str, **headers: str) -> HttpResponse:
    response = HttpResponse(f"{message}\n", "text/plain; charset=utf-8", status, headers=headers)
    response._has_been_logged = True  # type: ignore[attr-defined]  # or Django would write the address, which may be right tomorrow, into the log
    return response


def etag_of(found: Feed, calendars: Sequence[Calendar], now: datetime) -> str:
    """What makes the file as it is, without making it: weak where it shows runs, which go on all the time."""
    owner, month = found.owner, ics.window_around(now)[0]
    parts = [FORM, found.pk, found.name, owner.time_zone, owner.language, month.isoformat()]
    parts += [(str(calendar.pk), calendar.revision) for calendar in calendars]
    has_runs = feeds.filter_of(found).runs
    if has_runs:
        parts.append(int(now.timestamp() // RUNS_STEADY.total_seconds()))
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    return f'W/"{digest}"' if has_runs else f'"{digest}"'


def changed_at_of(found: Feed, calendars: Sequence[Calendar], now: datetime) -> int | None:
    """The second in which the file became as it is; None of a filter, which may lose a calendar and be as before."""
    if found.calendar_id is None:
        return None
    return int(max(calendars[0].updated_at, found.created_at, month_of(now)).timestamp())


def month_of(now: datetime) -> datetime:
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def content_of(request, found: Feed, calendars: Sequence[Calendar], now: datetime) -> bytes:
    owner = found.owner
    with translation.override(owner.language or settings.LANGUAGE_CODE):
        return ics.calendar(found.name, owner.time_zone, parts_of(request, found, calendars, now))


def parts_of(request, found: Feed, calendars: Sequence[Calendar], now: datetime) -> Iterator[bytes]:
    yield from ics.events(calendars, found.owner, now)
    wanted = feeds.filter_of(found)
    if wanted.runs:
        window, zone = (now - RUNS_BACK, now + RUNS_AHEAD), ZoneInfo(found.owner.time_zone)
        view = collect(found.owner, *window, zone, now, wanted.collections)
        yield from ics.runs(view.runs, view.bands, site_of(request), now)


def site_of(request) -> str:
    return settings.PUBLIC_URL or request.build_absolute_uri("/").rstrip("/")


urlpatterns = [path("feeds/<str:secret>.ics", feed, name="feed")]
