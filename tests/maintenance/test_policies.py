"""The maintenance policies of jobs, the runs that notices start, and the forecast of holds."""

from datetime import timedelta

import pytest

from accounts.models import Subscription
from jobs.models import Job, JobCollection, Run
from maintenance import holds as maintenance_holds
from maintenance import lifecycle
from maintenance.errors import MaintenanceError
from maintenance.lifecycle import RUNS_ENDED, advance
from maintenance.models import JobMaintenancePolicy, Notice, NoticeRun
from maintenance.policies import PolicyInput
from tests.conftest import utc
from tests.maintenance.notices import (
    EIGHT,
    HOUR,
    HOURLY,
    MINUTE,
    OPERATOR,
    T0,
    announce,
    cancel,
    complete,
    dispatch,
    end,
    holds,
    note,
    resource,
    set_policy,
    start,
    started_phases,
    status,
    steps,
)
from triggers.gates import notice_of
from triggers.scheduling import set_job_state

pytestmark = pytest.mark.django_db

SCHEDULED, STARTED, COMPLETED, CANCELLED = Notice.Status
STEPS = ("announce", "start", "complete", "cancel")


@pytest.fixture
def db2(subscription):
    return resource(subscription)


@pytest.fixture
def job(make_job):
    return make_job(schedule=HOURLY)


# Policies


@pytest.mark.parametrize(
    "values, path",
    [
        ({"resource_names": [""]}, "resources[0]"),
        ({"resource_names": ["db-2", "x" * 256]}, "resources[1]"),
        ({"resource_names": ["a\0b"]}, "resources[0]"),
        ({"resource_names": ["\udfff"]}, "resources[0]"),
        ({"resource_names": [7]}, "resources[0]"),
        ({"resource_names": [str(number) for number in range(1001)]}, "resources"),
        ({"labels": {"": "x"}}, "labels"),
        ({"labels": {"rack": None}}, "labels"),
        ({"labels": {"rack": "x" * 256}}, "labels"),
        ({"labels": {str(number): "" for number in range(51)}}, "labels"),
        ({"on_notice": "sleep"}, "during"),
        ({"on_end": "never"}, "after"),
        ({"lead_time": timedelta(days=7, seconds=1)}, "lead"),
        ({"lead_time": timedelta(seconds=-1)}, "lead"),
        ({"run_at_phases": ["start", "approve"]}, "runOn[1]"),
        ({"resource_names": [], "on_notice": "hold"}, "resources"),  # there is no resource and no label
        ({"resource_names": [], "run_at_phases": ["start"]}, "resources"),
    ],
)
def test_invalid_policy_is_refused(values, path):
    with pytest.raises(MaintenanceError) as refusal:
        PolicyInput(**{"resource_names": ["db-2"], **values})

    assert refusal.value.path == path


def test_job_has_one_policy_that_is_replaced(job):
    holds(job, "db-2", "db-1", "db-2")
    policy = set_policy(job, "web", run_at_phases=["start", "announce", "start"], lead_time=MINUTE)

    assert JobMaintenancePolicy.objects.get() == policy
    assert (policy.resource_names, policy.on_notice) == (["web"], "nothing")
    assert policy.run_at_phases == ["announce", "start"]
    maintenance_holds.clear_policy(job, T0)
    assert not JobMaintenancePolicy.objects.exists()


def test_policy_of_a_job_in_a_deleted_collection_is_refused(job):
    JobCollection.objects.update(state=JobCollection.State.DELETED)

    with pytest.raises(MaintenanceError) as refusal:
        holds(job)

    assert refusal.value.code == "conflict"


# Runs started by notices


@pytest.mark.parametrize(
    "transitions, runs",
    [
        ([], ["announce"]),
        ([start], ["announce", "start"]),
        ([start, start, complete, complete], ["announce", "complete", "start"]),
        ([cancel, cancel], ["announce", "cancel"]),
        ([lambda notice, now: advance(now + HOUR)], ["announce", "start"]),
        ([start, lambda notice, now: advance(now + HOUR)], ["announce", "start"]),
    ],
)
def test_transition_starts_a_run_only_once(db2, job, transitions, runs):
    set_policy(job, run_at_phases=STEPS)
    notice = announce(db2)
    for step in transitions:
        step(notice, T0 + MINUTE)

    assert sorted(started_phases()) == runs
    assert {notice_run.run.manual_key for notice_run in NoticeRun.objects.all()} == {
        f"notice {notice.pk} {step}" for step in runs
    }


def test_transition_starts_only_jobs_with_its_phase(db2, make_job):
    jobs = {step: make_job(step) for step in STEPS}
    for step, job in jobs.items():
        set_policy(job, run_at_phases=[step])
    set_policy(make_job("other"), "web", run_at_phases=STEPS)

    complete(announce(db2, has_started=True), T0)
    cancel(announce(db2), T0)

    assert {step: started_phases(job) for step, job in jobs.items()} == {
        "announce": ["announce"] * 2,
        "start": ["start"],
        "complete": ["complete"],
        "cancel": ["cancel"],
    }
    assert Run.objects.count() == 5


@pytest.mark.parametrize("stop", ["job", "collection"])
def test_disabled_job_is_not_run_and_the_transition_says_so(db2, job, collection, stop):
    set_policy(job, run_at_phases=["start"])
    if stop == "job":
        set_job_state(job, Job.State.DISABLED, T0)
    else:
        JobCollection.objects.update(state=JobCollection.State.DISABLED)
    notice = announce(db2)

    start(notice, T0)

    assert not Run.objects.exists()
    stopped = "job 'backup'" if stop == "job" else "collection 'nightly'"
    assert note(notice).startswith(f"approved; not run: {stopped} is disabled")
    advance(T0 + HOUR)
    assert status(notice) == STARTED  # no run was started, so no run ends the notice


@pytest.mark.parametrize(
    "ends, detail",
    [
        (["succeeded", "succeeded"], "its work has ended"),
        (["failed", "succeeded"], "its work has ended, without success: patch"),
        (["cancelled", "skipped"], "its work has ended, without success: patch, verify"),
    ],
)
def test_notice_completes_when_its_last_run_has_ended(db2, make_job, ends, detail):
    for name in ("patch", "verify"):
        set_policy(make_job(name), run_at_phases=["start"])
    notice = announce(db2, has_started=True)
    patch, verify = Run.objects.order_by("job_name")

    advance(T0 + MINUTE)
    end(patch, ends[0])
    advance(T0 + MINUTE)
    assert status(notice) == STARTED
    end(verify, ends[1])
    advance(T0 + MINUTE)

    assert (status(notice), notice.ended_at, notice.ends_at) == (COMPLETED, T0 + MINUTE, T0 + MINUTE)
    assert (steps(notice)[-1], note(notice)) == ((COMPLETED, RUNS_ENDED), detail)


def test_notice_waits_for_the_error_action_of_its_run(db2, job):
    set_policy(job, run_at_phases=["start"])
    notice = announce(db2, has_started=True)
    run = Run.objects.get()
    end(run, "failed")
    follower = Run.objects.get()
    follower.pk, follower.parent_id, follower.manual_key, follower.state = None, run.pk, None, "waiting"
    follower.save(force_insert=True)

    advance(T0 + MINUTE)
    assert status(notice) == STARTED
    end(follower)
    advance(T0 + MINUTE)
    assert status(notice) == COMPLETED


def test_run_of_another_phase_does_not_complete_a_notice(db2, job):
    set_policy(job, run_at_phases=["announce"])
    notice = announce(db2, has_started=True)
    end(Run.objects.get())

    advance(T0 + HOUR)

    assert status(notice) == STARTED


def test_notice_that_ends_manually_is_not_completed_by_its_runs(db2, job):
    set_policy(job, run_at_phases=["start"])
    notice = announce(db2, has_started=True, end_manually=True)
    end(Run.objects.get())

    advance(T0 + MINUTE)
    assert status(notice) == STARTED
    lifecycle.change(notice, {"end_manually": False}, OPERATOR, T0 + MINUTE)
    advance(T0 + MINUTE)
    assert status(notice) == COMPLETED


def test_deleted_run_counts_as_ended(db2, job):
    set_policy(job, run_at_phases=["start"])
    notice = announce(db2, has_started=True)
    Run.objects.all().delete()

    advance(T0 + MINUTE)

    assert (status(notice), note(notice)) == (COMPLETED, "its work has ended")


# Forecast of holds


@pytest.mark.parametrize(
    "values, members, windows",
    [
        ({}, {"duration_s": 600}, [("08:30", "08:40")]),
        ({"lead_time": HOUR}, {"duration_s": 600}, [("07:30", "08:40")]),
        ({}, {}, [("08:30", None)]),
        (
            {},
            {"duration_s": 0},
            [("08:30", None)],
        ),  # nothing is interrupted, but the notice lasts until it is ended manually
        ({"lead_time": MINUTE}, {"duration_s": 0}, [("08:29", None)]),
        ({"on_notice": "nothing"}, {"duration_s": 600}, []),
        ({}, {"has_started": True, "duration_s": 7200}, [("07:30", "09:30")]),
        ({}, {"has_started": True}, [("07:30", None)]),
        ({}, {"has_started": True, "duration_s": 60}, [("07:30", None)]),  # the notice lasts longer than expected
        ({"resource_names": ["web"]}, {"duration_s": 600}, []),
        ({"resource_names": [], "labels": {"rack": "r7"}}, {"duration_s": 600}, [("08:30", "08:40")]),
    ],
)
def test_forecast_has_the_windows_in_which_a_job_is_held(subscription, job, values, members, windows):
    maintenance_holds.set_policy(job, PolicyInput(**{"resource_names": ["db-2"], "on_notice": "hold", **values}), T0)
    notice = announce(resource(subscription, labels={"rack": "r7"}), **members)

    found = maintenance_holds.upcoming_holds([job.pk], T0, T0 + 24 * HOUR, T0 + 2 * MINUTE)

    assert [
        (notice_of(each.key), f"{each.start:%H:%M}", each.end and f"{each.end:%H:%M}") for each in found.get(job.pk, [])
    ] == [(notice.pk, *window) for window in windows]


@pytest.mark.parametrize("on_notice, until", [("nothing", "08:30"), ("hold", "08:40")])
def test_forecast_of_a_draining_notice_holds_from_now(db2, job, on_notice, until):
    set_policy(job, on_notice=on_notice)
    dispatch(EIGHT)
    Run.objects.update(state=Run.State.RUNNING)
    announce(db2, now=EIGHT, not_before=EIGHT + 30 * MINUTE, duration_s=600, approve_when_idle=True)

    [window] = maintenance_holds.upcoming_holds([job.pk], EIGHT, EIGHT + HOUR, EIGHT)[job.pk]

    assert (window.start, f"{window.end:%H:%M}") == (EIGHT, until)


@pytest.mark.parametrize(
    "start, end, is_found",
    [("08:00", "08:30", False), ("08:00", "08:31", True), ("08:39", "09:00", True), ("08:40", "09:00", False)],
)
def test_forecast_is_limited_to_its_window(db2, job, start, end, is_found):
    holds(job)
    announce(db2, duration_s=600)

    span = (utc(f"2026-01-05T{start}Z"), utc(f"2026-01-05T{end}Z"))
    assert bool(maintenance_holds.upcoming_holds([job.pk], *span, T0)) is is_found


@pytest.mark.parametrize("duration_s", [600, 0, -1])
def test_forecast_agrees_with_the_held_runs(db2, make_job, duration_s):
    job = make_job(schedule={**HOURLY, "recurrence": {"frequency": "Minute"}})
    holds(job, lead_time=5 * MINUTE)
    notice = announce(db2, duration_s=duration_s)
    [window] = maintenance_holds.upcoming_holds([job.pk], T0, T0 + 24 * HOUR, T0)[job.pk]

    at = EIGHT
    while at < EIGHT + HOUR:
        if duration_s > 0 and at == notice.not_before + timedelta(seconds=duration_s):
            complete(notice, at)
        lifecycle.run_housekeeping(at)
        dispatch(at)
        Run.objects.filter(state=Run.State.WAITING).update(state=Run.State.SUCCEEDED, finished_at=at)
        at += MINUTE

    held_fire_times = Run.objects.exclude(reason="").values_list("fire_at", flat=True)
    covered = [EIGHT + n * MINUTE for n in range(60) if window.covers(EIGHT + n * MINUTE)]
    assert sorted(held_fire_times) == (covered[:-1] if duration_s > 0 else covered)  # the latest run was released
    assert window.reason in Run.objects.exclude(reason="")[0].reason


def test_forecast_reads_no_notices_of_other_subscriptions(db2, make_job, monkeypatch):
    """The notices of one subscription must not slow down the jobs of another."""
    job, notices_read = make_job(), []
    holds(job)
    notice = announce(db2)
    announce(resource(Subscription.objects.create(name="elsewhere")))
    with_resources = maintenance_holds.with_resources
    monkeypatch.setattr(
        maintenance_holds, "with_resources", lambda rows: notices_read.append(with_resources(rows)) or notices_read[-1]
    )

    maintenance_holds.holds_by_job(T0, [job.pk])
    maintenance_holds.upcoming_holds([job.pk], T0, T0 + HOUR, T0)
    maintenance_holds.sync_all_holds(T0)
    JobMaintenancePolicy.objects.all().delete()
    maintenance_holds.holds_by_job(T0, [job.pk])

    assert [{each.notice for each in notices} for notices in notices_read] == [{notice}, {notice}, set(), set()]


def test_forecast_takes_two_queries_for_any_number_of_jobs(db2, make_job, django_assert_num_queries):
    jobs = [make_job(f"job-{number}") for number in range(20)]
    for job in jobs:
        holds(job)

    with django_assert_num_queries(1):
        assert maintenance_holds.upcoming_holds([job.pk for job in jobs], T0, T0 + HOUR, T0) == {}
    for number in range(5):
        announce(db2, not_before=T0 + number * MINUTE)
    with django_assert_num_queries(2):
        found = maintenance_holds.upcoming_holds([job.pk for job in jobs], T0, T0 + HOUR, T0)
        assert {each.reason for windows in found.values() for each in windows} == {
            "held by maintenance: Reboot of db-2"
        }
    assert [len(windows) for windows in found.values()] == [5] * 20


def test_matching_of_policies_takes_a_fixed_number_of_queries(db2, make_job, django_assert_num_queries):
    for number in range(3):
        set_policy(make_job(f"job-{number}", schedule=HOURLY))
    dispatch(EIGHT)
    Run.objects.filter(job_name="job-1").update(state="running", started_at=EIGHT)
    notices = [announce(db2), announce(resource(db2.subscription, "web"))]

    with django_assert_num_queries(2):
        policies = maintenance_holds.matching_policies(notices)
        jobs = [[policy.job for policy in policies[notice.pk]] for notice in notices]
        names = [[(job.name, job.collection.name) for job in of_notice] for of_notice in jobs]
    assert names == [[(f"job-{number}", "nightly") for number in range(3)], []]
    with django_assert_num_queries(3):
        running = maintenance_holds.running_runs(notices)
    assert [[run.job_name for run in running[notice.pk]] for notice in notices] == [["job-1"], []]
