"""The view of the calendar that somebody came from: pages that open from it carry it along and lead back to it.

It travels as the calendar's own parameters, never as an address, so it leads nowhere else.
"""

from dataclasses import dataclass
from datetime import date, tzinfo
from urllib.parse import urlencode, urlsplit

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from calendars.pages.filters import BadAddress, Query, zone_named
from calendars.pages.spoken import Manner


@dataclass(frozen=True, slots=True)
class Whence:
    """`is_known` is false when somebody came from elsewhere, or from the calendar as it opens."""

    query: Query

    @property
    def is_known(self) -> bool:
        return bool(self.query.parameters)

    @property
    def zone(self) -> tzinfo:
        """That of the view; without one, the viewer's own."""
        return zone_named(self.query.zone) if self.query.zone else timezone.get_current_timezone()

    @property
    def url(self) -> str:
        return self.query.address(reverse("calendar:page"))

    def url_at(self, day: date) -> str:
        """The same view on another day."""
        return self.query.but(date=day).address(reverse("calendar:page"))

    def back(self, day: date) -> str:
        """The view they came from; from elsewhere, the calendar at `day`."""
        return self.url if self.is_known else self.url_at(day)

    def to(self, name: str, *args: object, **more: object) -> str:
        """The address of a page of the calendar, with `more` parameters, that will lead back."""
        parameters = {**self.query.parameters, **more}
        address = reverse(f"calendar:{name}", args=args)
        return f"{address}?{urlencode(parameters, safe=',/')}" if parameters else address


def setting(request) -> tuple[Whence, Manner]:
    """Where the viewer comes from, and how they read times there."""
    whence = whence_of(request)
    return whence, Manner(whence.zone, request.user.hour_cycle, timezone.now())


def whence_of(request) -> Whence:
    """What the address says; else what the browser says of the page that it comes from."""
    found = read(request.GET)
    if not found.parameters:
        there = urlsplit((request.htmx and request.htmx.current_url) or request.headers.get("Referer", ""))
        if there.path == reverse("calendar:page"):
            found = read(QueryDict(there.query))
    return Whence(found)


def read(values: QueryDict) -> Query:
    """What of an address is a view; of one that cannot be read, none."""
    try:
        return Query.read(values)
    except BadAddress:
        return Query()
