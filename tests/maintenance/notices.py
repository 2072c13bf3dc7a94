"""Create notices and policies with functions of the core; a test gives only the values that matter to it."""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from accounts.models import Subscription
from jobs.models import Job, Run
from maintenance import holds as maintenance_holds
from maintenance import lifecycle
from maintenance import resources as maintenance_resources
from maintenance.lifecycle import Announcement
from maintenance.models import EventScope, EventType, JobMaintenancePolicy, Notice, Resource, Transition
from maintenance.policies import PolicyInput
from tests.conftest import utc
from triggers.dispatch import dispatch_due

T0 = utc("2026-01-05T07:30:00Z")
EIGHT = utc("2026-01-05T08:00:00Z")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}
OPERATOR = "ada"


def resource(subscription: Subscription, name: str = "db-2", group: str = "", labels: dict | None = None) -> Resource:
    return maintenance_resources.register(subscription, name, group, labels or {}, T0)[0]


def announce(*resources: Resource, now: datetime = T0, actor: str = OPERATOR, **members) -> Notice:
    """Announce maintenance, by default a reboot in an hour."""
    if not members.get("has_started"):
        members.setdefault("not_before", now + HOUR)
    announcement = Announcement(**{"event_type": EventType.REBOOT, "resources": resources, **members})
    return lifecycle.announce(resources[0].subscription, announcement, actor, now)


def start(notice: Notice, now: datetime, actor: str = OPERATOR) -> None:
    lifecycle.approve([notice], actor, now)


def complete(notice: Notice, now: datetime) -> None:
    lifecycle.complete(notice, OPERATOR, now)


def cancel(notice: Notice, now: datetime) -> None:
    lifecycle.cancel(notice, OPERATOR, now)


def set_policy(job: Job, *names: str, now: datetime = T0, **values) -> JobMaintenancePolicy:
    return maintenance_holds.set_policy(job, PolicyInput(resource_names=names or ("db-2",), **values), now)


def holds(job: Job, *names: str, **values) -> JobMaintenancePolicy:
    return set_policy(job, *names, on_notice="hold", **values)


def status(notice: Notice) -> str:
    notice.refresh_from_db()
    return notice.status


def incarnations(subscription: Subscription) -> dict[str, int]:
    """Return the incarnation of each stored event scope."""
    return dict(EventScope.objects.filter(subscription=subscription).values_list("scope_key", "incarnation"))


def steps(notice: Notice) -> list[tuple[str, str]]:
    return list(Transition.objects.filter(notice=notice).values_list("status", "actor"))


def note(notice: Notice) -> str:
    """Return the detail of the latest transition."""
    return Transition.objects.filter(notice=notice).latest("pk").detail


def dispatch(now: datetime) -> None:
    dispatch_due(now)


def states(**filters) -> dict[str, str]:
    """Return the state of each scheduled run, by the hour and minute of its fire time."""
    runs: QuerySet[Run] = Run.objects.filter(origin=Run.Origin.SCHEDULE, **filters).order_by("fire_at")
    return {f"{run.fire_at:%H:%M}": run.state for run in runs}


def started_phases(job: Job | None = None) -> list[str]:
    """Return the phases for which notices started runs, of one job or of all."""
    runs = Run.objects.filter(manual_key__startswith="notice ").order_by("created_at", "manual_key")
    return [run.manual_key.rsplit(" ", 1)[1] for run in runs if job is None or run.job_id == job.pk]


def end(run: Run, state: str = Run.State.SUCCEEDED, now: datetime = T0) -> None:
    Run.objects.filter(pk=run.pk).update(state=state, finished_at=now)
