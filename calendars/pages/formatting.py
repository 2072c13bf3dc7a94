"""Dates and times as the pages of the calendar show them: in the viewer's zone, and in other zones next to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from django.utils.formats import date_format

from accounts.time_format import time_words
from calendars.models import ONE_DAY


@dataclass(frozen=True, slots=True)
class TimeFormatter:
    """Format times on the clocks of `zone` in the viewer's hour cycle. Days of the current year have no year."""

    zone: tzinfo
    hour_cycle: int
    now: datetime

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def format_clock(self, wall_time: datetime) -> str:
        """Return the time as in 18:00; with seconds unless they are 0."""
        return time_words(wall_time, self.hour_cycle, with_seconds=wall_time.second > 0)

    def format_day(self, day: date) -> str:
        """Return the day as in Thu 22 October; with its year unless that is the current one."""
        return date_format(day, "DAY_FORMAT" if day.year == self.today.year else "DATE_FORMAT")

    def format_moment(self, instant: datetime, zone: tzinfo | None = None) -> str:
        """Return day and time as in Thu 22 October, 18:00."""
        local = instant.astimezone(zone or self.zone)
        return f"{self.format_day(local.date())}, {self.format_clock(local)}"

    def format_span(self, start: datetime, end: datetime) -> str:
        """Return the span as in Thu 22 October, 09:30–09:45, or Thu 22 October, 22:00 – Fri 23 October, 02:00."""
        first, last = start.astimezone(self.zone), end.astimezone(self.zone)
        if first == last:
            return self.format_moment(start)
        if first.date() == last.date():
            return f"{self.format_day(first.date())}, {self.format_clock(first)}–{self.format_clock(last)}"
        return f"{self.format_moment(start)} – {self.format_moment(end)}"

    def format_days(self, first: date, end: date) -> str:
        """Return the days of [first, end) as in Thu 22 October, or Thu 22 October – Sat 24 October."""
        last = max(first, end - ONE_DAY)
        return self.format_day(first) if first == last else f"{self.format_day(first)} – {self.format_day(last)}"

    def format_other_zones(self, instant: datetime, zones: Iterable[tzinfo]) -> str:
        """Return the time in other zones as in 13:00 Sao Paulo · 16:00 UTC; with its day if the day differs.

        Zones with an offset that was shown already are left out.
        """
        local = instant.astimezone(self.zone)
        texts, seen_offsets = [], {local.utcoffset()}
        for zone in zones:
            other = instant.astimezone(zone)
            if other.utcoffset() in seen_offsets:
                continue
            seen_offsets.add(other.utcoffset())
            words = self.format_clock(other) if other.date() == local.date() else self.format_moment(instant, zone)
            texts.append(f"{words} {place_of(zone)}")
        return " · ".join(texts)


def place_of(zone: tzinfo) -> str:
    """Return the place of a zone: Berlin; UTC."""
    return str(zone).rpartition("/")[2].replace("_", " ")


def zone_words(zone: tzinfo, instant: datetime) -> str:
    """Return the zone and its offset for a title: Europe/Berlin, UTC+02:00."""
    offset = f"{instant.astimezone(zone):%z}"
    return str(zone) if zone is UTC else f"{zone}, UTC{offset[:3]}:{offset[3:5]}"
