"""What led to a fire time: closed days, skips and extras."""

from datetime import UTC, date, datetime

import pytest

from recurrence import wire
from recurrence.closed_days import ClosedDays
from recurrence.fire_origins import MOST_LISTED, ClosedFire, Origin, origins_of
from recurrence.preview import preview

SINCE = datetime(2026, 12, 21, 12, tzinfo=UTC)  # a Monday
CLOSED = ClosedDays.of(
    {
        "weekend": ["saturday", "sunday"],
        "dates": [{"month": 12, "day": 25, "name": "Christmas"}, {"date": "2026-12-31"}],
    }
)


def origins(limit: int = 10, **definition) -> dict[str, Origin]:
    """Return the origins of the fire times of a daily schedule in Berlin that differ from the usual, by fire time."""
    daily = {"expression": "0 9 * * *", "timeZone": "Europe/Berlin"}
    parsed = wire.parse("cron", daily | definition, SINCE, closed_days=lambda name: CLOSED)
    fires, _ = preview(parsed, created_at=SINCE, limit=limit)
    found = zip(fires, origins_of(parsed, fires, SINCE), strict=True)
    return {f"{fire:%m-%d %H:%M}": origin for fire, origin in found if origin != Origin()}


def closed(rule: str) -> dict:
    return {"closedDays": {"calendar": "office", "rule": rule}}


def at(day: int, reason: str = "", is_skip: bool = False) -> ClosedFire:
    return ClosedFire(datetime(2026, 12, day, 8, tzinfo=UTC), reason, is_skip)


def test_plain_schedule_has_no_notes():
    assert origins() == {}


def test_moved_fire_times_name_the_closed_days_from_which_they_move():
    assert origins(5, **closed("before")) == {
        "12-24 08:00": Origin(moved_from=(at(25, "Christmas"), at(26, "weekend"), at(27, "weekend"))),
    }
    assert origins(6, **closed("before"))["12-30 08:00"].moved_from == (at(31),)


def test_fire_times_that_closed_days_leave_out_are_named_at_the_next_one():
    assert origins(5, **closed("skip")) == {
        "12-28 08:00": Origin(left_out=(at(25, "Christmas"), at(26, "weekend"), at(27, "weekend")))
    }


def test_skipped_days_and_instants_are_named_at_the_next_fire_time():
    found = origins(3, skips=["2026-12-22", "2026-12-23", "2026-12-25T08:00:00Z"])

    assert found == {
        "12-24 08:00": Origin(left_out=(at(22, is_skip=True), at(23, is_skip=True))),
        "12-26 08:00": Origin(left_out=(at(25, is_skip=True),)),
    }


def test_more_days_than_fit_are_counted_as_more():
    (found,) = origins(1, skips=[str(date(2026, 12, day)) for day in range(22, 31)]).values()

    assert len(found.left_out) == MOST_LISTED
    assert found.has_more_left_out


def test_extra_fire_time_is_marked():
    assert origins(3, extras=["2026-12-22T15:00:00Z", "2026-12-23T08:00:00Z"]) == {"12-22 15:00": Origin(is_extra=True)}


def test_moved_run_of_one_day_is_a_skip_and_an_extra():
    found = origins(2, skips=["2026-12-22"], extras=["2026-12-22T15:00:00Z"])

    assert found == {"12-22 15:00": Origin(is_extra=True, left_out=(at(22, is_skip=True),))}


@pytest.mark.parametrize("rule", ["skip", "before", "after", "nearest"])
def test_schedule_that_fires_every_second_needs_few_steps_on_closed_days(rule):
    parsed = wire.parse("quartz", {"expression": "* * * * * ?", **closed(rule)}, SINCE, closed_days=lambda name: CLOSED)
    friday_night = datetime(2026, 12, 24, 23, 59, 58, tzinfo=UTC)
    monday = datetime(2026, 12, 28, tzinfo=UTC)

    (origin,) = origins_of(parsed, [parsed.schedule.after(monday)], friday_night)

    assert len(origin.left_out) <= MOST_LISTED
