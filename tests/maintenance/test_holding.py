"""Runs held by maintenance: which runs, from when, until when, and what happens afterwards."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.cancel import cancel as cancel_run
from jobs.models import Job, Run
from jobs.run_now import run_now
from jobs.worker import pruning, rescue
from jobs.worker.leasing import lease
from maintenance import holds as maintenance_holds
from maintenance import lifecycle, resources
from maintenance.models import Notice
from maintenance.policies import PolicyInput
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
    holds,
    resource,
    start,
    states,
)
from tests.query_plans import add_runs, update_statistics
from triggers.definitions import JobDefinition, document_of
from triggers.deletion import delete_collection, delete_job
from triggers.dispatch import dispatch_due
from triggers.scheduling import save_job, set_job_state

pytestmark = pytest.mark.django_db

HELD, WAITING, SKIPPED = Run.State.HELD, Run.State.WAITING, Run.State.SKIPPED
NINE, TEN = EIGHT + HOUR, EIGHT + 2 * HOUR
REASON = "held by maintenance: Reboot of db-2"


@pytest.fixture
def db2(subscription):
    return resource(subscription)


@pytest.fixture
def job(make_job):
    return make_job(schedule=HOURLY)


def lease_all(now):
    return lease([str(pk) for pk in Run.objects.values_list("pk", flat=True)], "worker", now)


# Start and end of holds


@pytest.mark.parametrize(
    "values, members, held",
    [
        ({}, {"has_started": True}, True),
        ({}, {"not_before": EIGHT}, True),  # the notice is due, but housekeeping may not have started it yet
        ({}, {"not_before": EIGHT + MINUTE}, False),
        ({"lead_time": 10 * MINUTE}, {"not_before": EIGHT + 10 * MINUTE}, True),
        ({"lead_time": 10 * MINUTE}, {"not_before": EIGHT + 11 * MINUTE}, False),
        ({"on_notice": "nothing"}, {"has_started": True}, False),
        ({"resource_names": ["db-1"]}, {"has_started": True}, False),
        ({"resource_names": ["DB-2"]}, {"has_started": True}, False),  # names are case-sensitive
        ({"resource_names": [], "labels": {"rack": "r7"}}, {"has_started": True}, True),
        ({"resource_names": [], "labels": {"rack": "r7", "row": "1"}}, {"has_started": True}, False),
        (
            {"resource_names": ["db-1"], "labels": {"rack": "r7"}},
            {"has_started": True},
            True,
        ),  # a name or all labels must match
    ],
)
def test_due_run_is_held_if_its_policy_matches(subscription, job, values, members, held):
    maintenance_holds.set_policy(job, PolicyInput(**{"resource_names": ["db-2"], "on_notice": "hold", **values}), T0)
    announce(resource(subscription, labels={"rack": "r7", "kind": "database"}), **members)

    ready = dispatch_due(EIGHT)

    run = Run.objects.get()
    assert (run.state, run.reason) == ((HELD, REASON) if held else (WAITING, ""))
    assert [each.id for each in ready] == ([] if held else [run.pk])


def test_notice_holds_no_jobs_of_other_subscriptions(job, subscription):
    from accounts.models import Subscription

    holds(job)
    announce(resource(Subscription.objects.create(name="other")), has_started=True)

    dispatch(EIGHT)

    assert states() == {"08:00": WAITING}


@pytest.mark.parametrize("end_notice", [complete, "cancel"])
def test_run_is_not_held_after_the_end_of_a_notice(db2, job, end_notice):
    holds(job, lead_time=HOUR)
    notice = announce(db2) if end_notice == "cancel" else announce(db2, has_started=True)

    (cancel if end_notice == "cancel" else end_notice)(notice, T0)
    dispatch(EIGHT)

    assert states() == {"08:00": WAITING}


def test_start_of_a_notice_holds_waiting_runs(db2, job):
    holds(job)
    notice = announce(db2, not_before=EIGHT + MINUTE)
    dispatch(EIGHT)

    start(notice, EIGHT)

    assert states() == {"08:00": HELD}
    assert lease_all(EIGHT) == []


def test_housekeeping_holds_waiting_runs_when_the_lead_time_begins(db2, job):
    holds(job, lead_time=10 * MINUTE)
    announce(db2, not_before=EIGHT + 20 * MINUTE)
    dispatch(EIGHT)

    lifecycle.run_housekeeping(EIGHT + 9 * MINUTE)
    assert states() == {"08:00": WAITING}
    lifecycle.run_housekeeping(EIGHT + 10 * MINUTE)
    assert states() == {"08:00": HELD}


@pytest.mark.parametrize("state", Run.BEGUN)
def test_running_run_is_not_held(db2, job, state):
    holds(job)
    dispatch(EIGHT)
    Run.objects.update(state=state)

    announce(db2, now=EIGHT, has_started=True)

    assert states() == {"08:00": state}


def test_manual_run_is_not_held(db2, job):
    holds(job)
    announce(db2, has_started=True)

    run = run_now(job, EIGHT)
    lifecycle.run_housekeeping(EIGHT)

    assert [leased.run.pk for leased in lease_all(EIGHT)] == [run.pk]


# The end of holds


@pytest.mark.parametrize(
    "on_end, run_states, reason",
    [
        ("run_once", [SKIPPED, SKIPPED, WAITING], f"{REASON}: a later fire time ran for it"),
        ("drop", [SKIPPED, SKIPPED, SKIPPED], f"{REASON}: dropped at the end of it"),
    ],
)
def test_end_of_a_notice_releases_the_latest_run_or_none(db2, job, on_end, run_states, reason):
    holds(job, on_end=on_end)
    notice = announce(db2, has_started=True)
    for now in (EIGHT, NINE, TEN):
        dispatch(now)

    complete(notice, TEN + MINUTE)

    runs = list(Run.objects.order_by("fire_at"))
    assert [run.state for run in runs] == run_states
    assert {run.reason for run in runs if run.state == SKIPPED} == {reason}
    assert all(run.finished_at == TEN + MINUTE for run in runs if run.state == SKIPPED)
    assert not Run.objects.exclude(hold_key=None).exists()
    ready = Run.objects.ready(TEN + MINUTE)
    assert [run.fire_at for run in ready] == ([TEN] if on_end == "run_once" else [])
    assert len(lease_all(TEN + MINUTE)) == (on_end == "run_once")


def test_cancelled_notice_releases_its_runs(db2, job):
    holds(job, lead_time=HOUR)
    notice = announce(db2)
    dispatch(EIGHT)
    assert states() == {"08:00": HELD}

    cancel(notice, EIGHT + MINUTE)

    assert states() == {"08:00": WAITING}


def test_run_held_by_two_notices_waits_for_both(db2, job):
    holds(job)
    first, second = announce(db2, has_started=True), announce(db2, has_started=True, event_type="Redeploy")
    dispatch(EIGHT)

    complete(first, EIGHT)
    assert [(run.state, run.reason) for run in Run.objects.all()] == [(HELD, "held by maintenance: Redeploy of db-2")]
    complete(second, EIGHT)
    assert states() == {"08:00": WAITING}


def test_notice_moved_to_later_releases_its_runs(db2, job):
    holds(job, lead_time=10 * MINUTE)
    notice = announce(db2, not_before=EIGHT + MINUTE)
    dispatch(EIGHT)
    assert states() == {"08:00": HELD}

    lifecycle.change(notice, {"not_before": NINE}, OPERATOR, EIGHT)

    assert states() == {"08:00": WAITING}


@pytest.mark.parametrize("on_end, state, run_state", [("run_once", "enabled", WAITING), ("drop", "completed", SKIPPED)])
def test_held_last_run_completes_its_job_only_if_dropped(db2, make_job, on_end, state, run_state):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"})
    holds(job, on_end=on_end)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    job.refresh_from_db()
    assert job.state == Job.State.ENABLED

    complete(notice, NINE)

    job.refresh_from_db()
    assert (job.state, states()) == (state, {"08:00": run_state})
    assert Run.objects.get().is_last


def test_released_run_is_the_last_run_if_a_skipped_one_was(db2, job):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    Run.objects.update(is_last=True)
    dispatch(NINE)

    complete(notice, NINE)

    assert [run.fire_at for run in Run.objects.filter(is_last=True, state=WAITING)] == [NINE]


# Changes during a hold


@pytest.mark.parametrize("delete", [delete_job, lambda job, now: delete_collection(job.collection, now)])
def test_held_runs_of_a_deleted_job_are_cancelled(db2, job, delete):
    holds(job)
    announce(db2, has_started=True)
    dispatch(EIGHT)

    delete(job, EIGHT)
    lifecycle.run_housekeeping(EIGHT)

    assert list(Run.objects.values_list("state", "hold_key", "job")) == [("cancelled", None, None)]


def change_schedule(job, db2):
    document = {"action": document_of(job)["action"], "startTime": "2026-01-05T10:30:00Z"}
    save_job(job.collection, job.name, JobDefinition.of(document), NINE)


def remove_schedule(job, db2):
    save_job(job.collection, job.name, JobDefinition.of(document_of(job), own_schedule=False), NINE)


@pytest.mark.parametrize(
    "change",
    [
        lambda job, db2: None,
        change_schedule,
        remove_schedule,
        lambda job, db2: resources.unregister(db2),  # the notice keeps the name of the resource
        lambda job, db2: resources.change(db2, labels={}, scope_group="elsewhere"),
        lambda job, db2: [set_job_state(job, state, NINE) for state in (Job.State.DISABLED, Job.State.ENABLED)],
        lambda job, db2: [lifecycle.run_housekeeping(NINE) for _ in range(3)],
    ],
    ids=["nothing", "replanned", "unplanned", "removed", "moved", "disabled and enabled", "looked after"],
)
def test_held_job_runs_once_after_changes_during_the_hold(db2, job, change):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    dispatch(NINE)

    change(job, db2)
    assert lease_all(NINE) == []
    complete(notice, NINE)
    lifecycle.run_housekeeping(NINE)

    assert [leased.run.fire_at for leased in lease_all(NINE)] == [NINE]
    assert states() == {"08:00": SKIPPED, "09:00": "running"}


def test_released_run_is_retried_and_not_held_after_its_worker_dies(db2, job):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, NINE)
    assert len(lease_all(NINE)) == 1

    rescue.rescue_expired(NINE + 5 * MINUTE)
    announce(db2, now=NINE + 5 * MINUTE, has_started=True)  # the run has started, so it is not held
    lifecycle.run_housekeeping(NINE + 5 * MINUTE)

    [again] = lease_all(NINE + 30 * MINUTE)
    assert (Run.objects.count(), again.attempt.number) == (1, 2)


def test_housekeeping_cancels_held_runs_without_a_job(db2, job):
    holds(job)
    announce(db2, has_started=True)
    dispatch(EIGHT)
    Run.objects.update(job=None)  # as after a deletion that did not see this run yet

    lifecycle.run_housekeeping(NINE)

    assert Run.objects.values_list("state", "hold_key", "finished_at").get() == ("cancelled", None, NINE)


def test_held_runs_of_a_disabled_job_do_not_run_afterwards(db2, job):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    set_job_state(job, Job.State.DISABLED, EIGHT)

    complete(notice, NINE)

    assert lease_all(NINE) == []
    assert Run.objects.values_list("state", "reason").get() == ("skipped", "the job was disabled")


def test_held_run_can_be_cancelled(db2, job):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)

    cancel_run(Run.objects.get(), "not today", EIGHT)
    complete(notice, NINE)

    assert Run.objects.values_list("state", "reason", "hold_key").get() == ("cancelled", "not today", None)


@pytest.mark.parametrize(
    "change",
    [
        lambda job, db2: holds(job, "db-1", now=EIGHT),
        lambda job, db2: maintenance_holds.clear_policy(job, EIGHT),
        lambda job, db2: maintenance_holds.set_policy(job, PolicyInput(), EIGHT),
    ],
    ids=["names another", "gone", "nothing"],
)
def test_change_of_the_policy_releases_held_runs(db2, job, change):
    holds(job)
    announce(db2, has_started=True)
    dispatch(EIGHT)

    change(job, db2)

    assert states() == {"08:00": WAITING}


def test_new_policy_holds_waiting_runs(db2, job):
    announce(db2, has_started=True)
    dispatch(EIGHT)

    holds(job, now=EIGHT)

    assert states() == {"08:00": HELD}


def test_housekeeping_releases_runs_after_a_label_change(subscription, job):
    rack = resource(subscription, labels={"rack": "r7"})
    maintenance_holds.set_policy(job, PolicyInput(labels={"rack": "r7"}, on_notice="hold"), T0)
    announce(rack, has_started=True)
    dispatch(EIGHT)

    resources.change(rack, labels={})
    lifecycle.run_housekeeping(EIGHT)

    assert states() == {"08:00": WAITING}


def test_held_runs_are_not_rescued_or_pruned(db2, job, settings):
    settings.RETENTION_RUNS = 1
    holds(job)
    announce(db2, has_started=True)
    for now in (EIGHT, NINE, TEN):
        dispatch(now)

    far = TEN + timedelta(days=400)
    rescue.rescue_expired(far)
    pruning.prune(far)
    lifecycle.run_housekeeping(far)

    assert states() == {"08:00": HELD, "09:00": HELD, "10:00": HELD}


def test_reason_with_many_resources_is_cut(subscription, job):
    many = [resource(subscription, f"machine-{number}") for number in range(60)]
    holds(job, "machine-7", on_end="drop")
    notice = announce(*many, has_started=True)
    dispatch(EIGHT)
    assert len(Run.objects.get().reason) == 200

    complete(notice, NINE)

    reason = Run.objects.get().reason
    assert (len(reason), reason.endswith(": dropped at the end of it")) == (200, True)


# Number of queries


def count_queries(step, *arguments) -> int:
    with CaptureQueriesContext(connection) as context:
        step(*arguments)
    return sum("advisory" not in query["sql"] for query in context.captured_queries)


def test_dispatch_takes_the_same_number_of_queries_for_any_number_of_held_jobs(db2, make_job, settings):
    def queries(jobs, now):
        for number in range(jobs):
            holds(make_job(f"job-{now:%H}-{number}", schedule={**HOURLY, "startTime": now.isoformat()}))
        return count_queries(dispatch_due, now)

    settings.TRIGGER_GATES = []
    without = queries(1, EIGHT)
    settings.TRIGGER_GATES = ["maintenance.gate.MaintenanceGate"]
    assert queries(1, NINE) == without + 1  # one query to find out if there is a notice
    notice = announce(db2, has_started=True)
    for name in ("web", "mail"):
        announce(resource(db2.subscription, name), has_started=True)
    # and queries for the policies, the new held runs and their holds
    assert queries(20, TEN) == without + 4
    few = count_queries(complete, notice, TEN)
    notice = announce(db2, has_started=True)
    queries(40, TEN + HOUR)
    assert count_queries(complete, notice, TEN + HOUR) == few


def test_housekeeping_reads_no_ended_notices_or_runs(db2, job):
    holds(job)
    Notice.objects.bulk_create(
        Notice(
            subscription=db2.subscription,
            event_type="Reboot",
            status=Notice.Status.CANCELLED,
            **dict.fromkeys(("not_before", "announced_at", "ended_at"), T0),
        )
        for _ in range(3000)
    )
    add_runs(job)
    announce(db2, has_started=True)
    dispatch(EIGHT)
    update_statistics(Notice)

    plans = explain_queries(lifecycle.run_housekeeping, EIGHT)

    assert [plan for sql, plan in plans if "maintenance_notice" in sql and "notice_shown" not in plan] == []
    runs = [
        plan for sql, plan in plans if 'FROM "jobs_run" WHERE' in sql and "maintenance_jobmaintenancepolicy" not in sql
    ]
    assert len(runs) == 2
    assert [plan for plan in runs if not re.search("run_by_state|run_held|run_ready", plan)] == []


def explain_queries(step, *arguments) -> list[tuple[str, str]]:
    """Return the queries of `step` with their plans."""
    with CaptureQueriesContext(connection) as context:
        step(*arguments)
    statements = [query["sql"] for query in context.captured_queries if query["sql"].startswith("SELECT")]
    with connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN"
        if connection.vendor == "postgresql":
            explain = "EXPLAIN"
        plans = []
        for sql in statements:
            cursor.execute(f"{explain} {sql}")
            plans.append((sql, "\n".join(str(row[-1]) for row in cursor.fetchall())))
    return plans
