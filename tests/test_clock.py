"""The clock that `make clocks` uses for the tests."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

LEAP_DAY = datetime(2028, 2, 29, 23, 58, tzinfo=UTC)
TOLERANCE = timedelta(minutes=30)  # enough for a busy machine


def run(code: str) -> str:
    """Run `code` in Python with a time of day that starts on the leap day; return its output."""
    command = [sys.executable, "-m", "tests.clock", "2028-02-29T23:58Z", sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    "code",
    [
        "import time; print(time.time())",
        "import sqlite3; print(sqlite3.connect(':memory:').execute('SELECT unixepoch()').fetchone()[0])",
        "import subprocess; subprocess.run(['date', '+%s'], check=True)",
    ],
    ids=["itself", "SQLite", "a child"],
)
def test_every_part_of_a_command_reads_the_same_time_of_day(code):
    read = datetime.fromtimestamp(float(run(code)), UTC)

    assert LEAP_DAY <= read < LEAP_DAY + TOLERANCE


def test_time_passes_and_waits_have_their_normal_length():
    code = "import time; a = time.time(), time.monotonic(); time.sleep(0.1); b = time.time(), time.monotonic(); "

    day, monotonic = map(float, run(code + "print(b[0] - a[0], b[1] - a[1])").split())

    assert 0.1 <= monotonic < TOLERANCE.total_seconds()
    assert 0.05 <= day < TOLERANCE.total_seconds()
