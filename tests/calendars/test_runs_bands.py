"""Frequent jobs in a window of the calendar: a band for each day."""

import itertools
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from calendars.pages import future_runs
from calendars.pages.frequent_runs import RunCounts, Span, days_within, spans_as_fractions
from jobs.models import Run
from recurrence.schedules import between
from tests.calendars.job_runs import BERLIN, LATER, add_run, add_runs, by_day, instant, row, view
from tests.conftest import utc
from triggers.models import Trigger

pytestmark = pytest.mark.django_db
FIVE_MINUTES = timedelta(minutes=5)
EARLY = utc("2026-10-01T00:00Z")
TUESDAY, WEDNESDAY, THURSDAY = "2026-10-20", "2026-10-21", "2026-10-22"
ZONES = (BERLIN, "UTC", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia")


@pytest.fixture
def make_planned(make_job, make_trigger):
    def make(
        expression: str = "0 0/5 * * * ?", name: str = "poll", now: datetime = LATER, zone: str = BERLIN
    ) -> Trigger:
        definition = {"expression": expression, "timeZone": zone}
        return make_trigger(make_job(name, schedule=None, now=now), "regular", definition=definition, now=now)

    return make


def band(seen, day: str):
    return next(each for each in seen.bands if each.day == date.fromisoformat(day))


def rounded(parts) -> list[tuple[float, float]]:
    return [(round(start, 4), round(end, 4)) for start, end in parts]


def test_a_frequent_job_is_one_band_a_day(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-21T12:35Z", FIVE_MINUTES)
    Run.objects.filter(fire_at__in=[utc("2026-10-19T23:00Z"), utc("2026-10-20T10:00Z")]).update(state="failed")

    seen = view(owner)

    assert seen.runs == []
    assert {(each.name, each.interval, each.job_id) for each in seen.bands} == {("poll", "every 5 min", trigger.job_id)}
    past, today, ahead = (band(seen, day) for day in (TUESDAY, WEDNESDAY, THURSDAY))
    assert [(each.total, each.done_count, each.failed_count) for each in (past, today, ahead)] == [
        (288, 288, 2),
        (288, 175, 0),
        (288, 0, 0),
    ]
    now = (14 * 60 + 32) / 1440
    assert rounded(past.run_spans) == [(0, 1)]
    assert past.planned_spans == ()
    assert [round(each * 24, 1) for each in past.failure_positions] == [1, 12]
    assert rounded(today.run_spans) == [(0, round(now, 4))]
    assert rounded(today.planned_spans) == [(round((14 * 60 + 35) / 1440, 4), 1)]
    assert (ahead.run_spans, rounded(ahead.planned_spans)) == ((), [(0, 1)])


@pytest.mark.parametrize(
    "expression, is_band",
    [
        ("0 0/5 * * * ?", True),
        ("0 0/20 * * * ?", True),
        ("0 0/29 * * * ?", True),  # three an hour
        ("0 0/30 * * * ?", False),
        ("0 0 * * * ?", False),
        ("0 0/30 7-18 * * ?", False),
        ("0 0/15 7-18 * * ?", True),  # as often as it runs at all
        ("0 0/5 7 * * ?", False),  # twelve are few
        ("0 0/4 7 * * ?", True),
        ("0/30 * 7 * * ?", True),
    ],
)
def test_a_job_is_frequent_that_runs_more_often_than_every_30_minutes(owner, make_planned, expression, is_band):
    trigger = make_planned(expression)
    count = sum(1 for _ in between(trigger.parsed.schedule, instant(THURSDAY), instant("2026-10-23")))

    to_come = view(owner, THURSDAY, "2026-10-23")
    for fire in between(trigger.parsed.schedule, instant(TUESDAY), instant(WEDNESDAY)):
        add_run(trigger.job, fire)
    past = view(owner, TUESDAY, WEDNESDAY)

    for seen in (to_come, past):
        assert (len(seen.bands), len(seen.runs)) == ((1, 0) if is_band else (0, count))
        assert by_day(seen).total() == count


@pytest.mark.parametrize(
    "zone, day, hours",
    [
        (BERLIN, "2026-10-24", 24),
        (BERLIN, "2026-10-25", 25),
        (BERLIN, "2027-03-28", 23),
        ("Asia/Kolkata", "2026-10-25", 24),  # its midnight stands at half past an hour
        ("Australia/Lord_Howe", "2027-04-04", 24.5),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
        ("America/Sao_Paulo", "2018-11-04", 23),  # clocks skip midnight
        ("America/Sao_Paulo", "2018-02-17", 25),  # and come back to the hour before it
    ],
)
def test_a_day_of_a_clock_change_is_as_long_as_it_is(owner, make_planned, zone, day, hours):
    start = instant(day, zone)
    trigger = make_planned("0 0/5 * * * ?", now=start, zone="UTC")

    end = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    ahead = view(owner, day, end, zone, now=start - timedelta(hours=1))
    add_runs(trigger.job, start.isoformat(), (start + timedelta(hours=hours)).isoformat(), FIVE_MINUTES)
    Run.objects.filter(fire_at=start + timedelta(hours=6)).update(state="failed")
    Trigger.objects.update(next_fire_at=None)
    past = view(owner, day, end, zone, now=start + timedelta(days=3))

    assert [(each.day.isoformat(), each.total, each.done_count) for each in ahead.bands] == [(day, hours * 12, 0)]
    assert [(each.day.isoformat(), each.total, each.done_count) for each in past.bands] == [
        (day, hours * 12, hours * 12)
    ]
    assert rounded(ahead.bands[0].planned_spans) == rounded(past.bands[0].run_spans) == [(0, 1)]
    assert past.bands[0].failure_positions[0] == pytest.approx(6 / hours, abs=1 / 240)


def test_a_day_that_never_was_has_no_band(owner, make_planned):
    """Samoa went from 29 to 31 December 2011."""
    make_planned(now=utc("2011-12-28T00:00Z"), zone="UTC")

    seen = view(owner, "2011-12-29", "2012-01-01", "Pacific/Apia", now=utc("2011-12-28T00:00Z"))

    assert [(each.day.isoformat(), each.total) for each in seen.bands] == [("2011-12-29", 288), ("2011-12-31", 288)]


def test_a_band_is_open_where_nothing_ran(owner, make_planned):
    """Between 10 and 12 o'clock all were skipped, and at night there is nothing to do."""
    trigger = make_planned("0 0/10 6-17 * * ?")
    add_runs(trigger.job, "2026-10-20T04:00Z", "2026-10-20T08:00Z", timedelta(minutes=10))
    add_runs(trigger.job, "2026-10-20T08:00Z", "2026-10-20T10:00Z", timedelta(minutes=10), "skipped")
    add_runs(trigger.job, "2026-10-20T10:00Z", "2026-10-20T16:00Z", timedelta(minutes=10))

    seen = band(view(owner), TUESDAY)

    assert rounded(seen.run_spans) == [(0.25, round(10 / 24, 4)), (0.5, 0.75)]
    assert (seen.total, seen.done_count) == (72, 72)
    assert rounded(band(view(owner), THURSDAY).planned_spans) == [(0.25, 0.75)]


def test_open_runs_are_not_done(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-20T22:00Z", "2026-10-21T12:30Z", FIVE_MINUTES)
    add_run(trigger.job, "2026-10-21T12:30Z", "running")

    today = band(view(owner), WEDNESDAY)

    assert (today.total, today.done_count) == (288, 174)


def test_how_often_is_not_said_of_several_triggers(owner, make_planned, make_trigger):
    trigger = make_planned()
    make_trigger(trigger.job, "nightly", definition={"expression": "0 1 3 * * ?"}, now=LATER)

    ahead = band(view(owner), THURSDAY)

    assert (ahead.interval, ahead.total) == ("", 289)


@pytest.mark.parametrize(
    "expression, every",
    [
        ("0/30 * * * * ?", "every 30 s"),
        ("0 0/20 * * * ?", "every 20 min"),
        ("0 1,7,18,33 * * * ?", ""),  # without a beat
    ],
)
def test_how_often_is_said_shortly(owner, make_planned, expression, every):
    make_planned(expression)

    assert band(view(owner), THURSDAY).interval == every


def test_days_on_which_a_frequent_job_seldom_runs_are_drawn(owner, make_planned):
    trigger = make_planned("0 0/5 * ? * MON-FRI")
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-20T22:00Z", FIVE_MINUTES)
    add_run(trigger.job, "2026-10-18T08:00Z", trigger_name=None)
    add_run(trigger.job, "2026-10-19T08:00Z", "failed")

    seen = view(owner, "2026-10-18", "2026-10-26")

    assert [f"{run.fire_at:%m-%d} {run.label}" for run in seen.runs] == ["10-18 Succeeded", "10-19 Failed"]
    assert [each.day.day for each in seen.bands] == [20, 21, 22, 23]


def test_rows_of_frequent_jobs_are_counted_and_never_read(owner, make_planned, django_assert_num_queries):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-21T12:35Z", FIVE_MINUTES)

    with django_assert_num_queries(3):  # the jobs, their counts, their triggers
        assert view(owner).bands


def test_the_run_budget_ends_a_band(owner, make_job):
    schedule = {"startTime": "2026-10-22T00:00:00Z", "recurrence": {"frequency": "Minute", "interval": 5, "count": 400}}
    make_job("poll", schedule=schedule, now=LATER)

    seen = view(owner, THURSDAY, "2026-10-30")

    assert by_day(seen) == {"2026-10-22": 264, "2026-10-23": 136}
    assert rounded(band(seen, "2026-10-23").planned_spans) == [(0, 0.5)]  # until 11:15, so with that hour


def test_missed_fire_times_belong_to_the_band_of_their_day(owner, make_planned):
    """A row stands for 1,100 of them; what the scheduler found in time ran."""
    trigger = make_planned(now=EARLY)
    first = utc("2026-10-17T06:00Z")
    until = first + 1099 * FIVE_MINUTES
    add_run(trigger.job, first, "missed", missed_count=1100, missed_until=until)
    add_runs(trigger.job, (until + FIVE_MINUTES).isoformat(), "2026-10-21T12:35Z", FIVE_MINUTES)
    Trigger.objects.update(next_fire_at=utc("2026-10-21T12:35Z"))

    seen = view(owner)

    assert by_day(seen) == dict.fromkeys([f"2026-10-{day}" for day in (19, 20, 21, 22, 23, 24)], 288) | {
        "2026-10-25": 300
    }
    monday, wednesday = band(seen, "2026-10-19"), band(seen, WEDNESDAY)
    assert (monday.done_count, monday.run_spans) == (288, ())
    assert wednesday.done_count == 175


def test_failures_are_counted_and_drawn_where_they_were(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-20T22:00Z", FIVE_MINUTES, "failed")

    seen = band(view(owner), TUESDAY)

    assert (seen.failed_count, seen.done_count) == (288, 288)
    assert len(seen.failure_positions) == 240
    assert 0 <= min(seen.failure_positions) < max(seen.failure_positions) < 1


def test_failures_alone_make_a_band_when_they_are_many(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-20T22:00Z", FIVE_MINUTES, "failed")
    add_runs(trigger.job, "2026-10-20T22:00Z", "2026-10-21T12:00Z", FIVE_MINUTES)
    add_run(trigger.job, "2026-10-21T12:00Z", "failed")

    seen = view(owner, only_failures=True)

    assert [(each.day.isoformat(), each.total, each.failed_count) for each in seen.bands] == [(TUESDAY, 288, 288)]
    assert [run.fire_at for run in seen.runs] == [utc("2026-10-21T12:00Z")]


def test_every_member_is_led_to_the_job(owner, make_user, make_planned):
    trigger = make_planned()

    for user in (owner, make_user("rita")):
        assert view(user).bands[0].url == f"/admin/jobs/job/{trigger.job_id}/"


def test_of_too_many_bands_those_that_failed_are_kept(owner, make_planned, monkeypatch):
    monkeypatch.setattr(future_runs, "MOST_BANDS", 2)
    for name in ("a", "b", "c"):
        job = make_planned(name=name).job
        add_runs(job, "2026-10-19T22:00Z", "2026-10-20T04:00Z", FIVE_MINUTES, "failed" if name == "c" else "succeeded")

    seen = view(owner)

    assert len({each.name for each in seen.bands}) == 2
    assert "c" in {each.name for each in seen.bands}
    assert seen.is_cut


# Laws


def fire_times_by_day(trigger, first: datetime, start: str, end: str, zone: str) -> Counter:
    """Every one of them from `first` on, looked at."""
    days: Counter = Counter()
    for fire in between(trigger.parsed.schedule, max(first, instant(start, zone)), instant(end, zone)):
        days[fire.astimezone(ZoneInfo(zone)).date().isoformat()] += 1
    return days


@st.composite
def beats(draw):
    """Quartz expressions, mostly frequent ones."""
    minutes = draw(st.sampled_from(["*/5", "*/7", "*/10", "0,30", "0", "3,4,5,6,7,8,9"]))
    hours = draw(st.sampled_from(["*", "*", "7-18", "1-4", "*/6", "0,23"]))
    days = draw(st.sampled_from(["*", "*", "MON-FRI", "SUN"]))
    return f"{draw(st.integers(0, 59))} {minutes} {hours} ? * {days}"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    expression=beats(),
    own_zone=st.sampled_from(ZONES),
    zone=st.sampled_from(ZONES),
    beginning=st.sampled_from(["2026-10-01", "2026-10-23", "2027-03-26", "2027-04-02", "2011-12-28", "2018-11-02"]),
    length=st.integers(1, 4),
    gone_by=st.floats(-0.2, 1.2),
    missed=st.booleans(),
)
@example("0 */5 * ? * *", BERLIN, BERLIN, "2026-10-24", 3, 0.5, True)
def test_each_day_has_all_its_fire_times(
    owner, make_planned, expression, own_zone, zone, beginning, length, gone_by, missed
):
    """Wherever now is: what has come are rows, some of them one row for many; the rest is planned."""
    end = (date.fromisoformat(beginning) + timedelta(days=length)).isoformat()
    start_at, end_at = instant(beginning, zone), instant(end, zone)
    now = (start_at + (end_at - start_at) * gone_by).replace(microsecond=0)
    since = start_at - timedelta(days=1)
    with transaction.atomic():
        trigger = make_planned(expression, now=since, zone=own_zone)
        schedule = trigger.parsed.schedule
        come = list(between(schedule, since, now + timedelta(microseconds=1)))
        if missed and len(come) > 1:
            half = len(come) // 2 + 1
            add_run(trigger.job, come[0], "missed", missed_count=half, missed_until=come[half - 1])
            come = come[half:]
        Run.objects.bulk_create(row(trigger.job, fire) for fire in come)
        Trigger.objects.update(next_fire_at=schedule.after(now))

        seen = view(owner, beginning, end, zone, now=now)
        transaction.set_rollback(True)

    assert by_day(seen, zone) == fire_times_by_day(trigger, since, beginning, end, zone)
    for each in seen.bands:
        assert each.done_count <= each.total
        parts = [*each.run_spans, *each.planned_spans]
        assert all(0 <= first <= last <= 1 for first, last in parts)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(2, 5000), st.lists(st.integers(-10, 2 * 10**6)))
def test_a_stretch_is_divided_without_rest(first, length, count, cuts):
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=first)
    stretch = Span(start, start + timedelta(seconds=length), count)
    bounds = [start - timedelta(days=1), *sorted(start + timedelta(seconds=cut) for cut in cuts), LATER]

    shares = [
        stretch.count_before(later) - stretch.count_before(earlier) for earlier, later in itertools.pairwise(bounds)
    ]

    assert min(shares) >= 0
    assert sum(shares) == count


@given(st.dictionaries(st.integers(0, 24), st.integers(0, 3599), max_size=25), st.floats(0, 90_000))
def test_fractions_are_apart_and_in_order(hours, until):
    parts = spans_as_fractions({hour: hour * 3600 + second for hour, second in hours.items()}, 90_000, until)

    bounds = [bound for part in parts for bound in part]
    assert all(0 <= bound <= 1 for bound in bounds)
    assert bounds == sorted(bounds)


def test_the_days_of_a_window_touch_it_and_no_others():
    berlin = ZoneInfo(BERLIN)

    whole = days_within(instant("2026-10-24"), instant("2026-10-26"), berlin)
    part = days_within(instant("2026-10-24 12:00"), instant("2026-10-25 12:00"), berlin)

    assert [day.date.day for day in whole] == [day.date.day for day in part] == [24, 25]
    assert [day.seconds / 3600 for day in whole] == [24, 25]


def test_few_runs_are_never_frequent():
    tally = RunCounts(done_count=12)
    for _ in range(12):
        tally.add_run(100)

    assert not tally.is_frequent
