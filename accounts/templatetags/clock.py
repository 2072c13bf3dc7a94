"""Times in the viewer's hour cycle: {{ reading|clock:hour_cycle }}; every page's context has `hour_cycle`."""

from datetime import datetime, time

from django import template

from accounts.clock import moment_words, time_pattern, time_words

register = template.Library()


@register.filter
def clock(reading: datetime | time, hour_cycle: int) -> str:
    """18:00 or 6:00 pm: the reading as it is, in no other zone."""
    return time_words(reading, hour_cycle)


@register.filter(expects_localtime=True)
def moment(instant: datetime, hour_cycle: int) -> str:
    """Wed 21 October 2026, 18:00, in the viewer's zone."""
    return moment_words(instant, hour_cycle)


@register.filter
def half_day(name: str) -> str:
    """How a script writes times: {{ "am"|half_day }} is "%s am"."""
    return time_pattern(name)
