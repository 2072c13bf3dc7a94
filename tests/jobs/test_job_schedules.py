"""A job's own schedule in any format, at /api/jobs."""

from datetime import timedelta

import pytest
import time_machine

from accounts.models import ApiToken, Membership, Role, Subscription
from jobs.models import Job, JobCollection, Run
from recurrence import wire
from tests.conftest import ACTION, NOW, utc
from tests.jobs.schedules import SCHEDULES, START, WEEKDAYS
from tests.triggers.rows import carry_out_pending, fired
from triggers.dispatch import dispatch_due
from triggers.models import MAIN, Trigger

pytestmark = pytest.mark.django_db

HOURLY = {"frequency": "Hour"}
ENDED = HOURLY | {"endTime": "2025-12-31T00:00:00Z"}


@pytest.fixture(autouse=True)
def clock():
    """A stopped clock that the test moves."""
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def body(collection):
    return {"collection": collection.pk, "name": "report", "action": ACTION}


@pytest.fixture
def create(api, body):
    def create(**members) -> dict:
        response = api.post("/api/jobs", body | members)
        assert response.status_code == 201, response.content
        return response.json()

    return create


def address_of(job: dict) -> str:
    return f"/api/jobs/{job['id']}"


def document_of(response) -> dict:
    assert response.status_code == 200, response.content
    return response.json()


def refused(response) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["target"]


def when(job: dict) -> tuple:
    return job["schedule"], job["startTime"], job["recurrence"], job["ownSchedule"]


# Each format


def test_there_is_a_sample_of_each_format():
    assert wire.PARSERS.keys() <= SCHEDULES.keys()


@pytest.mark.parametrize("format", sorted(wire.PARSERS))
def test_schedule_of_each_format_is_returned_and_fires(create, format):
    schedule = {"format": format, **SCHEDULES[format]}

    job = create(schedule=schedule)

    assert SCHEDULES[format].items() <= job["schedule"].items()
    assert (job["schedule"]["format"], job["ownSchedule"], job["triggerCount"]) == (format, True, 0)
    stored = Trigger.objects.get()
    assert (stored.name, stored.format) == (MAIN, format)
    assert stored.next_fire_at == wire.parse(format, SCHEDULES[format], NOW).schedule.after(NOW)


@pytest.mark.parametrize("format", sorted(wire.PARSERS))
@pytest.mark.parametrize("write", ["put", "patch"])
def test_job_that_was_read_can_be_sent_back_and_nothing_changes(api, create, clock, format, write):
    job = create(schedule={"format": format, **SCHEDULES[format]})
    clock.shift(timedelta(days=3))

    again = document_of(getattr(api, write)(address_of(job), job))

    assert again == job


@pytest.mark.parametrize("format", sorted(wire.PARSERS))
def test_job_that_was_read_can_be_created_again(create, format):
    job = create(schedule={"format": format, **SCHEDULES[format]})

    copy = create(**job | {"name": "copy"})

    assert copy["id"] != job["id"]
    assert when(copy) == when(job)
    assert copy["nextRunAt"] == job["nextRunAt"]


@pytest.mark.parametrize("format", sorted(wire.PARSERS.keys() - {"azure"}))
def test_only_a_schedule_of_azure_is_also_returned_as_start_time_and_recurrence(create, format):
    job = create(schedule={"format": format, **SCHEDULES[format]})

    assert (job["startTime"], job["recurrence"]) == (None, None)


def test_start_time_and_recurrence_are_a_schedule_of_azure(api, create):
    azure = SCHEDULES["azure"]

    job = create(**azure)

    assert when(job) == ({"format": "azure", **azure}, azure["startTime"], azure["recurrence"], True)
    assert when(create(name="other", schedule={"format": "azure", **azure})) == when(job)
    assert api.get("/api/jobs").json()["value"][0] == job


def test_job_without_its_own_schedule_has_no_schedule(api, create):
    job = create(ownSchedule=False)

    assert when(job) == (None, None, None, False)
    assert document_of(api.put(address_of(job), job)) == job
    assert document_of(api.patch(address_of(job), job)) == job


def test_job_that_runs_once_at_its_creation_has_an_empty_schedule(api, create):
    job = create(schedule={"format": "azure"}, state="disabled")

    assert when(job) == ({"format": "azure"}, None, None, True)
    assert document_of(api.put(address_of(job), job)) == job


# Both ways at once


@pytest.mark.parametrize(
    "schedule",
    [
        WEEKDAYS,
        {"format": "azure", "startTime": START},
        {"format": "azure", "recurrence": HOURLY},
        {"format": "azure", "startTime": START, "recurrence": HOURLY | {"interval": 2}},
    ],
)
@pytest.mark.parametrize("write", ["post", "put", "patch"])
def test_two_different_schedules_at_once_are_refused(api, body, create, schedule, write):
    job = create(name="stored")
    address = "/api/jobs" if write == "post" else address_of(job)
    both = {**(body if write != "patch" else {}), "schedule": schedule, "startTime": START, "recurrence": HOURLY}
    if write == "put":
        both = both | {"name": "stored"}

    assert refused(getattr(api, write)(address, both)) == (400, "not_allowed", "schedule")
    assert document_of(api.get(address_of(job))) == job


def test_the_same_schedule_in_both_ways_is_accepted(create):
    azure = {"startTime": "2026-01-05T08:00:00.000Z", "recurrence": {"frequency": "hour"}}

    job = create(schedule={"format": "azure", "startTime": START, "recurrence": HOURLY}, **azure)

    assert (job["startTime"], job["recurrence"]) == (START, HOURLY)


@pytest.mark.parametrize(
    "change, target",
    [
        ({"schedule": WEEKDAYS, "ownSchedule": False}, "schedule"),
        ({"schedule": {"format": "quartz"}}, "schedule.expression"),
        ({"schedule": {"expression": "0 0 9 ? * MON-FRI"}}, "schedule.format"),
        ({"schedule": {"format": "sundial", "at": "noon"}}, "schedule.format"),
        ({"schedule": WEEKDAYS | {"colour": "red"}}, "schedule.colour"),
        (
            {"schedule": {"format": "azure", "recurrence": {"frequency": "Day", "every": 2}}},
            "schedule.recurrence.every",
        ),
        ({"schedule": {"format": "azure", "recurrence": {"interval": 2}}}, "schedule.recurrence.frequency"),
        ({"schedule": "0 0 9 ? * MON-FRI"}, "schedule"),
        ({"schedule": {"format": "once", "at": "2025-12-31T00:00:00Z"}}, "schedule"),
        ({"schedule": {"format": "quartz", "expression": "0 0 9 ? * MON-FRI 2025"}}, "schedule"),
        # bounds that depend on the present moment
        ({"schedule": {"format": "azure", "startTime": "2028-01-01T00:00:00Z"}}, "schedule.startTime"),
        ({"schedule": {"format": "azure", "recurrence": ENDED}}, "schedule.recurrence.endTime"),
        ({"schedule": {"format": "azure"}, "runNow": False}, "schedule.startTime"),
        ({"schedule": {"format": "simple"}, "runNow": False}, "schedule.startTime"),
    ],
)
def test_wrong_schedule_is_refused_with_its_path_and_nothing_is_saved(api, body, change, target):
    status, _, path = refused(api.post("/api/jobs", body | change))

    assert (status, path) == (400, target)
    assert not Job.objects.exists()


# Changes


def test_patch_is_merged_into_the_schedule(api, create):
    job = create(schedule=WEEKDAYS)

    changed = document_of(api.patch(address_of(job), {"schedule": {"expression": "0 0 10 ? * MON-FRI"}}))

    assert changed["schedule"] == WEEKDAYS | {"expression": "0 0 10 ? * MON-FRI"}
    assert changed["nextRunAt"] == "2026-01-01T09:00:00Z"
    in_utc = document_of(api.patch(address_of(job), {"schedule": {"timeZone": None}}))
    assert in_utc["schedule"] == {"format": "quartz", "expression": "0 0 10 ? * MON-FRI"}


def test_patch_with_another_format_replaces_the_schedule(api, create):
    job = create(**SCHEDULES["azure"])

    changed = document_of(api.patch(address_of(job), {"schedule": WEEKDAYS}))

    assert when(changed) == (WEEKDAYS, None, None, True)
    assert changed["nextRunAt"] == "2026-01-01T08:00:00Z"
    back = document_of(api.patch(address_of(job), {"schedule": {"format": "azure", "recurrence": HOURLY}}))
    assert when(back) == ({"format": "azure", "recurrence": HOURLY}, None, HOURLY, True)


def test_patch_of_the_recurrence_is_merged_into_a_schedule_of_azure_however_it_was_written(api, create):
    job = create(schedule={"format": "azure", **SCHEDULES["azure"]})

    changed = document_of(api.patch(address_of(job), {"recurrence": {"interval": 3}}))

    recurrence = {"frequency": "Day", "interval": 3}
    assert when(changed) == ({"format": "azure", "startTime": START, "recurrence": recurrence}, START, recurrence, True)
    once = document_of(api.patch(address_of(job), {"recurrence": None}))
    assert when(once) == ({"format": "azure", "startTime": START}, START, None, True)


@pytest.mark.parametrize("patch", [{"recurrence": HOURLY}, {"recurrence": {"interval": 2}}, {"startTime": START}])
def test_patch_of_the_recurrence_of_another_schedule_is_refused(api, create, patch):
    job = create(schedule=WEEKDAYS)

    assert refused(api.patch(address_of(job), patch)) == (400, "not_allowed", next(iter(patch)))
    assert document_of(api.get(address_of(job))) == job


def test_recurrence_with_a_schedule_of_null_replaces_another_schedule(api, create):
    job = create(schedule=WEEKDAYS)

    changed = document_of(api.patch(address_of(job), {"schedule": None, "recurrence": HOURLY}))

    assert when(changed) == ({"format": "azure", "recurrence": HOURLY}, None, HOURLY, True)


@pytest.mark.parametrize("patch", [{"startTime": None}, {"startTime": None, "recurrence": None}, {"schedule": {}}])
def test_null_for_members_that_another_schedule_does_not_have_changes_nothing(api, create, patch):
    job = create(schedule=WEEKDAYS)

    assert document_of(api.patch(address_of(job), patch)) == job


@pytest.mark.parametrize("schedule", [WEEKDAYS, {"format": "azure", **SCHEDULES["azure"]}])
@pytest.mark.parametrize(
    "write, members", [("patch", {"schedule": None}), ("patch", {"ownSchedule": False}), ("put", {"action": ACTION})]
)
def test_own_schedule_can_be_removed(api, create, schedule, write, members):
    job = create(schedule=schedule)

    changed = document_of(getattr(api, write)(address_of(job), members))

    assert when(changed) == (None, None, None, False)
    assert changed["nextRunAt"] is None
    assert when(document_of(api.patch(address_of(job), {"schedule": WEEKDAYS})))[0] == WEEKDAYS


def test_an_empty_schedule_of_azure_does_not_replace_a_schedule(api, create):
    job = create(schedule=WEEKDAYS)

    assert refused(api.patch(address_of(job), {"schedule": {"format": "azure"}})) == (400, "required", "schedule")
    assert document_of(api.get(address_of(job))) == job


def test_change_that_leaves_no_fire_time_is_refused(api, create):
    job = create(schedule=WEEKDAYS)

    ended = {"schedule": {"expression": "0 0 9 ? * MON-FRI 2025"}}

    assert refused(api.patch(address_of(job), ended)) == (400, "never_fires", "schedule")
    assert document_of(api.get(address_of(job))) == job


def test_changed_member_of_the_job_leaves_the_place_of_its_schedule(api, create, clock):
    job = create(schedule={"format": "simple", "interval": 5_400_000})
    assert job["nextRunAt"] == "2026-01-01T00:00:00Z"
    dispatch_due(NOW)
    clock.shift(timedelta(minutes=10))

    changed = document_of(api.patch(address_of(job), {"overlap": "allow"}))

    assert changed["nextRunAt"] == "2026-01-01T01:30:00Z"


def test_patch_of_a_job_with_a_schedule_that_can_no_longer_be_parsed_leaves_the_schedule(api, create):
    job = create(schedule=WEEKDAYS)
    Trigger.objects.update(definition={"expression": "0 0 9 ? * MONFRI"})

    changed = document_of(api.patch(address_of(job), {"overlap": "allow"}))

    assert changed["schedule"] == {"format": "quartz", "expression": "0 0 9 ? * MONFRI"}


# The first run


@pytest.mark.parametrize(
    "run_now, next_run, start", [(None, "2026-01-01T00:00:00Z", None), (False, *2 * ("2026-01-01T01:30:00Z",))]
)
def test_simple_schedule_without_a_start_time_runs_at_once_unless_told_otherwise(create, run_now, next_run, start):
    members = {} if run_now is None else {"runNow": run_now}

    job = create(schedule={"format": "simple", "interval": 5_400_000}, **members)

    assert (job["nextRunAt"], job["schedule"].get("startTime")) == (next_run, start)


def test_run_now_adds_one_run_beside_the_schedule(create):
    create(schedule=WEEKDAYS, runNow=True)
    dispatch_due(NOW)

    assert list(Run.objects.values_list("origin", "fire_at")) == [(Run.Origin.MANUAL, NOW)]


def test_changed_simple_schedule_does_not_run_at_once(api, create, clock):
    job = create(schedule=WEEKDAYS)
    clock.shift(timedelta(minutes=20))

    changed = document_of(api.patch(address_of(job), {"schedule": {"format": "simple", "interval": 3_600_000}}))

    assert changed["nextRunAt"] == "2026-01-01T01:20:00Z"


def test_misfire_policy_is_that_of_the_own_schedule(api, create):
    job = create(schedule=WEEKDAYS, misfire="fire_all")

    assert job["misfire"] == "fire_all"
    assert Trigger.objects.get().misfire == Trigger.Misfire.FIRE_ALL
    assert document_of(api.patch(address_of(job), {"misfire": "skip"}))["misfire"] == "skip"


# The end


@pytest.mark.parametrize(
    "schedule, count",
    [
        ({"format": "once", "at": START}, 1),
        ({"format": "simple", "startTime": START, "interval": 60_000, "repeatCount": 2}, 3),
        ({"format": "quartz", "expression": "0 0 9 5,6 1 ? 2026"}, 2),
        ({**SCHEDULES["rrule"], "format": "rrule", "rrule": "FREQ=DAILY;COUNT=2"}, 2),
    ],
)
def test_job_ends_with_its_schedule(api, create, clock, schedule, count):
    job = create(schedule=schedule, misfire="fire_all")

    clock.move_to(utc("2026-01-10T00:00:00Z"))
    now = utc("2026-01-10T00:00:00Z")
    dispatch_due(now)
    for _ in range(count):
        carry_out_pending(now)

    assert len(fired()) == count
    ended = document_of(api.get(address_of(job)))
    assert (ended["state"], ended["nextRunAt"], ended["schedule"]) == ("completed", None, job["schedule"])


def test_schedule_goes_on_with_its_next_time_when_the_job_is_enabled(api, create, clock):
    job = create(schedule=WEEKDAYS)
    api.post(f"{address_of(job)}/pause")
    clock.move_to(utc("2026-01-07T12:00:00Z"))

    resumed = document_of(api.post(f"{address_of(job)}/resume"))

    assert resumed["nextRunAt"] == "2026-01-08T08:00:00Z"


def test_only_run_that_was_skipped_while_the_job_was_disabled_is_made_up_for(api, create, clock):
    job = create(schedule={"format": "once", "at": START})
    start = utc(START)
    clock.move_to(start)
    dispatch_due(start)
    api.post(f"{address_of(job)}/pause")
    carry_out_pending(start)
    assert Run.objects.get().state == Run.State.SKIPPED
    clock.shift(timedelta(hours=1))

    resumed = document_of(api.post(f"{address_of(job)}/resume"))

    assert (resumed["state"], resumed["nextRunAt"]) == ("enabled", "2026-01-05T09:00:00Z")


# Plans


@pytest.fixture
def slow_collection(subscription):
    return JobCollection.objects.create(subscription=subscription, name="slow", sku="Free")


EVERY_SECOND = {"format": "quartz", "expression": "* * * * * ?"}
EVERY_MINUTE = {"format": "quartz", "expression": "0 * * * * ?"}


def test_real_fire_times_of_a_schedule_are_limited_by_the_plan(api, body, slow_collection):
    body = body | {"collection": slow_collection.pk}

    assert refused(api.post("/api/jobs", body | {"schedule": EVERY_SECOND})) == (409, "quota_exceeded", "schedule")
    assert not Job.objects.exists()
    assert api.post("/api/jobs", body | {"schedule": EVERY_MINUTE}).status_code == 201
    hourly = {"schedule": {"format": "azure", "recurrence": {"frequency": "Minute"}}}
    too_fast = (409, "quota_exceeded", "schedule.recurrence")
    assert refused(api.post("/api/jobs", body | hourly | {"name": "other"})) == too_fast


def test_schedule_is_checked_when_the_job_moves_and_when_the_plan_changes(api, create, collection, slow_collection):
    job = create(schedule=EVERY_SECOND)

    moved = api.patch(address_of(job), {"collection": slow_collection.pk})
    slower = api.patch(f"/api/collections/{collection.pk}", {"sku": "Standard", "maxRecurrence": None})
    slow_collection.delete()
    free = api.patch(f"/api/collections/{collection.pk}", {"sku": "Free"})

    assert refused(moved)[:2] == (409, "quota_exceeded")
    assert slower.status_code == 200, slower.content
    assert refused(free)[:2] == (409, "quota_exceeded")


# Tenants


@pytest.fixture
def stranger(make_user, api_of):
    """A client of an owner of another subscription, with a collection in it."""
    other = Subscription.objects.create(name="other")
    user = make_user("eve", role=None)
    Membership.objects.create(subscription=other, user=user, role=Role.OWNER)
    JobCollection.objects.create(subscription=other, name="theirs")
    return api_of(ApiToken.objects.issue(user, "tests")[1])


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_schedule_of_another_subscription_can_neither_be_read_nor_changed(create, stranger, method):
    job = create(schedule=WEEKDAYS)
    members = {} if method in ("get", "delete") else {"action": ACTION, "schedule": EVERY_MINUTE}

    assert getattr(stranger, method)(address_of(job), members).status_code == 404
    assert Trigger.objects.get().definition == {k: v for k, v in WEEKDAYS.items() if k != "format"}


def test_reader_cannot_change_a_schedule(create, make_user, api_of):
    job = create(schedule=WEEKDAYS)
    reader = api_of(ApiToken.objects.issue(make_user("rob", Role.READER), "tests")[1])

    assert document_of(reader.get(address_of(job)))["schedule"] == WEEKDAYS
    assert reader.patch(address_of(job), {"schedule": EVERY_MINUTE}).status_code == 403
