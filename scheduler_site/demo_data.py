"""Samples for a new installation.

The jobs call the installation's own echo page or tasks, a calendar has events, and maintenance of resources is
announced.
"""

import logging
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlsplit

from accounts.models import DEFAULT_SUBSCRIPTION_ID, Subscription, User
from calendars import editing
from calendars.editing import WallTime
from calendars.models import Color
from jobs.actions.addresses import closed_host_reason
from jobs.models import Job, JobCollection
from maintenance import holds, lifecycle
from maintenance import resources as maintenance_resources
from maintenance.lifecycle import Announcement
from maintenance.models import EventType, JobMaintenancePolicy, NoticePhase
from maintenance.policies import PolicyInput
from triggers.definitions import JobDefinition
from triggers.mint import jobs as mint_jobs
from triggers.scheduling import save_collection, save_job

logger = logging.getLogger(__name__)

CALENDAR = "Team"
RESOURCES = {
    "db-1": ("databases", {"kind": "database"}),
    "db-2": ("databases", {"kind": "database"}),
    "db-3": ("databases", {"kind": "database"}),
    "web-1": ("", {"kind": "web"}),
}
WEEK = timedelta(weeks=1)
DAY = timedelta(days=1)
TUESDAYS = {"type": "weekly", "daysOfWeek": ["tuesday"], "firstDayOfWeek": "monday"}
THIRD_THURSDAYS = {"type": "relativeMonthly", "daysOfWeek": ["thursday"], "index": "third"}
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"]


def load(subscription: Subscription, echo_url: str, now: datetime) -> None:
    """Create the sample collections that `subscription` lacks, with their jobs.

    If calls may not reach the echo page, the jobs that call it are left out, and the log has the reason.
    """
    host = urlsplit(echo_url).hostname or ""
    reason = closed_host_reason(host)
    if reason:
        logger.warning("The samples that call this installation are left out: %s %s.", host, reason)
    for name, jobs in collections(echo_url).items() if reason is None else ():
        if JobCollection.objects.named(subscription.pk, "default", name).exists():
            continue
        collection = JobCollection(subscription=subscription, name=name, tags={"sample": "yes"})
        save_collection(collection, now)
        for job, document in jobs.items():
            save_job(collection, job, JobDefinition.of(document), now)
    if not JobCollection.objects.named(subscription.pk, "default", mint_jobs.COLLECTION).exists():
        mint_jobs.load(subscription, now)


def are_loaded() -> bool:
    """Return True if the default subscription has one of the collections that `load` creates."""
    named = JobCollection.objects.filter(resource_group__lower="default", name__lower__in=list(collections("")))
    return named.filter(subscription_id=DEFAULT_SUBSCRIPTION_ID, tags__sample="yes").exists()


def load_maintenance(subscription: Subscription, actor: str, now: datetime) -> None:
    """Give `subscription` a group of databases and a web server, announced maintenance of them, and job policies.

    The tokens of the resources are not stored: to poll for a resource, create a new token for it.
    """
    resources = {
        name: maintenance_resources.register(subscription, name, group, labels, now)[0]
        for name, (group, labels) in RESOURCES.items()
    }
    in_collection = {"collection__subscription": subscription, "collection__name": "maintenance"}
    for job in Job.objects.filter(name="nightly-backup", **in_collection):
        holds.set_policy(
            job,
            PolicyInput(
                labels={"kind": "database"},
                on_notice=JobMaintenancePolicy.OnNotice.HOLD,
                lead_time=timedelta(minutes=30),
            ),
            now,
        )
    for job in Job.objects.filter(name="import-old-data", **in_collection):
        holds.set_policy(job, PolicyInput(resource_names=["web-1"], run_at_phases=[NoticePhase.COMPLETE]), now)
    redeploy = Announcement(
        EventType.REDEPLOY, [resources["web-1"]], description="New image 4.2", duration_s=300, has_started=True
    )
    lifecycle.announce(subscription, redeploy, actor, now)
    tonight = now.replace(hour=2, minute=0, second=0, microsecond=0) + DAY
    reboot = Announcement(
        EventType.REBOOT,
        [resources["db-2"], resources["db-3"]],
        not_before=tonight,
        description="Kernel update",
        duration_s=90 * 60,
    )
    lifecycle.announce(subscription, reboot, actor, now)


def collections(echo_url: str) -> dict[str, dict[str, dict]]:
    """Return job documents by collection and name."""
    return {
        "monitoring": {
            "ping-every-minute": {
                "action": call(echo_url, "GET"),
                "recurrence": {"frequency": "Minute", "interval": 1},
            },
            "partner-that-is-down": {
                "action": {
                    **call(f"{echo_url}?status=503", "GET"),
                    "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT15S", "retryCount": 2},
                    "errorAction": call(echo_url, "POST", "The partner did not answer, three times in a row."),
                },
                "recurrence": {"frequency": "Minute", "interval": 10},
            },
            "check-in-office-hours": {
                "action": call(echo_url, "GET"),
                "recurrence": {
                    "frequency": "Week",
                    "schedule": {"weekDays": WEEKDAYS, "hours": [*range(9, 17)], "minutes": [0, 15, 30, 45]},
                },
            },
        },
        "billing": {
            "month-end-statements": {
                "action": call(echo_url, "POST", '{"send": "statements"}'),
                "recurrence": {
                    "frequency": "Month",
                    "schedule": {"monthDays": [-1], "hours": [18], "minutes": [0]},
                },
            },
            "first-friday-invoices": {
                "action": call(echo_url, "POST", '{"send": "invoices"}'),
                "recurrence": {
                    "frequency": "Month",
                    "schedule": {
                        "monthlyOccurrences": [{"day": "friday", "occurrence": 1}],
                        "hours": [9],
                        "minutes": [0],
                    },
                },
            },
            "reminders": {
                "action": call(echo_url, "POST", '{"send": "reminders"}'),
                "recurrence": {
                    "frequency": "Week",
                    "interval": 2,
                    "schedule": {"weekDays": ["tuesday"], "hours": [7], "minutes": [30]},
                },
                "state": "Disabled",
            },
        },
        "maintenance": {
            "nightly-backup": {
                "action": call(echo_url, "POST", '{"run": "backup"}'),
                "recurrence": {"frequency": "Day", "schedule": {"hours": [2], "minutes": [30]}},
            },
            "warm-up-three-times": {
                "action": call(echo_url, "GET"),
                "recurrence": {"frequency": "Minute", "interval": 1, "count": 3},
            },
            "import-old-data": {
                "action": call(echo_url, "POST", '{"run": "import"}'),
            },
            "fetch-a-page-that-is-gone": {
                "action": {**call(f"{echo_url}?status=410", "GET"), "retryPolicy": {"retryType": "None"}},
            },
        },
    }


def call(uri: str, method: str, body: str | None = None) -> dict:
    request: dict = {"uri": uri, "method": method}
    if body is not None:
        request |= {"headers": {"Content-Type": "application/json" if body[0] == "{" else "text/plain"}, "body": body}
    return {"type": "Http", "request": request}


def load_calendar(owner: User, now: datetime) -> None:
    """Give `owner` a calendar with a weekly series, a monthly series and some days off, close to `now`."""
    calendar = editing.create_calendar(owner, CALENDAR, Color.MOSS, now)
    today = now.astimezone(UTC).date()
    monday = today - today.weekday() * DAY
    standup = timed(monday - 8 * WEEK, time(9, 30), timedelta(minutes=15))
    editing.create(
        calendar, {"subject": "Stand-up", "categories": ["Team"], **standup, **repeated(standup, TUESDAYS)}, now
    )
    hour = timed(today.replace(day=1) - 26 * WEEK, time(14), timedelta(hours=1))
    content = {
        "subject": "Monthly review",
        "body": "What ran, what did not, and why.",
        "locations": [{"displayName": "Room 2"}],
    }
    review, _ = editing.create(calendar, {**content, **hour, **repeated(hour, THIRD_THURSDAYS)}, now)
    this, following = (each.day for each in review.series.occurrences(*two_months(now)))
    editing.change_occurrence(review, this, timed(this + DAY, time(15), timedelta(hours=1)), now)
    editing.cancel_occurrence(review, following, now)
    off = timed(monday + WEEK + 2 * DAY, time(), 3 * DAY)
    editing.create(calendar, {"subject": "Out of office", "show_as": "oof", "is_all_day": True, **off}, now)


def timed(day: date, start: time, length: timedelta) -> dict[str, WallTime]:
    begins = datetime.combine(day, start)
    return {"start": WallTime(begins, "UTC"), "end": WallTime(begins + length, "UTC")}


def repeated(times: dict[str, WallTime], pattern: dict) -> dict[str, dict]:
    limits = {"type": "noEnd", "startDate": times["start"].wall.date().isoformat()}
    return {"recurrence": {"pattern": {"interval": 1, **pattern}, "range": limits}}


def two_months(now: datetime) -> tuple[datetime, datetime]:
    """Return the start of the month of `now`, and the end of the month after it."""
    first = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return first, (first + 63 * DAY).replace(day=1)
