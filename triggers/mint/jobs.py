"""The twenty jobs of Apigee's monetization: when each runs, which are disabled at first, and how to enable those.

Source: section 5 of the reference, which names the origin of each entry.  All times are UTC.  The jobs do not do here
what they did in Apigee: their tasks are placeholders, see `triggers.job_tasks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db import transaction

from accounts.models import Subscription
from jobs.models import Job, JobCollection
from recurrence.wire import simple
from triggers.definitions import JobDefinition, TriggerDefinition
from triggers.models import Trigger
from triggers.scheduling import LOCK_KEY, change_trigger, save_collection, save_job, save_trigger

COLLECTION = "monetization"
GROUP = "management-server"
SUITE = "DEFAULT"
DAY_MS = 86_400_000
EVENING, MORNING = time(21, 0), time(4, 30)


@dataclass(frozen=True, slots=True)
class MintJob:
    """A job with its trigger: `cron`, or `at`, the time of day of a trigger that an event switches on.

    `does` is a phrase that follows "which".  A job that `is_daily` checks its dates each day once it is enabled.
    """

    job: str
    title: str
    description: str
    cron: str = ""
    at: time | None = None
    is_daily: bool = False
    key: str = ""
    priority: int = 1
    is_on: bool = True

    @property
    def job_name(self) -> str:
        return self.job.removeprefix("MINT.").lower().replace("_", "-")

    @property
    def trigger_name(self) -> str:
        return f"{self.job}@@@{GROUP}@@@{SUITE}"

    @property
    def lock_key(self) -> str:
        own = self.key or self.job.removeprefix("MINT.").lower().replace("_", "")
        return f"mint.scheduler.__ORG_ID__.{own}@@@management"


def event(job: str, title: str, description: str, at: time = EVENING, is_daily: bool = False) -> MintJob:
    return MintJob(job, title, description, at=at, is_daily=is_daily, priority=4, is_on=False)


SHIPPED = (
    MintJob(
        "MINT.MONTHLY_DEV_TAXRATE",
        "Monthly developer tax rate",
        "asks the tax engine for each developer's rate and stores it",
        "0 45 5 1 * ?",
    ),
    MintJob(
        "MINT.RENEW_SUBSCRIPTIONS",
        "Renew subscription",
        "charges recurring fees of active rate plans and first fees of those that start today",
        "5 0 0 * * ?",
    ),
    MintJob(
        "MINT.XEFEED",
        "XeFeed updater",
        "fetches the exchange rate to US dollars of each supported currency",
        "1 0 0 * * ?",
    ),
    MintJob(
        "MINT.RENEW_DEV_RATEPLAN",
        "Renew developer rate plan",
        "rolls renewal dates over and computes early termination fees",
        "0 20 2 * * ?",
        key="renewydevrateplan",  # sic: the "y" before "dev" is in Apigee's key
    ),
    MintJob("MINT.RETRY_TX_RELAY", "Retry transaction relay", "was withdrawn and has no effect", "0 30 4 * * ?"),
    MintJob("MINT.TX_CLEANSER", "Transaction cleanser", "was withdrawn and has no effect", "0 30 5 * * ?"),
    MintJob(
        "MINT.DEVELOPER_BALANCE_AUDIT",
        "Developer balance audit",
        "copies usage and balances to an audit table, takes usage off the accounts and resets it to zero",
        "5 0 0 1 * ?",
    ),
    MintJob("MINT.MONTLY_BILLING_DOCS", "Monthly billing documents", "makes billing documents", "0 1 0 11 * ?"),  # sic
    MintJob(
        "MINT.RESET_DEVELOPER_RATE_PLAN_COUNTER",
        "Developer rate plan counter",
        "was withdrawn and has no effect",
        "3 0 0 * * ?",
    ),
    MintJob(
        "MINT.CHARGE_DAILY",
        "Daily charges",
        "recomputes the hourly totals, and from them those of the day before",
        "0 20 1 * * ?",
    ),
    MintJob("MINT.CHARGE_HOURLY", "Hourly charges", "computes totals for each quarter of an hour", "0 1/15 * * * ?"),
    MintJob(
        "MINT.REFRESH_NOTIFICATION_CONFIG",
        "Refresh notification configuration",
        "indexes the conditions of notifications again",
        "0 0/5 * * * ?",
    ),
    MintJob("MINT.EMAIL_NOTIFICATION", "Send e-mail notifications", "sends what has piled up", "0 0 * * * ?"),
    MintJob(
        "MINT.REFRESH_LIMIT",
        "Refresh limit",
        "was withdrawn and never runs",
        "0 0 0 1 1 ? 2099",
        is_on=False,
    ),
    event("MINT.NEW_PACKAGE_NOTIFY", "New package", "tells all developers of a new API package"),
    event("MINT.ADHOC_NOTIFY", "New ad hoc notification", "tells all developers of new API products in some markets"),
    event("MINT.NEW_PRODUCT_NOTIFY", "New product", "tells all developers of a new API product"),
    event(
        "MINT.NEW_RATEPLAN_NOTIFY",
        "New rate plan",
        "tells the developers concerned, on the day it starts, of a new rate plan",
        at=MORNING,
    ),
    event(
        "MINT.TNC_ACCEPTANCE_NOTIFY",
        "New terms and conditions",
        "tells developers who have not accepted them 30, 7 and 1 days before they start",
        is_daily=True,
    ),
    event(
        "MINT.EXPIRING_RATE_PLAN_NOTIFY",
        "Rate plan about to end",
        "tells the developers concerned 30, 7 and 1 days before its end",
        is_daily=True,
    ),
)
EVENTS = {shipped.trigger_name: shipped for shipped in SHIPPED if shipped.at}


def load(subscription: Subscription, now: datetime) -> int:
    """Create the jobs that the subscription lacks, and return their number; existing ones stay as they are."""
    with transaction.atomic():
        collection = JobCollection.objects.named(subscription.pk, "default", COLLECTION).first()
        if collection is None:
            collection = JobCollection(subscription=subscription, name=COLLECTION)
            save_collection(collection, now)
        existing = set(Trigger.objects.filter(job__collection=collection).values_list("name", flat=True))
        missing = [shipped for shipped in SHIPPED if shipped.trigger_name not in existing]
        for shipped in missing:
            job = Job.objects.named(collection, shipped.job_name).first()
            if job is None:
                action = {"type": "Task", "task": {"name": shipped.job}}
                job, _ = save_job(collection, shipped.job_name, JobDefinition(action=action, schedule=None), now)
            save_trigger(job, shipped.trigger_name, definition_of(shipped, now), now)
    return len(missing)


def definition_of(shipped: MintJob, now: datetime) -> TriggerDefinition:
    """Return the trigger as Apigee ships it; one that an event switches on gets the start of an enabling at `now`."""
    document: dict[str, Any] = {"expression": shipped.cron}
    if shipped.at:
        document = {"startTime": milliseconds(next_at(shipped.at, now))}
        if shipped.is_daily:
            document["interval"] = DAY_MS
    return TriggerDefinition(
        format="simple" if shipped.at else "quartz",
        definition=document,
        enabled=shipped.is_on,
        priority=shipped.priority,
        group=GROUP,
        data_map={LOCK_KEY: shipped.lock_key},
    )


def enable(trigger: Trigger, now: datetime) -> Trigger:
    """Enable a trigger; see `enabled_triggers`.  Raises what `change_trigger` raises."""
    return change_trigger(trigger, lambda definition: enabled_triggers(trigger.name, definition, now), now)


def enabled_triggers(name: str, definition: TriggerDefinition, now: datetime) -> TriggerDefinition:
    """Return the definition of the trigger `name` enabled at `now`.

    A trigger that an event switches on, and whose start has passed, gets a new start: its time of day today, or
    tomorrow when that has passed (section 5.2).  A future start stays, because a user has chosen it.
    """
    shipped = EVENTS.get(name)
    if shipped is None or shipped.at is None or definition.format != "simple" or starts_after(definition, now):
        return replace(definition, enabled=True)
    document = {**definition.definition, "startTime": milliseconds(next_at(shipped.at, now))}
    return replace(definition, enabled=True, definition=document)


def starts_after(definition: TriggerDefinition, now: datetime) -> bool:
    start = start_of(definition.definition)
    return start is not None and start > now


def start_of(document: Mapping[str, Any]) -> datetime | None:
    """Return when a simple trigger starts; None: at its creation."""
    return simple.moment(document.get("startTime"), "startTime")


def next_at(time_of_day: time, now: datetime) -> datetime:
    """Return the first moment after `now` with that time of day in UTC."""
    moment = datetime.combine(now.astimezone(UTC), time_of_day, UTC)
    return moment if moment > now else moment + timedelta(days=1)


def milliseconds(instant: datetime) -> str:
    """Return an instant as Apigee writes it: the digits of the milliseconds since 1970."""
    return str(round(instant.timestamp() * 1000))
