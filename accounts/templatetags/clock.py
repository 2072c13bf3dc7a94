"""Times in the viewer's hour cycle: {{ reading|clock:hour_cycle }}; every page's context has `hour_cycle`."""

from datetime import datetime, time

from django import template

from accounts.clock import time_words

register = template.Library()


@register.filter
def clock(reading: datetime | time, hour_cycle: int) -> str:
    """18:00 or 6:00 pm: the reading as it is, in no other zone."""
    return time_words(reading, hour_cycle)
