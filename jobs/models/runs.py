"""The history of runs and attempts."""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Greatest
from django.db.models.lookups import Exact, GreaterThan

from accounts.models import Role, Subscription
from jobs.encryption import EncryptedSecretsField, Secrets
from jobs.models.jobs import Action, Job
from jobs.names import NAME_LENGTH


class Unindexed(models.Func):
    """A column whose own index SQLite must not use.  PostgreSQL decides by its statistics."""

    template = "%(expressions)s"

    def as_sqlite(self, compiler, connection, **context):
        return self.as_sql(compiler, connection, template="+%(expressions)s", **context)


class SecondsBetween(models.Func):
    """The seconds from the first instant to the second, on SQLite rounded to milliseconds.

    Both databases can have this expression in an index.
    """

    output_field = models.FloatField()
    arity = 2

    def as_sqlite(self, compiler, connection, **context):
        template = "ROUND((julianday(%(expressions)s)) * -86400, 3)"  # a float of days is accurate to 40 microseconds
        return self.as_sql(compiler, connection, template=template, arg_joiner=") - julianday(", **context)

    def as_postgresql(self, compiler, connection, **context):
        template = "EXTRACT(EPOCH FROM -(%(expressions)s))"
        return self.as_sql(compiler, connection, template=template, arg_joiner=" - ", **context)


# a run that started later than this after its planned start is late; a misfire has the same threshold
LATE = timedelta(minutes=1)
PLANNED_START = Coalesce("starts_at", "fire_at")
BEGAN_LATE = GreaterThan(SecondsBetween(PLANNED_START, "started_at"), LATE.total_seconds())
# the rule of jobs.badges.outcome_of as a query; `Unindexed`: the index by state is longer than that of late runs
SUCCEEDED_LATE = Q(BEGAN_LATE, Exact(Unindexed("state", output_field=models.CharField()), "succeeded"))


class RunQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))

    def of_subscriptions(self, ids: Sequence[uuid.UUID]) -> Self:
        """Return the runs of these subscriptions so that an index finds the newest ones.

        The runs of one subscription use their own index.  The runs of several are filtered from the index of all runs,
        because a database would have to sort the results of several index ranges.
        """
        return self.filter(subscription=ids[0]) if len(ids) == 1 else self.restricted_to_subscriptions(ids)

    def restricted_to_subscriptions(self, ids: Sequence[uuid.UUID]) -> Self:
        """Return the runs of these subscriptions by a filter after the index of another condition."""
        return self.alias(of=Unindexed("subscription_id", output_field=models.UUIDField())).filter(of__in=ids)

    def without_error_actions(self) -> Self:
        """Return runs without those of error actions: an error action belongs to the failed run before it."""
        return self.exclude(origin=Run.Origin.ERROR_ACTION)

    def ready(self, now: datetime) -> Self:
        """Return the runs that wait for a worker, and whose last message, if any, is old enough to count as lost."""
        return self.filter(state__in=Run.PENDING, publish_after__lte=now).order_by("publish_after")

    def still_pending(self, ids: Iterable[uuid.UUID | str]) -> Self:
        """Return the runs that wait for a worker.

        The condition excludes all other states, so that PostgreSQL finds the rows by their ids.  The index of waiting
        runs could contain very many rows that are not yet in its statistics.
        """
        others = [state for state in Run.State if state not in Run.PENDING]
        return self.filter(pk__in=list(ids)).exclude(state__in=others)

    def publish(self, now: datetime, **changes) -> int:
        """Change the runs so that the next pass publishes them, or a later pass if an attempt may not begin yet."""
        moment = Value(now, models.DateTimeField())
        return self.update(publish_after=Greatest(Coalesce("not_before", moment), moment), **changes)

    def next_publish_after(self) -> datetime | None:
        """Return when the next message about a run is due; None without one."""
        pending = self.filter(state__in=Run.PENDING).order_by("publish_after")
        return pending.values_list("publish_after", flat=True).first()

    def leased(self, runs: Iterable["Run"]) -> Self:
        """Return the runs that still have the lease token with which they were read."""
        tokens = {run.pk: run.lease_token for run in runs}
        return self.filter(pk__in=list(tokens), lease_token__in=set(tokens.values()))

    def lock_ordered(self) -> Self:
        """Lock the runs in the common order of all transactions that wait for several, see jobs/locking.py."""
        return self.order_by("pk").select_for_update(of=("self",), no_key=True)

    def expired(self, now: datetime) -> Self:
        """Return the running runs whose lease has expired at `now`."""
        return self.filter(state=Run.State.RUNNING, leased_until__lt=now)


class Run(models.Model):
    """One occurrence of a job: a row for each fire time, whether or not it ran, and for each run by hand.

    The row is its own outbox: `publish_after` says when a message about the run is to be sent (again).  A run is kept
    after its job and trigger are deleted, so it contains their names.
    """

    class State(models.TextChoices):
        WAITING = "waiting"  # waits for a worker, or for `publish_after`
        RUNNING = "running"  # a worker has the lease
        RETRYING = "retrying"  # an attempt failed, the next is due at `publish_after`
        FOLLOWING = "following"  # its attempt began an operation that goes on: it is polled at `not_before`
        HELD = "held"  # until the gate that `hold_key` names releases it
        SUCCEEDED = "succeeded"
        FAILED = "failed"  # every attempt failed
        MISSED = "missed"  # found too late, dropped by the misfire policy
        SKIPPED = "skipped"  # an earlier run was still going, or the job was stopped
        CANCELLED = "cancelled"  # by a person, before it ended
        LOST = "lost"  # its worker vanished, and it may not be tried again: the result is unknown

    class Origin(models.TextChoices):
        SCHEDULE = "schedule"
        MANUAL = "manual"
        ERROR_ACTION = "error_action"  # follows a failed run, `parent`

    PENDING = (State.WAITING, State.RETRYING, State.FOLLOWING)
    # between the first attempt and the last; the run has its lock key
    BEGUN = (State.RUNNING, State.RETRYING, State.FOLLOWING)
    OPEN = (*PENDING, State.RUNNING, State.HELD)

    # a foreign key without its own index is the first column of an index below
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)  # the Idempotency-Key of its calls
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, db_index=False, related_name="+")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, db_index=False, related_name="runs")
    action = models.ForeignKey(Action, null=True, on_delete=models.PROTECT, related_name="+")
    collection_name = models.CharField(max_length=NAME_LENGTH)
    job_name = models.CharField(max_length=NAME_LENGTH)
    trigger_name = models.CharField(max_length=NAME_LENGTH, null=True)  # null: the run is not from a schedule
    origin = models.CharField(max_length=16, choices=Origin, default=Origin.SCHEDULE)
    parent = models.OneToOneField("self", null=True, on_delete=models.CASCADE, related_name="error_run")
    manual_key = models.CharField(max_length=100, null=True)  # the caller's key for a run by hand
    fire_at = models.DateTimeField()  # when it is meant to run
    starts_at = models.DateTimeField(null=True)  # the fire time with the jitter of its trigger; null: without jitter
    # the fire time from which closed days moved the run, the last one of several; null: it was not moved
    moved_from = models.DateTimeField(null=True)
    occurrence = models.PositiveIntegerField(null=True)  # its number within its trigger, from 1; null without a trigger
    is_last = models.BooleanField(default=False)  # the last run of its trigger: the job ends with it
    # the trigger makes up for each missed fire time, so the run queues whatever the overlap policy says, see
    # jobs/worker/overlap.py.  Null counts as false: a new column without a default needs no copy of the table on SQLite
    is_made_up = models.BooleanField(null=True)

    state = models.CharField(max_length=16, choices=State, default=State.WAITING)
    reason = models.CharField(max_length=200, blank=True)  # in words: why it did not run, or what it waits for
    missed_count = models.PositiveIntegerField(default=1)  # number of fire times in this row; above 1 only if missed
    missed_until = models.DateTimeField(null=True)  # the last of these fire times

    queue = models.CharField(max_length=100, default="default")
    priority = models.SmallIntegerField(default=5)  # among runs with the same fire time, the lowest begins first
    publish_after = models.DateTimeField()  # earliest time of the next message about the run
    not_before = models.DateTimeField(null=True)  # earliest time of the next attempt or poll; null: at once
    attempt_count = models.PositiveSmallIntegerField(default=0)
    failed_count = models.PositiveSmallIntegerField(default=0)  # attempts that its retry policy counts: failed or lost
    lock_key = models.CharField(max_length=200, null=True)  # runs with equal keys never overlap
    hold_key = models.CharField(max_length=64, null=True)  # while the run is held: the gate's own key for the reason
    # the last run that was still going when the overlap policy skipped this run or let it wait.  Without a constraint,
    # so that removing that run needs no check of other rows
    blocked_by = models.UUIDField(null=True)
    lease_token = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)

    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "trigger_name", "fire_at"], name="run_once_per_fire_time"),
            models.UniqueConstraint(fields=["job", "manual_key"], name="run_once_per_manual_key"),
            # the overlap policy: the database allows one run for a key, from its first attempt to its last
            models.UniqueConstraint(
                fields=["lock_key"], condition=Q(state__in=["running", "retrying", "following"]), name="run_lock"
            ),
        ]
        indexes = [
            # serves RunQuerySet.ready
            models.Index(
                fields=["publish_after"],
                name="run_ready",
                condition=Q(state__in=["waiting", "retrying", "following"]),
            ),
            # serves RunQuerySet.expired
            models.Index(fields=["leased_until"], name="run_leased", condition=Q(state="running")),
            # serves the queue of made-up runs; SQLite recognizes this condition in queries, too
            models.Index(fields=["lock_key", "state"], name="run_made_up", condition=Q(is_made_up=True)),
            # serves the runs that a gate releases; SQLite recognizes this condition in queries
            models.Index(fields=["hold_key", "job"], name="run_held", condition=Q(hold_key__isnull=False)),
            # serves the history of a job, newest first
            models.Index(fields=["job", "-fire_at"], name="run_of_job"),
            # serves the lists of a subscription's runs and the failures among them, newest first
            models.Index(fields=["subscription", "-fire_at", "-id"], name="run_of_subscription"),
            models.Index(fields=["state", "-fire_at"], name="run_by_state"),
            # serves the lists of runs of all or of several subscriptions, newest first
            models.Index(fields=["-fire_at", "-id"], name="run_newest"),
            # serves the calendar: rows with several missed fire times
            models.Index(fields=["missed_until"], name="run_missed_until", condition=Q(missed_until__isnull=False)),
            # serves pruning
            models.Index(fields=["finished_at"], name="run_finished"),
            # serve the lists of runs that started late, and of error actions, newest first
            models.Index(fields=["-fire_at", "-id"], name="run_late", condition=Q(BEGAN_LATE)),
            models.Index(fields=["-fire_at", "-id"], name="run_error_action", condition=Q(origin="error_action")),
        ]

    def __str__(self) -> str:
        return f"{self.job_name} at {self.fire_at:%Y-%m-%d %H:%M:%SZ}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN

    @property
    def planned_start(self) -> datetime:
        """The fire time with the jitter of its trigger; lateness is counted from this moment."""
        return self.starts_at or self.fire_at


class RunHold(models.Model):
    """A period in which a run was held.  It stays in the history of the run, see jobs/holds.py."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="holds")
    key = models.CharField(max_length=64)  # the gate's own key for the reason, as in `Run.hold_key`
    reason = models.CharField(max_length=200)
    held_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)  # null: the run is still held

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run"], condition=Q(released_at=None), name="one_hold_at_a_time")
        ]

    def __str__(self) -> str:
        return f"hold of {self.run_id}"


class Attempt(models.Model):
    """One try to carry out a run."""

    class State(models.TextChoices):
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        LOST = "lost"  # its worker vanished or was stopped: whether the target was called is unknown

    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False, related_name="attempts")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, db_index=False, related_name="+")
    number = models.PositiveSmallIntegerField()  # from 1
    state = models.CharField(max_length=16, choices=State, default=State.RUNNING)
    worker = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    status_code = models.PositiveSmallIntegerField(null=True)  # of an HTTP answer
    message = models.TextField(blank=True)  # what happened, in a sentence
    response_headers = models.JSONField(default=list)  # [[name, value], ...]
    response_body = models.TextField(blank=True)  # at most 2048 bytes, as text

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="attempt_number")]
        indexes = [
            # serves the history of a job, newest first
            models.Index(fields=["job", "-started_at", "-id"], name="attempt_of_job"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.run_id}"


class AsyncOperation(models.Model):
    """An operation that an attempt has begun and that has not ended.  The row is deleted when polling ends.

    Between two polls its run is FOLLOWING, during a poll RUNNING.  Only the worker with the run's lease may write here.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="async_operation")
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="+")
    source = models.CharField(max_length=16)  # a value of jobs.actions.result.PollSource
    host = models.CharField(max_length=300)  # the polled host with its port
    # under ADDRESS the whole address, which may hold a key
    secrets: "models.Field[Secrets, Secrets]" = EncryptedSecretsField(editable=False)
    started_at = models.DateTimeField()
    gives_up_at = models.DateTimeField()  # time of the last poll
    poll_count = models.PositiveIntegerField(default=0)
    failed_poll_count = models.PositiveSmallIntegerField(default=0)  # number of failed polls in a row

    ADDRESS = "address"

    def __str__(self) -> str:
        return f"operation of {self.run_id}"


class Poll(models.Model):
    """One request for the state of an operation, and its response."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, db_index=False, related_name="polls")
    number = models.PositiveIntegerField()  # from 1, within its attempt
    worker = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    status_code = models.PositiveSmallIntegerField(null=True)
    # status of the operation, in the target's word; empty: unknown
    status = models.CharField(max_length=64, blank=True)
    percent = models.FloatField(null=True)  # progress, 0 to 100
    retry_after_s = models.PositiveIntegerField(null=True)  # how long the target asked to wait
    message = models.TextField(blank=True)
    # as for an attempt; only of a response that ended the operation, or of a failed poll
    body = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "number"], name="poll_number")]

    def __str__(self) -> str:
        return f"poll {self.number} of attempt {self.attempt_id}"
