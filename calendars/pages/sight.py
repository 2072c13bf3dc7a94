"""How a page shows: its window, zones and clock, and the addresses of its neighbours."""

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

from accounts.clock import time_words
from calendars.pages.filters import Query
from calendars.pages.window import WEEK, View, Window
from recurrence.zones import showing

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ANY_ID = "0" * 32


@dataclass(frozen=True)
class Sight:
    """`own_zone` is the viewer's, `zone` the one whose clocks the page shows, `beside` that of the second scale."""

    query: Query
    window: Window
    zone: tzinfo
    own_zone: tzinfo
    beside: tzinfo | None
    now: datetime
    hour_cycle: int
    week_start: int

    @cached_property
    def today(self) -> date:
        return self.local(self.now).date()

    @cached_property
    def page(self) -> str:
        return reverse("calendar:page")

    @cached_property
    def _kept(self) -> str:
        """What every link of the page carries along."""
        parameters = {"zone": self.query.zone, "beside": self.query.beside} | self.query.filter.parameters
        said = {name: value for name, value in parameters.items() if value}
        return f"&{urlencode(said, safe=',/')}" if said else ""

    def link(self, view: View, day: date) -> str:
        return f"{self.page}?view={view.value}&date={day.isoformat()}{self._kept}"

    def link_to_today(self, view: View) -> str:
        return f"{self.page}?view={view.value}{self._kept}"

    @cached_property
    def _item(self) -> tuple[str, str]:
        before, _, after = reverse("calendar:item", args=[ANY_ID]).partition(ANY_ID)
        return before, after + self.whence

    @cached_property
    def whence(self) -> str:
        """What leads back to this very view from the pages that open from it."""
        parameters = self.query.parameters
        return f"?{urlencode(parameters, safe=',/')}" if parameters else ""

    def item_link(self, item_id: str) -> str:
        before, after = self._item
        return f"{before}{item_id}{after}"

    def notice_link(self, notice_id: UUID) -> str:
        return reverse("calendar:notice", args=[notice_id]) + self.whence

    def run_link(self, address: str) -> str:
        return address + self.whence

    def local(self, instant: datetime) -> datetime:
        return instant.astimezone(self.zone)

    def time(self, local: datetime) -> str:
        return self._times[local.hour * 60 + local.minute]

    def time_of_day(self, minute: int) -> str:
        return self._times[minute]

    @cached_property
    def words(self) -> "Words":
        return Words(gettext("repeats"), gettext("private"))

    @cached_property
    def _times(self) -> "Times":
        return Times(self.hour_cycle)

    def time_at(self, instant: datetime) -> str:
        return self.time(self.local(instant))

    @cached_property
    def language(self) -> str:
        return get_language() or settings.LANGUAGE_CODE

    def long_date(self, day: date) -> str:
        """Wednesday 21 October 2026."""
        return long_date(day, self.language)

    def near(self, instant: datetime, day: date) -> str:
        """A time, with its day unless that is `day`: 18:00, Fri 18:00, Fri 23 October 18:00 when that is far away."""
        local = self.local(instant)
        if local.date() == day:
            return self.time(local)
        is_far = abs((local.date() - day).days) >= WEEK
        name = weekday_and_day(local.date()) if is_far else WEEKDAYS_ABBR[local.weekday()]
        return f"{name} {self.time(local)}"

    def which(self, instant: datetime) -> str:
        """Of a reading that clocks show twice, which of the two it is."""
        number = showing(self.zone, instant)
        if not number:
            return ""
        said = {"time": self.time_at(instant), "offset": offset_words(self.local(instant))}
        if number == 1:
            return gettext("the first of two %(time)s, %(offset)s") % said
        return gettext("the second %(time)s, %(offset)s") % said


@lru_cache(maxsize=2_000)
def long_date(day: date, language: str) -> str:
    """In the active language, which has this name."""
    return date_format(day, "LONG_DATE_FORMAT")


class Words(NamedTuple):
    """What is said of many items: looked up once."""

    repeats: str
    private: str


class Times(dict):
    """What a clock shows, by the minute of the day; written once and kept."""

    def __init__(self, hour_cycle: int) -> None:
        self.hour_cycle = hour_cycle

    def __missing__(self, minute: int) -> str:
        reading = datetime(2000, 1, 1, minute // 60, minute % 60, tzinfo=UTC)
        self[minute] = time_words(reading, self.hour_cycle)
        return self[minute]


def offset_words(local: datetime) -> str:
    """UTC+02:00, UTC−03:00 with a true minus, UTC."""
    minutes = (local.utcoffset() or timedelta(0)) // MINUTE
    sign = "+" if minutes >= 0 else "−"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def brief_offset(local: datetime) -> str:
    """UTC+2, UTC+5:30."""
    minutes = (local.utcoffset() or timedelta(0)) // MINUTE
    sign = "+" if minutes >= 0 else "−"
    return f"UTC{sign}{abs(minutes) // 60}" + (f":{abs(minutes) % 60:02}" if minutes % 60 else "")


def weekday_and_day(day: date) -> str:
    return date_format(day, "DAY_FORMAT")


def hours_words(length: timedelta) -> str:
    """25 h, 23 h 30 min."""
    hours, rest = divmod(length, HOUR)
    return f"{hours} h" + (f" {rest // MINUTE} min" if rest else "")


def whole_hours_words(length: timedelta) -> str:
    """25 hours, 23 h 30 min."""
    hours, rest = divmod(length, HOUR)
    return hours_words(length) if rest else ngettext("%d hour", "%d hours", hours) % hours
