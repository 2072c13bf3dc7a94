"""The runs that maintenance is going to hold, shown so before it happens, and those that it moves to its end.

One query for the jobs in view, and none when nothing is announced that is not over.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import NamedTuple
from uuid import UUID

from django.utils.translation import gettext

from calendars.pages.items import Band, RunItem
from calendars.pages.notices import title_of
from calendars.pages.runs import InView
from calendars.pages.window import ONE_DAY, midnight
from maintenance import heeding
from maintenance.models import Heed, Notice
from maintenance.spells import Spell, Told

HELD = "held"  # a state of the look
Spells = Mapping[int, Sequence[Spell]]  # by job, earliest first
Reasons = Mapping[UUID, str]  # by notice
Parts = tuple[tuple[float, float], ...]


class Hold(NamedTuple):
    """What holds a fire time, and until when; None: nobody can say."""

    notice: Notice
    until: datetime | None
    is_dropped: bool  # rather than run once then


def hold_at(spells: Iterable[Spell], at: datetime) -> Hold | None:
    """The first that holds at that moment, until nothing does any more.  The spells are in order."""
    first, until = None, at
    for spell in spells:
        if spell.covers(until):
            first = first or spell
            if spell.end is None:
                return Hold(first.notice, None, first.after == Heed.After.DROP)
            until = spell.end
    return Hold(first.notice, until, first.after == Heed.After.DROP) if first else None


def spells_of(view: InView, found: Collection[Told], start: datetime, end: datetime, now: datetime) -> Spells:
    """When jobs with runs to come in [start, end), or with held ones, are held there."""
    shown = [each for each in found if each.notice.status in Notice.SHOWN]
    jobs = {run.job_id for run in view.runs if may_be_held(run)}
    jobs |= {band.job_id for band in view.bands if band.will or band.held}
    return heeding.forecast(jobs, start, end, now, shown) if shown and jobs else {}


def leads_of(spells: Spells) -> dict[UUID, datetime]:
    """By notice, since when it holds the first of the jobs."""
    leads: dict[UUID, datetime] = {}
    for spell in (spell for of_job in spells.values() for spell in of_job):
        leads[spell.notice.pk] = min(spell.start, leads.get(spell.notice.pk, spell.start))
    return leads


def reasons_of(found: Iterable[Told]) -> Reasons:
    """Why runs are held, in the viewer's language."""
    return {each.notice.pk: gettext("held by maintenance: %s") % title_of(each) for each in found}


def with_held(
    view: InView, spells: Spells, found: Iterable[Told], zone: tzinfo, end: datetime, now: datetime
) -> InView:
    """The same, in which what is going to be held is so, and stands again before `end` where it is moved to."""
    if not spells:
        return view
    reasons = reasons_of(found)
    runs = runs_held(view.runs, spells, reasons, end, now)
    bands = [
        band_held(band, spells[band.job_id], reasons, zone) if band.job_id in spells else band for band in view.bands
    ]
    return view._replace(runs=runs, bands=bands)


# One by one


def may_be_held(run: RunItem) -> bool:
    return run.run_id is None or run.state == HELD


def runs_held(runs: Iterable[RunItem], spells: Spells, reasons: Reasons, end: datetime, now: datetime) -> list[RunItem]:
    shown = []
    newest: dict[tuple[int, datetime], RunItem] = {}
    for run in runs:
        of_job = spells.get(run.job_id, ())
        hold = hold_at(of_job, now if run.run_id else run.at) if of_job and may_be_held(run) else None
        if hold and run.run_id is None:
            run = replace(run, state=HELD, word=gettext("Held"), reason=reasons[hold.notice.pk])
        shown.append(run)
        if hold and hold.until is not None and not hold.is_dropped and hold.until < end:
            newest[run.job_id, hold.until] = run  # runs come by time
    shown += [moved_to(until, run) for (_, until), run in newest.items()]
    return sorted(shown, key=lambda run: (run.at, run.name, run.key))


def moved_to(until: datetime, run: RunItem) -> RunItem:
    """The one run after the maintenance, for the newest of those that it held."""
    return replace(
        run,
        key=f"{run.key}-moved",
        at=until,
        end=until + (run.end - run.at) if run.end and run.run_id is None else None,
        state="planned",
        word=gettext("Planned"),
        reason=gettext("once, after maintenance"),
        run_id=None,
    )


# Summed up


def band_held(band: Band, spells: Iterable[Spell], reasons: Reasons, zone: tzinfo) -> Band:
    """With the parts of what will be that are going to be held."""
    start, end = midnight(band.day, zone), midnight(band.day + ONE_DAY, zone)
    will, held, reason = band.will, list(band.held), ""
    for spell in spells:
        low = (spell.start - start) / (end - start)
        high = 1.0 if spell.end is None else (spell.end - start) / (end - start)
        if any(within((*will, *band.held), low, high)):
            reason = reason or reasons[spell.notice.pk]
            held += within(will, low, high)
            will = (*within(will, 0.0, low), *within(will, high, 1.0))
    return replace(band, will=tuple(sorted(will)), held=tuple(sorted(held)), reason=reason)


def within(parts: Parts, low: float, high: float) -> Iterator[tuple[float, float]]:
    return ((max(start, low), min(end, high)) for start, end in parts if max(start, low) < min(end, high))
