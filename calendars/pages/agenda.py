"""The calendar as a list: days, each with what is on it, in the order of time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from django.utils.formats import date_format
from django.utils.safestring import mark_safe
from django.utils.translation import gettext

from accounts.clock import days_words
from calendars.expansion import Occurrence
from calendars.pages import entries
from calendars.pages.changes import note_of
from calendars.pages.contents import Contents
from calendars.pages.entries import Sheet
from calendars.pages.items import Band, NoticeItem, RunItem
from calendars.pages.series_words import rule_words
from calendars.pages.sight import Sight, weekday_and_day
from calendars.pages.window import ONE_DAY, View, midnight
from jobs.words import distance, took

MOST = 500  # rows of a page
ALL_DAY, TIMED = 0, 1
OWN_TRIGGER = "default"  # a job's own schedule
NEAR = ONE_DAY  # what lies ahead is counted down


@dataclass(frozen=True, slots=True)
class Entry:
    """Something of a day; `when` orders it."""

    kind: int
    when: datetime
    thing: Sheet | RunItem | Band


def agenda(sight: Sight, contents: Contents, days: Iterable[date]) -> dict:
    """The days that hold something.  Beyond `MOST` rows it ends, and `rest` leads on from there."""
    days = list(days)
    by_day = entries_by_day(sight, contents, days)
    collections: dict = {layer.id: layer.name for layer in contents.collections}
    sections: list[dict] = []
    count = 0
    for day in sorted(by_day):
        found = sorted(by_day[day], key=lambda entry: (entry.kind, entry.when))
        if count and count + len(found) > MOST:
            label = gettext("Continue at %s") % sight.long_date(day)
            return {"sections": sections, "rest": {"url": sight.link(View.AGENDA, day), "label": label}}
        cut = found[:MOST]
        count += len(cut)
        sections.append(section(sight, day, cut, len(found) - len(cut), collections))
    nothing = gettext("Nothing on %s") if len(days) == 1 else gettext("Nothing from %s")
    return {"sections": sections, "nothing": nothing % days_words(days[0], days[-1])}


def entries_by_day(sight: Sight, contents: Contents, days: list[date]) -> dict[date, list[Entry]]:
    """What is on several days stands on the first of them that is shown."""
    by_day: dict[date, list[Entry]] = defaultdict(list)
    start, end = midnight(days[0], sight.zone), midnight(days[-1] + ONE_DAY, sight.zone)
    sheets: list[Sheet] = [*contents.occurrences, *contents.notices]
    for each in sheets:
        if each.start >= end or each.end < start:
            continue
        first, last = entries.days_of(sight, each)
        shown = max(first, days[0])
        if shown <= min(last, days[-1]):
            kind = ALL_DAY if each.days or first < shown and entries.is_bar(each) else TIMED
            by_day[shown].append(Entry(kind, max(each.start, midnight(shown, sight.zone)), each))
    for run in contents.runs:
        day = sight.local(run.at).date()
        if days[0] <= day <= days[-1]:
            by_day[day].append(Entry(TIMED, run.at, run))
    for band in contents.bands:
        if days[0] <= band.day <= days[-1]:
            by_day[band.day].append(Entry(ALL_DAY, midnight(band.day, sight.zone), band))
    return by_day


def section(sight: Sight, day: date, found: list[Entry], left_out: int, collections: dict[int, str]) -> dict:
    rows = []
    is_now_told = day != sight.today
    for entry in found:
        if not is_now_told and entry.kind == TIMED and entry.when > sight.now:
            rows.append(now_row(sight))
            is_now_told = True
        rows.append(row_of(sight, day, entry, collections))
    if not is_now_told:
        rows.append(now_row(sight))
    more = gettext("and %d more") % left_out if left_out else ""
    return {
        "label": date_format(day, "LONG_DAY_FORMAT" if day.year == sight.today.year else "LONG_DATE_FORMAT"),
        "url": sight.link(View.DAY, day),
        "note": note_of(sight, day),
        "attributes": mark_safe(" data-today" if day == sight.today else ""),
        "rows": rows,
        "more": more,
    }


def now_row(sight: Sight) -> dict:
    return {"now": gettext("%s now") % sight.time_at(sight.now)}


def row_of(sight: Sight, day: date, entry: Entry, collections: dict[int, str]) -> dict:
    if isinstance(entry.thing, Occurrence):
        return event_row(sight, day, entry.thing)
    if isinstance(entry.thing, NoticeItem):
        return notice_row(sight, day, entry.thing)
    if isinstance(entry.thing, Band):
        return band_row(sight, entry.thing)
    return run_row(sight, entry.thing, collections.get(entry.thing.collection_id, ""))


def event_row(sight: Sight, day: date, each: Occurrence) -> dict:
    row = entries.event_row(sight, each)
    how = [how_of(sight, each), *reaching(sight, day, each)]
    return row | {
        "time": entries.span_of(sight, each, sight.local(each.start)),
        "is_all_day": bool(each.days),
        "hue": each.event.calendar.hue,
        "how": " · ".join(part for part in how if part),
        "where": " · ".join(part for part in (each.details.place, each.event.calendar.name) if part),
        "attributes": mark_safe(" data-cancelled" if each.is_cancelled else ""),
    }


def reaching(sight: Sight, day: date, each: Sheet) -> Iterator[str]:
    """To which day it goes on, and since which it is."""
    first, last = entries.days_of(sight, each)
    if entries.is_bar(each) and last > day:
        yield gettext("until %s") % weekday_and_day(last)
    if first < day:
        yield gettext("since %s") % weekday_and_day(first)


def notice_row(sight: Sight, day: date, notice: NoticeItem) -> dict:
    how = [gettext("maintenance"), *(reaching(sight, day, notice) if not notice.is_open else ())]
    return entries.notice_row(sight, notice) | {
        "time": entries.span_of(sight, notice, sight.local(notice.start)),
        "is_all_day": False,
        "how": " · ".join(how),
        "word": notice.word,
        "state": notice.state,
        "where": gettext("nobody knows how long") if notice.is_open else "",
        "attributes": "",
    }


def how_of(sight: Sight, each: Occurrence) -> str:
    """What is to be known of the occurrence: that it was moved, else how its series goes."""
    icon, said = entries.marks_of(sight, each)
    if each.is_cancelled:
        return gettext("cancelled")
    if icon == "repeat":
        return rule_words(each.event.series)
    return ", ".join(said)


def run_row(sight: Sight, run: RunItem, collection: str) -> dict:
    trigger = run.trigger_name if run.trigger_name != OWN_TRIGGER else ""
    return entries.run_row(sight, run) | {
        "time": sight.time_at(run.at),
        "how": " · ".join(part for part in (collection, trigger) if part),
        "word": run.word,
        "state": run.state,
        "where": ", ".join(part for part in (run.reason or came_of(sight, run), sight.which(run.at)) if part),
        "attributes": "",
    }


def came_of(sight: Sight, run: RunItem) -> str:
    """How long it took, or how soon it will be."""
    if run.at > sight.now:
        return distance(run.at, sight.now) if run.at - sight.now < NEAR else ""
    return took(run.end - run.at) if run.end and run.run_id else ""


def band_row(sight: Sight, band: Band) -> dict:
    state, word = ("planned", gettext("Planned")) if not band.done else ("success", gettext("Succeeded"))
    if band.failed:
        state, word = "failure", gettext("%d failed") % band.failed
    elif band.held and not band.will:
        state, word = "held", gettext("Held")
    elif 0 < band.done < band.total and band.day == sight.today:
        state, word = "running", gettext("%(done)d of %(total)d") % {"done": band.done, "total": band.total}
    said = str(band.total)
    if state in ("failure", "running"):
        said = gettext("so far") if state == "running" else gettext("of %d") % band.total
    return entries.band_row(sight, band) | {
        "type": "run",
        "time": gettext("all day"),
        "is_all_day": True,
        "at": "",
        "mark": state,
        "how": gettext("%s, condensed") % (band.every or gettext("often")),
        "word": word,
        "state": state,
        "where": ", ".join(part for part in (said, band.reason) if part),
        "attributes": "",
    }
