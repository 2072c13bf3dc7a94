"""Conditional requests on triggers, and which writes create a new version."""

import pytest
import time_machine

from tests.conftest import NOW
from triggers import scheduling
from triggers.models import Trigger

OTHER = '"999-20260101000000000000/0123456789abcdef"'


@pytest.fixture
def trigger(make_job, make_trigger):
    return make_trigger(make_job(), "hourly", data_map={"colour": "red"})


@pytest.fixture
def address(trigger):
    return f"/api/triggers/{trigger.pk}"


# Writes that create a new version


@pytest.mark.parametrize(
    "write",
    [
        lambda api, address, read: api.put(address, {**read, "schedule": read["schedule"]}),
        lambda api, address, read: api.patch(address, {}),
        lambda api, address, read: api.patch(address, {"priority": 5, "name": "hourly"}),
        lambda api, address, read: api.patch(address, {"schedule": {"expression": "0 0 * * * ?"}}),
        lambda api, address, read: api.post(f"{address}/enable"),
    ],
    ids=["put", "empty patch", "patch", "patch of the schedule", "enable"],
)
def test_write_that_changes_nothing_creates_no_new_version(api, address, write):
    before = api.get(address)

    response = write(api, address, before.json())

    assert response.status_code == 200, response.content
    assert (response.json(), response["ETag"]) == (before.json(), before["ETag"])
    assert (api.get(address).json(), api.get(address)["ETag"]) == (before.json(), before["ETag"])


@pytest.mark.parametrize("method", ["put", "patch"])
@pytest.mark.parametrize(
    "format, stored",
    [
        ("simple", {"startTime": "2026-12-01T21:00:00.000Z", "interval": 86_400_000, "endTime": None}),
        ("quartz", {"expression": "0  0 9 * * ?", "timeZone": "W. Europe Standard Time"}),
    ],
)
def test_trigger_stored_in_another_spelling_keeps_its_version(api, make_job, make_trigger, method, format, stored):
    trigger = make_trigger(make_job(), format=format, definition=stored)
    address = f"/api/triggers/{trigger.pk}"
    before = api.get(address)

    response = getattr(api, method)(address, before.json())

    assert response.status_code == 200, response.content
    assert (response.json(), response["ETag"]) == (before.json(), before["ETag"])


@pytest.mark.parametrize(
    "write",
    [
        lambda api, address: api.patch(address, {"priority": 1}),
        lambda api, address: api.patch(address, {"triggerDataMap": {"colour": "blue"}}),
        lambda api, address: api.patch(address, {"schedule": {"expression": "0 30 * * * ?"}}),
        lambda api, address: api.patch(address, {"misfireThreshold": "PT2M"}),
        lambda api, address: api.post(f"{address}/disable"),
    ],
    ids=["priority", "data map", "schedule", "threshold", "disable"],
)
def test_change_of_a_trigger_creates_a_new_version(api, address, write):
    before = api.get(address)

    response = write(api, address)

    assert response["ETag"].partition("/")[0] != before["ETag"].partition("/")[0]
    assert response.json()["updatedAt"] > before.json()["updatedAt"]


@pytest.mark.parametrize("method", ["put", "patch"])
def test_unchanged_write_of_a_job_keeps_the_version_of_its_own_schedule(api, make_job, method):
    job = make_job()
    main = f"/api/triggers/{Trigger.objects.get().pk}"
    address = f"/api/jobs/{job.pk}"
    before, own = api.get(address), api.get(main)

    body = before.json() if method == "put" else {"recurrence": {"frequency": "Day"}}
    response = getattr(api, method)(address, body)

    assert (response.status_code, response["ETag"]) == (200, before["ETag"])
    assert (api.get(main).json(), api.get(main)["ETag"]) == (own.json(), own["ETag"])


def test_disabling_and_enabling_a_job_creates_no_new_version_of_its_triggers(make_job, make_trigger):
    trigger = make_trigger(make_job())

    for state in ("disabled", "enabled"):
        scheduling.set_job_state(trigger.job, state, NOW)

    assert Trigger.objects.get(pk=trigger.pk).updated_at == trigger.updated_at


# Reading


def test_unchanged_trigger_is_not_modified(api, address):
    tag = api.get(address)["ETag"]

    for sent in (tag, f"W/{tag}", f"{OTHER}, {tag}", "*"):
        response = api.get(address, headers={"If-None-Match": sent})
        assert (response.status_code, response.content, response["ETag"]) == (304, b"", tag)
    assert api.get(address, headers={"If-None-Match": OTHER}).status_code == 200
    assert api.get(address, headers={"If-None-Match": "bare"}).status_code == 400


def test_run_changes_the_etag_of_a_trigger_but_not_the_version_for_writes(api, address, trigger):
    known = api.get(address)["ETag"]
    Trigger.objects.filter(pk=trigger.pk).update(previous_fire_at=NOW)

    seen = api.get(address, headers={"If-None-Match": known})
    written = api.patch(address, {"priority": 1}, headers={"If-Match": known})

    assert (seen.status_code, seen.json()["previousFireAt"]) == (200, "2026-01-01T00:00:00Z")
    assert written.status_code == 200


# Writing


@pytest.mark.parametrize(
    "call",
    [
        lambda api, address, headers: api.patch(address, {"priority": 1}, headers=headers),
        lambda api, address, headers: api.put(
            address, {"schedule": {"format": "once", "at": "2027-01-01T00:00:00Z"}}, headers=headers
        ),
        lambda api, address, headers: api.delete(address, headers=headers),
        lambda api, address, headers: api.post(f"{address}/disable", headers=headers),
    ],
    ids=["PATCH", "PUT", "DELETE", "POST"],
)
@pytest.mark.parametrize(
    "headers, is_done",
    [
        ({"If-Match": "current"}, True),
        ({"If-Match": "*"}, True),
        ({"If-None-Match": OTHER}, True),
        ({"If-Match": OTHER}, False),
        ({"If-None-Match": "*"}, False),
        ({"If-None-Match": "current"}, False),
    ],
)
def test_write_of_a_trigger_requires_the_current_version(api, address, call, headers, is_done):
    before = api.get(address)
    sent = {name: before["ETag"] if value == "current" else value for name, value in headers.items()}

    response = call(api, address, sent)

    assert response.status_code in ((200, 204) if is_done else (412,))
    if not is_done:
        assert api.get(address).json() == before.json()


def test_one_of_two_writes_with_the_same_etag_succeeds(api, address):
    tag = api.get(address)["ETag"]

    with time_machine.travel(NOW):  # even if the clock is set back
        first = api.patch(address, {"priority": 1}, headers={"If-Match": tag})
    second = api.patch(address, {"priority": 2}, headers={"If-Match": tag})

    assert (first.status_code, second.status_code) == (200, 412)
