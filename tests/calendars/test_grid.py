"""Layout: rows of bars, lanes of blocks, and the hours of days with a clock change."""

import itertools
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calendars.pages.axis import axis_of
from calendars.pages.lane_layout import Bar, Block, assign_lanes, rows_of
from calendars.pages.window import run_of_days

HOUR = 60
BERLIN = ZoneInfo("Europe/Berlin")
bars = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted).map(lambda span: Bar(*span, None)))
blocks = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 90), st.integers(0, 2)).map(
        lambda each: Block(each[0], each[0] + each[1], each[2], each)
    ),
    max_size=25,
)


@given(bars)
def test_bars_in_a_row_do_not_overlap_and_none_is_lost(given_bars):
    rows = rows_of(given_bars)

    assert sorted(map(span_of, given_bars)) == sorted(span_of(bar) for row in rows for bar in row)
    for row in rows:
        assert all(one.last < other.first for one, other in itertools.pairwise(row))


@given(bars)
def test_number_of_rows_is_the_maximum_of_bars_on_one_day(given_bars):
    busiest = max((sum(bar.first <= day <= bar.last for bar in given_bars) for day in range(7)), default=0)

    assert len(rows_of(given_bars)) == busiest


def span_of(bar: Bar) -> tuple[int, int]:
    return bar.first, bar.last


@given(blocks, st.integers(1, 4))
def test_blocks_in_a_lane_do_not_overlap_and_each_is_shown_or_counted(given_blocks, max_lanes):
    placed = list(assign_lanes(given_blocks, max_lanes))

    assert sorted(thing for each in placed for thing in each.items) == sorted(block.item for block in given_blocks)
    for number, one in enumerate(placed):
        assert 0 <= one.lane < one.lanes <= max_lanes + 1
        for other in placed[:number]:
            if one.start < other.end and other.start < one.end:
                assert one.lane != other.lane
                assert one.lanes == other.lanes


def test_blocks_without_a_lane_are_counted_in_an_extra_lane():
    five = [Block(0, HOUR, 0, name) for name in "abcde"]

    placed = list(assign_lanes(five, 3))

    assert [(each.lane, each.lanes, each.items, each.is_sum) for each in placed] == [
        (0, 4, ("a",), False),
        (1, 4, ("b",), False),
        (2, 4, ("c",), False),
        (3, 4, ("d", "e"), True),
    ]


def test_failed_run_gets_a_lane_before_others():
    succeeded = [Block(0, HOUR, 3, name) for name in "abc"]

    placed = list(assign_lanes([*succeeded, Block(30, 90, 1, "failed")], 2))

    assert {each.items for each in placed if not each.is_sum} == {("failed",), ("a",)}


def test_blocks_that_do_not_overlap_have_the_full_width():
    placed = list(assign_lanes([Block(0, 60, 0, "a"), Block(60, 120, 0, "b")], 3))

    assert [(each.lane, each.lanes) for each in placed] == [(0, 1), (0, 1)]


# Hours


def test_axis_of_a_normal_day_has_24_hours():
    axis = axis_of([date(2026, 10, 21)], BERLIN)

    assert (axis.length, axis.columns[0].missing_ranges, axis.columns[0].changes) == (24 * HOUR, (), ())
    assert [(minute, wall) for minute, wall, _ in axis.hours()] == [(hour * HOUR, hour * HOUR) for hour in range(24)]


@pytest.mark.parametrize(
    "zone, day, hours, length, missing",
    [
        ("Europe/Berlin", date(2027, 3, 28), 23, 24, [(2, 3)]),
        ("Europe/Berlin", date(2026, 10, 25), 25, 25, []),
        ("Australia/Lord_Howe", date(2026, 10, 4), 23.5, 24, [(2, 2.5)]),
        ("Australia/Lord_Howe", date(2026, 4, 5), 24.5, 24.5, []),
        ("America/Sao_Paulo", date(2018, 11, 4), 23, 24, [(0, 1)]),  # this day has no midnight
        ("America/Sao_Paulo", date(2018, 2, 17), 25, 25, []),  # 23:00 is repeated before midnight
        (
            "America/St_Johns",
            date(2010, 11, 7),
            25,
            25,
            [],
        ),  # one minute after midnight, clocks go back to the day before
        ("Pacific/Apia", date(2011, 12, 30), 0, 24, [(0, 24)]),  # the day that Samoa skipped
        ("Asia/Kathmandu", date(1986, 1, 1), 23.75, 24, [(0, 0.25)]),
    ],
)
def test_day_with_a_clock_change_has_its_real_length(zone, day, hours, length, missing):
    axis = axis_of([day], ZoneInfo(zone))
    column = axis.columns[0]

    assert column.length == timedelta(hours=hours)
    assert axis.length == length * HOUR
    assert [(start / HOUR, end / HOUR) for start, end in column.missing_ranges] == missing
    drawn = sum(piece.end_minute - piece.minute for piece in column.pieces)
    assert drawn == hours * HOUR


def test_repeated_hour_is_missing_on_the_other_days_of_the_week():
    axis = axis_of(run_of_days(date(2026, 10, 19), 7), BERLIN)

    assert axis.length == 25 * HOUR
    assert [column.missing_ranges for column in axis.columns] == [((180, 240),)] * 6 + [()]
    assert [(minute, wall) for minute, wall, again in sorted(axis.hours()) if again] == [(180, 120)]


def test_both_occurrences_of_a_repeated_hour_have_their_own_position():
    column = axis_of([date(2026, 10, 25)], BERLIN).columns[0]

    first, second, three = (datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1, 2))

    assert [column.start_minute(each) for each in (first, second, three)] == [150, 210, 270]


def test_block_that_ends_at_a_repeated_hour_ends_before_the_repetition():
    monday, sunday = (axis_of([date(2026, 10, 24), date(2026, 10, 25)], BERLIN).columns[n] for n in (0, 1))

    assert monday.end_minute(datetime(2026, 10, 24, 1, tzinfo=UTC)) == 180  # 03:00
    assert monday.start_minute(datetime(2026, 10, 24, 1, tzinfo=UTC)) == 240
    assert sunday.end_minute(datetime(2026, 10, 25, 1, tzinfo=UTC)) == 180
    assert sunday.start_minute(datetime(2026, 10, 25, 1, tzinfo=UTC)) == 180


def test_repeated_half_hour_is_labelled_with_its_wall_time():
    axis = axis_of([date(2026, 4, 5)], ZoneInfo("Australia/Lord_Howe"))

    labels = sorted(axis.hours())

    assert not axis.is_even
    assert (120, 90, True) in labels  # 01:30 is repeated
    assert (150, 120, False) in labels  # 02:00 follows


def test_full_hours_of_another_zone_are_at_their_own_positions():
    axis = axis_of([date(2026, 10, 21)], BERLIN)

    hours = [
        (minute, wall_time.hour) for minute, wall_time in axis.hours_in_zone(ZoneInfo("Asia/Kolkata"), axis.columns[0])
    ]

    assert hours[:2] == [(30, 4), (90, 5)]
    assert len(hours) == 24


@given(
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"]),
    st.dates(date(1970, 1, 1), date(2037, 12, 31)),
    st.integers(0, 7 * 24 * 60 - 1),
)
def test_each_instant_has_a_unique_position_in_its_day(zone, day, minute):
    axis = axis_of(run_of_days(day, 7), ZoneInfo(zone))
    instant = axis.columns[0].start + timedelta(minutes=minute)
    column = next((each for each in axis.columns if each.start <= instant < each.end), None)
    if column is None:
        return

    position, next_position = column.start_minute(instant), column.end_minute(instant + timedelta(minutes=1))

    assert 0 <= position < next_position <= axis.length
    assert next_position - position == 1
    assert not any(start <= position < end for start, end in column.missing_ranges)
