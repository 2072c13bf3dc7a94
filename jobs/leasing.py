"""Take runs into the hands of this worker.

Who may work on a run is decided by one conditional UPDATE, which writes a token into the row; whatever is recorded
later is recorded only while the row still holds that token.  An attempt is a committed row before its call goes out,
and so is a poll of the operation that an attempt has begun.
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

from jobs import actions, columns, following, overlap
from jobs.actions import Context, Operation
from jobs.actions.outcome import By
from jobs.encryption import EncryptedSecretsField, Secrets, UnreadableSecret
from jobs.models import SIGNING, Action, Attempt, Following, Job, JobCollection, Poll, Run, RunQuerySet, SigningSecret
from jobs.retries import RetryPolicy, policy_of

LEASE = timedelta(seconds=120)  # longer than a call may take
RENEWAL = LEASE / 3
LOCK: dict[str, Any] = {"of": ("self",), "skip_locked": True, "no_key": True}  # without effect on SQLite
NEEDED = (
    *("subscription", "job", "action", "collection_name", "job_name", "origin", "fire_at", "occurrence", "is_last"),
    *("state", "queue", "not_before", "attempt_count", "failed_count", "lock_key", "lease_token"),
    *("action__document", "job__state", "job__overlap", "job__delivery"),
    *("job__collection__state", "job__collection__location"),
)
SEALED = ExpressionWrapper(F("secrets"), output_field=TextField())  # as it is stored, not yet opened
SECRETS = EncryptedSecretsField()
WATCHED = Following.objects.select_related("attempt").defer("secrets")  # its address is read apart
A_FURTHER_ATTEMPT = Case(When(state=Run.State.FOLLOWING, then=Value(0)), default=Value(1))  # a poll is none


@dataclass(slots=True)
class Leased:
    """A run in the hands of this worker, the attempt it makes, and the secrets that it takes along.

    With a `poll`, the attempt was made before, and is asked after.
    """

    run: Run
    attempt: Attempt
    secrets: Secrets | None = None  # by their path below the action; None: they are stored, but cannot be read
    signing_secrets: tuple[str, ...] = field(default=(), repr=False)
    poll: Poll | None = None
    operation: Operation | None = None  # that is polled; None: its address is stored, but cannot be read

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
    """The wire form of what was to be done then; empty without an action, which `why_stopped` does not let begin."""
    return run.action.document if run.action else {}


def action_of(run: Run) -> dict[str, Any]:
    document = document_of(run)
    return document["errorAction"] if run.origin == Run.Origin.ERROR_ACTION else document


def policy_for(run: Run) -> RetryPolicy:
    return policy_of(action_of(run), enclosing=document_of(run))


Fit = Callable[[Sequence[Run]], tuple[list[Run], Mapping[uuid.UUID, timedelta]]]


def all_fit(runs: Sequence[Run]) -> tuple[list[Run], Mapping[uuid.UUID, timedelta]]:
    return list(runs), {}


def lease(run_ids: Sequence[str], worker: str, now: datetime, fit: Fit = all_fit) -> list[Leased]:
    """Take those of the runs that are due and free, and write down an attempt for each.

    `fit` says which of them there is room for, and for how long some of the others are put off; the rest stay as they
    are.  Runs of stopped jobs end here, and so do those for which the overlap policy has no place.
    """
    try:
        return _lease(run_ids, worker, now, fit)
    except (IntegrityError, OperationalError):
        # Between our look and our UPDATE another worker took the lock key of one of them, or both of us wait for the
        # other's (PostgreSQL ends that).  One at a time, nobody is held up by somebody else's run.
        return [leased for run_id in run_ids for leased in _lease_alone(run_id, worker, now, fit)]


def _lease_alone(run_id: str, worker: str, now: datetime, fit: Fit) -> list[Leased]:
    try:
        return _lease([run_id], worker, now, fit)
    except IntegrityError:
        return _lease([run_id], worker, now, fit)  # now it sees who was faster


def _lease(run_ids: Sequence[str], worker: str, now: datetime, fit: Fit) -> list[Leased]:
    with transaction.atomic():
        runs = _due(run_ids, now)
        _end_stopped([run for run in runs if why_stopped(run)], now)
        fitting, put_off = fit([run for run in runs if not why_stopped(run)])
        _put_off(put_off, now)
        taken = overlap.admit(fitting, now)
        if not taken:
            return []
        token = uuid.uuid4()
        won = Run.objects.still_pending(run.pk for run in taken).update(
            state=Run.State.RUNNING,
            lease_token=token,
            leased_until=now + LEASE,
            attempt_count=F("attempt_count") + A_FURTHER_ATTEMPT,
            started_at=Coalesce("started_at", now),
            not_before=None,
        )
        if won != len(taken):
            ours = set(Run.objects.filter(pk__in=run_ids, lease_token=token).values_list("pk", flat=True))
            taken = [run for run in taken if run.pk in ours]
        for run in taken:
            run.lease_token = token
        leased = _begin([run for run in taken if run.state != Run.State.FOLLOWING], worker, now)
        leased += _ask([run for run in taken if run.state == Run.State.FOLLOWING], worker, now)
        _read_secrets(leased)
        _read_signing_secrets(leased, now)
    return leased


def _begin(runs: Sequence[Run], worker: str, now: datetime) -> list[Leased]:
    """Write down an attempt for each."""
    for run in runs:
        run.attempt_count += 1
    attempts = Attempt.objects.bulk_create(
        Attempt(run=run, job_id=run.job_id, number=run.attempt_count, worker=worker, started_at=now) for run in runs
    )
    return [Leased(run, attempt) for run, attempt in zip(runs, attempts, strict=True)]


def _ask(runs: Sequence[Run], worker: str, now: datetime) -> list[Leased]:
    """Write down a poll of the operation that each one follows."""
    if not runs:
        return []
    polls = following.start_polls(runs, worker, now)
    sealed = dict(Following.objects.filter(run__in=list(polls)).values_list("run", SEALED))
    leased = []
    for run in runs:
        opened = _opened(sealed[run.pk])
        operation = Operation(By(run.following.by), opened[Following.ADDRESS]) if opened else None
        leased.append(Leased(run, run.following.attempt, poll=polls[run.pk], operation=operation))
    return leased


def _due(run_ids: Sequence[str], now: datetime) -> list[Run]:
    """The runs that may be worked on, in the order in which they begin; locked where the database has such locks."""
    named = with_job(Run.objects.filter(pk__in=run_ids)).order_by("fire_at", "priority", "id").select_for_update(**LOCK)
    due = [run for run in named if run.state in Run.PENDING and (run.not_before is None or run.not_before <= now)]
    if watched := [run for run in due if run.state == Run.State.FOLLOWING]:
        prefetch_related_objects(watched, Prefetch("following", WATCHED))
    return due


def host_of(run: Run) -> str:
    """Whom its next call goes to."""
    return run.following.host if is_followed(run) else actions.host_of(action_of(run))


def is_followed(run: Run) -> bool:
    return run.state == Run.State.FOLLOWING and hasattr(run, "following")


def with_job(runs: RunQuerySet) -> RunQuerySet:
    """With what is needed of them.  Secrets are read apart: one that no key opens must not stop the others."""
    return runs.select_related("action", "job__collection").only(*NEEDED)


def why_stopped(run: Run) -> str:
    """Why a run makes no further attempt, in words; empty: it may.

    What it follows goes on while its job is stopped, as a call does that is out.
    """
    if run.job is None or run.action is None:
        return "the job was deleted"
    if run.state == Run.State.FOLLOWING:
        return "" if hasattr(run, "following") else "nothing is known of what it follows"
    if run.job.state == Job.State.DISABLED:
        return "the job was disabled"
    if run.job.collection.state != JobCollection.State.ENABLED:
        return f"the collection was {run.job.collection.state}"
    return ""


def _end_stopped(runs: Sequence[Run], now: datetime) -> None:
    """End the runs of jobs that were stopped or deleted.  The jobs do not end: they may be started again.

    None counts as faulted, since its attempts were not used up.
    """
    following.stop([run.pk for run in runs if run.state == Run.State.FOLLOWING], now)
    for run in runs:
        ended = Run.State.SKIPPED if run.state == Run.State.WAITING else Run.State.FAILED
        Run.objects.filter(pk=run.pk, state=run.state).update(state=ended, reason=why_stopped(run), finished_at=now)


def _put_off(delays: Mapping[uuid.UUID, timedelta], now: datetime) -> None:
    """Ring for runs again after so long; else they stay as they are."""
    if delays:
        columns.update(Run, list(delays), {"publish_after": [now + delay for delay in delays.values()]})


def _read_secrets(leased: Sequence[Leased]) -> None:
    holders = Action.objects.filter(pk__in={item.run.action_id for item in leased}).exclude(secrets="")
    secrets = {action_id: _opened(sealed) for action_id, sealed in holders.values_list("pk", SEALED)}
    for item in leased:
        stored = secrets.get(item.run.action_id, Secrets())
        if stored is not None and item.run.origin == Run.Origin.ERROR_ACTION:
            stored = Secrets(actions.below("errorAction", stored))
        item.secrets = stored


def _read_signing_secrets(leased: Sequence[Leased], now: datetime) -> None:
    """Those with which HTTP requests of the jobs are signed, newest first."""
    signing: dict[int | None, list[Secrets | None]] = defaultdict(list)
    requests = [item for item in leased if item.action["type"] in ("Http", "Https")]
    stored = SigningSecret.objects.live(now).filter(job__in={item.run.job_id for item in requests})
    for job_id, sealed in stored.values_list("job", SEALED):
        signing[job_id].append(_opened(sealed))
    for item in requests:
        opened = signing[item.run.job_id]
        if None in opened:
            item.secrets = None
        item.signing_secrets = tuple(secrets[SIGNING] for secrets in opened if secrets)


def _opened(sealed: str) -> Secrets | None:
    try:
        return SECRETS.from_db_value(sealed, None, None)
    except UnreadableSecret:
        return None


def renew(leased: Sequence[Leased], now: datetime) -> None:
    with transaction.atomic():
        ours = list(Run.objects.held(item.run for item in leased).in_turn().values_list("pk", flat=True))
        Run.objects.filter(pk__in=ours).update(leased_until=now + LEASE)
