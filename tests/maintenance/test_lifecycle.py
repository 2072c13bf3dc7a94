"""The lifecycle of notices: transitions, their actors, and the incarnations that change."""

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


def advance_clock(notice, now=DUE):
    advance(now)


def complete_notice(notice, now=LATER):
    complete(notice, now)


def cancel_notice(notice, now=LATER):
    cancel(notice, now)


def change_description(notice, now=LATER):
    lifecycle.change(notice, {"description": "a new kernel"}, OPERATOR, now)


def change_nothing(notice, now=LATER):
    lifecycle.change(notice, {"description": notice.description}, OPERATOR, now)


def keep_open(notice, now=LATER):
    lifecycle.change(notice, {"end_manually": True}, OPERATOR, now)


STEPS_TO = {SCHEDULED: [], STARTED: [approve], COMPLETED: [approve, complete_notice], CANCELLED: [cancel_notice]}


@pytest.mark.parametrize(
    "before, step, after, increments",
    [
        (SCHEDULED, approve, STARTED, 1),
        (SCHEDULED, advance_clock, STARTED, 1),
        (SCHEDULED, change_description, SCHEDULED, 1),
        (SCHEDULED, change_nothing, SCHEDULED, 0),
        (SCHEDULED, keep_open, SCHEDULED, 0),  # this member is not shown to machines
        (SCHEDULED, cancel_notice, CANCELLED, 1),
        (SCHEDULED, complete_notice, TooLate, 0),
        (STARTED, approve, STARTED, 0),
        (STARTED, advance_clock, STARTED, 0),
        (STARTED, change_description, TooLate, 0),
        (STARTED, keep_open, STARTED, 0),
        (STARTED, cancel_notice, TooLate, 0),
        (STARTED, complete_notice, COMPLETED, 1),
        (COMPLETED, approve, COMPLETED, 0),
        (COMPLETED, advance_clock, COMPLETED, 0),
        (COMPLETED, change_description, TooLate, 0),
        (COMPLETED, keep_open, TooLate, 0),
        (COMPLETED, cancel_notice, TooLate, 0),
        (COMPLETED, complete_notice, COMPLETED, 0),
        (CANCELLED, approve, CANCELLED, 0),
        (CANCELLED, advance_clock, CANCELLED, 0),
        (CANCELLED, change_description, TooLate, 0),
        (CANCELLED, cancel_notice, CANCELLED, 0),
        (CANCELLED, complete_notice, TooLate, 0),
    ],
)
def test_transition_changes_the_status_and_the_incarnation_once(subscription, db2, before, step, after, increments):
    notice = announce(db2)
    for earlier in STEPS_TO[before]:
        earlier(notice)
    incarnations_before = incarnations(subscription)

    if after is TooLate:
        with pytest.raises(TooLate):
            step(notice)
    else:
        step(notice)

    assert status(notice) == (before if after is TooLate else after)
    assert incarnations(subscription) == {view: number + increments for view, number in incarnations_before.items()}


@pytest.mark.parametrize("members, status_shown", [({}, SCHEDULED), ({"has_started": True}, STARTED)])
def test_announcement_increases_the_incarnations_of_its_views(subscription, db2, members, status_shown):
    notice = announce(db2, **members)

    assert notice.status == status_shown
    assert incarnations(subscription) == {"": 2, "resource db-2": 2}
    assert steps(notice) == [(status_shown, OPERATOR)]
    assert Transition.objects.get().incarnations == {"": 2, "resource db-2": 2}


@pytest.mark.parametrize(
    "seconds, starts",
    [(0, "08:30:00"), (0.9, "08:30:00")],  # fractions of a second are dropped
)
def test_notice_starts_exactly_at_the_shown_time(db2, seconds, starts):
    notice = announce(db2, not_before=DUE + timedelta(seconds=seconds))
    assert f"{notice.not_before:%H:%M:%S.%f}" == f"{starts}.000000"

    advance(notice.not_before - timedelta(microseconds=1))
    assert status(notice) == SCHEDULED
    advance(notice.not_before)
    assert (status(notice), notice.started_at) == (STARTED, notice.not_before)


@pytest.mark.parametrize(
    "event_type, minimum",
    [("Freeze", 900), ("Reboot", 900), ("Redeploy", 600), ("Preempt", 30), ("Terminate", 300)],
)
def test_default_start_gives_the_minimum_notice_of_each_type(db2, event_type, minimum):
    now = T0 + timedelta(milliseconds=250)

    notice = announce(db2, now=now, event_type=EventType(event_type), not_before=None)

    assert timedelta(seconds=minimum) <= notice.not_before - now < timedelta(seconds=minimum + 1)
    assert notice.not_before.microsecond == 0


@pytest.mark.parametrize("event_type", EventType)
def test_shorter_notice_than_the_minimum_gives_a_warning(db2, event_type):
    minimum = MINIMUM_NOTICE[event_type]

    def warning(lead):
        return lifecycle.notice_warning(Announcement(event_type, [db2], not_before=T0 + lead), T0)

    assert warning(minimum) is None
    assert f"at least {int(minimum.total_seconds())} s" in warning(minimum - timedelta(seconds=2))


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
        ({"ends_after_duration": True}, "endAfterDuration"),  # the duration is unknown
        ({"ends_after_duration": True, "duration_s": 0}, "endAfterDuration"),
        ({"ends_after_duration": True, "duration_s": 9, "end_manually": True}, "endAfterDuration"),
        ({"resources": []}, "resources"),
    ],
)
def test_invalid_values_are_refused_on_announcement_and_on_change(subscription, db2, members, path):
    notice = announce(db2)
    incarnations_before = incarnations(subscription)

    with pytest.raises(MaintenanceError) as announced:
        announce(db2, **members)
    with pytest.raises(MaintenanceError) as changed:
        lifecycle.change(notice, members, OPERATOR, T0)

    assert (announced.value.path, changed.value.path) == (path, path)
    assert (Notice.objects.count(), incarnations(subscription)) == (1, incarnations_before)


def test_resource_of_another_subscription_is_refused(subscription, db2):
    other = resource(Subscription.objects.create(name="other"), "theirs")

    with pytest.raises(MaintenanceError, match="there is no resource 'theirs'") as refusal:
        announce(db2, other)
    with pytest.raises(MaintenanceError, match="there is no resource 'theirs'"):
        lifecycle.change(announce(db2), {"resources": [other]}, OPERATOR, T0)

    assert refusal.value.path == "resources[1]"


def test_duplicate_resource_is_affected_once(db2):
    assert [each.name for each in announce(db2, db2).affected_resources.all()] == ["db-2"]


# Approval


def test_first_approval_starts_the_notice_and_each_actors_first_is_stored(subscription, owner):
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


def test_approval_of_a_cancelled_notice_is_not_stored(db2):
    notice = announce(db2)
    cancel(notice, LATER)

    approve(notice)

    assert not Approval.objects.exists()


# Start and end times


def test_late_change_finds_a_due_notice_started(db2):
    finished, withdrawn, changed = (announce(db2) for _ in range(3))

    complete(finished, DUE)
    with pytest.raises(TooLate, match="it has begun"):
        cancel(withdrawn, DUE)
    with pytest.raises(TooLate, match="description cannot be changed"):
        lifecycle.change(changed, {"description": "late"}, OPERATOR, DUE)

    assert steps(finished) == [(SCHEDULED, OPERATOR), (STARTED, CLOCK), (COMPLETED, OPERATOR)]
    assert status(withdrawn) == status(changed) == STARTED


def test_due_notices_start_in_order_of_their_times(db2):
    notices = [announce(db2, not_before=T0 + minutes * MINUTE) for minutes in (9, 5, 7)]

    advance(T0 + 8 * MINUTE)
    assert [status(notice) for notice in notices] == [SCHEDULED, STARTED, STARTED]
    order = Transition.objects.filter(status=STARTED).order_by("pk").values_list("notice", flat=True)
    assert list(order) == [notices[1].pk, notices[2].pk]


def test_advance_takes_one_query_if_nothing_is_due(db2, django_assert_num_queries):
    for _ in range(20):
        announce(db2)
        announce(db2, has_started=True)

    with django_assert_num_queries(1):
        advance(LATER)


def test_notice_ends_after_its_duration_only_on_request(db2):
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


def test_started_notice_can_be_changed_to_end_manually(db2):
    notice = announce(db2, has_started=True, duration_s=60, ends_after_duration=True)

    lifecycle.change(notice, {"ends_after_duration": False, "end_manually": True}, OPERATOR, T0)
    advance(DUE)

    assert status(notice) == STARTED


def test_not_before_can_be_changed_but_not_to_the_past(subscription, db2):
    notice = announce(db2)

    lifecycle.change(notice, {"not_before": LATER}, OPERATOR, T0)
    assert (notice.not_before, note(notice)) == (LATER, "changed: notBefore")
    with pytest.raises(MaintenanceError, match="in the past"):
        lifecycle.change(notice, {"not_before": T0}, OPERATOR, T0 + timedelta(seconds=30))
    advance(LATER)
    assert status(notice) == STARTED


@pytest.fixture
def change_before_lock(monkeypatch):
    """Return a function that runs `step` just before the next exclusive lock is taken, as another process would."""

    def first(step):
        original = locking.exclusive_lock

        def step_then_lock(*args):
            monkeypatch.setattr(locking, "exclusive_lock", original)
            step()
            return original(*args)

        monkeypatch.setattr(locking, "exclusive_lock", step_then_lock)

    return first


@pytest.mark.parametrize(
    "members, changes, expected",
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
def test_change_just_before_the_lock_is_respected(db2, make_job, change_before_lock, members, changes, expected):
    set_policy(make_job(), run_at_phases=["announce", "start"])
    notice = announce(db2, **members)
    for run in Run.objects.all():
        end(run)

    change_before_lock(lambda: Notice.objects.filter(pk=notice.pk).update(**changes))
    advance(DUE)

    assert status(notice) == expected
    assert [step for step, _ in steps(notice)][-1] == expected


def test_housekeeping_starts_ends_and_prunes_notices(db2, settings):
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


# Notices in a window


@pytest.mark.parametrize(
    "start, end, found",
    [
        ("06:00", "07:00", []),
        ("07:00", "07:31", ["began"]),
        ("07:31", "08:29", ["began"]),  # the end is unknown
        ("08:29", "08:31", ["began", "hour"]),
        ("08:30", "08:31", ["began", "hour"]),
        ("08:00", "08:30", ["began"]),
        ("09:29", "09:30", ["began", "hour"]),
        ("09:30", "10:00", ["began", "moment", "open"]),
        ("10:00", "11:00", ["began", "open"]),
        ("05:00", "05:30", []),
        ("05:30", "06:00", ["ended"]),  # cancelled notices are never found
    ],
)
def test_notices_are_found_by_their_window(subscription, db2, start, end, found):
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


def test_number_of_resources_of_open_notices_is_limited(subscription, monkeypatch):
    """All queries for held jobs read all of these resources."""
    monkeypatch.setattr(lifecycle, "RESOURCES_OF_OPEN_MOST", 3)
    one, two, three = (resource(subscription, name) for name in ("db-1", "db-2", "db-3"))
    other_resource = resource(Subscription.objects.create(name="elsewhere"))
    first, second = announce(one, two), announce(three)

    with pytest.raises(MaintenanceError, match="may name 3 at most together") as refused:
        announce(one)
    with pytest.raises(MaintenanceError, match="may name 3 at most together"):
        lifecycle.change(second, {"resources": (two, three)}, OPERATOR, T0)

    assert (refused.value.code, refused.value.path) == ("conflict", "resources")
    assert announce(other_resource)
    assert lifecycle.change(first, {"resources": (three,)}, OPERATOR, T0)
    cancel(second, T0)
    assert announce(one, two)


def test_number_of_open_notices_of_a_subscription_is_limited(subscription, monkeypatch):
    """Housekeeping serves all subscriptions and reads each open notice."""
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
