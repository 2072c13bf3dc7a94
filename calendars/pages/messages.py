"""Messages about an occurrence after an action."""

from django.contrib import messages
from django.utils.html import format_html

from calendars.expansion import Occurrence
from calendars.pages.formatting import TimeFormatter
from calendars.pages.item_rows import name_of
from calendars.pages.navigation import ReturnTarget
from calendars.pages.popover import time_text


def flash(
    request, what: str, occurrence: Occurrence, formatter: TimeFormatter, target: ReturnTarget, link_text: str = ""
) -> None:
    """Add a message about an occurrence, with a link to it if there is a `link_text`."""
    link = target.link_to("item", occurrence.id)
    text = f"{name_of(occurrence)}, {time_text(occurrence, formatter)}."
    messages.success(
        request,
        format_html('{} {} <a href="{}">{}</a>', what, text, link, link_text) if link_text else f"{what} {text}",
    )
