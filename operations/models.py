"""The model of operations.  A row stays from the acceptance of a request until a day or longer after its end."""

import uuid
from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from accounts.models import Role, Subscription

HEARTBEAT_TIMEOUT = timedelta(minutes=2)  # without a step: after this time the worker counts as dead
PUBLISH_TIMEOUT = timedelta(seconds=30)  # without a worker: after this time the message counts as lost


class OperationQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))

    def about(self, target: str) -> Self:
        """Filter for operations of a target, which is ASCII, ignoring case."""
        return self.filter(Exact(Lower("target"), target.lower()))

    def open(self) -> Self:
        """Filter for operations in a state of OPEN.  Uses `finished_at`, because it has an index."""
        return self.filter(finished_at=None)

    def abandoned(self, now: datetime) -> Self:
        """Filter for open operations whose worker has died."""
        return self.open().filter(lease_token__isnull=False, heartbeat_at__lt=now - HEARTBEAT_TIMEOUT)

    def undelivered(self, now: datetime) -> Self:
        """Filter for open operations that no worker has leased and whose message was lost."""
        return self.open().filter(lease_token=None, published_at__lt=now - PUBLISH_TIMEOUT)


class Operation(models.Model):
    """A long request and its progress.  Once it has ended, its state never changes."""

    class State(models.TextChoices):
        ACCEPTED = "accepted"  # no worker has leased it yet
        RUNNING = "running"  # a worker has leased it, or another one will continue it
        SUCCEEDED = "succeeded"
        FAILED = "failed"  # its steps were undone as far as possible
        CANCELED = "canceled"  # cancelled by a user; its steps were undone as far as possible

    OPEN = (State.ACCEPTED, State.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, db_index=False, related_name="+")
    kind = models.CharField(max_length=64)  # names the handler, see `operations.handlers`
    target = models.CharField(max_length=500)  # name of the target, for people
    location = models.CharField(max_length=64, default="global")  # the location in its ARM addresses
    # identifies the target: one open operation at a time for each key
    target_key = models.CharField(max_length=64)
    state = models.CharField(max_length=16, choices=State, default=State.ACCEPTED)
    percent = models.PositiveSmallIntegerField(default=0, validators=[MaxValueValidator(100)])
    state_data = models.JSONField(default=dict)  # data of the handler, from one step to the next
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    correlation_id = models.CharField(max_length=64, blank=True)
    client_request_id = models.CharField(max_length=64, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        db_index=False,
        related_name="+",
    )
    cancel_requested_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)  # of the worker that has leased it; null: none
    published_at = models.DateTimeField()  # when the newest message to workers was sent
    heartbeat_at = models.DateTimeField(null=True)  # the newest step
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = OperationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["target_key"], condition=Q(state__in=["accepted", "running"]), name="one_open_operation"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["accepted", "running"], finished_at=None)
                | Q(state__in=["succeeded", "failed", "canceled"], finished_at__isnull=False, lease_token=None),
                name="operation_is_open_or_has_ended",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["failed", "canceled"]) ^ Q(error_code=""), name="operation_error_tells_its_end"
            ),
        ]
        indexes = [
            # serves the list of one subscription, newest first
            models.Index(fields=["subscription", "-created_at", "-id"], name="operation_of_subscription"),
            # serves the list of one subscription and state
            models.Index(fields=["subscription", "state", "-created_at", "-id"], name="operation_of_state"),
            # serves the list of one subscription and target
            models.Index(
                "subscription", Lower("target"), F("created_at").desc(), F("id").desc(), name="operation_of_target"
            ),
            # serves the list over all subscriptions
            models.Index(fields=["-created_at", "-id"], name="operation_newest"),
            # serves pruning and `open`; not partial, because SQLite would not use a partial index for `open`
            models.Index(fields=["finished_at"], name="operation_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.target}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN
