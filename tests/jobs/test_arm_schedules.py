"""Jobs with a schedule that Azure Scheduler does not have, in the form of the resource manager."""

from datetime import timedelta

import pytest
import time_machine

from recurrence import wire
from tests.conftest import ACTION, NOW, utc
from tests.jobs.arm_jobs import body, properties, refusal
from tests.jobs.schedules import SCHEDULES, START, WEEKDAYS
from tests.triggers.rows import carry_out_pending
from triggers.dispatch import dispatch_due
from triggers.models import Trigger

pytestmark = pytest.mark.django_db

OTHER_FORMATS = sorted(wire.PARSERS.keys() - {"azure"})
IN_BERLIN = {name: value for name, value in WEEKDAYS.items() if name != "format"}
FIRST = "2026-01-01T08:00:00Z"  # of IN_BERLIN
HOURLY = {"frequency": "Hour"}


@pytest.fixture(autouse=True)
def clock():
    """A stopped clock that the test moves."""
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def in_berlin(make_job):
    return make_job(format="quartz", schedule=IN_BERLIN)


def stored() -> dict:
    """Return all values of the job's own schedule."""
    return Trigger.objects.values().get()


def when(response) -> tuple:
    job = properties(response)
    return job.get("startTime"), job.get("recurrence")


def test_job_is_answered_with_the_first_fire_time_of_its_schedule(arm, in_berlin):
    response = arm.get(arm.job())

    assert when(response) == (FIRST, None)
    assert properties(response)["status"]["nextExecutionTime"] == FIRST
    [listed] = arm.get(f"{arm.collection()}/jobs").json()["value"]
    assert listed == response.json()


def test_answer_stays_the_same_while_time_passes(arm, in_berlin, clock):
    before = when(arm.get(arm.job()))
    for _ in range(3):
        clock.shift(timedelta(days=1))
        dispatch_due(NOW + timedelta(days=1))
        carry_out_pending(NOW + timedelta(days=1))

    assert properties(arm.get(arm.job()))["status"]["executionCount"] > 0
    assert when(arm.get(arm.job())) == before


@pytest.mark.parametrize(
    "format, definition, start, recurrence",
    [
        ("once", {"at": START}, START, None),
        ("quartz", {"expression": "0 30 9 * * ?"}, "2026-01-01T09:30:00Z", {"frequency": "Day"}),
        (
            "quartz",
            {"expression": "0 0 6 ? * MON-FRI", "endTime": "2027-01-01T00:00:00Z"},
            "2026-01-01T06:00:00Z",
            {
                "frequency": "Week",
                "endTime": "2027-01-01T00:00:00Z",
                "schedule": {
                    **{"minutes": [0], "hours": [6]},
                    "weekDays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
                },
            },
        ),
        # what an Azure recurrence cannot express: a zone, seconds, days that are not equally far apart in months
        ("quartz", {"expression": "0 30 9 * * ?", "timeZone": "Europe/Berlin"}, "2026-01-01T08:30:00Z", None),
        ("quartz", {"expression": "15 30 9 * * ?"}, "2026-01-01T09:30:15Z", None),
        ("quartz", {"expression": "0 0 9 ? 1,2 MON"}, "2026-01-05T09:00:00Z", None),
        ("simple", {"startTime": START, "interval": 5_400_000}, START, None),
    ],
)
def test_recurrence_is_answered_only_if_it_has_the_same_fire_times(
    arm, make_job, format, definition, start, recurrence
):
    make_job(format=format, schedule=definition)

    response = arm.get(arm.job())

    assert properties(response).get("startTime") == start
    assert {**(properties(response).get("recurrence") or {})} == (recurrence or {})


def test_start_time_has_no_more_than_milliseconds(arm, make_job, clock):
    clock.shift(timedelta(microseconds=123_456))
    make_job(format="simple", schedule={"interval": 5_400_000}, now=NOW + timedelta(microseconds=123_456))

    assert when(arm.get(arm.job())) == ("2026-01-01T00:00:00.123000Z", None)


def test_job_whose_schedule_can_no_longer_be_parsed_is_answered(arm, in_berlin):
    Trigger.objects.update(definition={"expression": "0 0 9 ? * MONFRI"})

    assert when(arm.get(arm.job())) == ("2026-01-01T00:00:00Z", None)
    assert when(arm.put(arm.job(), arm.get(arm.job()).json())) == ("2026-01-01T00:00:00Z", None)
    assert when(arm.patch(arm.job(), body(state="Disabled"))) == ("2026-01-01T00:00:00Z", None)
    assert stored()["definition"] == {"expression": "0 0 9 ? * MONFRI"}


# Sent back


@pytest.mark.parametrize("method", ["put", "patch"])
@pytest.mark.parametrize("format", OTHER_FORMATS)
def test_job_that_was_read_can_be_sent_back_and_nothing_changes(arm, make_job, clock, format, method):
    make_job(format=format, schedule=SCHEDULES[format])
    read, before = arm.get(arm.job()), stored()
    clock.shift(timedelta(days=2))
    sent = read.json()
    if method == "patch":
        sent = {"properties": {name: each for name, each in sent["properties"].items() if name != "status"}}

    response = getattr(arm, method)(arm.job(), sent)

    assert response.status_code == 200, response.content
    assert response.json() == read.json()
    assert {**stored(), "updated_at": None} == {**before, "updated_at": None}


@pytest.mark.parametrize("start", [FIRST, "2026-01-01T08:00:00.000Z", "2026-01-01T09:00:00+01:00"])
def test_start_time_may_be_written_differently(arm, in_berlin, start):
    before = stored()["definition"]

    assert when(arm.put(arm.job(), body(startTime=start))) == (FIRST, None)
    assert stored()["definition"] == before


@pytest.mark.parametrize(
    "change",
    [
        {"state": "Disabled"},
        {"action": {"request": {"method": "PUT"}}},
        {"recurrence": None},
        {"startTime": FIRST},
        {"schedule": {"format": "once", "at": START}},  # this contract does not have the member
    ],
)
def test_patch_of_other_members_leaves_the_schedule(arm, in_berlin, change):
    assert when(arm.patch(arm.job(), {"properties": change})) == (FIRST, None)
    assert (stored()["format"], stored()["definition"]) == ("quartz", IN_BERLIN)


def test_changed_action_in_a_put_leaves_the_schedule(arm, in_berlin):
    read = arm.get(arm.job()).json()
    read["properties"]["action"] = {**ACTION, "request": ACTION["request"] | {"method": "PUT"}}

    assert properties(arm.put(arm.job(), read))["action"]["request"]["method"] == "PUT"
    assert stored()["definition"] == IN_BERLIN


# Replaced


@pytest.mark.parametrize(
    "method, change, expected",
    [
        ("patch", {"recurrence": HOURLY}, (FIRST, HOURLY)),
        ("patch", {"startTime": START}, (START, None)),
        ("put", {"action": ACTION, "startTime": START}, (START, None)),
        ("put", {"action": ACTION, "startTime": FIRST, "recurrence": HOURLY}, (FIRST, HOURLY)),
        ("put", {"action": ACTION, "recurrence": HOURLY}, (None, HOURLY)),
    ],
)
def test_other_start_time_or_recurrence_is_a_new_schedule_of_azure(arm, in_berlin, method, change, expected):
    assert when(getattr(arm, method)(arm.job(), {"properties": change})) == expected
    assert stored()["format"] == "azure"


def test_put_without_a_schedule_runs_the_job_once_at_once(arm, in_berlin, clock):
    clock.shift(timedelta(minutes=5))

    job = properties(arm.put(arm.job(), body()))

    assert job["status"]["nextExecutionTime"] == "2026-01-01T00:05:00Z"
    assert (stored()["format"], stored()["definition"]) == ("azure", {})


def test_wrong_recurrence_is_refused_and_the_schedule_stays(arm, in_berlin):
    response = arm.put(arm.job(), body(startTime=FIRST, recurrence={"frequency": "Fortnight"}))

    assert refusal(response) == (400, "BadRequest", "properties.recurrence.frequency")
    assert stored()["definition"] == IN_BERLIN


def test_the_answer_of_an_older_schedule_is_a_new_schedule(arm, api, in_berlin):
    read = arm.get(arm.job()).json()
    api.patch(f"/api/jobs/{in_berlin.pk}", {"schedule": {"expression": "0 0 10 ? * MON-FRI"}})

    assert when(arm.put(arm.job(), read)) == (FIRST, None)
    assert stored()["format"] == "azure"
    assert stored()["next_fire_at"] == utc(FIRST)
