"""The toolbar of the calendar page: title, links to neighbours and other views, and the choice of a zone."""

from datetime import UTC, datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.safestring import mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext

from accounts.time_format import days_words
from calendars.pages.formatting import place_of
from calendars.pages.view_context import ViewContext, offset_words
from calendars.pages.window import View, Window, days_of, week_number, week_of

KEYS = {View.MONTH: "m", View.WEEK: "w", View.WORK_WEEK: "", View.DAY: "d", View.AGENDA: "a"}


def head(context: ViewContext) -> dict:
    window = context.window
    title, small = title_of(context)
    return {
        "title": title,
        "small": small,
        "view": name_of(window.view),
        "today": context.today_link(window.view),
        "earlier": {
            "url": context.view_link(window.view, window.previous_date),
            "label": neighbour(window, window.previous_date, context),
        },
        "later": {
            "url": context.view_link(window.view, window.next_date),
            "label": neighbour(window, window.next_date, context),
        },
        "views": [
            {
                "name": name_of(view),
                "id": view.value,
                "key": KEYS[view],
                "url": context.view_link(view, window.chosen_day),
                "attributes": mark_safe(
                    ' aria-current="page"' if view is window.view and not context.query.text else ""
                ),
            }
            for view in View
        ],
        "zones": zones(context),
        "paper": gettext("Times in %s") % zone_words(context.zone, context.window.start),
        "hidden_fields": [
            (name, value) for name, value in context.query.parameters.items() if name not in ("zone", "q")
        ],
        "new_path": reverse("calendar:event-new"),
        "new": new_event(context),
        "feed": reverse("calendar:feed-new") + context.return_query,
    }


def title_of(context: ViewContext) -> tuple[str, str]:
    """Return the title, as in 19–25 October 2026, and a subtitle, as in Week 43."""
    window = context.window
    if context.query.text:
        return gettext("“%s”") % context.query.text, gettext("Search")
    match window.view:
        case View.MONTH:
            return capfirst(date_format(window.chosen_day, "YEAR_MONTH_FORMAT")), ""
        case View.DAY:
            number = week_number(week_of(window.chosen_day, context.week_start))
            values = {"weekday": WEEKDAYS[window.chosen_day.weekday()], "number": number}
            return days_words(window.chosen_day, window.chosen_day), gettext("%(weekday)s, week %(number)d") % values
        case View.AGENDA:
            return days_words(window.days[0], window.days[-1]), ""
    return days_words(window.days[0], window.days[-1]), gettext("Week %d") % week_number(window.days[0])


def name_of(view: View) -> str:
    return {
        View.MONTH: gettext("Month"),
        View.WEEK: gettext("Week"),
        View.WORK_WEEK: gettext("Work week"),
        View.DAY: pgettext("a view of the calendar", "Day"),
        View.AGENDA: gettext("Agenda"),
    }[view]


def neighbour(window: Window, day, context: ViewContext) -> str:
    """Return the label of the link to the previous or next window, which contains `day`."""
    match window.view:
        case View.MONTH:
            return capfirst(date_format(day, "YEAR_MONTH_FORMAT"))
        case View.DAY:
            return date_format(day, "LONG_DATE_FORMAT")
        case View.AGENDA:
            return gettext("Earlier") if day < window.chosen_day else gettext("Later")
    return gettext("Week %d") % week_number(days_of(window.view, day, context.week_start)[0])


def zones(context: ViewContext) -> list[dict]:
    """Return the zones to choose from: the viewer's, UTC, and those that the address names."""
    own_name = str(context.own_zone)
    names = dict.fromkeys(
        (own_name, "UTC", str(context.zone), *([str(context.second_zone)] if context.second_zone else []))
    )
    zones_by_name = {
        str(zone): zone for zone in (context.own_zone, UTC, context.zone, *filter(None, [context.second_zone]))
    }
    middle = context.window.start + (context.window.end - context.window.start) / 2
    return [
        {
            "value": "" if name == own_name else name,
            "name": zone_words(zones_by_name[name], middle),
            "attributes": mark_safe(" selected" if name == str(context.zone) else ""),
        }
        for name in names
    ]


def zone_words(zone, instant: datetime) -> str:
    if str(zone) == "UTC":
        return "UTC"
    return f"{place_of(zone)}, {offset_words(instant.astimezone(zone))}"


def new_event(context: ViewContext) -> str:
    """Return the address of a new event on the chosen day.

    If that is today, the address has no day: the form then proposes a better time.
    """
    start = {} if context.window.chosen_day == context.today else {"start": context.window.chosen_day.isoformat()}
    parameters = context.query.parameters | start
    address = reverse("calendar:event-new")
    return f"{address}?{urlencode(parameters, safe=',/')}" if parameters else address
