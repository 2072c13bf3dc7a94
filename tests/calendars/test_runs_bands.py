"""Frequent jobs in a window of the calendar: one band per day."""

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
from tests.calendars.job_runs import BERLIN, LATER, add_run, add_runs, count_by_day, instant, load_view, row
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


def band(view, day: str):
    return next(each for each in view.bands if each.day == date.fromisoformat(day))


def rounded(parts) -> list[tuple[float, float]]:
    return [(round(start, 4), round(end, 4)) for start, end in parts]


def test_frequent_job_is_one_band_per_day(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-21T12:35Z", FIVE_MINUTES)
    Run.objects.filter(fire_at__in=[utc("2026-10-19T23:00Z"), utc("2026-10-20T10:00Z")]).update(state="failed")

    view = load_view(owner)

    assert view.runs == []
    assert {(each.name, each.interval, each.job_id) for each in view.bands} == {("poll", "every 5 min", trigger.job_id)}
    past, today, ahead = (band(view, day) for day in (TUESDAY, WEDNESDAY, THURSDAY))
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
        ("0 0/29 * * * ?", True),  # three times an hour
        ("0 0/30 * * * ?", False),
        ("0 0 * * * ?", False),
        ("0 0/30 7-18 * * ?", False),
        ("0 0/15 7-18 * * ?", True),  # frequent in the hours in which it runs
        ("0 0/5 7 * * ?", False),  # twelve runs a day are few
        ("0 0/4 7 * * ?", True),
        ("0/30 * 7 * * ?", True),
    ],
)
def test_job_that_runs_more_often_than_every_30_minutes_is_frequent(owner, make_planned, expression, is_band):
    trigger = make_planned(expression)
    count = sum(1 for _ in between(trigger.parsed.schedule, instant(THURSDAY), instant("2026-10-23")))

    planned = load_view(owner, THURSDAY, "2026-10-23")
    for fire in between(trigger.parsed.schedule, instant(TUESDAY), instant(WEDNESDAY)):
        add_run(trigger.job, fire)
    past = load_view(owner, TUESDAY, WEDNESDAY)

    for view in (planned, past):
        assert (len(view.bands), len(view.runs)) == ((1, 0) if is_band else (0, count))
        assert count_by_day(view).total() == count


@pytest.mark.parametrize(
    "zone, day, hours",
    [
        (BERLIN, "2026-10-24", 24),
        (BERLIN, "2026-10-25", 25),
        (BERLIN, "2027-03-28", 23),
        ("Asia/Kolkata", "2026-10-25", 24),  # midnight is at a half hour in UTC
        ("Australia/Lord_Howe", "2027-04-04", 24.5),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
        ("America/Sao_Paulo", "2018-11-04", 23),  # clocks skip midnight
        ("America/Sao_Paulo", "2018-02-17", 25),  # clocks repeat the hour before midnight
    ],
)
def test_band_of_a_day_with_a_clock_change_has_its_real_length(owner, make_planned, zone, day, hours):
    start = instant(day, zone)
    trigger = make_planned("0 0/5 * * * ?", now=start, zone="UTC")

    end = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
    ahead = load_view(owner, day, end, zone, now=start - timedelta(hours=1))
    add_runs(trigger.job, start.isoformat(), (start + timedelta(hours=hours)).isoformat(), FIVE_MINUTES)
    Run.objects.filter(fire_at=start + timedelta(hours=6)).update(state="failed")
    Trigger.objects.update(next_fire_at=None)
    past = load_view(owner, day, end, zone, now=start + timedelta(days=3))

    assert [(each.day.isoformat(), each.total, each.done_count) for each in ahead.bands] == [(day, hours * 12, 0)]
    assert [(each.day.isoformat(), each.total, each.done_count) for each in past.bands] == [
        (day, hours * 12, hours * 12)
    ]
    assert rounded(ahead.bands[0].planned_spans) == rounded(past.bands[0].run_spans) == [(0, 1)]
    assert past.bands[0].failure_positions[0] == pytest.approx(6 / hours, abs=1 / 240)


def test_day_that_a_zone_skipped_has_no_band(owner, make_planned):
    """Samoa skipped 30 December 2011."""
    make_planned(now=utc("2011-12-28T00:00Z"), zone="UTC")

    view = load_view(owner, "2011-12-29", "2012-01-01", "Pacific/Apia", now=utc("2011-12-28T00:00Z"))

    assert [(each.day.isoformat(), each.total) for each in view.bands] == [("2011-12-29", 288), ("2011-12-31", 288)]


def test_band_has_a_gap_where_nothing_ran(owner, make_planned):
    """Between 10:00 and 12:00 all runs were skipped, and the schedule has none at night."""
    trigger = make_planned("0 0/10 6-17 * * ?")
    add_runs(trigger.job, "2026-10-20T04:00Z", "2026-10-20T08:00Z", timedelta(minutes=10))
    add_runs(trigger.job, "2026-10-20T08:00Z", "2026-10-20T10:00Z", timedelta(minutes=10), "skipped")
    add_runs(trigger.job, "2026-10-20T10:00Z", "2026-10-20T16:00Z", timedelta(minutes=10))

    day_band = band(load_view(owner), TUESDAY)

    assert rounded(day_band.run_spans) == [(0.25, round(10 / 24, 4)), (0.5, 0.75)]
    assert (day_band.total, day_band.done_count) == (72, 72)
    assert rounded(band(load_view(owner), THURSDAY).planned_spans) == [(0.25, 0.75)]


def test_unfinished_runs_are_not_counted_as_done(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-20T22:00Z", "2026-10-21T12:30Z", FIVE_MINUTES)
    add_run(trigger.job, "2026-10-21T12:30Z", "running")

    today = band(load_view(owner), WEDNESDAY)

    assert (today.total, today.done_count) == (288, 174)


def test_band_of_several_triggers_has_no_interval(owner, make_planned, make_trigger):
    trigger = make_planned()
    make_trigger(trigger.job, "nightly", definition={"expression": "0 1 3 * * ?"}, now=LATER)

    ahead = band(load_view(owner), THURSDAY)

    assert (ahead.interval, ahead.total) == ("", 289)


@pytest.mark.parametrize(
    "expression, interval",
    [
        ("0/30 * * * * ?", "every 30 s"),
        ("0 0/20 * * * ?", "every 20 min"),
        ("0 1,7,18,33 * * * ?", ""),  # irregular
    ],
)
def test_band_has_a_short_text_of_its_interval(owner, make_planned, expression, interval):
    make_planned(expression)

    assert band(load_view(owner), THURSDAY).interval == interval


def test_frequent_job_has_single_runs_on_days_with_few_runs(owner, make_planned):
    trigger = make_planned("0 0/5 * ? * MON-FRI")
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-20T22:00Z", FIVE_MINUTES)
    add_run(trigger.job, "2026-10-18T08:00Z", trigger_name=None)
    add_run(trigger.job, "2026-10-19T08:00Z", "failed")

    view = load_view(owner, "2026-10-18", "2026-10-26")

    assert [f"{run.fire_at:%m-%d} {run.label}" for run in view.runs] == ["10-18 Succeeded", "10-19 Failed"]
    assert [each.day.day for each in view.bands] == [20, 21, 22, 23]


def test_runs_of_frequent_jobs_are_counted_in_the_database(owner, make_planned, django_assert_num_queries):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-21T12:35Z", FIVE_MINUTES)

    with django_assert_num_queries(3):  # the jobs, their counts, their triggers
        assert load_view(owner).bands


def test_run_budget_ends_a_band(owner, make_job):
    schedule = {"startTime": "2026-10-22T00:00:00Z", "recurrence": {"frequency": "Minute", "interval": 5, "count": 400}}
    make_job("poll", schedule=schedule, now=LATER)

    view = load_view(owner, THURSDAY, "2026-10-30")

    assert count_by_day(view) == {"2026-10-22": 264, "2026-10-23": 136}
    assert rounded(band(view, "2026-10-23").planned_spans) == [
        (0, 0.5)
    ]  # the last fire time is 11:15, and the band ends with that hour


def test_missed_fire_times_are_counted_in_the_band_of_their_day(owner, make_planned):
    """One run stands for 1,100 missed fire times; the later fire times ran."""
    trigger = make_planned(now=EARLY)
    first = utc("2026-10-17T06:00Z")
    until = first + 1099 * FIVE_MINUTES
    add_run(trigger.job, first, "missed", missed_count=1100, missed_until=until)
    add_runs(trigger.job, (until + FIVE_MINUTES).isoformat(), "2026-10-21T12:35Z", FIVE_MINUTES)
    Trigger.objects.update(next_fire_at=utc("2026-10-21T12:35Z"))

    view = load_view(owner)

    assert count_by_day(view) == dict.fromkeys([f"2026-10-{day}" for day in (19, 20, 21, 22, 23, 24)], 288) | {
        "2026-10-25": 300
    }
    monday, wednesday = band(view, "2026-10-19"), band(view, WEDNESDAY)
    assert (monday.done_count, monday.run_spans) == (288, ())
    assert wednesday.done_count == 175


def test_band_shows_failures_at_their_times(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-20T22:00Z", FIVE_MINUTES, "failed")

    day_band = band(load_view(owner), TUESDAY)

    assert (day_band.failed_count, day_band.done_count) == (288, 288)
    assert len(day_band.failure_positions) == 240
    assert 0 <= min(day_band.failure_positions) < max(day_band.failure_positions) < 1


def test_filter_of_failures_makes_bands_of_many_failures(owner, make_planned):
    trigger = make_planned()
    add_runs(trigger.job, "2026-10-19T22:00Z", "2026-10-20T22:00Z", FIVE_MINUTES, "failed")
    add_runs(trigger.job, "2026-10-20T22:00Z", "2026-10-21T12:00Z", FIVE_MINUTES)
    add_run(trigger.job, "2026-10-21T12:00Z", "failed")

    view = load_view(owner, only_failures=True)

    assert [(each.day.isoformat(), each.total, each.failed_count) for each in view.bands] == [(TUESDAY, 288, 288)]
    assert [run.fire_at for run in view.runs] == [utc("2026-10-21T12:00Z")]


def test_band_links_to_the_job_for_each_member(owner, make_user, make_planned):
    trigger = make_planned()

    for user in (owner, make_user("rita")):
        assert load_view(user).bands[0].url == f"/admin/jobs/job/{trigger.job_id}/"


def test_number_of_bands_is_limited_and_failed_ones_come_first(owner, make_planned, monkeypatch):
    monkeypatch.setattr(future_runs, "MOST_BANDS", 2)
    for name in ("a", "b", "c"):
        job = make_planned(name=name).job
        add_runs(job, "2026-10-19T22:00Z", "2026-10-20T04:00Z", FIVE_MINUTES, "failed" if name == "c" else "succeeded")

    view = load_view(owner)

    assert len({each.name for each in view.bands}) == 2
    assert "c" in {each.name for each in view.bands}
    assert view.is_cut


# Properties


def fire_times_by_day(trigger, first: datetime, start: str, end: str, zone: str) -> Counter:
    """Count the fire times from `first` on by day, one by one."""
    days: Counter = Counter()
    for fire in between(trigger.parsed.schedule, max(first, instant(start, zone)), instant(end, zone)):
        days[fire.astimezone(ZoneInfo(zone)).date().isoformat()] += 1
    return days


@st.composite
def expressions(draw):
    """Draw Quartz expressions, mostly frequent ones."""
    minutes = draw(st.sampled_from(["*/5", "*/7", "*/10", "0,30", "0", "3,4,5,6,7,8,9"]))
    hours = draw(st.sampled_from(["*", "*", "7-18", "1-4", "*/6", "0,23"]))
    days = draw(st.sampled_from(["*", "*", "MON-FRI", "SUN"]))
    return f"{draw(st.integers(0, 59))} {minutes} {hours} ? * {days}"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    expression=expressions(),
    own_zone=st.sampled_from(ZONES),
    zone=st.sampled_from(ZONES),
    beginning=st.sampled_from(["2026-10-01", "2026-10-23", "2027-03-26", "2027-04-02", "2011-12-28", "2018-11-02"]),
    length=st.integers(1, 4),
    elapsed=st.floats(-0.2, 1.2),
    missed=st.booleans(),
)
@example("0 */5 * ? * *", BERLIN, BERLIN, "2026-10-24", 3, 0.5, True)
def test_bands_and_runs_have_all_fire_times_of_each_day(
    owner, make_planned, expression, own_zone, zone, beginning, length, elapsed, missed
):
    """At any current time: past fire times are runs, some with many missed fire times; the others are planned."""
    end = (date.fromisoformat(beginning) + timedelta(days=length)).isoformat()
    start_at, end_at = instant(beginning, zone), instant(end, zone)
    now = (start_at + (end_at - start_at) * elapsed).replace(microsecond=0)
    since = start_at - timedelta(days=1)
    with transaction.atomic():
        trigger = make_planned(expression, now=since, zone=own_zone)
        schedule = trigger.parsed.schedule
        past_fires = list(between(schedule, since, now + timedelta(microseconds=1)))
        if missed and len(past_fires) > 1:
            half = len(past_fires) // 2 + 1
            add_run(trigger.job, past_fires[0], "missed", missed_count=half, missed_until=past_fires[half - 1])
            past_fires = past_fires[half:]
        Run.objects.bulk_create(row(trigger.job, fire) for fire in past_fires)
        Trigger.objects.update(next_fire_at=schedule.after(now))

        view = load_view(owner, beginning, end, zone, now=now)
        transaction.set_rollback(True)

    assert count_by_day(view, zone) == fire_times_by_day(trigger, since, beginning, end, zone)
    for each in view.bands:
        assert each.done_count <= each.total
        parts = [*each.run_spans, *each.planned_spans]
        assert all(0 <= first <= last <= 1 for first, last in parts)


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(2, 5000), st.lists(st.integers(-10, 2 * 10**6)))
def test_counts_of_a_divided_span_add_up(first, length, count, cuts):
    start = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=first)
    span = Span(start, start + timedelta(seconds=length), count)
    bounds = [start - timedelta(days=1), *sorted(start + timedelta(seconds=cut) for cut in cuts), LATER]

    shares = [span.count_before(later) - span.count_before(earlier) for earlier, later in itertools.pairwise(bounds)]

    assert min(shares) >= 0
    assert sum(shares) == count


@given(st.dictionaries(st.integers(0, 24), st.integers(0, 3599), max_size=25), st.floats(0, 90_000))
def test_fractions_of_a_band_are_sorted_and_do_not_overlap(hours, until):
    parts = spans_as_fractions({hour: hour * 3600 + second for hour, second in hours.items()}, 90_000, until)

    bounds = [bound for part in parts for bound in part]
    assert all(0 <= bound <= 1 for bound in bounds)
    assert bounds == sorted(bounds)


def test_days_within_a_window_are_those_that_overlap_it():
    berlin = ZoneInfo(BERLIN)

    whole = days_within(instant("2026-10-24"), instant("2026-10-26"), berlin)
    part = days_within(instant("2026-10-24 12:00"), instant("2026-10-25 12:00"), berlin)

    assert [day.date.day for day in whole] == [day.date.day for day in part] == [24, 25]
    assert [day.seconds / 3600 for day in whole] == [24, 25]


def test_day_with_few_runs_is_never_frequent():
    tally = RunCounts(done_count=12)
    for _ in range(12):
        tally.add_run(100)

    assert not tally.is_frequent
