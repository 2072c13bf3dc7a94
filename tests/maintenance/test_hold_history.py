"""The history of holds of a run: the notice, the start and the end."""

import pytest
from django.db.models import Count, Q

from jobs.cancel import cancel as cancel_run
from jobs.models import Job, Run, RunHold
from jobs.worker import pruning
from jobs.worker.leasing import lease
from maintenance import holds as maintenance_holds
from maintenance import lifecycle
from tests.maintenance.notices import (
    EIGHT,
    HOUR,
    HOURLY,
    MINUTE,
    T0,
    announce,
    complete,
    dispatch,
    holds,
    resource,
    start,
    states,
)
from tests.racing import at_once
from triggers.deletion import delete_job
from triggers.dispatch import dispatch_due

pytestmark = pytest.mark.django_db

NINE = EIGHT + HOUR
REBOOT, REDEPLOY = "held by maintenance: Reboot of db-2", "held by maintenance: Redeploy of db-2"


@pytest.fixture
def db2(subscription):
    return resource(subscription)


@pytest.fixture
def job(make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    return job


def list_holds(run: Run) -> list[tuple]:
    """Return the key, the reason, the start and the end of each hold."""
    return list(run.holds.order_by("held_at", "pk").values_list("key", "reason", "held_at", "released_at"))


def key_of(notice) -> str:
    return f"notice {notice.pk}"


def assert_holds_match_states() -> None:
    """Check that each held run has one open hold, and that all other runs have none."""
    open_holds = Count("holds", filter=Q(holds__released_at=None))
    wrong = Run.objects.annotate(open_holds=open_holds).exclude(
        Q(state="held", open_holds=1) | ~Q(state="held") & Q(open_holds=0)
    )
    assert not wrong.exists()


def test_hold_stays_in_the_history_of_its_run(db2, job):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    run = Run.objects.get()
    assert list_holds(run) == [(key_of(notice), REBOOT, EIGHT, None)]

    complete(notice, EIGHT + MINUTE)
    lease([str(run.pk)], "worker", EIGHT + MINUTE)

    run.refresh_from_db()
    assert (run.state, run.hold_key, run.reason) == (Run.State.RUNNING, None, "")
    assert list_holds(run) == [(key_of(notice), REBOOT, EIGHT, EIGHT + MINUTE)]


def test_hold_of_a_waiting_run_begins_at_the_start_of_the_notice(db2, job):
    notice = announce(db2, not_before=EIGHT + HOUR)
    dispatch(EIGHT)

    start(notice, EIGHT + MINUTE)
    complete(notice, EIGHT + 2 * MINUTE)

    assert list_holds(Run.objects.get()) == [(key_of(notice), REBOOT, EIGHT + MINUTE, EIGHT + 2 * MINUTE)]


def test_skipped_runs_keep_their_holds(db2, job):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    dispatch(NINE)

    complete(notice, NINE + MINUTE)

    assert states() == {"08:00": "skipped", "09:00": "waiting"}
    ends = [list_holds(run)[0][2:] for run in Run.objects.order_by("fire_at")]
    assert ends == [(EIGHT, NINE + MINUTE), (NINE, NINE + MINUTE)]


def test_consecutive_notices_are_separate_holds(db2, job):
    first = announce(db2, has_started=True)
    second = announce(db2, now=T0 + MINUTE, has_started=True, event_type="Redeploy")
    dispatch(EIGHT)

    complete(first, EIGHT + MINUTE)
    complete(second, EIGHT + 2 * MINUTE)

    assert list_holds(Run.objects.get()) == [
        (key_of(first), REBOOT, EIGHT, EIGHT + MINUTE),
        (key_of(second), REDEPLOY, EIGHT + MINUTE, EIGHT + 2 * MINUTE),
    ]


def test_run_that_is_held_twice_has_two_holds(db2, job):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, EIGHT + MINUTE)

    again = announce(db2, now=EIGHT + 2 * MINUTE, has_started=True)

    assert [hold[2:] for hold in list_holds(Run.objects.get())] == [
        (EIGHT, EIGHT + MINUTE),
        (EIGHT + 2 * MINUTE, None),
    ]
    assert Run.objects.get().hold_key == key_of(again)


@pytest.mark.parametrize("ending", ["cancelled", "deleted", "orphaned", "unheeded", "moved"])
def test_each_ending_of_a_hold_is_recorded(db2, job, ending):
    notice = announce(db2, not_before=EIGHT)
    dispatch(EIGHT)
    run, later = Run.objects.get(), EIGHT + MINUTE

    match ending:
        case "cancelled":
            cancel_run(run, "cancelled by ada", later)
        case "deleted":
            delete_job(job, later)
        case "orphaned":  # created while its job was deleted
            Run.objects.update(job=None)
            lifecycle.run_housekeeping(later)
        case "unheeded":
            maintenance_holds.clear_policy(job, later)
        case "moved":
            lifecycle.change(notice, {"not_before": EIGHT + HOUR}, "ada", EIGHT - MINUTE)
            later = EIGHT - MINUTE

    assert [hold[2:] for hold in list_holds(run)] == [(EIGHT, later)]
    assert_holds_match_states()


def test_fire_time_with_a_stored_run_gets_no_second_hold(db2, job, make_job):
    announce(db2, has_started=True)
    [trigger] = job.triggers.all()
    dispatch(EIGHT)
    first = Run.objects.get()
    type(trigger).objects.filter(pk=trigger.pk).update(next_fire_at=EIGHT)

    assert dispatch_due(EIGHT + MINUTE) == []

    assert Run.objects.get() == first
    assert len(list_holds(first)) == RunHold.objects.count() == 1


def test_runs_without_maintenance_have_no_hold_and_take_no_queries(job, make_job, django_assert_num_queries):
    dispatch(EIGHT)

    assert states() == {"08:00": "waiting"}
    with django_assert_num_queries(0):
        maintenance_holds.start_holds([], EIGHT)
        maintenance_holds.end_holds([], EIGHT)
    assert not RunHold.objects.exists()


def test_holds_are_pruned_with_their_runs(db2, job, settings):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, EIGHT + MINUTE)
    Run.objects.update(state="succeeded", finished_at=T0)

    assert pruning.prune(T0 + HOUR * 24 * (settings.RETENTION_DAYS + 1))

    assert not Run.objects.exists()
    assert not RunHold.objects.exists()
    assert Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_holds_match_run_states_after_concurrent_changes(subscription, make_job):
    db2 = resource(subscription)
    for number in range(4):
        holds(make_job(f"job-{number}", schedule=HOURLY))
    notice = announce(db2, not_before=NINE)
    dispatch(EIGHT)
    ids = [str(pk) for pk in Run.objects.values_list("pk", flat=True)]
    one = Run.objects.first()

    raised = at_once(
        lambda: start(notice, NINE),
        lambda: dispatch_due(NINE),
        lambda: lifecycle.run_housekeeping(NINE),
        lambda: lease(ids, "worker", NINE),
        lambda: cancel_run(one, "cancelled by ada", NINE) if one.state == "held" else None,
    )
    assert raised == []
    assert_holds_match_states()

    raised = at_once(
        lambda: complete(notice, NINE + MINUTE),
        lambda: lifecycle.run_housekeeping(NINE + MINUTE),
        lambda: dispatch_due(NINE + HOUR),
    )
    assert raised == []
    lifecycle.run_housekeeping(NINE + HOUR)
    assert_holds_match_states()
    assert RunHold.objects.exists()
