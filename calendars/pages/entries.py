"""Events, runs, bands and maintenance as finished rows of the calendar: what each says, and what draws it.

A row is a dict, which templates read fastest.  `place` is the attributes of its list item, `attributes` those of the
link in it; both are made of names and numbers only, never of what people wrote.
"""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from calendars.expansion import Occurrence
from calendars.models import ShowAs
from calendars.pages.items import Band, NoticeItem, RunItem
from calendars.pages.sight import Sight
from jobs.outcomes import within_sentence

ONE_DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
LATEST_HOUR = 20  # three before the last: by no more are clocks ever put forward
NOWHERE = mark_safe("")
DRAWN_AS = {ShowAs.FREE.value: "free", ShowAs.TENTATIVE.value: "tentative"}
TROUBLES = ("failure", "lost", "missed", "late", "held")  # what needs a person is seen first
TROUBLE, EVENT, QUIET, SUMMED = range(4)  # ranks: what is kept where not all find room
BAND_WIDTH = 240  # units of its picture

CONTINUED, CONTINUES = "continued", "continues"  # from before the cell, behind it
Row = dict[str, Any]
Sheet = Occurrence | NoticeItem  # what lasts for a while


def event_row(sight: Sight, each: Occurrence, *, part: str = "", time: str = "", where: str = "") -> Row:
    """`part` names what there is of it before its cell and behind it."""
    details = each.details
    start = sight.local(each.start)
    icon, said = marks_of(sight, each)
    if part.startswith(CONTINUED):
        said.insert(0, gettext("continued"))
    attributes = [f' data-hue="{each.event.calendar.hue}"']
    if part:
        attributes.append(f' data-part="{part}"')
    if shows := DRAWN_AS.get(details.show_as):
        attributes.append(f' data-shows="{shows}"')
        said.append(gettext("free") if shows == "free" else gettext("tentative"))
    if each.is_cancelled:
        attributes.append(" data-cancelled")
        said.append(gettext("cancelled"))
    return {
        "type": "event",
        "url": sight.item_link(str(each.id)),
        "attributes": mark_safe("".join(attributes)),
        "at": "" if each.days else start.isoformat(timespec="minutes"),
        "time": time,
        "name": name_of(each),
        "where": where,
        "icon": icon,
        "said": ", ".join(said),
        "title": title_of(sight, each, start),
        "place": NOWHERE,
    }


def run_row(sight: Sight, run: RunItem, *, part: str = "", time: str = "") -> Row:
    word = within_sentence(run.word)
    return {
        "type": "run",
        "url": sight.run_link(run.url),
        "attributes": mark_safe(f' data-state="{run.state}"' + (f' data-part="{part}"' if part else "")),
        "mark": run.state,
        "at": sight.local(run.at).isoformat(timespec="minutes"),
        "time": time,
        "name": named(run),
        "said": ", ".join(each for each in (word, run.reason, sight.which(run.at)) if each),
        "title": ", ".join(each for each in (f"{sight.time_at(run.at)} {named(run)}", word, run.reason) if each),
        "place": NOWHERE,
    }


def notice_row(sight: Sight, notice: NoticeItem, *, part: str = "", time: str = "", where: str = "") -> Row:
    word = within_sentence(notice.word)
    said = [gettext("maintenance"), word, *([gettext("nobody knows how long")] if notice.is_open else [])]
    if part.startswith(CONTINUED):
        said.insert(0, gettext("continued"))
    start = sight.local(notice.start)
    return {
        "type": "notice",
        "url": sight.notice_link(notice.id),
        "attributes": mark_safe(f' data-state="{notice.state}"' + (f' data-part="{part}"' if part else "")),
        "mark": notice.mark,
        "at": start.isoformat(timespec="minutes"),
        "time": time,
        "name": notice.title,
        "where": where,
        "said": ", ".join(said),
        "title": f"{span_of(sight, notice, start)} {notice.title}, {word}",
        "place": NOWHERE,
    }


def sheet_row(sight: Sight, each: Sheet, *, part: str = "", time: str = "", where: str = "") -> Row:
    draw: Any = notice_row if isinstance(each, NoticeItem) else event_row
    return draw(sight, each, part=part, time=time, where=where)


def rank_of_notice(notice: NoticeItem) -> int:
    return EVENT if notice.is_over else TROUBLE


def band_row(sight: Sight, band: Band, width: int = BAND_WIDTH) -> Row:
    """`width` is that of its picture, whose strokes and notches are always of one size."""
    failed = ngettext("%d failed", "%d failed", band.failed) % band.failed if band.failed else ""
    return {
        "type": "band",
        "url": sight.run_link(band.url),
        "attributes": mark_safe(f' data-hue="{band.hue}"'),
        "name": band.name,
        "failed": failed,
        "tally": tally_of(sight, band),
        "title": ", ".join(part for part in (band.name, band.every, summary_of(sight, band), band.reason) if part),
        "said": ", ".join(part for part in (band.every, summary_of(sight, band), band.reason) if part),
        "width": width,
        "ran": [strokes(start * width, end * width) for start, end in band.ran],
        "will": [box(start * width, end * width) for start, end in band.will],
        "held": [box(start * width, end * width) for start, end in band.held],
        "fell": [f"{each * width:.4g}" for each in band.fell],
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


def named(run: RunItem) -> str:
    return f"{run.name} × {run.count}" if run.count > 1 else run.name


def marks_of(sight: Sight, each: Occurrence) -> tuple[str, list[str]]:
    """The icon that an event shows, and what is said of it instead."""
    icon, said = "", []
    if each.exception is not None and not each.is_cancelled:
        original = each.original_start
        if original is not None and original != each.start and not each.is_all_day:
            icon = "moved"
            said.append(gettext("moved from %s") % sight.near(original, sight.local(each.start).date()))
        else:
            icon = "edit"
            said.append(gettext("changed"))
    elif each.day is not None:
        icon = "repeat"
        said.append(sight.words.repeats)
    if each.details.is_private:
        icon = "lock"
        said.append(sight.words.private)
    return icon, said


def title_of(sight: Sight, each: Occurrence, start: datetime) -> str:
    place = each.details.place
    named = f"{span_of(sight, each, start)} {name_of(each)}"
    return f"{named} · {place} · {each.event.calendar.name}" if place else f"{named} · {each.event.calendar.name}"


def span_of(sight: Sight, each: Sheet, start: datetime) -> str:
    """all day; 09:00–09:15; 22:00 – Sat 24 October 01:30; from 22:00.  `start` is what clocks show then."""
    if each.days:
        return gettext("all day")
    if isinstance(each, NoticeItem) and each.is_open:
        return gettext("from %s") % sight.time(start)
    if each.start == each.end:
        return sight.time(start)
    end = sight.local(each.end)
    if each.end - each.start < ONE_DAY:
        return f"{sight.time(start)}–{sight.time(end)}"
    return f"{sight.time(start)} – {sight.near(each.end, start.date())}"


def days_of(sight: Sight, each: Sheet) -> tuple[date, date]:
    """The first and the last day on which it is."""
    if each.days:
        return each.days[0], max(each.days[0], each.days[1] - ONE_DAY)
    start = sight.local(each.start)
    return start.date(), last_day(sight, start, each.end)


def last_day(sight: Sight, start: datetime, end: datetime) -> date:
    """The day on which something ends that starts when clocks show `start`; what ends at midnight is not on the day
    that begins then."""
    first = start.date()
    if end - start < (LATEST_HOUR - start.hour) * HOUR:  # on the same day, whatever becomes of clocks
        return first
    return max(first, sight.local(end - TICK).date())


def is_bar(each: Sheet) -> bool:
    """Whether it lies above the hours: an all-day one, or one that lasts a day and more."""
    return each.days is not None or each.end - each.start >= ONE_DAY


def rank_of(run: RunItem) -> int:
    return TROUBLE if run.state in TROUBLES else QUIET


def tally_of(sight: Sight, band: Band) -> str:
    if band.day == sight.today and 0 < band.done < band.total:
        return f"{band.done}/{band.total}"
    return str(band.total)


def summary_of(sight: Sight, band: Band) -> str:
    """288 runs, 2 failed; 174 of 288 runs so far."""
    if band.day == sight.today and 0 < band.done < band.total:
        said = gettext("%(done)d of %(total)d runs so far") % {"done": band.done, "total": band.total}
    else:
        said = ngettext("%d run", "%d runs", band.total) % band.total
    return f"{said}, {gettext('%d failed') % band.failed}" if band.failed else said


def strokes(start: float, end: float) -> str:
    return f"M{start:.4g} 4H{max(end, start + 1):.4g}"


def box(start: float, end: float) -> tuple[str, str]:
    """Where an outline lies, and how wide it is."""
    return f"{start + 0.5:.4g}", f"{max(end - start - 1, 1):.4g}"


def placed(name: str, values: dict[str, int]) -> SafeString:
    """The attributes of a list item that calendar.css places: only what is not nought."""
    said = f' class="{name}"' if name else ""
    return mark_safe(said + "".join(f' data-{key}="{value}"' for key, value in values.items() if value))


def on_axis(start: int, end: int) -> dict[str, int]:
    """From one minute of the axis to another."""
    return {"h": start // 60, "m": start % 60, "dh": (end - start) // 60, "dm": (end - start) % 60}


def listed(parts: Iterable[str]) -> str:
    return " ".join(part for part in parts if part)
