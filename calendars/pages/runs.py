"""The runs of jobs in a window of the calendar: past runs from their rows, future runs from triggers.

Four queries, whatever the number of jobs, and one for the subscriptions of a user who is not a superuser. The database
chooses at most as many jobs as a page shows, and counts their past runs by job, state and hour. Triggers give the
future fire times. Then the rows are read of jobs that a day can show one by one. For each day of a frequent job there
is a band, for which neither rows nor all fire times are read. Runs of deleted jobs are not shown.
"""

from collections import Counter
from collections.abc import Collection
from datetime import datetime, tzinfo
from typing import NamedTuple

from accounts.visibility import visible_subscription_ids
from calendars.items import Band, RunItem
from calendars.pages.chosen_jobs import FAILED, choose_jobs
from calendars.pages.frequent_runs import FREQUENT_PER_HOUR, days_within
from calendars.pages.future_runs import add_triggers, expand_all
from calendars.pages.job_windows import WindowQuery
from calendars.pages.past_runs import NOT_RUN, load_past_runs
from calendars.pages.run_items import bands_of, drawable, drawn_runs
from jobs.models import Run

TROUBLES = (*FAILED, Run.State.MISSED)


class RunsInWindow(NamedTuple):
    """The items of jobs in a window.

    `hidden_jobs` is a lower bound of the number of jobs with more in the window than is shown. It is None if there may
    be such jobs, but their number is not known.
    """

    runs: list[RunItem]  # by time
    bands: list[Band]  # by job and day
    counts: Counter[int]  # fire times by collection
    hidden_jobs: int | None

    @property
    def is_cut(self) -> bool:
        """True if the window may contain more than is shown."""
        return self.hidden_jobs != 0


def load_runs(
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
    max_per_hour: int = FREQUENT_PER_HOUR,
) -> RunsInWindow:
    """Return the runs in [start, end) that the user may see, with bands for the days of frequent jobs in `zone`.

    `collections` and `jobs` are the ids to show; None means all. Without `skipped`, fire times without a run are left
    out. With `only_failures`, only failed, lost and missed runs are returned. A job is frequent if it has more than
    `max_per_hour` runs per hour, counting only hours with fire times. 0 is for pages that list days and have no hours.
    """
    states = [state for state in (TROUBLES if only_failures else Run.State) if skipped or state not in NOT_RUN]
    days = days_within(start, end, zone)
    subscriptions = visible_subscription_ids(user)
    query = WindowQuery(
        user, subscriptions, start, end, days, now, collections, jobs, states, not only_failures, max_per_hour
    )
    chosen = choose_jobs(query)
    found = load_past_runs(query, chosen.ids)
    further = chosen.left_out_count + len(chosen.ids) - len(found) if jobs is None else chosen.left_out_count
    further = max(further, add_triggers(query, found))
    shown = expand_all(query, found)
    drawn = drawable(shown)
    folded = further + len(found) - len(shown) + sum(job.drawn_count > 0 for job in shown) - len(drawn)
    runs = drawn_runs(query, drawn)
    bands = [band for job in shown for band in bands_of(query, job)]
    counts: Counter[int] = Counter()
    for run in runs:
        counts[run.collection_id] += run.count
    for band in bands:
        counts[band.collection_id] += band.total
    return RunsInWindow(
        sorted(runs, key=lambda run: (run.fire_at, run.name, run.key)),
        sorted(bands, key=lambda band: (band.name, band.job_id, band.day)),
        counts,
        folded or (None if chosen.is_partial else 0),
    )
