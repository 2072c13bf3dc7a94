"""Which removed and added fire times are one move."""

from datetime import UTC

from recurrence.comparison import Move, compare_fires
from tests.recurrence.samples import utc


def fires(*texts):
    return {utc(f"2026-01-{text}Z") for text in texts}


def test_fire_times_of_a_day_are_paired_first_then_those_with_the_same_time():
    old = fires("05T09:00", "06T09:00", "06T17:00", "12T09:00")
    new = fires("06T10:00", "07T17:00", "12T09:00")

    found = compare_fires(old, new, UTC, utc("2026-02-01T00:00Z"))

    assert found.moved == (
        Move(utc("2026-01-06T09:00Z"), utc("2026-01-06T10:00Z")),
        Move(utc("2026-01-06T17:00Z"), utc("2026-01-07T17:00Z")),
    )
    assert (found.removed, found.added, found.unchanged_count) == ((utc("2026-01-05T09:00Z"),), (), 1)


def test_fire_times_on_both_sides_of_an_unchanged_one_are_no_move():
    found = compare_fires(fires("05T09:00", "06T08:00"), fires("06T08:00", "07T09:00"), UTC, utc("2026-02-01T00:00Z"))

    assert (found.moved, len(found.removed), len(found.added)) == ((), 1, 1)
