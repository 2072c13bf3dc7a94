"""Expected runs of future fire times, as far as they are known."""

from datetime import timedelta
from itertools import islice
from uuid import UUID

import pytest

from jobs.models import Job, Run
from maintenance.models import Notice
from recurrence.schedules import TICK
from tests.conftest import utc
from tests.maintenance.notices import EIGHT, HOUR, MINUTE, T0, announce, dispatch, holds, resource
from triggers.gates import HoldWindow
from triggers.models import Trigger
from triggers.scheduling import set_job_state
from triggers.upcoming import expected_runs, fires_of, next_run, next_runs, waiting_runs

pytestmark = [pytest.mark.django_db, pytest.mark.database]

HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}
QUARTER = timedelta(minutes=15)


def window(start: str, end: str | None, **fields) -> HoldWindow:
    times = [utc(f"2026-01-05T{text}Z") if text else None for text in (start, end)]
    return HoldWindow("notice", "held", *times, **fields)


def summary(runs, count: int) -> list[tuple]:
    """Return for each fire time its time of day and the time of day of its run."""
    found = [next(runs) for _ in range(count)]
    return [(f"{each.fire_at:%H:%M}", each.runs_at and f"{each.runs_at:%H:%M}") for each in found]


@pytest.mark.parametrize(
    "windows, expected",
    [
        ([], [("08:00", "08:00"), ("09:00", "09:00"), ("10:00", "10:00")]),
        ([("08:30", "09:30")], [("08:00", "08:00"), ("09:00", "09:30"), ("10:00", "10:00")]),
        # the newest of the fire times that are held until the same instant runs
        ([("08:00", "09:30")], [("08:00", None), ("09:00", "09:30"), ("10:00", "10:00")]),
        ([("08:00", "08:30"), ("08:30", "09:30")], [("08:00", None), ("09:00", "09:30"), ("10:00", "10:00")]),
        # a fire time exactly at the end is not held
        ([("08:00", "09:00")], [("08:00", "09:00"), ("09:00", "09:00"), ("10:00", "10:00")]),
        ([("08:30", None)], [("08:00", "08:00"), ("09:00", None), ("10:00", None)]),
    ],
)
def test_held_fire_time_runs_at_the_end_of_its_holds(make_job, windows, expected):
    job = make_job(schedule=HOURLY)

    runs = expected_runs(job.triggers.all(), [window(*each) for each in windows])

    assert summary(runs, 3) == expected


def test_dropped_fire_time_does_not_run(make_job):
    job = make_job(schedule=HOURLY)

    runs = expected_runs(job.triggers.all(), [window("08:30", "09:30", is_dropped=True)])

    assert summary(runs, 3) == [("08:00", "08:00"), ("09:00", None), ("10:00", "10:00")]


def test_fire_times_of_several_triggers_are_merged(make_job, make_trigger):
    job = make_job(schedule=HOURLY)
    half = make_trigger(job, "half", definition={"expression": "0 30 * * * ?"}, now=T0 + HOUR)

    runs = [*zip(expected_runs(job.triggers.all(), [window("08:00", "09:00")]), range(3), strict=False)]

    assert [(f"{each.fire_at:%H:%M}", each.trigger.name, each.is_superseded) for each, _ in runs] == [
        ("08:00", "default", True),
        ("08:30", half.name, False),
        ("09:00", "default", False),
    ]


def test_fire_times_end_with_the_count_of_the_trigger(make_job):
    job = make_job(schedule={**HOURLY, "recurrence": {"frequency": "Hour", "count": 3}})
    [trigger] = job.triggers.all()

    assert [f"{fire:%H:%M}" for fire in fires_of(trigger)] == ["08:00", "09:00", "10:00"]
    assert [f"{fire:%H:%M}" for fire in fires_of(trigger, EIGHT + MINUTE)] == ["09:00", "10:00"]
    assert [*fires_of(trigger, EIGHT + 3 * HOUR)] == []
    assert len([*expected_runs([trigger], [])]) == 3


# The next run of a job


@pytest.mark.parametrize(
    "windows, fire_at, runs_at",
    [
        ([], "08:00", "08:00"),
        ([window("07:00", "08:30")], "08:00", "08:30"),
        ([window("07:00", None)], "08:00", None),
        ([window("07:00", "08:30", is_dropped=True)], "09:00", "09:00"),
        ([window("07:00", "08:30", is_dropped=True), window("08:45", "09:15")], "09:00", "09:15"),
        ([window("07:00", None, is_dropped=True)], "08:00", None),
    ],
)
def test_next_run_is_the_first_run_with_a_known_time(make_job, windows, fire_at, runs_at):
    job = make_job(schedule=HOURLY)

    expected = next_run(job.triggers.all(), windows, T0)

    assert (f"{expected.fire_at:%H:%M}", expected.runs_at and f"{expected.runs_at:%H:%M}") == (fire_at, runs_at)


def test_dropped_window_of_years_does_not_compute_all_its_fire_times(make_job):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute"}})
    [trigger] = job.triggers.all()
    days = HoldWindow("notice", "", T0, utc("2036-01-05T08:00Z"), is_dropped=True)

    assert next_run([trigger], [days], T0).runs_at == utc("2036-01-05T08:00Z")


@pytest.fixture
def db2(subscription):
    return resource(subscription)


def test_next_run_of_a_held_job_is_after_the_maintenance(db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    notice = announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    expected = next_runs([job.pk], job.triggers.all(), T0)[job.pk]

    assert (expected.fire_at, expected.runs_at) == (EIGHT, EIGHT + QUARTER)
    assert expected.hold.window.key == f"notice {notice.pk}"


def test_run_that_is_already_held_is_the_next_run(db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    dispatch(EIGHT)

    expected = next_runs([job.pk], job.triggers.all(), EIGHT + MINUTE)[job.pk]

    assert (expected.fire_at, expected.runs_at) == (EIGHT, EIGHT + QUARTER)
    assert Run.objects.get().state == Run.State.HELD


@pytest.mark.parametrize("after", ["run_once", "drop"])
def test_next_run_is_unknown_while_the_end_of_the_hold_is_unknown(db2, make_job, after):
    job = make_job(schedule=HOURLY)
    holds(job, on_end=after)
    announce(db2, has_started=True)
    dispatch(EIGHT)

    expected = next_runs([job.pk], job.triggers.all(), EIGHT + MINUTE)[job.pk]

    assert (expected.runs_at, expected.hold.until) == (None, None)


def test_held_run_of_a_disabled_job_is_not_a_next_run(db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    dispatch(EIGHT)
    set_job_state(job, Job.State.DISABLED, EIGHT + MINUTE)

    assert next_runs([job.pk], job.triggers.all(), EIGHT + 2 * MINUTE) == {}


def test_due_notice_holds_before_it_is_started(db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800, ends_after_duration=True)

    assert next_runs([job.pk], job.triggers.all(), EIGHT - MINUTE)[job.pk].runs_at == EIGHT + QUARTER
    assert next_runs([job.pk], job.triggers.all(), EIGHT + QUARTER)[job.pk].runs_at == EIGHT  # it has ended
    assert Notice.objects.get().status == Notice.Status.SCHEDULED


# Runs that wait to start


@pytest.fixture
def jittered(make_job, make_trigger):
    """A trigger whose run of 08:00 exists and starts later, before 09:00."""
    definition = {"expression": "0 0 * * * ?", "jitter": "PT50M"}
    trigger = make_trigger(make_job(schedule=None), definition=definition, now=T0)
    dispatch(EIGHT)
    trigger.refresh_from_db()
    assert trigger.start_of(EIGHT) > EIGHT
    return trigger


def test_run_that_waits_for_its_jitter_comes_before_the_fire_times(jittered):
    waiting = waiting_runs([jittered], EIGHT)[jittered.job_id]

    first, second = islice(expected_runs([jittered], [], waiting), 2)

    assert (first.fire_at, first.starts_at, first.run.id) == (EIGHT, jittered.start_of(EIGHT), Run.objects.get().pk)
    assert (second.fire_at, second.run) == (EIGHT + HOUR, None)


def test_run_that_waits_for_its_jitter_is_the_next_run_until_it_starts(jittered):
    start = jittered.start_of(EIGHT)

    assert next_runs([jittered.job_id], [jittered], start - MINUTE)[jittered.job_id].runs_at == start
    assert next_runs([jittered.job_id], [jittered], start)[jittered.job_id].fire_at == EIGHT + HOUR


def test_waiting_run_that_maintenance_holds_runs_afterwards_or_is_superseded(jittered):
    waiting = waiting_runs([jittered], EIGHT)[jittered.job_id]

    for end, is_superseded in [("08:55", False), ("09:30", True)]:
        first = next(expected_runs([jittered], [window("08:00", end)], waiting))
        assert (first.hold.until, first.is_superseded) == (utc(f"2026-01-05T{end}Z"), is_superseded)


def test_window_that_begins_before_the_start_with_jitter_holds_the_fire_time(jittered):
    fire = jittered.next_fire_at
    start = jittered.start_of(fire)

    for begins_at, runs_at in [(start, start + MINUTE), (start + TICK, start)]:
        hold = HoldWindow("notice", "held", begins_at, start + MINUTE)
        assert next(expected_runs([jittered], [hold])).runs_at == runs_at
        assert next_run([jittered], [hold], EIGHT).runs_at == runs_at


def test_hold_during_the_jitter_is_forecast_alike_before_and_after_the_dispatch(jittered):
    fire, until = jittered.next_fire_at, jittered.start_of(jittered.next_fire_at) + MINUTE
    hold = HoldWindow("notice", "held", fire + TICK, until)
    expected = next(expected_runs([jittered], [hold])).hold

    dispatch(fire)
    waiting = waiting_runs([Trigger.objects.get()], fire)[jittered.job_id]

    assert next(expected_runs([jittered], [hold], waiting[1:])).hold == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"state": Run.State.RUNNING},
        {"state": Run.State.SUCCEEDED},
        {"origin": Run.Origin.MANUAL},
        {"attempt_count": 1},
        {"blocked_by": UUID(int=1)},
    ],
)
def test_run_that_has_begun_or_waits_for_another_run_is_not_coming(jittered, changes):
    Run.objects.update(**changes)

    assert waiting_runs([jittered], EIGHT) == {}


def test_waiting_runs_of_a_stopped_job_are_not_coming(jittered):
    set_job_state(jittered.job, Job.State.DISABLED, EIGHT)

    assert waiting_runs([jittered], EIGHT) == {}


def test_waiting_runs_take_one_query_only_if_a_trigger_has_fired_lately(jittered, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert waiting_runs([jittered], EIGHT)
    with django_assert_num_queries(0):
        assert waiting_runs([jittered], EIGHT + 60 * HOUR) == {}


def test_number_of_queries_of_next_runs_does_not_depend_on_the_number_of_jobs(db2, make_job, django_assert_num_queries):
    jobs = [make_job(f"job-{number}", schedule=HOURLY) for number in range(20)]
    ids, triggers = [job.pk for job in jobs], list(Trigger.objects.all())

    with django_assert_num_queries(1):
        next_runs(ids, triggers, T0)
    for job in jobs:
        holds(job)
    announce(db2, duration_s=600)
    announce(db2, duration_s=7200)
    with django_assert_num_queries(3):
        assert {run.fire_at for run in next_runs(ids, triggers, T0).values()} == {EIGHT}
