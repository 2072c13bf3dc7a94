"""The agenda: a list of days, each with its items in the order of time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from django.utils.formats import date_format
from django.utils.safestring import mark_safe
from django.utils.translation import gettext

from accounts.time_format import days_words
from calendars.expansion import Occurrence
from calendars.items import Band, NoticeItem, RunItem
from calendars.pages import item_rows
from calendars.pages.clock_changes import note_of
from calendars.pages.closed_days import DayNote, closed_text
from calendars.pages.item_rows import Sheet
from calendars.pages.page_data import Contents
from calendars.pages.view_context import ViewContext, weekday_and_day
from calendars.pages.viewer_language import ViewerLanguage
from calendars.pages.window import ONE_DAY, View, midnight
from jobs.humanize import format_elapsed, format_relative
from recurrence.describe_series import describe_days

MOST = 500  # rows of a page
ALL_DAY, TIMED = 0, 1
OWN_TRIGGER = "default"  # a job's own schedule
NEAR = ONE_DAY  # runs within this time get a countdown


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of a day; `kind`, then `when` order the items."""

    kind: int
    when: datetime
    item: Sheet | RunItem | Band


def agenda(context: ViewContext, contents: Contents, days: Iterable[date]) -> dict:
    """Return the days that have items. After `MOST` rows the list ends, and `rest` is the link to its continuation."""
    days = list(days)
    by_day = entries_by_day(context, contents, days)
    collections: dict = {layer.id: layer.name for layer in contents.collections}
    sections: list[dict] = []
    count = 0
    for day in sorted(by_day.keys() | named_closed_days(contents, days)):
        found = sorted(by_day.get(day, []), key=lambda entry: (entry.kind, entry.when))
        if count and count + len(found) > MOST:
            label = gettext("Continue at %s") % context.format_long_date(day)
            return {"sections": sections, "rest": {"url": context.view_link(View.AGENDA, day), "label": label}}
        shown = found[:MOST]
        count += len(shown)
        closed = contents.closed_days.get(day)
        sections.append(section(context, day, shown, len(found) - len(shown), collections, closed))
    nothing = gettext("Nothing on %s") if len(days) == 1 else gettext("Nothing from %s")
    return {"sections": sections, "nothing": nothing % days_words(days[0], days[-1])}


def named_closed_days(contents: Contents, days: list[date]) -> set[date]:
    """Return the closed days with a name, which are listed without items too."""
    return {day for day in days if (closed := contents.closed_days.get(day)) and closed.label}


def entries_by_day(context: ViewContext, contents: Contents, days: list[date]) -> dict[date, list[Entry]]:
    """Return the entries by day. An item of several days is listed on the first of them that is shown."""
    by_day: dict[date, list[Entry]] = defaultdict(list)
    start, end = midnight(days[0], context.zone), midnight(days[-1] + ONE_DAY, context.zone)
    sheets: list[Sheet] = [*contents.occurrences, *contents.notices]
    for each in sheets:
        if each.start >= end or each.end < start:
            continue
        first, last = item_rows.days_of(context, each)
        shown = max(first, days[0])
        if shown <= min(last, days[-1]):
            kind = ALL_DAY if each.days or (first < shown and item_rows.is_bar(each)) else TIMED
            by_day[shown].append(Entry(kind, max(each.start, midnight(shown, context.zone)), each))
    for run in contents.runs:
        day = context.to_local(run.fire_at).date()
        if days[0] <= day <= days[-1]:
            by_day[day].append(Entry(TIMED, run.fire_at, run))
    for band in contents.bands:
        if days[0] <= band.day <= days[-1]:
            by_day[band.day].append(Entry(ALL_DAY, midnight(band.day, context.zone), band))
    return by_day


def section(
    context: ViewContext,
    day: date,
    found: list[Entry],
    left_out: int,
    collections: dict[int, str],
    closed: DayNote | None,
) -> dict:
    """Return the section of a day. Today's section has a row for the present time."""
    rows = []
    is_now_shown = day != context.today
    for entry in found:
        if not is_now_shown and entry.kind == TIMED and entry.when > context.now:
            rows.append(now_row(context))
            is_now_shown = True
        rows.append(row_of(context, day, entry, collections))
    if not is_now_shown:
        rows.append(now_row(context))
    more = gettext("and %d more") % left_out if left_out else ""
    return {
        "label": date_format(day, "LONG_DAY_FORMAT" if day.year == context.today.year else "LONG_DATE_FORMAT"),
        "url": context.view_link(View.DAY, day),
        "note": ", ".join(filter(None, (note_of(context, day), closed_text(closed)))),
        "attributes": mark_safe((" data-today" if day == context.today else "") + (" data-closed" if closed else "")),
        "rows": rows,
        "more": more,
    }


def now_row(context: ViewContext) -> dict:
    return {"now": gettext("%s now") % context.format_time_at(context.now)}


def row_of(context: ViewContext, day: date, entry: Entry, collections: dict[int, str]) -> dict:
    if isinstance(entry.item, Occurrence):
        return event_row(context, day, entry.item)
    if isinstance(entry.item, NoticeItem):
        return notice_row(context, day, entry.item)
    if isinstance(entry.item, Band):
        return band_row(context, entry.item)
    return run_row(context, entry.item, collections.get(entry.item.collection_id, ""))


def event_row(context: ViewContext, day: date, each: Occurrence) -> dict:
    row = item_rows.event_row(context, each)
    details = [status_text(context, each), *span_suffix(context, day, each)]
    return row | {
        "time": item_rows.span_of(context, each, context.to_local(each.start)),
        "is_all_day": bool(each.days),
        "hue": each.event.calendar.hue,
        "how": " · ".join(part for part in details if part),
        "where": " · ".join(part for part in (each.details.location_name, each.event.calendar.name) if part),
        "attributes": mark_safe(" data-cancelled" if each.is_cancelled else ""),
    }


def span_suffix(context: ViewContext, day: date, each: Sheet) -> Iterator[str]:
    """Yield until which day the item lasts and since which day, if it lasts longer than `day`."""
    first, last = item_rows.days_of(context, each)
    if item_rows.is_bar(each) and last > day:
        yield gettext("until %s") % weekday_and_day(last)
    if first < day:
        yield gettext("since %s") % weekday_and_day(first)


def notice_row(context: ViewContext, day: date, notice: NoticeItem) -> dict:
    details = [gettext("maintenance"), *(span_suffix(context, day, notice) if not notice.is_open_ended else ())]
    return item_rows.notice_row(context, notice) | {
        "time": item_rows.span_of(context, notice, context.to_local(notice.start)),
        "is_all_day": False,
        "how": " · ".join(details),
        "word": notice.label,
        "state": notice.state,
        "where": notice.duration_text,
        "attributes": "",
    }


def status_text(context: ViewContext, each: Occurrence) -> str:
    """Return that the occurrence is cancelled, moved or changed; else the rule of its series."""
    icon, texts = item_rows.icon_of(context, each)
    if each.is_cancelled:
        return gettext("cancelled")
    if icon == "repeat":
        return describe_days(each.event.series, ViewerLanguage(context.hour_cycle))
    return ", ".join(texts)


def run_row(context: ViewContext, run: RunItem, collection: str) -> dict:
    trigger = run.trigger_name if run.trigger_name != OWN_TRIGGER else ""
    return item_rows.run_row(context, run) | {
        "time": context.format_time_at(run.fire_at),
        "how": " · ".join(part for part in (collection, trigger) if part),
        "word": run.label,
        "state": run.state,
        "where": ", ".join(
            part
            for part in (
                run.reason or duration_or_countdown(context, run),
                *item_rows.run_notes(context, run),
                context.fold_suffix(run.fire_at),
            )
            if part
        ),
        "attributes": "",
    }


def duration_or_countdown(context: ViewContext, run: RunItem) -> str:
    """Return how long the run took, or how soon it starts."""
    if run.fire_at > context.now:
        return format_relative(run.fire_at, context.now) if run.fire_at - context.now < NEAR else ""
    return format_elapsed(run.end - run.fire_at) if run.end and run.run_id else ""


def band_row(context: ViewContext, band: Band) -> dict:
    state, word = ("planned", gettext("Planned")) if not band.done_count else ("success", gettext("Succeeded"))
    if band.failed_count:
        state, word = "failure", gettext("%d failed") % band.failed_count
    elif band.held_spans and not band.planned_spans:
        state, word = "held", gettext("Held")
    elif 0 < band.done_count < band.total and band.day == context.today:
        state, word = "running", gettext("%(done)d of %(total)d") % {"done": band.done_count, "total": band.total}
    count_text = str(band.total)
    if state in ("failure", "running"):
        count_text = gettext("so far") if state == "running" else gettext("of %d") % band.total
    return item_rows.band_row(context, band) | {
        "type": "run",
        "time": gettext("all day"),
        "is_all_day": True,
        "at": "",
        "mark": state,
        "how": gettext("%s, summarized") % (band.interval or gettext("frequent")),
        "word": word,
        "state": state,
        "where": ", ".join(part for part in (count_text, band.reason) if part),
        "attributes": "",
    }
