"""Lease runs for this worker.

One conditional UPDATE decides which worker may work on a run: it writes a token into the row.  Results are recorded
only while the row still holds that token.  The row of an attempt is committed before its call is sent, and so is the
row of a poll of the operation that an attempt has begun.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Case, ExpressionWrapper, F, Prefetch, TextField, Value, When, prefetch_related_objects
from django.db.models.functions import Coalesce

from jobs import actions, bulk_sql
from jobs.actions import Context, Operation
from jobs.actions.result import PollSource
from jobs.encryption import EncryptedSecretsField, Secrets, UnreadableSecret
from jobs.models import (
    SECRET_PATH,
    Action,
    AsyncOperation,
    Attempt,
    Job,
    JobCollection,
    Poll,
    Run,
    RunQuerySet,
    SigningSecret,
)
from jobs.worker import overlap, polling
from jobs.worker.retries import RetryPolicy, policy_of

LEASE = timedelta(seconds=120)  # longer than a call may take, see CALL_LIMIT_S in jobs/actions/http.py
RENEWAL = LEASE / 3
LOCK: dict[str, Any] = {"of": ("self",), "skip_locked": True, "no_key": True}  # without effect on SQLite
NEEDED = (
    *("subscription", "job", "action", "collection_name", "job_name", "origin", "fire_at", "occurrence", "is_last"),
    *("state", "reason", "queue", "priority", "not_before", "attempt_count", "failed_count", "lock_key", "lease_token"),
    "is_made_up",
    *("action__document", "job__state", "job__overlap", "job__delivery"),
    *("job__collection__state", "job__collection__location"),
)
ENCRYPTED = ExpressionWrapper(F("secrets"), output_field=TextField())  # the ciphertext as it is stored
SECRETS = EncryptedSecretsField()
POLLED_OPERATIONS = AsyncOperation.objects.select_related("attempt").defer(
    "secrets"
)  # the address in `secrets` is read separately
A_FURTHER_ATTEMPT = Case(When(state=Run.State.FOLLOWING, then=Value(0)), default=Value(1))  # a poll is not an attempt


@dataclass(slots=True)
class Leased:
    """A run that this worker has leased, with its attempt and the secrets of its action.

    With a `poll`, the attempt was made before, and its operation is polled now.
    """

    run: Run
    attempt: Attempt
    secrets: Secrets | None = None  # by path below the action; None: stored, but they cannot be decrypted
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    poll: Poll | None = None
    operation: Operation | None = None  # to poll; None: its address is stored, but cannot be decrypted

    @property
    def action(self) -> dict[str, Any]:
        return action_of(self.run)

    @property
    def context(self) -> Context:
        run = self.run
        return Context(
            run_id=run.pk,
            attempt=self.attempt.number,
            fire_at=run.fire_at,
            now=self.poll.started_at if self.poll else self.attempt.started_at,
            job_name=run.job_name,
            collection_name=run.collection_name,
            region=run.job.collection.location if run.job else "",
            signing_secrets=self.signing_secrets,
        )


def document_of(run: Run) -> dict[str, Any]:
    """Return the document of the run's action.  It is empty without an action; `stop_reason` stops such a run."""
    return run.action.document if run.action else {}


def action_of(run: Run) -> dict[str, Any]:
    document = document_of(run)
    return document["errorAction"] if run.origin == Run.Origin.ERROR_ACTION else document


def retry_policy_of(run: Run) -> RetryPolicy:
    return policy_of(action_of(run), enclosing=document_of(run))


CapacityFilter = Callable[[Sequence[Run]], tuple[list[Run], Mapping[uuid.UUID, timedelta]]]


def accept_all(runs: Sequence[Run]) -> tuple[list[Run], Mapping[uuid.UUID, timedelta]]:
    return list(runs), {}


def lease(
    run_ids: Sequence[str], worker: str, now: datetime, capacity_filter: CapacityFilter = accept_all
) -> list[Leased]:
    """Lease the runs that are due and that no worker has, and create an attempt for each.

    `capacity_filter` returns the runs that get a slot, and the delays of runs to postpone; the rest stay unchanged.
    Runs of stopped jobs end here, and so do the runs that the overlap policy skips.
    """
    try:
        return _lease(run_ids, worker, now, capacity_filter)
    except (IntegrityError, OperationalError):
        # Between our SELECT and our UPDATE another worker took the lock key of one of the runs, or both workers wait
        # for each other (PostgreSQL ends such a deadlock).  Leased one by one, the runs do not block each other.
        return [leased for run_id in run_ids for leased in _lease_alone(run_id, worker, now, capacity_filter)]


def _lease_alone(run_id: str, worker: str, now: datetime, capacity_filter: CapacityFilter) -> list[Leased]:
    try:
        return _lease([run_id], worker, now, capacity_filter)
    except IntegrityError:
        return _lease([run_id], worker, now, capacity_filter)  # this time it sees the run of the faster worker


def _lease(run_ids: Sequence[str], worker: str, now: datetime, capacity_filter: CapacityFilter) -> list[Leased]:
    with transaction.atomic():
        runs = _select_due(run_ids, now)
        _end_stopped([run for run in runs if stop_reason(run)], now)
        accepted, postponed = capacity_filter([run for run in runs if not stop_reason(run)])
        _postpone(postponed, now)
        admitted = overlap.admit(accepted, now)
        if not admitted:
            return []
        token = uuid.uuid4()
        leased_count = Run.objects.still_pending(run.pk for run in admitted).update(
            state=Run.State.RUNNING,
            lease_token=token,
            leased_until=now + LEASE,
            attempt_count=F("attempt_count") + A_FURTHER_ATTEMPT,
            started_at=Coalesce("started_at", now),
            not_before=None,
        )
        if leased_count != len(admitted):
            own_ids = set(Run.objects.filter(pk__in=run_ids, lease_token=token).values_list("pk", flat=True))
            admitted = [run for run in admitted if run.pk in own_ids]
        for run in admitted:
            run.lease_token = token
        leased = _start_attempts([run for run in admitted if run.state != Run.State.FOLLOWING], worker, now)
        leased += _start_polls([run for run in admitted if run.state == Run.State.FOLLOWING], worker, now)
        _read_secrets(leased)
        _read_signing_secrets(leased, now)
    return leased


def _start_attempts(runs: Sequence[Run], worker: str, now: datetime) -> list[Leased]:
    """Create an attempt for each run."""
    for run in runs:
        run.attempt_count += 1
    attempts = Attempt.objects.bulk_create(
        Attempt(run=run, job_id=run.job_id, number=run.attempt_count, worker=worker, started_at=now) for run in runs
    )
    return [Leased(run, attempt) for run, attempt in zip(runs, attempts, strict=True)]


def _start_polls(runs: Sequence[Run], worker: str, now: datetime) -> list[Leased]:
    """Create a poll of the operation that each run follows."""
    if not runs:
        return []
    polls = polling.start_polls(runs, worker, now)
    ciphertexts = dict(AsyncOperation.objects.filter(run__in=list(polls)).values_list("run", ENCRYPTED))
    leased = []
    for run in runs:
        secrets = _decrypt(ciphertexts[run.pk])
        operation = (
            Operation(PollSource(run.async_operation.source), secrets[AsyncOperation.ADDRESS]) if secrets else None
        )
        leased.append(Leased(run, run.async_operation.attempt, poll=polls[run.pk], operation=operation))
    return leased


def _select_due(run_ids: Sequence[str], now: datetime) -> list[Run]:
    """Return the due runs in the order in which they begin, locked if the database has row locks."""
    runs = (
        with_related(Run.objects.filter(pk__in=run_ids)).order_by("fire_at", "priority", "id").select_for_update(**LOCK)
    )
    due = [run for run in runs if run.state in Run.PENDING and (run.not_before is None or run.not_before <= now)]
    if followed := [run for run in due if run.state == Run.State.FOLLOWING]:
        prefetch_related_objects(followed, Prefetch("async_operation", POLLED_OPERATIONS))
    return due


def host_of(run: Run) -> str:
    """Return the host of the run's next call."""
    return run.async_operation.host if is_followed(run) else actions.host_of(action_of(run))


def is_followed(run: Run) -> bool:
    return run.state == Run.State.FOLLOWING and hasattr(run, "async_operation")


def with_related(runs: RunQuerySet) -> RunQuerySet:
    """Load the columns and relations that a worker needs.

    Secrets are read separately: one that no key decrypts must not stop the other runs.
    """
    return runs.select_related("action", "job__collection").only(*NEEDED)


def stop_reason(run: Run) -> str:
    """Return in words why the run must not make another attempt; empty if it may.

    A run that follows an operation goes on while its job is stopped, in the same way as an active call.
    """
    if run.job is None or run.action is None:
        return "the job was deleted"
    if run.state == Run.State.FOLLOWING:
        return "" if hasattr(run, "async_operation") else "nothing is known of what it follows"
    if run.job.state == Job.State.DISABLED:
        return "the job was disabled"
    if run.job.collection.state != JobCollection.State.ENABLED:
        return f"the collection was {run.job.collection.state}"
    return ""


def _end_stopped(runs: Sequence[Run], now: datetime) -> None:
    """End the runs of jobs that were stopped or deleted.  The jobs themselves do not end: they may be enabled again.

    No run counts as faulted, because its attempts were not used up.
    """
    polling.stop_polling([run.pk for run in runs if run.state == Run.State.FOLLOWING], now)
    for run in runs:
        final_state = Run.State.SKIPPED if run.state == Run.State.WAITING else Run.State.FAILED
        Run.objects.filter(pk=run.pk, state=run.state).update(
            state=final_state, reason=stop_reason(run), finished_at=now
        )


def _postpone(delays: Mapping[uuid.UUID, timedelta], now: datetime) -> None:
    """Set `publish_after` to `now` + delay for these runs; nothing else changes."""
    if delays:
        bulk_sql.update(Run, list(delays), {"publish_after": [now + delay for delay in delays.values()]})


def _read_secrets(leased: Sequence[Leased]) -> None:
    with_secrets = Action.objects.filter(pk__in={item.run.action_id for item in leased}).exclude(secrets="")
    secrets = {action_id: _decrypt(ciphertext) for action_id, ciphertext in with_secrets.values_list("pk", ENCRYPTED)}
    for item in leased:
        found = secrets.get(item.run.action_id, Secrets())
        if found is not None and item.run.origin == Run.Origin.ERROR_ACTION:
            found = Secrets(actions.secrets_below("errorAction", found))
        item.secrets = found


def _read_signing_secrets(leased: Sequence[Leased], now: datetime) -> None:
    """Read the secrets that sign the HTTP requests of the jobs, newest first."""
    signing: dict[int | None, list[Secrets | None]] = defaultdict(list)
    requests = [item for item in leased if item.action["type"] in ("Http", "Https")]
    stored = SigningSecret.objects.live(now).filter(job__in={item.run.job_id for item in requests})
    for job_id, ciphertext in stored.values_list("job", ENCRYPTED):
        signing[job_id].append(_decrypt(ciphertext))
    for item in requests:
        found = signing[item.run.job_id]
        if None in found:
            item.secrets = None
        item.signing_secrets = tuple(secrets[SECRET_PATH] for secrets in found if secrets)


def _decrypt(ciphertext: str) -> Secrets | None:
    try:
        return SECRETS.from_db_value(ciphertext, None, None)
    except UnreadableSecret:
        return None


def renew(leased: Sequence[Leased], now: datetime) -> None:
    with transaction.atomic():
        own_ids = list(Run.objects.leased(item.run for item in leased).lock_ordered().values_list("pk", flat=True))
        Run.objects.filter(pk__in=own_ids).update(leased_until=now + LEASE)
