"""When an operation is polled next, and when it is given up: computed without a database."""

from datetime import timedelta

import pytest

from jobs.actions.result import AttemptResult, PollFailure
from jobs.worker.polling import (
    MAX_POLL_FAILURES,
    SHARE,
    WAIT,
    WAIT_LEAST,
    WAIT_MOST,
    PollWindow,
    next_poll,
    poll_failure_result,
)
from tests.jobs.conftest import START
from tests.jobs.following.operations import DAY, GOES_ON, HOUR, SECOND


@pytest.mark.parametrize(
    "asked, after, wait",
    [
        (None, 0 * SECOND, WAIT),
        (5 * SECOND, 0 * SECOND, 5 * SECOND),
        (0 * SECOND, 0 * SECOND, WAIT_LEAST),
        (1 * SECOND, 30 * SECOND, 1 * SECOND),
        # a long operation is polled less often, even if the target asks for more polls
        (1 * SECOND, 10 * HOUR, 10 * HOUR / SHARE),
        (999_999_999 * SECOND, 0 * SECOND, WAIT_MOST),
        (30 * DAY, 23.5 * HOUR, 0.5 * HOUR),  # the last poll is at the limit
    ],
)
def test_next_poll_follows_retry_after_within_limits(asked, after, wait):
    outcome = AttemptResult(True, "", 200, operation=GOES_ON.operation, retry_after=asked)
    now = START + after

    assert next_poll(PollWindow(START, START + DAY), outcome, now) == now + wait


@pytest.mark.parametrize("limit, max_polls", [(HOUR, 320), (DAY, 520)])
def test_number_of_polls_is_limited_whatever_the_target_asks_for(limit, max_polls):
    watch, polls, now = PollWindow(START, START + limit), 0, START
    while due_at := next_poll(
        watch, AttemptResult(True, "", 200, retry_after=SECOND, operation=GOES_ON.operation), now
    ):
        assert due_at > now
        now, polls = due_at, polls + 1

    assert now == START + limit
    assert polls <= max_polls


@pytest.mark.parametrize("failure", list(PollFailure))
def test_polls_without_a_status_have_growing_intervals_and_a_limit(failure):
    waits, now = [], START
    for troubles in range(1, 100):
        due_at = next_poll(
            PollWindow(START, START + DAY, troubles), AttemptResult(False, "", 503, poll_failure=failure), now
        )
        if due_at is None:
            break
        waits.append(due_at - now)

    assert len(waits) == MAX_POLL_FAILURES[failure] - 1
    assert waits[:2] == [30 * SECOND, 60 * SECOND]
    assert max(waits) <= timedelta(minutes=10)


@pytest.mark.parametrize("outcome", [GOES_ON, AttemptResult(False, "", 503, poll_failure=PollFailure.TEMPORARY)])
def test_operation_is_not_polled_after_its_limit(outcome):
    watch = PollWindow(START, START + HOUR)

    assert next_poll(watch, outcome, START + HOUR) is None

    end = poll_failure_result(watch, outcome, START + HOUR)
    assert (end.succeeded, end.may_retry, end.is_pending) == (False, False, False)
    assert "has not ended within 1 h" in end.message
