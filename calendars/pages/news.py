"""What a page says of an occurrence once something was done to it."""

from django.contrib import messages
from django.utils.html import format_html

from calendars.expansion import Occurrence
from calendars.pages.entries import name_of
from calendars.pages.popover import when
from calendars.pages.spoken import Manner
from calendars.pages.whence import Whence


def tell(request, what: str, found: Occurrence, manner: Manner, whence: Whence, offer: str = "") -> None:
    """News of an occurrence, with a link to it."""
    link = whence.to("item", found.id)
    said = f"{name_of(found)}, {when(found, manner)}."
    messages.success(
        request,
        format_html('{} {} <a href="{}">{}</a>', what, said, link, offer) if offer else f"{what} {said}",
    )
