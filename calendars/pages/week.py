"""Week, work week and day view: all-day items and frequent jobs in rows, other items in columns of hours."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from accounts.models import HourCycle
from accounts.time_format import time_pattern
from calendars.expansion import Occurrence
from calendars.items import Band, NoticeItem, RunItem
from calendars.pages import item_rows
from calendars.pages.axis import Axis, Column, axis_of
from calendars.pages.clock_changes import change_words
from calendars.pages.closed_days import DayNote, closed_text
from calendars.pages.hour_scales import scales
from calendars.pages.item_rows import (
    CONTINUED,
    CONTINUES,
    EVENT,
    Row,
    Sheet,
    axis_attributes,
    position,
    rank_of,
    rank_of_notice,
)
from calendars.pages.lane_layout import Bar, Block, PlacedBlock, assign_lanes, rows_of
from calendars.pages.page_data import Contents
from calendars.pages.view_context import ViewContext, brief_offset, whole_hours_words
from calendars.pages.window import WEEK, View

# blocks side by side, without the lane that counts the others; static/css has rules for as many
LANES, LANES_IN_SEVEN_DAYS = 4, 3
ROWS = 4  # of all-day items in a week; items that do not fit are counted
BANDS = 8  # frequent jobs with a row of their own
SHOWN_MINUTES = 30  # the minimal height of a block
BRIEF = 60  # minutes: a shorter block has one line
INSTANT = 20  # minutes: a shorter run has a stem of fixed size
DAY_WIDTH = 4  # times the width of a day in a week
FULL_SHARE = 0.98  # of a day; a band that fills more has no lines beside the hours
QUIET_HOURS = (7, 19)  # hours that a printed page shows at least
FEW_ROWS, SOME_ROWS = 4, 8  # rows above the hours that stay visible in a low and in a high browser window
HOUR = 60  # minutes
ONE_MINUTE = timedelta(minutes=1)


def week(context: ViewContext, contents: Contents) -> dict:
    axis = axis_of(context.window.days, context.zone)
    is_single = len(axis.columns) == 1
    bands = bands_by_job(contents.bands)
    columns = [hours_of(context, axis, column, contents, bands) for column in axis.columns]
    all_day = all_day_rows(context, [*contents.occurrences, *contents.notices])
    return {
        "attributes": table_attributes(context, axis, contents, len(all_day) + len(bands)),
        "heads": [head_of(context, column, is_single, contents.closed_days.get(column.day)) for column in axis.columns],
        "whole_days": all_day,
        "bands": [band_line(context, lines) for lines in bands[:BANDS]],
        "more_bands": more_bands(context, bands),
        "columns": columns,
        "count": len(axis.columns),
        "scale": scales(context, axis),
        "label": gettext("Day by hour, scrollable") if is_single else gettext("Week by hour, scrollable"),
    }


def table_attributes(context: ViewContext, axis: Axis, contents: Contents, rows: int) -> SafeString:
    """Return the attributes of the table: `rows` is the number of rows above the hours."""
    attributes = [f' class="week{" single" if len(axis.columns) == 1 else ""}" data-hours="{axis.length / HOUR:g}"']
    if not axis.is_even:
        attributes.append(" data-uneven")
    if rows > FEW_ROWS:
        attributes.append(f' data-rows="{"some" if rows <= SOME_ROWS else "many"}"')
    first, last = busy_hours(axis, contents)
    if first or last * HOUR < axis.length:
        attributes.append(f' data-from="{first}" data-till="{last}"')
    items = escape(gettext("items: %s") % "{}")
    attributes.append(f' data-items="{items}"')
    if context.hour_cycle == HourCycle.H12:
        attributes += [f' data-{half}="{escape(time_pattern(half))}"' for half in ("am", "pm")]
    return mark_safe("".join(attributes))


def busy_hours(axis: Axis, contents: Contents) -> tuple[int, int]:
    """Return the first hour of the axis and the end hour that contain all items and the working day."""
    first, last = QUIET_HOURS[0] * HOUR, QUIET_HOURS[1] * HOUR
    sheets: list[Sheet] = [*contents.occurrences, *contents.notices]
    spans = [(each.start, each.end) for each in sheets if not item_rows.is_bar(each)]
    spans += [(run.fire_at, run.end or run.fire_at) for run in contents.runs]
    for column in axis.columns:
        for start, end in spans:
            if start < column.end and (end > column.start or start == end >= column.start):
                first = min(first, column.start_minute(max(start, column.start)))
                last = max(
                    last,
                    column.end_minute(min(end, column.end)),
                    column.start_minute(max(start, column.start)) + SHOWN_MINUTES,
                )
    return first // HOUR, min(-(-last // HOUR), -(-axis.length // HOUR))


def head_of(context: ViewContext, column: Column, is_single: bool, closed: DayNote | None) -> dict:
    day = column.day
    names = WEEKDAYS if is_single else WEEKDAYS_ABBR
    note = gettext("today") if day == context.today else ""
    if not column.length:
        note = gettext("does not exist")
    elif column.length != timedelta(hours=24):
        changed = "; ".join(change_words(context, change) for change in column.changes)
        hours = whole_hours_words(column.length)
        note = f"{hours}: {changed}" if is_single else hours
    reason = (closed_text(closed) if is_single else closed.label) if closed else ""
    return {
        "url": context.view_link(View.DAY, day),
        "label": ", ".join(filter(None, (context.format_long_date(day), closed_text(closed)))),
        "weekday": names[day.weekday()],
        "number": day.day,
        "note": ", ".join(filter(None, (note, reason))),
        "is_closed": closed is not None,
        "is_today": day == context.today,
    }


# All-day items


def all_day_rows(context: ViewContext, sheets: list[Sheet]) -> list[list[dict]]:
    """Return rows of cells: an item with the number of its days, or an empty day.

    If there are too many rows, the last row counts the hidden items of each day.
    """
    days = context.window.days
    bars = []
    for each in sheets:
        if item_rows.is_bar(each):
            first, last = item_rows.days_of(context, each)
            if last >= days[0] and first <= days[-1]:
                first_and_last = max((first - days[0]).days, 0), min((last - days[0]).days, len(days) - 1)
                bars.append(Bar(*first_and_last, (first, last, each)))
    rows = rows_of(bars)
    shown = len(rows) if len(days) == 1 or len(rows) <= ROWS else ROWS - 1
    lines = [bar_cells(context, row) for row in rows[:shown]] or [[empty_cell(day) for day in days]]
    if hidden := rows[shown:]:
        counts = [sum(bar.first <= index <= bar.last for row in hidden for bar in row) for index in range(len(days))]
        lines.append([more_cell(context, day, count) for day, count in zip(days, counts, strict=True)])
    return lines


def bar_cells(context: ViewContext, row: list[Bar]) -> list[dict]:
    days = context.window.days
    line: list[dict] = []
    index = 0
    for bar in row:
        line += [empty_cell(day) for day in days[index : bar.first]]
        first, last, each = bar.item
        part = item_rows.join_names(
            (CONTINUED if first < days[bar.first] else "", CONTINUES if last > days[bar.last] else "")
        )
        time = "" if each.days or CONTINUED in part.split() else context.format_time_at(each.start)
        span = bar.last - bar.first + 1
        attributes = f' colspan="{span}"' if span > 1 else ""
        line.append(
            {"item": item_rows.all_day_row(context, each, part=part, time=time), "attributes": mark_safe(attributes)}
        )
        index = bar.last + 1
    return line + [empty_cell(day) for day in days[index:]]


def empty_cell(day: date) -> dict:
    return {"item": None, "attributes": mark_safe(f' data-date="{day.isoformat()}"')}


def more_cell(context: ViewContext, day: date, count: int) -> dict:
    if not count:
        return empty_cell(day)
    label = ngettext("%(count)d more on %(day)s", "%(count)d more on %(day)s", count)
    values = {"count": count, "day": context.format_long_date(day)}
    return {
        "item": item_rows.more_row(count, context.view_link(View.DAY, day), label % values),
        "attributes": mark_safe(""),
    }


# Frequent jobs


def bands_by_job(bands: list[Band]) -> list[list[Band]]:
    """Return the bands of each job: jobs with failures first, then by name."""
    by_job: dict[int, list[Band]] = defaultdict(list)
    for band in bands:
        by_job[band.job_id].append(band)
    return sorted(by_job.values(), key=lambda lines: (not any(band.failed_count for band in lines), lines[0].name))


def band_line(context: ViewContext, bands: list[Band]) -> dict:
    width = item_rows.BAND_WIDTH * (DAY_WIDTH if len(context.window.days) == 1 else 1)
    by_day: dict[date, list[Row]] = defaultdict(list)
    for band in bands:
        by_day[band.day].append(item_rows.band_row(context, band, width))
    return {
        "every": bands[0].interval or gettext("frequent"),
        "days": [by_day.get(day, []) for day in context.window.days],
    }


def more_bands(context: ViewContext, bands: list[list[Band]]) -> dict | None:
    count = len(bands) - BANDS
    if count <= 0:
        return None
    name = ngettext("%d more frequent job", "%d more frequent jobs", count) % count
    return {"name": name, "url": context.view_link(View.AGENDA, context.window.days[0])}


# Hours


def hours_of(context: ViewContext, axis: Axis, column: Column, contents: Contents, bands: list[list[Band]]) -> dict:
    def timed(items: list) -> list:
        """Return the items in this column that are not bars of whole days."""
        return [item for item in items if not item_rows.is_bar(item) and overlaps(column, item.start, item.end)]

    blocks = [event_block(context, column, each) for each in timed(contents.occurrences)]
    runs = (run for run in contents.runs if overlaps(column, run.fire_at, run.end or run.fire_at))
    blocks += [run_block(context, column, run) for run in runs]
    blocks += [notice_block(context, column, notice) for notice in timed(contents.notices)]
    most = LANES_IN_SEVEN_DAYS if len(axis.columns) == WEEK else LANES
    items = [
        *background_rows(context, axis, column),
        *(row for notice in contents.notices for row in maintenance_rows(axis, column, notice)),
        *jitter_rows(column, contents.runs),
        *guide_lines(column, bands),
        *(lane_row(context, column, each) for each in assign_lanes(blocks, most)),
        *now_line(context, axis, column),
    ]
    return {"attributes": attributes_of(context, column, column.day in contents.closed_days), "items": items}


def attributes_of(context: ViewContext, column: Column, is_closed: bool) -> SafeString:
    """Return what the keyboard navigation needs: the day, and the place of its minutes on the axis."""
    wall_times = [context.to_local(piece.start) for piece in column.pieces]
    pieces = " ".join(
        f"{piece.minute}-{piece.end_minute}:{wall_time.hour * HOUR + wall_time.minute}"
        for piece, wall_time in zip(column.pieces, wall_times, strict=True)
    )
    attributes = f' data-date="{column.day.isoformat()}" data-pieces="{pieces}"'
    return mark_safe(attributes + day_attributes(context, column.day) + (" data-closed" if is_closed else ""))


def day_attributes(context: ViewContext, day: date) -> str:
    return " data-past" if day < context.today else " data-today" if day == context.today else ""


def overlaps(column: Column, start: datetime, end: datetime) -> bool:
    """Return True if [start, end) overlaps the day, or start and end are equal and in the day."""
    return start < column.end and (end > column.start or start == end >= column.start)


def span_on(column: Column, start: datetime, end: datetime) -> tuple[int, int, str]:
    """Return the first and last minute on the axis, and whether the item crosses the borders of the day."""
    part = item_rows.join_names((CONTINUED if start < column.start else "", CONTINUES if end > column.end else ""))
    first = column.start_minute(max(start, column.start))
    last = column.end_minute(min(end, column.end)) if end > start else first
    return first, max(last, first), part


def event_block(context: ViewContext, column: Column, each: Occurrence) -> Block:
    first, last, part = span_on(column, each.start, each.end)
    where, time = each.details.location_name, context.format_time_at(each.start)
    if CONTINUED in part.split():
        time, where = "", gettext("since %s") % context.format_near(each.start, column.day)
    elif part:
        where = gettext("until %s") % context.format_near(each.end, column.day)
    row = item_rows.event_row(context, each, part=part, time=time, where=where)
    if fold_text := context.fold_suffix(each.start) if column.changes else "":
        row["hidden_text"] = ", ".join(part for part in (row["hidden_text"], fold_text) if part)
    return Block(first, max(last, first + SHOWN_MINUTES), EVENT, (row, first, last))


def run_block(context: ViewContext, column: Column, run: RunItem) -> Block:
    first, last, part = span_on(column, run.fire_at, run.end or run.fire_at)
    time = "" if CONTINUED in part.split() else context.format_time_at(run.fire_at)
    row = item_rows.run_row(context, run, part=part, time=time)
    return Block(first, max(last, first + SHOWN_MINUTES), rank_of(run), (row, first, last))


def notice_block(context: ViewContext, column: Column, notice: NoticeItem) -> Block:
    """Return the block of the notice's name, at the start of its part of the day."""
    first, _, part = span_on(column, notice.start, notice.end)
    time = "" if CONTINUED in part.split() else context.format_time_at(notice.start)
    row = item_rows.notice_row(context, notice, part=part, time=time)
    return Block(first, first + SHOWN_MINUTES, rank_of_notice(notice), (row, first, first + SHOWN_MINUTES))


def maintenance_rows(axis: Axis, column: Column, notice: NoticeItem) -> Iterator[Row]:
    """Yield the hatched parts of the day: during maintenance, and before it, when it holds jobs.

    A notice that is drawn above the hours has only the part before it.
    """
    if notice.holds_from and notice.holds_from < column.end and notice.start > column.start:
        first, last, _ = span_on(column, notice.holds_from, notice.start)
        yield hatch("placed background lead", first, last)
    if item_rows.is_bar(notice) or not overlaps(column, notice.start, notice.end):
        return
    first, last, part = span_on(column, notice.start, notice.end)
    row = hatch("placed background maintenance", first, min(max(last, first + SHOWN_MINUTES), axis.length))
    attributes = [row["place"], f' data-state="{notice.state}"']
    if notice.is_open_ended:
        part = f"{part} {CONTINUES}" if CONTINUES not in part else part
    if part:
        attributes.append(f' data-part="{part.strip()}"')
    yield row | {"place": mark_safe("".join(attributes))}


def jitter_rows(column: Column, runs: list[RunItem]) -> Iterator[Row]:
    """Yield light bands from the fire times of future runs to the ends of their jitter windows.

    Bands that overlap are one.
    """
    spans = sorted((run.fire_at, run.starts_until) for run in runs if run.starts_until)
    first = last = 0
    for start, end in spans:
        if not overlaps(column, start, end):
            continue
        low, high, _ = span_on(column, start, end)
        if low > last:
            if first < last:
                yield hatch("placed background jitter", first, last)
            first = low
        last = max(last, high)
    if first < last:
        yield hatch("placed background jitter", first, last)


def lane_row(context: ViewContext, column: Column, each: PlacedBlock) -> Row:
    """Return the row of a block or of a sum."""
    values = {"lane": each.lane, "lanes": each.lanes if each.lanes > 1 else 0} | axis_attributes(each.start, each.end)
    if each.is_sum:
        view = View.AGENDA if context.window.view is View.DAY else View.DAY
        label = ngettext(
            "%(count)d more at this time on %(day)s", "%(count)d more at this time on %(day)s", len(each.items)
        )
        label %= {"count": len(each.items), "day": context.format_long_date(column.day)}
        row = item_rows.more_row(len(each.items), context.view_link(view, column.day), label)
        return row | {"type": "sum", "place": position("placed lane", values)}
    row, first, last = each.items[0]
    names = ["placed", "lane"]
    if each.end - each.start < BRIEF:
        names.append("short")
    if row["type"] == "run" and last - first < INSTANT:
        names.append("instant")
    return row | {"place": position(" ".join(names), values)}


def background_rows(context: ViewContext, axis: Axis, column: Column) -> Iterator[Row]:
    """Yield what lies below the items: the past, hours that the day does not have, and hours that it has twice."""
    if not axis.is_even:
        yield from (hatch("placed line", minute, minute + 1) for minute, _, _ in axis.hours())
    if column.day == context.today and (past := column.start_minute(context.now)):
        yield hatch("placed background past", 0, past)
    is_single = len(axis.columns) == 1
    gaps = {column.start_minute(change.instant): change for change in column.changes if change.is_forward}
    for start, end in column.missing_ranges:
        words = ""
        if is_single and (change := gaps.get(end)):
            times = {"from": context.format_time(change.wall_before), "to": context.format_time(change.wall_after)}
            words = gettext("%(from)s to %(to)s does not exist on this day") % times
        yield hatch("placed background missing", start, end, words, "start")
    for piece in column.pieces:
        if piece.is_repeated:
            wall_time = context.to_local(piece.start)
            earlier = piece.start - (piece.end - piece.start)
            first = column.start_minute(earlier)
            yield hatch(
                "placed background first",
                first,
                first + (piece.end - piece.start) // ONE_MINUTE,
                brief_offset(context.to_local(earlier)),
            )
            values = {"time": context.format_time(wall_time), "offset": brief_offset(wall_time)}
            is_tall = is_single or piece.end_minute - piece.minute >= HOUR
            words = gettext("%(time)s again, %(offset)s") if is_tall else gettext("again, %(offset)s")
            yield hatch("placed background repeated", piece.minute, piece.end_minute, words % values)


def hatch(names: str, start: int, end: int, words: str = "", side: str = "") -> Row:
    return {"type": "mark", "words": words, "side": side, "place": position(names, axis_attributes(start, end))}


def guide_lines(column: Column, bands: list[list[Band]]) -> Iterator[Row]:
    """Yield lines beside the hours for a frequent job that does not run all day; the first one if there are several."""
    for lines in bands:
        for band in lines:
            spans = (*band.run_spans, *band.planned_spans, *band.held_spans)
            if band.day != column.day or not spans:
                continue
            if max(end for _, end in spans) - min(start for start, _ in spans) >= FULL_SHARE:
                continue
            for kind, parts in (
                ("finished", merge_spans(band.run_spans)),
                ("planned", merge_spans(band.planned_spans)),
                ("held", merge_spans(band.held_spans)),
            ):
                for start, end in parts:
                    first, last = (
                        column.start_minute(instant_at_fraction(column, start)),
                        column.end_minute(instant_at_fraction(column, end)),
                    )
                    row = hatch(f"placed frequent-bar {kind}", first, max(last, first + 1))
                    yield row | {"place": mark_safe(f'{row["place"]} data-hue="{band.hue}"')}
            for failure in band.failure_positions:
                minute = column.start_minute(instant_at_fraction(column, failure))
                yield hatch("placed failed", minute, minute)
            return


def merge_spans(spans: tuple[tuple[float, float], ...], gap: float = 1 / 24) -> list[tuple[float, float]]:
    """Merge spans with less than `gap` between them, by default one hour, in fractions of a day."""
    found: list[tuple[float, float]] = []
    for start, end in spans:
        if found and start - found[-1][1] < gap:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def now_line_attributes(context: ViewContext, column: Column, minute: int) -> str:
    """Return the attributes for the script that moves the line.

    They are the minute of the axis, its instant, and the instant until which the axis runs evenly.
    """
    piece = next(piece for piece in reversed(column.pieces) if piece.start <= context.now)
    values = {
        "minute": minute,
        "from": context.now.replace(second=0, microsecond=0).isoformat(),
        "until": piece.end.isoformat(),
        "zone": str(context.zone),
    }
    return "".join(f' data-{name}="{value}"' for name, value in values.items())


def instant_at_fraction(column: Column, part: float) -> datetime:
    """Return the instant at a fraction of the day."""
    return column.start + column.length * part


def now_line(context: ViewContext, axis: Axis, column: Column) -> Iterator[Row]:
    """Yield the line of the present time: solid on today, dotted on the other days of the same window."""
    today = next((each for each in axis.columns if each.day == context.today), None)
    if today is None:
        return
    minute = today.start_minute(context.now)
    if column is today:
        row = hatch("placed now-line", minute, minute)
        place = mark_safe(row["place"] + now_line_attributes(context, column, minute))
        yield row | {"hidden": gettext("Now, %s") % context.format_time_at(context.now), "place": place}
    else:
        yield hatch("placed now-line other-day", minute, minute)
