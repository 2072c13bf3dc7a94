"""Create, change, stop and delete jobs together with their triggers: the one place where what meets when.

Every surface comes here, so that REST, the resource manager's form and the admin obey the same rules.  Each function
is one transaction: it is done whole, or it raises and nothing was changed.

Rows are locked in one order, lest two of us wait for each other: subscription, collection, triggers, job.  A beat that
dispatches keeps to it too, and the locks leave the rows' keys free (`no_key`), which its new runs refer to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from jobs import quotas
from jobs.actions import documents
from jobs.cautions import first_expiry
from jobs.encryption import Secrets, UnreadableSecret
from jobs.errors import Conflict, Invalid
from jobs.models import Action, Job, JobCollection, Run
from recurrence import wire
from triggers.models import Trigger
from triggers.wake import wake_beat

FORMAT = "azure"
RESOLUTION = timedelta(microseconds=1)  # `after(now - RESOLUTION)`: a fire time exactly at `now` is due
SCHEDULE_MEMBERS = ("startTime", "recurrence")
DELETE_TRIES = 5
SETTABLE_STATES = (Job.State.ENABLED, Job.State.DISABLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """A job as its caller describes it, both what and when.  None leaves a setting as it is, or at its default."""

    action: object = field(repr=False)  # its secrets are in it
    schedule: Mapping
    state: str = Job.State.ENABLED
    overlap: str | None = None
    delivery: str | None = None
    misfire: str | None = None

    @classmethod
    def of(cls, document: Mapping, **settings) -> "JobDefinition":
        """Take a wire document with the members `action`, `startTime`, `recurrence` and `state`.

        Raises Invalid for a state that a caller cannot set.
        """
        return cls(
            action=document.get("action"),
            schedule={name: document[name] for name in SCHEDULE_MEMBERS if document.get(name) is not None},
            state=settable_state(document.get("state")),
            **settings,
        )


def settable_state(value: object) -> str:
    if value is None:
        return Job.State.ENABLED
    if not isinstance(value, str) or value.lower() not in SETTABLE_STATES:
        raise Invalid(f"must be Enabled or Disabled, not {str(value)[:200]!r}", path="state", code="unknown_value")
    return Job.State(value.lower())


def document_of(job: Job) -> dict:
    """The job's document as `JobDefinition.of` takes it.  Secrets are absent, which keeps them when it is saved."""
    return {**job.triggers.get().definition, "action": documents.render(job.action), "state": job.state}


def save_job(collection: JobCollection, name: str, definition: JobDefinition, now: datetime) -> tuple[Job, bool]:
    """Create or replace the job called `name`; the second value tells whether it is new.

    The same definition twice leaves one job and one answer: a schedule that is not changed keeps its anchor, its fire
    times and what is left of its count.  A changed one begins at `now`, with its whole count.
    Raises Invalid or WireError for a wrong member, QuotaExceeded, and Conflict when the job has ended.
    """
    with transaction.atomic():
        collection = JobCollection.objects.select_for_update(no_key=True).get(
            pk=collection.pk
        )  # one writer counts its jobs
        job = _as_it_is(collection, name)
        if job and job.is_final:
            raise Conflict(f"job {job.name!r} is {job.state}, which is final: delete it to use its name again")
        action = documents.parse(definition.action, job.action if job else None)
        trigger = _trigger_for(job, definition, now)
        quotas.refuse_job(collection, action.document, definition.schedule.get("recurrence"))
        created = job is None
        if job is None:
            quotas.refuse_another_job(collection)
            job = Job(collection=collection, name=name)
            _clean(job, exclude=["action"])
        else:
            job.revision += 1
        job.collection = collection
        job.state = definition.state
        job.overlap = definition.overlap or job.overlap
        job.delivery = definition.delivery or job.delivery
        job.action = _version(job, action, now)
        job.save()
        trigger.job = job
        trigger.misfire = definition.misfire or trigger.misfire
        _place(trigger, now)
        trigger.save()
        _complete_if_spent(trigger, now)
        wake_beat()
    return job, created


def patch_job(job: Job, patch: Mapping, now: datetime, **settings) -> Job:
    """Merge `patch` deeply into the job's document (RFC 7396: null removes, a list is replaced) and save that."""
    with transaction.atomic():
        JobCollection.objects.select_for_update(no_key=True).get(
            pk=job.collection_id
        )  # one at a time: none undoes another
        job.refresh_from_db()
        job.action = Action.objects.defer("secrets").get(pk=job.action_id)
        if job.is_final:
            raise Conflict(f"job {job.name!r} is {job.state}, which is final")
        definition = JobDefinition.of(merged(document_of(job), patch), **settings)
        return save_job(job.collection, job.name, definition, now)[0]


def merged(document: object, patch: Mapping) -> dict:
    """The document with `patch` merged into it, as RFC 7396 has it; the values given are left as they are."""
    result = dict(document) if isinstance(document, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value) if isinstance(value, Mapping) else value
    return result


def set_job_state(job: Job, state: str, now: datetime) -> Job:
    """Enable or disable `job`.  Raises Conflict when it has ended."""
    with transaction.atomic():
        JobCollection.objects.select_for_update(no_key=True).get(pk=job.collection_id)
        triggers = Trigger.objects.filter(job=job)
        list(triggers.select_for_update(no_key=True).values_list("pk"))
        job = Job.objects.select_related("collection").get(pk=job.pk)
        if job.is_final:
            raise Conflict(f"job {job.name!r} is {job.state}, which is final")
        if job.state != state:
            job.state = state
            job.revision += 1
            job.save(update_fields=["state", "revision", "updated_at"])
            _place_all(triggers, now)
            job.refresh_from_db(fields=["state", "finished_at"])
            wake_beat()
    return job


def save_collection(collection: JobCollection, now: datetime) -> bool:
    """Store a new or changed collection; answer whether it is new.  Its jobs start or stop with its state.

    Raises QuotaExceeded when its plan has no room for it or for the jobs that it already has.
    """
    with transaction.atomic():
        created = collection.pk is None
        _clean(collection)
        type(collection.subscription).objects.select_for_update(no_key=True).get(pk=collection.subscription_id)
        quotas.refuse_collection(collection)
        if not created:
            _refuse_move(collection)
        collection.save()
        _place_all(Trigger.objects.filter(job__collection=collection, job__state=Job.State.ENABLED), now)
        wake_beat()
    return created


def delete_job(job: Job, now: datetime) -> None:
    """Delete `job`; its history stays for the retention time, what still waits is cancelled."""
    _delete(Job.objects.filter(pk=job.pk), Run.objects.filter(job=job.pk), "the job was deleted", now)


def delete_collection(collection: JobCollection, now: datetime) -> None:
    """Delete `collection` with all of its jobs, as `delete_job` does."""
    runs = Run.objects.filter(job__collection=collection.pk)
    _delete(JobCollection.objects.filter(pk=collection.pk), runs, "the collection was deleted", now)


def _as_it_is(collection: JobCollection, name: str) -> Job | None:
    """The job with its action; secrets that no key opens count as absent, so that they can be written anew."""
    job = Job.objects.named(collection, name).select_related("action").defer("action__secrets").first()
    if job:
        try:
            job.action.refresh_from_db(fields=["secrets"])
        except UnreadableSecret:
            job.action.secrets = Secrets()
    return job


def _trigger_for(job: Job | None, definition: JobDefinition, now: datetime) -> Trigger:
    """The job's trigger with the definition's schedule, which is checked when it is new or changed."""
    # locked, so that a beat which dispatches it at this moment is not overwritten
    trigger = job.triggers.select_for_update(no_key=True).get() if job else Trigger(format=FORMAT)
    if job and trigger.definition == definition.schedule:
        return trigger
    parsed = wire.parse(FORMAT, definition.schedule, now)
    wire.refuse_unreachable(parsed, now)
    trigger.definition = dict(definition.schedule)
    trigger.anchored_at = now
    trigger.fires_left = parsed.count
    trigger.next_fire_at = None
    if job:
        job.runs.filter(is_last=True, state__in=Run.OPEN).update(is_last=False)  # the job does not end with them now
    return trigger


def _version(job: Job, parsed: documents.ParsedAction, now: datetime) -> Action:
    """The job's current action when it says the same, else a new version, in which what is kept keeps its date."""
    set_at = dict.fromkeys(parsed.secrets, f"{now:%Y-%m-%dT%H:%M:%SZ}")
    if job.pk:
        current = job.action
        if (current.document, current.secrets) == (parsed.document, parsed.secrets):
            return current
        kept = [path for path, text in parsed.secrets.items() if current.secrets.get(path) == text]
        set_at.update({path: current.secrets_set_at[path] for path in kept if path in current.secrets_set_at})
    return Action.objects.create(
        document=parsed.document,
        secrets=parsed.secrets,
        secrets_set_at=set_at,
        certificate_expires_at=first_expiry(parsed.document),
    )


def _place(trigger: Trigger, now: datetime) -> None:
    """Set the next fire time as of `now`: none while the job or its collection is stopped.

    A schedule that has not fired yet counts as created at the moment it is allowed to: one without a start time runs
    at once, and a one-time start that came while the job was stopped is not lost.
    """
    job = trigger.job
    if job.state != Job.State.ENABLED or job.collection.state != JobCollection.State.ENABLED:
        trigger.next_fire_at = None
        return
    if trigger.next_fire_at is not None:
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


def _place_all(triggers, now: datetime) -> None:
    for trigger in triggers.select_related("job__collection").select_for_update(of=("self",), no_key=True):
        _place(trigger, now)
        trigger.save(update_fields=["next_fire_at", "anchored_at", "fires_left"])
        _complete_if_spent(trigger, now)


def _complete_if_spent(trigger: Trigger, now: datetime) -> None:
    """End a job that was allowed to run and has nothing left to do."""
    job = trigger.job
    stopped = job.state != Job.State.ENABLED or job.collection.state != JobCollection.State.ENABLED
    if stopped or trigger.next_fire_at is not None or job.runs.filter(state__in=Run.OPEN).exists():
        return
    last = _last_run(trigger)
    has_failed = last is not None and last.state in (Run.State.FAILED, Run.State.LOST)
    job.state = Job.State.FAULTED if has_failed else Job.State.COMPLETED
    job.finished_at = now
    job.save(update_fields=["state", "finished_at"])


def _last_run(trigger: Trigger) -> Run | None:
    """The run after which the trigger has nothing further, if it has come to that."""
    ending = trigger.job.runs.filter(trigger_name=trigger.name, is_last=True, fire_at__gte=trigger.anchored_at)
    return ending.order_by("-fire_at").first()


def _lost_its_last_run(trigger: Trigger) -> bool:
    """Was the last run skipped because the job was stopped?  A schedule with an end time does without it."""
    if (trigger.definition.get("recurrence") or {}).get("endTime") is not None:
        return False
    last = _last_run(trigger)
    return last is not None and last.state == Run.State.SKIPPED


def _clean(row, exclude: Sequence[str] = ()) -> None:
    """Check a row's own fields.  Raises Invalid for the first wrong one."""
    try:
        row.clean_fields(exclude=set(exclude))
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Invalid(messages[0], path=field) from None


def _refuse_move(collection: JobCollection) -> None:
    """Raise QuotaExceeded when a job of the collection does not fit its plan any more."""
    if JobCollection.objects.filter(pk=collection.pk, sku=collection.sku).exists():
        return
    quotas.refuse_move(collection)
    for trigger in Trigger.objects.filter(job__collection=collection).select_related("job__action"):
        quotas.refuse_job(collection, trigger.job.action.document, trigger.definition.get("recurrence"))


def _delete(rows: QuerySet, runs: QuerySet, reason: str, now: datetime) -> None:
    """Delete `rows`, whose `runs` lose them.  One that is made meanwhile keeps them from going: then once more."""
    for further_tries in reversed(range(DELETE_TRIES)):
        try:
            with transaction.atomic():
                waiting = runs.filter(state__in=Run.PENDING)
                waiting.update(state=Run.State.CANCELLED, reason=reason, finished_at=now)
                rows.delete()
                if connection.vendor == "postgresql":
                    connection.check_constraints()  # here, and not at the end of a transaction around this one
            return
        except IntegrityError:
            if not further_tries:
                raise
