"""The month: weeks of days, each with what is on it as far as there is room."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.formats import date_format
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, ngettext

from calendars.pages import entries
from calendars.pages.changes import notes_of
from calendars.pages.contents import Contents
from calendars.pages.entries import CONTINUED, CONTINUES, EVENT, SUMMED, TROUBLE, Row, Sheet, rank_of, rank_of_notice
from calendars.pages.grid import Bar, rows_of
from calendars.pages.items import Band, RunItem
from calendars.pages.sight import Sight
from calendars.pages.window import WEEK, View, midnight, week_number

ROOM = 4  # lines of a day
LATEST = datetime.max.replace(tzinfo=UTC)  # behind whatever has a time
BARS = 3  # of them at most for what lasts several days


class Line(NamedTuple):
    """Something of a day that becomes a row if there is room for it; `when` orders the rows."""

    rank: int
    when: datetime  # an instant
    thing: Sheet | RunItem | Band
    part: str = ""  # of an event or maintenance, whether it goes on over midnight


def month(sight: Sight, contents: Contents) -> dict:
    days = sight.window.days
    bars, lines = sorted_out(sight, contents)
    notes = notes_of(sight)
    weeks = []
    for at in range(0, len(days), WEEK):
        number = week_number(days[at])
        weeks.append(
            {
                "number": number,
                "label": gettext("Week %d") % number,
                "url": sight.link(View.WEEK, days[at]),
                "days": week(sight, at, bars, lines, notes),
            }
        )
    return {"weeks": weeks, "heads": heads(sight), "items_word": gettext("items: %s") % "{}"}


def sorted_out(sight: Sight, contents: Contents) -> tuple[list[Bar], dict[date, list[Line]]]:
    """What lies across days, and the rest by day."""
    days = sight.window.days
    bars: list[Bar] = []
    lines: dict[date, list[Line]] = defaultdict(list)
    midnights = [*(midnight(day, sight.zone) for day in days), sight.window.end]
    spread(sight, contents.occurrences, EVENT, midnights, bars, lines)
    for notice in contents.notices:
        spread(sight, [notice], rank_of_notice(notice), midnights, bars, lines)
    for run in contents.runs:
        lines[sight.local(run.at).date()].append(Line(rank_of(run), run.at, run))
    for band in contents.bands:
        lines[band.day].append(Line(TROUBLE if band.failed else SUMMED, LATEST, band))
    return bars, lines


def spread(
    sight: Sight,
    sheets: Iterable[Sheet],
    rank: int,
    midnights: Sequence[datetime],
    bars: list[Bar],
    lines: dict[date, list[Line]],
) -> None:
    """Add what lasts for a while, earliest first: each is on the day of the one before it or on a later one."""
    days = sight.window.days
    place = 0
    for each in sheets:
        if entries.is_bar(each):
            first, last = entries.days_of(sight, each)
            if last >= days[0] and first <= days[-1]:
                bars.append(Bar((first - days[0]).days, (last - days[0]).days, each))
            continue
        while place + 1 < len(days) and each.start >= midnights[place + 1]:
            place += 1
        if each.start < midnights[0]:
            lines[days[0]].append(Line(rank, midnights[0], each, CONTINUED))
        elif each.end <= midnights[place + 1]:
            lines[days[place]].append(Line(rank, each.start, each))
        else:
            lines[days[place]].append(Line(rank, each.start, each, CONTINUES))
            if place + 1 < len(days):
                lines[days[place + 1]].append(Line(rank, midnights[place + 1], each, CONTINUED))


def row_of(sight: Sight, line: Line) -> Row:
    if isinstance(line.thing, Band):
        return entries.band_row(sight, line.thing)
    time_of_it = "" if line.part == CONTINUED else sight.time_at(line.when)
    if isinstance(line.thing, RunItem):
        return entries.run_row(sight, line.thing, time=time_of_it)
    return entries.sheet_row(sight, line.thing, part=line.part, time=time_of_it)


def heads(sight: Sight) -> list[dict]:
    today = sight.today if sight.window.chosen.replace(day=1) == sight.today.replace(day=1) else None
    return [
        {
            "name": WEEKDAYS[day.weekday()],
            "short": WEEKDAYS_ABBR[day.weekday()],
            "is_today": today is not None and today.weekday() == day.weekday(),
        }
        for day in sight.window.days[:WEEK]
    ]


def week(sight: Sight, at: int, bars: list[Bar], lines: dict[date, list[Line]], notes: dict[date, str]) -> list[dict]:
    days = sight.window.days[at : at + WEEK]
    here = [
        Bar(max(bar.first - at, 0), min(bar.last - at, WEEK - 1), bar)
        for bar in bars
        if bar.first - at < WEEK and bar.last >= at
    ]
    cells: list[list[Row]] = [[] for _ in days]
    hidden = [0] * WEEK
    for number, row in enumerate(rows_of(here)):
        for bar in row:
            for place in range(bar.first, bar.last + 1):
                if number >= BARS:
                    hidden[place] += 1
                    continue
                cells[place] += [entries.spacer_row() for _ in range(number - len(cells[place]))]
                cells[place].append(bar_row(sight, bar.thing, at + place, is_named=place == bar.first))
    return [
        day_cell(sight, day, rows, lines.get(day, []), rest, notes.get(day, ""))
        for day, rows, rest in zip(days, cells, hidden, strict=True)
    ]


def bar_row(sight: Sight, bar: Bar, place: int, *, is_named: bool) -> Row:
    part = entries.listed((CONTINUED if bar.first < place else "", CONTINUES if bar.last > place else ""))
    begins = bar.thing.days is None and bar.first == place
    row = entries.sheet_row(sight, bar.thing, part=part, time=sight.time_at(bar.thing.start) if begins else "")
    return row if is_named else row | {"is_unnamed": True, "icon": ""}


def day_cell(sight: Sight, day: date, bars: list[Row], lines: list[Line], hidden: int, note: str) -> dict:
    room = ROOM - len(bars)
    if len(lines) > room:
        kept = sorted(lines, key=lambda line: (line.rank, line.when))[: max(room, 0)]
        hidden += len(lines) - len(kept)
        lines = kept
    rows = bars + [row_of(sight, line) for line in sorted(lines, key=lambda line: line.when)]
    label = sight.long_date(day)
    url = sight.link(View.DAY, day)
    if hidden:
        more = ngettext("%(count)d more on %(day)s", "%(count)d more on %(day)s", hidden)
        rows.append(entries.more_row(hidden, url, more % {"count": hidden, "day": label}))
    outside = (day.year, day.month) != (sight.window.chosen.year, sight.window.chosen.month)
    attributes = [f' data-date="{day.isoformat()}"', ' class="outside"' if outside else ""]
    if day < sight.today:
        attributes.append(" data-past")
    elif day == sight.today:
        attributes.append(" data-today")
    if day == sight.window.chosen:
        attributes.append(" data-chosen")
    return {
        "number": day.day,
        "label": label,
        "url": url,
        "note": note or (date_format(day, "F") if day.day == 1 else ""),
        "attributes": mark_safe("".join(attributes)),
        "is_today": day == sight.today,
        "items": rows,
    }
