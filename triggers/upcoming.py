"""Forecast what happens with future fire times.  A fire time runs when it is due, once after a hold, or not at all.

Every page, the feeds and the APIs use this module, so that all of them show the same.  The windows in which gates hold
a job come from `triggers.gates.forecast`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import chain, islice, pairwise, takewhile
from uuid import UUID

from django.db.models import Max

from jobs.models import Run, RunQuerySet, runnable_q
from recurrence.composites import FirstThen
from recurrence.counting import count_within
from recurrence.schedules import LAST_INSTANT, TICK, just_after, just_before
from triggers import gates
from triggers.gates import HoldWindow
from triggers.models import Trigger

Windows = Mapping[int, Sequence[HoldWindow]]  # by job
NO_WINDOWS: Windows = {}
MAX_WAIT = timedelta(days=2)  # since its fire time: a run that waits for longer is not looked for
MAX_WAITING = 1_000  # runs that are read

# Single fire times


@dataclass(frozen=True, slots=True)
class ExpectedHold:
    """The expected hold of a fire time: the first window that covers it, and the moment when no window does any more.

    `until` None: the end is not known.
    """

    window: HoldWindow
    until: datetime | None

    @property
    def is_dropped(self) -> bool:
        return self.window.is_dropped


def find_hold(windows: Iterable[HoldWindow], at: datetime, starts_at: datetime | None = None) -> ExpectedHold | None:
    """Return the hold of a run that is due at `at`; None: the run is not held.

    `starts_at` is the time with jitter.  A window that begins while the run waits for its jitter holds the run too.
    The windows are in order of their starts.  Windows that follow each other without a gap count as one hold, because
    the run would not start in between.
    """
    first, until = None, at
    for window in windows:
        begins_in_time = window.start <= max(until, starts_at or until)
        if begins_in_time and (window.end is None or window.end > max(until, window.start)):
            first = first or window
            if window.end is None:
                return ExpectedHold(first, None)
            until = window.end
    return ExpectedHold(first, until) if first else None


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A run that exists and has not begun: it waits for its jitter, or to be published to a worker."""

    id: UUID
    job_id: int
    trigger_name: str
    fire_at: datetime
    starts_at: datetime  # with jitter
    moved_from: datetime | None  # the fire time from which closed days moved it; None: it was not moved


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """A future fire time, and what is expected to happen with it.

    If several fire times are held until the same moment, the newest runs at that moment.  For the others
    `is_superseded` is True.  The run of a fire time can exist already: `run` is the run that waits to start; without
    `run` and `trigger`, the run is held.
    """

    fire_at: datetime
    trigger: Trigger | None
    hold: ExpectedHold | None = None
    is_superseded: bool = False
    run: WaitingRun | None = None

    @property
    def starts_at(self) -> datetime:
        """The fire time with the jitter of its trigger."""
        if self.run:
            return self.run.starts_at
        return self.trigger.start_of(self.fire_at) if self.trigger else self.fire_at

    @property
    def moved_from(self) -> datetime | None:
        """The fire time from which closed days move it, the last one of several; None: they do not move it."""
        if self.run:
            return self.run.moved_from
        return max(self.trigger.moved_from(self.fire_at), default=None) if self.trigger else None

    @property
    def runs_at(self) -> datetime | None:
        """The moment at which it runs; None when it does not run, and when the moment is not known."""
        if self.hold is None:
            return self.starts_at
        if self.hold.is_dropped or self.is_superseded or self.hold.until is None:
            return None
        return max(self.hold.until, self.starts_at)


def hold_of_fire(windows: Sequence[HoldWindow], trigger: Trigger, fire: datetime) -> ExpectedHold | None:
    """Return the expected hold of a trigger's fire time, as `find_hold` does."""
    return find_hold(windows, fire, trigger.start_of(fire)) if windows else None


def expected_runs(
    triggers: Collection[Trigger], windows: Sequence[HoldWindow], waiting: Iterable[WaitingRun] = ()
) -> Iterator[ExpectedRun]:
    """Yield the expected runs of one job's triggers, earliest first; the iterator may be endless.

    `windows` are those that hold the job, from now on.  `waiting` are the job's runs that exist already.
    """
    yield from (_expected_waiting(run, triggers, windows) for run in waiting)
    fires = merge(*map(_with_trigger, triggers), key=lambda each: each[0])
    for each, following in pairwise(chain(fires, [None])):
        if each is not None:
            fire, trigger = each
            hold = hold_of_fire(windows, trigger, fire)
            until = hold and (hold.until or LAST_INSTANT)
            yield ExpectedRun(fire, trigger, hold, bool(until and following and following[0] < until))


def _with_trigger(trigger: Trigger, since: datetime | None = None) -> Iterator[tuple[datetime, Trigger]]:
    return ((fire, trigger) for fire in fires_of(trigger, since))


def fires_of(trigger: Trigger, since: datetime | None = None) -> Iterator[datetime]:
    """Yield the future fire times of a trigger, those at or after `since`; none while the trigger is stopped."""
    fire, left, schedule = trigger.next_fire_at, trigger.fires_left, trigger.schedule_or_none
    if fire is None or schedule is None:
        return
    if since is not None and since > fire:
        since = since.astimezone(UTC)
        if left is not None:
            left -= count_within(FirstThen(fire, schedule), fire, since)
        fire = schedule.after(just_before(since))
    while fire is not None and (left is None or left > 0):
        yield fire
        left = None if left is None else left - 1
        fire = schedule.after(fire)


# The fire times of a window


def runs_within(
    selected: Sequence[Trigger],
    triggers: Collection[Trigger],
    windows: Sequence[HoldWindow],
    now: datetime,
    start: datetime | None = None,
    end: datetime | None = None,
    held_fire: datetime | None = None,
    waiting: Iterable[WaitingRun] = (),
) -> Iterator[ExpectedRun]:
    """Yield the expected runs of the triggers `selected` in [start, end), earliest first; the iterator may be endless.

    `start` None: from the next fire times on, after the runs in `waiting`.  `triggers` are all triggers of the job: a
    later fire time of any of them replaces one that is held.  `windows` are those that hold the job from `now` on.
    `held_fire` is the newest fire time that is held now.  A run that is held since before `start` comes first, if it
    runs in the window or its moment is not known.
    """
    if start is None:
        names = {trigger.name for trigger in selected}
        yield from (_expected_waiting(run, triggers, windows) for run in waiting if run.trigger_name in names)
    if released := _released_run(selected, triggers, windows, now, start, end, held_fire):
        yield released
    fires = merge(*(_with_trigger(trigger, start) for trigger in selected), key=lambda each: each[0])
    for fire, trigger in fires:
        if end is not None and fire >= end:
            return
        hold = hold_of_fire(windows, trigger, fire)
        yield ExpectedRun(fire, trigger, hold, _is_superseded(fire, trigger, hold, triggers))


def _released_run(
    selected: Sequence[Trigger],
    triggers: Collection[Trigger],
    windows: Sequence[HoldWindow],
    now: datetime,
    start: datetime | None,
    end: datetime | None,
    held_fire: datetime | None,
) -> ExpectedRun | None:
    """Return the run that is held since before the window and runs in the window; None: there is none."""
    begins_at = start or now
    if not find_hold(windows, just_before(begins_at)):
        return None
    fires = [(fire, trigger) for trigger in selected if start and (fire := last_fire_before(trigger, start))]
    fire, trigger = max(fires, key=lambda each: each[0], default=(held_fire, None))
    hold = hold_of_fire(windows, trigger, fire) if fire and trigger else find_hold(windows, now)
    if fire is None or hold is None or hold.is_dropped or _is_superseded(fire, trigger, hold, triggers):
        return None
    if hold.until is None:
        return ExpectedRun(fire, None, hold) if start is None else None
    if hold.until < begins_at or (end is not None and hold.until >= end):
        return None
    return ExpectedRun(fire, trigger, hold)


def _is_superseded(
    fire: datetime, trigger: Trigger | None, hold: ExpectedHold | None, triggers: Iterable[Trigger]
) -> bool:
    """Return True if a later fire time runs in place of one that is held.

    Of fire times at the same moment the one that is dispatched last runs.
    """
    if hold is None or hold.until is None:
        return False
    rank = (trigger.priority, trigger.pk) if trigger else (0, 0)
    for other in triggers:
        since = fire if (other.priority, other.pk) > rank else just_after(fire)
        following = next(fires_of(other, since), None)
        if following is not None and following < hold.until:
            return True
    return False


def last_fire_before(trigger: Trigger, end: datetime) -> datetime | None:
    """Return the last future fire time before `end`, found by bisection; None: there is none."""
    last, beyond = next(fires_of(trigger), None), end
    if last is None or last >= end:
        return None
    while beyond - last > TICK:
        middle = last + (beyond - last) / 2
        fire = next(fires_of(trigger, middle), None)
        if fire is None or fire >= end:
            beyond = middle
        else:
            last = fire
    return last


# Runs that wait to start


def waiting_runs(triggers: Iterable[Trigger], now: datetime) -> dict[int, list[WaitingRun]]:
    """Return the runs of these triggers' jobs that exist and have not begun, by job, earliest fire time first.

    One query, and none if no trigger has fired within MAX_WAIT.  Runs that wait for an earlier run are left out.
    """
    since = now - MAX_WAIT
    job_ids = {each.job_id for each in triggers if each.previous_fire_at and each.previous_fire_at > since}
    return read_waiting_runs(Run.objects.filter(job__in=job_ids), now) if job_ids else {}


def read_waiting_runs(runs: RunQuerySet, now: datetime) -> dict[int, list[WaitingRun]]:
    """Return those of the runs that have not begun, as `waiting_runs` does: the first MAX_WAITING runs."""
    rows = (
        runs.filter(runnable_q("job__"), state__in=Run.PENDING, fire_at__gt=now - MAX_WAIT)
        .filter(state=Run.State.WAITING, origin=Run.Origin.SCHEDULE, attempt_count=0, blocked_by=None)
        .order_by("fire_at", "pk")
        .values_list("pk", "job_id", "trigger_name", "fire_at", "starts_at", "moved_from")[:MAX_WAITING]
    )
    found: dict[int, list[WaitingRun]] = defaultdict(list)
    for pk, job_id, trigger_name, fire_at, starts_at, moved_from in rows:
        found[job_id].append(WaitingRun(pk, job_id, trigger_name or "", fire_at, starts_at or fire_at, moved_from))
    return found


def _expected_waiting(run: WaitingRun, triggers: Collection[Trigger], windows: Sequence[HoldWindow]) -> ExpectedRun:
    trigger = next((each for each in triggers if each.name == run.trigger_name), None)
    hold = find_hold(windows, run.fire_at, run.starts_at)
    return ExpectedRun(run.fire_at, trigger, hold, _is_superseded(run.fire_at, trigger, hold, triggers), run)


# The next run of jobs


def next_runs(
    job_ids: Collection[int],
    triggers: Iterable[Trigger],
    now: datetime,
    windows: Mapping[int, Sequence[HoldWindow]] | None = None,
) -> dict[int, ExpectedRun]:
    """Return the next run of each job that has one, as far as is known; `triggers` are all triggers of the jobs.

    For a fire time that will be held, and for a run that is held now, this is the run after the hold; its `runs_at` is
    None when the end of the hold is not known.  A run that exists and waits for its jitter counts as well.  The cost is
    the queries of the gates, one more query when one of the jobs is going to be held, and that of `waiting_runs`.
    `windows` are the gates' forecast from `now` on, for callers that already have it.
    """
    by_job: dict[int, list[Trigger]] = defaultdict(list)
    for trigger in triggers:
        by_job[trigger.job_id].append(trigger)
    if windows is None:
        windows = gates.forecast(job_ids, now, LAST_INSTANT, now)
    held = _newest_held_runs(windows) if windows else {}
    waiting = waiting_runs((trigger for each in by_job.values() for trigger in each), now)
    expected = {
        job_id: _first_run(
            next_run(by_job[job_id], windows.get(job_id, ()), now, held.get(job_id)),
            (
                _expected_waiting(run, by_job[job_id], windows.get(job_id, ()))
                for run in waiting.get(job_id, ())
                if run.starts_at > now
            ),
        )
        for job_id in job_ids
    }
    return {job_id: run for job_id, run in expected.items() if run}


def _first_run(expected: ExpectedRun | None, waiting: Iterable[ExpectedRun]) -> ExpectedRun | None:
    """Return the run that starts first; one at a moment that is not known comes after the others."""
    runs = [*([expected] if expected else []), *(each for each in waiting if each.runs_at)]
    return min(runs, key=lambda each: each.runs_at or LAST_INSTANT, default=None)


def next_run(
    triggers: Sequence[Trigger], windows: Sequence[HoldWindow], now: datetime, held_fire: datetime | None = None
) -> ExpectedRun | None:
    """Return the next run of one job; None: there is none.  `held_fire` is the newest fire time that is held now."""
    expected = _next_fire(triggers, windows)
    hold = find_hold(windows, now) if held_fire else None
    if held_fire is None or hold is None or hold.is_dropped:
        return expected
    waiting = ExpectedRun(held_fire, None, hold)
    runs_at = expected.runs_at if expected else None
    return waiting if runs_at is None or hold.until is None or hold.until <= runs_at else expected


def _next_fire(triggers: Sequence[Trigger], windows: Sequence[HoldWindow]) -> ExpectedRun | None:
    """Return the first fire time that runs, also if it runs later or at a moment that is not known."""
    since = None
    while True:
        firsts = [(fire, trigger) for trigger in triggers if (fire := next(fires_of(trigger, since), None))]
        if not firsts:
            return None
        fire, trigger = min(firsts, key=lambda each: (each[1].start_of(each[0]), each[0], each[1].pk))
        hold = hold_of_fire(windows, trigger, fire)
        if hold is None or not hold.is_dropped or hold.until is None:
            return ExpectedRun(fire, trigger, hold)
        since = hold.until


def _newest_held_runs(job_ids: Iterable[int]) -> dict[int, datetime]:
    """Return the newest fire time of the held runs of each job that has some."""
    held = Run.objects.filter(hold_key__isnull=False, state=Run.State.HELD, job__in=list(job_ids))
    return dict(held.order_by().values_list("job").annotate(newest=Max("fire_at")))


# Fire times of several triggers, for pages


def next_fire_times(triggers: Iterable[Trigger], limit: int) -> list[datetime]:
    """Return the next fire times of all the triggers, at most `limit`.

    The list is empty while the job is stopped, and when no fire time is left.
    """
    return list(islice(merge(*map(fires_of, triggers)), limit))


@dataclass(frozen=True, slots=True)
class UpcomingFires:
    """When the runs of one trigger start in a window; `more` is True when there are more than the limit."""

    trigger: Trigger
    fires: tuple[datetime, ...]
    more: bool


def upcoming_fires(
    triggers: Iterable[Trigger], end: datetime, limit: int, windows: Windows = NO_WINDOWS
) -> list[UpcomingFires]:
    """Return when the runs of each trigger start before `end` (not included), at most `limit` fire times each.

    `windows` are the windows in which gates hold the jobs.  If several fire times are held until the same moment, one
    run starts at that moment.
    """
    found = []
    released: dict[tuple[int, datetime], int] = {}  # by job and moment of release, the index of the newest trigger
    for index, trigger in enumerate(triggers):
        fires = []
        next_fires = list(islice(takewhile(lambda fire: fire < end, fires_of(trigger)), limit + 1))
        for fire in next_fires[:limit]:
            hold = hold_of_fire(windows.get(trigger.job_id, ()), trigger, fire)
            if hold is None:
                fires.append(fire)
            elif hold.until is not None and hold.until < end and not hold.is_dropped:
                released[trigger.job_id, hold.until] = index
        found.append(UpcomingFires(trigger, tuple(fires), len(next_fires) > limit))
    for (_, at), index in released.items():
        found[index] = replace(found[index], fires=tuple(sorted((*found[index].fires, at))))
    return found
