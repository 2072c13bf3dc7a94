"""The processes of an installation, and what they have done last."""

from datetime import datetime, timedelta
from typing import Self

from django.db import models

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
