"""GET /api/jobs/{id}/upcoming and /api/triggers/{id}/upcoming: what will happen, with what holds it."""

from datetime import datetime, timedelta
from itertools import islice

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import ApiToken, Role, Subscription
from jobs.models import Job, JobCollection, Run
from tests.conftest import utc
from tests.maintenance.notices import EIGHT, HOUR, MINUTE, T0, announce, complete, dispatch, holds, resource, start
from triggers.gates import HoldWindow
from triggers.models import Trigger
from triggers.scheduling import set_job_state
from triggers.upcoming import last_fire_before, runs_within

pytestmark = pytest.mark.django_db

HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Hour"}}
QUARTER = timedelta(minutes=15)


@pytest.fixture(autouse=True)
def clock():
    """It is half past seven."""
    with time_machine.travel(T0, tick=False) as clock:
        yield clock


@pytest.fixture
def db2(subscription):
    return resource(subscription)


def upcoming(api, of: Job | Trigger, **query) -> dict:
    kind = "jobs" if isinstance(of, Job) else "triggers"
    response = api.get(f"/api/{kind}/{of.pk}/upcoming", query)
    assert response.status_code == 200, response.content
    return response.json()


def told(answer: dict) -> list[tuple]:
    """Each fire time with when it runs, as clocks show it, and what is expected."""
    return [(each["fireAt"][11:16], (each["runsAt"] or "")[11:16], each["expected"]) for each in answer["value"]]


def fires(answer: dict) -> list[str]:
    return [each["fireAt"] for each in answer["value"]]


# Without holds


def test_the_next_ten_fire_times_are_answered(api, make_job):
    job = make_job(schedule=HOURLY)
    trigger = job.triggers.get()

    answer = upcoming(api, job)

    assert answer["value"][0] == {
        "fireAt": "2026-01-05T08:00:00Z",
        "runsAt": "2026-01-05T08:00:00Z",
        "expected": "run",
        "trigger": trigger.pk,
        "triggerName": "default",
        "run": None,
        "hold": None,
    }
    assert fires(answer) == [f"2026-01-05T{hour:02}:00:00Z" for hour in range(8, 18)]
    assert answer["more"] is True


def test_a_job_without_a_start_time_is_told_when_it_really_runs(api, make_job, clock):
    """Its preview would count from now on."""
    job = make_job(schedule={"recurrence": {"frequency": "Hour"}}, now=T0)
    dispatch(T0)
    clock.move_to(T0 + 20 * MINUTE)

    assert fires(upcoming(api, job, count=2)) == ["2026-01-05T08:30:00Z", "2026-01-05T09:30:00Z"]


def test_a_fire_time_that_is_due_comes_first(api, make_job, clock):
    job = make_job(schedule={"recurrence": {"frequency": "Hour"}}, now=T0)
    clock.shift(1)

    assert fires(upcoming(api, job, count=2)) == ["2026-01-05T07:30:00Z", "2026-01-05T08:30:00Z"]


def test_what_is_left_of_a_count_is_all(api, make_job):
    job = make_job(schedule={**HOURLY, "recurrence": {"frequency": "Hour", "count": 3}})

    answer = upcoming(api, job)
    late = upcoming(api, job, **{"from": "2026-01-05T09:30:00Z"})

    assert (len(fires(answer)), answer["more"]) == (3, False)
    assert fires(late) == ["2026-01-05T10:00:00Z"]


def test_all_triggers_of_a_job_are_answered_together_and_each_alone(api, make_job, make_trigger):
    job = make_job(schedule=HOURLY)
    half = make_trigger(job, "half", definition={"expression": "0 30 * * * ?"}, now=T0 + MINUTE)

    assert [each["triggerName"] for each in upcoming(api, job, count=3)["value"]] == ["default", "half", "default"]
    assert fires(upcoming(api, half, count=2)) == ["2026-01-05T08:30:00Z", "2026-01-05T09:30:00Z"]


@pytest.mark.parametrize(
    "query, hours",
    [
        ({"from": "2026-01-05T09:00:00Z", "to": "2026-01-05T11:00:00Z"}, [9, 10]),
        ({"from": "2026-01-05T10:00:00+01:00", "to": "2026-01-05T11:00:00Z"}, [9, 10]),
        ({"from": "2026-01-05T08:00:00.000001Z", "count": 1}, [9]),
        ({"to": "2026-01-05T10:00:01Z"}, [8, 9, 10]),
        ({"from": "2020-01-01T00:00:00Z", "to": "2026-01-05T09:00:00Z"}, [8]),  # what has come is no more to come
    ],
)
def test_a_window_includes_its_beginning_and_not_its_end(api, make_job, query, hours):
    answer = upcoming(api, make_job(schedule=HOURLY), **query)

    assert fires(answer) == [f"2026-01-05T{hour:02}:00:00Z" for hour in hours]


@pytest.mark.parametrize("stop", ["job", "collection", "trigger", "by hand"])
def test_of_what_is_stopped_there_is_nothing_to_come(api, make_job, make_trigger, stop):
    job = make_job(schedule=None)
    if stop != "by hand":
        make_trigger(job, now=T0, enabled=stop != "trigger")
    if stop == "job":
        set_job_state(job, Job.State.DISABLED, T0)
    if stop == "collection":
        JobCollection.objects.update(state=JobCollection.State.DISABLED)
        Trigger.objects.update(next_fire_at=None)

    assert upcoming(api, job) == {"value": [], "more": False}


@pytest.mark.parametrize(
    "query, targets",
    [
        ({"count": "0"}, ["count"]),
        ({"count": "1001"}, ["count"]),
        ({"count": "ten"}, ["count"]),
        ({"count": "-1"}, ["count"]),
        ({"count": ""}, ["count"]),
        ({"count": "٣"}, ["count"]),
        ({"from": "tomorrow"}, ["from"]),
        ({"from": "2026-01-05T08:00:00"}, ["from"]),
        ({"to": "2026-02-30T08:00:00Z"}, ["to"]),
        ({"to": "2026-01-05T07:30:00Z"}, ["to"]),  # that is now
        ({"from": "2026-01-06T08:00:00Z", "to": "2026-01-06T08:00:00Z"}, ["to"]),
        ({"from": "x", "count": "x"}, ["count", "from"]),
        ({"until": "2026-01-06T08:00:00Z"}, ["until"]),
    ],
)
@pytest.mark.parametrize("kind", ["jobs", "triggers"])
def test_a_wrong_parameter_is_named(api, make_job, kind, query, targets):
    job = make_job(schedule=HOURLY)
    key = job.pk if kind == "jobs" else job.triggers.get().pk

    response = api.get(f"/api/{kind}/{key}/upcoming", query)

    error = response.json()["error"]
    assert (response.status_code, error["target"]) == (400, targets[0])
    assert [each["target"] for each in error.get("details", [error])] == targets


def test_a_thousand_are_answered_at_once_and_no_more(api, make_job):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute"}})

    assert len(upcoming(api, job, count=1000)["value"]) == 1000


@pytest.mark.parametrize("kind", ["jobs", "triggers"])
def test_what_belongs_to_others_is_not_there(api, api_of, make_job, make_user, kind):
    other = JobCollection.objects.create(subscription=Subscription.objects.create(name="other"), name="theirs")
    job = make_job(in_collection=other)
    key = job.pk if kind == "jobs" else job.triggers.get().pk
    client = api_of(ApiToken.objects.issue(make_user("eve", role=Role.READER), "t")[1])

    assert client.get(f"/api/{kind}/{key}/upcoming").status_code == 404
    assert client.get(f"/api/{kind}/{key + 1}/upcoming").status_code == 404
    assert api_of().get(f"/api/{kind}/{key}/upcoming").status_code == 401


def test_a_reader_may_ask(api_of, make_job, make_user):
    client = api_of(ApiToken.objects.issue(make_user("bob", role=Role.READER), "t")[1])

    assert len(upcoming(client, make_job(schedule=HOURLY))["value"]) == 10


# With holds


def test_a_held_run_is_told_with_its_hold_and_when_it_runs(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    notice = announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    answer = upcoming(api, job, count=2)

    assert told(answer) == [("08:00", "08:15", "held"), ("09:00", "09:00", "run")]
    assert answer["value"][0]["hold"] == {
        "fireAt": "2026-01-05T08:00:00Z",
        "notice": str(notice.pk),
        "reason": "held by maintenance: Reboot of db-2",
        "from": "2026-01-05T07:45:00Z",
        "until": "2026-01-05T08:15:00Z",
        "after": "runOnce",
    }
    assert answer["value"][1]["hold"] is None


def test_of_several_that_are_held_the_newest_runs(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=2 * 3600)

    assert told(upcoming(api, job, count=3)) == [
        ("08:00", "", "skipped"),
        ("09:00", "09:45", "held"),
        ("10:00", "10:00", "run"),
    ]


def test_what_is_dropped_is_skipped(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job, on_end="drop")
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    answer = upcoming(api, job, count=2)

    assert told(answer) == [("08:00", "", "skipped"), ("09:00", "09:00", "run")]
    assert answer["value"][0]["hold"]["after"] == "drop"


def test_where_nobody_knows_the_end_nobody_knows_when_it_runs(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, has_started=True)

    answer = upcoming(api, job, count=2)

    assert told(answer) == [("08:00", "", "held"), ("09:00", "", "held")]
    assert {each["hold"]["until"] for each in answer["value"]} == {None}


def test_a_run_that_is_held_already_comes_first(api, db2, make_job, clock):
    job = make_job(schedule=HOURLY)
    trigger = job.triggers.get()
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    dispatch_and_hold(EIGHT)
    clock.move_to(EIGHT + MINUTE)

    for of in (job, trigger):
        first, second = upcoming(api, of, count=2)["value"]

        assert (first["fireAt"], first["runsAt"], first["expected"]) == (
            *("2026-01-05T08:00:00Z", "2026-01-05T08:15:00Z"),
            "held",
        )
        assert (first["run"], first["trigger"]) == (str(Run.objects.get().pk), trigger.pk)
        assert (second["fireAt"], second["expected"], second["run"]) == ("2026-01-05T09:00:00Z", "run", None)


def dispatch_and_hold(now: datetime) -> None:
    dispatch(now)
    assert Run.objects.get().state == Run.State.HELD


def test_a_run_that_is_held_without_a_known_end_comes_first_too(api, db2, make_job, clock):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, has_started=True)
    dispatch_and_hold(EIGHT)
    clock.move_to(EIGHT + MINUTE)

    assert told(upcoming(api, job, count=2)) == [("08:00", "", "held"), ("09:00", "", "held")]
    late = upcoming(api, job, count=1, **{"from": "2026-01-05T08:30:00Z"})
    assert told(late) == [("09:00", "", "held")]


@pytest.mark.parametrize(
    "query, expected",
    [
        # what fires before the window is in it when it runs in it
        ({"from": "2026-01-05T08:10:00Z"}, [("08:00", "08:15", "held"), ("09:00", "09:00", "run")]),
        ({"from": "2026-01-05T08:15:00Z"}, [("08:00", "08:15", "held"), ("09:00", "09:00", "run")]),
        ({"from": "2026-01-05T08:15:01Z"}, [("09:00", "09:00", "run"), ("10:00", "10:00", "run")]),
        ({"from": "2026-01-05T08:10:00Z", "to": "2026-01-05T08:15:00Z"}, []),
    ],
)
@pytest.mark.parametrize("is_made", [False, True])
def test_a_window_has_what_is_held_from_before_and_runs_in_it(api, db2, make_job, clock, query, expected, is_made):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    if is_made:
        dispatch_and_hold(EIGHT)
        clock.move_to(EIGHT + MINUTE)

    assert told(upcoming(api, job, count=2, **query)) == expected


def test_a_window_that_ends_before_the_hold_has_what_fires_in_it(api, db2, make_job, clock):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    window = {"to": "2026-01-05T08:10:00Z"}
    assert told(upcoming(api, job, **window)) == [("08:00", "08:15", "held")]

    dispatch_and_hold(EIGHT)
    clock.move_to(EIGHT + MINUTE)

    assert told(upcoming(api, job, **window)) == []  # it has fired, and runs after the window


def test_a_later_fire_time_of_another_trigger_runs_for_one_that_is_held(api, db2, make_job, make_trigger):
    job = make_job(schedule=HOURLY)
    make_trigger(job, "later", definition={"expression": "0 5 * * * ?"}, now=T0)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    assert told(upcoming(api, job.triggers.get(name="default"), count=1)) == [("08:00", "", "skipped")]
    assert told(upcoming(api, job.triggers.get(name="later"), count=1)) == [("08:05", "08:15", "held")]


def test_after_the_hold_nothing_is_said_of_it(api, db2, make_job, clock):
    job = make_job(schedule=HOURLY)
    holds(job)
    notice = announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    start(notice, EIGHT - QUARTER)
    complete(notice, EIGHT - MINUTE)
    clock.move_to(EIGHT - MINUTE)

    assert told(upcoming(api, job, count=1)) == [("08:00", "08:00", "run")]


def test_it_says_what_the_job_says(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    read = api.get(f"/api/jobs/{job.pk}").json()

    first = upcoming(api, job, count=1)["value"][0]
    assert (read["nextRunAt"], read["hold"]) == (first["runsAt"], first["hold"])


def test_an_answer_costs_the_same_queries_whatever_there_is(
    api, db2, make_job, make_trigger, django_assert_num_queries
):
    job = make_job(schedule=HOURLY)
    api.get("/api/jobs")  # the token is seen once
    with django_assert_num_queries(4):  # the token, the job, its triggers, what is announced
        upcoming(api, job)
    for number in range(5):
        make_trigger(job, f"t{number}", now=T0)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    dispatch(EIGHT)

    with django_assert_num_queries(6):
        upcoming(api, job, count=1000)


# The last fire time before a moment


@settings(max_examples=60)
@given(st.integers(1, 4000), st.integers(0, 20000), st.none() | st.integers(1, 30))
def test_the_last_fire_time_is_the_one_that_a_walk_finds(interval_s, until_s, left):
    every = {"interval": interval_s * 1000}
    trigger = Trigger(format="simple", definition=every, anchored_at=T0, next_fire_at=T0, fires_left=left)
    end = T0 + timedelta(seconds=until_s)
    walked = [T0 + number * timedelta(seconds=interval_s) for number in range(min(left or 20001, 20001))]

    assert last_fire_before(trigger, end) == max((fire for fire in walked if fire < end), default=None)


def test_a_hold_of_years_over_many_fire_times_is_not_walked_through(make_job):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute"}})
    triggers = list(job.triggers.all())
    hold = HoldWindow("notice", "", T0, utc("2036-01-05T08:00Z"))

    runs = runs_within(triggers, triggers, [hold], T0, utc("2036-01-05T07:59:30Z"))

    first, second = islice(runs, 2)
    assert (first.fire_at, first.runs_at) == (utc("2036-01-05T07:59Z"), utc("2036-01-05T08:00Z"))
    assert (second.fire_at, second.runs_at) == (utc("2036-01-05T08:00Z"), utc("2036-01-05T08:00Z"))


def test_of_two_at_the_same_time_one_runs(make_job, make_trigger):
    job = make_job(schedule=None)
    for name, priority in (("a", 1), ("b", 9)):
        make_trigger(job, name, now=T0, priority=priority)
    triggers = list(job.triggers.all())

    runs = list(islice(runs_within(triggers, triggers, [HoldWindow("notice", "", T0, EIGHT + HOUR / 2)], T0), 2))

    assert {run.trigger.name: run.runs_at for run in runs} == {"a": None, "b": EIGHT + HOUR / 2}
