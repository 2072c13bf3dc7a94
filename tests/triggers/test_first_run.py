"""Jobs without a start time: they run at once when they are created, but not when they are changed."""

from datetime import timedelta

import pytest
import time_machine

from jobs.models import Job, JobCollection, Run
from tests.conftest import ACTION, NOW, utc
from tests.jobs.arm_client import ArmClient
from tests.triggers.rows import HOUR, MINUTE, carry_out_pending, fired
from triggers.definitions import TriggerDefinition
from triggers.dispatch import dispatch_due
from triggers.models import MAIN, Trigger
from triggers.scheduling import save_trigger

pytestmark = pytest.mark.django_db

HOURLY = {"frequency": "Hour"}
DAILY = {"frequency": "Day"}
NEW_YEARS_EVE = "2025-12-31T00:00:00Z"
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock():
    """A stopped clock that the test moves."""
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def create(api, clock, collection):
    def create(**members) -> dict:
        body = {"collection": collection.pk, "name": "backup", "action": ACTION, **members}
        response = api.post("/api/jobs", body)
        assert response.status_code == 201, response.content
        return response.json()

    return create


@pytest.fixture
def hourly(create, clock) -> str:
    """The address of a job without a start time that has run once, at NOW; the clock is 20 minutes later."""
    job = create(recurrence=HOURLY)
    run_due()
    clock.move_to(NOW + 20 * MINUTE)
    return f"/api/jobs/{job['id']}"


@pytest.fixture
def unscheduled(create, clock) -> str:
    """The address of a job without its own schedule."""
    job = create(ownSchedule=False)
    clock.move_to(NOW + 20 * MINUTE)
    return f"/api/jobs/{job['id']}"


def run_due(now=NOW) -> None:
    dispatch_due(now)
    carry_out_pending(now)


def document_of(response) -> dict:
    assert response.status_code == 200, response.content
    return response.json()


def refused(response) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["target"]


def manual_runs() -> list:
    """Return the fire times of manual runs."""
    return list(Run.objects.filter(origin=Run.Origin.MANUAL).values_list("fire_at", flat=True))


# Creation


def test_a_new_job_without_a_start_time_runs_at_once(create):
    assert create(recurrence=HOURLY)["nextRunAt"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "recurrence, start",
    [
        (HOURLY, "2026-01-01T01:00:00Z"),
        ({"frequency": "Week", "interval": 2}, "2026-01-15T00:00:00Z"),
        ({"frequency": "Month"}, "2026-02-01T00:00:00Z"),
        ({"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [6]}}, "2026-01-05T06:00:00Z"),
        ({"frequency": "Day", "schedule": {"hours": [5]}}, "2026-01-01T05:00:00Z"),
    ],
)
def test_new_job_with_run_now_false_starts_at_the_next_time_of_its_schedule(create, recurrence, start):
    job = create(recurrence=recurrence, runNow=False)

    assert (job["startTime"], job["nextRunAt"]) == (start, start)
    assert not fired()


def test_given_start_time_is_not_changed(create):
    job = create(recurrence=HOURLY, startTime="2026-01-05T08:00:00Z", runNow=False)

    assert (job["startTime"], job["nextRunAt"]) == ("2026-01-05T08:00:00Z", "2026-01-05T08:00:00Z")


def test_start_time_is_rounded_up_to_a_second(create, clock):
    clock.move_to(NOW + timedelta(microseconds=1))

    assert create(recurrence=HOURLY, runNow=False)["startTime"] == "2026-01-01T01:00:01Z"


@pytest.mark.parametrize(
    "members, code",
    [({}, "required"), ({"startTime": NEW_YEARS_EVE}, "out_of_range"), ({"startTime": None}, "required")],
)
def test_new_job_with_run_now_false_that_never_runs_is_refused(api, clock, collection, members, code):
    body = {"collection": collection.pk, "name": "backup", "action": ACTION, "runNow": False, **members}

    assert refused(api.post("/api/jobs", body)) == (400, code, "startTime")
    assert not Job.objects.exists()


def test_new_job_that_ends_before_its_first_fire_time_is_refused(api, clock, collection):
    recurrence = DAILY | {"endTime": "2026-01-02T00:00:00Z"}  # exactly at the next fire time
    body = {"collection": collection.pk, "name": "backup", "action": ACTION, "runNow": False, "recurrence": recurrence}

    assert refused(api.post("/api/jobs", body)) == (400, "out_of_range", "recurrence.endTime")


@pytest.mark.parametrize(
    "members, extra",
    [
        ({"recurrence": HOURLY, "startTime": "2026-01-05T08:00:00Z"}, [NOW]),
        ({"ownSchedule": False}, [NOW]),
        # its schedule runs it now
        ({"recurrence": HOURLY}, []),
        ({}, []),
        ({"startTime": NEW_YEARS_EVE}, []),
    ],
)
def test_new_job_with_run_now_true_runs_once(create, members, extra):
    create(**members, runNow=True)
    dispatch_due(NOW)

    assert manual_runs() == extra
    assert Run.objects.count() == 1


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_run_now_must_be_true_or_false(api, clock, collection, value):
    body = {"collection": collection.pk, "name": "backup", "action": ACTION, "runNow": value}

    assert refused(api.post("/api/jobs", body))[2] == "runNow"


# Changes in our own API


@pytest.mark.parametrize("write", ["put", "patch"])
@pytest.mark.parametrize(
    "recurrence, next_at",
    [
        # counted from its last fire time
        (HOURLY | {"interval": 2}, "2026-01-01T02:00:00Z"),
        ({"frequency": "Minute", "interval": 15}, "2026-01-01T00:30:00Z"),
        (DAILY, "2026-01-02T00:00:00Z"),
        ({"frequency": "Day", "schedule": {"hours": [0, 9]}}, "2026-01-01T09:00:00Z"),
        ({"frequency": "Hour", "count": 5}, "2026-01-01T01:00:00Z"),
    ],
)
def test_a_changed_recurrence_does_not_run_the_job(api, hourly, write, recurrence, next_at):
    job = document_of(getattr(api, write)(hourly, {"action": ACTION, "recurrence": recurrence}))

    assert (job["nextRunAt"], job["startTime"]) == (next_at, None)
    dispatch_due(NOW + 20 * MINUTE)
    assert len(fired()) == 1


def test_changed_count_starts_anew(api, hourly):
    document_of(api.patch(hourly, {"recurrence": {"count": 2}}))

    for hour in range(1, 4):
        run_due(NOW + hour * HOUR)

    assert len(fired(state=Run.State.SUCCEEDED)) == 3


def test_unchanged_document_keeps_the_next_fire_time(api, hourly, clock):
    body = {"action": ACTION, "recurrence": {"frequency": "Day"}}
    first = api.put(hourly, body)
    clock.move_to(NOW + 3 * HOUR)

    again = api.put(hourly, body)

    assert (again.json()["nextRunAt"], again["ETag"]) == ("2026-01-02T00:00:00Z", first["ETag"])


def test_job_with_a_new_schedule_starts_at_its_next_fire_time(api, unscheduled, clock):
    job = document_of(api.patch(unscheduled, {"recurrence": DAILY}))

    assert (job["ownSchedule"], job["nextRunAt"]) == (True, "2026-01-02T00:20:00Z")
    for command in ("pause", "resume"):
        clock.shift(MINUTE)
        job = document_of(api.post(f"{unscheduled}/{command}"))
    assert job["nextRunAt"] == "2026-01-02T00:20:00Z"
    run_due(utc("2026-01-02T00:20:00Z"))
    assert document_of(api.get(unscheduled))["nextRunAt"] == "2026-01-03T00:20:00Z"


def test_changed_job_that_has_not_run_starts_at_its_next_fire_time(api, create, clock):
    job = create(recurrence=HOURLY, state="disabled")
    clock.shift(MINUTE)

    job = document_of(api.patch(f"/api/jobs/{job['id']}", {"recurrence": DAILY, "state": "enabled"}))

    assert job["nextRunAt"] == "2026-01-02T00:01:00Z"


def test_due_first_run_is_not_lost_by_a_change(api, create, clock):
    """The job is changed before a beat has dispatched it."""
    job = create(recurrence=HOURLY)
    clock.shift(SECOND)

    document_of(api.patch(f"/api/jobs/{job['id']}", {"recurrence": DAILY}))
    run_due(NOW + SECOND)

    assert fired() == [(MAIN, NOW)]
    assert document_of(api.get(f"/api/jobs/{job['id']}"))["nextRunAt"] == "2026-01-02T00:00:00Z"


@pytest.mark.parametrize("patch", [{"startTime": None}, {"startTime": None, "recurrence": DAILY}])
def test_removing_the_start_time_does_not_run_the_job(api, create, clock, patch):
    job = create(recurrence=DAILY, startTime="2026-01-01T00:10:00Z")
    run_due(NOW + 10 * MINUTE)
    clock.move_to(NOW + HOUR)

    assert document_of(api.patch(f"/api/jobs/{job['id']}", patch))["nextRunAt"] == "2026-01-02T00:10:00Z"


@pytest.mark.parametrize("write, body", [("put", {"action": ACTION}), ("patch", {"recurrence": None})])
def test_job_whose_schedule_is_removed_has_no_fire_times(api, hourly, write, body):
    job = document_of(getattr(api, write)(hourly, body))

    assert (job["ownSchedule"], job["nextRunAt"], job["state"]) == (False, None, "enabled")


@pytest.mark.parametrize("write, body", [("put", {"action": ACTION}), ("patch", {"recurrence": None})])
def test_removing_the_schedule_with_own_schedule_true_is_refused(api, hourly, write, body):
    assert refused(getattr(api, write)(hourly, body | {"ownSchedule": True})) == (400, "required", "ownSchedule")
    assert document_of(api.get(hourly))["recurrence"] == HOURLY


def test_single_time_in_the_past_is_refused(api, hourly):
    patch = {"recurrence": None, "startTime": NEW_YEARS_EVE}

    assert refused(api.patch(hourly, patch)) == (400, "out_of_range", "startTime")
    assert document_of(api.get(hourly))["recurrence"] == HOURLY


@pytest.mark.parametrize("write", ["put", "patch"])
@pytest.mark.parametrize("recurrence", [HOURLY, HOURLY | {"interval": 2}])
def test_run_now_adds_one_run_to_the_schedule(api, hourly, write, recurrence):
    body = {"action": ACTION, "recurrence": recurrence, "runNow": True}

    job = document_of(getattr(api, write)(hourly, body))

    assert manual_runs() == [NOW + 20 * MINUTE]
    assert job["nextRunAt"] == f"2026-01-01T0{recurrence.get('interval', 1)}:00:00Z"
    assert "runNow" not in job


def test_run_now_alone_creates_no_new_version(api, hourly):
    before = document_of(api.get(hourly))["revision"]

    assert document_of(api.patch(hourly, {"runNow": True}))["revision"] == before
    assert len(manual_runs()) == 1


def test_run_now_with_a_single_time_in_the_past_runs_the_job_once(api, hourly):
    document_of(api.patch(hourly, {"recurrence": None, "startTime": NEW_YEARS_EVE, "runNow": True}))

    run_due(NOW + 20 * MINUTE)

    assert (len(fired()), manual_runs()) == (2, [])
    assert Job.objects.get().state == Job.State.COMPLETED


@pytest.mark.parametrize("write", ["put", "patch"])
def test_run_now_of_a_disabled_job_is_refused_and_changes_nothing(api, hourly, write):
    body = {"action": ACTION, "recurrence": DAILY, "state": "disabled", "runNow": True}

    assert refused(getattr(api, write)(hourly, body)) == (409, "conflict", "runNow")
    assert document_of(api.get(hourly))["recurrence"] == HOURLY


def test_run_now_in_a_disabled_collection_is_refused(api, hourly):
    JobCollection.objects.update(state=JobCollection.State.DISABLED)

    assert refused(api.patch(hourly, {"runNow": True})) == (409, "conflict", "runNow")


def test_skipped_last_run_of_an_earlier_schedule_is_not_repeated_when_the_job_is_enabled(api, create, clock):
    job = create(recurrence=HOURLY | {"count": 1})
    dispatch_due(NOW)
    document_of(api.post(f"/api/jobs/{job['id']}/pause"))
    carry_out_pending(NOW)
    assert Run.objects.get().state == Run.State.SKIPPED
    clock.shift(MINUTE)

    document_of(api.patch(f"/api/jobs/{job['id']}", {"recurrence": DAILY | {"count": 5}}))

    job = document_of(api.post(f"/api/jobs/{job['id']}/resume"))
    assert job["nextRunAt"] == "2026-01-02T00:00:00Z"
    assert Trigger.objects.get().fires_left == 5


def test_end_before_the_next_fire_time_is_refused(api, hourly):
    recurrence = DAILY | {"endTime": "2026-01-01T12:00:00Z"}

    assert refused(api.patch(hourly, {"recurrence": recurrence})) == (400, "out_of_range", "recurrence.endTime")


# Changes in the Azure contract


@pytest.fixture
def arm(token) -> ArmClient:
    return ArmClient(token)


def put(arm, **properties) -> dict:
    response = arm.put(arm.job(), {"properties": {"action": ACTION, **properties}})
    assert response.status_code in (200, 201), response.content
    return response.json()["properties"]


def next_of(properties: dict) -> str | None:
    return properties.get("status", {}).get("nextExecutionTime")


def test_azure_contract_runs_a_new_job_at_once(arm, clock, collection):
    assert next_of(put(arm, recurrence=HOURLY)) == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("write", ["put", "patch"])
def test_azure_contract_counts_from_the_last_execution(arm, hourly, write):
    body = {"properties": {"action": ACTION, "recurrence": {"frequency": "Hour", "interval": 5}}}

    properties = getattr(arm, write)(arm.job(), body).json()["properties"]

    assert next_of(properties) == "2026-01-01T05:00:00Z"
    assert "startTime" not in properties


def test_azure_contract_runs_a_changed_job_that_has_not_run_at_once(arm, clock, collection):
    put(arm, recurrence=HOURLY, state="Disabled")
    clock.shift(MINUTE)

    assert next_of(put(arm, recurrence=DAILY, state="Enabled")) == "2026-01-01T00:01:00Z"


@pytest.mark.parametrize("properties", [{}, {"startTime": NEW_YEARS_EVE}])
def test_azure_contract_runs_a_single_time_in_the_past_at_once(arm, hourly, properties):
    assert next_of(put(arm, **properties)) == "2026-01-01T00:20:00Z"


def test_azure_contract_ignores_run_now(arm, hourly):
    put(arm, recurrence=HOURLY, runNow=True)

    assert manual_runs() == []


# Triggers in addition to a job's own schedule


@pytest.mark.parametrize(
    "format, first, second, next_at",
    [
        ("azure", {"recurrence": HOURLY}, {"recurrence": DAILY}, "2026-01-02T00:00:00Z"),
        ("simple", {"interval": 3_600_000}, {"interval": 7_200_000}, "2026-01-01T02:20:00Z"),
        ("simple", {"interval": 3_600_000}, {"interval": 7_200_000, "repeatCount": 1}, "2026-01-01T02:20:00Z"),
    ],
)
def test_a_changed_trigger_does_not_run_the_job(make_job, clock, format, first, second, next_at):
    job = make_job(schedule=None)
    save_trigger(job, "t", TriggerDefinition(format=format, definition=first), NOW)
    run_due()

    trigger, _ = save_trigger(job, "t", TriggerDefinition(format=format, definition=second), NOW + 20 * MINUTE)

    assert trigger.next_fire_at == utc(next_at)
    run_due(NOW + 20 * MINUTE)
    assert len(fired()) == 1


def test_changed_trigger_fires_all_its_new_repetitions(make_job, clock):
    job = make_job(schedule=None)
    for minutes, repeats in ((60, 9), (30, 2)):
        definition = {"interval": minutes * 60_000, "repeatCount": repeats}
        save_trigger(job, "t", TriggerDefinition(format="simple", definition=definition), NOW)

    for half in range(1, 9):
        run_due(NOW + half * 30 * MINUTE)

    assert [at for _, at in fired()] == [NOW + half * 30 * MINUTE for half in (1, 2, 3)]
