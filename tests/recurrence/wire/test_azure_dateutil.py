"""The Azure format compared with python-dateutil, for recurrences that an RRULE can express."""

from datetime import timedelta
from itertools import takewhile

import pytest
from dateutil.rrule import rrulestr

from recurrence.schedules import between
from recurrence.wire import parse
from tests.recurrence.samples import utc

START = utc("2019-11-29T08:20:07Z")  # a Friday
CREATED_AT = utc("2019-11-01T00:00Z")

NTH = [{"day": "Monday", "occurrence": 1}, {"day": "Friday", "occurrence": -1}]
FIFTH = [{"day": "Friday", "occurrence": 5}]


@pytest.mark.parametrize(
    "recurrence, rrule",
    [
        ({"frequency": "minute", "interval": 7}, "FREQ=MINUTELY;INTERVAL=7"),
        ({"frequency": "hour", "interval": 5}, "FREQ=HOURLY;INTERVAL=5"),
        ({"frequency": "day", "interval": 3}, "FREQ=DAILY;INTERVAL=3"),
        ({"frequency": "week", "interval": 2}, "FREQ=WEEKLY;INTERVAL=2"),
        ({"frequency": "month"}, "FREQ=MONTHLY"),
        ({"frequency": "month", "interval": 5}, "FREQ=MONTHLY;INTERVAL=5"),
        (
            {"frequency": "day", "interval": 2, "schedule": {"hours": [5, 17], "minutes": [15, 45]}},
            "FREQ=DAILY;INTERVAL=2;BYHOUR=5,17;BYMINUTE=15,45",
        ),
        ({"frequency": "day", "schedule": {"hours": [5, 17]}}, "FREQ=DAILY;BYHOUR=5,17"),
        (
            {"frequency": "week", "interval": 3, "schedule": {"weekDays": ["Sunday", "Monday"], "hours": 5}},
            "FREQ=WEEKLY;INTERVAL=3;BYDAY=SU,MO;BYHOUR=5;WKST=MO",
        ),
        ({"frequency": "month", "schedule": {"monthDays": [31]}}, "FREQ=MONTHLY;BYMONTHDAY=31"),
        (
            {"frequency": "month", "interval": 2, "schedule": {"monthDays": [1, -1, -3]}},
            "FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=1,-1,-3",
        ),
        ({"frequency": "month", "schedule": {"monthlyOccurrences": NTH}}, "FREQ=MONTHLY;BYDAY=+1MO,-1FR"),
        ({"frequency": "month", "schedule": {"monthlyOccurrences": FIFTH}}, "FREQ=MONTHLY;BYDAY=+5FR"),
        (
            {"frequency": "month", "interval": 4, "schedule": {"monthlyOccurrences": [{"day": "Friday"}]}},
            "FREQ=MONTHLY;INTERVAL=4;BYDAY=FR",
        ),
        (
            {"frequency": "hour", "interval": 5, "schedule": {"hours": [9, 10, 11], "minutes": [15, 45]}},
            "FREQ=HOURLY;INTERVAL=5;BYHOUR=9,10,11;BYMINUTE=15,45",
        ),
        (
            {"frequency": "minute", "interval": 7, "schedule": {"hours": [9, 10], "minutes": [0, 1, 2, 3]}},
            "FREQ=MINUTELY;INTERVAL=7;BYHOUR=9,10;BYMINUTE=0,1,2,3",
        ),
        (
            {"frequency": "day", "endTime": "2019-12-20T08:20:07Z"},
            "FREQ=DAILY;UNTIL=20191220T082007Z",
        ),
    ],
)
def test_azure_recurrence_fires_at_the_times_of_the_equal_rrule(recurrence, rrule):
    years = {"minute": 0.1, "hour": 1, "day": 3, "week": 6, "month": 12}[recurrence["frequency"]]
    end = START + timedelta(days=365 * years)
    document = {"startTime": "2019-11-29T08:20:07Z", "recurrence": recurrence}

    fires = list(between(parse("azure", document, CREATED_AT).schedule, CREATED_AT, end))
    dateutil_fires = list(takewhile(lambda fire: fire < end, rrulestr(rrule, dtstart=START)))

    assert fires == dateutil_fires
