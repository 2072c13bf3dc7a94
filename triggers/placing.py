"""When triggers fire next, or that they do not; and when a job ends, since none of them has anything left for it.

All of it is done by whoever has locked the job's collection, and its triggers before the job.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from jobs.finishing import finish_jobs
from jobs.models import Job, JobCollection, Run
from recurrence import wire
from triggers.models import MAIN, Trigger
from triggers.wake import wake_beat

RESOLUTION = timedelta(microseconds=1)  # `after(now - RESOLUTION)`: a fire time exactly at `now` is due


def place_collection(collection: JobCollection, now: datetime) -> None:
    """Start or stop the jobs of a collection whose state has changed."""
    place(Trigger.objects.filter(job__collection=collection, job__state=Job.State.ENABLED), now)


def place(triggers: QuerySet, now: datetime) -> None:
    """Give triggers of enabled jobs their next fire times, or none, as the state of their collection has it."""
    with transaction.atomic():
        place_all(triggers, now)
        wake_beat()


def place_all(triggers, now: datetime) -> None:
    placed = list(triggers.select_related("job__collection").select_for_update(of=("self",), no_key=True))
    for trigger in placed:
        place_one(trigger, now)
        trigger.save(update_fields=["next_fire_at", "anchored_at", "fires_left"])
    for trigger in placed:
        if trigger.name == MAIN:
            complete_if_spent(trigger, now)


def place_one(trigger: Trigger, now: datetime) -> None:
    """Set the next fire time as of `now`: none while the trigger, its job or the collection is stopped.

    A trigger beside the job's own schedule goes on with its next time.  The job's own is more lenient, as the original:
    a schedule that has not fired yet counts as created at the moment it is allowed to, so that one without a start time
    runs at once, and a one-time start that came while the job was stopped is not lost.
    """
    job = trigger.job
    is_stopped = job.state != Job.State.ENABLED or job.collection.state != JobCollection.State.ENABLED
    if is_stopped or not trigger.enabled:
        trigger.next_fire_at = None
        return
    if trigger.next_fire_at is not None:
        return
    if trigger.name != MAIN:
        earliest = max(now - RESOLUTION, trigger.previous_fire_at or trigger.anchored_at - RESOLUTION)
        trigger.next_fire_at = None if trigger.fires_left == 0 else trigger.parsed.schedule.after(earliest)
        return
    if _lost_its_last_run(trigger):
        trigger.next_fire_at = now
        if trigger.fires_left is not None:
            trigger.fires_left += 1
        return
    if trigger.fires_left == 0:
        return
    since = now - RESOLUTION
    if trigger.previous_fire_at is None or trigger.previous_fire_at < trigger.anchored_at:
        trigger.anchored_at = now
    else:
        since = max(since, trigger.previous_fire_at)
    try:
        trigger.next_fire_at = trigger.parsed.schedule.after(since)
    except wire.WireError:  # created now, it would be refused: its end has passed
        trigger.next_fire_at = None


def _lost_its_last_run(trigger: Trigger) -> bool:
    """Was the last run skipped because the job was stopped?  A schedule with an end time does without it."""
    if (trigger.definition.get("recurrence") or {}).get("endTime") is not None:
        return False
    last = _last_run(trigger)
    return last is not None and last.state == Run.State.SKIPPED


def complete_if_spent(trigger: Trigger, now: datetime) -> None:
    """End the job whose own schedule this is, if it was allowed to run and has nothing left to do."""
    job = trigger.job
    stopped = job.state != Job.State.ENABLED or job.collection.state != JobCollection.State.ENABLED
    if stopped or trigger.next_fire_at is not None or job.triggers.exclude(name=MAIN).exists():
        return
    if job.runs.filter(state__in=Run.OPEN).exists():
        return
    last = _last_run(trigger)
    has_failed = last is not None and last.state in (Run.State.FAILED, Run.State.LOST)
    finish_jobs([job.pk], Job.State.FAULTED if has_failed else Job.State.COMPLETED, now)


def _last_run(trigger: Trigger) -> Run | None:
    """The run after which the trigger has nothing further, if it has come to that."""
    ending = trigger.job.runs.filter(trigger_name=trigger.name, is_last=True, fire_at__gte=trigger.anchored_at)
    return ending.order_by("-fire_at").first()


def end_with_last_run(main: Trigger) -> None:
    """Let the job end with the latest of its open runs, if its own schedule is over and no other trigger is left."""
    if main.previous_fire_at is None or main.next_fire_at is not None or main.job.state != Job.State.ENABLED:
        return
    if main.job.triggers.exclude(name=MAIN).exists():
        return
    last = main.job.runs.filter(state__in=Run.OPEN).order_by("-fire_at", "-priority", "-id").first()
    if last:
        Run.objects.filter(pk=last.pk).update(is_last=True)


def go_on(job: Job) -> None:
    """Let the job not end with the run that was to be its last.  Comes before the job is locked, as in recording."""
    job.runs.filter(is_last=True, state__in=Run.OPEN).update(is_last=False)
