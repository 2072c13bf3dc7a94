"""A long task of housekeeping works in pieces, one chain of messages for all workers."""

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
    """Take the tokens from the messages that wait."""

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


def test_a_piece_that_leaves_work_behind_queues_the_next(task, tokens):
    work_in_pieces(task, None, more_left)
    [token] = tokens()
    work_in_pieces(task, token, nothing_left)

    assert tokens() == []


def test_a_message_of_beats_starts_no_second_chain(task, tokens):
    work_in_pieces(task, None, more_left)

    work_in_pieces(task, None, must_not_work)
    [token] = tokens()
    work_in_pieces(task, token, more_left)
    work_in_pieces(task, token, must_not_work)  # the same message once more

    assert len(tokens()) == 1


def test_a_chain_whose_message_is_lost_is_followed_by_another(task, tokens):
    work_in_pieces(task, None, more_left)
    [lost] = tokens()
    lease = HousekeepingLease.objects.get()
    HousekeepingLease.objects.update(leased_until=lease.leased_until - PIECE_LEASE - timedelta(seconds=1))

    work_in_pieces(task, None, more_left)
    work_in_pieces(task, lost, must_not_work)

    assert len(tokens()) == 1


def test_work_that_is_done_can_be_begun_again_at_once(task, tokens):
    done = []

    for _ in range(2):
        work_in_pieces(task, None, lambda now, is_over: done.append(now) or True)

    assert len(done) == 2


def test_a_piece_ends_when_its_time_is_up_or_its_worker_stops(task, tokens, monkeypatch):
    said = []

    def work(now, is_over):
        said.append(is_over())
        monkeypatch.setattr(housekeeping, "PIECE_S", 0)
        return True

    work_in_pieces(task, None, work)
    work_in_pieces(task, None, work)
    monkeypatch.setattr(housekeeping, "PIECE_S", 60)
    monkeypatch.setattr(stopping, "_is_requested", False)
    stopping.request()
    work_in_pieces(task, None, work)

    assert said == [False, True, True]


def test_without_a_broker_the_next_message_of_beats_goes_on(task, monkeypatch, caplog):
    def refuse(*args):
        raise OperationalError("connection refused")

    monkeypatch.setattr(task, "delay", refuse)

    work_in_pieces(task, None, more_left)

    assert "tests.work has more to do" in caplog.text
