"""Show the runs that maintenance will hold as held, and the runs that it moves to its end.

One query for the jobs in view; none if all announced maintenance is over.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from django.utils.translation import gettext

from calendars.items import Band, RunItem
from calendars.pages.notices import title_of
from calendars.pages.runs import RunsInWindow
from calendars.pages.window import ONE_DAY, midnight
from maintenance import holds
from maintenance.hold_windows import NoticeWithResources
from maintenance.models import Notice
from triggers.gates import HoldWindow
from triggers.upcoming import find_hold

HELD = "held"  # the state of an item
Windows = Mapping[int, Sequence[HoldWindow]]  # by job, earliest first
Reasons = Mapping[str, str]  # by the key of the hold
Parts = tuple[tuple[float, float], ...]


def hold_windows(
    view: RunsInWindow, notices: Collection[NoticeWithResources], start: datetime, end: datetime, now: datetime
) -> Windows:
    """Return when jobs with future or held runs in [start, end) are held there."""
    shown = [each for each in notices if each.notice.status in Notice.ACTIVE]
    jobs = {run.job_id for run in view.runs if may_be_held(run)}
    jobs |= {band.job_id for band in view.bands if band.planned_spans or band.held_spans}
    return holds.upcoming_holds(jobs, start, end, now, shown) if shown and jobs else {}


def lead_times(windows: Windows) -> dict[str, datetime]:
    """Return when each hold begins for the first of its jobs, by the key of the hold."""
    leads: dict[str, datetime] = {}
    for window in (window for of_job in windows.values() for window in of_job):
        leads[window.key] = min(window.start, leads.get(window.key, window.start))
    return leads


def hold_reasons(notices: Iterable[NoticeWithResources]) -> Reasons:
    """Return the reasons for held runs in the viewer's language, by the key of the hold."""
    return {each.key: gettext("held by maintenance: %s") % title_of(each) for each in notices}


def apply_holds(
    view: RunsInWindow,
    notices: Collection[NoticeWithResources],
    start: datetime,
    end: datetime,
    zone: tzinfo,
    now: datetime,
) -> tuple[RunsInWindow, Windows]:
    """Return the view of [start, end) with its holds applied, and the hold windows of the jobs in view.

    Runs that will be held are shown as held, and again at the time to which they are moved. Pages and feeds both call
    this function, so that they show the same.
    """
    windows = hold_windows(view, notices, start, end, now)
    if not windows:
        return view, windows
    reasons = hold_reasons(notices)
    runs = hold_runs(view.runs, windows, reasons, end, now)
    bands = [
        hold_band(band, windows[band.job_id], reasons, zone) if band.job_id in windows else band for band in view.bands
    ]
    return view._replace(runs=runs, bands=bands), windows


# Single runs


def may_be_held(run: RunItem) -> bool:
    """Return True for future fire times and for held runs."""
    return run.run_id is None or run.state == HELD


def hold_runs(
    runs: Iterable[RunItem], windows: Windows, reasons: Reasons, end: datetime, now: datetime
) -> list[RunItem]:
    """Return the runs with holds applied, and one run after each hold for its held runs, ordered by time."""
    shown = []
    newest: dict[tuple[int, datetime], RunItem] = {}
    for run in runs:
        of_job = windows.get(run.job_id, ())
        at, starts_at = (now, None) if run.run_id else (run.fire_at, run.starts_at)
        hold = find_hold(of_job, at, starts_at) if of_job and may_be_held(run) else None
        if hold and run.run_id is None:
            run = replace(run, state=HELD, label=gettext("Held"), reason=reasons[hold.window.key])
        shown.append(run)
        if hold and hold.until is not None and not hold.is_dropped and hold.until < end:
            newest[run.job_id, hold.until] = run  # runs are ordered by time, so the newest remains
    shown += [rescheduled(until, run) for (_, until), run in newest.items()]
    return sorted(shown, key=lambda run: (run.fire_at, run.name, run.key))


def rescheduled(until: datetime, run: RunItem) -> RunItem:
    """Return the one run after the maintenance, made from the newest run that it holds."""
    return replace(
        run,
        key=f"{run.key}-moved",
        fire_at=until,
        end=until + (run.end - run.fire_at) if run.end and run.run_id is None else None,
        state="planned",
        label=gettext("Planned"),
        reason=gettext("once, after maintenance"),
        run_id=None,
        starts_at=None,
        starts_until=None,
    )


# Bands


def hold_band(band: Band, windows: Iterable[HoldWindow], reasons: Reasons, zone: tzinfo) -> Band:
    """Return the band with the future parts marked as held that lie in hold windows."""
    start, end = midnight(band.day, zone), midnight(band.day + ONE_DAY, zone)
    planned, held, reason = band.planned_spans, list(band.held_spans), ""
    for window in windows:
        low = (window.start - start) / (end - start)
        high = 1.0 if window.end is None else (window.end - start) / (end - start)
        if any(clip_parts((*planned, *band.held_spans), low, high)):
            reason = reason or reasons[window.key]
            held += clip_parts(planned, low, high)
            planned = (*clip_parts(planned, 0.0, low), *clip_parts(planned, high, 1.0))
    return replace(band, planned_spans=tuple(sorted(planned)), held_spans=tuple(sorted(held)), reason=reason)


def clip_parts(parts: Parts, low: float, high: float) -> Iterator[tuple[float, float]]:
    """Yield the parts that lie between `low` and `high`."""
    return ((max(start, low), min(end, high)) for start, end in parts if max(start, low) < min(end, high))
