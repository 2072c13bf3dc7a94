"""Jobs that the API in the form of the resource manager refuses, with the wrong member."""

import pytest

from jobs.models import Job
from tests.conftest import ACTION, NOW
from tests.jobs.arm_jobs import FULL, body, refusal

pytestmark = pytest.mark.usefixtures("at_now")


@pytest.fixture
def ended_job(make_job):
    return Job.objects.filter(pk=make_job().pk).update(state="completed", finished_at=NOW)


@pytest.mark.parametrize(
    "document, target",
    [
        ({}, "properties"),
        ({"properties": None}, "properties"),
        ({"properties": "x"}, "properties"),
        ({"properties": {}}, "properties.action"),
        (body(action=[]), "properties.action"),
        (body(action={"type": "Http", "request": {**ACTION["request"], "uri": 1}}), "properties.action.request.uri"),
        (body(action={**ACTION, "retryPolicy": {"retryCount": 21}}), "properties.action.retryPolicy.retryCount"),
        (body(state="Completed"), "properties.state"),
        (body(state=True), "properties.state"),
        (body(state=["Enabled"]), "properties.state"),
        (body(startTime=1), "properties.startTime"),
        (body(startTime="tomorrow"), "properties.startTime"),
        (body(startTime="2030-01-01T00:00:00Z"), "properties.startTime"),  # more than 18 months ahead
        (body(startTime="0001-01-01T00:00:00+23:00"), "properties.startTime"),
        (body(recurrence=[]), "properties.recurrence"),
        (body(recurrence={}), "properties.recurrence.frequency"),
        (body(recurrence={"frequency": "Year"}), "properties.recurrence.frequency"),
        (body(recurrence={"frequency": "Day", "interval": True}), "properties.recurrence.interval"),
        (body(recurrence={"frequency": "Day", "interval": 0}), "properties.recurrence.interval"),
        (body(recurrence={"frequency": "Month", "interval": 19}), "properties.recurrence.interval"),
        (body(recurrence={"frequency": "Day", "count": "3"}), "properties.recurrence.count"),
        (body(recurrence={"frequency": "Day", "endTime": "2025-12-31"}), "properties.recurrence.endTime"),
        (body(recurrence={"frequency": "Day", "schedule": 1}), "properties.recurrence.schedule"),
        # the refusal that was recorded of the original service
        (
            body(recurrence={"frequency": "Week", "schedule": {"monthDays": [1]}}),
            "properties.recurrence.schedule.monthDays",
        ),
    ],
)
def test_wrong_member_of_a_job_is_refused_with_its_path(arm, collection, document, target):
    assert refusal(arm.put(arm.job(), document)) == (400, "BadRequest", target)
    assert not Job.objects.exists()


STRANGE = [
    None,
    True,
    0,
    -1,
    1.5,
    2**63 - 1,
    "",
    " " * 8,
    "ä" * 8,
    "a" * 9000,
    [],
    [None],
    [[]],
    {},
    {"a": {}},
    {"": 1},
]


def places(document, place=()):
    """Yield the paths of all members of a document, as tuples."""
    for name, value in document.items():
        yield (*place, name)
        if isinstance(value, dict):
            yield from places(value, (*place, name))


def replaced(document, place, value) -> dict:
    name, *rest = place
    return {**document, name: replaced(document[name], rest, value) if rest else value}


@pytest.mark.parametrize("place", list(places({"properties": FULL})), ids=".".join)
def test_any_value_of_a_member_is_accepted_or_refused(arm, collection, place):
    for value in STRANGE:
        response = arm.put(arm.job(), replaced({"properties": FULL}, place, value))

        assert response.status_code in (200, 201, 400), (value, response.content)
        assert response.status_code != 400 or response.json()["error"]["target"].startswith("properties")


@pytest.mark.parametrize("name", ["1st", "a b", "a.b", "a" * 101, "-a", "%E2%80%AEa", "<b>"])
def test_malformed_name_of_a_job_is_refused(arm, collection, name):
    assert arm.put(arm.job(name), body()).status_code == 400
    assert not Job.objects.exists()


def test_job_in_an_unknown_collection_is_refused(arm, collection):
    assert refusal(arm.put(arm.job("backup", "elsewhere"), body()))[:2] == (404, "ResourceNotFound")


def test_ended_job_cannot_be_changed(arm, ended_job):
    for response in (
        arm.put(arm.job(), body()),
        arm.patch(arm.job(), {"properties": {"state": "Enabled"}}),
        arm.patch(arm.job(), {"properties": {"action": ACTION}}),
    ):
        assert refusal(response)[:2] == (409, "ConflictError")


def test_ended_job_can_be_deleted_and_created_again(arm, ended_job):
    assert arm.delete(arm.job()).status_code == 200
    assert arm.put(arm.job(), body()).status_code == 201
