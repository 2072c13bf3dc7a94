"""Create, change and stop jobs together with their triggers: the one place where what meets when.

Every surface comes here, so that REST, the resource manager's form and the admin obey the same rules.  Each function
is one transaction: it is done whole, or it raises and nothing was changed.

Rows are locked in one order, lest two of us wait for each other: subscription, collection, triggers, job.  A beat that
dispatches keeps to it too, and the locks leave the rows' keys free (`no_key`), which its new runs refer to.  Several
triggers are locked in no order: who waits for them has their collection, and a beat takes only those that are free.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from accounts.models import Subscription
from jobs import quotas
from jobs.actions import documents
from jobs.cautions import first_expiry
from jobs.encryption import Secrets, UnreadableSecret
from jobs.errors import Conflict, Invalid
from jobs.locking import lock_collection
from jobs.models import Action, Job, JobCollection
from jobs.overlap import ORGANIZATION, named_lock_key
from recurrence import wire
from triggers import placing
from triggers.definitions import JobDefinition, TriggerDefinition, document_of, merged
from triggers.models import MAIN, Trigger
from triggers.wake import wake_beat

FORMAT = "azure"
TRIGGERS_LIMIT = 100  # of a job
FIRES_CHECKED = 100  # fire times of a new schedule that are held against the collection's quota
LOCK_KEY = "custom_lock_key"  # the member of a trigger's data map that names a lock
LOCK_KEY_LIMIT = 120  # characters
NAMED_KEY_LIMIT = 200  # characters of what is made of it
COLLECTION_FIELDS = (  # that its writers can change
    *("location", "tags", "sku", "state", "max_job_count", "max_job_occurrence"),
    *("max_recurrence_frequency", "max_recurrence_interval"),
)


def save_job(collection: JobCollection, name: str, definition: JobDefinition, now: datetime) -> tuple[Job, bool]:
    """Create or replace the job called `name`; the second value tells whether it is new.

    The same definition twice leaves one job and one answer: a schedule that is not changed keeps its anchor, its fire
    times and what is left of its count.  A changed one begins at `now`, with its whole count.
    Raises Invalid or WireError for a wrong member, QuotaExceeded, and Conflict when the job has ended.
    """
    with transaction.atomic():
        collection = lock_collection(collection.pk)  # one writer counts its jobs
        job = _as_it_is(collection, name)
        if job and job.is_final:
            raise Conflict(f"job {job.name!r} is {job.state}, which is final: delete it to use its name again")
        action = documents.parse(definition.action, job.action if job else None)
        main = _locked_triggers(job).get(MAIN) if job else None
        before = _written(job, main) if job else None
        trigger = _trigger_for(job, main, definition, now)
        if job:
            _locked(job)
        quotas.refuse_job(collection, action.document, (definition.schedule or {}).get("recurrence"))
        created = job is None
        if job is None:
            quotas.refuse_another_job(collection)
            job = Job(collection=collection, name=name)
            _clean(job, exclude=["action"])
        job.collection = collection
        job.state = definition.state
        job.overlap = definition.overlap or job.overlap
        job.delivery = definition.delivery or job.delivery
        job.action = _version(job, action, now)
        if trigger:
            trigger.misfire = definition.misfire or trigger.misfire
        if created:
            job.save()
        elif _written(job, trigger) != before:
            job.revision = F("revision") + 1  # it may end at this moment, which counts as well
            job.save()
        if trigger:
            trigger.job = job
            trigger.save()
        elif not created:
            job.triggers.filter(name=MAIN).delete()
        placing.place_all(Trigger.objects.filter(job=job), now)
        job.refresh_from_db(fields=["state", "finished_at", "revision"])
        wake_beat()
    return job, created


def patch_job(job: Job, patch: Mapping, now: datetime, **settings) -> Job:
    """Merge `patch` deeply into the job's document (RFC 7396: null removes, a list is replaced) and save that."""
    with transaction.atomic():
        lock_collection(job.collection_id)  # one at a time: none undoes another
        job.refresh_from_db()
        job.action = Action.objects.defer("secrets").get(pk=job.action_id)
        if job.is_final:
            raise Conflict(f"job {job.name!r} is {job.state}, which is final")
        definition = JobDefinition.of(merged(document_of(job), patch), **settings)
        return save_job(job.collection, job.name, definition, now)[0]


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
            placing.place_all(Trigger.objects.filter(job=job), now)
            job.refresh_from_db(fields=["state", "finished_at", "revision"])
            wake_beat()
    return job


def save_collection(collection: JobCollection, now: datetime) -> bool:
    """Store a new or changed collection; answer whether it is new.  Its jobs start or stop with its state.

    Raises QuotaExceeded when its plan has no room for it or for the jobs that it already has.
    """
    with transaction.atomic():
        created = collection.pk is None
        stored = None
        _clean(collection)
        Subscription.objects.select_for_update(no_key=True).get(pk=collection.subscription_id)
        quotas.refuse_collection(collection)
        if not created:
            stored = lock_collection(collection.pk)
            _refuse_move(collection)
        if stored is None or any(getattr(stored, name) != getattr(collection, name) for name in COLLECTION_FIELDS):
            collection.revision = stored.revision + 1 if stored else 1
            collection.save()
        placing.place_collection(collection, now)
    return created


def save_trigger(job: Job, name: str, definition: TriggerDefinition, now: datetime) -> tuple[Trigger, bool]:
    """Create or replace the trigger called `name` beside the job's own schedule; the second value: is it new?

    What is not changed keeps its place; a changed schedule never fires for times before `now`.  One that never fires
    (again) is kept all the same, without a next fire time, unless its format is the job's own.
    Raises Invalid or WireError for a wrong member, QuotaExceeded, and Conflict when the job has ended.
    """
    with transaction.atomic():
        collection = lock_collection(job.collection_id)
        triggers = _locked_triggers(job)
        trigger = triggers.get(name)
        if created := trigger is None:
            placing.go_on(job)
        job = _locked(job)
        if name == MAIN:
            raise Invalid(f"must not be {MAIN!r}: that is the schedule in the job itself", path="name")
        if trigger is None:
            if len(triggers) >= TRIGGERS_LIMIT:
                raise Conflict(f"job {job.name!r} may have {TRIGGERS_LIMIT} triggers and does so already")
            trigger = Trigger(job=job, name=name)
        job.collection = collection
        trigger.job = job
        if not _says_the_same(trigger, definition):
            _set_schedule(trigger, definition.format, definition.definition, now)
            quotas.refuse_fires(collection, islice(_fires(trigger, now), FIRES_CHECKED), "definition")
        elif definition.enabled and not trigger.enabled:
            trigger.next_fire_at = None
        trigger.definition = dict(definition.definition)
        for setting in ("enabled", "priority", "group", "misfire", "misfire_threshold"):
            setattr(trigger, setting, getattr(definition, setting))
        trigger.data_map = dict(definition.data_map)
        trigger.lock_key = _lock_key(trigger, collection)
        _clean(trigger, exclude=["job"])
        placing.place_one(trigger, now)
        trigger.save()
        wake_beat()
    return trigger, created


def change_trigger(
    trigger: Trigger, change: Callable[[TriggerDefinition], TriggerDefinition], now: datetime
) -> Trigger:
    """Save what `change` makes of the trigger as it is stored by then: nobody else writes it in between.

    Raises what `save_trigger` raises, and DoesNotExist when it is gone.
    """
    with transaction.atomic():
        lock_collection(trigger.job.collection_id)
        trigger = Trigger.objects.select_related("job").get(pk=trigger.pk)
        return save_trigger(trigger.job, trigger.name, change(TriggerDefinition.stored(trigger)), now)[0]


def delete_trigger(trigger: Trigger, now: datetime) -> None:
    """Delete a trigger beside its job's own schedule; runs that it has made stay as they are.

    A job whose own schedule is over ends with it, or with the last of its runs that are still open.
    """
    with transaction.atomic():
        lock_collection(trigger.job.collection_id)
        if trigger.name == MAIN:
            raise Conflict("this is the schedule in the job itself: change the job to be without it")
        _locked_triggers(trigger.job)
        Trigger.objects.filter(pk=trigger.pk).delete()
        for main in Trigger.objects.filter(job=trigger.job_id, name=MAIN).select_related("job__collection"):
            placing.end_with_last_run(main)
            placing.complete_if_spent(main, now)


@contextmanager
def writing_to(subscription_id: uuid.UUID) -> Iterator[None]:
    """One writer of a subscription's collections at a time: what is read within is still so when it is saved."""
    with transaction.atomic():
        Subscription.objects.select_for_update(no_key=True).get(pk=subscription_id)
        yield


@contextmanager
def writing(job: Job) -> Iterator[Job]:
    """One transaction in which nobody else writes the job; what is yielded is as it is by now.

    Raises Conflict while its collection is being deleted, and DoesNotExist when it is gone.
    """
    with transaction.atomic():
        lock_collection(job.collection_id)
        yield Job.objects.select_related("collection").get(pk=job.pk)


def _locked_triggers(job: Job) -> dict[str, Trigger]:
    """All by name, as they are once a beat that dispatches one of them at this moment has done so."""
    return {each.name: each for each in Trigger.objects.filter(job=job).select_for_update(no_key=True)}


def _locked(job: Job) -> Job:
    """The job as it is by now, which stays so: not even the end of its last run ends it.  Comes after its runs.

    Raises Conflict when it has ended.
    """
    job = Job.objects.select_related("collection").select_for_update(of=("self",), no_key=True).get(pk=job.pk)
    if job.is_final:
        raise Conflict(f"job {job.name!r} is {job.state}, which is final")
    return job


def _as_it_is(collection: JobCollection, name: str) -> Job | None:
    """The job with its action; secrets that no key opens count as absent, so that they can be written anew."""
    job = Job.objects.named(collection, name).select_related("action").defer("action__secrets").first()
    if job:
        try:
            job.action.refresh_from_db(fields=["secrets"])
        except UnreadableSecret:
            job.action.secrets = Secrets()
    return job


def _lock_key(trigger: Trigger, collection: JobCollection) -> str | None:
    """Raises Invalid unless the key that the data map names, if any, is a short text."""
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


def _says_the_same(trigger: Trigger, definition: TriggerDefinition) -> bool:
    """Is the schedule the one that it has, be it in another spelling?"""
    return trigger.format == definition.format and _are_one(trigger.format, trigger.definition, definition.definition)


def _are_one(format: str, ours: Mapping, theirs: Mapping) -> bool:
    if ours == theirs:
        return True
    try:
        return wire.render(format, ours) == wire.render(format, theirs)
    except wire.WireError:  # what is stored was written when its format was read differently, or what comes is wrong
        return False


def _set_schedule(trigger: Trigger, format: str, definition: Mapping, now: datetime) -> None:
    """Give the trigger a new schedule, which begins at `now`.  Raises WireError."""
    parsed = wire.parse(format, definition, now)
    wire.refuse_unreachable(parsed, now)
    trigger.format = format
    trigger.definition = dict(definition)
    trigger.anchored_at = now
    trigger.fires_left = parsed.count
    trigger.next_fire_at = None


def _fires(trigger: Trigger, now: datetime) -> Iterator[datetime]:
    fire = trigger.parsed.schedule.after(now - placing.RESOLUTION)
    while fire is not None:
        yield fire
        fire = trigger.parsed.schedule.after(fire)


def _trigger_for(job: Job | None, stored: Trigger | None, definition: JobDefinition, now: datetime) -> Trigger | None:
    """The job's trigger MAIN, `stored` or new, with the definition's schedule, which is checked when it is changed."""
    if definition.schedule is None:
        if job:
            placing.go_on(job)
        return None
    if job and stored is None and not definition.schedule:
        return None  # it goes on without one, and does not run at once
    if stored and stored.format == FORMAT and _are_one(FORMAT, stored.definition, definition.schedule):
        return stored
    trigger = stored or Trigger(name=MAIN)
    _set_schedule(trigger, FORMAT, definition.schedule, now)
    if job:
        placing.go_on(job)
    return trigger


def _written(job: Job, main: Trigger | None) -> tuple:
    """What a job's writers can say about it, for comparison."""
    return job.state, job.overlap, job.delivery, job.action_id, main and (main.definition, main.misfire)


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
        if trigger.name != MAIN:
            fires = islice(_fires(trigger, trigger.anchored_at), FIRES_CHECKED)
            quotas.refuse_fires(collection, fires, "properties.sku.name")
