"""Long housekeeping tasks work in pieces, with one chain of messages for all workers."""

from datetime import timedelta

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from jobs import housekeeping
from jobs.housekeeping import PIECE_LEASE, work_in_pieces
from jobs.models import HousekeepingLease
from operations import stopping

pytestmark = pytest.mark.django_db


@pytest.fixture
def task():
    """A task whose messages stay in memory."""
    app = Celery(broker="memory://", set_as_current=False)

    @app.task(name="tests.work", shared=False)
    def work(token=None):
        raise AssertionError("no worker runs here")

    yield work
    app.close()


@pytest.fixture
def tokens(task):
    """Return a function that takes the tokens from the waiting messages."""

    def tokens() -> list[str]:
        found = []
        with task.app.connection_for_read() as connection, connection.SimpleQueue("celery") as queue:
            while len(queue):
                message = queue.get_nowait()
                message.ack()
                found.append(message.payload[0][0])
        return found

    return tokens


def nothing_left(now, is_over):
    return True


def more_left(now, is_over):
    return False


def must_not_work(now, is_over):
    raise AssertionError("another chain of messages has the lease")


def test_piece_that_does_not_finish_queues_the_next_piece(task, tokens):
    work_in_pieces(task, None, more_left)
    [token] = tokens()
    work_in_pieces(task, token, nothing_left)

    assert tokens() == []


def test_message_of_a_beat_starts_no_second_chain(task, tokens):
    work_in_pieces(task, None, more_left)

    work_in_pieces(task, None, must_not_work)
    [token] = tokens()
    work_in_pieces(task, token, more_left)
    work_in_pieces(task, token, must_not_work)  # the same message a second time

    assert len(tokens()) == 1


def test_chain_whose_message_is_lost_is_replaced_by_another(task, tokens):
    work_in_pieces(task, None, more_left)
    [lost] = tokens()
    lease = HousekeepingLease.objects.get()
    HousekeepingLease.objects.update(leased_until=lease.leased_until - PIECE_LEASE - timedelta(seconds=1))

    work_in_pieces(task, None, more_left)
    work_in_pieces(task, lost, must_not_work)

    assert len(tokens()) == 1


def test_finished_work_can_be_started_again_at_once(task, tokens):
    done = []

    for _ in range(2):
        work_in_pieces(task, None, lambda now, is_over: done.append(now) or True)

    assert len(done) == 2


def test_piece_ends_when_its_time_is_over_or_its_worker_stops(task, tokens, monkeypatch):
    results = []

    def work(now, is_over):
        results.append(is_over())
        monkeypatch.setattr(housekeeping, "PIECE_S", 0)
        return True

    work_in_pieces(task, None, work)
    work_in_pieces(task, None, work)
    monkeypatch.setattr(housekeeping, "PIECE_S", 60)
    monkeypatch.setattr(stopping, "_is_requested", False)
    stopping.request()
    work_in_pieces(task, None, work)

    assert results == [False, True, True]


def test_without_a_broker_the_next_message_of_a_beat_continues_the_work(task, monkeypatch, caplog):
    def refuse(*args):
        raise OperationalError("connection refused")

    monkeypatch.setattr(task, "delay", refuse)

    work_in_pieces(task, None, more_left)

    assert "tests.work has more to do" in caplog.text
