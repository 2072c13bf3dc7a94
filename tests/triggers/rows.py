"""Triggers in addition to a job's own schedule, and helpers that read what they have fired."""

from datetime import timedelta

from jobs.actions import AttemptResult
from jobs.models import Job, Run
from jobs.worker.leasing import lease
from jobs.worker.results import record
from tests.conftest import utc
from triggers.definitions import TriggerDefinition
from triggers.models import Trigger

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
START = utc("2026-01-05T08:00:00Z")
ONCE = {"startTime": "2026-01-05T08:00:00Z"}
HOURLY = TriggerDefinition(format="quartz", definition={"expression": "0 0 * * * ?"})
DAILY = TriggerDefinition(format="quartz", definition={"expression": "0 30 9 * * ?"})


def reloaded(trigger: Trigger) -> Trigger:
    return Trigger.objects.get(pk=trigger.pk)


def fired(**fields) -> list:
    return list(Run.objects.filter(**fields).order_by("fire_at", "priority").values_list("trigger_name", "fire_at"))


def carry_out_pending(now, succeeded=True) -> None:
    """Carry out all pending runs."""
    ids = [str(pk) for pk in Run.objects.filter(state__in=Run.PENDING).values_list("pk", flat=True)]
    record([(item, AttemptResult(succeeded, "done", may_retry=False)) for item in lease(ids, "worker", now)], now)


def state_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state
