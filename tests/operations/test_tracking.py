"""Carrying out operations: one worker at a time, recovery of lost messages, and final states."""

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


class CountingHandler:
    """A handler of three steps that can be made to fail."""

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
def handler(monkeypatch) -> CountingHandler:
    handler = CountingHandler()
    monkeypatch.setitem(handlers._handlers, "test.count", handler)
    return handler


@pytest.fixture
def accept(subscription):
    def accept(key: str = "the one", now=NOW, **fields) -> Operation:
        values = {"target": "it", "target_key": key, "location": "global", "caller": Caller(), "now": now}
        return service.create(subscription, "test.count", **values | fields)

    return accept


@pytest.fixture
def sent_ids(monkeypatch) -> list:
    """The ids in the messages that are sent to workers."""
    ids: list = []
    monkeypatch.setattr(tasks.carry_out, "delay", lambda operation_id: ids.append(operation_id))
    return ids


def clock_at(now):
    return lambda: now


def test_message_is_sent_only_after_the_commit(accept, sent_ids, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        operation = accept()
        assert sent_ids == []

    assert sent_ids == [str(operation.pk)]


def test_rolled_back_operation_sends_no_message(accept, sent_ids, db):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        accept()
        raise ZeroDivisionError

    assert sent_ids == []
    assert not Operation.objects.exists()


def test_target_has_only_one_open_operation(accept):
    running = accept()

    with pytest.raises(AlreadyRunning) as refused:
        accept()

    assert refused.value.operation == running
    assert accept("another").state == "accepted"


def test_all_steps_are_carried_out(accept, handler):
    operation = accept()

    service.carry_out(operation.pk, clock_at(NOW + SECOND), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.percent, handler.steps) == ("succeeded", 100, 3)
    assert operation.started_at == operation.finished_at == NOW + SECOND
    assert (operation.lease_token, operation.error_code, handler.undone) == (None, "", 0)


def test_stopping_worker_leaves_the_remaining_steps_to_another(
    accept, handler, sent_ids, django_capture_on_commit_callbacks
):
    operation = accept()

    with django_capture_on_commit_callbacks(execute=True):
        service.carry_out(operation.pk, clock_at(NOW), lambda: True)
    operation.refresh_from_db()
    assert (operation.state, operation.percent, operation.lease_token) == ("running", 30, None)
    assert sent_ids[-1] == str(operation.pk)

    service.carry_out(operation.pk, clock_at(NOW + SECOND), lambda: False)
    operation.refresh_from_db()
    assert (operation.state, operation.started_at, handler.steps) == ("succeeded", NOW, 3)


@pytest.mark.parametrize("state", ["accepted", "running"])
def test_lost_message_is_sent_again_after_a_timeout(accept, handler, sent_ids, state):
    operation = accept()
    if state == "running":
        service.carry_out(operation.pk, clock_at(NOW), lambda: True)
    sent_ids.clear()

    service.rescue(NOW + PUBLISH_TIMEOUT)
    assert sent_ids == []
    service.rescue(NOW + PUBLISH_TIMEOUT + SECOND)
    service.rescue(NOW + PUBLISH_TIMEOUT + 2 * SECOND)

    assert sent_ids == [str(operation.pk)]


def test_duplicate_message_does_the_work_once(accept, handler):
    operation = accept()

    for _ in range(2):
        service.carry_out(operation.pk, clock_at(NOW), lambda: False)

    assert handler.steps == 3


def test_message_about_an_unknown_operation_is_ignored(db):
    service.carry_out("00000000-0000-0000-0000-000000000009", clock_at(NOW), lambda: False)

    assert not Operation.objects.exists()


def test_unavailable_broker_does_not_lose_an_operation(accept, monkeypatch, django_capture_on_commit_callbacks):
    def refuse(operation_id):
        raise tasks.carry_out.OperationalError

    monkeypatch.setattr(tasks.carry_out, "delay", refuse)
    with django_capture_on_commit_callbacks(execute=True):
        operation = accept()

    assert Operation.objects.get() == operation


def test_operation_of_a_dead_worker_fails_with_worker_lost(accept, handler):
    operation = accept()
    assert service.lease(operation.pk, NOW)

    service.rescue(NOW + HEARTBEAT_TIMEOUT)
    operation.refresh_from_db()
    assert operation.state == "running"

    service.rescue(NOW + HEARTBEAT_TIMEOUT + SECOND)
    operation.refresh_from_db()
    assert (operation.state, operation.error_code, handler.undone) == ("failed", "WorkerLost", 1)


def test_each_step_is_a_heartbeat(accept, handler):
    operation = accept()
    token = service.lease(operation.pk, NOW)

    assert service._step(operation.pk, token, clock_at(NOW + HEARTBEAT_TIMEOUT)) is True
    service.rescue(NOW + HEARTBEAT_TIMEOUT + SECOND)

    operation.refresh_from_db()
    assert operation.state == "running"


def test_failed_step_is_rolled_back(accept, handler):
    operation = accept()
    handler.failure = handlers.OperationFailed("NoRoom", "there is none")

    service.carry_out(operation.pk, clock_at(NOW), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.percent, operation.state_data) == ("failed", 0, {})
    assert (operation.error_code, operation.error_message, handler.undone) == ("NoRoom", "there is none", 1)


def test_operation_that_this_worker_cannot_do_waits_for_another_one(
    accept, handler, sent_ids, caplog, django_capture_on_commit_callbacks
):
    operation = accept()
    handler.failure = handlers.WorkerNotReady("it is too old")

    with django_capture_on_commit_callbacks(execute=True):
        service.carry_out(operation.pk, clock_at(NOW), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.lease_token, handler.steps, handler.undone) == ("running", None, 1, 0)
    assert f"operation {operation.pk} waits for another worker: it is too old" in caplog.text
    assert sent_ids == []  # a message at once could come back to this worker

    service.rescue(NOW + PUBLISH_TIMEOUT + SECOND)
    assert sent_ids == [str(operation.pk)]
    handler.failure = None
    service.carry_out(operation.pk, clock_at(NOW + PUBLISH_TIMEOUT), lambda: False)
    operation.refresh_from_db()
    assert operation.state == "succeeded"


def test_internal_error_shows_no_details(accept, handler):
    operation = accept()
    handler.failure = ZeroDivisionError("a secret")

    service.carry_out(operation.pk, clock_at(NOW), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.error_code) == ("failed", "InternalError")
    assert "secret" not in operation.error_message


def test_operation_of_an_unknown_kind_fails(accept):
    operation = accept()

    service.carry_out(operation.pk, clock_at(NOW), lambda: False)

    operation.refresh_from_db()
    assert (operation.state, operation.error_code) == ("failed", "UnknownOperation")


def test_error_in_undo_does_not_prevent_the_cancellation(accept, handler):
    operation = accept()
    handler.undoing_fails = True

    assert service.cancel(operation, NOW) is True

    operation.refresh_from_db()
    assert (operation.state, operation.error_code, handler.undone) == ("canceled", "OperationCanceled", 1)


def test_leased_operation_is_cancelled_before_its_next_step(accept, handler):
    operation = accept()
    token = service.lease(operation.pk, NOW)
    service._step(operation.pk, token, clock_at(NOW))

    assert service.cancel(operation, NOW + SECOND) is True
    assert service.cancel(operation, NOW + 2 * SECOND) is True
    operation.refresh_from_db()
    assert (operation.state, operation.cancel_requested_at, handler.undone) == ("running", NOW + SECOND, 0)

    assert service._step(operation.pk, token, clock_at(NOW + 3 * SECOND)) is False
    operation.refresh_from_db()
    assert (operation.state, operation.percent, handler.steps, handler.undone) == ("canceled", 30, 1, 1)


@pytest.mark.parametrize("state", ["succeeded", "failed", "canceled"])
def test_final_state_never_changes(make_operation, state):
    operation = make_operation(state)
    before = Operation.objects.values().get()
    later = timezone.now() + timedelta(hours=1)

    assert service.cancel(operation, later) is False
    assert service.lease(operation.pk, later) is None
    service.carry_out(operation.pk, clock_at(later), lambda: False)
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
def test_database_refuses_an_inconsistent_final_state(make_operation, state, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        make_operation(state, **fields)


@pytest.mark.parametrize(
    "hours, ago, exists",
    [
        (24, timedelta(hours=23, minutes=59), True),
        (24, timedelta(hours=24, minutes=1), False),
        (48, timedelta(hours=25), True),
    ],
)
def test_ended_operations_are_pruned_after_the_set_hours(make_operation, settings, hours, ago, exists):
    settings.OPERATION_RETENTION_HOURS = hours
    make_operation(ago=ago)

    tasks.rescue()

    assert Operation.objects.exists() == exists


def test_open_operation_is_never_pruned(make_operation, handler):
    make_operation("accepted", timedelta(days=30), kind="test.count")

    service.prune(timezone.now())

    assert Operation.objects.exists()


def test_log_has_the_request_ids_of_the_client(accept, handler, caplog):
    caplog.set_level(logging.INFO, "operations")
    caller = Caller(correlation_id="c-1", client_request_id="r-1")
    operation = accept(caller=caller)

    service.carry_out(operation.pk, clock_at(NOW), lambda: False)

    lines = [line for line in caplog.messages if str(operation.pk) in line]
    assert [line.split()[0] for line in lines] == ["accepted", "succeeded:"]
    assert all("correlation c-1, client request r-1" in line for line in lines)


def test_worker_stops_after_its_time_slice(accept, handler, sent_ids, monkeypatch):
    monkeypatch.setattr(tasks, "TIME_SLICE", timedelta(0))
    operation = accept(now=timezone.now())

    tasks.carry_out(str(operation.pk))
    assert handler.steps == 1
    for _ in range(2):
        tasks.carry_out(str(operation.pk))

    operation.refresh_from_db()
    assert (operation.state, handler.steps) == ("succeeded", 3)


def test_stopping_worker_leases_no_operation(accept, handler, monkeypatch):
    monkeypatch.setattr(stopping, "_is_requested", False)
    operation = accept()
    stopping.request()

    tasks.carry_out(str(operation.pk))

    operation.refresh_from_db()
    assert (operation.state, handler.steps) == ("accepted", 0)


# Indexes


def test_queries_use_indexes(subscription):
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
