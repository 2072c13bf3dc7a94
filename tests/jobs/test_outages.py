"""Outages are recorded once by the first beat that runs again, also when several beats start."""

from datetime import timedelta

import pytest
from django.db import connection

from jobs.models import LastPass, Outage, Process
from jobs.outages import OUTAGE_THRESHOLD, length_of, outage_of, outages_within, record_pass
from jobs.worker.pruning import prune
from tests.conftest import NOW
from tests.racing import at_once

SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)


def recorded_outages() -> list[tuple]:
    return list(Outage.objects.order_by("started_at").values_list("started_at", "ended_at"))


def test_first_pass_of_an_installation_records_no_outage(db):
    assert record_pass(NOW) is None
    assert LastPass.objects.get().at == NOW


def test_passes_within_the_threshold_are_no_outage(db):
    for number in range(4):
        record_pass(NOW + number * OUTAGE_THRESHOLD)

    assert recorded_outages() == []


def test_the_first_pass_after_an_outage_records_it(db):
    record_pass(NOW)

    outage = record_pass(NOW + 4 * MINUTE)

    assert (outage.started_at, outage.ended_at) == (NOW, NOW + 4 * MINUTE)
    assert recorded_outages() == [(NOW, NOW + 4 * MINUTE)]


def test_no_outage_is_recorded_while_another_beat_runs(db):
    """Of two beats, one stops for a while and the other continues."""
    for number in range(0, 300, 20):
        record_pass(NOW + number * SECOND)

    record_pass(NOW + 300 * SECOND)

    assert recorded_outages() == []


def test_outage_is_recorded_even_if_the_row_of_the_beat_was_deleted(db):
    record_pass(NOW)
    Process.objects.all().delete()

    record_pass(NOW + 3 * DAY)

    assert recorded_outages() == [(NOW, NOW + 3 * DAY)]


def test_pass_with_a_slightly_earlier_time_changes_nothing(db):
    record_pass(NOW)
    record_pass(NOW - SECOND)

    assert LastPass.objects.get().at == NOW


def test_outage_is_recorded_after_the_clock_was_set_back(db):
    record_pass(NOW + DAY)
    record_pass(NOW)

    record_pass(NOW + 2 * MINUTE)

    assert recorded_outages() == [(NOW, NOW + 2 * MINUTE)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attempt", range(3))
def test_beats_that_start_at_the_same_time_record_one_outage(attempt):
    record_pass(NOW)
    back = [lambda number=number: record_pass(NOW + 4 * MINUTE + number * SECOND) for number in range(4)]

    assert at_once(*back) == []

    ((started_at, ended_at),) = recorded_outages()
    assert started_at == NOW
    assert NOW + 4 * MINUTE <= ended_at < NOW + 4 * MINUTE + 4 * SECOND


@pytest.fixture
def outage(db):
    return Outage.objects.create(started_at=NOW, ended_at=NOW + 4 * MINUTE)


@pytest.mark.parametrize(
    "start, end, is_found",
    [
        (-2 * MINUTE, timedelta(0), False),
        (-2 * MINUTE, SECOND, True),
        (MINUTE, 2 * MINUTE, True),
        (4 * MINUTE, 5 * MINUTE, False),
    ],
)
def test_outages_within_a_window_are_found(outage, start, end, is_found):
    found = outages_within(NOW + start, NOW + end, NOW + DAY)

    expected = [(outage.started_at, outage.ended_at)] if is_found else []
    assert [(each.started_at, each.ended_at) for each in found] == expected


def test_current_outage_has_no_end(db):
    record_pass(NOW)
    now = NOW + 5 * MINUTE

    (outage,) = outages_within(NOW - DAY, now, now)

    assert (outage.started_at, outage.ended_at) == (NOW, None)
    assert length_of([outage], now) == 5 * MINUTE
    assert outages_within(NOW - DAY, NOW - MINUTE, now) == []
    assert outages_within(now, now + DAY, now) == []  # the future is not part of an outage


@pytest.mark.parametrize(
    "due, begun, is_affected",
    [
        (MINUTE, None, True),  # missed, or still waiting
        (MINUTE, 5 * MINUTE, True),
        (MINUTE, MINUTE + SECOND, False),  # a worker already had its message
        (-MINUTE, 5 * MINUTE, False),
        (4 * MINUTE, 5 * MINUTE, False),
    ],
)
def test_run_due_during_an_outage_and_not_begun_in_it_is_affected(outage, due, begun, is_affected):
    found = outage_of(NOW + due, None if begun is None else NOW + begun, [outage])

    assert found == (outage if is_affected else None)


def test_outages_within_a_window_are_found_by_an_index(db):
    Outage.objects.bulk_create(
        Outage(started_at=NOW + number * MINUTE, ended_at=NOW + number * MINUTE + SECOND) for number in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_outage")
    end = NOW + 2000 * MINUTE

    plan = Outage.objects.filter(ended_at__gt=end - DAY, started_at__lt=end).order_by("ended_at").explain()

    assert "ended_at" in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan


def test_old_outages_are_pruned_with_the_history(db, settings):
    settings.RETENTION_DAYS = 30
    for days in (31, 29):
        Outage.objects.create(started_at=NOW - days * DAY, ended_at=NOW - days * DAY + MINUTE)

    assert prune(NOW) is True

    assert recorded_outages() == [(NOW - 29 * DAY, NOW - 29 * DAY + MINUTE)]
