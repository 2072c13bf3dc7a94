"""Export calendars as iCalendar (RFC 5545): a series as a rule if possible, else occurrence by occurrence.

* A series with a rule has its exceptions as components with RECURRENCE-ID, and cancelled occurrences as EXDATE.
* A series that no rule can express is exported as single events, for the occurrences in `window_around` now.
* RFC 5545 repeats the elapsed length of the first occurrence; Quando repeats its wall times.  An occurrence in this
  window with a clock change inside is therefore exported as an exception.
* Private events of other people are exported with only their times.

Events are written as lines.  The library icalendar folds the lines and renders time zones and durations.  Its component
for events is not used: a feed of 5,000 events would take more than three times as long.
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

from calendars.body_text import get_plain_text
from calendars.expansion import details_for, expand, sort_key, wall_times
from calendars.ics import timezones
from calendars.items import Band, RunItem
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
from recurrence.series import Occurrence, Series
from recurrence.wire.rrule import rrule_of
from recurrence.zones import missing_days

PRODUCT = "-//Quando//Quando//EN"
REFRESH = "PT1H"  # how often clients should read the file again
LINE_LENGTH = 75  # octets, beyond which a line is folded
ONE_SECOND = timedelta(seconds=1)
YEARS_BACK, YEARS_AHEAD = 1, 2  # of the window in which single occurrences are exported
RULES_KNOWN_AHEAD = 15  # years for which clock changes without a rule are listed
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


def render_calendar(name: str, zone_name: str, parts: Iterable[bytes]) -> bytes:
    """Return the whole file.  `zone_name` is the zone of its reader (X-WR-TIMEZONE)."""
    head = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        f"PRODID:{PRODUCT}",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
        text_property("NAME", name),
        text_property("X-WR-CALNAME", name),
        f"X-WR-TIMEZONE:{zone_name}",
        f"REFRESH-INTERVAL;VALUE=DURATION:{REFRESH}",
        f"X-PUBLISHED-TTL:{REFRESH}",
    ]
    return b"".join([join_lines(head), *parts, b"END:VCALENDAR\r\n"])


def window_around(now: datetime) -> tuple[datetime, datetime]:
    """Return the window [start, end) for occurrences that are exported one by one.

    It consists of whole months, so that it stays the same during a month.
    """
    month = datetime(now.year, now.month, 1, tzinfo=UTC)
    return month.replace(year=month.year - YEARS_BACK), month.replace(year=month.year + YEARS_AHEAD)


# Events


def render_events(calendars: Iterable[Calendar], viewer, now: datetime) -> Iterator[bytes]:
    """Yield the zones that are needed, then all events of `calendars` as `viewer` sees them.  Two queries."""
    shown = list(calendars)
    rows = list(Event.objects.filter(calendar__in=shown).select_related("calendar").order_by("start_at", "id"))
    exceptions: defaultdict[UUID, dict[date, EventException]] = defaultdict(dict)
    for each in EventException.objects.filter(event__calendar__in=shown).order_by("original_day"):
        exceptions[each.event_id][each.original_day] = each
    yield from render_zones(rows, now)
    window, uids = window_around(now), set()
    for row in rows:
        uid = f"{row.pk.hex}@quando" if row.uid in uids else row.uid  # the same invitation in two calendars
        uids.add(uid)
        yield from render_event(ExportContext(row, exceptions[row.pk], uid, viewer), window)


def render_zones(rows: Iterable[Event], now: datetime) -> Iterator[bytes]:
    years: dict[str, int] = {}
    for row in rows:
        if name := zone_name_of(row):
            years[name] = min(years.get(name, row.start.year), row.start.year)
    for zone, year in sorted(years.items()):
        last_year = max(now.year, year) + RULES_KNOWN_AHEAD
        yield timezones.render_vtimezone(zone, max(year - 1, EARLIEST_ZONE_YEAR), last_year)


@dataclass(frozen=True, slots=True)
class ExportContext:
    """An event to export, with its exceptions by original day, its UID in the file, and the reader of the file."""

    event: Event
    exceptions: dict[date, EventException]
    uid: str
    viewer: Any

    def visible_details(self, details: Details) -> Details:
        return details_for(self.viewer, self.event, details)


def render_event(context: ExportContext, window: tuple[datetime, datetime]) -> Iterator[bytes]:
    event = context.event
    if not event.is_series:
        when = time_properties(event, event.start, event.end, event.is_all_day)
        yield render_vevent(context, event.details, [f"UID:{clean(context.uid)}", *when])
        return
    rule = rrule_of(event.series, is_all_day=event.is_all_day)
    if rule is None:
        yield from render_individually(context, window)
        return
    head = [f"UID:{clean(context.uid)}", *series_time_properties(event), f"RRULE:{rule}"]
    yield render_vevent(context, event.details, [*head, *exdates(context)])
    for day, exception in context.exceptions.items():
        if not exception.is_cancelled and event.series.occurrence_on(day):
            yield render_exception(context, day, exception)
    for occurrence in occurrences_across_clock_changes(event, window):
        if occurrence.day not in context.exceptions:
            yield render_exception(context, occurrence.day, EventException(updated_at=event.updated_at))


def render_individually(context: ExportContext, window: tuple[datetime, datetime]) -> Iterator[bytes]:
    event = context.event
    for each in sorted(expand(event, context.exceptions, *window, UTC, context.viewer), key=sort_key):
        if not each.is_cancelled and each.day is not None:
            when = time_properties(
                event, *wall_times(event, each.day, each.exception.changes if each.exception else {})
            )
            yield render_vevent(context, each.details, [f"UID:{clean(context.uid)}-{each.day:%Y%m%d}", *when])


def exdates(context: ExportContext) -> Iterator[str]:
    """Yield EXDATE for days of the rule without an occurrence: cancelled ones, and days that the zone skipped."""
    event = context.event
    days = {
        day
        for day, exception in context.exceptions.items()
        if exception.is_cancelled and event.series.occurrence_on(day)
    }
    for day in sorted(days | nonexistent_days(event.series)):
        yield time_property("EXDATE", datetime.combine(day, event.start.time()), event, event.is_all_day)


def nonexistent_days(series: Series) -> set[date]:
    """Return the days of the series that its zone skipped, as zones do that cross the date line."""
    days = (date.fromordinal(ordinal) for ordinal in missing_days(series.zone))
    return {day for day in days if series.days.start <= day and series.days.on_or_after(day) == day}


def render_exception(context: ExportContext, day: date, exception: EventException) -> bytes:
    """Render an exception as a component with RECURRENCE-ID."""
    event, changes = context.event, exception.changes
    details = replace(event.details, **{name: value for name, value in changes.items() if name in DETAILS})
    recurrence_id = time_property("RECURRENCE-ID", datetime.combine(day, event.start.time()), event, event.is_all_day)
    when = time_properties(event, *wall_times(event, day, changes))
    return render_vevent(context, details, [f"UID:{clean(context.uid)}", recurrence_id, *when], exception.updated_at)


def occurrences_across_clock_changes(event: Event, window: tuple[datetime, datetime]) -> Iterator[Occurrence]:
    """Yield the occurrences in the window with a clock change inside: their elapsed and wall lengths differ."""
    if event.is_all_day or event.tzinfo is UTC or event.start == event.end:
        return
    seen: set[date] = set()
    for change in timezones.changes(event.tzinfo, *window):
        for each in event.series.occurrences(change.instant - NEAR, change.instant + NEAR):
            if each.end - each.start != event.end - event.start and each.day not in seen:
                seen.add(each.day)
                yield each


def time_properties(event: Event, start: datetime, end: datetime, is_all_day: bool) -> Iterator[str]:
    """Yield DTSTART and DTEND.  An event without length has no DTEND: RFC 5545 requires a DTEND after the start."""
    yield time_property("DTSTART", start, event, is_all_day)
    if start != end:
        yield time_property("DTEND", end, event, is_all_day)


def series_time_properties(event: Event) -> Iterator[str]:
    """Yield DTSTART, and DTEND or DURATION.

    With a clock change inside the first occurrence, DTEND would give all other occurrences a wrong length.
    """
    length = event.end - event.start
    if event.is_all_day or event.series.first.end - event.series.first.start == length:
        yield from time_properties(event, event.start, event.end, event.is_all_day)
    else:
        yield from (
            time_property("DTSTART", event.start, event, is_all_day=False),
            f"DURATION:{format_duration(length)}",
        )


def time_property(name: str, wall: datetime, event: Event, is_all_day: bool) -> str:
    """Return a property with a wall time in the event's zone, or with a date."""
    if is_all_day:
        return f"{name};VALUE=DATE:{wall:%Y%m%d}"
    zone_name = zone_name_of(event)
    return f"{name};TZID={zone_name}:{wall:%Y%m%dT%H%M%S}" if zone_name else utc_property(name, wall)


def zone_name_of(event: Event) -> str | None:
    """Return the name of the zone to describe in the file; None if the times are instants in UTC, or dates.

    A series in UTC is exported in a zone with the same offset: with instants, some clients would move the series to
    the zone of X-WR-TIMEZONE.
    """
    if event.is_all_day and not event.is_series:
        return None
    if event.tzinfo is not UTC:
        return event.zone
    return UTC_BY_ANOTHER_NAME if event.is_series else None


def render_vevent(context: ExportContext, own: Details, head: list[str], updated_at: datetime | None = None) -> bytes:
    event, details = context.event, context.visible_details(own)
    return join_lines(
        [
            "BEGIN:VEVENT",
            *head,
            utc_property("DTSTAMP", updated_at or event.updated_at),
            utc_property("CREATED", event.created_at),
            utc_property("LAST-MODIFIED", updated_at or event.updated_at),
            f"SEQUENCE:{event.revision - 1}",
            *description_lines(details, is_redacted=details is not own),
            "END:VEVENT",
        ]
    )


def description_lines(details: Details, is_redacted: bool) -> Iterator[str]:
    subject = gettext("Private") if is_redacted else details.subject
    if subject:
        yield text_property("SUMMARY", subject)
    if details.body:
        yield text_property("DESCRIPTION", get_plain_text(details))
    if details.body and details.body_type == BodyType.HTML:
        yield text_property("X-ALT-DESC;FMTTYPE=text/html", details.body)
    if details.location_name:
        yield text_property("LOCATION", details.location_name)
    if details.categories:
        yield f"CATEGORIES:{','.join(map(escape_text, details.categories))}"
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
        alarm = f"TRIGGER:-{format_duration(timedelta(minutes=details.reminder_minutes))}"
        yield from ("BEGIN:VALARM", "ACTION:DISPLAY", text_property("DESCRIPTION", subject or "-"), alarm, "END:VALARM")


# Runs of jobs


def render_runs(items: Iterable[RunItem], bands: Iterable[Band], site: str, now: datetime) -> Iterator[bytes]:
    """Yield runs as events that show nobody as busy; a frequent job is one all-day event on each day.

    `site` is the address of the server, without a slash at the end.
    """
    today = datetime.combine(now.date(), time(), UTC)
    for run in items:
        name = f"{run.name}: {run.label}" + (f" ({run.count})" if run.count > 1 else "")
        ends = [utc_property("DTEND", run.end)] if run.end is not None and run.end - run.fire_at >= ONE_SECOND else []
        when = [
            utc_property("DTSTART", run.fire_at),
            *ends,
            utc_property("DTSTAMP", run.fire_at if run.fire_at < now else today),
        ]
        yield render_run(f"run-{run.key}", when, name, run.reason, site + run.url)
    for band in bands:
        when = [f"DTSTART;VALUE=DATE:{band.day:%Y%m%d}", f"DTEND;VALUE=DATE:{band.day + ONE_DAY:%Y%m%d}"]
        summary = ngettext("%(total)d run", "%(total)d runs", band.total) % {"total": band.total}
        if band.failed_count:
            summary += ", " + ngettext("%(n)d failed", "%(n)d failed", band.failed_count) % {"n": band.failed_count}
        name = f"{band.name}: {band.interval}, {summary}"
        yield render_run(
            *(f"runs-{band.job_id}-{band.day:%Y%m%d}", [*when, utc_property("DTSTAMP", today)]),
            *(name, band.reason, site + band.url),
        )


def render_folded_runs(words: str, address: str, now: datetime) -> bytes:
    """Return an all-day event of today about the jobs whose runs are not in the file."""
    day = now.date()
    when = [f"DTSTART;VALUE=DATE:{day:%Y%m%d}", f"DTEND;VALUE=DATE:{day + ONE_DAY:%Y%m%d}"]
    stamp = utc_property("DTSTAMP", datetime.combine(day, time(), UTC))
    return render_run("runs-folded", [*when, stamp], words, "", address)


def render_run(uid: str, when: list[str], name: str, reason: str, address: str) -> bytes:
    return join_lines(
        [
            "BEGIN:VEVENT",
            f"UID:{clean(uid)}@quando",
            *when,
            text_property("SUMMARY", name),
            *([text_property("DESCRIPTION", reason)] if reason else []),
            f"URL:{clean(address)}",
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    )


# Lines


def join_lines(lines: Iterable[str]) -> bytes:
    return b"".join(fold_line(line) + b"\r\n" for line in lines)


def fold_line(line: str) -> bytes:
    """Return the folded line.  A short line is returned as it is, because icalendar examines each character."""
    return line.encode() if len(line) <= LINE_LENGTH and line.isascii() else Contentline(line).to_ical()


def text_property(name: str, value: str) -> str:
    return f"{name}:{escape_text(value)}"


def escape_text(value: str) -> str:
    r"""Return an escaped value of type TEXT.

    icalendar's vText is not used: it takes `\N`, as in `C:\New`, for the end of a line, and keeps control characters.
    """
    value = LINE_ENDS.sub("\n", value)
    value = value.replace("\\", "\\\\").replace(";", r"\;").replace(",", r"\,").replace("\n", r"\n")
    return CONTROLS.sub("", value)


def clean(value: str) -> str:
    """Return a value that is written without escapes, without characters that would end its line."""
    return CONTROLS.sub("", LINE_ENDS.sub("", value).replace("\n", ""))


def utc_property(name: str, moment: datetime) -> str:
    """Return a property with an instant in UTC.  A naive datetime is already in UTC."""
    return f"{name}:{moment.astimezone(UTC) if moment.tzinfo else moment:%Y%m%dT%H%M%SZ}"


def format_duration(length: timedelta) -> str:
    return vDuration(length).to_ical().decode()
