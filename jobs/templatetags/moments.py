"""Template tags for times: relative where the user acts, exact where the user reads; the zone is always named."""

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext, npgettext

from jobs import humanize

register = template.Library()


@register.filter
def utc_clock(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%H:%M:%S}"


@register.simple_tag
def span_patterns() -> str:
    """Return the viewer's texts for spans and distances of a few days, for the script that updates relative times.

    They are separated by `|`.
    """
    patterns = ("%s s", "%s min", "%s h", "in %s", "%s ago")  # texts of jobs.humanize
    days = [ngettext("%d day", "%d days", number) for number in (1, 2)]
    distances = [npgettext("in or ago", "%d day", "%d days", number) for number in (1, 2)]
    return "|".join([*map(gettext, patterns), gettext("now"), *(each.replace("%d", "%s") for each in days + distances)])


@register.simple_tag
def relative(instant: datetime, now: datetime, kind: str = "past"):
    """Return a relative <time> that a script keeps up to date.

    `kind` is past, next (never "ago"), since or until (only the length of time).
    """
    spans = {"since": now - instant, "until": instant - now}
    text = humanize.format_duration(spans[kind]) if kind in spans else humanize.format_relative(instant, now)
    if kind == "next" and instant <= now:
        text = gettext("now")
    return format_html(
        '<time datetime="{}" title="{}" data-relative="{}">{}</time>', instant.isoformat(), exactly(instant), kind, text
    )


@register.simple_tag
def at(instant: datetime, now: datetime, form: str = "moment"):
    """Return an exact <time> in the viewer's zone.

    `form` is moment (today 14:35), short (14:35), clock (14:35:02), precise (14:35:02.250), weekday (Thu) or day
    (Thu 22 October).
    """
    text = {
        "moment": lambda: humanize.format_datetime(instant, now),
        "clock": lambda: humanize.format_time(instant),
        "precise": lambda: humanize.format_precise_time(instant),
        "day": lambda: humanize.format_date(instant, now),
        "short": lambda: f"{timezone.localtime(instant):%H:%M}",
        "weekday": lambda: f"{timezone.localtime(instant):%a}",
    }[form]()
    return format_html('<time datetime="{}" title="{}">{}</time>', instant.isoformat(), exactly(instant), text)


def exactly(instant: datetime) -> str:
    """Return the wall time in the viewer's zone and the time in UTC, for a title."""
    local, utc = timezone.localtime(instant), instant.astimezone(UTC)
    zone = timezone.get_current_timezone_name()
    text = f"{local:%Y-%m-%d %H:%M:%S} {zone}"
    return text if zone == "UTC" else f"{text}, {utc:%Y-%m-%d %H:%M:%S} UTC"
