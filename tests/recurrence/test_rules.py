from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.days import EveryNDays, MonthDays, NthWeekdays
from recurrence.rules import CalendarRule
from recurrence.schedules import between
from recurrence.times import Times
from recurrence.zones import Fold, Gap
from tests.recurrence.samples import date_rules, instants, number_sets, times, utc

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
APIA = ZoneInfo("Pacific/Apia")
SAO_PAULO = ZoneInfo("America/Sao_Paulo")


def daily(times, zone, gap=Gap.END, fold=Fold.FIRST):
    return CalendarRule(EveryNDays(date(2000, 1, 1)), times, zone, gap, fold)


def fires(rule, window):
    start, end = map(utc, window)
    return ", ".join(fire.strftime("%d %H:%M") for fire in between(rule, start, end))


# Berlin skips 02:00-03:00 on 29 March 2026, at 01:00Z, and repeats this hour on 25 October, from 00:00Z and 01:00Z
BERLIN_SPRING = "2026-03-28T12:00Z", "2026-03-30T12:00Z"
BERLIN_AUTUMN = "2026-10-24T12:00Z", "2026-10-25T12:00Z"
# Lord Howe skips 02:00-02:30 on 4 October 2026, at 15:30Z the day before,
# and repeats 01:30-02:00 on 5 April, from 14:30Z and 15:00Z the day before
LORD_HOWE_SPRING = "2026-10-03T12:00Z", "2026-10-04T12:00Z"
LORD_HOWE_AUTUMN = "2026-04-04T12:00Z", "2026-04-05T12:00Z"
# Sao Paulo had no midnight on 4 November 2018, and its clocks went back from midnight to 23:00 on 17 February
SAO_PAULO_SPRING = "2018-11-03T12:00Z", "2018-11-05T12:00Z"
SAO_PAULO_AUTUMN = "2018-02-18T00:30Z", "2018-02-18T12:00Z"
# Apia had no 30 December 2011: the 31st followed the 29th, at 10:00Z on the 30th
APIA_DATE_LINE = "2011-12-29T12:00Z", "2011-12-31T12:00Z"


@pytest.mark.parametrize(
    "zone, times, window, gap, expected",
    [
        (BERLIN, Times.of([2], [30]), BERLIN_SPRING, Gap.SKIP, "30 00:30"),
        (BERLIN, Times.of([2], [30]), BERLIN_SPRING, Gap.END, "29 01:00, 30 00:30"),
        (BERLIN, Times.of([2], [30]), BERLIN_SPRING, Gap.SHIFT, "29 01:30, 30 00:30"),
        # several times in one gap: one fire time at its end
        (BERLIN, Times.of([2], [20, 40]), BERLIN_SPRING, Gap.END, "29 01:00, 30 00:20, 30 00:40"),
        # the end of the gap is 03:00, which is also a time of the rule
        (BERLIN, Times.of([2, 3], [0]), BERLIN_SPRING, Gap.END, "29 01:00, 30 00:00, 30 01:00"),
        # shifted times are equal to existing times
        (BERLIN, Times.of([2, 3], [10]), BERLIN_SPRING, Gap.SHIFT, "29 01:10, 30 00:10, 30 01:10"),
        (LORD_HOWE, Times.of([2], [15]), LORD_HOWE_SPRING, Gap.SKIP, ""),
        (LORD_HOWE, Times.of([2], [15]), LORD_HOWE_SPRING, Gap.END, "03 15:30"),
        (LORD_HOWE, Times.of([2], [15]), LORD_HOWE_SPRING, Gap.SHIFT, "03 15:45"),
        # shifted to 02:45, between 02:30 and 03:15
        (LORD_HOWE, Times.of([2, 3], [15, 30]), LORD_HOWE_SPRING, Gap.SHIFT, "03 15:30, 03 15:45, 03 16:15, 03 16:30"),
        (SAO_PAULO, Times.of([0], [0]), SAO_PAULO_SPRING, Gap.SKIP, "05 02:00"),
        (SAO_PAULO, Times.of([0], [0]), SAO_PAULO_SPRING, Gap.END, "04 03:00, 05 02:00"),
        (APIA, Times.of([9], [0]), APIA_DATE_LINE, Gap.SKIP, "29 19:00, 30 19:00"),
        (APIA, Times.of([9], [0]), APIA_DATE_LINE, Gap.END, "29 19:00, 30 10:00, 30 19:00"),
        # a shift by a whole day is equal to the time of the next day
        (APIA, Times.of([9], [0]), APIA_DATE_LINE, Gap.SHIFT, "29 19:00, 30 19:00"),
    ],
)
def test_skipped_wall_time_follows_the_gap_policy(zone, times, window, gap, expected):
    assert fires(daily(times, zone, gap=gap), window) == expected


@pytest.mark.parametrize(
    "zone, times, window, fold, expected",
    [
        (BERLIN, Times.of([2], [30]), BERLIN_AUTUMN, Fold.FIRST, "25 00:30"),
        (BERLIN, Times.of([2], [30]), BERLIN_AUTUMN, Fold.SECOND, "25 01:30"),
        (BERLIN, Times.of([2], [30]), BERLIN_AUTUMN, Fold.BOTH, "25 00:30, 25 01:30"),
        # all times of the first pass, then all of the second
        (BERLIN, Times.of([2], [10, 20]), BERLIN_AUTUMN, Fold.BOTH, "25 00:10, 25 00:20, 25 01:10, 25 01:20"),
        # asked in the second pass, the first one has ended
        (BERLIN, Times.of([2], [30]), ("2026-10-25T01:05Z", "2026-10-25T12:00Z"), Fold.FIRST, ""),
        # 03:00 is not repeated
        (BERLIN, Times.of([3], [0]), BERLIN_AUTUMN, Fold.FIRST, "25 02:00"),
        (BERLIN, Times.of([3], [0]), BERLIN_AUTUMN, Fold.SECOND, "25 02:00"),
        (LORD_HOWE, Times.of([1], [45]), LORD_HOWE_AUTUMN, Fold.FIRST, "04 14:45"),
        (LORD_HOWE, Times.of([1], [45]), LORD_HOWE_AUTUMN, Fold.SECOND, "04 15:15"),
        (LORD_HOWE, Times.of([1], [15]), LORD_HOWE_AUTUMN, Fold.SECOND, "04 14:15"),
        (SAO_PAULO, Times.of([0, 23], [0]), SAO_PAULO_AUTUMN, Fold.BOTH, "18 01:00, 18 02:00, 18 03:00"),
    ],
)
def test_repeated_wall_time_follows_the_fold_policy(zone, times, window, fold, expected):
    assert fires(daily(times, zone, fold=fold), window) == expected


CHANGES = [
    (BERLIN, utc("2026-03-29T01:00Z")),
    (BERLIN, utc("2026-10-25T01:00Z")),
    (LORD_HOWE, utc("2026-04-04T15:00Z")),
    (LORD_HOWE, utc("2026-10-03T15:30Z")),
    (APIA, utc("2011-12-30T10:00Z")),
    (SAO_PAULO, utc("2018-02-18T02:00Z")),
    (SAO_PAULO, utc("2018-11-04T03:00Z")),
    (ZoneInfo("Pacific/Kiritimati"), utc("1994-12-31T10:00Z")),
    (ZoneInfo("Pacific/Kwajalein"), utc("1969-10-01T01:00Z")),  # clocks went back by nearly a whole day
]


@given(
    st.sampled_from(CHANGES),
    st.builds(Times.of, st.sets(st.integers(0, 23), min_size=1), number_sets(0, 59, most=3)),
    st.integers(1, 3),
    st.sampled_from(Gap),
    st.sampled_from(Fold),
    st.integers(-3 * 1440, 3 * 1440),
)
@settings(max_examples=120)
def test_fire_times_at_a_clock_change_equal_those_of_the_definition(change, times, interval, gap, fold, offset):
    zone, change_at = change
    rule = CalendarRule(EveryNDays(change_at.date() - timedelta(days=6), interval), times, zone, gap, fold)
    start = change_at + timedelta(minutes=offset)
    end = change_at + timedelta(days=4)

    assert list(between(rule, start, end)) == [f for f in sorted({*defined_fires(rule, change_at)}) if start <= f < end]


def defined_fires(rule, change_at):
    """Yield the instants of all wall times around `change_at`, computed with `zoneinfo` only."""
    for number in range(-6, 7):
        day = change_at.date() + timedelta(days=number)
        if (day - rule.days.start).days % rule.days.interval == 0:
            midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a reading, not an instant
            for second in rule.times:
                yield from instants_of(midnight + timedelta(seconds=second), rule, change_at)


def instants_of(wall, rule, change_at):
    earlier, later = (wall.replace(tzinfo=rule.zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if earlier == later:
        return {earlier}
    if earlier < later:
        return {Fold.FIRST: {earlier}, Fold.SECOND: {later}, Fold.BOTH: {earlier, later}}[rule.fold]
    return {Gap.SKIP: set(), Gap.END: {change_at}, Gap.SHIFT: {earlier}}[rule.gap]


def test_rule_whose_times_are_all_skipped_never_fires():
    when_new_york_springs_forward = NthWeekdays(date(2026, 3, 1), frozenset({(6, 2)}), 12)
    rule = CalendarRule(when_new_york_springs_forward, Times.of([2], [30]), ZoneInfo("America/New_York"), Gap.SKIP)

    assert rule.after(utc("2026-01-01T00:00Z")) is None


@pytest.mark.parametrize("zone", [UTC, BERLIN, ZoneInfo("America/New_York"), ZoneInfo("Pacific/Kiritimati")])
def test_calendar_rule_works_at_the_ends_of_the_calendar(zone):
    rule = CalendarRule(EveryNDays(date.min), Times.of([12], [0]), zone)

    assert rule.after(datetime.min.replace(tzinfo=UTC)).date() in (date.min, date(1, 1, 2))
    assert rule.after(utc("9999-12-31T23:59:59Z")) is None


@given(date_rules(), times(), instants(), st.integers(0, 999_999))
def test_next_fire_time_is_strictly_later_and_matches_the_rule(days, times, instant, microsecond):
    rule = CalendarRule(days, times, UTC)
    instant = instant.replace(microsecond=microsecond)

    fire = rule.after(instant)

    if fire is not None:
        assert fire > instant
        assert days.on_or_after(fire.date()) == fire.date()
        assert (fire - fire.replace(hour=0, minute=0, second=0)).seconds in set(times)
        assert rule.after(fire - timedelta(microseconds=1)) == fire


@given(date_rules(), times(), instants(years=3), st.integers(0, 400))
def test_count_of_a_calendar_rule_equals_a_walk(days, times, instant, length):
    rule = CalendarRule(days, times, UTC)
    end = instant + timedelta(days=length, microseconds=length % 2)

    assert rule.count_before(end) - rule.count_before(instant) == len(list(between(rule, instant, end)))


def test_calendar_rule_counts_across_a_clock_change():
    rule = CalendarRule(EveryNDays(date(2026, 10, 24)), Times.of([2], [30]), BERLIN, fold=Fold.BOTH)

    assert rule.count_before(utc("2026-10-26T12:00Z")) == 4


def test_calendar_rules_with_the_same_meaning_are_equal():
    one = CalendarRule(MonthDays(date(2026, 1, 1), frozenset({1, 14})), Times.of([5, 17], [0]), UTC)
    other = CalendarRule(MonthDays(date(2026, 1, 1), frozenset({14, 1})), Times.of([17, 5], [0]), UTC)

    assert one == other
    assert hash(one) == hash(other)
