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


# What a job says


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
        ({"resource_names": [], "on_notice": "hold"}, "resources"),  # of what?
        ({"resource_names": [], "run_at_phases": ["start"]}, "resources"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(values, path):
    with pytest.raises(MaintenanceError) as refusal:
        PolicyInput(**{"resource_names": ["db-2"], **values})

    assert refusal.value.path == path


def test_a_job_says_one_thing_at_a_time(job):
    holds(job, "db-2", "db-1", "db-2")
    policy = set_policy(job, "web", run_at_phases=["start", "announce", "start"], lead_time=MINUTE)

    assert JobMaintenancePolicy.objects.get() == policy
    assert (policy.resource_names, policy.on_notice) == (["web"], "nothing")
    assert policy.run_at_phases == ["announce", "start"]
    maintenance_holds.clear_policy(job, T0)
    assert not JobMaintenancePolicy.objects.exists()


def test_a_job_of_a_collection_that_is_being_deleted_says_nothing_new(job):
    JobCollection.objects.update(state=JobCollection.State.DELETED)

    with pytest.raises(MaintenanceError) as refusal:
        holds(job)

    assert refusal.value.code == "conflict"


# Attached work


@pytest.mark.parametrize(
    "life, runs",
    [
        ([], ["announce"]),
        ([start], ["announce", "start"]),
        ([start, start, complete, complete], ["announce", "complete", "start"]),
        ([cancel, cancel], ["announce", "cancel"]),
        ([lambda notice, now: advance(now + HOUR)], ["announce", "start"]),
        ([start, lambda notice, now: advance(now + HOUR)], ["announce", "start"]),
    ],
)
def test_a_step_orders_a_run_once(db2, job, life, runs):
    set_policy(job, run_at_phases=STEPS)
    notice = announce(db2)
    for step in life:
        step(notice, T0 + MINUTE)

    assert sorted(started_phases()) == runs
    assert {work.run.manual_key for work in NoticeRun.objects.all()} == {f"notice {notice.pk} {step}" for step in runs}


def test_only_steps_that_a_job_names_order_a_run_of_it(db2, make_job):
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
def test_a_stopped_job_is_not_run_and_the_step_says_so(db2, job, collection, stop):
    set_policy(job, run_at_phases=["start"])
    if stop == "job":
        set_job_state(job, Job.State.DISABLED, T0)
    else:
        JobCollection.objects.update(state=JobCollection.State.DISABLED)
    notice = announce(db2)

    start(notice, T0)

    assert not Run.objects.exists()
    what = "job 'backup'" if stop == "job" else "collection 'nightly'"
    assert note(notice).startswith(f"approved; not run: {what} is disabled")
    advance(T0 + HOUR)
    assert status(notice) == STARTED  # it has no work whose end would end it


@pytest.mark.parametrize(
    "ends, says",
    [
        (["succeeded", "succeeded"], "its work has ended"),
        (["failed", "succeeded"], "its work has ended, without success: patch"),
        (["cancelled", "skipped"], "its work has ended, without success: patch, verify"),
    ],
)
def test_a_notice_ends_with_the_last_of_its_work(db2, make_job, ends, says):
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
    assert (steps(notice)[-1], note(notice)) == ((COMPLETED, RUNS_ENDED), says)


def test_an_error_action_belongs_to_the_work(db2, job):
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


def test_work_of_other_steps_does_not_end_it(db2, job):
    set_policy(job, run_at_phases=["announce"])
    notice = announce(db2, has_started=True)
    end(Run.objects.get())

    advance(T0 + HOUR)

    assert status(notice) == STARTED


def test_an_operator_keeps_it_open(db2, job):
    set_policy(job, run_at_phases=["start"])
    notice = announce(db2, has_started=True, end_manually=True)
    end(Run.objects.get())

    advance(T0 + MINUTE)
    assert status(notice) == STARTED
    lifecycle.change(notice, {"end_manually": False}, OPERATOR, T0 + MINUTE)
    advance(T0 + MINUTE)
    assert status(notice) == COMPLETED


def test_work_whose_history_is_gone_has_ended(db2, job):
    set_policy(job, run_at_phases=["start"])
    notice = announce(db2, has_started=True)
    Run.objects.all().delete()

    advance(T0 + MINUTE)

    assert (status(notice), note(notice)) == (COMPLETED, "its work has ended")


# Beforehand


@pytest.mark.parametrize(
    "values, members, windows",
    [
        ({}, {"duration_s": 600}, [("08:30", "08:40")]),
        ({"lead_time": HOUR}, {"duration_s": 600}, [("07:30", "08:40")]),
        ({}, {}, [("08:30", None)]),
        ({}, {"duration_s": 0}, [("08:30", None)]),  # nothing is interrupted, but it lasts until somebody ends it
        ({"lead_time": MINUTE}, {"duration_s": 0}, [("08:29", None)]),
        ({"on_notice": "nothing"}, {"duration_s": 600}, []),
        ({}, {"has_started": True, "duration_s": 7200}, [("07:30", "09:30")]),
        ({}, {"has_started": True}, [("07:30", None)]),
        ({}, {"has_started": True, "duration_s": 60}, [("07:30", None)]),  # it lasts longer than was expected
        ({"resource_names": ["web"]}, {"duration_s": 600}, []),
        ({"resource_names": [], "labels": {"rack": "r7"}}, {"duration_s": 600}, [("08:30", "08:40")]),
    ],
)
def test_a_forecast_says_when_a_job_will_be_held(subscription, job, values, members, windows):
    maintenance_holds.set_policy(job, PolicyInput(**{"resource_names": ["db-2"], "on_notice": "hold", **values}), T0)
    notice = announce(resource(subscription, labels={"rack": "r7"}), **members)

    found = maintenance_holds.upcoming_holds([job.pk], T0, T0 + 24 * HOUR, T0 + 2 * MINUTE)

    assert [
        (notice_of(each.key), f"{each.start:%H:%M}", each.end and f"{each.end:%H:%M}") for each in found.get(job.pk, [])
    ] == [(notice.pk, *window) for window in windows]


@pytest.mark.parametrize("during, until", [("nothing", "08:30"), ("hold", "08:40")])
def test_a_forecast_of_a_notice_that_waits_for_the_last_run(db2, job, during, until):
    set_policy(job, on_notice=during)
    dispatch(EIGHT)
    Run.objects.update(state=Run.State.RUNNING)
    announce(db2, now=EIGHT, not_before=EIGHT + 30 * MINUTE, duration_s=600, approve_when_idle=True)

    [window] = maintenance_holds.upcoming_holds([job.pk], EIGHT, EIGHT + HOUR, EIGHT)[job.pk]

    assert (window.start, f"{window.end:%H:%M}") == (EIGHT, until)


@pytest.mark.parametrize(
    "start, end, is_found",
    [("08:00", "08:30", False), ("08:00", "08:31", True), ("08:39", "09:00", True), ("08:40", "09:00", False)],
)
def test_a_forecast_is_of_a_window(db2, job, start, end, is_found):
    holds(job)
    announce(db2, duration_s=600)

    span = (utc(f"2026-01-05T{start}Z"), utc(f"2026-01-05T{end}Z"))
    assert bool(maintenance_holds.upcoming_holds([job.pk], *span, T0)) is is_found


@pytest.mark.parametrize("duration_s", [600, 0, -1])
def test_a_forecast_agrees_with_what_is_held(db2, make_job, duration_s):
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

    gone = Run.objects.exclude(reason="").values_list("fire_at", flat=True)
    covered = [EIGHT + n * MINUTE for n in range(60) if window.covers(EIGHT + n * MINUTE)]
    assert sorted(gone) == (covered[:-1] if duration_s > 0 else covered)  # the newest went on
    assert window.reason in Run.objects.exclude(reason="")[0].reason


def test_notices_of_other_subscriptions_are_not_read(db2, make_job, monkeypatch):
    """However many they are: the jobs of one subscription do not wait for the notices of another."""
    job, read = make_job(), []
    holds(job)
    notice = announce(db2)
    announce(resource(Subscription.objects.create(name="elsewhere")))
    with_resources = maintenance_holds.with_resources
    monkeypatch.setattr(maintenance_holds, "with_resources", lambda rows: read.append(with_resources(rows)) or read[-1])

    maintenance_holds.holds_by_job(T0, [job.pk])
    maintenance_holds.upcoming_holds([job.pk], T0, T0 + HOUR, T0)
    maintenance_holds.sync_all_holds(T0)
    JobMaintenancePolicy.objects.all().delete()
    maintenance_holds.holds_by_job(T0, [job.pk])

    assert [{each.notice for each in notices} for notices in read] == [{notice}, {notice}, set(), set()]


def test_a_forecast_takes_two_queries_for_any_number_of_jobs(db2, make_job, django_assert_num_queries):
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


def test_whom_notices_concern_takes_as_many_queries_however_many_there_are(db2, make_job, django_assert_num_queries):
    for number in range(3):
        set_policy(make_job(f"job-{number}", schedule=HOURLY))
    dispatch(EIGHT)
    Run.objects.filter(job_name="job-1").update(state="running", started_at=EIGHT)
    notices = [announce(db2), announce(resource(db2.subscription, "web"))]

    with django_assert_num_queries(2):
        concerned = maintenance_holds.matching_policies(notices)
        jobs = [[policy.job for policy in concerned[notice.pk]] for notice in notices]
        names = [[(job.name, job.collection.name) for job in of_notice] for of_notice in jobs]
    assert names == [[(f"job-{number}", "nightly") for number in range(3)], []]
    with django_assert_num_queries(3):
        going = maintenance_holds.running_runs(notices)
    assert [[run.job_name for run in going[notice.pk]] for notice in notices] == [["job-1"], []]
