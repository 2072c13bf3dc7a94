"""Week, work week and day: whole days and frequent jobs in rows, the rest in hours, days side by side."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from accounts.clock import hour_words, time_pattern
from accounts.models import HourCycle
from calendars.expansion import Occurrence
from calendars.pages import entries
from calendars.pages.axis import Axis, Column, axis_of
from calendars.pages.changes import change_words
from calendars.pages.contents import Contents
from calendars.pages.entries import CONTINUED, CONTINUES, EVENT, Row, Sheet, on_axis, placed, rank_of, rank_of_notice
from calendars.pages.grid import Bar, Block, Placed, rows_of, side_by_side
from calendars.pages.items import Band, NoticeItem, RunItem
from calendars.pages.sight import Sight, brief_offset, offset_words, whole_hours_words
from calendars.pages.spoken import place_of
from calendars.pages.window import ONE_DAY, WEEK, View

LANES, FEW_LANES = 4, 3  # side by side; the fewer in a week of seven days
ROWS = 4  # of whole days in a week; what is left is counted
BANDS = 8  # frequent jobs that have a row each
SHOWN_MINUTES = 30  # the least that anything takes up
BRIEF = 60  # minutes: below, one line
INSTANT = 20  # minutes: a run that took less has a stem of its own size
DAY_WIDTH = 4  # times that of a day in a week
FULL_SHARE = 0.98  # of a day that a band fills
LABEL = 22  # minutes that the label of the present time covers
QUIET_HOURS = (7, 19)  # that paper shows at least
HOUR = 60  # minutes
ONE_MINUTE = timedelta(minutes=1)


def week(sight: Sight, contents: Contents) -> dict:
    axis = axis_of(sight.window.days, sight.zone)
    single = len(axis.columns) == 1
    bands = bands_by_job(contents.bands)
    columns = [hours_of(sight, axis, column, contents, bands) for column in axis.columns]
    return {
        "attributes": table_attributes(sight, axis, contents),
        "heads": [head_of(sight, column, single) for column in axis.columns],
        "whole_days": whole_days(sight, [*contents.occurrences, *contents.notices]),
        "bands": [band_line(sight, lines) for lines in bands[:BANDS]],
        "more_bands": more_bands(sight, bands),
        "columns": columns,
        "count": len(axis.columns),
        "scale": scales(sight, axis),
        "label": gettext("Day by the hour, scrolls") if single else gettext("Week by the hour, scrolls"),
    }


def table_attributes(sight: Sight, axis: Axis, contents: Contents):
    said = [f' class="week{" single" if len(axis.columns) == 1 else ""}" data-hours="{axis.length / HOUR:g}"']
    if not axis.is_even:
        said.append(" data-uneven")
    first, last = busy_hours(axis, contents)
    if first or last * HOUR < axis.length:
        said.append(f' data-from="{first}" data-till="{last}"')
    items = escape(gettext("items: %s") % "{}")
    said.append(f' data-items="{items}"')
    if sight.hour_cycle == HourCycle.H12:
        said += [f' data-{half}="{escape(time_pattern(half))}"' for half in ("am", "pm")]
    return mark_safe("".join(said))


def busy_hours(axis: Axis, contents: Contents) -> tuple[int, int]:
    """From which hour of the axis to which anything happens, and the working day."""
    first, last = QUIET_HOURS[0] * HOUR, QUIET_HOURS[1] * HOUR
    sheets: list[Sheet] = [*contents.occurrences, *contents.notices]
    spans = [(each.start, each.end) for each in sheets if not entries.is_bar(each)]
    spans += [(run.at, run.end or run.at) for run in contents.runs]
    for column in axis.columns:
        for start, end in spans:
            if start < column.end and (end > column.start or start == end >= column.start):
                first = min(first, column.at(max(start, column.start)))
                last = max(
                    last, column.until(min(end, column.end)), column.at(max(start, column.start)) + SHOWN_MINUTES
                )
    return first // HOUR, min(-(-last // HOUR), -(-axis.length // HOUR))


def head_of(sight: Sight, column: Column, single: bool) -> dict:
    day = column.day
    names = WEEKDAYS if single else WEEKDAYS_ABBR
    note = gettext("today") if day == sight.today else ""
    if not column.length:
        note = gettext("does not exist")
    elif column.length != timedelta(hours=24):
        changed = "; ".join(change_words(sight, change) for change in column.changes)
        hours = whole_hours_words(column.length)
        note = f"{hours}: {changed}" if single else hours
    return {
        "url": sight.link(View.DAY, day),
        "label": sight.long_date(day),
        "weekday": names[day.weekday()],
        "number": day.day,
        "note": note,
        "is_today": day == sight.today,
    }


# whole days


def whole_days(sight: Sight, sheets: list[Sheet]) -> list[list[dict]]:
    """Rows of cells: an item that covers so many days, or an empty day; the last row may count what is left."""
    days = sight.window.days
    bars = []
    for each in sheets:
        if entries.is_bar(each):
            first, last = entries.days_of(sight, each)
            if last >= days[0] and first <= days[-1]:
                places = max((first - days[0]).days, 0), min((last - days[0]).days, len(days) - 1)
                bars.append(Bar(*places, (first, last, each)))
    rows = rows_of(bars)
    room = len(rows) if len(days) == 1 or len(rows) <= ROWS else ROWS - 1
    lines = [cells(sight, row) for row in rows[:room]] or [[empty(day) for day in days]]
    if left := rows[room:]:
        counts = [sum(bar.first <= place <= bar.last for row in left for bar in row) for place in range(len(days))]
        lines.append([counted(sight, day, count) for day, count in zip(days, counts, strict=True)])
    return lines


def cells(sight: Sight, row: list[Bar]) -> list[dict]:
    days = sight.window.days
    line: list[dict] = []
    place = 0
    for bar in row:
        line += [empty(day) for day in days[place : bar.first]]
        first, last, each = bar.thing
        part = entries.listed(
            (CONTINUED if first < days[bar.first] else "", CONTINUES if last > days[bar.last] else "")
        )
        time = "" if each.days or CONTINUED in part.split() else sight.time_at(each.start)
        span = bar.last - bar.first + 1
        attributes = f' colspan="{span}"' if span > 1 else ""
        line.append({"item": entries.sheet_row(sight, each, part=part, time=time), "attributes": mark_safe(attributes)})
        place = bar.last + 1
    return line + [empty(day) for day in days[place:]]


def empty(day: date) -> dict:
    return {"item": None, "attributes": mark_safe(f' data-date="{day.isoformat()}"')}


def counted(sight: Sight, day: date, count: int) -> dict:
    if not count:
        return empty(day)
    label = ngettext("%(count)d more on %(day)s", "%(count)d more on %(day)s", count)
    said = {"count": count, "day": sight.long_date(day)}
    return {"item": entries.more_row(count, sight.link(View.DAY, day), label % said), "attributes": mark_safe("")}


# frequent jobs


def bands_by_job(bands: list[Band]) -> list[list[Band]]:
    """Those with failures first, then by name."""
    by_job: dict[int, list[Band]] = defaultdict(list)
    for band in bands:
        by_job[band.job_id].append(band)
    return sorted(by_job.values(), key=lambda lines: (not any(band.failed for band in lines), lines[0].name))


def band_line(sight: Sight, bands: list[Band]) -> dict:
    width = entries.BAND_WIDTH * (DAY_WIDTH if len(sight.window.days) == 1 else 1)
    by_day: dict[date, list[Row]] = defaultdict(list)
    for band in bands:
        by_day[band.day].append(entries.band_row(sight, band, width))
    return {"every": bands[0].every or gettext("often"), "days": [by_day.get(day, []) for day in sight.window.days]}


def more_bands(sight: Sight, bands: list[list[Band]]) -> dict | None:
    count = len(bands) - BANDS
    if count <= 0:
        return None
    name = ngettext("%d more frequent job", "%d more frequent jobs", count) % count
    return {"name": name, "url": sight.link(View.AGENDA, sight.window.days[0])}


# hours


def hours_of(sight: Sight, axis: Axis, column: Column, contents: Contents, bands: list[list[Band]]) -> dict:
    blocks = []
    for each in contents.occurrences:
        if not entries.is_bar(each) and touches(column, each.start, each.end):
            blocks.append(event_block(sight, column, each))
    for run in contents.runs:
        if touches(column, run.at, run.end or run.at):
            blocks.append(run_block(sight, column, run))
    notices = [
        notice
        for notice in contents.notices
        if not entries.is_bar(notice) and touches(column, notice.start, notice.end)
    ]
    blocks += [notice_block(sight, column, notice) for notice in notices]
    most = FEW_LANES if len(axis.columns) == WEEK else LANES
    items = [
        *under(sight, axis, column),
        *(place for notice in contents.notices for place in maintenance(axis, column, notice)),
        *rails(column, bands),
        *(lane(sight, column, each) for each in side_by_side(blocks, most)),
        *now_line(sight, axis, column),
    ]
    return {"attributes": attributes_of(sight, column), "items": items}


def attributes_of(sight: Sight, column: Column) -> SafeString:
    """What the keys go by: the day, and which of its minutes lie where on the axis."""
    readings = [sight.local(piece.start) for piece in column.pieces]
    pieces = " ".join(
        f"{piece.minute}-{piece.beyond}:{reading.hour * HOUR + reading.minute}"
        for piece, reading in zip(column.pieces, readings, strict=True)
    )
    said = f' data-date="{column.day.isoformat()}" data-pieces="{pieces}"'
    return mark_safe(said + when(sight, column.day))


def when(sight: Sight, day: date) -> str:
    return " data-past" if day < sight.today else " data-today" if day == sight.today else ""


def touches(column: Column, start: datetime, end: datetime) -> bool:
    return start < column.end and (end > column.start or start == end >= column.start)


def span_on(column: Column, start: datetime, end: datetime) -> tuple[int, int, str]:
    """Its minutes on the axis, and whether it is there before the day begins or after it ends."""
    part = entries.listed((CONTINUED if start < column.start else "", CONTINUES if end > column.end else ""))
    first = column.at(max(start, column.start))
    last = column.until(min(end, column.end)) if end > start else first
    return first, max(last, first), part


def event_block(sight: Sight, column: Column, each: Occurrence) -> Block:
    first, last, part = span_on(column, each.start, each.end)
    where, time = each.details.place, sight.time_at(each.start)
    if CONTINUED in part.split():
        time, where = "", gettext("since %s") % sight.near(each.start, column.day)
    elif part:
        where = gettext("until %s") % sight.near(each.end, column.day)
    row = entries.event_row(sight, each, part=part, time=time, where=where)
    if which := sight.which(each.start) if column.changes else "":
        row["said"] = ", ".join(part for part in (row["said"], which) if part)
    return Block(first, max(last, first + SHOWN_MINUTES), EVENT, (row, first, last))


def run_block(sight: Sight, column: Column, run: RunItem) -> Block:
    first, last, part = span_on(column, run.at, run.end or run.at)
    time = "" if CONTINUED in part.split() else sight.time_at(run.at)
    row = entries.run_row(sight, run, part=part, time=time)
    return Block(first, max(last, first + SHOWN_MINUTES), rank_of(run), (row, first, last))


def notice_block(sight: Sight, column: Column, notice: NoticeItem) -> Block:
    """Its name, at the beginning of the part of the day that it takes up."""
    first, _, part = span_on(column, notice.start, notice.end)
    time = "" if CONTINUED in part.split() else sight.time_at(notice.start)
    row = entries.notice_row(sight, notice, part=part, time=time)
    return Block(first, first + SHOWN_MINUTES, rank_of_notice(notice), (row, first, first + SHOWN_MINUTES))


def maintenance(axis: Axis, column: Column, notice: NoticeItem) -> Iterator[Row]:
    """The part of the day that it takes up, and before that from when jobs are held; one of whole days has no hours."""
    if notice.lead and notice.lead < column.end and notice.start > column.start:
        first, last, _ = span_on(column, notice.lead, notice.start)
        yield mark("at under lead", first, last)
    if entries.is_bar(notice) or not touches(column, notice.start, notice.end):
        return
    first, last, part = span_on(column, notice.start, notice.end)
    row = mark("at under maintenance", first, min(max(last, first + SHOWN_MINUTES), axis.length))
    said = [row["place"], f' data-state="{notice.state}"']
    if notice.is_open:
        part = f"{part} {CONTINUES}" if CONTINUES not in part else part
    if part:
        said.append(f' data-part="{part.strip()}"')
    yield row | {"place": mark_safe("".join(said))}


def lane(sight: Sight, column: Column, each: Placed) -> Row:
    place = {"lane": each.lane, "lanes": each.lanes if each.lanes > 1 else 0} | on_axis(each.start, each.end)
    if each.is_sum:
        view = View.AGENDA if sight.window.view is View.DAY else View.DAY
        label = ngettext(
            "%(count)d more at this time on %(day)s", "%(count)d more at this time on %(day)s", len(each.things)
        )
        label %= {"count": len(each.things), "day": sight.long_date(column.day)}
        row = entries.more_row(len(each.things), sight.link(view, column.day), label)
        return row | {"type": "sum", "place": placed("at lane", place)}
    row, first, last = each.things[0]
    names = ["at", "lane"]
    if each.end - each.start < BRIEF:
        names.append("brief")
    if row["type"] == "run" and last - first < INSTANT:
        names.append("instant")
    return row | {"place": placed(" ".join(names), place)}


def under(sight: Sight, axis: Axis, column: Column) -> Iterator[Row]:
    """What lies below the items: the part that is over, hours that the day does not have, hours that it has twice."""
    if not axis.is_even:
        yield from (mark("at line", minute, minute + 1) for minute, _, _ in axis.hours())
    if column.day == sight.today and (past := column.at(sight.now)):
        yield mark("at under past", 0, past)
    single = len(axis.columns) == 1
    gaps = {column.at(change.at): change for change in column.changes if change.is_forward}
    for start, end in column.hatched:
        words = ""
        if single and (change := gaps.get(end)):
            times = {"from": sight.time(change.shown), "to": sight.time(change.becomes)}
            words = gettext("%(from)s to %(to)s does not exist on this day") % times
        yield mark("at under missing", start, end, words, "start")
    for piece in column.pieces:
        if piece.again:
            reading = sight.local(piece.start)
            earlier = piece.start - (piece.end - piece.start)
            first = column.at(earlier)
            yield mark(
                "at under first",
                first,
                first + (piece.end - piece.start) // ONE_MINUTE,
                brief_offset(sight.local(earlier)),
            )
            said = {"time": sight.time(reading), "offset": brief_offset(reading)}
            has_room = single or piece.beyond - piece.minute >= HOUR
            words = gettext("%(time)s again, %(offset)s") if has_room else gettext("again, %(offset)s")
            yield mark("at under again", piece.minute, piece.beyond, words % said)


def mark(names: str, start: int, end: int, words: str = "", side: str = "") -> Row:
    return {"type": "mark", "words": words, "side": side, "place": placed(names, on_axis(start, end))}


def rails(column: Column, bands: list[list[Band]]) -> Iterator[Row]:
    """Beside the hours, when a frequent job runs that does not do so all day; of several, the first."""
    for lines in bands:
        for band in lines:
            spans = (*band.ran, *band.will, *band.held)
            if band.day != column.day or not spans:
                continue
            if max(end for _, end in spans) - min(start for start, _ in spans) >= FULL_SHARE:
                continue
            for kind, parts in (("ran", joined(band.ran)), ("will", joined(band.will)), ("held", joined(band.held))):
                for start, end in parts:
                    first, last = column.at(share(column, start)), column.until(share(column, end))
                    row = mark(f"at rail {kind}", first, max(last, first + 1))
                    yield row | {"place": mark_safe(f'{row["place"]} data-hue="{band.hue}"')}
            for fell in band.fell:
                minute = column.at(share(column, fell))
                yield mark("at fell", minute, minute)
            return


def joined(spans: tuple[tuple[float, float], ...], gap: float = 1 / 24) -> list[tuple[float, float]]:
    """Spans with less than an hour between them, as one."""
    found: list[tuple[float, float]] = []
    for start, end in spans:
        if found and start - found[-1][1] < gap:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def moving(sight: Sight, column: Column, minute: int) -> str:
    """What the script needs to move the line: from when it is at this minute, and until when it moves evenly."""
    piece = next(piece for piece in reversed(column.pieces) if piece.start <= sight.now)
    said = {
        "minute": minute,
        "from": sight.now.replace(second=0, microsecond=0).isoformat(),
        "until": piece.end.isoformat(),
        "zone": str(sight.zone),
    }
    return "".join(f' data-{name}="{value}"' for name, value in said.items())


def share(column: Column, part: float) -> datetime:
    return column.start + column.length * part


def now_line(sight: Sight, axis: Axis, column: Column) -> Iterator[Row]:
    """Solid on today, dotted on the other days of a week that holds it."""
    today = next((each for each in axis.columns if each.day == sight.today), None)
    if today is None:
        return
    minute = today.at(sight.now)
    if column is today:
        row = mark("at now-line", minute, minute)
        place = mark_safe(row["place"] + moving(sight, column, minute))
        yield row | {"hidden": gettext("Now, %s") % sight.time_at(sight.now), "place": place}
    else:
        yield mark("at now-line far", minute, minute)


# scales


def scales(sight: Sight, axis: Axis) -> dict:
    """The hours of the zone, and beside them another's: again behind the last day, if clocks have drifted till then."""
    today = next((column for column in axis.columns if column.day == sight.today), None)
    now = None if today is None else today.at(sight.now)
    hours = [
        {
            "place": on_scale(minute, "again" if again else ""),
            "text": hour_text(sight, wall),
            "is_hidden": now is not None and abs(minute - now) < LABEL,
        }
        for minute, wall, again in sorted(axis.hours())
        if 0 < minute < axis.length
    ]
    start, end = sight.window.start, sight.window.end - ONE_MINUTE
    found = {"own": {"place": place_of(sight.zone), "title": title_of(sight.zone, start), "hours": hours}}
    if sight.beside is not None:
        found["second"] = other_scale(sight, axis, axis.columns[0], start)
        is_drifting = distance(sight, sight.beside, start) != distance(sight, sight.beside, end)
        if is_drifting and len(axis.columns) > 1:
            found["behind"] = other_scale(sight, axis, axis.columns[-1], end)
    if now is not None:
        found["now"] = {"label": on_scale(now, "now-label"), "text": sight.time_at(sight.now)}
    return found


def other_scale(sight: Sight, axis: Axis, column: Column, instant: datetime) -> dict:
    zone = sight.beside or UTC
    hours = [
        {"place": on_scale(minute), "text": hour_text(sight, reading.hour * HOUR)}
        for minute, reading in axis.hours_of(zone, column)
        if 0 < minute < axis.length
    ]
    return {"place": place_of(zone), "title": title_of(zone, instant), "hours": hours}


def distance(sight: Sight, zone: tzinfo, instant: datetime) -> timedelta:
    """By how much clocks in `zone` are ahead of the page's, whatever the day."""
    return (instant.astimezone(zone).replace(tzinfo=None) - sight.local(instant).replace(tzinfo=None)) % ONE_DAY


def title_of(zone: tzinfo, instant: datetime) -> str:
    return "UTC" if zone == UTC else f"{zone}, {offset_words(instant.astimezone(zone))}"


def on_scale(minute: int, name: str = "") -> SafeString:
    return placed(name, {"h": minute // HOUR, "m": minute % HOUR})


def hour_text(sight: Sight, minute: int) -> str:
    """06, 6 am; 01:30 where an hour begins within another."""
    if minute % HOUR:
        return sight.time_of_day(minute)
    return hour_words(minute // HOUR, sight.hour_cycle)
