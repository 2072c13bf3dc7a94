from calendar import monthrange
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.days import EveryNDays, MonthDay, MonthDays, NthOfWeekdays, NthWeekdays, Weekly
from tests.recurrence.samples import date_rules, numbered_rules

ONE_DAY = timedelta(days=1)
MONDAY, TUESDAY, THURSDAY, FRIDAY, SUNDAY = 0, 1, 3, 4, 6
EVERY_DAY, MON_TO_FRI = frozenset(range(7)), frozenset(range(5))


def first_days(number, rule, day=date(2026, 1, 1)):
    found = []
    while len(found) < number:
        day = rule.on_or_after(day)
        found.append(day)
        day += ONE_DAY
    return found


def days(*texts):
    return [date.fromisoformat(text) for text in texts]


@pytest.mark.parametrize(
    "rule, expected",
    [
        (EveryNDays(date(2025, 12, 31), 2), "01-02 01-04"),
        # the start is a Wednesday in the first week: the Friday of that week counts, the Monday is in the past
        (Weekly(date(2025, 12, 31), frozenset({MONDAY, FRIDAY}), 2), "01-02 01-12 01-16"),
        # from Sunday the 4th, every other week: the start of the week decides which days are in one week
        (Weekly(date(2026, 1, 4), frozenset({TUESDAY, SUNDAY}), 2, SUNDAY), "01-04 01-06 01-18 01-20"),
        (Weekly(date(2026, 1, 4), frozenset({TUESDAY, SUNDAY}), 2, MONDAY), "01-04 01-13 01-18 01-27"),
        # a week that starts on Friday includes the following Thursday
        (Weekly(date(2026, 1, 2), frozenset({THURSDAY, FRIDAY}), 3, FRIDAY), "01-02 01-08 01-23 01-29"),
        (MonthDay(date(2026, 1, 1), 31), "01-31 02-28 03-31 04-30"),
        (MonthDay(date(2026, 1, 31), 30, 2), "03-30 05-30 07-30"),
        (NthOfWeekdays(date(2026, 1, 1), frozenset({THURSDAY, FRIDAY}), 1), "01-01 02-05 03-05 04-02 05-01"),
        (NthOfWeekdays(date(2026, 1, 1), frozenset({THURSDAY, FRIDAY}), 2), "01-02 02-06 03-06 04-03 05-07"),
        (NthOfWeekdays(date(2026, 1, 1), MON_TO_FRI, 4), "01-06 02-05 03-05 04-06"),
        (NthOfWeekdays(date(2026, 1, 1), EVERY_DAY, -1), "01-31 02-28 03-31 04-30"),
        (MonthDays(date(2026, 1, 1), frozenset({31})), "01-31 03-31 05-31"),
        (MonthDays(date(2026, 1, 1), frozenset({1, -1})), "01-01 01-31 02-01 02-28"),
        # the day -31 exists only in months with 31 days, and is the first day
        (MonthDays(date(2026, 1, 1), frozenset({-31})), "01-01 03-01 05-01"),
        # every third month from November; February 2026 has no 29th
        (MonthDays(date(2025, 11, 15), frozenset({29}), 3), "05-29 08-29 11-29"),
        (NthWeekdays(date(2026, 1, 1), frozenset({(FRIDAY, 5)})), "01-30 05-29 07-31"),
        (NthWeekdays(date(2026, 1, 1), frozenset({(FRIDAY, -3)})), "01-16 02-13"),
        (NthWeekdays(date(2026, 1, 8), frozenset({(FRIDAY, None)}), 2), "01-09 01-16 01-23 01-30 03-06"),
    ],
)
def test_date_rule_has_the_expected_days(rule, expected):
    found = first_days(len(expected.split()), rule)

    assert " ".join(day.strftime("%m-%d") for day in found) == expected


@pytest.mark.parametrize(
    "rule",
    [
        EveryNDays(date(2026, 3, 14), 5),
        Weekly(date(2026, 3, 14), frozenset({5})),
        MonthDay(date(2026, 3, 14), 14),
        NthOfWeekdays(date(2026, 3, 14), frozenset({5, 6}), 4),
        MonthDays(date(2026, 3, 14), frozenset({14})),
        NthWeekdays(date(2026, 3, 14), frozenset({(5, 2)})),
    ],
)
def test_date_rule_has_no_day_before_its_start(rule):
    assert rule.on_or_after(date.min) == date(2026, 3, 14)
    assert rule.count_before(date(2026, 3, 14)) == 0


def test_february_29_skips_the_year_2100():
    leap_days = MonthDays(date(2096, 2, 29), frozenset({29}), 12)

    assert first_days(2, leap_days) == days("2096-02-29", "2104-02-29")


def test_day_that_no_month_of_the_rule_has_never_occurs():
    rule = MonthDays(date(2026, 2, 1), frozenset({30}), 12)

    assert rule.on_or_after(date(2026, 2, 1)) is None


def test_rare_weekdays_are_found_after_decades():
    fifth_friday_of_february = NthWeekdays(date(2026, 2, 1), frozenset({(FRIDAY, 5)}), 12)

    assert first_days(2, fifth_friday_of_february) == days("2036-02-29", "2064-02-29")


@pytest.mark.parametrize(
    "rule",
    [
        EveryNDays(date(2026, 1, 1), 500),
        Weekly(date(2026, 1, 1), frozenset({MONDAY})),
        MonthDay(date(2026, 1, 1), 31, 5),
        NthOfWeekdays(date(2026, 1, 1), EVERY_DAY, 1),
        MonthDays(date(2026, 1, 1), frozenset({1})),
        NthWeekdays(date(2026, 1, 1), frozenset({(MONDAY, 1)})),
    ],
)
def test_date_rule_has_no_day_after_the_last_year(rule):
    assert rule.on_or_after(date.max) is None


@given(date_rules(), st.integers(0, 4000), st.integers(0, 800))
def test_on_or_after_and_count_agree_in_a_window(rule, skipped, length):
    beginning = rule.start + timedelta(days=skipped)
    end = beginning + timedelta(days=length)

    found, day = [], rule.on_or_after(beginning)
    while day is not None and day < end:
        found.append(day)
        day = rule.on_or_after(day + ONE_DAY)

    assert rule.count_before(end) - rule.count_before(beginning) == len(found)
    assert all(rule.count_before(day + ONE_DAY) == rule.count_before(day) + 1 for day in found)


@given(numbered_rules(), st.integers(1, 300))
def test_nth_day_agrees_with_count(rule, number):
    day = rule.nth(number)

    assert rule.on_or_after(day) == day
    assert rule.count_before(day) == number - 1


@given(numbered_rules(), st.integers(-400, 4000), st.integers(0, 800))
def test_ordinals_agree_with_on_or_after(rule, skipped, length):
    first = rule.start.toordinal() + skipped
    last = first + length

    found = [*rule.ordinals(first, last)]

    expected, day = [], rule.on_or_after(date.fromordinal(first))
    while day is not None and day.toordinal() <= last:
        expected.append(day.toordinal())
        day = rule.on_or_after(day + ONE_DAY)
    assert found == expected


@pytest.mark.parametrize(
    "rule",
    [
        EveryNDays(date(2026, 1, 1), 500),
        Weekly(date(2026, 1, 1), frozenset({MONDAY})),
        MonthDay(date(2026, 1, 1), 31, 5),
        NthOfWeekdays(date(2026, 1, 1), EVERY_DAY, 1),
    ],
)
def test_last_day_of_a_rule_is_in_the_last_year(rule):
    total = rule.count_before(date.max)
    *_, last = rule.ordinals(date.max.toordinal() - 800, date.max.toordinal())

    assert rule.nth(total).toordinal() == last
    assert rule.nth(total + 1) is None
    assert rule.nth(10**12) is None


@given(date_rules(), st.integers(0, 4000))
def test_first_day_equals_a_scan_of_all_days(rule, skipped):
    beginning = rule.start + timedelta(days=skipped)
    scanned = [beginning + timedelta(days=number) for number in range(800)]

    expected = next((day for day in scanned if matches(rule, day)), None)
    found = rule.on_or_after(beginning)

    assert found == expected or (expected is None and (found is None or found > scanned[-1]))


def matches(rule, day):
    """Return True if `day` matches the definition of the rule, computed without the engine."""
    months = (day.year - rule.start.year) * 12 + day.month - rule.start.month
    length = monthrange(day.year, day.month)[1]
    match rule:
        case EveryNDays(start, interval):
            return (day - start).days % interval == 0
        case Weekly(start, weekdays, interval, week_start):
            weeks = [each - timedelta(days=(each.weekday() - week_start) % 7) for each in (start, day)]
            return day.weekday() in weekdays and (weeks[1] - weeks[0]).days % (7 * interval) == 0
        case MonthDay(_, chosen, interval):
            return months % interval == 0 and day.day == min(chosen, length)
        case NthOfWeekdays(_, weekdays, number, interval):
            fitting = [n for n in range(1, length + 1) if day.replace(day=n).weekday() in weekdays]
            return months % interval == 0 and day.day == fitting[number - 1 if number > 0 else number]
        case MonthDays(_, chosen, interval):
            return months % interval == 0 and (day.day in chosen or day.day - length - 1 in chosen)
        case NthWeekdays(_, choices, interval):
            same = [n for n in range(1, length + 1) if day.replace(day=n).weekday() == day.weekday()]
            number = same.index(day.day)
            names = {(day.weekday(), None), (day.weekday(), number + 1), (day.weekday(), number - len(same))}
            return months % interval == 0 and bool(names & choices)


@pytest.mark.parametrize(
    "build",
    [
        lambda: EveryNDays(date(2026, 1, 1), 0),
        lambda: Weekly(date(2026, 1, 1), frozenset()),
        lambda: Weekly(date(2026, 1, 1), frozenset({7})),
        lambda: Weekly(date(2026, 1, 1), frozenset({MONDAY}), 1, 7),
        lambda: MonthDay(date(2026, 1, 1), 0),
        lambda: MonthDay(date(2026, 1, 1), 32),
        lambda: NthOfWeekdays(date(2026, 1, 1), frozenset(), 1),
        lambda: NthOfWeekdays(date(2026, 1, 1), frozenset({MONDAY}), 5),
        lambda: MonthDays(date(2026, 1, 1), frozenset({0})),
        lambda: MonthDays(date(2026, 1, 1), frozenset({32})),
        lambda: NthWeekdays(date(2026, 1, 1), frozenset({(FRIDAY, 6)})),
        lambda: NthWeekdays(date(2026, 1, 1), frozenset({(FRIDAY, 1)}), -1),
    ],
)
def test_invalid_date_rule_is_refused(build):
    with pytest.raises(ValueError, match="must be"):
        build()
