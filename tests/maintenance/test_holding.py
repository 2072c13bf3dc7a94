"""Runs that maintenance holds: which, from when, until when, and what becomes of them."""

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


def claimed(now):
    return lease([str(pk) for pk in Run.objects.values_list("pk", flat=True)], "worker", now)


# From when, until when


@pytest.mark.parametrize(
    "values, members, held",
    [
        ({}, {"has_started": True}, True),
        ({}, {"not_before": EIGHT}, True),  # its time has come, and perhaps nobody has looked yet
        ({}, {"not_before": EIGHT + MINUTE}, False),
        ({"lead_time": 10 * MINUTE}, {"not_before": EIGHT + 10 * MINUTE}, True),
        ({"lead_time": 10 * MINUTE}, {"not_before": EIGHT + 11 * MINUTE}, False),
        ({"on_notice": "nothing"}, {"has_started": True}, False),
        ({"resource_names": ["db-1"]}, {"has_started": True}, False),
        ({"resource_names": ["DB-2"]}, {"has_started": True}, False),  # names are compared with case
        ({"resource_names": [], "labels": {"rack": "r7"}}, {"has_started": True}, True),
        ({"resource_names": [], "labels": {"rack": "r7", "row": "1"}}, {"has_started": True}, False),
        ({"resource_names": ["db-1"], "labels": {"rack": "r7"}}, {"has_started": True}, True),  # either will do
    ],
)
def test_what_is_due_is_held(subscription, job, values, members, held):
    maintenance_holds.set_policy(job, PolicyInput(**{"resource_names": ["db-2"], "on_notice": "hold", **values}), T0)
    announce(resource(subscription, labels={"rack": "r7", "kind": "database"}), **members)

    messages = dispatch_due(EIGHT)

    run = Run.objects.get()
    assert (run.state, run.reason) == ((HELD, REASON) if held else (WAITING, ""))
    assert messages == ([] if held else [("default", run.pk)])


def test_jobs_of_other_subscriptions_are_not_held(job, subscription):
    from accounts.models import Subscription

    holds(job)
    announce(resource(Subscription.objects.create(name="other")), has_started=True)

    dispatch(EIGHT)

    assert states() == {"08:00": WAITING}


@pytest.mark.parametrize("leave", [complete, "cancel"])
def test_nothing_is_held_after_the_end(db2, job, leave):
    holds(job, lead_time=HOUR)
    notice = announce(db2) if leave == "cancel" else announce(db2, has_started=True)

    (cancel if leave == "cancel" else leave)(notice, T0)
    dispatch(EIGHT)

    assert states() == {"08:00": WAITING}


def test_what_waits_for_a_worker_is_held_by_the_start_and_no_worker_begins_it(db2, job):
    holds(job)
    notice = announce(db2, not_before=EIGHT + MINUTE)
    dispatch(EIGHT)

    start(notice, EIGHT)

    assert states() == {"08:00": HELD}
    assert claimed(EIGHT) == []


def test_what_waits_is_held_by_housekeeping_when_the_lead_time_begins(db2, job):
    holds(job, lead_time=10 * MINUTE)
    announce(db2, not_before=EIGHT + 20 * MINUTE)
    dispatch(EIGHT)

    lifecycle.run_housekeeping(EIGHT + 9 * MINUTE)
    assert states() == {"08:00": WAITING}
    lifecycle.run_housekeeping(EIGHT + 10 * MINUTE)
    assert states() == {"08:00": HELD}


@pytest.mark.parametrize("state", Run.BEGUN)
def test_what_has_begun_goes_on(db2, job, state):
    holds(job)
    dispatch(EIGHT)
    Run.objects.update(state=state)

    announce(db2, now=EIGHT, has_started=True)

    assert states() == {"08:00": state}


def test_what_somebody_orders_goes_through(db2, job):
    holds(job)
    announce(db2, has_started=True)

    run = run_now(job, EIGHT)
    lifecycle.run_housekeeping(EIGHT)

    assert [leased.run.pk for leased in claimed(EIGHT)] == [run.pk]


# What becomes of it


@pytest.mark.parametrize(
    "after, becomes, says",
    [
        ("run_once", [SKIPPED, SKIPPED, WAITING], f"{REASON}: a later fire time ran for it"),
        ("drop", [SKIPPED, SKIPPED, SKIPPED], f"{REASON}: dropped at the end of it"),
    ],
)
def test_after_the_end_the_newest_runs_or_none(db2, job, after, becomes, says):
    holds(job, on_end=after)
    notice = announce(db2, has_started=True)
    for now in (EIGHT, NINE, TEN):
        dispatch(now)

    complete(notice, TEN + MINUTE)

    runs = list(Run.objects.order_by("fire_at"))
    assert [run.state for run in runs] == becomes
    assert {run.reason for run in runs if run.state == SKIPPED} == {says}
    assert all(run.finished_at == TEN + MINUTE for run in runs if run.state == SKIPPED)
    assert not Run.objects.exclude(hold_key=None).exists()
    ready = Run.objects.ready(TEN + MINUTE)
    assert [run.fire_at for run in ready] == ([TEN] if after == "run_once" else [])
    assert len(claimed(TEN + MINUTE)) == (after == "run_once")


def test_a_withdrawn_notice_lets_go(db2, job):
    holds(job, lead_time=HOUR)
    notice = announce(db2)
    dispatch(EIGHT)
    assert states() == {"08:00": HELD}

    cancel(notice, EIGHT + MINUTE)

    assert states() == {"08:00": WAITING}


def test_what_two_notices_hold_waits_for_both(db2, job):
    holds(job)
    first, second = announce(db2, has_started=True), announce(db2, has_started=True, event_type="Redeploy")
    dispatch(EIGHT)

    complete(first, EIGHT)
    assert [(run.state, run.reason) for run in Run.objects.all()] == [(HELD, "held by maintenance: Redeploy of db-2")]
    complete(second, EIGHT)
    assert states() == {"08:00": WAITING}


def test_what_has_been_moved_ahead_holds_no_more(db2, job):
    holds(job, lead_time=10 * MINUTE)
    notice = announce(db2, not_before=EIGHT + MINUTE)
    dispatch(EIGHT)
    assert states() == {"08:00": HELD}

    lifecycle.change(notice, {"not_before": NINE}, OPERATOR, EIGHT)

    assert states() == {"08:00": WAITING}


@pytest.mark.parametrize("after, state, run_state", [("run_once", "enabled", WAITING), ("drop", "completed", SKIPPED)])
def test_a_held_last_run_ends_its_job(db2, make_job, after, state, run_state):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"})
    holds(job, on_end=after)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    job.refresh_from_db()
    assert job.state == Job.State.ENABLED

    complete(notice, NINE)

    job.refresh_from_db()
    assert (job.state, states()) == (state, {"08:00": run_state})
    assert Run.objects.get().is_last


def test_the_run_that_goes_on_ends_the_job_in_place_of_those_it_stands_for(db2, job):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    Run.objects.update(is_last=True)
    dispatch(NINE)

    complete(notice, NINE)

    assert [run.fire_at for run in Run.objects.filter(is_last=True, state=WAITING)] == [NINE]


# What changes meanwhile


@pytest.mark.parametrize("delete", [delete_job, lambda job, now: delete_collection(job.collection, now)])
def test_held_runs_of_what_is_deleted_are_cancelled(db2, job, delete):
    holds(job)
    announce(db2, has_started=True)
    dispatch(EIGHT)

    delete(job, EIGHT)
    lifecycle.run_housekeeping(EIGHT)

    assert list(Run.objects.values_list("state", "hold_key", "job")) == [("cancelled", None, None)]


def replan(job, db2):
    document = {"action": document_of(job)["action"], "startTime": "2026-01-05T10:30:00Z"}
    save_job(job.collection, job.name, JobDefinition.of(document), NINE)


def unplan(job, db2):
    save_job(job.collection, job.name, JobDefinition.of(document_of(job), own_schedule=False), NINE)


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda job, db2: None,
        replan,
        unplan,
        lambda job, db2: resources.unregister(db2),  # the notice keeps its name
        lambda job, db2: resources.change(db2, labels={}, scope_group="elsewhere"),
        lambda job, db2: [set_job_state(job, state, NINE) for state in (Job.State.DISABLED, Job.State.ENABLED)],
        lambda job, db2: [lifecycle.run_housekeeping(NINE) for _ in range(3)],
    ],
    ids=["nothing", "replanned", "unplanned", "removed", "moved", "disabled and enabled", "looked after"],
)
def test_what_was_held_runs_once_whatever_happens_meanwhile(db2, job, meanwhile):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    dispatch(NINE)

    meanwhile(job, db2)
    assert claimed(NINE) == []
    complete(notice, NINE)
    lifecycle.run_housekeeping(NINE)

    assert [leased.run.fire_at for leased in claimed(NINE)] == [NINE]
    assert states() == {"08:00": SKIPPED, "09:00": "running"}


def test_what_is_let_go_is_one_run_also_when_its_worker_dies(db2, job):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, NINE)
    assert len(claimed(NINE)) == 1

    rescue.rescue_expired(NINE + 5 * MINUTE)
    announce(db2, now=NINE + 5 * MINUTE, has_started=True)  # it has begun, so it goes on
    lifecycle.run_housekeeping(NINE + 5 * MINUTE)

    [again] = claimed(NINE + 30 * MINUTE)
    assert (Run.objects.count(), again.attempt.number) == (1, 2)


def test_a_run_that_was_held_while_its_job_went_away_ends(db2, job):
    holds(job)
    announce(db2, has_started=True)
    dispatch(EIGHT)
    Run.objects.update(job=None)  # as deleting leaves one that came after its look at what is open

    lifecycle.run_housekeeping(NINE)

    assert Run.objects.values_list("state", "hold_key", "finished_at").get() == ("cancelled", None, NINE)


def test_held_runs_of_a_disabled_job_do_not_run_afterwards(db2, job):
    holds(job)
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    set_job_state(job, Job.State.DISABLED, EIGHT)

    complete(notice, NINE)

    assert claimed(NINE) == []
    assert Run.objects.values_list("state", "reason").get() == ("skipped", "the job was disabled")


def test_a_held_run_can_be_cancelled(db2, job):
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
def test_a_job_that_heeds_it_no_more_is_let_go(db2, job, change):
    holds(job)
    announce(db2, has_started=True)
    dispatch(EIGHT)

    change(job, db2)

    assert states() == {"08:00": WAITING}


def test_a_job_that_begins_to_heed_it_is_held(db2, job):
    announce(db2, has_started=True)
    dispatch(EIGHT)

    holds(job, now=EIGHT)

    assert states() == {"08:00": HELD}


def test_housekeeping_finds_what_a_changed_label_holds_no_more(subscription, job):
    rack = resource(subscription, labels={"rack": "r7"})
    maintenance_holds.set_policy(job, PolicyInput(labels={"rack": "r7"}, on_notice="hold"), T0)
    announce(rack, has_started=True)
    dispatch(EIGHT)

    resources.change(rack, labels={})
    lifecycle.run_housekeeping(EIGHT)

    assert states() == {"08:00": WAITING}


def test_held_runs_are_neither_reaped_nor_pruned(db2, job, settings):
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


def test_a_very_long_list_of_resources_makes_a_reason_that_fits(subscription, job):
    many = [resource(subscription, f"machine-{number}") for number in range(60)]
    holds(job, "machine-7", on_end="drop")
    notice = announce(*many, has_started=True)
    dispatch(EIGHT)
    assert len(Run.objects.get().reason) == 200

    complete(notice, NINE)

    reason = Run.objects.get().reason
    assert (len(reason), reason.endswith(": dropped at the end of it")) == (200, True)


# What it costs


def queries_of(step, *arguments) -> int:
    with CaptureQueriesContext(connection) as context:
        step(*arguments)
    return sum("advisory" not in query["sql"] for query in context.captured_queries)


def test_dispatch_asks_as_often_however_many_jobs_are_held(db2, make_job, settings):
    def queries(jobs, now):
        for number in range(jobs):
            holds(make_job(f"job-{now:%H}-{number}", schedule={**HOURLY, "startTime": now.isoformat()}))
        return queries_of(dispatch_due, now)

    settings.TRIGGER_GATES = []
    without = queries(1, EIGHT)
    settings.TRIGGER_GATES = ["maintenance.gate.MaintenanceGate"]
    assert queries(1, NINE) == without + 1  # whether there is a notice
    notice = announce(db2, has_started=True)
    for name in ("web", "mail"):
        announce(resource(db2.subscription, name), has_started=True)
    # and the policies of the jobs, which of the held runs are new, and their holds
    assert queries(20, TEN) == without + 4
    few = queries_of(complete, notice, TEN)
    notice = announce(db2, has_started=True)
    queries(40, TEN + HOUR)
    assert queries_of(complete, notice, TEN + HOUR) == few


def test_what_is_over_is_not_walked_through(db2, job):
    holds(job)
    for _ in range(60):
        cancel(announce(db2), T0)
    announce(db2, has_started=True)
    dispatch(EIGHT)

    plans = plans_of(lifecycle.run_housekeeping, EIGHT)

    assert [plan for sql, plan in plans if "maintenance_notice" in sql and "notice_shown" not in plan] == []
    runs = [
        plan for sql, plan in plans if 'FROM "jobs_run" WHERE' in sql and "maintenance_jobmaintenancepolicy" not in sql
    ]
    assert len(runs) == 2
    assert [plan for plan in runs if not re.search("run_by_state|run_held|run_ready", plan)] == []


def plans_of(step, *arguments) -> list[tuple[str, str]]:
    """What it asks, and how the database looks for it, if the table were large."""
    with CaptureQueriesContext(connection) as context:
        step(*arguments)
    asked = [query["sql"] for query in context.captured_queries if query["sql"].startswith("SELECT")]
    with connection.cursor() as cursor:
        explain = "EXPLAIN QUERY PLAN"
        if connection.vendor == "postgresql":
            explain = "EXPLAIN"
            cursor.execute("ANALYZE maintenance_notice")
            cursor.execute("SET LOCAL enable_seqscan = off")
        plans = []
        for sql in asked:
            cursor.execute(f"{explain} {sql}")
            plans.append((sql, "\n".join(str(row[-1]) for row in cursor.fetchall())))
    return plans
