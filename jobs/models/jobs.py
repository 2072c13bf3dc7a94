"""Collections of jobs, jobs, and their actions."""

import uuid
from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

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
