"""Concurrent approvals, polls and housekeeping, and runs that are created or started while maintenance starts.

On SQLite, one connection waits for the other; on PostgreSQL, both run at the same time.
"""

import time
from collections import Counter, defaultdict
from datetime import timedelta
from itertools import count
from threading import Event, Lock
from uuid import UUID

import pytest
from django.db import connection, transaction

from jobs.actions.result import AttemptResult
from jobs.models import Run
from jobs.worker import leasing
from jobs.worker.leasing import lease
from jobs.worker.rescue import release_leases
from jobs.worker.results import record
from maintenance import holds as maintenance_holds
from maintenance import lifecycle
from maintenance import resources as maintenance_resources
from maintenance.lifecycle import CLOCK, Announcement, advance, approve, run_housekeeping
from maintenance.models import Approval, EventType, Notice, Transition
from maintenance.visibility import EventFeed
from tests.maintenance.notices import (
    EIGHT,
    HOUR,
    HOURLY,
    MINUTE,
    OPERATOR,
    T0,
    announce,
    complete,
    holds,
    incarnations,
    resource,
    set_policy,
    start,
    started_phases,
    states,
    status,
)
from tests.racing import PAUSE_S, at_once, lingering
from triggers import dispatch
from triggers.deletion import delete_job

pytestmark = pytest.mark.django_db(transaction=True)

DUE = T0 + HOUR
MACHINES = 50


def test_concurrent_approvals_and_polls_start_a_notice_once(subscription, make_job):
    members = [resource(subscription, f"db-{number}", "databases") for number in range(MACHINES)]
    outside = resource(subscription, "web")
    announce(outside)
    job = make_job(schedule=HOURLY)
    set_policy(job, "db-7", run_at_phases=["start"])
    notice = announce(*members, not_before=DUE)
    before, documents, lock = incarnations(subscription), defaultdict(set), Lock()

    def approver(member):
        return lambda: approve([notice_of()], f"resource {member.name}", DUE, resource=member)

    def notice_of():
        return Notice.objects.get(pk=notice.pk)

    def reader(member, now):
        def read():
            for _ in range(3):
                feed = EventFeed.for_resource(member)
                advance(now, feed.notices)
                number, shown = feed.read_snapshot()
                with lock:
                    documents[number].add(tuple((each.pk, each.status) for each in shown))

        return read

    raised = at_once(
        *(approver(member) for member in members),
        *(reader(member, DUE - timedelta(seconds=1) * (number % 2)) for number, member in enumerate(members)),
        lambda: run_housekeeping(DUE),
    )

    assert raised == []
    started = Transition.objects.filter(notice=notice, status="started")
    assert started.count() == 1
    assert started.get().actor in {CLOCK, *(f"resource {member.name}" for member in members)}
    assert incarnations(subscription) == {
        **before,
        "": before[""] + 2,  # the other notice is also due
        "resource web": before["resource web"] + 1,
        "group databases": before["group databases"] + 1,
    }
    assert started_phases(job) == ["start"]
    assert Approval.objects.values("resource").distinct().count() == Approval.objects.count()
    assert documents
    assert all(len(shown) == 1 for shown in documents.values())


def test_idempotency_key_announces_one_notice_in_a_race(subscription):
    announcement = Announcement(EventType.REBOOT, [resource(subscription)], DUE)

    raised = at_once(*[lambda: lifecycle.announce(subscription, announcement, OPERATOR, T0, "kernel")] * 8)

    assert raised == []
    assert Notice.objects.count() == Transition.objects.count() == 1


def test_concurrent_completions_complete_a_notice_once(subscription, make_job):
    set_policy(make_job(), run_at_phases=["complete"])
    notice = announce(resource(subscription), has_started=True)
    before = incarnations(subscription)

    raised = at_once(*(lambda: complete(Notice.objects.get(pk=notice.pk), T0) for _ in range(20)))

    assert raised == []
    assert Counter(Transition.objects.values_list("status", flat=True)) == {"started": 1, "completed": 1}
    assert incarnations(subscription) == {view: number + 1 for view, number in before.items()}
    assert started_phases() == ["complete"]


def test_approvals_of_several_notices_and_housekeeping_do_not_deadlock(subscription):
    resources = [resource(subscription, f"db-{number}", f"group {number % 3}") for number in range(12)]
    notices = [announce(each) for each in resources]
    before = incarnations(subscription)

    raised = at_once(
        lambda: approve(Notice.objects.all(), "one", DUE),
        lambda: approve(list(Notice.objects.order_by("-pk")), "other", DUE),
        lambda: advance(DUE),
        lambda: run_housekeeping(DUE),
        lambda: [maintenance_resources.change(each, scope_group="") for each in resources[3:]],
        lambda: [maintenance_resources.unregister(each) for each in resources[:3]],
    )

    assert raised == []
    assert [status(notice) for notice in notices] == ["started"] * 12
    after = incarnations(subscription)
    assert all(after[view] > before[view] for view in before)


# While maintenance starts


def test_run_that_is_dispatched_while_maintenance_starts_is_held(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    gate_passed = lingering(monkeypatch, dispatch, "_mark_held")

    def start_notice():
        gate_passed.wait(5)
        start(notice, EIGHT)

    assert at_once(lambda: dispatch.dispatch_due(EIGHT), start_notice) == []
    assert states() == {"08:00": "held"}


def test_uncommitted_start_holds_dispatched_runs(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    holds_synced = lingering(monkeypatch, maintenance_holds, "sync_holds")

    def dispatch_after_sync():
        holds_synced.wait(5)
        dispatch.dispatch_due(EIGHT)

    assert at_once(lambda: start(notice, EIGHT), dispatch_after_sync) == []
    assert states() == {"08:00": "held"}


def test_run_that_a_worker_is_leasing_is_recorded_as_running_at_the_start(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    dispatch.dispatch_due(EIGHT)
    leasing_begun = lingering(monkeypatch, leasing, "_read_secrets")

    def start_notice():
        leasing_begun.wait(5)
        start(notice, EIGHT)

    run_ids = [str(Run.objects.get().pk)]
    assert at_once(lambda: lease(run_ids, "worker", EIGHT), start_notice) == []
    assert states() == {"08:00": "running"}
    notice.refresh_from_db()
    assert notice.runs_at_start == ["backup"]


def test_worker_cannot_lease_runs_that_a_start_is_holding(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    dispatch.dispatch_due(EIGHT)
    holds_synced = lingering(monkeypatch, maintenance_holds, "sync_holds")
    leased, run_ids = [], [str(Run.objects.get().pk)]

    def lease_after_sync():
        holds_synced.wait(5)
        leased.extend(lease(run_ids, "worker", EIGHT))

    assert at_once(lambda: start(notice, EIGHT), lease_after_sync) == []
    assert (leased, states()) == ([], {"08:00": "held"})


WRITES = {
    "record": lambda leased: record([(each, AttemptResult(succeeded=True, message="")) for each in leased], EIGHT),
    "renew": lambda leased: leasing.renew(leased, EIGHT),
    "hand back": lambda leased: release_leases(leased, EIGHT),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_worker_and_start_lock_runs_in_the_same_order(subscription, make_job, monkeypatch, write):
    """The start has read waiting runs that the worker then leases, so each needs locks of the other."""
    first, other, last = (UUID(int=number) for number in (1, 2, 3))
    monkeypatch.setattr(dispatch, "uuid4", iter((last, first, other)).__next__)  # in this order of creation
    for number in range(3):
        holds(make_job(f"job-{number}", schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    dispatch.dispatch_due(EIGHT)
    leasing_begun, locked = lingering(monkeypatch, leasing, "_read_secrets"), Event()

    def hold_lock():
        with transaction.atomic():
            list(Run.objects.filter(pk=other).select_for_update())
            locked.set()
            if connection.vendor == "postgresql":
                leasing_begun.wait(5)
                time.sleep(2 * PAUSE_S)

    def work():
        locked.wait(5)
        leased = lease([str(first), str(last)], "worker", EIGHT)
        time.sleep(PAUSE_S / 2)
        write(leased)

    def start_notice():
        leasing_begun.wait(5)
        start(notice, EIGHT)

    assert at_once(hold_lock, work, start_notice) == []
    assert Run.objects.get(pk=other).state == Run.State.HELD
    assert Run.objects.filter(pk__in=(first, last), state__in=(Run.State.WAITING, Run.State.HELD)).count() == 0


def test_concurrent_work_during_maintenance_does_not_deadlock(subscription, make_job):
    """PostgreSQL would end a deadlock with an error in one of the threads."""
    machines = [resource(subscription, name, "databases", {"rack": "r7"}) for name in ("db-1", "db-2")]
    jobs = [make_job(f"job-{number}", schedule=HOURLY, overlap="queue_all") for number in range(8)]
    for job in jobs:
        holds(job, "db-1", run_at_phases=["start", "complete"])
    clock, names, worked = count(), count(), Event()
    until = time.monotonic() + 4

    def next_instant():
        return EIGHT + next(clock) * MINUTE

    def maintain():
        notice = announce(*machines, now=next_instant(), has_started=next(names) % 2 == 0)
        start(notice, next_instant())
        complete(notice, next_instant())

    def work():
        pending = Run.objects.filter(state__in=Run.PENDING).order_by(
            "fire_at", "priority", "id"
        )  # the order of the queue
        leased = lease([str(pk) for pk in pending.values_list("pk", flat=True)[:20]], "worker", next_instant())
        record([(each, AttemptResult(succeeded=True, message="")) for each in leased], next_instant())
        if leased:
            worked.set()

    def edit():
        set_policy(jobs[0], "db-2", on_notice="hold", now=next_instant())
        maintenance_resources.change(machines[1], scope_group=f"group {next(names)}", labels={})
        job = make_job(f"short-{next(names)}", schedule=HOURLY)
        holds(job, "db-2")
        dispatch.dispatch_due(next_instant())
        delete_job(job, next_instant())

    def repeatedly(step):
        def run():
            while time.monotonic() < (
                until if worked.is_set() else until + 20
            ):  # on SQLite, a writer may have to wait long
                step()

        return run

    raised = at_once(
        *(repeatedly(step) for step in (maintain, maintain, work, work, edit)),
        repeatedly(lambda: dispatch.dispatch_due(next_instant())),
        repeatedly(lambda: run_housekeeping(next_instant())),
    )

    assert raised == []
    assert Run.objects.filter(state=Run.State.SUCCEEDED).exists()
    run_housekeeping(next_instant())
    assert not Run.objects.filter(state=Run.State.HELD).exists()
    assert set(Transition.objects.values_list("notice").distinct()) == set(Notice.objects.values_list("pk"))
    assert OPERATOR in Transition.objects.values_list("actor", flat=True)
