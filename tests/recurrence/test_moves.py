"""From where closed days move a fire time."""

import pytest

from recurrence import wire
from recurrence.closed_days import ClosedDays
from recurrence.moves import moved_from
from tests.conftest import NOW, utc

SATURDAY = utc("2026-01-03T08:00Z")
ON_SATURDAYS, DAILY = "0 0 8 ? * SAT", "0 0 8 * * ?"
EXTRA = "2026-01-06T09:00:00Z"


@pytest.mark.parametrize(
    "expression, rule, fire, expected",
    [
        (ON_SATURDAYS, "after", "2026-01-05T08:00Z", [SATURDAY]),
        (ON_SATURDAYS, "before", "2026-01-02T08:00Z", [SATURDAY]),
        (ON_SATURDAYS, "nearest", "2026-01-02T08:00Z", [SATURDAY]),
        (ON_SATURDAYS, "after", "2026-01-06T08:00Z", []),
        (ON_SATURDAYS, "after", EXTRA, []),
        (ON_SATURDAYS, "skip", "2026-01-05T08:00Z", []),
        (DAILY, "after", "2026-01-05T08:00Z", []),  # it fires on Monday anyway
        (ON_SATURDAYS, None, "2026-01-03T08:00Z", []),
    ],
)
@pytest.mark.parametrize("extras", [[], [EXTRA]])
def test_fire_times_that_closed_days_move_are_found(expression, rule, fire, expected, extras):
    members = {"closedDays": {"calendar": "offices", "rule": rule}} if rule else {}
    definition = {"expression": expression, **members, "extras": extras}
    weekends = ClosedDays(weekend=frozenset({5, 6}))
    schedule = wire.parse("quartz", definition, NOW, closed_days=lambda name: weekends).schedule

    assert moved_from(schedule, utc(fire)) == expected
