"""Describe cron rules in English words: `at 10:15 UTC on the last Friday of each month, 2013 to 2015`."""

from datetime import tzinfo

from recurrence.cron import ALL_MONTHS, ALL_YEARS, FIRST_YEAR, CronRule, Days
from recurrence.cron_days import BothDays, EitherDays, EveryWeekday, NthWeekday, NumberedDays, OneDay
from recurrence.describe_times import MOST_PARTS, describe_times_in, list_parts, parts_of, runs_of
from recurrence.english_words import MONTHS, ORDINALS, WEEKDAYS, listed, ordinal

WORKING_DAYS = frozenset(range(5))


def describe_cron(rule: CronRule, zone: tzinfo) -> str:
    words = describe_times_in(rule.times, zone)
    days = _days(rule.days, rule.months)
    if not days and words.startswith("at ") and not words.endswith(")"):
        words = f"every day {words}"
    return words + days + _years(rule.years)


# Days


def _days(days: Days, months: int) -> str:
    """Describe the days; an empty text for every day."""
    of_months = "of each month" if months == ALL_MONTHS else f"of {_months(months)}"
    match days.of_shape:
        case OneDay(day, is_near):
            return f" on {_one_day(day, is_near)} {of_months}"
        case NthWeekday(weekday, number):
            return f" on the {ORDINALS[number] if number else 'last'} {WEEKDAYS[weekday]} {of_months}"
        case EveryWeekday(weekdays) if len(weekdays) < 7:
            return f" on {_weekdays(weekdays)}{_in_months(months)}"
        case NumberedDays(numbers) if numbers.bit_count() < 31:
            return f" on {_days_of_month(numbers)} {of_months}"
        case EitherDays(NumberedDays(numbers), EveryWeekday(weekdays)):
            return f" on {_days_of_month(numbers)} {of_months} and on {_weekdays(weekdays)}{_in_months(months)}"
        case BothDays(NumberedDays(numbers), EveryWeekday(weekdays)):
            return f" on {_days_of_month(numbers)} {of_months}, only on {_weekdays(weekdays)}"
        case EveryWeekday() | NumberedDays():
            return "" if months == ALL_MONTHS else f" on every day {of_months}"
    raise TypeError(f"no words for {days!r}")


def _one_day(day: int, is_near: bool) -> str:
    nearest = "the weekday (Monday to Friday) nearest to " if is_near else ""
    if day > 0:
        return f"{nearest}the {ordinal(day)}"
    if day == 0:
        return "the last weekday (Monday to Friday)" if is_near else "the last day"
    return f"{nearest}the day {-day} day{'' if day == -1 else 's'} before the last day"


def _weekdays(weekdays: frozenset[int]) -> str:
    if weekdays == WORKING_DAYS:
        return "weekdays"
    return listed(f"{WEEKDAYS[day]}s" for day in sorted(weekdays))


def _in_months(months: int) -> str:
    return "" if months == ALL_MONTHS else f" in {_months(months)}"


def _days_of_month(numbers: int) -> str:
    parts = parts_of(numbers)
    if len(parts) == 1 and parts[0][2] > 1:
        first, last, step = parts[0]
        return f"every {ordinal(step)} day from the {ordinal(first)} to the {ordinal(last)}"
    return f"the {list_parts(parts, ordinal)}"


def _months(months: int) -> str:
    return list_parts(runs_of(months), lambda month: MONTHS[month - 1])


def _years(years: int) -> str:
    if years == ALL_YEARS:
        return ""
    parts = [(FIRST_YEAR + first, FIRST_YEAR + last, step) for first, last, step in parts_of(years)]
    if len(parts) > MOST_PARTS:
        return f", in {years.bit_count()} of the years {parts[0][0]} to {parts[-1][1]}"
    first, last, step = parts[0]
    if len(parts) == 1 and step > 1:
        return f", every {step} years from {first} to {last}"
    return f", {'' if len(parts) == 1 and last > first else 'in '}{list_parts(parts, str)}"
