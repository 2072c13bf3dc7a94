"""Many approve, many read, and the clock comes by; runs are made and begun at the moment at which maintenance starts.

On SQLite one waits for the other; on PostgreSQL they run together.
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
CROWD = 50


def test_fifty_approvals_fifty_readers_and_the_clock_make_one_start(subscription, make_job):
    members = [resource(subscription, f"db-{number}", "databases") for number in range(CROWD)]
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
        "": before[""] + 2,  # the other notice is due as well
        "resource web": before["resource web"] + 1,
        "group databases": before["group databases"] + 1,
    }
    assert started_phases(job) == ["start"]
    assert Approval.objects.values("resource").distinct().count() == Approval.objects.count()
    assert documents
    assert all(len(shown) == 1 for shown in documents.values())


def test_one_key_announces_one_notice(subscription):
    wanted = Announcement(EventType.REBOOT, [resource(subscription)], DUE)

    raised = at_once(*[lambda: lifecycle.announce(subscription, wanted, OPERATOR, T0, "kernel")] * 8)

    assert raised == []
    assert Notice.objects.count() == Transition.objects.count() == 1


def test_one_of_many_who_complete_it_does(subscription, make_job):
    set_policy(make_job(), run_at_phases=["complete"])
    notice = announce(resource(subscription), has_started=True)
    before = incarnations(subscription)

    raised = at_once(*(lambda: complete(Notice.objects.get(pk=notice.pk), T0) for _ in range(20)))

    assert raised == []
    assert Counter(Transition.objects.values_list("status", flat=True)) == {"started": 1, "completed": 1}
    assert incarnations(subscription) == {view: number + 1 for view, number in before.items()}
    assert started_phases() == ["complete"]


def test_those_who_approve_several_and_the_clock_do_not_wait_for_each_other_in_a_circle(subscription):
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


# At the moment of the start


def test_a_run_that_is_made_while_it_starts_is_held(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    answered = lingering(monkeypatch, dispatch, "_mark_held")

    def begin():
        answered.wait(5)
        start(notice, EIGHT)

    assert at_once(lambda: dispatch.dispatch_due(EIGHT), begin) == []
    assert states() == {"08:00": "held"}


def test_a_start_that_is_not_yet_committed_holds_what_is_made(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    settled = lingering(monkeypatch, maintenance_holds, "sync_holds")

    def fire():
        settled.wait(5)
        dispatch.dispatch_due(EIGHT)

    assert at_once(lambda: start(notice, EIGHT), fire) == []
    assert states() == {"08:00": "held"}


def test_what_a_worker_was_about_to_begin_is_running_when_it_starts(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    dispatch.dispatch_due(EIGHT)
    begun = lingering(monkeypatch, leasing, "_read_secrets")

    def begin():
        begun.wait(5)
        start(notice, EIGHT)

    run_ids = [str(Run.objects.get().pk)]
    assert at_once(lambda: lease(run_ids, "worker", EIGHT), begin) == []
    assert states() == {"08:00": "running"}
    notice.refresh_from_db()
    assert notice.runs_at_start == ["backup"]


def test_no_worker_begins_what_the_start_is_about_to_hold(subscription, make_job, monkeypatch):
    holds(make_job(schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    dispatch.dispatch_due(EIGHT)
    settled = lingering(monkeypatch, maintenance_holds, "sync_holds")
    leased, run_ids = [], [str(Run.objects.get().pk)]

    def claim():
        settled.wait(5)
        leased.extend(lease(run_ids, "worker", EIGHT))

    assert at_once(lambda: start(notice, EIGHT), claim) == []
    assert (leased, states()) == ([], {"08:00": "held"})


WRITES = {
    "record": lambda leased: record([(each, AttemptResult(succeeded=True, message="")) for each in leased], EIGHT),
    "renew": lambda leased: leasing.renew(leased, EIGHT),
    "hand back": lambda leased: release_leases(leased, EIGHT),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_worker_and_a_start_that_wait_for_the_same_runs_do_so_in_one_order(
    subscription, make_job, monkeypatch, write
):
    """The start has seen the runs wait which the worker then begins, so each wants what the other has."""
    first, other, last = (UUID(int=number) for number in (1, 2, 3))
    monkeypatch.setattr(dispatch, "uuid4", iter((last, first, other)).__next__)  # as they are stored
    for number in range(3):
        holds(make_job(f"job-{number}", schedule=HOURLY))
    notice = announce(resource(subscription), not_before=DUE)
    dispatch.dispatch_due(EIGHT)
    begun, locked = lingering(monkeypatch, leasing, "_read_secrets"), Event()

    def hold_up():
        with transaction.atomic():
            list(Run.objects.filter(pk=other).select_for_update())
            locked.set()
            if connection.vendor == "postgresql":
                begun.wait(5)
                time.sleep(2 * PAUSE_S)

    def work():
        locked.wait(5)
        leased = lease([str(first), str(last)], "worker", EIGHT)
        time.sleep(PAUSE_S / 2)
        write(leased)

    def begin():
        begun.wait(5)
        start(notice, EIGHT)

    assert at_once(hold_up, work, begin) == []
    assert Run.objects.get(pk=other).state == Run.State.HELD
    assert Run.objects.filter(pk__in=(first, last), state__in=(Run.State.WAITING, Run.State.HELD)).count() == 0


def test_whoever_is_at_work_meanwhile_is_not_disturbed(subscription, make_job):
    """Nobody waits for another in a circle, which PostgreSQL would end with an error for one of them."""
    machines = [resource(subscription, name, "databases", {"rack": "r7"}) for name in ("db-1", "db-2")]
    jobs = [make_job(f"job-{number}", schedule=HOURLY, overlap="queue_all") for number in range(8)]
    for job in jobs:
        holds(job, "db-1", run_at_phases=["start", "complete"])
    clock, names, worked = count(), count(), Event()
    until = time.monotonic() + 4

    def later():
        return EIGHT + next(clock) * MINUTE

    def maintain():
        notice = announce(*machines, now=later(), has_started=next(names) % 2 == 0)
        start(notice, later())
        complete(notice, later())

    def work():
        pending = Run.objects.filter(state__in=Run.PENDING).order_by("fire_at", "priority", "id")  # as they queue
        leased = lease([str(pk) for pk in pending.values_list("pk", flat=True)[:20]], "worker", later())
        record([(each, AttemptResult(succeeded=True, message="")) for each in leased], later())
        if leased:
            worked.set()

    def edit():
        set_policy(jobs[0], "db-2", on_notice="hold", now=later())
        maintenance_resources.change(machines[1], scope_group=f"group {next(names)}", labels={})
        job = make_job(f"short-{next(names)}", schedule=HOURLY)
        holds(job, "db-2")
        dispatch.dispatch_due(later())
        delete_job(job, later())

    def repeatedly(step):
        def run():
            while time.monotonic() < (until if worked.is_set() else until + 20):  # SQLite is not fair to writers
                step()

        return run

    raised = at_once(
        *(repeatedly(step) for step in (maintain, maintain, work, work, edit)),
        repeatedly(lambda: dispatch.dispatch_due(later())),
        repeatedly(lambda: run_housekeeping(later())),
    )

    assert raised == []
    assert Run.objects.filter(state=Run.State.SUCCEEDED).exists()
    run_housekeeping(later())
    assert not Run.objects.filter(state=Run.State.HELD).exists()
    assert set(Transition.objects.values_list("notice").distinct()) == set(Notice.objects.values_list("pk"))
    assert OPERATOR in Transition.objects.values_list("actor", flat=True)
