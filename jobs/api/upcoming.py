"""/api/jobs/{id}/upcoming and /api/triggers/{id}/upcoming: the next fire times and what is expected of them."""

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, UUIDField

from api.answers import GIVEN, Answer, Member
from api.fields import InstantField
from jobs.api.holds import HoldSerializer, rendered_hold
from jobs.models import Run
from recurrence.schedules import LAST_INSTANT
from triggers import gates
from triggers.models import Trigger
from triggers.upcoming import ExpectedRun, runs_within, waiting_runs

COUNT = 10
COUNT_MOST = 1_000
INSTANT = {"type": "string", "format": "date-time"}
PARAMETERS = [
    OpenApiParameter(
        "count",
        {"type": "integer", "minimum": 1, "maximum": COUNT_MOST, "default": COUNT, "example": 20},
        description="The maximum number of runs to return.",
    ),
    OpenApiParameter(
        "from",
        {**INSTANT, "example": "2026-01-05T00:00:00Z"},
        description=(
            "The start of the window, in UTC. It also includes earlier fire times that are held and run in the"
            " window. By default, or if it is not in the future, the list starts with the runs that wait to start,"
            " followed by the next fire time."
        ),
    ),
    OpenApiParameter(
        "to",
        {**INSTANT, "example": "2026-02-01T00:00:00Z"},
        description="The end of the window, excluded. It must be after now and after `from`.",
    ),
]


def expectation(run: ExpectedRun) -> str:
    if run.hold is None:
        return "run"
    return "skipped" if run.hold.is_dropped or run.is_superseded else "held"


class UpcomingRunSerializer(Answer):
    fireAt = Member(InstantField, "The fire time, in UTC, without jitter.", example="2026-01-05T08:00:00Z")
    startsAt = Member(
        InstantField,
        "The planned start, in UTC: `fireAt` plus the jitter.",
        example="2026-01-05T08:00:00Z",
    )
    runsAt = Member(
        InstantField,
        "The expected start, in UTC. If the fire time is held, it is the time after the hold. null: see `expected`.",
        nullable=True,
        example="2026-01-05T08:10:00Z",
    )
    expected = Member(
        ChoiceField,
        "`run`: the job runs at the planned start. `held`: it runs at the end of `hold`; if `runsAt` is null,"
        " that time is unknown. `skipped`: it does not run for this fire time; a later fire time may run at the"
        " end of `hold`.",
        expectation,
        choices=["run", "held", "skipped"],
        example="held",
    )
    trigger = Member(
        IntegerField, "The id of the trigger; null: the trigger was deleted.", GIVEN, nullable=True, example=1
    )
    triggerName = Member(
        CharField, "The name of the trigger. `default` is the job's own schedule.", GIVEN, example="default"
    )
    run = Member(
        UUIDField,
        "The id of the run, if it already exists because it is held or waits to start.",
        GIVEN,
        nullable=True,
        example="0b9e5c1e-7d1f-4f5c-9a57-8b1d6c2f3e10",
    )
    hold = Member(HoldSerializer, "The hold that affects the fire time; null: none.", GIVEN, nullable=True)


class UpcomingAnswer(Answer):
    value = Member(UpcomingRunSerializer, "The fire times, earliest first.", GIVEN, many=True)
    more = Member(BooleanField, "Whether there are further fire times within the limits.", GIVEN, example=True)


class HeldRun(NamedTuple):
    """The newest run that is held at present."""

    id: UUID
    trigger_name: str | None
    fire_at: datetime


def upcoming(request: Request, job_id: int, now: datetime, trigger_id: int | None = None) -> Response:
    """Answer the next fire times of a job, or of one of its triggers, with what is expected to become of each.

    It takes three queries, one more if a trigger has fired lately, and two more while a hold is announced.
    """
    count, start, end = window_of(request, now)
    triggers = list(Trigger.objects.filter(job=job_id).order_by("pk"))
    shown = triggers if trigger_id is None else [each for each in triggers if each.pk == trigger_id]
    windows = gates.forecast([job_id], now, LAST_INSTANT, now).get(job_id, [])
    held = newest_held_run(job_id, shown if trigger_id else None) if windows else None
    waiting = waiting_runs(shown, now).get(job_id, ()) if start is None else ()
    runs = runs_within(shown, triggers, windows, now, start, end, held and held.fire_at, waiting)
    found = list(islice(runs, count + 1))
    ids = {trigger.name: trigger.pk for trigger in triggers}
    value = [rendered_run(run, ids, held) for run in found[:count]]
    return Response(UpcomingAnswer.render(value=value, more=len(found) > count))


def window_of(request: Request, now: datetime) -> tuple[int, datetime | None, datetime | None]:
    """Return the count, the start and the end of the window in the query.  The start is None if it is not after `now`.

    Raise ValidationError with all parameters that are wrong.
    """
    errors: dict[str, list] = {}
    count = COUNT
    if (text := request.query_params.get("count")) is not None:
        is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(COUNT_MOST))
        if is_whole and 1 <= int(text) <= COUNT_MOST:
            count = int(text)
        else:
            message = f"must be a whole number, 1 to {COUNT_MOST}"
            errors["count"] = [ErrorDetail(message, "out_of_range")]
    bounds: dict[str, datetime | None] = dict.fromkeys(("from", "to"))
    for name in bounds:
        if (text := request.query_params.get(name)) is not None:
            try:
                bounds[name] = InstantField().run_validation(text)
            except ValidationError as error:
                errors[name] = error.detail
    start, end = bounds["from"], bounds["to"]
    if end is not None and (end <= now or (start is not None and end <= start)):
        errors["to"] = [ErrorDetail("must be after now and after `from`", "out_of_range")]
    if errors:
        raise ValidationError(errors)
    return count, start if start is None or start > now else None, end


def newest_held_run(job_id: int, triggers: Collection[Trigger] | None) -> HeldRun | None:
    """Return the newest held run of a job, or of these of its triggers; None if no run is held."""
    held = Run.objects.filter(hold_key__isnull=False, state=Run.State.HELD, job=job_id)
    if triggers is not None:
        held = held.filter(trigger_name__in=[trigger.name for trigger in triggers])
    row = held.order_by("-fire_at").values_list("pk", "trigger_name", "fire_at").first()
    return HeldRun(*row) if row else None


def rendered_run(run: ExpectedRun, ids: Mapping[str, int], held: HeldRun | None) -> dict[str, Any]:
    """Return the document of an expected run.

    `ids` has the ids of the triggers by name.  A `run` without a trigger stands for `held`, unless it waits to start.
    """
    run_id, name = (run.run.id, run.run.trigger_name) if run.run else (None, run.trigger.name if run.trigger else "")
    if run.run is None and run.trigger is None and held:
        run_id, name = held.id, held.trigger_name or ""
    return UpcomingRunSerializer.render(
        run, trigger=ids.get(name), triggerName=name, run=run_id, hold=rendered_hold(run.fire_at, run.hold)
    )
