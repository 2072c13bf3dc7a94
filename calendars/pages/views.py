"""The calendar page."""

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.utils import timezone
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.translation import gettext, ngettext

from accounts.clock import days_words
from accounts.models import User
from calendars.pages.agenda import agenda
from calendars.pages.changes import banners
from calendars.pages.contents import Contents, contents
from calendars.pages.filters import BadAddress, Filter, Query, zone_named
from calendars.pages.head import head
from calendars.pages.month import month
from calendars.pages.search import AFTER, BEFORE, Found, search
from calendars.pages.side import layers, small_month
from calendars.pages.sight import Sight
from calendars.pages.spoken import place_of
from calendars.pages.stack import with_room
from calendars.pages.week import week
from calendars.pages.window import View, window_of


@login_required
def page(request) -> HttpResponse:
    return with_room(answer, request)


def answer(request) -> HttpResponse:
    is_switched = "layers" in request.GET
    try:
        query = Query.read(request.GET)
        if is_switched:
            query = query.but(filter=Filter.switched(request.GET, query.filter))
    except BadAddress as error:
        return render(request, "calendar/bad_address.html", {"error": error}, status=400)
    address = query.address(request.path)
    if is_switched and not request.htmx:
        return HttpResponseRedirect(address)
    is_swap = request.htmx and not request.htmx.history_restore_request
    context = shown(request.user, sight_of(request.user, query, timezone.now()))
    response = render(request, "calendar/_page.html" if is_swap else "calendar/page.html", context)
    if is_swap:
        response["HX-Push-Url"] = address
    patch_vary_headers(response, ["HX-Request"])
    add_never_cache_headers(response)
    return response


def sight_of(user: User, query: Query, now: datetime) -> Sight:
    own = zone_named(user.time_zone)
    zone = zone_named(query.zone) if query.zone else own
    beside = zone_named(query.beside) if query.beside else (own if zone != own else UTC)
    chosen = query.date or now.astimezone(zone).date()
    window = window_of(query.view, chosen, zone, user.week_start)
    return Sight(query, window, zone, own, None if beside == zone else beside, now, user.hour_cycle, user.week_start)


def shown(user: User, sight: Sight) -> dict[str, Any]:
    """What the template prints."""
    if sight.query.text:
        found = search(user, sight)
        return around(sight, found.contents) | matches(sight, found)
    window = sight.window
    has_hours = window.view not in (View.MONTH, View.AGENDA)
    span = window.start, window.end, sight.zone
    in_view = contents(user, sight.query.filter, *span, sight.now, has_hours=has_hours)
    context = around(sight, in_view)
    return context | main(sight, in_view, context["head"]["title"])


def around(sight: Sight, found: Contents) -> dict[str, Any]:
    return {
        "page": sight.page,
        "head": head(sight),
        "mini": small_month(sight),
        "layers": layers(sight, found),
        "filter": sight.query.filter,
        "text": sight.query.text,
        "zone_parameter": sight.query.zone,
        "is_cut": found.is_cut,
        "page_keys": keys(),
    }


def main(sight: Sight, found: Contents, title: str) -> dict[str, Any]:
    place = place_of(sight.zone)
    match sight.window.view:
        case View.MONTH:
            sheet = agenda(sight, found, [sight.window.chosen])
            said = {"month": title, "place": place}
            caption = gettext("%(month)s: events and runs, times in %(place)s") % said
            return {"main": "calendar/_month.html", "month": month(sight, found), "sheet": sheet, "caption": caption}
        case View.AGENDA:
            caption = gettext("Events and runs by day, times in %s") % place
            rows = agenda(sight, found, sight.window.days)
            return {"main": "calendar/_agenda.html", "agenda": rows, "caption": caption}
    said = {"title": title, "place": place}
    caption = gettext("%(title)s: events and runs by day, hours in %(place)s") % said
    rows = week(sight, found)
    news = banners(sight)
    if news and "behind" in rows["scale"]:
        other = gettext("The hours of %s stand again at the right, as they are from then on.")
        news[-1]["rest"] += " " + other % rows["scale"]["behind"]["place"]
    return {"main": "calendar/_week.html", "week": rows, "banners": news, "caption": caption}


def matches(sight: Sight, found: Found) -> dict[str, Any]:
    counts = ngettext("%d event", "%d events", found.events) % found.events
    counts += ", " + ngettext("%d job", "%d jobs", found.jobs) % found.jobs
    if notices := len(found.contents.notices):
        counts += ", " + ngettext("%d notice", "%d notices", notices) % notices
    said = {"before": BEFORE, "after": AFTER}
    return {
        "main": "calendar/_matches.html",
        "agenda": agenda(sight, found.contents, found.days),
        "counts": counts,
        "explained": gettext("of each, the last %(before)d before now and the next %(after)d") % said,
        "days": days_words(found.days[0], found.days[-1]),
        "caption": gettext("Events and runs by day, times in %s") % place_of(sight.zone),
        "view_url": sight.link(sight.window.view, sight.window.chosen),
    }


def keys() -> list[tuple[str, str]]:
    return [
        ("← → ↑ ↓", gettext("by day and hour")),
        ("PageUp PageDown", gettext("earlier, later")),
        ("t", gettext("today")),
        ("d w m a", gettext("day, week, month, agenda")),
        ("Enter", gettext("open; on an empty place, a new event")),
        ("n", gettext("new event")),
    ]


urlpatterns: list = [path("", page, name="page")]
