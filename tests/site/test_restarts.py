"""Restarts of processes: how the launcher waits before them, and how the home page learns of them."""

from datetime import timedelta

import pytest

from scheduler_site.restarts import SHOWN_FOR, RestartLog, recent_restarts
from scheduler_site.supervisor import LONGEST_RESTART_WAIT_S, STABLE_AFTER_S, Backoff
from tests.conftest import NOW

HOUR = timedelta(hours=1)


def test_restarts_are_counted_by_process(tmp_path):
    log = RestartLog(tmp_path)
    log.add("worker", -9, NOW - HOUR)
    log.add("web", 1, NOW)
    log.add("worker", 3, NOW + HOUR)

    restarts = recent_restarts(tmp_path, NOW + HOUR)

    assert [(each.name, each.count, each.cause, each.at) for each in restarts] == [
        ("worker", 2, "exit code 3", NOW + HOUR),
        ("web", 1, "exit code 1", NOW),
    ]


def test_old_restarts_and_those_of_an_earlier_launcher_are_not_shown(tmp_path):
    RestartLog(tmp_path).add("worker", -9, NOW)

    assert recent_restarts(tmp_path, NOW + SHOWN_FOR)
    assert not recent_restarts(tmp_path, NOW + SHOWN_FOR + HOUR)
    RestartLog(tmp_path)
    assert not recent_restarts(tmp_path, NOW)


@pytest.mark.parametrize("content", [None, "", "[", '[{"name'])
def test_missing_or_damaged_file_counts_as_no_restart(tmp_path, content):
    if content is not None:
        (tmp_path / "restarts.json").write_text(content)

    assert not recent_restarts(tmp_path, NOW)


def test_wait_before_a_restart_grows_until_the_process_ran_for_a_while():
    backoff = Backoff(started_s=0)

    assert [backoff.plan(0) for _ in range(7)] == [1, 2, 4, 8, 16, LONGEST_RESTART_WAIT_S, LONGEST_RESTART_WAIT_S]
    backoff.started_s = 100
    assert backoff.plan(100 + STABLE_AFTER_S) == 1
