"""Carrying operations out: one worker at a time, whatever gets lost, and an end that stays."""

import logging
import re
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from operations import handlers, service, stopping, tasks
from operations.models import HEARTBEAT_TIMEOUT, PUBLISH_TIMEOUT, Operation
from operations.service import AlreadyRunning, Caller
from tests.conftest import NOW

SECOND = timedelta(seconds=1)


class Counting:
    """Work of three steps, which can be told to fail."""

    def __init__(self):
        self.steps = 0
        self.undone = 0
        self.failure = None
        self.undoing_fails = False

    def step(self, operation, now):
        self.steps += 1
        if self.failure:
            raise self.failure
        operation.state_data["steps"] = operation.state_data.get("steps", 0) + 1
        return [0, 30, 60, 100][operation.state_data["steps"]]

    def undo(self, operation, now):
        self.undone += 1
        if self.undoing_fails:
            raise ZeroDivisionError


@pytest.fixture
def counting(monkeypatch) -> Counting:
    counting = Counting()
    monkeypatch.setitem(handlers._handlers, "test.count", counting)
    return counting


@pytest.fixture
def accept(subscription):
    def accept(key: str = "the one", now=NOW, **fields) -> Operation:
        values = {"target": "it", "target_key": key, "location": "global", "caller": Caller(), "now": now}
        return service.create(subscription, "test.count", **values | fields)

    return accept


@pytest.fixture
def rung(monkeypatch) -> list:
    """The ids in the messages that workers are sent."""
    ids: list = []
    monkeypatch.setattr(tasks.carry_out, "delay", lambda operation_id: ids.append(operation_id))
    return ids


def at(now):
    return lambda: now


def test_a_message_is_sent_after_the_commit_only(accept, rung, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        operation = accept()
        assert rung == []

    assert rung == [str(operation.pk)]


def test_what_is_rolled_back_was_never_accepted(accept, rung, db):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        accept()
        raise ZeroDivisionError

    assert rung == []
    assert not Operation.objects.exists()


def test_one_operation_at_a_time_on_a_target(accept):
    going = accept()

    with pytest.raises(AlreadyRunning) as refused:
        accept()

    assert refused.value.operation == going
    assert accept("another").state == "accepted"


def test_steps_are_done_to_the_end(accept, counting):
    operation = accept()

    service.carry_out(operation.pk, at(NOW + SECOND), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.percent, counting.steps) == ("succeeded", 100, 3)
    assert operation.started_at == operation.finished_at == NOW + SECOND
    assert (operation.lease_token, operation.error_code, counting.undone) == (None, "", 0)


def test_a_worker_that_stops_leaves_the_rest_to_another(accept, counting, rung, django_capture_on_commit_callbacks):
    operation = accept()

    with django_capture_on_commit_callbacks(execute=True):
        service.carry_out(operation.pk, at(NOW), lambda: True)
    operation.refresh_from_db()
    assert (operation.state, operation.percent, operation.lease_token) == ("running", 30, None)
    assert rung[-1] == str(operation.pk)

    service.carry_out(operation.pk, at(NOW + SECOND), lambda: False)
    operation.refresh_from_db()
    assert (operation.state, operation.started_at, counting.steps) == ("succeeded", NOW, 3)


@pytest.mark.parametrize("state", ["accepted", "running"])
def test_a_lost_message_is_sent_again_and_a_fresh_one_is_not(accept, counting, rung, state):
    operation = accept()
    if state == "running":
        service.carry_out(operation.pk, at(NOW), lambda: True)
    rung.clear()

    service.rescue(NOW + PUBLISH_TIMEOUT)
    assert rung == []
    service.rescue(NOW + PUBLISH_TIMEOUT + SECOND)
    service.rescue(NOW + PUBLISH_TIMEOUT + 2 * SECOND)

    assert rung == [str(operation.pk)]


def test_the_same_message_twice_does_the_work_once(accept, counting):
    operation = accept()

    for _ in range(2):
        service.carry_out(operation.pk, at(NOW), lambda: False)

    assert counting.steps == 3


def test_a_message_about_nothing_does_nothing(db):
    service.carry_out("00000000-0000-0000-0000-000000000009", at(NOW), lambda: False)

    assert not Operation.objects.exists()


def test_a_broker_that_is_away_loses_nothing(accept, monkeypatch, django_capture_on_commit_callbacks):
    def refuse(operation_id):
        raise tasks.carry_out.OperationalError

    monkeypatch.setattr(tasks.carry_out, "delay", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        operation = accept()

    assert Operation.objects.get() == operation


def test_a_dead_worker_is_a_failure_with_a_stable_code(accept, counting):
    operation = accept()
    assert service.lease(operation.pk, NOW)

    service.rescue(NOW + HEARTBEAT_TIMEOUT)
    operation.refresh_from_db()
    assert operation.state == "running"

    service.rescue(NOW + HEARTBEAT_TIMEOUT + SECOND)
    operation.refresh_from_db()
    assert (operation.state, operation.error_code, counting.undone) == ("failed", "WorkerLost", 1)


def test_each_step_is_a_heartbeat(accept, counting):
    operation = accept()
    token = service.lease(operation.pk, NOW)

    assert service._step(operation.pk, token, at(NOW + HEARTBEAT_TIMEOUT)) is True
    service.rescue(NOW + HEARTBEAT_TIMEOUT + SECOND)

    operation.refresh_from_db()
    assert operation.state == "running"


def test_a_step_that_fails_takes_what_it_did_with_it(accept, counting):
    operation = accept()
    counting.failure = handlers.OperationFailed("NoRoom", "there is none")

    service.carry_out(operation.pk, at(NOW), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.percent, operation.state_data) == ("failed", 0, {})
    assert (operation.error_code, operation.error_message, counting.undone) == ("NoRoom", "there is none", 1)


def test_a_bug_is_told_without_its_detail(accept, counting):
    operation = accept()
    counting.failure = ZeroDivisionError("a secret")

    service.carry_out(operation.pk, at(NOW), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.error_code) == ("failed", "InternalError")
    assert "secret" not in operation.error_message


def test_work_that_nobody_knows_any_more_fails(accept):
    operation = accept()

    service.carry_out(operation.pk, at(NOW), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.error_code) == ("failed", "UnknownOperation")


def test_an_undoing_that_fails_keeps_no_end_away(accept, counting):
    operation = accept()
    counting.undoing_fails = True

    assert service.cancel(operation, NOW) is True

    operation.refresh_from_db()
    assert (operation.state, operation.error_code, counting.undone) == ("canceled", "OperationCanceled", 1)


def test_who_has_it_is_asked_to_stop_before_the_next_step(accept, counting):
    operation = accept()
    token = service.lease(operation.pk, NOW)
    service._step(operation.pk, token, at(NOW))

    assert service.cancel(operation, NOW + SECOND) is True
    assert service.cancel(operation, NOW + 2 * SECOND) is True
    operation.refresh_from_db()
    assert (operation.state, operation.cancel_requested_at, counting.undone) == ("running", NOW + SECOND, 0)

    assert service._step(operation.pk, token, at(NOW + 3 * SECOND)) is False
    operation.refresh_from_db()
    assert (operation.state, operation.percent, counting.steps, counting.undone) == ("canceled", 30, 1, 1)


@pytest.mark.parametrize("state", ["succeeded", "failed", "canceled"])
def test_an_end_never_changes(make_operation, state):
    operation = make_operation(state)
    before = Operation.objects.values().get()
    later = timezone.now() + timedelta(hours=1)

    assert service.cancel(operation, later) is False
    assert service.lease(operation.pk, later) is None
    service.carry_out(operation.pk, at(later), lambda: False)
    service.rescue(later)

    assert Operation.objects.values().get() == before


@pytest.mark.parametrize(
    "state, fields",
    [
        ("running", {"finished_at": NOW}),
        ("succeeded", {"finished_at": None}),
        ("succeeded", {"lease_token": "00000000-0000-0000-0000-000000000009"}),
        ("succeeded", {"error_code": "Odd"}),
        ("failed", {"error_code": ""}),
    ],
)
def test_the_database_refuses_an_end_that_is_none(make_operation, state, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        make_operation(state, **fields)


@pytest.mark.parametrize(
    "hours, ago, kept",
    [
        (24, timedelta(hours=23, minutes=59), True),
        (24, timedelta(hours=24, minutes=1), False),
        (48, timedelta(hours=25), True),
    ],
)
def test_what_ended_is_kept_as_long_as_the_setting_says(make_operation, settings, hours, ago, kept):
    settings.OPERATION_RETENTION_HOURS = hours
    make_operation(ago=ago)

    tasks.rescue()

    assert Operation.objects.exists() == kept


def test_what_goes_on_is_kept_however_old(make_operation, counting):
    make_operation("accepted", timedelta(days=30), kind="test.count")

    service.prune(timezone.now())

    assert Operation.objects.exists()


def test_the_log_finds_an_operation_by_its_callers_ids(accept, counting, caplog):
    caplog.set_level(logging.INFO, "operations")
    caller = Caller(correlation_id="c-1", client_request_id="r-1")
    operation = accept(caller=caller)

    service.carry_out(operation.pk, at(NOW), lambda: False)

    lines = [line for line in caplog.messages if str(operation.pk) in line]
    assert [line.split()[0] for line in lines] == ["accepted", "succeeded:"]
    assert all("correlation c-1, client request r-1" in line for line in lines)


def test_a_turn_ends(accept, counting, rung, monkeypatch):
    monkeypatch.setattr(tasks, "TIME_SLICE", timedelta(0))
    operation = accept(now=timezone.now())

    tasks.carry_out(str(operation.pk))
    assert counting.steps == 1
    for _ in range(2):
        tasks.carry_out(str(operation.pk))

    operation.refresh_from_db()
    assert (operation.state, counting.steps) == ("succeeded", 3)


def test_a_worker_that_is_being_stopped_takes_nothing(accept, counting, monkeypatch):
    monkeypatch.setattr(stopping, "_is_requested", False)
    operation = accept()
    stopping.request()

    tasks.carry_out(str(operation.pk))

    operation.refresh_from_db()
    assert (operation.state, counting.steps) == ("accepted", 0)


# What it costs


def test_history_makes_nothing_slower(subscription):
    Operation.objects.bulk_create(
        Operation(
            subscription=subscription,
            kind="collection.delete",
            target=f"default/c{number}",
            target_key=str(number),
            state="succeeded",
            published_at=NOW,
            created_at=NOW + number * SECOND,
            finished_at=NOW + number * SECOND,
        )
        for number in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE operations_operation")
    newest = Operation.objects.order_by("-created_at", "-id")

    assert "operation_finished" in Operation.objects.abandoned(NOW)[:1].explain()
    assert "operation_finished" in Operation.objects.undelivered(NOW)[:1].explain()
    assert re.search("operation_finished|one_open_operation", Operation.objects.open().filter(target_key="7").explain())
    assert "operation_newest" in newest[:26].explain()
