"""Collections of jobs, their actions, and the history of runs and attempts."""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Coalesce, Greatest, Lower
from django.db.models.lookups import Exact, GreaterThan

from accounts.models import Role, Subscription
from jobs.encryption import EncryptedSecretsField, Secrets
from jobs.names import NAME_LENGTH, validate_name, validate_resource_group

models.CharField.register_lookup(Lower)  # `name__lower=` uses the unique indexes on Lower("name")


class Sku(models.TextChoices):
    FREE = "Free"
    STANDARD = "Standard"
    P10_PREMIUM = "P10Premium"
    P20_PREMIUM = "P20Premium"


class Frequency(models.TextChoices):
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class JobCollectionQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))

    def named(self, subscription_id: uuid.UUID, resource_group: str, name: str) -> Self:
        """Return the collection with this name, in upper or lower case."""
        return self.filter(
            subscription_id=subscription_id, resource_group__lower=resource_group.lower(), name__lower=name.lower()
        )


class JobCollection(models.Model):
    """A group of jobs with a common quota.  It lets its jobs run only while it is enabled."""

    class State(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"  # by its users: no job in it runs, and each job keeps its own state
        SUSPENDED = "suspended"  # set from outside, as the original service did for suspended subscriptions
        DELETED = "deleted"  # being deleted: it accepts no writes, and no job in it runs

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="collections")
    resource_group = models.CharField(max_length=90, default="default", validators=[validate_resource_group])
    name = models.CharField(max_length=NAME_LENGTH, validators=[validate_name])
    location = models.CharField(max_length=64, blank=True)
    tags = models.JSONField(null=True, blank=True)
    sku = models.CharField("plan", max_length=16, choices=Sku, default=Sku.STANDARD)
    state = models.CharField(max_length=16, choices=State, default=State.ENABLED)
    max_job_count = models.PositiveIntegerField(null=True, blank=True, help_text="A lower limit than the plan's.")
    max_job_occurrence = models.PositiveIntegerField(
        null=True, blank=True, help_text="Kept for clients of the original service; it has no effect, as there."
    )
    max_recurrence_frequency = models.CharField(max_length=8, choices=Frequency, null=True, blank=True)
    max_recurrence_interval = models.PositiveIntegerField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1, editable=False)  # counts the changes of all fields above
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = JobCollectionQuerySet.as_manager()

    class Meta:
        verbose_name = "collection"
        constraints = [
            # serves JobCollectionQuerySet.named
            models.UniqueConstraint("subscription", Lower("resource_group"), Lower("name"), name="collection_name"),
        ]

    def __str__(self) -> str:
        return self.name

    def set_state(self, state: str) -> None:
        """Save the new state and increase `revision`.  The caller must have locked the row."""
        self.state = state
        self.revision += 1
        self.save(update_fields=["state", "revision", "updated_at"])


class Action(models.Model):
    """One version of the work of a run; it is never changed.

    A job refers to its current version, and a run to the version with which it was created.  So an edit applies only
    to later occurrences, and history shows what was really done.  Versions without a reference are pruned.
    """

    document = models.JSONField(help_text="The wire form without its secrets: type, message, retryPolicy, errorAction.")
    # quoted, since fields take parameters from type checkers only
    secrets: "models.Field[Secrets, Secrets]" = EncryptedSecretsField(default="", blank=True, editable=False)
    secrets_set_at = models.JSONField(default=dict, editable=False)  # {path of a secret: when it was written, ISO}
    # when its first client certificate expires
    certificate_expires_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            # serves the list of certificates to renew
            models.Index(
                fields=["certificate_expires_at"],
                name="action_certificate",
                condition=Q(certificate_expires_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{self.document.get('type')} action {self.pk}"


class JobQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(collection__subscription__in=Subscription.objects.visible_to(user, role))

    def named(self, collection: JobCollection, name: str) -> Self:
        return self.filter(collection=collection, name__lower=name.lower())


class Job(models.Model):
    """A name, an action, and counters of its results.  Its triggers decide when it runs."""

    class State(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"
        COMPLETED = "completed"  # final: nothing left to run, and the last run succeeded
        FAULTED = "faulted"  # final: nothing left to run, and the last run failed

    class Overlap(models.TextChoices):
        """The treatment of a due run while an earlier run of the job is running or being retried."""

        ALLOW = "allow"  # both run at the same time
        SKIP = "skip"  # the run is recorded as skipped
        QUEUE_ONE = "queue_one"  # the run waits; more are skipped while one waits
        QUEUE_ALL = "queue_all"  # the run waits, up to QUEUE_LIMIT at a time

    class Delivery(models.TextChoices):
        AT_LEAST_ONCE = "at_least_once"  # after an attempt that a crash cut off, the run is tried again
        AT_MOST_ONCE = "at_most_once"  # such a run ends as lost

    collection = models.ForeignKey(JobCollection, on_delete=models.CASCADE, related_name="jobs")
    name = models.CharField(max_length=NAME_LENGTH, validators=[validate_name])
    state = models.CharField(max_length=16, choices=State, default=State.ENABLED)
    action = models.ForeignKey(Action, on_delete=models.PROTECT, related_name="+")
    overlap = models.CharField(max_length=16, choices=Overlap, default=Overlap.SKIP)
    delivery = models.CharField(max_length=16, choices=Delivery, default=Delivery.AT_LEAST_ONCE)
    execution_count = models.PositiveIntegerField(default=0, editable=False)  # attempts, not occurrences
    failure_count = models.PositiveIntegerField(default=0, editable=False)  # attempts that failed
    faulted_count = models.PositiveIntegerField(default=0, editable=False)  # occurrences whose every attempt failed
    last_execution_at = models.DateTimeField(null=True, editable=False)
    revision = models.PositiveIntegerField(default=1, editable=False)  # counts the changes of definition and state
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    finished_at = models.DateTimeField(null=True, editable=False)  # when the job became completed or faulted

    FINAL = (State.COMPLETED, State.FAULTED)

    objects = JobQuerySet.as_manager()

    class Meta:
        constraints = [
            # serves JobQuerySet.named
            models.UniqueConstraint("collection", Lower("name"), name="job_name"),
        ]
        indexes = [
            # serves pruning of jobs that ended long ago
            models.Index(fields=["finished_at"], name="job_finished", condition=Q(finished_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_final(self) -> bool:
        return self.state in self.FINAL

    @property
    def is_runnable(self) -> bool:
        """True if neither the job nor its collection is stopped.  The same as `runnable_q` in Python."""
        return self.state == self.State.ENABLED and self.collection.state == JobCollection.State.ENABLED


def runnable_q(job: str = "") -> Q:
    """Return the condition for enabled jobs of enabled collections; `job` is the path to the job, as in `job__`."""
    return Q(**{f"{job}state": Job.State.ENABLED, f"{job}collection__state": JobCollection.State.ENABLED})


class SigningSecretQuerySet(models.QuerySet):
    def live(self, now: datetime) -> Self:
        """Return the secrets that are valid at `now`, newest first."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now)).order_by("-created_at", "-pk")


SECRET_PATH = "signing"


class SigningSecret(models.Model):
    """A secret that signs the requests of a job, so that their receiver can verify their origin.

    A job has at most one without an expiry, and during an overlap also the secrets that it replaced.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="signing_secrets")
    secrets: "models.Field[Secrets, Secrets]" = EncryptedSecretsField(editable=False)  # under SECRET_PATH
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)  # null: valid until it is replaced or removed

    objects = SigningSecretQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job"], condition=Q(expires_at=None), name="one_lasting_signing_secret")
        ]

    def __str__(self) -> str:
        return f"signing secret of {self.created_at:%Y-%m-%d %H:%M:%SZ}"


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


PROCESS_SILENCE = timedelta(seconds=30)  # a process that has not reported for longer counts as gone


class ProcessQuerySet(models.QuerySet):
    def alive(self, now: datetime) -> Self:
        return self.filter(seen_at__gte=now - PROCESS_SILENCE)

    def served_queues(self, now: datetime) -> set[str]:
        """Return the queues that at least one living worker serves."""
        workers = self.alive(now).filter(kind=Process.Kind.WORKER).values_list("queues", flat=True)
        return {queue for queues in workers for queue in queues}


class Process(models.Model):
    """A beat or a worker that reports itself, so that a page can show whether the scheduler is alive."""

    class Kind(models.TextChoices):
        BEAT = "beat"
        WORKER = "worker"

    kind = models.CharField(max_length=8, choices=Kind)
    name = models.CharField(max_length=200)  # host and process id
    queues = models.JSONField(default=list)  # the queues that a worker serves
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # a beat: its last pass; a worker: its last heartbeat

    objects = ProcessQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "processes"
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="process_name")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class LastPass(models.Model):
    """The time of the last pass of any beat.  There is one row, which stays when beats are gone."""

    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"pass at {self.at:%Y-%m-%d %H:%M:%SZ}"


class Outage(models.Model):
    """A period [started_at, ended_at) without a pass of a beat, see jobs/outages.py.  Outages do not overlap."""

    started_at = models.DateTimeField(unique=True)  # the last pass before it
    ended_at = models.DateTimeField(db_index=True)  # the first pass after it; the index serves the outages of a window

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M:%SZ} to {self.ended_at:%Y-%m-%d %H:%M:%SZ}"


class HousekeepingLease(models.Model):
    """The right to continue a housekeeping task, see jobs/housekeeping.py."""

    name = models.CharField(max_length=100, unique=True)  # of the task
    token = models.UUIDField(null=True)
    leased_until = models.DateTimeField(null=True)  # null: the lease is free

    def __str__(self) -> str:
        return self.name


class PruningProgress(models.Model):
    """The progress of pruning through tables that it does not read completely each time.  There is one row."""

    runs_until = models.DateTimeField(null=True)  # `finished_at` of the last run whose job was checked
    # RETENTION_RUNS at that time; pruning starts again if it is lower now
    runs_kept = models.PositiveIntegerField(null=True)
    actions_until = models.BigIntegerField(default=0)  # the key of the last action that was checked

    def __str__(self) -> str:
        return f"until {self.runs_until}"

    @classmethod
    def current(cls) -> Self:
        return cls.objects.get_or_create(pk=1)[0]
