"""The context in which a page is shown: window, zones, clock, and the addresses of its neighbours."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.dates import WEEKDAYS_ABBR
from django.utils.formats import date_format
from django.utils.translation import get_language, gettext, ngettext

from accounts.time_format import time_words
from calendars.pages.filters import Query
from calendars.pages.window import WEEK, View, Window
from recurrence.zones import instants_at

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ANY_ID = "0" * 32


@dataclass(frozen=True)
class ViewContext:
    """The window, zones and clock of a page.

    `own_zone` is the viewer's zone, `zone` the one in which the page shows times, `second_zone` the zone of the second
    scale.
    """

    query: Query
    window: Window
    zone: tzinfo
    own_zone: tzinfo
    second_zone: tzinfo | None
    now: datetime
    hour_cycle: int
    week_start: int

    @cached_property
    def today(self) -> date:
        return self.to_local(self.now).date()

    @cached_property
    def page_path(self) -> str:
        return reverse("calendar:page")

    @cached_property
    def _link_parameters(self) -> str:
        """The query parameters that every link of the page carries, with a leading `&`."""
        parameters = {"zone": self.query.zone, "beside": self.query.second_zone} | self.query.filter.parameters
        given = {name: value for name, value in parameters.items() if value}
        return f"&{urlencode(given, safe=',/')}" if given else ""

    def view_link(self, view: View, day: date) -> str:
        return f"{self.page_path}?view={view.value}&date={day.isoformat()}{self._link_parameters}"

    def today_link(self, view: View) -> str:
        return f"{self.page_path}?view={view.value}{self._link_parameters}"

    @cached_property
    def _item_link_parts(self) -> tuple[str, str]:
        before, _, after = reverse("calendar:item", args=[ANY_ID]).partition(ANY_ID)
        return before, after + self.return_query

    @cached_property
    def return_query(self) -> str:
        """The query string with which other pages lead back to this view."""
        parameters = self.query.parameters
        return f"?{urlencode(parameters, safe=',/')}" if parameters else ""

    def item_link(self, item_id: str) -> str:
        before, after = self._item_link_parts
        return f"{before}{item_id}{after}"

    def notice_link(self, notice_id: UUID) -> str:
        return reverse("calendar:notice", args=[notice_id]) + self.return_query

    def run_link(self, address: str) -> str:
        return address + self.return_query

    def to_local(self, instant: datetime) -> datetime:
        return instant.astimezone(self.zone)

    def format_time(self, local: datetime) -> str:
        return self._time_labels[local.hour * 60 + local.minute]

    def format_minute(self, minute: int) -> str:
        return self._time_labels[minute]

    @cached_property
    def labels(self) -> "Labels":
        return Labels(gettext("repeats"), gettext("private"))

    @cached_property
    def _time_labels(self) -> "TimeLabels":
        return TimeLabels(self.hour_cycle)

    def format_time_at(self, instant: datetime) -> str:
        return self.format_time(self.to_local(instant))

    @cached_property
    def language(self) -> str:
        return get_language() or settings.LANGUAGE_CODE

    def format_long_date(self, day: date) -> str:
        """Return the day as in Wednesday 21 October 2026."""
        return long_date(day, self.language)

    def format_near(self, instant: datetime, day: date) -> str:
        """Format a time, with its day unless that is `day`: 18:00, Fri 18:00; Fri 23 October 18:00 from a week on."""
        local = self.to_local(instant)
        if local.date() == day:
            return self.format_time(local)
        is_far = abs((local.date() - day).days) >= WEEK
        name = weekday_and_day(local.date()) if is_far else WEEKDAYS_ABBR[local.weekday()]
        return f"{name} {self.format_time(local)}"

    def fold_suffix(self, instant: datetime) -> str:
        """Return which one of two equal wall times the instant is; empty if clocks show its wall time once."""
        number = instants_at(self.zone, instant)
        if not number:
            return ""
        values = {"time": self.format_time_at(instant), "offset": offset_words(self.to_local(instant))}
        if number == 1:
            return gettext("the first of two %(time)s, %(offset)s") % values
        return gettext("the second %(time)s, %(offset)s") % values


@lru_cache(maxsize=2_000)
def long_date(day: date, language: str) -> str:
    """Format a date in the active language. `language` is its name, as a part of the cache key."""
    return date_format(day, "LONG_DATE_FORMAT")


class Labels(NamedTuple):
    """Labels of many items, translated once per page."""

    repeats: str
    private: str


class TimeLabels(dict):
    """Times of day by the minute of the day, each formatted at its first use."""

    def __init__(self, hour_cycle: int) -> None:
        self.hour_cycle = hour_cycle

    def __missing__(self, minute: int) -> str:
        wall_time = datetime(2000, 1, 1, minute // 60, minute % 60, tzinfo=UTC)
        self[minute] = time_words(wall_time, self.hour_cycle)
        return self[minute]


def offset_words(local: datetime) -> str:
    """Return the offset as in UTC+02:00, UTC−03:00 with a true minus."""
    minutes = (local.utcoffset() or timedelta(0)) // MINUTE
    sign = "+" if minutes >= 0 else "−"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def brief_offset(local: datetime) -> str:
    """Return the offset as in UTC+2, UTC+5:30."""
    minutes = (local.utcoffset() or timedelta(0)) // MINUTE
    sign = "+" if minutes >= 0 else "−"
    return f"UTC{sign}{abs(minutes) // 60}" + (f":{abs(minutes) % 60:02}" if minutes % 60 else "")


def weekday_and_day(day: date) -> str:
    return date_format(day, "DAY_FORMAT")


def hours_words(length: timedelta) -> str:
    """Return the length as in 25 h, 23 h 30 min."""
    hours, rest = divmod(length, HOUR)
    return f"{hours} h" + (f" {rest // MINUTE} min" if rest else "")


def whole_hours_words(length: timedelta) -> str:
    """Return the length as in 25 hours, 23 h 30 min."""
    hours, rest = divmod(length, HOUR)
    return hours_words(length) if rest else ngettext("%d hour", "%d hours", hours) % hours
