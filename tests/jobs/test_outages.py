"""Outages are recorded by the beat that comes back, once, however many beats come back."""

from datetime import timedelta

import pytest
from django.db import connection

from jobs.models import LastPass, Outage, Process
from jobs.outages import OUTAGE_THRESHOLD, length_of, outage_of, outages_within, record_pass
from jobs.worker.pruning import prune
from tests.conftest import NOW
from tests.racing import at_once

SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)


def stretches() -> list[tuple]:
    return list(Outage.objects.order_by("started_at").values_list("started_at", "ended_at"))


def test_the_first_pass_of_an_installation_ends_no_outage(db):
    assert record_pass(NOW) is None
    assert LastPass.objects.get().at == NOW


def test_passes_within_the_threshold_are_no_outage(db):
    for number in range(4):
        record_pass(NOW + number * OUTAGE_THRESHOLD)

    assert stretches() == []


def test_the_first_pass_after_an_outage_records_it(db):
    record_pass(NOW)

    outage = record_pass(NOW + 4 * MINUTE)

    assert (outage.started_at, outage.ended_at) == (NOW, NOW + 4 * MINUTE)
    assert stretches() == [(NOW, NOW + 4 * MINUTE)]


def test_another_beat_fills_the_gap_of_one(db):
    """Two beats pass in turns; one is gone for a while, and the other is not."""
    for number in range(0, 300, 20):
        record_pass(NOW + number * SECOND)

    record_pass(NOW + 300 * SECOND)

    assert stretches() == []


def test_an_outage_is_found_when_no_row_of_a_beat_is_left(db):
    record_pass(NOW)
    Process.objects.all().delete()

    record_pass(NOW + 3 * DAY)

    assert stretches() == [(NOW, NOW + 3 * DAY)]


def test_a_pass_of_a_clock_that_is_a_little_behind_changes_nothing(db):
    record_pass(NOW)
    record_pass(NOW - SECOND)

    assert LastPass.objects.get().at == NOW


def test_a_clock_that_was_set_back_is_followed(db):
    record_pass(NOW + DAY)
    record_pass(NOW)

    record_pass(NOW + 2 * MINUTE)

    assert stretches() == [(NOW, NOW + 2 * MINUTE)]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("attempt", range(3))
def test_beats_that_come_back_at_once_record_one_outage(attempt):
    record_pass(NOW)
    back = [lambda number=number: record_pass(NOW + 4 * MINUTE + number * SECOND) for number in range(4)]

    assert at_once(*back) == []

    ((started_at, ended_at),) = stretches()
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
def test_the_outages_of_a_window_are_found(outage, start, end, is_found):
    found = outages_within(NOW + start, NOW + end, NOW + DAY)

    expected = [(outage.started_at, outage.ended_at)] if is_found else []
    assert [(each.started_at, each.ended_at) for each in found] == expected


def test_an_outage_that_goes_on_has_no_end(db):
    record_pass(NOW)
    now = NOW + 5 * MINUTE

    (outage,) = outages_within(NOW - DAY, now, now)

    assert (outage.started_at, outage.ended_at) == (NOW, None)
    assert length_of([outage], now) == 5 * MINUTE
    assert outages_within(NOW - DAY, NOW - MINUTE, now) == []
    assert outages_within(now, now + DAY, now) == []  # what is to come is no outage yet


@pytest.mark.parametrize(
    "due, begun, is_affected",
    [
        (MINUTE, None, True),  # missed, or still waiting
        (MINUTE, 5 * MINUTE, True),
        (MINUTE, MINUTE + SECOND, False),  # a worker had its message already
        (-MINUTE, 5 * MINUTE, False),
        (4 * MINUTE, 5 * MINUTE, False),
    ],
)
def test_runs_that_were_due_in_an_outage_and_did_not_begin_in_it_are_affected(outage, due, begun, is_affected):
    found = outage_of(NOW + due, None if begun is None else NOW + begun, [outage])

    assert found == (outage if is_affected else None)


def test_the_outages_of_a_window_are_found_by_an_index(db):
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

    assert stretches() == [(NOW - 29 * DAY, NOW - 29 * DAY + MINUTE)]
