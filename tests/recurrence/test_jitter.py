import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from recurrence.jitter import delay_of
from tests.recurrence.samples import utc

ROOT = Path(__file__).parents[2]
FIRE = utc("2026-01-05T08:00Z")
MILLISECOND = timedelta(milliseconds=1)
BINS = 60


def chi_square(delays, jitter):
    """Return the test statistic of BINS equally long parts of the jitter; about BINS for evenly spread delays."""
    counts = [0] * BINS
    for delay in delays:
        counts[delay * BINS // jitter] += 1
    expected = len(delays) / BINS
    return sum((number - expected) ** 2 / expected for number in counts)


@pytest.mark.parametrize("jitter", [timedelta(milliseconds=1), timedelta(seconds=7), timedelta(hours=24)])
def test_a_delay_is_shorter_than_the_jitter_and_never_negative(jitter):
    delays = [delay_of(jitter, f"trigger-{number}", FIRE) for number in range(5000)]

    assert all(timedelta(0) <= delay < jitter and delay % MILLISECOND == timedelta(0) for delay in delays)


def test_without_jitter_there_is_no_delay():
    assert delay_of(timedelta(0), "trigger", FIRE) == timedelta(0)


def test_delays_are_spread_evenly_over_triggers_and_over_fire_times():
    jitter = timedelta(minutes=10)
    limit = BINS + 5 * (2 * BINS) ** 0.5  # five standard deviations above the mean

    over_triggers = [delay_of(jitter, str(number), FIRE) for number in range(30_000)]
    over_fires = [delay_of(jitter, "7", FIRE + number * timedelta(minutes=15)) for number in range(30_000)]

    assert chi_square(over_triggers, jitter) < limit
    assert chi_square(over_fires, jitter) < limit
    assert chi_square([delay // 2 for delay in over_fires], jitter) > 100 * limit  # the test finds a bad spread


def test_a_delay_is_the_same_in_every_process():
    script = (
        "from datetime import *; from recurrence.jitter import delay_of;"
        "delay = delay_of(timedelta(hours=1), 'trigger 42', datetime(2026, 1, 5, 8, tzinfo=UTC));"
        "print(delay // timedelta(milliseconds=1))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    }

    assert found == {"2385218"}
    assert delay_of(timedelta(hours=1), "trigger 42", FIRE) == 2_385_218 * MILLISECOND


def test_triggers_and_fire_times_that_only_join_to_the_same_text_differ():
    jitter = timedelta(hours=24)

    assert delay_of(jitter, "1", FIRE) != delay_of(jitter, "11", FIRE)
