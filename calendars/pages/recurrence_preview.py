"""The preview of an event's form: its times in words, and its next occurrences with the effects of clock changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from itertools import islice
from typing import cast

from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext

from calendars.errors import CalendarError
from calendars.event_times import Times, apply_changes
from calendars.pages.event_form import EventForm, Scope
from calendars.pages.formatting import TimeFormatter, place_of
from calendars.pages.viewer_language import ViewerLanguage
from jobs.humanize import format_duration
from recurrence.describe_series import describe_series
from recurrence.series import Occurrence, Series
from recurrence.zones import EPOCH, SECOND, instant_of, instants_at, offset_period_at

UPCOMING = 10
FAR = datetime(MAXYEAR, 12, 30, tzinfo=UTC)
NOTHING = timedelta(0)


@dataclass(frozen=True, slots=True)
class Row:
    """One of the next occurrences.

    `utc_text` is its start in UTC, `notes` are notes on clock changes. An all-day occurrence has no times.
    """

    start: datetime
    day: str
    clock: str = ""
    utc_text: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RecurrencePreview:
    """The preview: an error, or words, and rows with a heading."""

    text: str = ""
    rows: Sequence[Row] = ()
    heading: str = ""
    note: str = ""
    error: str = ""


def preview_recurrence(form: EventForm, formatter: TimeFormatter) -> RecurrencePreview:
    """Return the preview of what the form would save; of an unbound form, of its initial data."""
    if invalid := next((form[name] for name in form.fields if name in form.active_fields() & set(form.errors)), None):
        return RecurrencePreview(error=f"{invalid.label}: {invalid.errors[0]}")
    try:
        times = times_of(form)
    except CalendarError as error:
        return error_preview(form, error)
    formatter = replace(formatter, zone=times.zone)
    return preview_series(times, formatter) if times.series else preview_single(times, formatter)


def error_preview(form: EventForm, error: CalendarError) -> RecurrencePreview:
    place = form.field_for_path(error.path or "")
    message = capfirst(error.message)
    return RecurrencePreview(error=f"{form[place].label}: {message}" if place else message)


def times_of(form: EventForm) -> Times:
    """Return the times that the event would have. Raise CalendarError."""
    if not form.is_bound:
        return form.form_data.times
    changes = form.time_changes()
    if form.form_data.scope == Scope.NEW:
        return apply_changes(None, changes)
    return apply_changes(form.form_data.times, changes) if changes else form.form_data.times


def preview_series(times: Times, formatter: TimeFormatter) -> RecurrencePreview:
    series = cast(Series, times.series)
    upcoming = series.occurrences(formatter.now, FAR)
    found = [*islice(upcoming, UPCOMING + 1)]
    is_past = not found
    if is_past:
        found = [*islice(series.occurrences(series.first.start, FAR), UPCOMING + 1)]
    rows = [*rows_of(found[:UPCOMING], times, formatter)]
    limits = cast(dict, times.recurrence)["range"]
    count = limits["numberOfOccurrences"] if limits["type"] == "numbered" else None
    words = capfirst(describe_series(series, ViewerLanguage(formatter.hour_cycle), count)) + "."
    return RecurrencePreview(words, rows, heading(found, is_past), note_of(found[:UPCOMING], times, formatter))


def heading(found: Sequence[Occurrence], is_past: bool) -> str:
    if is_past:
        return gettext("All occurrences are in the past. The first ones:")
    if len(found) > UPCOMING:
        return gettext("Next ten occurrences")
    return gettext("Last occurrence") if len(found) == 1 else gettext("Remaining occurrences")


def preview_single(times: Times, formatter: TimeFormatter) -> RecurrencePreview:
    if times.is_all_day:
        return RecurrencePreview(
            gettext("%(days)s, all day.") % {"days": formatter.format_days(times.start.date(), times.end.date())}
        )
    start, end = instant_of(times.start, times.zone), instant_of(times.end, times.zone)
    when = f"{formatter.format_span(start, max(start, end))} {place_of(times.zone)}."
    local, note = start.astimezone(times.zone), clock_change_note(times.start, start, formatter)
    row = Row(
        start,
        formatter.format_day(local.date()),
        formatter.format_clock(local),
        formatter.format_other_zones(start, [UTC]),
        [note] if note else [],
    )
    return RecurrencePreview(when, [row], gettext("Only occurrence"))


def rows_of(occurrences: Sequence[Occurrence], times: Times, formatter: TimeFormatter) -> Iterator[Row]:
    zone, before = times.zone, None
    for each in occurrences:
        if times.is_all_day:
            yield Row(each.start, formatter.format_days(each.day, each.day + (times.end - times.start)))
            continue
        local = each.start.astimezone(zone)
        wall_time = datetime.combine(each.day, times.start.time())
        notes = (changed_clock(before, local, formatter), clock_change_note(wall_time, each.start, formatter))
        utc_text = formatter.format_other_zones(each.start, [UTC])
        yield Row(
            each.start,
            formatter.format_day(local.date()),
            formatter.format_clock(local),
            utc_text,
            [*filter(None, notes)],
        )
        before = local


def changed_clock(before: datetime | None, after: datetime, formatter: TimeFormatter) -> str:
    """Return a note at the first occurrence after a clock change, as in Clock went back on 25 October."""
    shift = NOTHING if before is None else offset_of(after) - offset_of(before)
    if not shift:
        return ""
    period = offset_period_at(formatter.zone, (after - EPOCH) // SECOND)
    if period.offset == period.before:  # the change is too long ago to be known
        return gettext("Clock went forward") if shift > NOTHING else gettext("Clock went back")
    day = date_format((EPOCH + timedelta(seconds=period.start)).astimezone(formatter.zone), "MONTH_DAY_FORMAT")
    words = gettext("Clock went forward on %(day)s") if shift > NOTHING else gettext("Clock went back on %(day)s")
    return words % {"day": day}


def clock_change_note(wall_time: datetime, start: datetime, formatter: TimeFormatter) -> str:
    """Return a note if clocks skip the wall time, or show it twice."""
    clock = formatter.format_clock(wall_time)
    if start.astimezone(formatter.zone).replace(tzinfo=None, fold=0) != wall_time:
        return gettext("Moved from %(clock)s, which clocks skip") % {"clock": clock}
    if instants_at(formatter.zone, start):
        return gettext("%(clock)s happens twice; this is the first") % {"clock": clock}
    return ""


def note_of(occurrences: Sequence[Occurrence], times: Times, formatter: TimeFormatter) -> str:
    """Return a note if the offset from UTC differs between the occurrences."""
    offsets = [offset_of(each.start.astimezone(times.zone)) for each in occurrences]
    if times.is_all_day or max(offsets) == min(offsets):
        return ""
    values = {
        "clock": formatter.format_clock(times.start),
        "place": place_of(times.zone),
        "by": format_duration(max(offsets) - min(offsets)),
    }
    return gettext("When the clock changes, the time stays %(clock)s in %(place)s and moves by %(by)s in UTC.") % values


def offset_of(moment: datetime) -> timedelta:
    return moment.utcoffset() or NOTHING
