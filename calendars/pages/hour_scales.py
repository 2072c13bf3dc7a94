"""The scales of hours next to the columns of a week or a day, in one or two time zones."""

from datetime import UTC, datetime, timedelta, tzinfo

from django.utils.safestring import SafeString

from accounts.time_format import hour_words
from calendars.pages.axis import Axis, Column
from calendars.pages.formatting import place_of
from calendars.pages.item_rows import position
from calendars.pages.view_context import ViewContext, offset_words
from calendars.pages.window import ONE_DAY

LABEL = 22  # minutes of the scale that the label of the present time covers
HOUR = 60  # minutes
ONE_MINUTE = timedelta(minutes=1)


def scales(context: ViewContext, axis: Axis) -> dict:
    """Return the scale of the zone, and the scale of the second zone.

    If their offsets change relative to each other within the window, the second scale is repeated after the last day.
    """
    today = next((column for column in axis.columns if column.day == context.today), None)
    now = None if today is None else today.start_minute(context.now)
    hours = [
        {
            "place": on_scale(minute, "repeated" if is_repeat else ""),
            "text": hour_text(context, wall),
            "is_hidden": now is not None and abs(minute - now) < LABEL,
        }
        for minute, wall, is_repeat in sorted(axis.hours())
        if 0 < minute < axis.length
    ]
    start, end = context.window.start, context.window.end - ONE_MINUTE
    found = {"own": {"place": place_of(context.zone), "title": title_of(context.zone, start), "hours": hours}}
    if context.second_zone is not None:
        found["second"] = other_scale(context, axis, axis.columns[0], start)
        is_drifting = distance(context, context.second_zone, start) != distance(context, context.second_zone, end)
        if is_drifting and len(axis.columns) > 1:
            found["behind"] = other_scale(context, axis, axis.columns[-1], end)
    if now is not None:
        found["now"] = {"label": on_scale(now, "now-label"), "text": context.format_time_at(context.now)}
    return found


def other_scale(context: ViewContext, axis: Axis, column: Column, instant: datetime) -> dict:
    zone = context.second_zone or UTC
    hours = [
        {"place": on_scale(minute), "text": hour_text(context, wall_time.hour * HOUR)}
        for minute, wall_time in axis.hours_in_zone(zone, column)
        if 0 < minute < axis.length
    ]
    return {"place": place_of(zone), "title": title_of(zone, instant), "hours": hours}


def distance(context: ViewContext, zone: tzinfo, instant: datetime) -> timedelta:
    """Return by how much clocks in `zone` are ahead of the page's clocks, modulo one day."""
    return (instant.astimezone(zone).replace(tzinfo=None) - context.to_local(instant).replace(tzinfo=None)) % ONE_DAY


def title_of(zone: tzinfo, instant: datetime) -> str:
    return "UTC" if zone == UTC else f"{zone}, {offset_words(instant.astimezone(zone))}"


def on_scale(minute: int, name: str = "") -> SafeString:
    return position(name, {"h": minute // HOUR, "m": minute % HOUR})


def hour_text(context: ViewContext, minute: int) -> str:
    """Return the hour as in 06 or 6 am; as in 01:30 if an hour begins within an hour of the axis."""
    if minute % HOUR:
        return context.format_minute(minute)
    return hour_words(minute // HOUR, context.hour_cycle)
