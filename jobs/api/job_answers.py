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
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    expiresAt = Member(
        InstantField,
        "The time at which the secret expires, in UTC; null: it is the newest secret, which does not expire.",
        nullable=True,
        example="2026-01-08T09:30:00Z",
    )


class SigningSerializer(Answer):
    since = Member(
        InstantField,
        "The time at which the newest secret was created, in UTC.",
        GIVEN,
        example="2026-01-01T09:30:00Z",
    )
    secrets = Member(
        SigningSecretSerializer, "The secrets that currently sign requests, newest first.", GIVEN, many=True
    )


class JobWarningSerializer(Answer):
    code = Member(CharField, "The warning code, for programs.", example="credentials_over_http")
    target = Member(CharField, "The path of the member.", example="action.request.authentication")
    message = Member(
        CharField,
        "The warning message, for people.",
        example="The address begins with http: the credentials travel unencrypted. Take https.",
    )


class JobSerializer(Answer):
    id = Member(IntegerField, "The id of the job.", example=1)
    collection = Member(IntegerField, "The id of the collection.", "collection_id", example=1)
    collectionName = Member(CharField, "The name of the collection.", "collection__name", example="nightly")
    name = Member(CharField, "The name, unique in the collection, not case-sensitive.", example="collect-orders")
    state = Member(
        ChoiceField, "The state. `completed` and `faulted` are final.", choices=Job.State.values, example="enabled"
    )
    action = Member(
        ActionField,
        "The action of the job, without its secrets.",
        "action__document",
        example={"type": "Https", "request": {"method": "POST", "uri": "https://shop.example.com/orders/collect"}},
    )
    schedule = Member(
        ScheduleField,
        "The schedule of the job; null: the job does not have its own schedule.",
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
        "The start time of `schedule`, if its format is `azure`, its zone is UTC and it has no further members."
        " null: any other schedule, or no schedule.",
        GIVEN,
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )
    recurrence = Member(
        RecurrenceField,
        "The recurrence of `schedule`, if its format is `azure`, its zone is UTC and it has no further members."
        " null: any other schedule, or no schedule.",
        GIVEN,
        nullable=True,
        example={"frequency": "Day", "interval": 1},
    )
    ownSchedule = Member(
        BooleanField,
        "Whether the job has its own `schedule`. `false`: the job runs only manually and by additional triggers.",
        GIVEN,
        example=True,
    )
    triggerCount = Member(IntegerField, "The number of additional triggers.", GIVEN, example=0)
    overlap = Member(
        ChoiceField,
        "The policy for a fire time that is due while an earlier run of the job is not finished.",
        choices=Job.Overlap.values,
        example="skip",
    )
    delivery = Member(
        ChoiceField,
        "Whether an attempt that was interrupted by a crash is repeated.",
        choices=Job.Delivery.values,
        example="at_least_once",
    )
    misfire = Member(
        ChoiceField,
        "The misfire policy of the job's own schedule; null: the job does not have its own schedule.",
        GIVEN,
        nullable=True,
        choices=Trigger.Misfire.values,
        example="fire_once",
    )
    nextRunAt = Member(
        InstantField,
        "The expected time of the next run, in UTC. If the fire time is held, it is the time after the hold."
        " null: the job is stopped, has no further fire times, or is held until an unknown time.",
        GIVEN,
        nullable=True,
        example="2026-01-06T08:10:00Z",
    )
    hold = Member(HoldSerializer, "The hold that affects the next run; null: none.", GIVEN, nullable=True)
    lastRunAt = Member(
        InstantField,
        "The time at which the last attempt started, in UTC; null: no attempt has started.",
        "last_execution_at",
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )
    executionCount = Member(
        IntegerField, "The number of attempts, including retries. The name comes from Azure Scheduler.", example=42
    )
    failureCount = Member(IntegerField, "The number of failed attempts.", example=2)
    faultedCount = Member(IntegerField, "The number of runs whose attempts all failed.", example=0)
    revision = Member(IntegerField, "The number of changes to the definition and the state.", example=3)
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(
        InstantField,
        "The time of the last change to the definition or the state, in UTC.",
        example="2026-01-02T10:00:00Z",
    )
    finishedAt = Member(
        InstantField, "The time at which the job became completed or faulted, in UTC.", nullable=True, example=None
    )
    secretsSetAt = Member(
        DictField,
        "The time at which each secret of the action was set, in UTC, by the path of the secret below `action`.",
        "action__secrets_set_at",
        child=InstantField(),
        example={"request.authentication.password": "2026-01-01T09:30:00Z"},
    )
    unicodeHosts = Member(
        DictField,
        "The Unicode form of international host names in the action, by the path of the address below `action`."
        " The addresses contain the ASCII form.",
        lambda row: unicode_hosts(row["action__document"]),
        child=CharField(),
        example={"request.uri": "bücher.example"},
    )
    signing = Member(
        SigningSerializer,
        "The signing secrets of the requests (Standard Webhooks); null: the requests are not signed.",
        GIVEN,
        nullable=True,
    )
    warnings = Member(JobWarningSerializer, "Warnings about accepted values that may be unintended.", GIVEN, many=True)


class NewSigningSecretSerializer(Answer):
    secret = Member(CharField, "The signing secret. It is returned only once.", GIVEN, example="whsec_...")
    createdAt = Member(InstantField, "The time of creation, in UTC.", GIVEN, example="2026-01-01T09:30:00Z")
    overlapEndsAt = Member(
        InstantField,
        "The time until which the replaced secret also signs requests, in UTC; null: no secret was replaced.",
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
