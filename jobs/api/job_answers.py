"""Answers of /api/jobs: the documents of jobs, and of the secrets that sign their requests."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.utils import timezone
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, IntegerField

from api.answers import GIVEN, Answer, Member
from api.fields import InstantField
from jobs.actions.hosts import unicode_hosts
from jobs.api.holds import HoldSerializer, rendered_hold
from jobs.api.schemas import ActionField, RecurrenceField
from jobs.models import Job, SigningSecret
from jobs.warnings import warnings_of
from triggers.api.fields import ScheduleField
from triggers.api.triggers import canonical_definition
from triggers.definitions import azure_members
from triggers.descriptions import job_schedule_warnings
from triggers.models import MAIN, Trigger
from triggers.upcoming import next_runs


class SigningSecretSerializer(Answer):
    createdAt = Member(InstantField, "When it was made.", example="2026-01-01T09:30:00Z")
    expiresAt = Member(
        InstantField, "Null for the newest, which has no end.", nullable=True, example="2026-01-08T09:30:00Z"
    )


class SigningSerializer(Answer):
    since = Member(InstantField, "When the newest secret was made.", GIVEN, example="2026-01-01T09:30:00Z")
    secrets = Member(SigningSecretSerializer, "Those that sign now, newest first.", GIVEN, many=True)


class JobWarningSerializer(Answer):
    code = Member(CharField, "The kind of warning, for programs.", example="credentials_over_http")
    target = Member(CharField, "The path of the member.", example="action.request.authentication")
    message = Member(
        CharField,
        "What you should know, for people.",
        example="The address begins with http: the credentials travel unencrypted. Take https.",
    )


class JobSerializer(Answer):
    id = Member(IntegerField, "The id in its address.", example=1)
    collection = Member(IntegerField, "The id of its collection.", "collection_id", example=1)
    collectionName = Member(CharField, "The name of its collection.", "collection__name", example="nightly")
    name = Member(CharField, "Unique in its collection, in any case.", example="collect-orders")
    state = Member(ChoiceField, "`completed` and `faulted` are final.", choices=Job.State.values, example="enabled")
    action = Member(
        ActionField,
        "What a run does, without its secrets.",
        "action__document",
        example={"type": "Https", "request": {"method": "POST", "uri": "https://shop.example.com/orders/collect"}},
    )
    schedule = Member(
        ScheduleField,
        "When it runs; null: it has no schedule of its own.",
        GIVEN,
        nullable=True,
        example={
            "format": "azure",
            "startTime": "2026-01-05T08:00:00Z",
            "recurrence": {"frequency": "Day", "interval": 1},
        },
    )
    startTime = Member(
        InstantField,
        "That of `schedule`, if this is in the format `azure` and in UTC and has no other members; null:"
        " it is another schedule, or has none.",
        GIVEN,
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )
    recurrence = Member(
        RecurrenceField,
        "That of `schedule`, if this is in the format `azure` and in UTC and has no other members; null:"
        " it is another schedule, or has none.",
        GIVEN,
        nullable=True,
        example={"frequency": "Day", "interval": 1},
    )
    ownSchedule = Member(
        BooleanField,
        "Whether it has a `schedule`; `false`: it runs only by hand and by its additional triggers.",
        GIVEN,
        example=True,
    )
    triggerCount = Member(IntegerField, "How many triggers it has beside its own schedule.", GIVEN, example=0)
    overlap = Member(
        ChoiceField,
        "What happens to an occurrence while an earlier one is still going.",
        choices=Job.Overlap.values,
        example="skip",
    )
    delivery = Member(
        ChoiceField,
        "Whether an attempt that a crash cut off is made again.",
        choices=Job.Delivery.values,
        example="at_least_once",
    )
    misfire = Member(
        ChoiceField,
        "Of its own schedule; null: it has none.",
        GIVEN,
        nullable=True,
        choices=Trigger.Misfire.values,
        example="fire_once",
    )
    nextRunAt = Member(
        InstantField,
        "When it runs next, as far as is known: after a hold, if its fire time is held.  Null while it is "
        "stopped, when nothing is left, and where nobody knows how long a hold lasts.",
        GIVEN,
        nullable=True,
        example="2026-01-06T08:10:00Z",
    )
    hold = Member(HoldSerializer, "What holds the next run; null: nothing.", GIVEN, nullable=True)
    lastRunAt = Member(
        InstantField,
        "When the last attempt began; null: there was none.",
        "last_execution_at",
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )
    executionCount = Member(
        IntegerField, "Attempts, retries included; the name is that of Azure Scheduler.", example=42
    )
    failureCount = Member(IntegerField, "Attempts that failed.", example=2)
    faultedCount = Member(IntegerField, "Occurrences whose every attempt failed.", example=0)
    revision = Member(IntegerField, "Counts the changes of its definition and state.", example=3)
    createdAt = Member(InstantField, "When it was made.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(InstantField, "When its definition or state was last changed.", example="2026-01-02T10:00:00Z")
    finishedAt = Member(InstantField, "When it became completed or faulted.", nullable=True, example=None)
    secretsSetAt = Member(
        DictField,
        "When each secret of the action was written, by its path below `action`.",
        "action__secrets_set_at",
        child=InstantField(),
        example={"request.authentication.password": "2026-01-01T09:30:00Z"},
    )
    unicodeHosts = Member(
        DictField,
        "International hosts of the action as people read them, by the path of their address below `action`."
        "  The addresses have the ASCII form.",
        lambda row: unicode_hosts(row["action__document"]),
        child=CharField(),
        example={"request.uri": "bücher.example"},
    )
    signing = Member(
        SigningSerializer,
        "With what its requests are signed (Standard Webhooks); null: they are not.",
        GIVEN,
        nullable=True,
    )
    warnings = Member(JobWarningSerializer, "What was accepted, but you should know.", GIVEN, many=True)


class NewSigningSecretSerializer(Answer):
    secret = Member(CharField, "Shown this once.", GIVEN, example="whsec_...")
    createdAt = Member(InstantField, "When it was made.", GIVEN, example="2026-01-01T09:30:00Z")
    overlapEndsAt = Member(
        InstantField,
        "Until when the secret that was replaced signs too; null: there was none.",
        GIVEN,
        nullable=True,
        example="2026-01-08T09:30:00Z",
    )


JOB_COLUMNS = JobSerializer.columns()
TRIGGER_FIELDS = (
    *("name", "format", "definition", "anchored_at", "closed_days", "misfire"),
    *("next_fire_at", "previous_fire_at", "fires_left"),
)


def rendered_jobs(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the documents of jobs.

    The number of queries does not depend on the number of rows: three, one more if a trigger has fired lately, and two
    more while any job may be held.
    """
    rows, now = list(rows), timezone.now()
    ids = [row["id"] for row in rows]
    triggers: dict[int, dict[str, Trigger]] = defaultdict(dict)
    for trigger in Trigger.objects.filter(job__in=ids).only("job_id", *TRIGGER_FIELDS):
        triggers[trigger.job_id][trigger.name] = trigger
    expected = next_runs(ids, [each for of_job in triggers.values() for each in of_job.values()], now)
    signed = signing_secrets_of(ids, now)
    for row in rows:
        own, next_run = triggers[row["id"]].get(MAIN), expected.get(row["id"])
        warnings = (*warnings_of(row["action__document"], now), *(job_schedule_warnings(own, now) if own else ()))
        yield JobSerializer.render(
            row,
            **members_of_schedule(own),
            triggerCount=len(triggers[row["id"]].keys() - {MAIN}),
            nextRunAt=next_run and next_run.runs_at,
            hold=next_run and rendered_hold(next_run.fire_at, next_run.hold),
            signing=rendered_signing(signed[row["id"]]),
            warnings=[JobWarningSerializer.render(each) for each in warnings],
        )


def members_of_schedule(own: Trigger | None) -> dict[str, Any]:
    """Return the members of a job that its own schedule has.  None: it has no own schedule."""
    definition = canonical_definition(own.format, orjson.dumps(own.definition)) if own else {}
    azure = (azure_members(own.format, definition) if own else None) or {}
    return {
        "schedule": {"format": own.format, **definition} if own else None,
        "startTime": azure.get("startTime"),
        "recurrence": azure.get("recurrence"),
        "ownSchedule": own is not None,
        "misfire": own.misfire if own else None,
    }


def signing_secrets_of(job_ids: Sequence[int], now: datetime) -> dict[int, list[dict[str, Any]]]:
    """Return by job when the secrets that sign now were made and when they expire, newest first."""
    by_job = defaultdict(list)
    columns = SigningSecretSerializer.columns()
    for row in SigningSecret.objects.live(now).filter(job__in=job_ids).values("job_id", *columns):
        by_job[row["job_id"]].append(SigningSecretSerializer.render(row))
    return by_job


def rendered_signing(secrets: list[dict[str, Any]]) -> dict[str, Any] | None:
    return SigningSerializer.render(since=secrets[0]["createdAt"], secrets=secrets) if secrets else None
