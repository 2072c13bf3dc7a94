"""Template filters for times in the viewer's hour cycle: {{ wall_time|clock:hour_cycle }}.

The context of every page has `hour_cycle`.
"""

from datetime import datetime, time

from django import template

from accounts.time_format import moment_words, time_pattern, time_words

register = template.Library()


@register.filter
def clock(wall_time: datetime | time, hour_cycle: int) -> str:
    """Format a wall time as 18:00 or 6:00 pm, without conversion to another zone."""
    return time_words(wall_time, hour_cycle)


@register.filter(expects_localtime=True)
def moment(instant: datetime, hour_cycle: int) -> str:
    """Format an instant in the viewer's zone, as Wed 21 October 2026, 18:00."""
    return moment_words(instant, hour_cycle)


@register.filter
def half_day(name: str) -> str:
    """Return the pattern with which a script writes times: {{ "am"|half_day }} is "%s am"."""
    return time_pattern(name)
