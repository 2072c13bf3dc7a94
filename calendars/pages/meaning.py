"""What the form of an event means: in words, and its next occurrences, with what changes of the clocks do to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, UTC, datetime, timedelta
from itertools import islice
from typing import cast

from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext

from calendars.errors import CalendarError
from calendars.pages.event_form import EventForm, Scope, Written
from calendars.pages.series_words import series_words
from calendars.pages.spoken import Manner, place_of
from calendars.times import Times, WallTime, merged
from jobs.words import span
from recurrence.series import Occurrence, Series
from recurrence.zones import EPOCH, SECOND, instant_of, showing, stretch_at

UPCOMING = 10
FAR = datetime(MAXYEAR, 12, 30, tzinfo=UTC)
NOTHING = timedelta(0)


@dataclass(frozen=True, slots=True)
class Row:
    """One of the next occurrences; `beside` is its start in UTC.  An all-day one has no times."""

    at: datetime
    day: str
    clock: str = ""
    beside: str = ""
    asides: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Meaning:
    """Either an error, or words and rows under a heading."""

    words: str = ""
    rows: Sequence[Row] = ()
    heading: str = ""
    note: str = ""
    error: str = ""


def meaning_of(form: EventForm, manner: Manner) -> Meaning:
    """What saving the form would lead to; while nothing is posted, what it begins with."""
    if wrong := next((form[name] for name in form.fields if name in form.counting_fields() & set(form.errors)), None):
        return Meaning(error=f"{wrong.label}: {wrong.errors[0]}")
    try:
        times = times_of(form)
    except CalendarError as error:
        return told(form, error)
    manner = replace(manner, zone=times.zone)
    return of_series(times, manner) if times.series else of_single(times, manner)


def told(form: EventForm, error: CalendarError) -> Meaning:
    place = form.place_of(error.path or "")
    message = capfirst(error.message)
    return Meaning(error=f"{form[place].label}: {message}" if place else message)


def times_of(form: EventForm) -> Times:
    """When the event would be.  Raises CalendarError."""
    if not form.is_bound:
        return begun(form.written)
    changes = form.when()
    if form.written.scope == Scope.NEW:
        return merged(None, changes)
    return merged(begun(form.written), changes) if changes else begun(form.written)


def begun(written: Written) -> Times:
    """When what the form begins with is."""
    start, end = WallTime(written.start, written.zone), WallTime(written.end, written.zone)
    whole = {"start": start, "end": end, "is_all_day": written.is_all_day}
    return merged(None, {**whole, "recurrence": written.recurrence if written.may_repeat else None})


def of_series(times: Times, manner: Manner) -> Meaning:
    series = cast(Series, times.series)
    coming = series.occurrences(manner.now, FAR)
    found = [*islice(coming, UPCOMING + 1)]
    is_past = not found
    if is_past:
        found = [*islice(series.occurrences(series.first.start, FAR), UPCOMING + 1)]
    rows = [*rows_of(found[:UPCOMING], times, manner)]
    limits = cast(dict, times.recurrence)["range"]
    count = limits["numberOfOccurrences"] if limits["type"] == "numbered" else None
    words = capfirst(series_words(series, count, manner.hour_cycle)) + "."
    return Meaning(words, rows, heading(found, is_past), note_of(found[:UPCOMING], times, manner))


def heading(found: Sequence[Occurrence], is_past: bool) -> str:
    if is_past:
        return gettext("All of it is past; it began with")
    if len(found) > UPCOMING:
        return gettext("The next ten")
    return gettext("The only one left") if len(found) == 1 else gettext("All that are left")


def of_single(times: Times, manner: Manner) -> Meaning:
    if times.is_all_day:
        return Meaning(gettext("%(days)s, all day.") % {"days": manner.days(times.start.date(), times.end.date())})
    start, end = instant_of(times.start, times.zone), instant_of(times.end, times.zone)
    when = f"{manner.span(start, max(start, end))} {place_of(times.zone)}."
    local, said = start.astimezone(times.zone), odd_reading(times.start, start, manner)
    row = Row(
        start,
        manner.day(local.date()),
        manner.clock(local),
        manner.elsewhere(start, [UTC]),
        [said] if said else [],
    )
    return Meaning(when, [row], gettext("The only time"))


def rows_of(occurrences: Sequence[Occurrence], times: Times, manner: Manner) -> Iterator[Row]:
    zone, before = times.zone, None
    for each in occurrences:
        if times.is_all_day:
            yield Row(each.start, manner.days(each.day, each.day + (times.end - times.start)))
            continue
        local = each.start.astimezone(zone)
        given = datetime.combine(each.day, times.start.time())
        asides = (changed_clock(before, local, manner), odd_reading(given, each.start, manner))
        beside = manner.elsewhere(each.start, [UTC])
        yield Row(each.start, manner.day(local.date()), manner.clock(local), beside, [*filter(None, asides)])
        before = local


def changed_clock(before: datetime | None, after: datetime, manner: Manner) -> str:
    """Clock went back on 25 October: told at the first occurrence behind it."""
    shift = NOTHING if before is None else offset_of(after) - offset_of(before)
    if not shift:
        return ""
    stretch = stretch_at(manner.zone, (after - EPOCH) // SECOND)
    if stretch.offset == stretch.before:  # so long ago that it is not known any more
        return gettext("Clock went forward") if shift > NOTHING else gettext("Clock went back")
    day = date_format((EPOCH + timedelta(seconds=stretch.start)).astimezone(manner.zone), "MONTH_DAY_FORMAT")
    words = gettext("Clock went forward on %(day)s") if shift > NOTHING else gettext("Clock went back on %(day)s")
    return words % {"day": day}


def odd_reading(given: datetime, start: datetime, manner: Manner) -> str:
    """What clocks do to a reading that they skip or show twice."""
    clock = manner.clock(given)
    if start.astimezone(manner.zone).replace(tzinfo=None, fold=0) != given:
        return gettext("Moved from %(clock)s, which clocks skip") % {"clock": clock}
    if showing(manner.zone, start):
        return gettext("%(clock)s happens twice; this is the first") % {"clock": clock}
    return ""


def note_of(occurrences: Sequence[Occurrence], times: Times, manner: Manner) -> str:
    offsets = [offset_of(each.start.astimezone(times.zone)) for each in occurrences]
    if times.is_all_day or max(offsets) == min(offsets):
        return ""
    said = {"clock": manner.clock(times.start), "place": place_of(times.zone), "by": span(max(offsets) - min(offsets))}
    return gettext("%(clock)s stays %(clock)s in %(place)s when its clock changes; in UTC it moves by %(by)s.") % said


def offset_of(moment: datetime) -> timedelta:
    return moment.utcoffset() or NOTHING
