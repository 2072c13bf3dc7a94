"""Closed-day calendars against plain searches and against the package `holidays` itself."""

from datetime import date, timedelta
from functools import cache
from random import Random

import holidays
import pytest

from recurrence.closed_days import WEEKDAYS, ClosedDay, ClosedDays, holidays_of

ONE_DAY = timedelta(days=1)
BERLIN = {"weekend": ["saturday", "sunday"], "holidays": [{"country": "DE", "subdivision": "BE"}]}


def closed(**document):
    return ClosedDays.of(document)


def random_document(random):
    first = date(random.choice((1999, 2024, 2026)), 1, 1) + random.randrange(700) * ONE_DAY
    return {
        "weekend": random.sample(WEEKDAYS, random.choice((0, 0, 1, 2, 6))),
        "holidays": random.choice(([], [{"country": "DE", "subdivision": "BE"}], [{"country": "US"}])),
        "dates": [
            {"date": str(first + random.randrange(300) * ONE_DAY)},
            {"from": str(first), "to": str(first + random.choice((0, 3, 127, 128, 400)) * ONE_DAY)},
            {"month": random.randint(1, 12), "day": random.randint(1, 28)},
            {"month": 2, "day": 29},
        ][: random.randrange(5)],
    }


def is_closed_by(document, event_days, day):
    """Decide it again, from the document alone."""
    if WEEKDAYS[day.weekday()] in document["weekend"] or day in event_days:
        return True
    for each in document["dates"]:
        if "date" in each and str(day) == each["date"]:
            return True
        if "from" in each and each["from"] <= str(day) <= each["to"]:
            return True
        if "month" in each and (day.month, day.day) == (each["month"], each["day"]):
            return True
    return any(day in holidays_by_package(each["country"], each.get("subdivision")) for each in document["holidays"])


@cache
def holidays_by_package(country, subdivision):
    return holidays.country_holidays(country, subdiv=subdivision, language="en_US")


@pytest.mark.parametrize("seed", range(30))
def test_open_and_closed_days_agree_with_a_plain_search(seed):
    random = Random(seed)
    document = random_document(random)
    first = date(random.choice((1999, 2024, 2026)), 1, 1)
    event_days = {first + random.randrange(365) * ONE_DAY: "An event" for _ in range(random.randrange(20))}
    calendar = ClosedDays.of(document, event_days)
    days = [first + number * ONE_DAY for number in range(-500, 900)]
    closed = {day for day in days if is_closed_by(document, event_days, day)}

    for day in days[450:600]:
        assert calendar.is_closed(day) == (day in closed)
        following = next((each for each in days if each >= day and each not in closed), None)
        previous = next((each for each in reversed(days) if each <= day and each not in closed), None)
        assert calendar.next_open(day) == following
        assert calendar.previous_open(day) == previous
        assert calendar.nearest_open(day) == min(
            (following, previous), key=lambda each: (abs(each - day), -each.toordinal())
        )


@pytest.mark.parametrize(
    "country, subdivision",
    [("DE", "BE"), ("DE", None), ("US", "CA"), ("GB", "SCT"), ("JP", None), ("IN", None), ("AZ", None)],
)
@pytest.mark.parametrize("year", [2020, 2026, 2027, 2034])
def test_holidays_are_those_of_the_package(country, subdivision, year):
    calendar = closed(holidays=[{"country": country, "subdivision": subdivision}])
    expected = holidays.country_holidays(country, subdiv=subdivision, years=range(year - 1, year + 2), language="en_US")

    found = calendar.closed_between(date(year, 1, 1), date(year, 12, 31))

    assert found == [ClosedDay(day, name, "holidays") for day, name in sorted(expected.items()) if day.year == year]
    assert found


def test_a_holiday_on_a_weekend_has_its_name():
    calendar = closed(**BERLIN)

    assert calendar.closed_between(date(2026, 10, 2), date(2026, 10, 4)) == [
        ClosedDay(date(2026, 10, 3), "German Unity Day", "holidays"),
        ClosedDay(date(2026, 10, 4), None, "weekend"),
    ]
    assert calendar.name_of(date(2026, 10, 3)) == "German Unity Day"
    assert calendar.name_of(date(2026, 10, 4)) is None


def test_a_substitute_day_is_closed():
    calendar = closed(holidays=[{"country": "US"}])

    assert calendar.name_of(date(2027, 7, 5)) == "Independence Day (observed)"


def test_the_first_source_and_the_first_name_count():
    calendar = ClosedDays.of(
        BERLIN | {"dates": [{"date": "2026-12-25"}, {"date": "2026-12-24", "name": "Closed early"}]},
        {date(2026, 12, 24): "Party", date(2026, 12, 23): "Strike"},
    )

    assert calendar.closed_between(date(2026, 12, 23), date(2026, 12, 25)) == [
        ClosedDay(date(2026, 12, 23), "Strike", "calendars"),
        ClosedDay(date(2026, 12, 24), "Closed early", "dates"),
        ClosedDay(date(2026, 12, 25), "Christmas Day", "dates"),
    ]


def test_a_year_that_the_package_does_not_know_has_no_holidays():
    assert holidays_of("DE", None, 2100)
    assert not holidays_of("DE", None, 2101)
    assert not holidays_of("DE", None, 1900)


def test_holidays_of_later_years_are_not_computed():
    calendar = closed(holidays=[{"country": "DE", "subdivision": "SL"}])
    before = holidays_of.cache_info().misses

    assert calendar.next_open(date(2250, 1, 1)) == date(2250, 1, 1)
    assert calendar.name_of(date(2250, 1, 1)) is None
    assert holidays_of.cache_info().misses == before


def test_the_first_and_the_last_year_can_be_asked():
    calendar = closed(weekend=["saturday", "sunday"], holidays=[{"country": "DE"}], dates=[{"month": 2, "day": 29}])

    assert calendar.next_open(date.max) == date.max  # a Friday
    assert calendar.previous_open(date.min) == date.min  # a Monday
    assert closed(weekend=["friday"]).next_open(date.max) is None
    assert closed(weekend=["monday"]).previous_open(date.min) is None
    assert closed(weekend=["monday"]).nearest_open(date.min) == date(1, 1, 2)


def test_equal_documents_are_equal_whatever_was_asked():
    first, second = closed(**BERLIN), closed(**BERLIN)
    first.is_closed(date(2026, 1, 1))

    assert first == second
    assert hash(first) == hash(second)
    assert first != ClosedDays.of(BERLIN, {date(2026, 1, 2): "An event"})
