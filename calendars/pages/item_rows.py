"""Build the rows of the calendar: events, runs, bands and notices with their texts and attributes.

A row is a dict, because templates read dicts fastest. `place` holds the attributes of the list item, `attributes`
those of the link in it. Both consist of names and numbers only, never of texts that people wrote.
"""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from calendars.expansion import Occurrence
from calendars.items import Band, NoticeItem, RunItem
from calendars.models import ShowAs
from calendars.pages.view_context import ViewContext
from jobs.badges import lowercase_label

ONE_DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
LATEST_HOUR = 20  # 3 hours before the last hour: clocks never go forward by more
NOWHERE = mark_safe("")
DRAWN_AS = {ShowAs.FREE.value: "free", ShowAs.TENTATIVE.value: "tentative"}
TROUBLES = ("failure", "lost", "missed", "late", "held")  # states that need a person are shown first
TROUBLE, EVENT, QUIET, SUMMED = range(4)  # ranks: items with the lowest rank are shown if not all fit
BAND_WIDTH = 240  # in units of its SVG picture

CONTINUED, CONTINUES = "continued", "continues"  # from before the cell, to after it
Row = dict[str, Any]
Sheet = Occurrence | NoticeItem  # an item with a duration


def event_row(context: ViewContext, each: Occurrence, *, part: str = "", time: str = "", where: str = "") -> Row:
    """Return the row of an event. `part` says whether the event crosses the borders of its cell."""
    details = each.details
    start = context.to_local(each.start)
    icon, texts = icon_of(context, each)
    if part.startswith(CONTINUED):
        texts.insert(0, gettext("continued"))
    attributes = [f' data-hue="{each.event.calendar.hue}"']
    if part:
        attributes.append(f' data-part="{part}"')
    if shows := DRAWN_AS.get(details.show_as):
        attributes.append(f' data-shows="{shows}"')
        texts.append(gettext("free") if shows == "free" else gettext("tentative"))
    if each.is_cancelled:
        attributes.append(" data-cancelled")
        texts.append(gettext("cancelled"))
    return {
        "type": "event",
        "url": context.item_link(str(each.id)),
        "attributes": mark_safe("".join(attributes)),
        "at": "" if each.days else start.isoformat(timespec="minutes"),
        "time": time,
        "name": name_of(each),
        "where": where,
        "icon": icon,
        "hidden_text": ", ".join(texts),
        "title": title_of(context, each, start),
        "place": NOWHERE,
    }


def run_row(context: ViewContext, run: RunItem, *, part: str = "", time: str = "") -> Row:
    word, notes = lowercase_label(run.label), run_notes(context, run)
    return {
        "type": "run",
        "url": context.run_link(run.url),
        "attributes": mark_safe(f' data-state="{run.state}"' + (f' data-part="{part}"' if part else "")),
        "mark": run.state,
        "at": context.to_local(run.fire_at).isoformat(timespec="minutes"),
        "time": time,
        "name": run_label(run),
        "hidden_text": ", ".join(each for each in (word, run.reason, *notes, context.fold_suffix(run.fire_at)) if each),
        "title": ", ".join(
            each
            for each in (f"{context.format_time_at(run.fire_at)} {run_label(run)}", word, run.reason, *notes)
            if each
        ),
        "place": NOWHERE,
    }


def run_notes(context: ViewContext, run: RunItem) -> list[str]:
    """Return from where closed days moved the run, and when it starts if it has jitter."""
    day = context.to_local(run.fire_at).date()
    notes = []
    if run.moved_from:
        notes.append(gettext("moved from %s") % context.format_near(run.moved_from, day))
    if run.starts_until:
        window = {"from": context.format_time_at(run.fire_at), "to": context.format_near(run.starts_until, day)}
        notes.append(gettext("starts between %(from)s and %(to)s") % window)
    elif run.starts_at:
        notes.append(gettext("starts at %s") % context.format_near(run.starts_at, day))
    return notes


def notice_row(context: ViewContext, notice: NoticeItem, *, part: str = "", time: str = "", where: str = "") -> Row:
    word = lowercase_label(notice.label)
    texts = [gettext("maintenance"), word, *([notice.duration_text] if notice.is_open_ended else [])]
    if part.startswith(CONTINUED):
        texts.insert(0, gettext("continued"))
    start = context.to_local(notice.start)
    return {
        "type": "notice",
        "url": context.notice_link(notice.id),
        "attributes": mark_safe(f' data-state="{notice.state}"' + (f' data-part="{part}"' if part else "")),
        "mark": notice.icon,
        "at": start.isoformat(timespec="minutes"),
        "time": time,
        "name": notice.title,
        "where": where,
        "hidden_text": ", ".join(texts),
        "title": f"{span_of(context, notice, start)} {notice.title}, {word}",
        "place": NOWHERE,
    }


def all_day_row(context: ViewContext, each: Sheet, *, part: str = "", time: str = "", where: str = "") -> Row:
    build_row: Any = notice_row if isinstance(each, NoticeItem) else event_row
    return build_row(context, each, part=part, time=time, where=where)


def rank_of_notice(notice: NoticeItem) -> int:
    """Return the rank of a notice: notices that are not over come first."""
    return EVENT if notice.is_over else TROUBLE


def band_row(context: ViewContext, band: Band, width: int = BAND_WIDTH) -> Row:
    """Return the row of a band.

    `width` is the width of its picture; strokes and ticks have the same size at any width.
    """
    failed = ngettext("%d failed", "%d failed", band.failed_count) % band.failed_count if band.failed_count else ""
    return {
        "type": "band",
        "url": context.run_link(band.url),
        "attributes": mark_safe(f' data-hue="{band.hue}"'),
        "name": band.name,
        "failed": failed,
        "count_text": tally_of(context, band),
        "title": ", ".join(part for part in (band.name, band.interval, summary_of(context, band), band.reason) if part),
        "hidden_text": ", ".join(part for part in (band.interval, summary_of(context, band), band.reason) if part),
        "width": width,
        "finished": [svg_strokes(start * width, end * width) for start, end in band.run_spans],
        "planned": [svg_rect(start * width, end * width) for start, end in band.planned_spans],
        "held": [svg_rect(start * width, end * width) for start, end in band.held_spans],
        "failures": [f"{each * width:.4g}" for each in band.failure_positions],
        "place": NOWHERE,
    }


def spacer_row() -> Row:
    return {"type": "spacer", "place": mark_safe(' class="spacer" aria-hidden="true"')}


def more_row(count: int, url: str, label: str) -> Row:
    return {"type": "more", "url": url, "count": count, "label": label, "place": NOWHERE}


def name_of(each: Occurrence) -> str:
    if each.details.subject:
        return each.details.subject
    return gettext("Private") if each.details.is_private else gettext("(no title)")


def run_label(run: RunItem) -> str:
    return f"{run.name} × {run.count}" if run.count > 1 else run.name


def icon_of(context: ViewContext, each: Occurrence) -> tuple[str, list[str]]:
    """Return the icon of an event, and texts that say the same."""
    icon, texts = "", []
    if each.exception is not None and not each.is_cancelled:
        original = each.original_start
        if original is not None and original != each.start and not each.is_all_day:
            icon = "moved"
            texts.append(gettext("moved from %s") % context.format_near(original, context.to_local(each.start).date()))
        else:
            icon = "edit"
            texts.append(gettext("changed"))
    elif each.day is not None:
        icon = "repeat"
        texts.append(context.labels.repeats)
    if each.details.is_private:
        icon = "lock"
        texts.append(context.labels.private)
    return icon, texts


def title_of(context: ViewContext, each: Occurrence, start: datetime) -> str:
    place = each.details.location_name
    text = f"{span_of(context, each, start)} {name_of(each)}"
    return f"{text} · {place} · {each.event.calendar.name}" if place else f"{text} · {each.event.calendar.name}"


def span_of(context: ViewContext, each: Sheet, start: datetime) -> str:
    """Return the times of a sheet.

    Examples: all day; 09:00–09:15; 22:00 – Sat 24 October 01:30; from 22:00. `start` is its start as a local time.
    """
    if each.days:
        return gettext("all day")
    if isinstance(each, NoticeItem) and each.is_open_ended:
        return gettext("from %s") % context.format_time(start)
    if each.start == each.end:
        return context.format_time(start)
    end = context.to_local(each.end)
    if each.end - each.start < ONE_DAY:
        return f"{context.format_time(start)}–{context.format_time(end)}"
    return f"{context.format_time(start)} – {context.format_near(each.end, start.date())}"


def days_of(context: ViewContext, each: Sheet) -> tuple[date, date]:
    """Return the first and the last day of a sheet."""
    if each.days:
        return each.days[0], max(each.days[0], each.days[1] - ONE_DAY)
    start = context.to_local(each.start)
    return start.date(), last_day(context, start, each.end)


def last_day(context: ViewContext, start: datetime, end: datetime) -> date:
    """Return the last day of something that starts at the local time `start`.

    What ends at midnight is not on the day that begins then.
    """
    first = start.date()
    if end - start < (LATEST_HOUR - start.hour) * HOUR:  # on the same day, whatever clock change comes
        return first
    return max(first, context.to_local(end - TICK).date())


def is_bar(each: Sheet) -> bool:
    """Return True if the sheet is drawn above the hours: it is all-day, or lasts a day or longer."""
    return each.days is not None or each.end - each.start >= ONE_DAY


def rank_of(run: RunItem) -> int:
    """Return the rank of a run: runs that need a person come first."""
    return TROUBLE if run.state in TROUBLES else QUIET


def tally_of(context: ViewContext, band: Band) -> str:
    """Return the number of runs as in 288; while some of today's runs are to come, as in 174/288."""
    if band.day == context.today and 0 < band.done_count < band.total:
        return f"{band.done_count}/{band.total}"
    return str(band.total)


def summary_of(context: ViewContext, band: Band) -> str:
    """Return the text as in 288 runs, 2 failed; or 174 of 288 runs so far."""
    if band.day == context.today and 0 < band.done_count < band.total:
        text = gettext("%(done)d of %(total)d runs so far") % {"done": band.done_count, "total": band.total}
    else:
        text = ngettext("%d run", "%d runs", band.total) % band.total
    return f"{text}, {gettext('%d failed') % band.failed_count}" if band.failed_count else text


def svg_strokes(start: float, end: float) -> str:
    """Return the path of a line with a length of at least 1."""
    return f"M{start:.4g} 4H{max(end, start + 1):.4g}"


def svg_rect(start: float, end: float) -> tuple[str, str]:
    """Return the position and the width of an outline."""
    return f"{start + 0.5:.4g}", f"{max(end - start - 1, 1):.4g}"


def position(name: str, values: dict[str, int]) -> SafeString:
    """Return the attributes of a list item that calendar.css places. Zeros are left out."""
    attributes = f' class="{name}"' if name else ""
    return mark_safe(attributes + "".join(f' data-{key}="{value}"' for key, value in values.items() if value))


def axis_attributes(start: int, end: int) -> dict[str, int]:
    """Return the attributes of a range of minutes on the axis: start and length, in hours and minutes."""
    return {"h": start // 60, "m": start % 60, "dh": (end - start) // 60, "dm": (end - start) % 60}


def join_names(parts: Iterable[str]) -> str:
    return " ".join(part for part in parts if part)
