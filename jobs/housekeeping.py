"""Run long housekeeping tasks in pieces, so that other tasks do not wait long and no time limit ends them.

A piece that does not finish the work queues the task again.  The message carries the token of a lease; the database has
one lease for each task.  Beats add a message every hour, which has no token: so it cannot start a second chain.
"""

import logging
import time
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from celery import Task
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from jobs.models import HousekeepingLease
from jobs.worker.pruning import IsOver
from operations import stopping

PIECE_S = 5.0
PIECE_LEASE = timedelta(seconds=60)  # for one piece, and until the message for the next piece has passed its queue

logger = logging.getLogger(__name__)


def work_in_pieces(task: Task, token: str | None, work: Callable[[datetime, IsOver], bool]) -> None:
    """Do a piece of `work`, and queue `task` again unless that was the last one.

    `work` is called with the current time and a function that returns True when the piece must end.  It returns True
    when all work is done.
    """
    new_token = take_lease(task.name, token, timezone.now())
    if new_token is None:
        return
    ends_at = time.monotonic() + PIECE_S
    if work(timezone.now(), lambda: stopping.is_requested() or time.monotonic() >= ends_at):
        HousekeepingLease.objects.filter(name=task.name, token=new_token).update(leased_until=None)
    else:
        queue_again(task, new_token)


def take_lease(name: str, token: str | None, now: datetime) -> uuid.UUID | None:
    """Take the lease and return its new token; return None while another chain of messages has the lease."""
    HousekeepingLease.objects.get_or_create(name=name)
    new_token = uuid.uuid4()
    is_free = Q(leased_until=None) | Q(leased_until__lt=now)
    if token is not None:
        is_free |= Q(token=uuid.UUID(token))
    leases = HousekeepingLease.objects.filter(is_free, name=name)
    return new_token if leases.update(token=new_token, leased_until=now + PIECE_LEASE) else None


def queue_again(task: Task, token: uuid.UUID) -> None:
    try:
        task.delay(str(token))
    except OperationalError as error:
        logger.warning("%s has more to do, but the broker does not answer; beats queue it again: %s", task.name, error)
