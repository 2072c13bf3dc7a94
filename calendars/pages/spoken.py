"""When something is, as a page of the calendar says it: in one zone and beside it in others."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from django.utils.formats import date_format
from django.utils.translation import gettext

from accounts.clock import time_words
from calendars.models import ONE_DAY


@dataclass(frozen=True, slots=True)
class Manner:
    """How a viewer reads times: on the clocks of `zone`, in their hour cycle; days of this year go without it."""

    zone: tzinfo
    hour_cycle: int
    now: datetime

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def clock(self, reading: datetime) -> str:
        """18:00; with seconds where it has some."""
        return time_words(reading, self.hour_cycle, with_seconds=reading.second > 0)

    def day(self, day: date) -> str:
        """Thu 22 October; with its year when that is not this one."""
        return date_format(day, "DAY_FORMAT" if day.year == self.today.year else "DATE_FORMAT")

    def moment(self, instant: datetime, zone: tzinfo | None = None) -> str:
        """Thu 22 October, 18:00."""
        local = instant.astimezone(zone or self.zone)
        return f"{self.day(local.date())}, {self.clock(local)}"

    def span(self, start: datetime, end: datetime) -> str:
        """Thu 22 October, 09:30–09:45; Thu 22 October, 22:00 – Fri 23 October, 02:00."""
        first, last = start.astimezone(self.zone), end.astimezone(self.zone)
        if first == last:
            return self.moment(start)
        if first.date() == last.date():
            return f"{self.day(first.date())}, {self.clock(first)}–{self.clock(last)}"
        return f"{self.moment(start)} – {self.moment(end)}"

    def days(self, first: date, behind: date) -> str:
        """Of something all-day: Thu 22 October; Thu 22 October – Sat 24 October."""
        last = max(first, behind - ONE_DAY)
        return self.day(first) if first == last else f"{self.day(first)} – {self.day(last)}"

    def elsewhere(self, instant: datetime, zones: Iterable[tzinfo]) -> str:
        """13:00 Sao Paulo · 16:00 UTC; with the day where it is another one.  Zones that show the same are left out."""
        here = instant.astimezone(self.zone)
        said, seen = [], {here.utcoffset()}
        for zone in zones:
            there = instant.astimezone(zone)
            if there.utcoffset() in seen:
                continue
            seen.add(there.utcoffset())
            words = self.clock(there) if there.date() == here.date() else self.moment(instant, zone)
            said.append(f"{words} {place_of(zone)}")
        return " · ".join(said)


def place_of(zone: tzinfo) -> str:
    """Berlin; UTC."""
    return str(zone).rpartition("/")[2].replace("_", " ")


def zone_words(zone: tzinfo, instant: datetime) -> str:
    """Europe/Berlin, UTC+02:00, for a title."""
    offset = f"{instant.astimezone(zone):%z}"
    return str(zone) if zone is UTC else f"{zone}, UTC{offset[:3]}:{offset[3:5]}"


def titled(subject: str) -> str:
    return subject or gettext("(no title)")
