"""Times on a page: relative first where one acts, exact first where one reads, the zone always named."""

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext

from jobs import words

register = template.Library()


@register.filter
def utc_clock(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%H:%M:%S}"


@register.simple_tag
def span_patterns() -> str:
    """How the viewer's language says spans and distances within a day, for the script that keeps them true."""
    said = ("%s s", "%s min", "%s h", "in %s", "%s ago")  # texts of jobs.words
    return "|".join([*map(gettext, said), gettext("now")])


@register.simple_tag
def relative(instant: datetime, now: datetime, kind: str = "past"):
    """A <time> that the page keeps true: `kind` is past, next (never "ago"), since or until (the span alone)."""
    spans = {"since": now - instant, "until": instant - now}
    text = words.span(spans[kind]) if kind in spans else words.distance(instant, now)
    if kind == "next" and instant <= now:
        text = gettext("now")
    return format_html(
        '<time datetime="{}" title="{}" data-relative="{}">{}</time>', instant.isoformat(), exactly(instant), kind, text
    )


@register.simple_tag
def at(instant: datetime, now: datetime, form: str = "moment"):
    """A <time> in the viewer's zone: `form` is moment (today 14:35), short (14:35), clock (14:35:02), precise
    (14:35:02.250), weekday (Thu) or day (Thu 22 October)."""
    text = {
        "moment": lambda: words.moment(instant, now),
        "clock": lambda: words.clock(instant),
        "precise": lambda: words.precise_clock(instant),
        "day": lambda: words.day(instant, now),
        "short": lambda: f"{timezone.localtime(instant):%H:%M}",
        "weekday": lambda: f"{timezone.localtime(instant):%a}",
    }[form]()
    return format_html('<time datetime="{}" title="{}">{}</time>', instant.isoformat(), exactly(instant), text)


def exactly(instant: datetime) -> str:
    """The viewer's reading and the UTC one, for a title."""
    local, utc = timezone.localtime(instant), instant.astimezone(UTC)
    zone = timezone.get_current_timezone_name()
    here = f"{local:%Y-%m-%d %H:%M:%S} {zone}"
    return here if zone == "UTC" else f"{here}, {utc:%Y-%m-%d %H:%M:%S} UTC"
