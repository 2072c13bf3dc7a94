"""Calendars as iCalendar (RFC 5545): series as rules where a rule says the same, else occurrence by occurrence.

* A rule, its exceptions as components with RECURRENCE-ID, cancelled occurrences as EXDATE.
* A series that no rule can say is told as single events, those in `window_around` now.
* RFC 5545 repeats the elapsed length of the first occurrence, a series of ours its readings of the clock.  Where
  clocks change within an occurrence of such a window, it is told as an exception.
* What others keep private is told as its times.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.utils.translation import gettext, ngettext
from icalendar import vDuration
from icalendar.parser import Contentline

from calendars import vtimezones
from calendars.bodies import text_of
from calendars.expansion import details_for, lay_out, order, walls_of
from calendars.models import (
    DETAILS,
    ONE_DAY,
    BodyType,
    Calendar,
    Details,
    Event,
    EventException,
    Importance,
    Sensitivity,
    ShowAs,
)
from calendars.pages.items import Band, RunItem
from recurrence.series import Occurrence, Series
from recurrence.wire.rrule import rrule_of
from recurrence.zones import missing_days

PRODUCT = "-//Quando//Quando//EN"
REFRESH = "PT1H"  # how often readers should come
LINE_LENGTH = 75  # octets, beyond which a line is folded
ONE_SECOND = timedelta(seconds=1)
YEARS_BACK, YEARS_AHEAD = 1, 2  # of the window in which single occurrences are told
RULES_KNOWN_AHEAD = 15  # years for which changes of clocks are listed that go by no rule
EARLIEST_ZONE_YEAR = 1900
UTC_BY_ANOTHER_NAME = "Etc/GMT"
NEAR = timedelta(days=1)
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
LINE_ENDS = re.compile("\r\n|[\r\x85\u2028\u2029]")
CLASSES = {
    Sensitivity.PERSONAL.value: "X-PERSONAL",
    Sensitivity.PRIVATE.value: "PRIVATE",
    Sensitivity.CONFIDENTIAL.value: "CONFIDENTIAL",
}
PRIORITIES = {Importance.HIGH.value: 1, Importance.LOW.value: 9}
BUSY_STATES = {
    ShowAs.FREE.value: "FREE",
    ShowAs.TENTATIVE.value: "TENTATIVE",
    ShowAs.BUSY.value: "BUSY",
    ShowAs.OOF.value: "OOF",
    ShowAs.WORKING_ELSEWHERE.value: "WORKINGELSEWHERE",
}


def calendar(name: str, zone_name: str, parts: Iterable[bytes]) -> bytes:
    """The whole file; `zone_name` is the zone in which its reader lives."""
    head = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:{PRODUCT}",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        text("NAME", name),
        text("X-WR-CALNAME", name),
        f"X-WR-TIMEZONE:{zone_name}",
        f"REFRESH-INTERVAL;VALUE=DURATION:{REFRESH}",
        f"X-PUBLISHED-TTL:{REFRESH}",
    ]
    return b"".join([written(head), *parts, b"END:VCALENDAR\r\n"])


def window_around(now: datetime) -> tuple[datetime, datetime]:
    """The window in which occurrences are told one by one: whole months, so that it stays the same through a month."""
    month = datetime(now.year, now.month, 1, tzinfo=UTC)
    return month.replace(year=month.year - YEARS_BACK), month.replace(year=month.year + YEARS_AHEAD)


# Events


def events(calendars: Iterable[Calendar], viewer, now: datetime) -> Iterator[bytes]:
    """All that `calendars` hold, as `viewer` sees it, behind the zones that it needs.  Two queries."""
    shown = list(calendars)
    rows = list(Event.objects.filter(calendar__in=shown).select_related("calendar").order_by("start_at", "id"))
    exceptions: defaultdict[UUID, dict[date, EventException]] = defaultdict(dict)
    for each in EventException.objects.filter(event__calendar__in=shown).order_by("original_day"):
        exceptions[each.event_id][each.original_day] = each
    yield from zones(rows, now)
    window, uids = window_around(now), set()
    for row in rows:
        uid = f"{row.pk.hex}@quando" if row.uid in uids else row.uid  # the same invitation, in two calendars
        uids.add(uid)
        yield from components(Telling(row, exceptions[row.pk], uid, viewer), window)


def zones(rows: Iterable[Event], now: datetime) -> Iterator[bytes]:
    years: dict[str, int] = {}
    for row in rows:
        if name := zone_name_of(row):
            years[name] = min(years.get(name, row.start.year), row.start.year)
    for zone, year in sorted(years.items()):
        last_year = max(now.year, year) + RULES_KNOWN_AHEAD
        yield vtimezones.described(zone, max(year - 1, EARLIEST_ZONE_YEAR), last_year)


@dataclass(frozen=True, slots=True)
class Telling:
    """An event, what became of its occurrences by their days, and for whom it is told under which name."""

    event: Event
    exceptions: dict[date, EventException]
    uid: str
    viewer: Any

    def told(self, details: Details) -> Details:
        return details_for(self.viewer, self.event, details)


def components(telling: Telling, window: tuple[datetime, datetime]) -> Iterator[bytes]:
    event = telling.event
    if not event.is_series:
        when = times(event, event.start, event.end, event.is_all_day)
        yield component(telling, event.details, [f"UID:{clean(telling.uid)}", *when])
        return
    rule = rrule_of(event.series, is_all_day=event.is_all_day)
    if rule is None:
        yield from one_by_one(telling, window)
        return
    head = [f"UID:{clean(telling.uid)}", *times_of_series(event), f"RRULE:{rule}"]
    yield component(telling, event.details, [*head, *left_out(telling)])
    for day, exception in telling.exceptions.items():
        if not exception.is_cancelled and event.series.on(day):
            yield changed(telling, day, exception)
    for occurrence in of_another_length(event, window):
        if occurrence.day not in telling.exceptions:
            yield changed(telling, occurrence.day, EventException(updated_at=event.updated_at))


def one_by_one(telling: Telling, window: tuple[datetime, datetime]) -> Iterator[bytes]:
    event = telling.event
    for each in sorted(lay_out(event, telling.exceptions, *window, UTC, telling.viewer), key=order):
        if not each.is_cancelled and each.day is not None:
            when = times(event, *walls_of(event, each.day, each.exception.changes if each.exception else {}))
            yield component(telling, each.details, [f"UID:{clean(telling.uid)}-{each.day:%Y%m%d}", *when])


def left_out(telling: Telling) -> Iterator[str]:
    """What the rule gives and the series has not: cancelled occurrences, and days that never were."""
    event = telling.event
    days = {day for day, each in telling.exceptions.items() if each.is_cancelled and event.series.on(day)}
    for day in sorted(days | never_were(event.series)):
        yield instant("EXDATE", datetime.combine(day, event.start.time()), event, event.is_all_day)


def never_were(series: Series) -> set[date]:
    days = (date.fromordinal(ordinal) for ordinal in missing_days(series.zone))
    return {day for day in days if series.days.start <= day and series.days.on_or_after(day) == day}


def changed(telling: Telling, day: date, exception: EventException) -> bytes:
    event, changes = telling.event, exception.changes
    details = replace(event.details, **{name: value for name, value in changes.items() if name in DETAILS})
    given = instant("RECURRENCE-ID", datetime.combine(day, event.start.time()), event, event.is_all_day)
    when = times(event, *walls_of(event, day, changes))
    return component(telling, details, [f"UID:{clean(telling.uid)}", given, *when], exception.updated_at)


def of_another_length(event: Event, window: tuple[datetime, datetime]) -> Iterator[Occurrence]:
    """The occurrences in the window whose elapsed length is not what their readings say, as clocks change in them."""
    if event.is_all_day or event.tzinfo is UTC or event.start == event.end:
        return
    seen: set[date] = set()
    for change in vtimezones.changes(event.tzinfo, *window):
        for each in event.series.occurrences(change.at - NEAR, change.at + NEAR):
            if each.end - each.start != event.end - event.start and each.day not in seen:
                seen.add(each.day)
                yield each


def times(event: Event, start: datetime, end: datetime, is_all_day: bool) -> Iterator[str]:
    """Start and end; without an end it has no length, which an end at the start must not say."""
    yield instant("DTSTART", start, event, is_all_day)
    if start != end:
        yield instant("DTEND", end, event, is_all_day)


def times_of_series(event: Event) -> Iterator[str]:
    """Where clocks change within the first occurrence, its end would give the others a length that they do not have."""
    length = event.end - event.start
    if event.is_all_day or event.series.first.end - event.series.first.start == length:
        yield from times(event, event.start, event.end, event.is_all_day)
    else:
        yield from (instant("DTSTART", event.start, event, is_all_day=False), f"DURATION:{duration(length)}")


def instant(name: str, wall: datetime, event: Event, is_all_day: bool) -> str:
    """A property that says what clocks in the event's zone show, or a date."""
    if is_all_day:
        return f"{name};VALUE=DATE:{wall:%Y%m%d}"
    zone_name = zone_name_of(event)
    return f"{name};TZID={zone_name}:{wall:%Y%m%dT%H%M%S}" if zone_name else in_utc(name, wall)


def zone_name_of(event: Event) -> str | None:
    """Under which name its zone is described; None: its times are instants, or dates.

    A series in UTC is told in a zone of the same offset: with instants, some readers would move it to the clocks of
    X-WR-TIMEZONE.
    """
    if event.is_all_day and not event.is_series:
        return None
    if event.tzinfo is not UTC:
        return event.zone
    return UTC_BY_ANOTHER_NAME if event.is_series else None


def component(telling: Telling, said: Details, head: list[str], updated_at: datetime | None = None) -> bytes:
    event, details = telling.event, telling.told(said)
    return written(
        [
            "BEGIN:VEVENT",
            *head,
            in_utc("DTSTAMP", updated_at or event.updated_at),
            in_utc("CREATED", event.created_at),
            in_utc("LAST-MODIFIED", updated_at or event.updated_at),
            f"SEQUENCE:{event.revision - 1}",
            *saying(details, is_veiled=details is not said),
            "END:VEVENT",
        ]
    )


def saying(details: Details, is_veiled: bool) -> Iterator[str]:
    subject = gettext("Private") if is_veiled else details.subject
    if subject:
        yield text("SUMMARY", subject)
    if details.body:
        yield text("DESCRIPTION", text_of(details.body) if details.body_type == BodyType.HTML else details.body)
    if details.body and details.body_type == BodyType.HTML:
        yield text("X-ALT-DESC;FMTTYPE=text/html", details.body)
    if details.place:
        yield text("LOCATION", details.place)
    if details.categories:
        yield f"CATEGORIES:{','.join(map(escaped, details.categories))}"
    if details.sensitivity in CLASSES:
        yield f"CLASS:{CLASSES[details.sensitivity]}"
    if details.importance in PRIORITIES:
        yield f"PRIORITY:{PRIORITIES[details.importance]}"
    yield f"TRANSP:{'TRANSPARENT' if details.show_as == ShowAs.FREE else 'OPAQUE'}"
    if details.show_as in BUSY_STATES:
        yield f"X-MICROSOFT-CDO-BUSYSTATUS:{BUSY_STATES[details.show_as]}"
    if details.show_as == ShowAs.TENTATIVE:
        yield "STATUS:TENTATIVE"
    if details.is_reminder_on:
        alarm = f"TRIGGER:-{duration(timedelta(minutes=details.reminder_minutes))}"
        yield from ("BEGIN:VALARM", "ACTION:DISPLAY", text("DESCRIPTION", subject or "-"), alarm, "END:VALARM")


# Runs of jobs


def runs(items: Iterable[RunItem], bands: Iterable[Band], site: str, now: datetime) -> Iterator[bytes]:
    """Runs as events that keep nobody busy, those of a frequent job as one on each day; `site` is where pages are."""
    today = datetime.combine(now.date(), time(), UTC)
    for run in items:
        name = f"{run.name}: {run.word}" + (f" ({run.count})" if run.count > 1 else "")
        ends = [in_utc("DTEND", run.end)] if run.end is not None and run.end - run.at >= ONE_SECOND else []
        when = [in_utc("DTSTART", run.at), *ends, in_utc("DTSTAMP", run.at if run.at < now else today)]
        yield run_component(f"run-{run.key}", when, name, run.reason, site + run.url)
    for band in bands:
        when = [f"DTSTART;VALUE=DATE:{band.day:%Y%m%d}", f"DTEND;VALUE=DATE:{band.day + ONE_DAY:%Y%m%d}"]
        said = ngettext("%(total)d run", "%(total)d runs", band.total) % {"total": band.total}
        if band.failed:
            said += ", " + ngettext("%(n)d failed", "%(n)d failed", band.failed) % {"n": band.failed}
        name = f"{band.name}: {band.every}, {said}"
        yield run_component(
            f"runs-{band.job_id}-{band.day:%Y%m%d}", [*when, in_utc("DTSTAMP", today)], name, "", site + band.url
        )


def run_component(uid: str, when: list[str], name: str, reason: str, address: str) -> bytes:
    return written(
        [
            "BEGIN:VEVENT",
            f"UID:{clean(uid)}@quando",
            *when,
            text("SUMMARY", name),
            *([text("DESCRIPTION", reason)] if reason else []),
            f"URL:{clean(address)}",
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    )


# Lines


def written(lines: Iterable[str]) -> bytes:
    return b"".join(folded(line) + b"\r\n" for line in lines)


def folded(line: str) -> bytes:
    return line.encode() if len(line) <= LINE_LENGTH and line.isascii() else Contentline(line).to_ical()


def text(name: str, value: str) -> str:
    return f"{name}:{escaped(value)}"


def escaped(value: str) -> str:
    r"""A value of type TEXT.  Not by icalendar's vText, to which `\N`, as in `C:\New`, is the end of a line."""
    value = LINE_ENDS.sub("\n", value)
    value = value.replace("\\", "\\\\").replace(";", r"\;").replace(",", r"\,").replace("\n", r"\n")
    return CONTROLS.sub("", value)


def clean(value: str) -> str:
    """A value that stands as it is, without what would end its line."""
    return CONTROLS.sub("", LINE_ENDS.sub("", value).replace("\n", ""))


def in_utc(name: str, moment: datetime) -> str:
    """An instant; what clocks show is taken as those of UTC."""
    return f"{name}:{moment.astimezone(UTC) if moment.tzinfo else moment:%Y%m%dT%H%M%SZ}"


def duration(length: timedelta) -> str:
    return vDuration(length).to_ical().decode()
