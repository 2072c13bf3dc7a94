"""Which fire times of a due trigger run, and which are recorded as missed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.schedules import Every, Once
from tests.conftest import utc
from triggers.misfire import FIRE_ALL_LIMIT, SINGLE_LIMIT, STEPS, MissedRange, plan_fires
from triggers.models import Trigger

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
START = utc("2026-01-05T08:00:00Z")
HOURLY = Every(HOUR, START)
EVERY_MINUTE = Every(MINUTE, START)
FIRE_ONCE, FIRE_ALL, SKIP = Trigger.Misfire.FIRE_ONCE, Trigger.Misfire.FIRE_ALL, Trigger.Misfire.SKIP


@dataclass(frozen=True)
class Until:
    """Fire hourly from START to `end`."""

    end: datetime

    def after(self, instant: datetime) -> datetime | None:
        fire = HOURLY.after(instant)
        return fire if fire <= self.end else None


def at(hours: float) -> datetime:
    return START + hours * HOUR


def plan(schedule, now, policy=FIRE_ONCE, fires_left=None, due_at=START, threshold=MINUTE):
    return plan_fires(schedule, due_at, now, policy, threshold, fires_left)


def missed_times(plan):
    return [missed.first for missed in plan.missed]


@pytest.mark.parametrize("policy", Trigger.Misfire)
@pytest.mark.parametrize("late", [timedelta(0), MINUTE])
def test_fire_time_within_the_threshold_runs_with_every_policy(policy, late):
    result = plan(HOURLY, START + late, policy)

    assert (result.fires, result.missed, result.next_fire_at) == ((START,), (), at(1))


@pytest.mark.parametrize(
    "policy, fires, missed",
    [
        (FIRE_ONCE, [at(2)], [at(0), at(1)]),
        (FIRE_ALL, [at(0), at(1), at(2)], []),
        (SKIP, [], [at(0), at(1), at(2)]),
    ],
)
def test_late_fire_times_follow_the_policy(policy, fires, missed):
    result = plan(HOURLY, at(2.5), policy)

    assert list(result.fires) == fires
    assert missed_times(result) == missed
    assert result.next_fire_at == at(3)


@pytest.mark.parametrize(
    "policy, fires, missed",
    [
        # the newest is in time, so no late fire time is caught up
        (FIRE_ONCE, [at(2)], [at(0), at(1)]),
        (SKIP, [at(2)], [at(0), at(1)]),
        (FIRE_ALL, [at(0), at(1), at(2)], []),
    ],
)
def test_fire_times_within_the_threshold_run_after_an_outage(policy, fires, missed):
    result = plan(HOURLY, at(2) + timedelta(seconds=30), policy)

    assert (list(result.fires), missed_times(result)) == (fires, missed)


def test_several_fire_times_within_the_threshold_all_run():
    result = plan(EVERY_MINUTE, START + 2 * MINUTE, threshold=5 * MINUTE)

    assert result.fires == (START, START + MINUTE, START + 2 * MINUTE)
    assert result.missed == ()


def test_plan_after_the_last_fire_time_has_no_next_fire_time():
    assert plan(Once(START), START).next_fire_at is None


def test_a_late_single_fire_time_is_caught_up_once():
    result = plan(Once(START), at(1000))

    assert (result.fires, result.missed, result.next_fire_at) == ((START,), (), None)


def test_skip_policy_can_end_a_trigger_without_a_run():
    result = plan(Until(at(1)), at(9), SKIP)

    assert (result.fires, result.next_fire_at, result.last_fire_at) == ((), None, at(1))


def test_fire_all_records_the_oldest_fire_times_beyond_its_limit_as_missed():
    result = plan(HOURLY, at(FIRE_ALL_LIMIT + 2), FIRE_ALL)  # three more than the limit are due

    assert missed_times(result) == [at(0), at(1), at(2)]
    assert (len(result.fires), result.fires[0], result.fires[-1]) == (FIRE_ALL_LIMIT, at(3), at(FIRE_ALL_LIMIT + 2))


@pytest.mark.parametrize("policy, fires", [(FIRE_ONCE, [at(9)]), (FIRE_ALL, [at(0), at(1), at(2)])])
def test_used_up_count_ends_the_trigger(policy, fires):
    result = plan(HOURLY, at(9), policy, fires_left=len(fires))

    assert (list(result.fires), result.next_fire_at) == (fires, None)


def test_missed_fire_times_do_not_use_up_the_count():
    result = plan(HOURLY, at(9), FIRE_ONCE, fires_left=2)

    assert (result.fires, result.next_fire_at) == ((at(9),), at(10))


def test_each_of_a_thousand_missed_fire_times_has_its_own_record():
    result = plan(HOURLY, at(SINGLE_LIMIT + 0.5), FIRE_ONCE)

    assert len(result.missed) == SINGLE_LIMIT
    assert {missed.count for missed in result.missed} == {1}


def test_more_than_a_thousand_missed_fire_times_become_one_record_with_a_count():
    result = plan(HOURLY, at(SINGLE_LIMIT + 1.5), FIRE_ONCE)

    assert result.missed == (MissedRange(at(0), at(SINGLE_LIMIT), SINGLE_LIMIT + 1),)
    assert result.fires == (at(SINGLE_LIMIT + 1),)


@pytest.mark.parametrize("policy, last_fires", [(FIRE_ONCE, 1), (FIRE_ALL, FIRE_ALL_LIMIT), (SKIP, 0)])
def test_a_year_is_caught_up_in_bounded_passes_without_a_gap(policy, last_fires):
    due_at, now = START, START + timedelta(days=365)
    fires, missed, passes = [], 0, 0
    while due_at <= now:
        result = plan(EVERY_MINUTE, now, policy, due_at=due_at, threshold=timedelta(0) if policy == SKIP else MINUTE)
        assert len(result.fires) + sum(row.count for row in result.missed) <= STEPS
        fires += result.fires
        missed += sum(row.count for row in result.missed)
        due_at, passes = result.next_fire_at, passes + 1

    minutes = 365 * 24 * 60 + 1
    in_time = {FIRE_ONCE: 2, FIRE_ALL: FIRE_ALL_LIMIT, SKIP: 1}[policy]  # the last fire times, which are due at `now`
    assert len(fires) + missed == minutes
    assert len(fires) == in_time
    assert fires[-1] == now
    assert passes < 60


@given(
    interval=st.timedeltas(min_value=MINUTE, max_value=30 * HOUR),
    late=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=40)),
    threshold=st.timedeltas(min_value=timedelta(0), max_value=HOUR),
    policy=st.sampled_from(Trigger.Misfire),
    fires_left=st.none() | st.integers(1, 200),
)
def test_every_due_fire_time_is_planned_once(interval, late, threshold, policy, fires_left):
    schedule, now = Every(interval, START), START + late
    result = plan(schedule, now, policy, fires_left, threshold=threshold)

    planned = list(result.fires)
    for row in result.missed:
        times = [row.first + number * interval for number in range(row.count)]
        assert times[-1] == row.last
        planned += times
    due = [START + number * interval for number in range(late // interval + 1)]
    spent = fires_left is not None and len(result.fires) == fires_left
    planned_in_order = sorted(planned)
    assert planned_in_order == due[: len(planned_in_order)]
    assert fires_left is None or len(result.fires) <= fires_left
    if spent:
        assert result.next_fire_at is None
    else:
        assert result.next_fire_at == schedule.after(planned_in_order[-1])
        assert result.next_fire_at > now or len(planned_in_order) >= STEPS - FIRE_ALL_LIMIT


@given(
    late=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=40)),
    threshold=st.timedeltas(min_value=timedelta(0), max_value=HOUR),
    policy=st.sampled_from(Trigger.Misfire),
)
def test_no_fire_time_is_missed_within_the_threshold_or_runs_early(late, threshold, policy):
    now = START + late
    result = plan(EVERY_MINUTE, now, policy, threshold=threshold)

    assert all(missed.last < now - threshold for missed in result.missed)
    assert all(fire <= now for fire in result.fires)


@given(late=st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400)))
def test_fire_once_never_runs_two_fire_times_of_an_hourly_trigger_at_once(late):
    assert len(plan(HOURLY, START + late, FIRE_ONCE).fires) <= 1
