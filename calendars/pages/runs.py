"""The runs of jobs in a window of the calendar: those that were from their rows, those to come from their triggers.

Three queries, whatever there is.  The database counts past runs by job, state and hour; triggers say what comes; then
the rows are read of those jobs that a day can show one by one.  A frequent job is summed up as a band for each day,
with no look at its rows, nor at each fire time to come.  Runs of jobs that are gone are not shown.
"""

from collections import Counter
from collections.abc import Collection
from datetime import datetime, tzinfo
from typing import NamedTuple

from calendars.pages.bands import AN_HOUR, days_within
from calendars.pages.coming_runs import add_triggers, laid_out
from calendars.pages.drawn_runs import bands_of, drawable, drawn_runs
from calendars.pages.items import Band, RunItem
from calendars.pages.jobs_in_view import Scope
from calendars.pages.past_runs import FAILED, NOT_RUN, past
from jobs.models import Run

TROUBLES = (*FAILED, Run.State.MISSED)


class InView(NamedTuple):
    """What a window shows of jobs.  `is_cut` when there is more than it can show."""

    runs: list[RunItem]  # by time
    bands: list[Band]  # by job and day
    counts: Counter[int]  # fire times by collection
    is_cut: bool


def collect(
    user,
    start: datetime,
    end: datetime,
    zone: tzinfo,
    now: datetime,
    collections: Collection[int] | None = None,
    *,
    jobs: Collection[int] | None = None,
    skipped: bool = True,
    only_failures: bool = False,
    an_hour: int = AN_HOUR,
) -> InView:
    """The runs in [start, end) that the user may see, those of frequent jobs summed up by the days of `zone`.

    `collections` and `jobs` are the ids of those to show, None: all.  Without `skipped`, what was not run is left
    out; with `only_failures`, everything but what failed, was lost or was missed.  A job is frequent with more than
    `an_hour` runs in each hour of those in which it runs: 0 suits pages that list days and do not draw hours.
    """
    states = [state for state in (TROUBLES if only_failures else Run.State) if skipped or state not in NOT_RUN]
    days = days_within(start, end, zone)
    scope = Scope(user, start, end, days, now, collections, jobs, states, not only_failures, an_hour)
    found = past(scope)
    is_known = add_triggers(scope, found)
    shown = laid_out(scope, found)
    drawn = drawable(shown)
    runs = drawn_runs(scope, drawn)
    bands = [band for job in shown for band in bands_of(scope, job)]
    counts: Counter[int] = Counter()
    for run in runs:
        counts[run.collection_id] += run.count
    for band in bands:
        counts[band.collection_id] += band.total
    return InView(
        sorted(runs, key=lambda run: (run.at, run.name, run.key)),
        sorted(bands, key=lambda band: (band.name, band.job_id, band.day)),
        counts,
        not is_known or len(shown) < len(found) or len(drawn) < sum(job.drawn_count > 0 for job in shown),
    )
