"""What becomes of notices: who moves them, where to, once, and which views get a new number."""

from datetime import timedelta

import pytest
import time_machine

from accounts.models import Subscription
from jobs.models import Run
from maintenance import lifecycle, locking, tasks
from maintenance.errors import MaintenanceError, TooLate
from maintenance.lifecycle import CLOCK, Announcement, advance
from maintenance.models import MINIMUM_NOTICE, Approval, EventType, Notice, Transition
from tests.conftest import utc
from tests.maintenance.notices import (
    HOUR,
    MINUTE,
    OPERATOR,
    T0,
    announce,
    cancel,
    complete,
    end,
    incarnations,
    note,
    resource,
    set_policy,
    start,
    status,
    steps,
)

pytestmark = pytest.mark.django_db

SCHEDULED, STARTED, COMPLETED, CANCELLED = Notice.Status
LATER = T0 + MINUTE
DUE = T0 + HOUR


@pytest.fixture
def db2(subscription):
    return resource(subscription)


def approve(notice, now=LATER):
    start(notice, now)


def clock(notice, now=DUE):
    advance(now)


def finish(notice, now=LATER):
    complete(notice, now)


def withdraw(notice, now=LATER):
    cancel(notice, now)


def describe(notice, now=LATER):
    lifecycle.change(notice, {"description": "a new kernel"}, OPERATOR, now)


def nothing(notice, now=LATER):
    lifecycle.change(notice, {"description": notice.description}, OPERATOR, now)


def keep(notice, now=LATER):
    lifecycle.change(notice, {"end_manually": True}, OPERATOR, now)


BORN = {SCHEDULED: [], STARTED: [approve], COMPLETED: [approve, finish], CANCELLED: [withdraw]}


@pytest.mark.parametrize(
    "before, step, after, bumps",
    [
        (SCHEDULED, approve, STARTED, 1),
        (SCHEDULED, clock, STARTED, 1),
        (SCHEDULED, describe, SCHEDULED, 1),
        (SCHEDULED, nothing, SCHEDULED, 0),
        (SCHEDULED, keep, SCHEDULED, 0),  # nobody is shown it
        (SCHEDULED, withdraw, CANCELLED, 1),
        (SCHEDULED, finish, TooLate, 0),
        (STARTED, approve, STARTED, 0),
        (STARTED, clock, STARTED, 0),
        (STARTED, describe, TooLate, 0),
        (STARTED, keep, STARTED, 0),
        (STARTED, withdraw, TooLate, 0),
        (STARTED, finish, COMPLETED, 1),
        (COMPLETED, approve, COMPLETED, 0),
        (COMPLETED, clock, COMPLETED, 0),
        (COMPLETED, describe, TooLate, 0),
        (COMPLETED, keep, TooLate, 0),
        (COMPLETED, withdraw, TooLate, 0),
        (COMPLETED, finish, COMPLETED, 0),
        (CANCELLED, approve, CANCELLED, 0),
        (CANCELLED, clock, CANCELLED, 0),
        (CANCELLED, describe, TooLate, 0),
        (CANCELLED, withdraw, CANCELLED, 0),
        (CANCELLED, finish, TooLate, 0),
    ],
)
def test_a_step_leads_on_and_is_told_once(subscription, db2, before, step, after, bumps):
    notice = announce(db2)
    for earlier in BORN[before]:
        earlier(notice)
    told = incarnations(subscription)

    if after is TooLate:
        with pytest.raises(TooLate):
            step(notice)
    else:
        step(notice)

    assert status(notice) == (before if after is TooLate else after)
    assert incarnations(subscription) == {view: number + bumps for view, number in told.items()}


@pytest.mark.parametrize("members, shown", [({}, SCHEDULED), ({"has_started": True}, STARTED)])
def test_an_announcement_is_told(subscription, db2, members, shown):
    notice = announce(db2, **members)

    assert notice.status == shown
    assert incarnations(subscription) == {"": 2, "resource db-2": 2}
    assert steps(notice) == [(shown, OPERATOR)]
    assert Transition.objects.get().incarnations == {"": 2, "resource db-2": 2}


@pytest.mark.parametrize(
    "seconds, starts",
    [(0, "08:30:00"), (0.9, "08:30:00")],  # of whatever is left of a second nobody is told
)
def test_it_starts_no_earlier_and_no_later_than_is_shown(db2, seconds, starts):
    notice = announce(db2, not_before=DUE + timedelta(seconds=seconds))
    assert f"{notice.not_before:%H:%M:%S.%f}" == f"{starts}.000000"

    advance(notice.not_before - timedelta(microseconds=1))
    assert status(notice) == SCHEDULED
    advance(notice.not_before)
    assert (status(notice), notice.started_at) == (STARTED, notice.not_before)


@pytest.mark.parametrize(
    "event_type, least",
    [("Freeze", 900), ("Reboot", 900), ("Redeploy", 600), ("Preempt", 30), ("Terminate", 300)],
)
def test_each_type_is_announced_far_enough_ahead(db2, event_type, least):
    now = T0 + timedelta(milliseconds=250)

    notice = announce(db2, now=now, event_type=EventType(event_type), not_before=None)

    assert timedelta(seconds=least) <= notice.not_before - now < timedelta(seconds=least + 1)
    assert notice.not_before.microsecond == 0


@pytest.mark.parametrize("event_type", EventType)
def test_a_shorter_notice_is_given_with_a_warning(db2, event_type):
    least = MINIMUM_NOTICE[event_type]

    def warning(ahead):
        return lifecycle.notice_warning(Announcement(event_type, [db2], not_before=T0 + ahead), T0)

    assert warning(least) is None
    assert f"at least {int(least.total_seconds())} s" in warning(least - timedelta(seconds=2))


@pytest.mark.parametrize(
    "members, path",
    [
        ({"not_before": T0 - timedelta(seconds=1)}, "notBefore"),
        ({"not_before": utc("0001-01-02T00:00Z")}, "notBefore"),
        ({"not_before": utc("9999-12-31T23:59Z")}, "notBefore"),
        ({"duration_s": -2}, "durationInSeconds"),
        ({"duration_s": 2**63}, "durationInSeconds"),
        ({"event_type": "Explode"}, "eventType"),
        ({"source": "Elsewhere"}, "eventSource"),
        ({"description": "x" * 1001}, "description"),
        ({"description": "a\0b"}, "description"),
        ({"description": "\ud800"}, "description"),
        ({"ends_after_duration": True}, "endAfterDuration"),  # of an unknown duration
        ({"ends_after_duration": True, "duration_s": 0}, "endAfterDuration"),
        ({"ends_after_duration": True, "duration_s": 9, "end_manually": True}, "endAfterDuration"),
        ({"resources": []}, "resources"),
    ],
)
def test_what_cannot_be_is_refused_when_announced_and_when_changed(subscription, db2, members, path):
    notice = announce(db2)
    told = incarnations(subscription)

    with pytest.raises(MaintenanceError) as announced:
        announce(db2, **members)
    with pytest.raises(MaintenanceError) as changed:
        lifecycle.change(notice, members, OPERATOR, T0)

    assert (announced.value.path, changed.value.path) == (path, path)
    assert (Notice.objects.count(), incarnations(subscription)) == (1, told)


def test_resources_of_another_subscription_are_not_there(subscription, db2):
    other = resource(Subscription.objects.create(name="other"), "theirs")

    with pytest.raises(MaintenanceError, match="there is no resource 'theirs'") as refusal:
        announce(db2, other)
    with pytest.raises(MaintenanceError, match="there is no resource 'theirs'"):
        lifecycle.change(announce(db2), {"resources": [other]}, OPERATOR, T0)

    assert refusal.value.path == "resources[1]"


def test_a_resource_that_is_named_twice_is_affected_once(db2):
    assert [each.name for each in announce(db2, db2).affected_resources.all()] == ["db-2"]


# Approval


def test_an_approval_is_for_all_resources_and_everybodys_first_is_kept(subscription, owner):
    db1, db2 = (resource(subscription, name, "databases") for name in ("db-1", "db-2"))
    notice = announce(db1, db2)

    for _ in range(3):
        lifecycle.approve([notice], "resource db-1", LATER, resource=db1)
        lifecycle.approve([notice], "resource db-2", LATER + MINUTE, resource=db2)
        lifecycle.approve([notice], "ada", LATER + MINUTE, user=owner)

    assert (status(notice), notice.started_at) == (STARTED, LATER)
    assert steps(notice) == [(SCHEDULED, OPERATOR), (STARTED, "resource db-1")]
    assert set(Approval.objects.values_list("resource__name", "user__username", "at")) == {
        ("db-1", None, LATER),
        ("db-2", None, LATER + MINUTE),
        (None, "ada", LATER + MINUTE),
    }


def test_several_notices_are_approved_at_once(subscription, db2):
    notices = [announce(db2) for _ in range(3)]
    complete(announce(db2, has_started=True), LATER)

    lifecycle.approve(Notice.objects.all(), OPERATOR, LATER)

    assert [status(notice) for notice in notices] == [STARTED] * 3


def test_what_is_over_needs_no_approval(db2):
    notice = announce(db2)
    cancel(notice, LATER)

    approve(notice)

    assert not Approval.objects.exists()


# Time


def test_who_comes_after_its_time_finds_it_started(db2):
    finished, withdrawn, changed = (announce(db2) for _ in range(3))

    complete(finished, DUE)
    with pytest.raises(TooLate, match="it has begun"):
        cancel(withdrawn, DUE)
    with pytest.raises(TooLate, match="description cannot be changed"):
        lifecycle.change(changed, {"description": "late"}, OPERATOR, DUE)

    assert steps(finished) == [(SCHEDULED, OPERATOR), (STARTED, CLOCK), (COMPLETED, OPERATOR)]
    assert status(withdrawn) == status(changed) == STARTED


def test_all_that_is_due_starts_in_its_order(db2):
    notices = [announce(db2, not_before=T0 + minutes * MINUTE) for minutes in (9, 5, 7)]

    advance(T0 + 8 * MINUTE)
    assert [status(notice) for notice in notices] == [SCHEDULED, STARTED, STARTED]
    order = Transition.objects.filter(status=STARTED).order_by("pk").values_list("notice", flat=True)
    assert list(order) == [notices[1].pk, notices[2].pk]


def test_looking_costs_one_query_when_nothing_is_due(db2, django_assert_num_queries):
    for _ in range(20):
        announce(db2)
        announce(db2, has_started=True)

    with django_assert_num_queries(1):
        advance(LATER)


def test_only_what_was_asked_for_ends_with_its_duration(db2):
    expected = announce(db2, has_started=True, duration_s=60)
    timed = announce(db2, has_started=True, duration_s=60, ends_after_duration=True)
    waiting = announce(db2, duration_s=60, ends_after_duration=True)

    advance(T0 + timedelta(seconds=59))
    assert status(timed) == STARTED
    advance(T0 + MINUTE)
    assert (status(expected), status(timed)) == (STARTED, COMPLETED)
    assert note(timed) == "its expected duration is over"
    approve(waiting, T0 + 5 * MINUTE)
    assert waiting.ends_at == T0 + 6 * MINUTE
    advance(T0 + 6 * MINUTE)
    assert status(waiting) == COMPLETED


def test_a_started_notice_that_was_to_end_can_be_kept_open(db2):
    notice = announce(db2, has_started=True, duration_s=60, ends_after_duration=True)

    lifecycle.change(notice, {"ends_after_duration": False, "end_manually": True}, OPERATOR, T0)
    advance(DUE)

    assert status(notice) == STARTED


def test_a_not_before_can_be_moved_but_not_into_the_past(subscription, db2):
    notice = announce(db2)

    lifecycle.change(notice, {"not_before": LATER}, OPERATOR, T0)
    assert (notice.not_before, note(notice)) == (LATER, "changed: notBefore")
    with pytest.raises(MaintenanceError, match="in the past"):
        lifecycle.change(notice, {"not_before": T0}, OPERATOR, T0 + timedelta(seconds=30))
    advance(LATER)
    assert status(notice) == STARTED


@pytest.fixture
def is_quicker(monkeypatch):
    """Let a step be taken by somebody else just before whoever comes next has their turn."""

    def first(step):
        real = locking.exclusive_lock

        def alone(*args):
            monkeypatch.setattr(locking, "exclusive_lock", real)
            step()
            return real(*args)

        monkeypatch.setattr(locking, "exclusive_lock", alone)

    return first


@pytest.mark.parametrize(
    "members, changes, stays",
    [
        ({"not_before": DUE}, {"not_before": DUE + HOUR}, SCHEDULED),
        ({"not_before": DUE + HOUR, "approve_when_idle": True}, {"approve_when_idle": False}, SCHEDULED),
        (
            {"has_started": True, "duration_s": 3600, "ends_after_duration": True},
            {"ends_after_duration": False, "end_manually": True},
            STARTED,
        ),
        ({"has_started": True}, {"end_manually": True}, STARTED),
    ],
    ids=["put off", "waits no longer", "has no end", "kept open"],
)
def test_what_was_changed_at_the_last_moment_is_not_overrun(db2, make_job, is_quicker, members, changes, stays):
    set_policy(make_job(), run_at_phases=["announce", "start"])
    notice = announce(db2, **members)
    for run in Run.objects.all():
        end(run)

    is_quicker(lambda: Notice.objects.filter(pk=notice.pk).update(**changes))
    advance(DUE)

    assert status(notice) == stays
    assert [step for step, _ in steps(notice)][-1] == stays


def test_housekeeping_starts_ends_and_forgets_by_the_clock(db2, settings):
    notice = announce(db2, duration_s=60, ends_after_duration=True)

    with time_machine.travel(DUE, tick=False):
        tasks.advance()
    assert status(notice) == STARTED
    with time_machine.travel(DUE + MINUTE, tick=False):
        tasks.advance()
    assert status(notice) == COMPLETED
    with time_machine.travel(DUE + timedelta(days=settings.RETENTION_DAYS, minutes=2), tick=False):
        tasks.prune()
    assert not Notice.objects.exists()


# Windows


@pytest.mark.parametrize(
    "start, end, found",
    [
        ("06:00", "07:00", []),
        ("07:00", "07:31", ["began"]),
        ("07:31", "08:29", ["began"]),  # nobody knows when it ends
        ("08:29", "08:31", ["began", "hour"]),
        ("08:30", "08:31", ["began", "hour"]),
        ("08:00", "08:30", ["began"]),
        ("09:29", "09:30", ["began", "hour"]),
        ("09:30", "10:00", ["began", "moment", "open"]),
        ("10:00", "11:00", ["began", "open"]),
        ("05:00", "05:30", []),
        ("05:30", "06:00", ["ended"]),  # withdrawn ones are never found
    ],
)
def test_notices_are_found_by_when_they_take_place(subscription, db2, start, end, found):
    early = utc("2026-01-05T05:30Z")
    ended = announce(db2, now=early, has_started=True, description="ended", duration_s=7200)
    complete(ended, early + 30 * MINUTE)
    cancel(announce(db2, now=early), early)
    announce(db2, has_started=True, description="began", duration_s=60)
    announce(db2, description="hour", duration_s=3600)
    announce(db2, description="moment", not_before=DUE + HOUR, duration_s=0)
    announce(db2, description="open", not_before=DUE + HOUR)

    window = (utc(f"2026-01-05T{start}Z"), utc(f"2026-01-05T{end}Z"))
    notices = Notice.objects.filter(subscription=subscription).between(*window)

    assert sorted(notice.description for notice in notices) == found


# Many open notices


def test_open_notices_name_only_so_many_resources_together(subscription, monkeypatch):
    """Everything that asks which jobs are held reads all of them."""
    monkeypatch.setattr(lifecycle, "RESOURCES_OF_OPEN_MOST", 3)
    one, two, three = (resource(subscription, name) for name in ("db-1", "db-2", "db-3"))
    elsewhere = resource(Subscription.objects.create(name="elsewhere"))
    first, second = announce(one, two), announce(three)

    with pytest.raises(MaintenanceError, match="may name 3 at most together") as refused:
        announce(one)
    with pytest.raises(MaintenanceError, match="may name 3 at most together"):
        lifecycle.change(second, {"resources": (two, three)}, OPERATOR, T0)

    assert (refused.value.code, refused.value.path) == ("conflict", "resources")
    assert announce(elsewhere)
    assert lifecycle.change(first, {"resources": (three,)}, OPERATOR, T0)
    cancel(second, T0)
    assert announce(one, two)


def test_a_subscription_has_only_so_many_open_notices(subscription, monkeypatch):
    """Housekeeping, which serves all subscriptions, looks at each of them."""
    monkeypatch.setattr(lifecycle, "OPEN_MOST", 2)
    db1 = resource(subscription, "db-1")
    first, second = announce(db1), announce(db1)

    with pytest.raises(MaintenanceError, match="at most 2 open notices") as refused:
        announce(db1)

    assert refused.value.code == "conflict"
    assert announce(resource(Subscription.objects.create(name="elsewhere")))
    assert lifecycle.change(first, {"resources": (resource(subscription, "db-2"),)}, OPERATOR, T0)
    cancel(second, T0)
    assert announce(db1)
