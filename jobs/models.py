"""What runs, and what happened: collections of jobs, their actions, runs and attempts."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import Role, Subscription
from jobs.encryption import EncryptedSecretsField, Secrets
from jobs.names import NAME_LENGTH, validate_name, validate_resource_group

models.CharField.register_lookup(Lower)  # `name__lower=` is answered by the unique indexes on Lower("name")


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
        """The one with this name, in any spelling of upper and lower case."""
        return self.filter(
            subscription_id=subscription_id, resource_group__lower=resource_group.lower(), name__lower=name.lower()
        )


class JobCollection(models.Model):
    """A group of jobs with a common quota.  It lets its jobs run only while it is enabled."""

    class State(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"  # by its users: nothing in it runs, each job keeps its own state
        SUSPENDED = "suspended"  # set from outside, as the original did for subscriptions that were cut off
        DELETED = "deleted"  # being deleted: it takes no writes, and nothing in it runs

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
    revision = models.PositiveIntegerField(default=1, editable=False)  # counts the changes of all above
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

    def turn(self, state: str) -> None:
        """Save its new state, which is a new version of it.  The caller has locked the row."""
        self.state = state
        self.revision += 1
        self.save(update_fields=["state", "revision", "updated_at"])


class Action(models.Model):
    """What a run does: one version of it, never changed.

    A job points at its current version and a run at the one it was made with, so that an edit takes effect for
    occurrences after it and history shows what was really done.  Versions that nothing points at are pruned.
    """

    document = models.JSONField(help_text="The wire form without its secrets: type, message, retryPolicy, errorAction.")
    # quoted, since fields take parameters from type checkers only
    secrets: "models.Field[Secrets, Secrets]" = EncryptedSecretsField(default="", blank=True, editable=False)
    secrets_set_at = models.JSONField(default=dict, editable=False)  # {path of a secret: when it was written, ISO}
    certificate_expires_at = models.DateTimeField(null=True, editable=False)  # the first of its client certificates
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            # serves the certificates to renew
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
    """A name, an action and what became of it.  When it runs is its triggers' matter."""

    class State(models.TextChoices):
        ENABLED = "enabled"
        DISABLED = "disabled"
        COMPLETED = "completed"  # final: nothing left to run, and the last run succeeded
        FAULTED = "faulted"  # final: nothing left to run, and the last run failed

    class Overlap(models.TextChoices):
        """What happens to an occurrence while an earlier one of the job runs or is being retried."""

        ALLOW = "allow"  # both run
        SKIP = "skip"  # it is recorded as skipped
        QUEUE_ONE = "queue_one"  # it waits; further ones are skipped while one waits
        QUEUE_ALL = "queue_all"  # it waits, up to QUEUE_LIMIT at a time

    class Delivery(models.TextChoices):
        AT_LEAST_ONCE = "at_least_once"  # an attempt cut off by a crash is tried again
        AT_MOST_ONCE = "at_most_once"  # it is recorded as lost

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
    finished_at = models.DateTimeField(null=True, editable=False)  # when it became completed or faulted

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


class SigningSecretQuerySet(models.QuerySet):
    def live(self, now: datetime) -> Self:
        """Those that sign at `now`, newest first."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now)).order_by("-created_at", "-pk")


SIGNING = "signing"


class SigningSecret(models.Model):
    """A secret with which the requests of a job are signed, so that their receiver knows where they come from.

    A job has one without an end, and for the time of an overlap those that it replaced.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="signing_secrets")
    secrets: "models.Field[Secrets, Secrets]" = EncryptedSecretsField(editable=False)  # under SIGNING
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)  # null: until it is replaced or removed

    objects = SigningSecretQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job"], condition=Q(expires_at=None), name="one_lasting_signing_secret")
        ]

    def __str__(self) -> str:
        return f"signing secret of {self.created_at:%Y-%m-%d %H:%M:%SZ}"


class RunQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))

    def ready(self, now: datetime) -> Self:
        """Runs that wait for a worker and whose last message, if any, is old enough to count as lost."""
        return self.filter(state__in=Run.PENDING, publish_after__lte=now).order_by("publish_after")

    def still_pending(self, ids: Iterable[uuid.UUID | str]) -> Self:
        """Those of the runs that wait for a worker.

        Says which states do not, so that PostgreSQL finds them by their ids: the index of those that do could hold very
        many at the moment, of which its statistics know nothing yet.
        """
        others = [state for state in Run.State if state not in Run.PENDING]
        return self.filter(pk__in=list(ids)).exclude(state__in=others)

    def next_publish_after(self) -> datetime | None:
        """When the next message about a run is due."""
        pending = self.filter(state__in=Run.PENDING).order_by("publish_after")
        return pending.values_list("publish_after", flat=True).first()

    def held(self, runs: Iterable["Run"]) -> Self:
        """Those of the runs whose lease is still the one that they were read with."""
        tokens = {run.pk: run.lease_token for run in runs}
        return self.filter(pk__in=list(tokens), lease_token__in=set(tokens.values()))

    def in_turn(self) -> Self:
        """Locked in the order in which everybody locks them who waits for several, see jobs/locking.py."""
        return self.order_by("pk").select_for_update(of=("self",), no_key=True)

    def expired(self, now: datetime) -> Self:
        """Runs whose worker has not renewed its lease in time."""
        return self.filter(state=Run.State.RUNNING, leased_until__lt=now)


class Run(models.Model):
    """One occurrence of a job: a row for each fire time, whether it was run or not, and for each run by hand.

    The row is its own outbox: `publish_after` says when a message about it is to be sent (again).  It outlives its
    job and trigger, so it carries their names.
    """

    class State(models.TextChoices):
        WAITING = "waiting"  # for a worker, or for `publish_after`
        RUNNING = "running"  # a worker has the lease
        RETRYING = "retrying"  # an attempt failed, the next is due at `publish_after`
        FOLLOWING = "following"  # an operation that its attempt began goes on: `following` says when it is polled
        HELD = "held"  # until what `held_by` names lets it go
        SUCCEEDED = "succeeded"
        FAILED = "failed"  # every attempt failed
        MISSED = "missed"  # discovered too late, dropped by the misfire policy
        SKIPPED = "skipped"  # an earlier run was still going, or the job was stopped
        CANCELLED = "cancelled"  # by a person, before it ran
        LOST = "lost"  # its worker vanished and it may not be tried again: outcome unknown

    class Origin(models.TextChoices):
        SCHEDULE = "schedule"
        MANUAL = "manual"
        ERROR_ACTION = "error_action"  # follows a failed run, `parent`

    PENDING = (State.WAITING, State.RETRYING, State.FOLLOWING)
    BEGUN = (State.RUNNING, State.RETRYING, State.FOLLOWING)  # between the first attempt and the last: it has its lock
    OPEN = (*PENDING, State.RUNNING, State.HELD)

    # foreign keys without an index of their own are the first column of one below
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)  # the Idempotency-Key of its calls
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, db_index=False, related_name="+")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, db_index=False, related_name="runs")
    action = models.ForeignKey(Action, null=True, on_delete=models.PROTECT, related_name="+")
    collection_name = models.CharField(max_length=NAME_LENGTH)
    job_name = models.CharField(max_length=NAME_LENGTH)
    trigger_name = models.CharField(max_length=NAME_LENGTH, null=True)  # null: not from a schedule
    origin = models.CharField(max_length=16, choices=Origin, default=Origin.SCHEDULE)
    parent = models.OneToOneField("self", null=True, on_delete=models.CASCADE, related_name="error_run")
    manual_key = models.CharField(max_length=100, null=True)  # the caller's own key of a run by hand
    fire_at = models.DateTimeField()  # when it is meant to run
    occurrence = models.PositiveIntegerField(null=True)  # its number among its trigger's, from 1; null: not from one
    is_last = models.BooleanField(default=False)  # its trigger has nothing further: the job ends with it

    state = models.CharField(max_length=16, choices=State, default=State.WAITING)
    reason = models.CharField(max_length=200, blank=True)  # why it was not run, in words
    missed_count = models.PositiveIntegerField(default=1)  # fire times this row stands for; above 1 only when missed
    missed_until = models.DateTimeField(null=True)  # the last of them

    queue = models.CharField(max_length=100, default="default")
    priority = models.SmallIntegerField(default=5)  # of runs with one fire time, the lower begins first
    publish_after = models.DateTimeField()  # earliest moment of the next message about it
    not_before = models.DateTimeField(null=True)  # earliest moment of the next attempt or poll; null: at once
    attempt_count = models.PositiveSmallIntegerField(default=0)
    failed_count = models.PositiveSmallIntegerField(default=0)  # attempts that its retry policy counts: failed or lost
    lock_key = models.CharField(max_length=200, null=True)  # runs with equal keys never overlap
    held_by = models.CharField(max_length=64, null=True)  # while it is held: the gate's own name of the reason
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
            # the overlap policy: the database lets one run hold a key, from its first attempt to its last
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
            # serves the runs that a gate lets go; of this condition SQLite can tell that a query has it
            models.Index(fields=["held_by", "job"], name="run_held", condition=Q(held_by__isnull=False)),
            # serves the history of a job, newest first
            models.Index(fields=["job", "-fire_at"], name="run_of_job"),
            # serves the lists of a subscription's runs and the failures among them, newest first
            models.Index(fields=["subscription", "-fire_at", "-id"], name="run_of_subscription"),
            models.Index(fields=["state", "-fire_at"], name="run_by_state"),
            # serves the calendar: rows that stand for missed fire times up to a later one
            models.Index(fields=["missed_until"], name="run_missed_until", condition=Q(missed_until__isnull=False)),
            # serves pruning
            models.Index(fields=["finished_at"], name="run_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.job_name} at {self.fire_at:%Y-%m-%d %H:%M:%SZ}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN


class Attempt(models.Model):
    """One try to carry out a run."""

    class State(models.TextChoices):
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        LOST = "lost"  # its worker vanished: whether the target was called is unknown

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


class Following(models.Model):
    """An operation that an attempt has begun and that has not ended.  The row is gone as soon as nobody asks any more.

    Between two polls its run is FOLLOWING, during one RUNNING: who has the run's lease may write here.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="following")
    attempt = models.OneToOneField(Attempt, on_delete=models.CASCADE, related_name="+")
    by = models.CharField(max_length=16)  # one of actions.outcome.By
    host = models.CharField(max_length=300)  # that is polled, with its port
    # the whole address, which may hold a key, under ADDRESS
    secrets: "models.Field[Secrets, Secrets]" = EncryptedSecretsField(editable=False)
    since = models.DateTimeField()
    until = models.DateTimeField()  # the last poll is made then
    poll_count = models.PositiveIntegerField(default=0)
    trouble_count = models.PositiveSmallIntegerField(default=0)  # of the last polls, how many told nothing

    ADDRESS = "address"

    def __str__(self) -> str:
        return f"operation of {self.run_id}"


class Poll(models.Model):
    """One question how an operation goes on, and what was answered."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, db_index=False, related_name="polls")
    number = models.PositiveIntegerField()  # from 1, within its attempt
    worker = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    status_code = models.PositiveSmallIntegerField(null=True)
    status = models.CharField(max_length=64, blank=True)  # of the operation, in the target's word; empty: not told
    percent = models.FloatField(null=True)  # complete, 0 to 100
    retry_after_s = models.PositiveIntegerField(null=True)  # how long the target asked to be left alone
    message = models.TextField(blank=True)
    body = models.TextField(blank=True)  # as of an attempt; only of an answer that ended it, or told nothing

    class Meta:
        constraints = [models.UniqueConstraint(fields=["attempt", "number"], name="poll_number")]

    def __str__(self) -> str:
        return f"poll {self.number} of attempt {self.attempt_id}"


PROCESS_SILENCE = timedelta(seconds=30)  # a process not heard of for longer counts as gone


class ProcessQuerySet(models.QuerySet):
    def alive(self, now: datetime) -> Self:
        return self.filter(seen_at__gte=now - PROCESS_SILENCE)

    def served(self, now: datetime) -> set[str]:
        """The queues that a living worker serves."""
        workers = self.alive(now).filter(kind=Process.Kind.WORKER).values_list("queues", flat=True)
        return {queue for queues in workers for queue in queues}


class Process(models.Model):
    """A beat or a worker that has reported itself: how a page knows whether the scheduler is alive."""

    class Kind(models.TextChoices):
        BEAT = "beat"
        WORKER = "worker"

    kind = models.CharField(max_length=8, choices=Kind)
    name = models.CharField(max_length=200)  # host and process id
    queues = models.JSONField(default=list)  # that a worker serves
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # a beat: its last pass; a worker: its last heartbeat

    objects = ProcessQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "processes"
        constraints = [models.UniqueConstraint(fields=["kind", "name"], name="process_name")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
