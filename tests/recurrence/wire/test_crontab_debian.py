"""Crontab lines against the rules of Debian's cron, written from its manual alone: crontab(5) of cron 3.0pl1.

This reading shares no code with the parser: it expands each field to a set, and asks each day of the calendar.
Times of day are in UTC.  What the manual says about clock changes is not followed, see docs/time.md.
"""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from recurrence.schedules import between
from recurrence.wire import WireError, crontab
from tests.recurrence.samples import utc

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
FIELDS = [(0, 59, []), (0, 23, []), (1, 31, []), (1, 12, MONTHS), (0, 7, WEEKDAYS)]
NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


# The manual


def number_of(text, low, names):
    """Names can be used for month and day of week: the first three letters, case does not matter."""
    return names.index(text.lower()) + low if text.lower() in names else int(text)


def set_of(field, low, high, names):
    """A list is a set of numbers or ranges with commas.  Ranges are inclusive.  /n skips the number's value."""
    found = set()
    for item in field.split(","):
        numbers, _, step = item.partition("/")
        first, _, last = (str(low), "-", str(high)) if numbers == "*" else numbers.partition("-")
        start = number_of(first, low, names)
        end = number_of(last, low, names) if last else start
        found.update(range(start, end + 1, int(step or 1)))
    return found


def expected_fires(line, start, days):
    """Return the minutes in a window of whole days at which a command runs.

    It runs when minute, hour and month match, and when at least one of the two day fields matches.  If a day field
    starts with *, both day fields must match.  0 and 7 are Sunday.
    """
    fields = NICKNAMES.get(line, line).split()
    sets = [set_of(field, *bounds) for field, bounds in zip(fields, FIELDS, strict=True)]
    has_star = fields[2].startswith("*") or fields[4].startswith("*")
    found = []
    for day in (start + timedelta(number) for number in range(days)):
        in_week = not sets[4].isdisjoint({day.isoweekday(), day.isoweekday() % 7})
        in_days = [day.day in sets[2], in_week]
        if day.month in sets[3] and (all(in_days) if has_star else any(in_days)):
            found += [day.replace(hour=hour, minute=minute) for hour in sorted(sets[1]) for minute in sorted(sets[0])]
    return found


# Questions


def answers(line, start, days):
    schedule = crontab.parse({"expression": line}, start).schedule
    return [*between(schedule, start, start + timedelta(days))]


def random_field(random, low, high, names):
    def item():
        first = random.randint(low, high)
        last = random.randint(first, high)
        step = random.choice(["", "", f"/{random.randint(1, high)}"])
        as_text = [str(first), str(last)]
        if names and random.random() < 0.5 and last < low + len(names):
            case = random.choice([str.lower, str.upper, str.title])
            as_text = [case(names[first - low]), case(names[last - low])]
        return random.choice([f"*{step}", as_text[0], f"{as_text[0]}-{as_text[1]}{step}"])

    return ",".join(item() for _ in range(random.choice([1, 1, 1, 2, 3])))


def random_line(random):
    fields = [random_field(random, *bounds) for bounds in FIELDS]
    for index in range(5):
        if random.random() < (0.2, 0.5, 0.3, 0.6, 0.3)[index]:
            fields[index] = "*"
    return " ".join(fields)


@pytest.mark.parametrize("seed", range(150))
def test_random_lines_fire_as_the_manual_says(seed):
    random = Random(seed)
    start = datetime(2026, random.randint(1, 12), random.randint(1, 28), tzinfo=UTC)
    line = random_line(random)

    try:
        found = answers(line, start, 14)
    except WireError:  # no day of the calendar matches
        found = []

    assert found == expected_fires(line, start, 14), line


@pytest.mark.parametrize(
    "line, days",
    [
        ("30 4 1,15 * 5", [1, 2, 9, 15, 16, 23, 30]),  # the example of the manual: the 1st and 15th, and every Friday
        ("30 4 */2 * 5", [9, 23]),  # the field starts with *, so both must match
        ("30 4 13 * */2", [13]),  # Tuesday
        ("30 4 13 * *", [13]),
        ("30 4 * * 0", [4, 11, 18, 25]),
        ("30 4 * * 7", [4, 11, 18, 25]),
        ("30 4 * * Sun", [4, 11, 18, 25]),
        ("30 4 * * sat-7", [3, 4, 10, 11, 17, 18, 24, 25, 31]),
        ("30 4 31 jan,feb *", [31]),
        ("30 4 1-31/10 JAN-mar *", [1, 11, 21, 31]),
    ],
)
def test_days_of_january_2026(line, days):
    start = utc("2026-01-01T00:00Z")
    expected = [datetime(2026, 1, day, 4, 30, tzinfo=UTC) for day in days]

    assert answers(line, start, 31) == expected_fires(line, start, 31) == expected


@pytest.mark.parametrize("line", NICKNAMES)
def test_nicknames_stand_for_lines(line):
    start = utc("2025-12-31T00:00Z")

    assert answers(line, start, 40) == expected_fires(line, start, 40) == answers(NICKNAMES[line], start, 40)
