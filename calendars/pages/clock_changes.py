"""Texts about days with a clock change."""

from datetime import date, timedelta

from django.utils.dates import WEEKDAYS
from django.utils.formats import date_format
from django.utils.translation import gettext

from calendars.pages.axis import ClockChange, changes_in
from calendars.pages.formatting import place_of
from calendars.pages.view_context import ViewContext, hours_words, whole_hours_words
from calendars.pages.window import ONE_DAY, View, midnight

SECOND = timedelta(seconds=1)  # a window whose only day does not exist is extended by this
WHOLE_DAY = timedelta(hours=24)


def change_words(context: ViewContext, change: ClockChange) -> str:
    times = {"from": context.format_time(change.wall_before), "to": context.format_time(change.wall_after)}
    if change.is_forward:
        return gettext("the clock goes forward from %(from)s to %(to)s") % times
    return gettext("the clock goes back from %(from)s to %(to)s") % times


def note_of(context: ViewContext, day: date) -> str:
    """Return the note of a day as in today; or 25 hours: the clock goes back from 03:00 to 02:00."""
    day_names = {-1: gettext("yesterday"), 0: gettext("today"), 1: gettext("tomorrow")}
    texts = [day_names.get((day - context.today).days, "")]
    start, end = midnight(day, context.zone), midnight(day + ONE_DAY, context.zone)
    texts += [
        f"{whole_hours_words(end - start)}: {change_words(context, each)}"
        for each in changes_in(context.zone, start, end)
    ]
    return ", ".join(part for part in texts if part)


def notes_of(context: ViewContext) -> dict[date, str]:
    """Return notes for the days of the window that are not 24 hours long."""
    notes = {}
    for change in changes_in(context.zone, context.window.start, context.window.end):
        for day in days_with(change):
            length = length_of(context, day)
            if not length:
                notes[day] = gettext("does not exist")
            elif length != WHOLE_DAY:
                notes[day] = gettext("%s day") % hours_words(length)
    return notes


def banners(context: ViewContext) -> list[dict]:
    """Return a banner for each day of the window that is not 24 hours long because of a clock change."""
    return [
        banner(context, change, day, length)
        for change in changes_in(
            context.zone, context.window.start, max(context.window.end, context.window.start + SECOND)
        )
        for day in days_with(change)
        if day in context.window.days and (length := length_of(context, day)) != WHOLE_DAY
    ]


def banner(context: ViewContext, change: ClockChange, day: date, length: timedelta) -> dict:
    values = {
        "day": WEEKDAYS[day.weekday()],
        "place": place_of(context.zone),
        "from": context.format_time(change.wall_before),
        "to": context.format_time(change.wall_after),
        "length": whole_hours_words(length),
        "until": date_format(change.wall_after, "LONG_DATE_FORMAT"),
    }
    is_day_view = context.window.view is View.DAY
    if not length:
        strong = gettext("%(day)s does not exist.") % values
        return {"strong": strong, "rest": gettext("The clock in %(place)s skips to %(until)s, %(to)s.") % values}
    strong = (gettext("This day has %(length)s.") if is_day_view else gettext("%(day)s has %(length)s.")) % values
    if change.is_forward:
        rest = gettext(
            "At %(from)s, the clock in %(place)s goes forward to %(to)s. Hatched: the time that does not exist."
        )
    elif is_day_view:
        rest = gettext("At %(from)s, the clock in %(place)s goes back to %(to)s. The time between them occurs twice.")
    else:
        rest = gettext(
            "At %(from)s, the clock in %(place)s goes back to %(to)s. Hatched: the repeated time,"
            " which the other days do not have."
        )
    return {"strong": strong, "rest": rest % values}


def days_with(change: ClockChange) -> list[date]:
    """Return the days of the change by the clocks before and after it: one day, or two."""
    first, last = sorted((change.wall_before.date(), change.wall_after.date()))
    return [first] if first == last else [first, last]


def length_of(context: ViewContext, day: date) -> timedelta:
    return midnight(day + ONE_DAY, context.zone) - midnight(day, context.zone)
