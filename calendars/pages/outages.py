"""The outages of the scheduler in the window, as sentences of a banner."""

from typing import Any

from django.utils.translation import ngettext

from calendars.pages.page_data import Contents
from calendars.pages.view_context import ViewContext
from jobs.outages import outages_within
from jobs.pages.outages import outage_in_words

OUTAGES_NAMED = 3  # only the latest are described, earlier ones are counted


def outage_banner(context: ViewContext, found: Contents) -> dict[str, Any] | None:
    """Return the banner; None if there was no outage or no runs are shown."""
    window = context.window
    if window.start >= context.now or not any(layer.is_shown for layer in found.collections):
        return None
    outages = outages_within(window.start, window.end, context.now)
    if not outages:
        return None
    sentences = [
        f"{outage_in_words(each, context.now, context.zone, context.hour_cycle)}." for each in outages[-OUTAGES_NAMED:]
    ]
    more = len(outages) - len(sentences)
    text = ngettext("There was %d more outage before that.", "There were %d more outages before that.", more)
    return {"sentences": sentences, "more": text % more if more else ""}
