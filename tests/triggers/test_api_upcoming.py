"""GET /api/jobs/{id}/upcoming and /api/triggers/{id}/upcoming: the next runs, with their holds."""

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
    """Stop the clock at half past seven."""
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


def summary(response: dict) -> list[tuple]:
    """Return for each fire time its time of day, the time of day of its run, and what is expected."""
    return [(each["fireAt"][11:16], (each["runsAt"] or "")[11:16], each["expected"]) for each in response["value"]]


def fires(response: dict) -> list[str]:
    return [each["fireAt"] for each in response["value"]]


# Without holds


def test_next_ten_fire_times_are_returned(api, make_job):
    job = make_job(schedule=HOURLY)
    trigger = job.triggers.get()

    response = upcoming(api, job)

    assert response["value"][0] == {
        "fireAt": "2026-01-05T08:00:00Z",
        "startsAt": "2026-01-05T08:00:00Z",
        "runsAt": "2026-01-05T08:00:00Z",
        "expected": "run",
        "trigger": trigger.pk,
        "triggerName": "default",
        "run": None,
        "hold": None,
    }
    assert fires(response) == [f"2026-01-05T{hour:02}:00:00Z" for hour in range(8, 18)]
    assert response["more"] is True


def test_fire_times_of_a_job_without_a_start_time_count_from_its_first_run(api, make_job, clock):
    """A preview of the same schedule would count from now on."""
    job = make_job(schedule={"recurrence": {"frequency": "Hour"}}, now=T0)
    dispatch(T0)
    clock.move_to(T0 + 20 * MINUTE)

    waiting, *coming = fires(upcoming(api, job, count=3))
    assert waiting == "2026-01-05T07:30:00Z"
    assert coming == ["2026-01-05T08:30:00Z", "2026-01-05T09:30:00Z"]


def test_due_fire_time_is_the_first(api, make_job, clock):
    job = make_job(schedule={"recurrence": {"frequency": "Hour"}}, now=T0)
    clock.shift(1)

    assert fires(upcoming(api, job, count=2)) == ["2026-01-05T07:30:00Z", "2026-01-05T08:30:00Z"]


def test_counted_schedule_has_only_its_remaining_fire_times(api, make_job):
    job = make_job(schedule={**HOURLY, "recurrence": {"frequency": "Hour", "count": 3}})

    response = upcoming(api, job)
    late = upcoming(api, job, **{"from": "2026-01-05T09:30:00Z"})

    assert (len(fires(response)), response["more"]) == (3, False)
    assert fires(late) == ["2026-01-05T10:00:00Z"]


def test_fire_times_are_those_of_all_triggers_of_a_job_or_of_one_trigger(api, make_job, make_trigger):
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
        ({"from": "2020-01-01T00:00:00Z", "to": "2026-01-05T09:00:00Z"}, [8]),  # past fire times are not returned
    ],
)
def test_window_includes_its_start_and_excludes_its_end(api, make_job, query, hours):
    response = upcoming(api, make_job(schedule=HOURLY), **query)

    assert fires(response) == [f"2026-01-05T{hour:02}:00:00Z" for hour in hours]


@pytest.mark.parametrize("stop", ["job", "collection", "trigger", "by hand"])
def test_stopped_job_or_trigger_has_no_next_fire_times(api, make_job, make_trigger, stop):
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
        ({"to": "2026-01-05T07:30:00Z"}, ["to"]),  # equal to now
        ({"from": "2026-01-06T08:00:00Z", "to": "2026-01-06T08:00:00Z"}, ["to"]),
        ({"from": "x", "count": "x"}, ["count", "from"]),
        ({"until": "2026-01-06T08:00:00Z"}, ["until"]),
    ],
)
@pytest.mark.parametrize("kind", ["jobs", "triggers"])
def test_wrong_parameter_is_refused_by_name(api, make_job, kind, query, targets):
    job = make_job(schedule=HOURLY)
    key = job.pk if kind == "jobs" else job.triggers.get().pk

    response = api.get(f"/api/{kind}/{key}/upcoming", query)

    error = response.json()["error"]
    assert (response.status_code, error["target"]) == (400, targets[0])
    assert [each["target"] for each in error.get("details", [error])] == targets


def test_at_most_a_thousand_fire_times_are_returned(api, make_job):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute"}})

    assert len(upcoming(api, job, count=1000)["value"]) == 1000


@pytest.mark.parametrize("kind", ["jobs", "triggers"])
def test_job_or_trigger_of_another_subscription_is_not_found(api, api_of, make_job, make_user, kind):
    other = JobCollection.objects.create(subscription=Subscription.objects.create(name="other"), name="theirs")
    job = make_job(in_collection=other)
    key = job.pk if kind == "jobs" else job.triggers.get().pk
    client = api_of(ApiToken.objects.issue(make_user("eve", role=Role.READER), "t")[1])

    assert client.get(f"/api/{kind}/{key}/upcoming").status_code == 404
    assert client.get(f"/api/{kind}/{key + 1}/upcoming").status_code == 404
    assert api_of().get(f"/api/{kind}/{key}/upcoming").status_code == 401


def test_reader_can_read_the_fire_times(api_of, make_job, make_user):
    client = api_of(ApiToken.objects.issue(make_user("bob", role=Role.READER), "t")[1])

    assert len(upcoming(client, make_job(schedule=HOURLY))["value"]) == 10


# With holds


def test_held_run_has_its_hold_and_the_time_at_which_it_runs(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    notice = announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    response = upcoming(api, job, count=2)

    assert summary(response) == [("08:00", "08:15", "held"), ("09:00", "09:00", "run")]
    assert response["value"][0]["hold"] == {
        "fireAt": "2026-01-05T08:00:00Z",
        "notice": str(notice.pk),
        "reason": "held by maintenance: Reboot of db-2",
        "from": "2026-01-05T07:45:00Z",
        "until": "2026-01-05T08:15:00Z",
        "after": "runOnce",
    }
    assert response["value"][1]["hold"] is None


def test_newest_of_several_held_fire_times_runs(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=2 * 3600)

    assert summary(upcoming(api, job, count=3)) == [
        ("08:00", "", "skipped"),
        ("09:00", "09:45", "held"),
        ("10:00", "10:00", "run"),
    ]


def test_dropped_fire_time_is_skipped(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job, on_end="drop")
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    response = upcoming(api, job, count=2)

    assert summary(response) == [("08:00", "", "skipped"), ("09:00", "09:00", "run")]
    assert response["value"][0]["hold"]["after"] == "drop"


def test_run_held_without_a_known_end_has_no_known_time(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, has_started=True)

    response = upcoming(api, job, count=2)

    assert summary(response) == [("08:00", "", "held"), ("09:00", "", "held")]
    assert {each["hold"]["until"] for each in response["value"]} == {None}


def test_run_that_is_already_held_is_the_first(api, db2, make_job, clock):
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


def test_run_that_is_held_without_a_known_end_is_the_first_too(api, db2, make_job, clock):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, has_started=True)
    dispatch_and_hold(EIGHT)
    clock.move_to(EIGHT + MINUTE)

    assert summary(upcoming(api, job, count=2)) == [("08:00", "", "held"), ("09:00", "", "held")]
    late = upcoming(api, job, count=1, **{"from": "2026-01-05T08:30:00Z"})
    assert summary(late) == [("09:00", "", "held")]


@pytest.mark.parametrize(
    "query, expected",
    [
        # a fire time before the window belongs to it if its run is in the window
        ({"from": "2026-01-05T08:10:00Z"}, [("08:00", "08:15", "held"), ("09:00", "09:00", "run")]),
        ({"from": "2026-01-05T08:15:00Z"}, [("08:00", "08:15", "held"), ("09:00", "09:00", "run")]),
        ({"from": "2026-01-05T08:15:01Z"}, [("09:00", "09:00", "run"), ("10:00", "10:00", "run")]),
        ({"from": "2026-01-05T08:10:00Z", "to": "2026-01-05T08:15:00Z"}, []),
    ],
)
@pytest.mark.parametrize("is_dispatched", [False, True])
def test_window_contains_earlier_fire_times_whose_held_runs_are_in_it(
    api, db2, make_job, clock, query, expected, is_dispatched
):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    if is_dispatched:
        dispatch_and_hold(EIGHT)
        clock.move_to(EIGHT + MINUTE)

    assert summary(upcoming(api, job, count=2, **query)) == expected


def test_window_that_ends_before_the_hold_contains_its_own_fire_times(api, db2, make_job, clock):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    window = {"to": "2026-01-05T08:10:00Z"}
    assert summary(upcoming(api, job, **window)) == [("08:00", "08:15", "held")]

    dispatch_and_hold(EIGHT)
    clock.move_to(EIGHT + MINUTE)

    assert summary(upcoming(api, job, **window)) == []  # the run exists, and starts after the window


def test_later_fire_time_of_another_trigger_replaces_a_held_one(api, db2, make_job, make_trigger):
    job = make_job(schedule=HOURLY)
    make_trigger(job, "later", definition={"expression": "0 5 * * * ?"}, now=T0)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    assert summary(upcoming(api, job.triggers.get(name="default"), count=1)) == [("08:00", "", "skipped")]
    assert summary(upcoming(api, job.triggers.get(name="later"), count=1)) == [("08:05", "08:15", "held")]


def test_ended_hold_is_not_returned(api, db2, make_job, clock):
    job = make_job(schedule=HOURLY)
    holds(job)
    notice = announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    start(notice, EIGHT - QUARTER)
    complete(notice, EIGHT - MINUTE)
    clock.move_to(EIGHT - MINUTE)

    assert summary(upcoming(api, job, count=1)) == [("08:00", "08:00", "run")]


def test_first_upcoming_run_equals_the_next_run_of_the_job(api, db2, make_job):
    job = make_job(schedule=HOURLY)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)

    read = api.get(f"/api/jobs/{job.pk}").json()

    first = upcoming(api, job, count=1)["value"][0]
    assert (read["nextRunAt"], read["hold"]) == (first["runsAt"], first["hold"])


def test_number_of_queries_has_a_limit(api, db2, make_job, make_trigger, django_assert_num_queries):
    job = make_job(schedule=HOURLY)
    api.get("/api/jobs")  # writes when the token was last used
    with django_assert_num_queries(4):  # the token, the job, its triggers, the notices
        upcoming(api, job)
    for number in range(5):
        make_trigger(job, f"t{number}", now=T0)
    holds(job)
    announce(db2, not_before=EIGHT - QUARTER, duration_s=1800)
    dispatch(EIGHT)

    with django_assert_num_queries(7):
        upcoming(api, job, count=1000)


# The last fire time before an instant


@settings(max_examples=60)
@given(st.integers(1, 4000), st.integers(0, 20000), st.none() | st.integers(1, 30))
def test_last_fire_before_equals_the_result_of_a_full_search(interval_s, until_s, left):
    every = {"interval": interval_s * 1000}
    trigger = Trigger(format="simple", definition=every, anchored_at=T0, next_fire_at=T0, fires_left=left)
    end = T0 + timedelta(seconds=until_s)
    all_fires = [T0 + number * timedelta(seconds=interval_s) for number in range(min(left or 20001, 20001))]

    assert last_fire_before(trigger, end) == max((fire for fire in all_fires if fire < end), default=None)


def test_hold_of_years_does_not_compute_all_its_fire_times(make_job):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Minute"}})
    triggers = list(job.triggers.all())
    hold = HoldWindow("notice", "", T0, utc("2036-01-05T08:00Z"))

    runs = runs_within(triggers, triggers, [hold], T0, utc("2036-01-05T07:59:30Z"))

    first, second = islice(runs, 2)
    assert (first.fire_at, first.runs_at) == (utc("2036-01-05T07:59Z"), utc("2036-01-05T08:00Z"))
    assert (second.fire_at, second.runs_at) == (utc("2036-01-05T08:00Z"), utc("2036-01-05T08:00Z"))


def test_one_of_two_held_fire_times_at_the_same_instant_runs(make_job, make_trigger):
    job = make_job(schedule=None)
    for name, priority in (("a", 1), ("b", 9)):
        make_trigger(job, name, now=T0, priority=priority)
    triggers = list(job.triggers.all())

    runs = list(islice(runs_within(triggers, triggers, [HoldWindow("notice", "", T0, EIGHT + HOUR / 2)], T0), 2))

    assert {run.trigger.name: run.runs_at for run in runs} == {"a": None, "b": EIGHT + HOUR / 2}
