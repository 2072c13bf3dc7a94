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

from accounts.models import User
from accounts.time_format import days_words
from calendars.pages.agenda import agenda
from calendars.pages.clock_changes import banners
from calendars.pages.filters import BadAddress, Filter, Query, zone_named
from calendars.pages.folded_days import folded_entry
from calendars.pages.formatting import place_of
from calendars.pages.month import month
from calendars.pages.outages import outage_banner
from calendars.pages.page_data import Contents, load_contents
from calendars.pages.search import AFTER, BEFORE, SearchResults, search
from calendars.pages.sidebar import format_count, layers, small_month
from calendars.pages.stack import call_with_reserved_stack
from calendars.pages.toolbar import head
from calendars.pages.view_context import ViewContext
from calendars.pages.week import week
from calendars.pages.window import View, window_of


@login_required
def page(request) -> HttpResponse:
    return call_with_reserved_stack(answer, request)


def answer(request) -> HttpResponse:
    """Return the page that the address names, or redirect to the address of the switched layers."""
    is_switched = "layers" in request.GET
    try:
        query = Query.parse(request.GET)
        if is_switched:
            query = query.with_changes(filter=Filter.from_switches(request.GET, query.filter))
    except BadAddress as error:
        return render(request, "calendar/bad_address.html", {"error": error}, status=400)
    address = query.address(request.path)
    if is_switched and not request.htmx:
        return HttpResponseRedirect(address)
    is_fragment = request.htmx and not request.htmx.history_restore_request
    values = page_values(request.user, build_view_context(request.user, query, timezone.now()))
    response = render(request, "calendar/_htmx_response.html" if is_fragment else "calendar/page.html", values)
    if is_fragment:
        response["HX-Push-Url"] = address
    patch_vary_headers(response, ["HX-Request"])
    add_never_cache_headers(response)
    return response


def build_view_context(user: User, query: Query, now: datetime) -> ViewContext:
    """Build the view context.

    The second scale shows the second zone of the query, without it the user's zone, else UTC. There is no second scale
    if this is the zone of the page.
    """
    own_zone = zone_named(user.time_zone)
    zone = zone_named(query.zone) if query.zone else own_zone
    second_zone = zone_named(query.second_zone) if query.second_zone else (own_zone if zone != own_zone else UTC)
    chosen = query.date or now.astimezone(zone).date()
    window = window_of(query.view, chosen, zone, user.week_start)
    return ViewContext(
        query,
        window,
        zone,
        own_zone,
        None if second_zone == zone else second_zone,
        now,
        user.hour_cycle,
        user.week_start,
    )


def page_values(user: User, context: ViewContext) -> dict[str, Any]:
    """Return the template context."""
    if context.query.text:
        found = search(user, context)
        return shared_values(user, context, found.contents) | search_values(context, found)
    window = context.window
    has_hours = window.view not in (View.MONTH, View.AGENDA)
    span = window.start, window.end, context.zone
    in_view = load_contents(user, context.query.filter, *span, context.now, has_hours=has_hours)
    values = shared_values(user, context, in_view)
    return (
        values | view_values(context, in_view, values["head"]["title"]) | {"outages": outage_banner(context, in_view)}
    )


def shared_values(user: User, context: ViewContext, found: Contents) -> dict[str, Any]:
    """Return the part of the template context that all views and the search share."""
    return {
        "page": context.page_path,
        "head": head(context),
        "mini": small_month(context),
        "layers": layers(context, found),
        "filter": context.query.filter,
        "text": context.query.text,
        "zone_parameter": context.query.zone,
        "folded": folded_entry(context, found),
        "more_events": more_events_text(found),
        "page_keys": shortcut_keys(),
    }


def more_events_text(found: Contents) -> str:
    """Return the text of the banner about events that the view leaves out; empty if it has all events."""
    if found.first_events is None:
        return ""
    text = gettext(
        "There are more events than this view can show. Only the first %(count)s are shown."
        " Hide calendars, or choose a shorter view."
    )
    return text % {"count": format_count(found.first_events)}


def view_values(context: ViewContext, found: Contents, title: str) -> dict[str, Any]:
    """Return the template context of the view itself."""
    place = place_of(context.zone)
    match context.window.view:
        case View.MONTH:
            chosen = context.window.chosen_day
            values = {"month": title, "place": place}
            caption = gettext("%(month)s: events and runs, times in %(place)s") % values
            return {
                "main": "calendar/_month.html",
                "month": month(context, found),
                "chosen_day": agenda(context, found, [chosen]),
                "chosen_day_label": days_words(chosen, chosen),
                "caption": caption,
            }
        case View.AGENDA:
            caption = gettext("Events and runs by day, times in %s") % place
            rows = agenda(context, found, context.window.days)
            return {"main": "calendar/_agenda.html", "agenda": rows, "caption": caption}
    values = {"title": title, "place": place}
    caption = gettext("%(title)s: events and runs by day, hours in %(place)s") % values
    rows = week(context, found)
    change_banners = banners(context)
    if change_banners and "behind" in rows["scale"]:
        other = gettext("The hours of %s after the change are on the right.")
        change_banners[-1]["rest"] += " " + other % rows["scale"]["behind"]["place"]
    return {"main": "calendar/_week.html", "week": rows, "banners": change_banners, "caption": caption}


def search_values(context: ViewContext, found: SearchResults) -> dict[str, Any]:
    """Return the template context of the matches of a search."""
    counts = ngettext("%d event", "%d events", found.event_count) % found.event_count
    counts += ", " + ngettext("%d job", "%d jobs", found.job_count) % found.job_count
    if notices := len(found.contents.notices):
        counts += ", " + ngettext("%d notice", "%d notices", notices) % notices
    values = {"before": BEFORE, "after": AFTER}
    more_events = gettext(
        "There are more events than a search can read or show. Hide calendars, or search for a longer text."
    )
    return {
        "main": "calendar/_search_results.html",
        "more_events": more_events if found.is_partial else "",
        "agenda": agenda(context, found.contents, found.days),
        "counts": counts,
        "explained": gettext("of each, up to %(before)d past and %(after)d future occurrences") % values,
        "days": days_words(found.days[0], found.days[-1]),
        "caption": gettext("Events and runs by day, times in %s") % place_of(context.zone),
        "view_url": context.view_link(context.window.view, context.window.chosen_day),
    }


def shortcut_keys() -> list[tuple[str, str]]:
    """Return the keys of the page, each with its effect."""
    return [
        ("← → ↑ ↓", gettext("move by day and hour")),
        ("PageUp PageDown", gettext("earlier, later")),
        ("t", gettext("today")),
        ("d w m a", gettext("day, week, month, agenda")),
        ("Enter", gettext("open; in an empty slot, create an event")),
        ("n", gettext("new event")),
    ]


urlpatterns: list = [path("", page, name="page")]
