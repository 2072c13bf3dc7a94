"""The head of the calendar page: what is shown, the ways to its neighbours and views, and the choice of zone."""

from datetime import UTC, datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.safestring import mark_safe
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext

from accounts.clock import days_words
from calendars.pages.sight import Sight, offset_words
from calendars.pages.spoken import place_of
from calendars.pages.window import View, Window, days_of, week_number, week_of

KEYS = {View.MONTH: "m", View.WEEK: "w", View.WORK_WEEK: "", View.DAY: "d", View.AGENDA: "a"}


def head(sight: Sight) -> dict:
    window = sight.window
    title, small = title_of(sight)
    return {
        "title": title,
        "small": small,
        "view": name_of(window.view),
        "today": sight.link_to_today(window.view),
        "earlier": {"url": sight.link(window.view, window.before), "label": neighbour(window, window.before, sight)},
        "later": {"url": sight.link(window.view, window.after), "label": neighbour(window, window.after, sight)},
        "views": [
            {
                "name": name_of(view),
                "id": view.value,
                "key": KEYS[view],
                "url": sight.link(view, window.chosen),
                "attributes": mark_safe(' aria-current="page"' if view is window.view and not sight.query.text else ""),
            }
            for view in View
        ],
        "zones": zones(sight),
        "paper": gettext("Times in %s") % zone_words(sight.zone, sight.window.start),
        "kept": [(name, value) for name, value in sight.query.parameters.items() if name not in ("zone", "q")],
        "new_path": reverse("calendar:event-new"),
        "new": new_event(sight),
        "feed": reverse("calendar:feed-new") + sight.whence,
    }


def title_of(sight: Sight) -> tuple[str, str]:
    """19–25 October 2026, and in small letters: Week 43."""
    window = sight.window
    if sight.query.text:
        return gettext("“%s”") % sight.query.text, gettext("Search")
    match window.view:
        case View.MONTH:
            return capfirst(date_format(window.chosen, "YEAR_MONTH_FORMAT")), ""
        case View.DAY:
            number = week_number(week_of(window.chosen, sight.week_start))
            said = {"weekday": WEEKDAYS[window.chosen.weekday()], "number": number}
            return days_words(window.chosen, window.chosen), gettext("%(weekday)s, week %(number)d") % said
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


def neighbour(window: Window, day, sight: Sight) -> str:
    match window.view:
        case View.MONTH:
            return capfirst(date_format(day, "YEAR_MONTH_FORMAT"))
        case View.DAY:
            return date_format(day, "LONG_DATE_FORMAT")
        case View.AGENDA:
            return gettext("Earlier") if day < window.chosen else gettext("Later")
    return gettext("Week %d") % week_number(days_of(window.view, day, sight.week_start)[0])


def zones(sight: Sight) -> list[dict]:
    """The zones to choose from: the viewer's, UTC, and those that the address names."""
    own = str(sight.own_zone)
    names = dict.fromkeys((own, "UTC", str(sight.zone), *([str(sight.beside)] if sight.beside else [])))
    found = {str(zone): zone for zone in (sight.own_zone, UTC, sight.zone, *filter(None, [sight.beside]))}
    middle = sight.window.start + (sight.window.end - sight.window.start) / 2
    return [
        {
            "value": "" if name == own else name,
            "name": zone_words(found[name], middle),
            "attributes": mark_safe(" selected" if name == str(sight.zone) else ""),
        }
        for name in names
    ]


def zone_words(zone, instant: datetime) -> str:
    if str(zone) == "UTC":
        return "UTC"
    return f"{place_of(zone)}, {offset_words(instant.astimezone(zone))}"


def new_event(sight: Sight) -> str:
    """An event of the chosen day, unless that is today: the form knows better when one could be."""
    start = {} if sight.window.chosen == sight.today else {"start": sight.window.chosen.isoformat()}
    parameters = sight.query.parameters | start
    address = reverse("calendar:event-new")
    return f"{address}?{urlencode(parameters, safe=',/')}" if parameters else address
