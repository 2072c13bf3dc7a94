"""Create, change and stop jobs together with their triggers.

Every surface uses this module, so that the REST API, the API of the resource manager and the admin obey the same rules.
Each function is one transaction: it does all of its work, or it raises and changes nothing.

Rows are locked in one order, so that two writers never wait for each other: subscription, collection, triggers, job.
A change of closed days locks all collections of its subscription, in the order of their keys, and then the triggers.
A beat that dispatches uses the same order.  The locks leave the rows' keys free (`no_key`), because new runs refer to
these keys.  Several triggers are locked in no order: a writer that waits for triggers holds the lock of their
collection, and a beat takes only triggers that are not locked.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from accounts.models import Subscription
from api.errors import Conflict, Invalid
from jobs import quotas
from jobs.actions import documents
from jobs.encryption import Secrets, UnreadableSecret
from jobs.locking import lock_collection, lock_collections, lock_collections_of, refuse_moved
from jobs.models import Action, Job, JobCollection
from jobs.run_now import run_now
from jobs.warnings import first_expiry
from jobs.worker.overlap import ORGANIZATION, named_lock_key
from recurrence import wire
from triggers import closed_days, first_run, next_fire
from triggers.definitions import (
    JobDefinition,
    TriggerDefinition,
    canonical,
    document_of,
    has_same_rule,
    merge_job_patch,
    split_schedule,
)
from triggers.models import MAIN, Trigger
from triggers.notify import notify_beat
from triggers.plan_limits import recurrence_of, refuse_move, refuse_own_schedule, refuse_trigger
from triggers.schedule_changes import change_common_members, is_same_schedule, set_own_schedule, set_schedule

TRIGGERS_LIMIT = 100  # triggers of a job
LOCK_KEY = "custom_lock_key"  # the member of a trigger's data map that names a lock
LOCK_KEY_LIMIT = 120  # characters
NAMED_KEY_LIMIT = 200  # characters of the stored key, which is built from the member LOCK_KEY
COLLECTION_FIELDS = (  # the fields that callers can change
    *("resource_group", "name", "location", "tags", "sku", "state", "max_job_count", "max_job_occurrence"),
    *("max_recurrence_frequency", "max_recurrence_interval"),
)
JOB_FIELDS = ("collection", "name", "state", "action", "overlap", "delivery")  # the fields that callers can change
TRIGGER_FIELDS = (  # the fields that callers can change
    *("name", "format", "enabled", "priority", "group", "data_map", "misfire", "misfire_threshold"),
)
UNVERSIONED_FIELDS = (
    "next_fire_at",
    "anchored_at",
    "fires_left",
    "definition",
    "closed_days",
)  # a change makes no new version


@dataclass(frozen=True, slots=True)
class Destination:
    """The collection that a job is moved to, and its new name.  None: the job keeps its collection or name."""

    collection: JobCollection | None = None
    name: str | None = None


STAY = Destination()


def save_job(
    collection: JobCollection, name: str, definition: JobDefinition, now: datetime, to: Destination = STAY
) -> tuple[Job, bool]:
    """Create or replace the job called `name`; the second value is True if the job is new.

    The same definition twice leaves one job and gives the same answer.  An unchanged schedule keeps its anchor, its
    fire times and the rest of its count.  A changed one begins at `now`, with its whole count; without a start time it
    does not run at once, see `first_run`.  With `run_now` the job runs once more, unless its schedule is due now.
    An existing job is renamed or moved as `to` says; its runs keep the names that they had when they were created.
    Raises Invalid or WireError for a wrong member, QuotaExceeded, and Conflict when the job has ended or when its new
    name is taken.
    """
    with transaction.atomic():
        # the lock of the collection: only one writer at a time counts its jobs
        collections = lock_collections([collection.pk, (to.collection or collection).pk])
        collection, target = collections[collection.pk], collections[(to.collection or collection).pk]
        job = _current(collection, name)
        if job and job.is_final:
            raise Conflict(f"job {job.name!r} is {job.state}, which is final: delete it to use its name again")
        action = documents.parse(definition.action, job.action if job else None)
        triggers = _locked_triggers(job) if job else {}
        main = triggers.get(MAIN)
        before, main_before = (_job_values(job, main) if job else None), (_trigger_values(main) if main else None)
        schedule_before = (main.format, main.definition) if main else None
        trigger = set_own_schedule(collection, job, main, definition, now)
        if job:
            _locked(job)
            job.collection = collection
            _relocate(job, triggers.values(), target, to.name or job.name)
        quotas.refuse_job(target, action.document, recurrence_of(trigger) if trigger else None)
        if trigger and ((trigger.format, trigger.definition) != schedule_before or target.pk != collection.pk):
            refuse_own_schedule(target, trigger)
        created = job is None
        if job is None:
            quotas.refuse_another_job(collection)
            job = Job(collection=collection, name=name)
            _clean(job, exclude=["action"])
        job.state = definition.state
        job.overlap = definition.overlap or job.overlap
        job.delivery = definition.delivery or job.delivery
        job.action = _action_version(job, action, now)
        if trigger:
            trigger.misfire = definition.misfire or trigger.misfire
        if created:
            job.save()
        elif _job_values(job, trigger) != before:
            job.revision = F("revision") + 1  # F: the end of the job at this moment also increments the revision
            job.save(update_fields=[*JOB_FIELDS, "revision", "updated_at"])  # workers may change the other fields
        if trigger:
            trigger.job = job
            _store_trigger(trigger, main_before)
        elif not created:
            job.triggers.filter(name=MAIN).delete()
        next_fire.recompute_next_fire_times(Trigger.objects.filter(job=job), now)
        job.refresh_from_db(fields=["state", "finished_at", "revision"])
        if definition.run_now:
            _run_also_now(job, now)
        notify_beat()
    return job, created


def patch_job(job: Job, patch: Mapping, now: datetime, to: Destination = STAY, **settings) -> Job:
    """Merge `patch` deeply into the job's document (RFC 7396: null removes, a list is replaced) and save the result.

    The job is renamed or moved as `to` says.
    """

    def merge(job: Job) -> JobDefinition:
        return JobDefinition.of(merge_job_patch(document_of(job), patch), **settings)

    return change_job(job, merge, now, to)


def change_job(job: Job, change: Callable[[Job], JobDefinition], now: datetime, to: Destination = STAY) -> Job:
    """Save the definition that `change` returns for the stored job; the job is renamed or moved as `to` says."""
    with transaction.atomic():
        locked = _lock_both_collections(job, to)  # patches run one after the other, so that none is lost
        job.refresh_from_db()
        refuse_moved(job, locked)
        job.action = Action.objects.defer("secrets").get(pk=job.action_id)
        refuse_ended(job)
        return save_job(job.collection, job.name, change(job), now, to)[0]


def refuse_ended(job: Job) -> None:
    """Raise Conflict when a job has ended."""
    if job.is_final:
        raise Conflict(f"job {job.name!r} is {job.state}, which is final")


def set_job_state(job: Job, state: str, now: datetime) -> Job:
    """Enable or disable `job`.  Raises Conflict when it has ended."""
    with transaction.atomic():
        lock_collection(job.collection_id)
        _locked_triggers(job)
        job = _locked(job)
        if job.state != state:
            job.state = state
            job.revision = F("revision") + 1
            job.save(update_fields=["state", "revision", "updated_at"])
            next_fire.recompute_next_fire_times(Trigger.objects.filter(job=job), now)
            job.refresh_from_db(fields=["state", "finished_at", "revision"])
            notify_beat()
    return job


def save_collection(collection: JobCollection, now: datetime) -> bool:
    """Store a new or changed collection; return True if it is new.  Its jobs start or stop with its state.

    Raises QuotaExceeded when the limits of its plan do not allow the collection or one of its existing jobs, and
    Conflict when the name is taken.
    """
    with transaction.atomic():
        created = collection.pk is None
        stored = None
        _clean(collection)
        Subscription.objects.select_for_update(no_key=True).get(pk=collection.subscription_id)
        quotas.refuse_collection(collection)
        if not created:
            stored = lock_collection(collection.pk)
            refuse_move(collection)
        if stored is None or (stored.resource_group, stored.name) != (collection.resource_group, collection.name):
            _refuse_taken_name(collection)
        if stored is None or any(getattr(stored, name) != getattr(collection, name) for name in COLLECTION_FIELDS):
            collection.revision = stored.revision + 1 if stored else 1
            collection.save()
        next_fire.recompute_collection(collection, now)
    return created


def save_trigger(
    job: Job, name: str, definition: TriggerDefinition, now: datetime, new_name: str | None = None
) -> tuple[Trigger, bool]:
    """Create or replace the additional trigger called `name`; the second value is True if the trigger is new.

    An unchanged schedule keeps its next fire time; a changed one never fires for times before `now`.  A trigger that
    never fires (again) is stored without a next fire time; in the format of a job's own schedule it is refused.
    With `new_name` an existing trigger is renamed; its runs keep the name that they had when they were created.
    Raises Invalid or WireError for a wrong member, QuotaExceeded, and Conflict when the job has ended or when the new
    name is taken.
    """
    with transaction.atomic():
        collection = lock_collection(job.collection_id)
        triggers = _locked_triggers(job)
        trigger = triggers.get(name)
        if created := trigger is None:
            next_fire.reopen(job)
        job = _locked(job)
        if MAIN in (name, new_name):
            raise Invalid(f"must not be {MAIN!r}: that is the schedule in the job itself", path="name")
        if trigger is None:
            if len(triggers) >= TRIGGERS_LIMIT:
                raise Conflict(f"job {job.name!r} may have {TRIGGERS_LIMIT} triggers and does so already")
            trigger = Trigger(job=job, name=name)
        before = None if created else _trigger_values(trigger)
        job.collection = collection
        trigger.job = job
        if new_name not in (None, name):
            _rename_trigger(trigger, new_name, triggers)
        if not is_same_schedule(trigger, definition):
            schedule = definition.format, definition.definition
            days_id = closed_days.current_version_id(collection.subscription_id, definition.definition)
            if not created and has_same_rule(trigger, *schedule):
                change_common_members(trigger, definition.definition, now, days_id)
            else:
                anchor = None if created else first_run.anchor_of_change(trigger, *schedule, now, days_id)
                set_schedule(trigger, *schedule, now, days_id, anchor)
            refuse_trigger(collection, trigger, "definition")
        elif definition.enabled and not trigger.enabled:
            trigger.next_fire_at = None
        trigger.definition = dict(definition.definition)
        for setting in ("enabled", "priority", "group", "misfire", "misfire_threshold"):
            setattr(trigger, setting, getattr(definition, setting))
        trigger.data_map = dict(definition.data_map)
        trigger.lock_key = _lock_key(trigger, collection)
        _clean(trigger, exclude=["job"])
        next_fire.set_next_fire_time(trigger, now)
        _store_trigger(trigger, before)
        notify_beat()
    return trigger, created


def change_trigger(
    trigger: Trigger, change: Callable[[TriggerDefinition], TriggerDefinition], now: datetime
) -> Trigger:
    """Apply `change` to the stored definition of the trigger, and save the result.

    Its collection stays locked in between.  Raises what `save_trigger` raises, and DoesNotExist when the trigger is
    gone.
    """
    with transaction.atomic():
        lock_collection(trigger.job.collection_id)
        trigger = Trigger.objects.select_related("job").get(pk=trigger.pk)
        return save_trigger(trigger.job, trigger.name, change(TriggerDefinition.stored(trigger)), now)[0]


def change_definition(trigger: Trigger, change: Callable[[Mapping], Mapping], now: datetime) -> None:
    """Replace the stored definition of a trigger, also of a job's own schedule, by what `change` returns for it.

    Raises what `change`, `save_trigger` and `save_job` raise.
    """

    def of_trigger(stored: TriggerDefinition) -> TriggerDefinition:
        return replace(stored, definition=canonical(stored.format, change(stored.definition)))

    def of_job(job: Job) -> JobDefinition:
        document = document_of(job)
        format, definition = split_schedule(document["schedule"])
        return JobDefinition.of({**document, "schedule": {"format": format, **change(definition)}})

    if trigger.name == MAIN:
        change_job(trigger.job, of_job, now)
    else:
        change_trigger(trigger, of_trigger, now)


def load_secrets(action: Action) -> Action:
    """Return the action with its secrets.

    Secrets that no key can decrypt count as absent, so that callers can write them again.
    """
    try:
        action.refresh_from_db(fields=["secrets"])
    except UnreadableSecret:
        action.secrets = Secrets()
    return action


def delete_trigger(trigger: Trigger, now: datetime) -> None:
    """Delete an additional trigger; its runs stay as they are.

    A job whose own schedule is over ends now, or with the last of its open runs.
    """
    with transaction.atomic():
        lock_collections_of([trigger.job])
        if trigger.name == MAIN:
            raise Conflict("this is the schedule in the job itself: change the job to be without it")
        _locked_triggers(trigger.job)
        Trigger.objects.filter(pk=trigger.pk).delete()
        for main in Trigger.objects.filter(job=trigger.job_id, name=MAIN).select_related("job__collection"):
            next_fire.complete_after_last_run(main)
            next_fire.complete_if_exhausted(main, now)


@contextmanager
def locked_for_write(subscription_id: uuid.UUID) -> Iterator[None]:
    """Lock the subscription, so that values read in the block are still true when they are saved.

    Only one writer at a time changes the collections of a subscription.
    """
    with transaction.atomic():
        Subscription.objects.select_for_update(no_key=True).get(pk=subscription_id)
        yield


@contextmanager
def locked_job(job: Job, to: Destination = STAY) -> Iterator[Job]:
    """Open a transaction in which nobody else writes the job; yield the job as it is stored now.

    Raises Conflict while its collection, or the one that it is moved to, is being deleted, and when the job was moved
    in the meantime.  Raises DoesNotExist when the job is gone.
    """
    with transaction.atomic():
        locked = _lock_both_collections(job, to)
        job = Job.objects.select_related("collection").get(pk=job.pk)
        refuse_moved(job, locked)
        yield job


def _lock_both_collections(job: Job, to: Destination) -> dict[int, JobCollection]:
    """Lock the collection of a job and the one that it is moved to.

    The caller must refuse a job that was moved in the meantime.
    """
    return lock_collections([job.collection_id, to.collection.pk if to.collection else job.collection_id])


def _locked_triggers(job: Job) -> dict[str, Trigger]:
    """Lock all triggers of the job and return them by name.

    If a beat is dispatching one of them, wait until its transaction ends.
    """
    return {each.name: each for each in Trigger.objects.filter(job=job).select_for_update(no_key=True)}


def _locked(job: Job) -> Job:
    """Lock the job and return its stored row; not even the end of its last run can change the row then.

    Lock runs before the job.  Raises Conflict when the job has ended, and when it is in another collection than the one
    that was locked for `job`.
    """
    locked_collections = [job.collection_id]
    job = Job.objects.select_related("collection").select_for_update(of=("self",), no_key=True).get(pk=job.pk)
    refuse_moved(job, locked_collections)
    refuse_ended(job)
    return job


def _current(collection: JobCollection, name: str) -> Job | None:
    """Return the stored job with its action and secrets, or None."""
    job = Job.objects.named(collection, name).select_related("action").defer("action__secrets").first()
    if job:
        load_secrets(job.action)
    return job


def _lock_key(trigger: Trigger, collection: JobCollection) -> str | None:
    """Return the key of the lock that the data map names, or None.  Raises Invalid unless the name is a short text."""
    key = trigger.data_map.get(LOCK_KEY)
    if key in (None, ""):
        return None
    if not isinstance(key, str) or len(key) > LOCK_KEY_LIMIT or not key.isprintable():
        message = f"must be a text of at most {LOCK_KEY_LIMIT} printable characters"
        raise Invalid(message, path=f"triggerDataMap.{LOCK_KEY}")
    named = named_lock_key(key, collection.subscription_id)
    if len(named) > NAMED_KEY_LIMIT:
        raise Invalid(f"is too long once {ORGANIZATION} is replaced", path=f"triggerDataMap.{LOCK_KEY}")
    return named


def _run_also_now(job: Job, now: datetime) -> None:
    """Start a run by hand, unless the job's own schedule is due now.  Raises Conflict for a job that may not run."""
    if job.triggers.filter(name=MAIN, next_fire_at__lte=now).exists():
        return
    try:
        run_now(job, now)
    except Conflict as error:
        error.path = "runNow"
        raise


def _job_values(job: Job, main: Trigger | None) -> tuple:
    """Return the values of a job that callers can change, for comparison."""
    return (
        *(job.collection_id, job.name, job.state, job.overlap, job.delivery, job.action_id),
        main and (main.format, main.definition, main.misfire),
    )


def _trigger_values(trigger: Trigger) -> tuple:
    """Return the values of a trigger that callers can change, for comparison; the schedule in canonical form."""
    try:
        definition = canonical(trigger.format, trigger.definition)
    except wire.WireError:  # the stored document dates from a different parser
        definition = trigger.definition
    return definition, *(getattr(trigger, name) for name in TRIGGER_FIELDS)


def _store_trigger(trigger: Trigger, before: tuple | None) -> None:
    """Save a trigger whose values were `before` (None: it is new); a write without changes makes no new version."""
    trigger.save(update_fields=UNVERSIONED_FIELDS if _trigger_values(trigger) == before else None)


def _action_version(job: Job, parsed: documents.ParsedAction, now: datetime) -> Action:
    """Return the job's current action if it is unchanged, else a new version.

    In a new version unchanged secrets keep the date at which they were set.
    """
    set_at = dict.fromkeys(parsed.secrets, f"{now:%Y-%m-%dT%H:%M:%SZ}")
    if job.pk:
        current = job.action
        if (current.document, current.secrets) == (parsed.document, parsed.secrets):
            return current
        unchanged = [path for path, text in parsed.secrets.items() if current.secrets.get(path) == text]
        set_at.update({path: current.secrets_set_at[path] for path in unchanged if path in current.secrets_set_at})
    return Action.objects.create(
        document=parsed.document,
        secrets=parsed.secrets,
        secrets_set_at=set_at,
        certificate_expires_at=first_expiry(parsed.document),
    )


def _relocate(job: Job, triggers: Iterable[Trigger], target: JobCollection, name: str) -> None:
    """Move the job to another collection or rename it; the job and both collections are locked.

    The caller checks the job's own schedule and its action against the plan of the collection; this function checks
    the additional triggers.
    """
    if (target.pk, name) == (job.collection_id, job.name):
        return
    if target.subscription_id != job.collection.subscription_id:
        raise Invalid("must be a collection of the job's subscription", path="collection")
    if Job.objects.named(target, name).exclude(pk=job.pk).exists():
        raise Conflict(f"there is a job {name!r} in collection {target.name!r} already", path="name")
    if target.pk != job.collection_id:
        quotas.refuse_another_job(target)
        for trigger in triggers:
            if trigger.name != MAIN:
                refuse_trigger(target, trigger, "collection")
    job.collection, job.name = target, name
    _clean(job, exclude=["action"])


def _rename_trigger(trigger: Trigger, name: str, triggers: Mapping[str, Trigger]) -> None:
    if name in triggers:
        raise Conflict(f"job {trigger.job.name!r} has a trigger {name!r} already", path="name")
    # a trigger name and a fire time identify one run
    if trigger.next_fire_at and trigger.job.runs.filter(trigger_name=name, fire_at__gte=trigger.next_fire_at).exists():
        message = f"a former trigger {name!r} has fired when this one is due; try again once this one has fired"
        raise Conflict(message, path="name")
    trigger.name = name


def _refuse_taken_name(collection: JobCollection) -> None:
    others = JobCollection.objects.exclude(pk=collection.pk)
    if others.named(collection.subscription_id, collection.resource_group, collection.name).exists():
        raise Conflict(f"there is a collection {collection.name!r} already", path="name")


def _clean(row, exclude: Sequence[str] = ()) -> None:
    """Check the fields of a row.  Raises Invalid for the first wrong field."""
    try:
        row.clean_fields(exclude=set(exclude))
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise Invalid(messages[0], path=field) from None
