"""Days that a year chooses."""

from calendar import isleap, monthrange
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.year_days import DayChoice, YearDays

START = date(2019, 3, 10)


def signed(highest):
    return st.frozensets(st.integers(1, highest) | st.integers(-highest, -1), max_size=3)


choices = st.builds(
    DayChoice,
    st.frozensets(st.integers(1, 12), max_size=4),
    signed(31),
    st.frozensets(st.integers(0, 6), max_size=3),
    signed(366),
    st.frozensets(st.integers(1, 53), max_size=3),
)


def is_chosen(choice, day):
    month_length = monthrange(day.year, day.month)[1]
    of_year, year_length = day.timetuple().tm_yday, 365 + isleap(day.year)
    return (
        (not choice.months or day.month in choice.months)
        and (not choice.month_days or {day.day, day.day - month_length - 1} & choice.month_days)
        and (not choice.weekdays or day.weekday() in choice.weekdays)
        and (not choice.year_days or {of_year, of_year - year_length - 1} & choice.year_days)
        and (not choice.weeks or day.isocalendar().week in choice.weeks)
    )


@given(choices)
def test_days_fit_all_sets(choice):
    rule = YearDays(START, choice)
    days = [START + timedelta(days=number) for number in range(3 * 366)]

    expected = [day for day in days if is_chosen(choice, day)]

    assert [day for day in days if rule.on_or_after(day) == day] == expected


@given(choices, st.integers(1, 300_000))
def test_days_are_numbered(choice, number):
    rule = YearDays(START, choice)

    day = rule.nth(number)

    if day is not None:
        assert rule.on_or_after(day) == day
        assert rule.count_before(day) == number - 1
        assert rule.count_before(day + timedelta(days=1)) == number


@pytest.mark.parametrize(
    "choice, first, nth",
    [
        (DayChoice(), START, date(2019, 3, 11)),
        (DayChoice(months=frozenset({2}), month_days=frozenset({30})), None, None),
        (DayChoice(months=frozenset({2}), month_days=frozenset({29})), date(2020, 2, 29), date(2024, 2, 29)),
        (DayChoice(weeks=frozenset({53}), weekdays=frozenset({4})), date(2021, 1, 1), date(2027, 1, 1)),
    ],
)
def test_first_days(choice, first, nth):
    rule = YearDays(START, choice)

    assert (rule.on_or_after(date(2000, 1, 1)), rule.nth(2)) == (first, nth)
    assert rule.count_before(START) == 0


def test_end_of_the_calendar():
    rule = YearDays(START, DayChoice(month_days=frozenset({-1})))

    assert rule.on_or_after(date.max) == date.max
    assert rule.nth(rule.count_before(date.max) + 1) == date.max
    assert rule.nth(rule.count_before(date.max) + 2) is None
