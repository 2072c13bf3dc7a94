"""Beside the calendar: the small month, and the layers with their switches."""

from datetime import date

from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format, number_format
from django.utils.safestring import mark_safe
from django.utils.translation import gettext

from calendars.pages.contents import Contents, Layer
from calendars.pages.sight import Sight
from calendars.pages.window import WEEK, View, days_of


def small_month(sight: Sight) -> dict:
    """The month of the chosen day; its days lead to the same view, from the month to the day."""
    chosen = sight.window.chosen
    view = View.DAY if sight.window.view is View.MONTH else sight.window.view
    shown = set() if sight.window.view is View.MONTH else set(sight.window.days)
    days = days_of(View.MONTH, chosen, sight.week_start)
    return {
        "title": date_format(chosen, "YEAR_MONTH_FORMAT"),
        "heads": [{"name": WEEKDAYS[day.weekday()], "letter": str(WEEKDAYS[day.weekday()])[:1]} for day in days[:WEEK]],
        "weeks": [
            [small_day(sight, day, view, shown, (day.year, day.month) != (chosen.year, chosen.month)) for day in week]
            for week in (days[at : at + WEEK] for at in range(0, len(days), WEEK))
        ],
    }


def small_day(sight: Sight, day: date, view: View, shown: set[date], is_outside: bool) -> dict:
    classes = " ".join(name for name, holds in (("outside", is_outside), ("shown", day in shown)) if holds)
    return {
        "number": day.day,
        "url": sight.link(view, day),
        "label": sight.long_date(day),
        "attributes": mark_safe(f' class="{classes}"' if classes else ""),
        "is_today": day == sight.today,
    }


def layers(sight: Sight, contents: Contents) -> dict:
    """Calendars and collections with their switches; `kept` is what the form of them carries along."""
    parameters = sight.query.parameters
    kept = [(name, parameters[name]) for name in ("view", "date", "zone", "beside", "q") if name in parameters]
    listed = {"layers": "1"} | {
        "had": ",".join(layer.key for layer in contents.calendars),
        "hadruns": ",".join(layer.key for layer in contents.collections),
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
        "kept": [*kept, *listed.items()],
        "manage": reverse("calendar:calendars") + sight.whence,
        "add": reverse("calendar:calendar-new") + sight.whence,
        "zones": zones(sight),
        "calendars": [switch(layer) for layer in contents.calendars],
        "collections": [switch(layer) for layer in contents.collections],
        "maintenance": counted(len(contents.notices)) if sight.query.text == "" else "",
        "in_view": gettext("in view"),
        "marks": list(marks.items()),
    }


def switch(layer: Layer) -> dict:
    count = counted(layer.count) if layer.is_shown and layer.count is not None else ""
    return {"key": layer.key, "name": layer.name, "hue": layer.hue, "is_shown": layer.is_shown, "count": count}


def counted(count: int) -> str:
    return number_format(count, use_l10n=True, force_grouping=True)


def zones(sight: Sight) -> dict:
    """The zone of the page and that of its second scale as they are written, and what holds when nothing is."""
    query = sight.query
    return {
        "kept": [(name, value) for name, value in query.parameters.items() if name not in ("zone", "beside")],
        "zone": query.zone,
        "beside": query.beside,
        "own": str(sight.own_zone),
        "usual": str(sight.beside) if sight.beside and not query.beside else "",
    }
