"""Set when triggers fire next, and end a job when none of its triggers has a fire time left.

The caller of each function has locked the job's collection, and the triggers before the job.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from jobs.finishing import finish_jobs
from jobs.models import Job, JobCollection, Run
from recurrence import wire
from recurrence.wire.common import has_closed_rest
from triggers.definitions import FORMAT
from triggers.models import MAIN, Trigger
from triggers.notify import notify_beat

# formats whose schedules end after a number of fire times, unless they have an end time
COUNTED_FORMATS = ("azure", "simple", "once")
RESOLUTION = timedelta(microseconds=1)  # `after(now - RESOLUTION)`: a fire time exactly at `now` is due


def recompute_collection(collection: JobCollection, now: datetime) -> None:
    """Start or stop the jobs of a collection whose state has changed."""
    set_next_fire_times(Trigger.objects.filter(job__collection=collection, job__state=Job.State.ENABLED), now)


def set_next_fire_times(triggers: QuerySet, now: datetime) -> None:
    """Set the next fire times of triggers of enabled jobs, or clear them when their collection is stopped."""
    with transaction.atomic():
        recompute_next_fire_times(triggers, now)
        notify_beat()


def recompute_next_fire_times(triggers, now: datetime) -> None:
    locked = list(triggers.select_related("job__collection").select_for_update(of=("self",), no_key=True))
    for trigger in locked:
        set_next_fire_time(trigger, now)
        trigger.save(update_fields=["next_fire_at", "anchored_at", "fires_left"])
    for trigger in locked:
        if trigger.name == MAIN:
            complete_if_exhausted(trigger, now)


def set_next_fire_time(trigger: Trigger, now: datetime) -> None:
    """Set the next fire time as of `now`: none while the trigger, its job or the collection is stopped.

    A trigger goes on with its next time.  The job's own schedule is more lenient: its last run is made up for if that
    was skipped.  In the format of Azure Scheduler, a job's own schedule that has not fired yet counts as created at the
    moment at which it may fire.  So one without a start time runs at once, and a single start time that passed while
    the job was stopped is not lost.
    """
    if not (trigger.job.is_runnable and trigger.enabled):
        trigger.next_fire_at = None
        return
    if trigger.next_fire_at is not None:
        return
    if trigger.name == MAIN and _lost_its_last_run(trigger):
        trigger.next_fire_at = now
        if trigger.fires_left is not None:
            trigger.fires_left += 1
        return
    if trigger.fires_left == 0:
        return
    if trigger.name != MAIN or trigger.format != FORMAT:
        earliest = max(now - RESOLUTION, trigger.previous_fire_at or trigger.anchored_at - RESOLUTION)
        trigger.next_fire_at = trigger.parsed.schedule.after(earliest)
        return
    since = now - RESOLUTION
    if trigger.previous_fire_at is None or trigger.previous_fire_at < trigger.anchored_at:
        trigger.anchored_at = max(now, trigger.anchored_at)  # a changed schedule may begin later, see `first_run`
    else:
        since = max(since, trigger.previous_fire_at)
    try:
        trigger.next_fire_at = trigger.parsed.schedule.after(since)
    except wire.WireError:  # the end of the schedule has passed, so that it is invalid if created now
        trigger.next_fire_at = None


def _lost_its_last_run(trigger: Trigger) -> bool:
    """Return True if the last run was skipped because the job was stopped; always False for one with an end time."""
    places = (trigger.definition, trigger.definition.get("recurrence") or {})
    if trigger.format not in COUNTED_FORMATS or any(place.get("endTime") is not None for place in places):
        return False
    last = _last_run(trigger)
    return last is not None and last.state == Run.State.SKIPPED


def waits_for_open_days(trigger: Trigger, since: datetime) -> bool:
    """Return True if the trigger would fire again after `since` if its calendar had fewer closed days."""
    schedule = trigger.schedule_or_none
    return trigger.fires_left != 0 and schedule is not None and has_closed_rest(schedule, since)


def complete_if_exhausted(trigger: Trigger, now: datetime) -> None:
    """End the job whose own schedule this is, if the job is not stopped and has nothing left to do."""
    job = trigger.job
    if not job.is_runnable or trigger.next_fire_at is not None or job.triggers.exclude(name=MAIN).exists():
        return
    if waits_for_open_days(trigger, now - RESOLUTION):
        return
    if job.runs.filter(state__in=Run.OPEN).exists():
        return
    last = _last_run(trigger)
    has_failed = last is not None and last.state in (Run.State.FAILED, Run.State.LOST)
    finish_jobs([job.pk], Job.State.FAULTED if has_failed else Job.State.COMPLETED, now)


def _last_run(trigger: Trigger) -> Run | None:
    """Return the trigger's final run; None when its schedule is not over."""
    final_runs = trigger.job.runs.filter(trigger_name=trigger.name, is_last=True, fire_at__gte=trigger.anchored_at)
    return final_runs.order_by("-fire_at").first()


def complete_after_last_run(main: Trigger) -> None:
    """Make the job end with its latest open run, if its own schedule is over and it has no other trigger."""
    if main.previous_fire_at is None or main.next_fire_at is not None or main.job.state != Job.State.ENABLED:
        return
    if main.job.triggers.exclude(name=MAIN).exists() or waits_for_open_days(main, main.previous_fire_at):
        return
    last = main.job.runs.filter(state__in=Run.OPEN).order_by("-fire_at", "-priority", "-id").first()
    if last:
        Run.objects.filter(pk=last.pk).update(is_last=True)


def reopen(job: Job) -> None:
    """Clear `is_last` of the job's open runs, so that the job does not end with one of them.

    Call this before the job is locked: runs are locked before jobs, as in `jobs.worker.results`.
    """
    job.runs.filter(is_last=True, state__in=Run.OPEN).update(is_last=False)
