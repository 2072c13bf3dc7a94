"""What our own API returns about fire times that maintenance holds or will hold."""

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
    """Stop the clock half an hour before the first fire time."""
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


def test_job_without_a_hold_runs_at_its_fire_time(api, job):
    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]) == ("2026-01-05T08:00:00Z", None)


def test_job_shows_its_run_after_the_maintenance_and_its_hold(api, job, db2):
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
def test_job_held_without_a_known_end_has_no_next_run(api, job, db2, after):
    maintenance_holds.set_policy(
        job, maintenance_holds.PolicyInput(resource_names=["db-2"], on_notice="hold", on_end=after), T0
    )
    announce(db2, has_started=True)

    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]["until"]) == (None, None)
    assert document["hold"]["after"] == {"run_once": "runOnce", "drop": "drop"}[after]


def test_dropped_fire_time_is_not_the_next_run(api, job, db2):
    holds(job, on_end="drop")
    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)

    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]) == ("2026-01-05T09:00:00Z", None)


def test_run_that_is_already_held_is_the_next_run(api, job, db2, clock):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)
    clock.move_to(EIGHT + MINUTE)
    dispatch(EIGHT)

    document = read(api, job)

    assert (document["nextRunAt"], document["hold"]["fireAt"]) == ("2026-01-05T08:09:00Z", "2026-01-05T08:00:00Z")


def test_trigger_shows_its_fire_time_and_its_hold(api, job, db2):
    notice = announce(db2, not_before=EIGHT - MINUTE, duration_s=600)
    [trigger] = job.triggers.all()

    document = api.get(f"/api/triggers/{trigger.pk}").json()

    assert document["nextFireAt"] == "2026-01-05T08:00:00Z"
    assert document["hold"] == read(api, job)["hold"]
    assert document["hold"]["notice"] == str(notice.pk)


def test_stopped_trigger_has_no_hold(api, job, db2):
    announce(db2, has_started=True)
    api.post(f"/api/jobs/{job.pk}/pause")

    [trigger] = job.triggers.all()

    assert api.get(f"/api/triggers/{trigger.pk}").json()["hold"] is None
    assert read(api, job)["nextRunAt"] is None


def test_run_shows_its_holds_after_they_have_ended(api, job, db2):
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


def test_skipped_run_names_the_run_that_blocked_it(api, clock, make_job):
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
def test_number_of_queries_does_not_depend_on_the_number_of_holds(
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


def test_job_in_the_list_equals_its_document(api, job, db2):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=7200)

    [listed] = api.get("/api/jobs").json()["value"]

    assert listed == read(api, job)
    assert listed["nextRunAt"] == "2026-01-05T09:59:00Z"
    assert listed["hold"]["fireAt"] < listed["nextRunAt"]
