"""The month view: weeks of days, each with as many items as fit."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.formats import date_format
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, ngettext

from calendars.items import Band, RunItem
from calendars.pages import item_rows
from calendars.pages.clock_changes import notes_of
from calendars.pages.closed_days import DayNote, closed_text
from calendars.pages.item_rows import CONTINUED, CONTINUES, EVENT, SUMMED, TROUBLE, Row, Sheet, rank_of, rank_of_notice
from calendars.pages.lane_layout import Bar, rows_of
from calendars.pages.page_data import Contents
from calendars.pages.view_context import ViewContext
from calendars.pages.window import WEEK, View, midnight, week_number

LINES_PER_DAY = 4
LATEST = datetime.max.replace(tzinfo=UTC)  # after every item that has a time
BARS = 3  # the lines of a day that may show items of several days


class Line(NamedTuple):
    """An item of a day that becomes a row if it fits.

    `rank` decides which items are shown, `when` orders the rows.
    """

    rank: int
    when: datetime  # an instant
    item: Sheet | RunItem | Band
    part: str = ""  # CONTINUED, CONTINUES or empty: whether an event or a notice crosses midnight


def month(context: ViewContext, contents: Contents) -> dict:
    days = context.window.days
    bars, lines = split_by_kind(context, contents)
    notes = notes_of(context)
    weeks = []
    for at in range(0, len(days), WEEK):
        number = week_number(days[at])
        weeks.append(
            {
                "number": number,
                "label": gettext("Week %d") % number,
                "url": context.view_link(View.WEEK, days[at]),
                "days": week(context, at, bars, lines, notes, contents.closed_days),
            }
        )
    return {"weeks": weeks, "heads": heads(context), "items_word": gettext("items: %s") % "{}"}


def split_by_kind(context: ViewContext, contents: Contents) -> tuple[list[Bar], dict[date, list[Line]]]:
    """Return the items that last several days, and the other items by day."""
    days = context.window.days
    bars: list[Bar] = []
    lines: dict[date, list[Line]] = defaultdict(list)
    midnights = [*(midnight(day, context.zone) for day in days), context.window.end]
    distribute(context, contents.occurrences, EVENT, midnights, bars, lines)
    for notice in contents.notices:
        distribute(context, [notice], rank_of_notice(notice), midnights, bars, lines)
    for run in contents.runs:
        lines[context.to_local(run.fire_at).date()].append(Line(rank_of(run), run.fire_at, run))
    for band in contents.bands:
        lines[band.day].append(Line(TROUBLE if band.failed_count else SUMMED, LATEST, band))
    return bars, lines


def distribute(
    context: ViewContext,
    sheets: Iterable[Sheet],
    rank: int,
    midnights: Sequence[datetime],
    bars: list[Bar],
    lines: dict[date, list[Line]],
) -> None:
    """Add sheets to `bars` or to the lines of their days.

    The sheets are ordered by start, so that the search for a day goes on at the day of the previous sheet.
    """
    days = context.window.days
    index = 0
    for each in sheets:
        if item_rows.is_bar(each):
            first, last = item_rows.days_of(context, each)
            if last >= days[0] and first <= days[-1]:
                bars.append(Bar((first - days[0]).days, (last - days[0]).days, each))
            continue
        while index + 1 < len(days) and each.start >= midnights[index + 1]:
            index += 1
        if each.start < midnights[0]:
            lines[days[0]].append(Line(rank, midnights[0], each, CONTINUED))
        elif each.end <= midnights[index + 1]:
            lines[days[index]].append(Line(rank, each.start, each))
        else:
            lines[days[index]].append(Line(rank, each.start, each, CONTINUES))
            if index + 1 < len(days):
                lines[days[index + 1]].append(Line(rank, midnights[index + 1], each, CONTINUED))


def row_of(context: ViewContext, line: Line) -> Row:
    if isinstance(line.item, Band):
        return item_rows.band_row(context, line.item)
    time = "" if line.part == CONTINUED else context.format_time_at(line.when)
    if isinstance(line.item, RunItem):
        return item_rows.run_row(context, line.item, time=time)
    return item_rows.all_day_row(context, line.item, part=line.part, time=time)


def heads(context: ViewContext) -> list[dict]:
    """Return the columns' heads. In the current month, today's weekday is marked."""
    today = context.today if context.window.chosen_day.replace(day=1) == context.today.replace(day=1) else None
    return [
        {
            "name": WEEKDAYS[day.weekday()],
            "short": WEEKDAYS_ABBR[day.weekday()],
            "is_today": today is not None and today.weekday() == day.weekday(),
        }
        for day in context.window.days[:WEEK]
    ]


def week(
    context: ViewContext,
    at: int,
    bars: list[Bar],
    lines: dict[date, list[Line]],
    notes: dict[date, str],
    closed: dict[date, DayNote],
) -> list[dict]:
    """Return the cells of the seven days from the index `at` on."""
    days = context.window.days[at : at + WEEK]
    here = [
        Bar(max(bar.first - at, 0), min(bar.last - at, WEEK - 1), bar)
        for bar in bars
        if bar.first - at < WEEK and bar.last >= at
    ]
    cells: list[list[Row]] = [[] for _ in days]
    hidden = [0] * WEEK
    for number, row in enumerate(rows_of(here)):
        for bar in row:
            for index in range(bar.first, bar.last + 1):
                if number >= BARS:
                    hidden[index] += 1
                    continue
                cells[index] += [item_rows.spacer_row() for _ in range(number - len(cells[index]))]
                cells[index].append(bar_row(context, bar.item, at + index, is_named=index == bar.first))
    return [
        day_cell(context, day, rows, lines.get(day, []), rest, notes.get(day, ""), closed.get(day))
        for day, rows, rest in zip(days, cells, hidden, strict=True)
    ]


def bar_row(context: ViewContext, bar: Bar, index: int, *, is_named: bool) -> Row:
    """Return the row of a bar on the day with this index. Only the first day of a week shows the name."""
    part = item_rows.join_names((CONTINUED if bar.first < index else "", CONTINUES if bar.last > index else ""))
    begins = bar.item.days is None and bar.first == index
    row = item_rows.all_day_row(
        context, bar.item, part=part, time=context.format_time_at(bar.item.start) if begins else ""
    )
    return row if is_named else row | {"is_unnamed": True, "icon": ""}


def day_cell(
    context: ViewContext,
    day: date,
    bars: list[Row],
    lines: list[Line],
    hidden: int,
    note: str,
    closed: DayNote | None,
) -> dict:
    """Return the cell of a day.

    If its lines do not fit, those with the lowest ranks are shown and the others are counted.
    """
    free_lines = LINES_PER_DAY - len(bars)
    if len(lines) > free_lines:
        shown = sorted(lines, key=lambda line: (line.rank, line.when))[: max(free_lines, 0)]
        hidden += len(lines) - len(shown)
        lines = shown
    rows = bars + [row_of(context, line) for line in sorted(lines, key=lambda line: line.when)]
    label = context.format_long_date(day)
    url = context.view_link(View.DAY, day)
    if hidden:
        more = ngettext("%(count)d more on %(day)s", "%(count)d more on %(day)s", hidden)
        rows.append(item_rows.more_row(hidden, url, more % {"count": hidden, "day": label}))
    is_outside = (day.year, day.month) != (context.window.chosen_day.year, context.window.chosen_day.month)
    attributes = [f' data-date="{day.isoformat()}"', ' class="outside"' if is_outside else ""]
    if day < context.today:
        attributes.append(" data-past")
    elif day == context.today:
        attributes.append(" data-today")
    if day == context.window.chosen_day:
        attributes.append(" data-chosen")
    if closed:
        attributes.append(" data-closed")
    notes = [note or (date_format(day, "F") if day.day == 1 else ""), closed.label if closed else ""]
    return {
        "number": day.day,
        "label": ", ".join(filter(None, (label, closed_text(closed)))),
        "url": url,
        "note": ", ".join(filter(None, notes)),
        "attributes": mark_safe("".join(attributes)),
        "is_today": day == context.today,
        "items": rows,
    }
