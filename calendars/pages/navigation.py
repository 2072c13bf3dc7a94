"""The view of the calendar from which a page was opened, so that the page can lead back to it.

The view travels as the parameters of the calendar, never as an address, so that it cannot lead to another site.
"""

from dataclasses import dataclass
from datetime import date, tzinfo
from urllib.parse import urlencode, urlsplit

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from calendars.pages.filters import BadAddress, Query, zone_named
from calendars.pages.formatting import TimeFormatter


@dataclass(frozen=True, slots=True)
class ReturnTarget:
    """The view to which a page leads back."""

    query: Query

    @property
    def is_known(self) -> bool:
        """False if the viewer came from another page, or from the calendar with its defaults."""
        return bool(self.query.parameters)

    @property
    def zone(self) -> tzinfo:
        """The zone of the view; without one, the viewer's own."""
        return zone_named(self.query.zone) if self.query.zone else timezone.get_current_timezone()

    @property
    def url(self) -> str:
        return self.query.address(reverse("calendar:page"))

    def url_at(self, day: date) -> str:
        """Return the address of the same view on another day."""
        return self.query.with_changes(date=day).address(reverse("calendar:page"))

    def return_url(self, day: date) -> str:
        """Return the address of the view; if it is not known, that of the calendar at `day`."""
        return self.url if self.is_known else self.url_at(day)

    def link_to(self, name: str, *args: object, **more: object) -> str:
        """Return the address of a page of the calendar that can lead back, with the parameters `more`."""
        parameters = {**self.query.parameters, **more}
        address = reverse(f"calendar:{name}", args=args)
        return f"{address}?{urlencode(parameters, safe=',/')}" if parameters else address


def template_context(request) -> tuple[ReturnTarget, TimeFormatter]:
    """Return the view to lead back to, and the formatter of times for the viewer in that view."""
    target = return_target(request)
    return target, TimeFormatter(target.zone, request.user.hour_cycle, timezone.now())


def return_target(request) -> ReturnTarget:
    """Read the view from the address, else from the address of the page that sent the request."""
    found = read(request.GET)
    if not found.parameters:
        found = read_page((request.htmx and request.htmx.current_url) or request.headers.get("Referer", ""))
    return ReturnTarget(found)


def read_page(address: str) -> Query:
    """Parse the view of the calendar at `address`; return an empty one for other pages and for malformed addresses."""
    try:
        page = urlsplit(address)
    except ValueError:  # brackets without an IPv6 address
        return Query()
    return read(QueryDict(page.query)) if page.path == reverse("calendar:page") else Query()


def read(values: QueryDict) -> Query:
    """Parse a view; return an empty one if a parameter is wrong."""
    try:
        return Query.parse(values)
    except BadAddress:
        return Query()
