"""The sidebar of the calendar: a small month, and the layers with their switches."""

from datetime import date

from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format, number_format
from django.utils.safestring import mark_safe
from django.utils.translation import gettext

from calendars.pages.page_data import Contents, Layer
from calendars.pages.view_context import ViewContext
from calendars.pages.window import WEEK, View, days_of


def small_month(context: ViewContext) -> dict:
    """Return the month of the chosen day.

    Its days lead to the same view; in the month view they lead to the view of the day.
    """
    chosen = context.window.chosen_day
    view = View.DAY if context.window.view is View.MONTH else context.window.view
    shown = set() if context.window.view is View.MONTH else set(context.window.days)
    days = days_of(View.MONTH, chosen, context.week_start)
    return {
        "title": date_format(chosen, "YEAR_MONTH_FORMAT"),
        "heads": [{"name": WEEKDAYS[day.weekday()], "letter": str(WEEKDAYS[day.weekday()])[:1]} for day in days[:WEEK]],
        "weeks": [
            [small_day(context, day, view, shown, (day.year, day.month) != (chosen.year, chosen.month)) for day in week]
            for week in (days[at : at + WEEK] for at in range(0, len(days), WEEK))
        ],
    }


def small_day(context: ViewContext, day: date, view: View, shown: set[date], is_outside: bool) -> dict:
    classes = " ".join(name for name, holds in (("outside", is_outside), ("in-view", day in shown)) if holds)
    return {
        "number": day.day,
        "url": context.view_link(view, day),
        "label": context.format_long_date(day),
        "attributes": mark_safe(f' class="{classes}"' if classes else ""),
        "is_today": day == context.today,
    }


def layers(context: ViewContext, contents: Contents) -> dict:
    """Return calendars and collections with their switches.

    `hidden_fields` are the hidden fields of the form: parameters of the page, and the ids that have a switch.
    """
    parameters = context.query.parameters
    hidden_fields = [(name, parameters[name]) for name in ("view", "date", "zone", "beside", "q") if name in parameters]
    listed = {"layers": "1"} | {
        "had": ",".join(layer.id_text for layer in contents.calendars),
        "hadruns": ",".join(layer.id_text for layer in contents.collections),
        "hadclosed": ",".join(str(each.id) for each in contents.closed_calendars if each.is_used),
        "hadopen": ",".join(str(each.id) for each in contents.closed_calendars if not each.is_used),
    }
    marks = {
        "success": gettext("succeeded"),
        "late": gettext("late"),
        "failure": gettext("failed"),
        "missed": gettext("missed"),
        "running": gettext("running"),
        "planned": gettext("planned"),
        "held": gettext("held"),
        "skipped": gettext("skipped"),
    }
    return {
        "hidden_fields": [*hidden_fields, *listed.items()],
        "manage": reverse("calendar:calendars") + context.return_query,
        "add": reverse("calendar:calendar-new") + context.return_query,
        "zones": zones(context),
        "calendars": [switch(layer) for layer in contents.calendars],
        "collections": [switch(layer) for layer in contents.collections],
        "closed": [
            {"key": each.id, "name": each.name, "is_shown": each.is_shown} for each in contents.closed_calendars
        ],
        "maintenance": format_count(len(contents.notices)) if context.query.text == "" else "",
        "in_view": gettext("in view"),
        "marks": list(marks.items()),
    }


def switch(layer: Layer) -> dict:
    count = format_count(layer.count) if layer.is_shown and layer.count is not None else ""
    return {"key": layer.id_text, "name": layer.name, "hue": layer.hue, "is_shown": layer.is_shown, "count": count}


def format_count(count: int) -> str:
    return number_format(count, use_l10n=True, force_grouping=True)


def zones(context: ViewContext) -> dict:
    """Return the two zone parameters as they were written, and the zones that apply without them."""
    query = context.query
    return {
        "hidden_fields": [(name, value) for name, value in query.parameters.items() if name not in ("zone", "beside")],
        "zone": query.zone,
        "beside": query.second_zone,
        "own": str(context.own_zone),
        "default_second_zone": str(context.second_zone) if context.second_zone and not query.second_zone else "",
    }
