"""What is known of a long request, from its acceptance until a day and more after its end."""

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

SILENCE = timedelta(minutes=2)  # between two steps: a worker not heard of for longer has died
UNHEARD = timedelta(seconds=30)  # after its acceptance: a message not acted upon for longer counts as lost


class OperationQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))

    def about(self, target: str) -> Self:
        """Those of a target, in any case: it is ASCII."""
        return self.filter(Exact(Lower("target"), target.lower()))

    def open(self) -> Self:
        """Those in a state of OPEN, told by what an index finds."""
        return self.filter(finished_at=None)

    def abandoned(self, now: datetime) -> Self:
        """Those whose worker has died."""
        return self.open().filter(lease_token__isnull=False, heartbeat_at__lt=now - SILENCE)

    def unheard(self, now: datetime) -> Self:
        """Those that no worker is at, and of which the message was lost."""
        return self.open().filter(lease_token=None, published_at__lt=now - UNHEARD)


class Operation(models.Model):
    """A long request and how far it is.  Its end never changes."""

    class State(models.TextChoices):
        ACCEPTED = "accepted"  # no worker has taken it up yet
        RUNNING = "running"  # a worker is at it, or another will go on with it
        SUCCEEDED = "succeeded"
        FAILED = "failed"  # what it is about was put back as far as that is possible
        CANCELED = "canceled"  # the same, because somebody asked for it

    OPEN = (State.ACCEPTED, State.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, db_index=False, related_name="+")
    kind = models.CharField(max_length=64)  # names the work, see `operations.work`
    target = models.CharField(max_length=500)  # what it is about, as people call it
    place = models.CharField(max_length=64, default="global")  # the location in its addresses
    # one open operation at a time for what this names
    target_key = models.CharField(max_length=64)
    state = models.CharField(max_length=16, choices=State, default=State.ACCEPTED)
    percent = models.PositiveSmallIntegerField(default=0, validators=[MaxValueValidator(100)])
    notes = models.JSONField(default=dict)  # the work's own, from one step to the next
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.TextField(blank=True)
    correlation_id = models.CharField(max_length=64, blank=True)
    client_request_id = models.CharField(max_length=64, blank=True)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, db_index=False, related_name="+"
    )
    cancel_asked_at = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)  # of the worker that is at it
    published_at = models.DateTimeField()  # the newest message about it
    heartbeat_at = models.DateTimeField(null=True)  # its newest step
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
            # serves the list of a subscription's, newest first
            models.Index(fields=["subscription", "-created_at", "-id"], name="operation_of_subscription"),
            # serves the same list of one state
            models.Index(fields=["subscription", "state", "-created_at", "-id"], name="operation_of_state"),
            # serves the same list of one target
            models.Index(
                "subscription", Lower("target"), F("created_at").desc(), F("id").desc(), name="operation_of_target"
            ),
            # serves the lists of everybody's
            models.Index(fields=["-created_at", "-id"], name="operation_newest"),
            # serves pruning and `open`, for which SQLite would use no partial one
            models.Index(fields=["finished_at"], name="operation_finished"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.target}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN
