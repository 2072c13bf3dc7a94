"""What our own API answers of fire times that maintenance is going to hold, or holds."""

import pytest
import time_machine

from jobs.models import Run
from jobs.worker.leasing import lease
from maintenance import holds as maintenance_holds
from maintenance.models import Notice
from tests.maintenance.notices import EIGHT, HOUR, HOURLY, MINUTE, T0, announce, complete, dispatch, holds, resource
from triggers.models import Trigger

pytestmark = pytest.mark.django_db

REASON = "held by maintenance: Reboot of db-2"


@pytest.fixture
def clock(fixed_start):
    """Half an hour before the first fire time."""
    with time_machine.travel(T0, tick=False) as clock:
        yield clock


@pytest.fixture
def job(clock, make_job):
    job = make_job(schedule=HOURLY, now=T0)
    holds(job)
    return job


@pytest.fixture
def db2(subscription):
    return resource(subscription)


def read(api, job) -> dict:
    return api.get(f"/api/jobs/{job.pk}").json()


def test_a_job_that_nothing_holds_runs_at_its_fire_time(api, job):
    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]) == ("2026-01-05T08:00:00Z", None)


def test_a_job_says_when_it_runs_after_the_maintenance_and_what_holds_it(api, job, db2):
    notice = announce(db2, not_before=EIGHT - MINUTE, duration_s=600)

    document = read(api, job)

    assert document["nextRunAt"] == "2026-01-05T08:09:00Z"
    assert document["hold"] == {
        "fireAt": "2026-01-05T08:00:00Z",
        "notice": str(notice.pk),
        "reason": REASON,
        "from": "2026-01-05T07:59:00Z",
        "until": "2026-01-05T08:09:00Z",
        "after": "runOnce",
    }
    assert api.get(f"/api/notices/{notice.pk}").status_code == 200


@pytest.mark.parametrize("after", ["run_once", "drop"])
def test_nobody_knows_when_it_runs(api, job, db2, after):
    maintenance_holds.set_policy(
        job, maintenance_holds.PolicyInput(resource_names=["db-2"], on_notice="hold", on_end=after), T0
    )
    announce(db2, has_started=True)

    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]["until"]) == (None, None)
    assert document["hold"]["after"] == {"run_once": "runOnce", "drop": "drop"}[after]


def test_what_is_dropped_is_passed_over(api, job, db2):
    holds(job, on_end="drop")
    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)

    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]) == ("2026-01-05T09:00:00Z", None)


def test_a_run_that_is_held_already_is_the_next(api, job, db2, clock):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)
    clock.move_to(EIGHT + MINUTE)
    dispatch(EIGHT)

    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]["fireAt"]) == ("2026-01-05T08:09:00Z", "2026-01-05T08:00:00Z")


def test_a_trigger_keeps_its_fire_time_and_says_what_holds_it(api, job, db2):
    notice = announce(db2, not_before=EIGHT - MINUTE, duration_s=600)
    [trigger] = job.triggers.all()

    document = api.get(f"/api/triggers/{trigger.pk}").json()

    assert document["nextFireAt"] == "2026-01-05T08:00:00Z"
    assert document["hold"] == read(api, job)["hold"]
    assert document["hold"]["notice"] == str(notice.pk)


def test_a_trigger_that_is_stopped_is_held_by_nothing(api, job, db2):
    announce(db2, has_started=True)
    api.post(f"/api/jobs/{job.pk}/pause")

    [trigger] = job.triggers.all()

    assert api.get(f"/api/triggers/{trigger.pk}").json()["hold"] is None
    assert read(api, job)["nextRunAt"] is None


def test_a_run_says_what_held_it_when_the_hold_is_over(api, job, db2):
    reboot, redeploy = announce(db2, has_started=True), announce(db2, has_started=True, event_type="Redeploy")
    says = {reboot: REASON, redeploy: "held by maintenance: Redeploy of db-2"}
    dispatch(EIGHT)
    address = f"/api/runs/{Run.objects.get().pk}"
    (hold,) = api.get(address).json()["holds"]
    first, second = (reboot, redeploy) if hold["notice"] == str(reboot.pk) else (redeploy, reboot)
    held = {"notice": str(first.pk), "reason": says[first], "from": "2026-01-05T08:00:00Z"}
    assert hold == {**held, "until": None}

    complete(first, EIGHT + MINUTE)
    complete(second, EIGHT + 2 * MINUTE)

    again = {"notice": str(second.pk), "reason": says[second]}
    run = api.get(address).json()
    assert (run["state"], run["reason"]) == ("waiting", "")
    assert run["holds"] == [
        {**held, "until": "2026-01-05T08:01:00Z"},
        {**again, "from": "2026-01-05T08:01:00Z", "until": "2026-01-05T08:02:00Z"},
    ]
    assert "holds" not in api.get("/api/runs").json()["value"][0]


def test_a_run_that_was_skipped_names_the_one_that_was_still_going(api, clock, make_job):
    make_job(schedule=HOURLY, now=T0)
    dispatch(EIGHT)
    dispatch(EIGHT + HOUR)
    first, second = Run.objects.order_by("fire_at")
    lease([str(first.pk)], "worker", EIGHT)
    lease([str(second.pk)], "worker", EIGHT + HOUR)

    listed = {run["id"]: run["blockedBy"] for run in api.get("/api/runs").json()["value"]}

    assert listed == {str(first.pk): None, str(second.pk): str(first.pk)}
    document = api.get(f"/api/runs/{second.pk}").json()
    assert (document["state"], document["blockedBy"]) == ("skipped", str(first.pk))
    assert document["holds"] == []


@pytest.mark.parametrize("kind, queries", [("jobs", 7), ("triggers", 4)])
def test_a_list_takes_as_many_queries_whatever_is_held(
    api, clock, make_job, subscription, django_assert_num_queries, kind, queries
):
    for count in (1, 12):
        for number in range(count):
            name = f"db-{count}-{number}"
            holds(make_job(name, schedule=HOURLY, now=T0), name)
            announce(resource(subscription, name), not_before=EIGHT - MINUTE, duration_s=600)
        api.get(f"/api/{kind}")  # writes when the token was last used
        with django_assert_num_queries(queries):
            listed = api.get(f"/api/{kind}").json()["value"]
        assert all(document["hold"] for document in listed)
    assert Trigger.objects.count() == Notice.objects.count() == 13


def test_the_list_and_the_document_say_the_same(api, job, db2):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=7200)

    [listed] = api.get("/api/jobs").json()["value"]

    assert listed == read(api, job)
    assert listed["nextRunAt"] == "2026-01-05T09:59:00Z"
    assert listed["hold"]["fireAt"] < listed["nextRunAt"]
