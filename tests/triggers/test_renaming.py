"""Triggers are renamed by PUT and PATCH of our own API."""

import pytest

from jobs.models import Run
from tests.conftest import NOW
from triggers.dispatch import dispatch_due
from triggers.models import Trigger


@pytest.fixture
def trigger(make_job, make_trigger):
    return make_trigger(make_job(), "hourly")


@pytest.fixture
def address(trigger):
    return f"/api/triggers/{trigger.pk}"


def refused(response) -> tuple[int, str | None]:
    return response.status_code, response.json()["error"]["target"]


def test_patch_renames_a_trigger_and_keeps_its_fire_times(api, address, trigger):
    before = api.get(address)

    response = api.patch(address, {"name": "each-hour"})

    assert response.status_code == 200, response.content
    assert response.json()["name"] == "each-hour"
    assert response["ETag"] != before["ETag"]
    stays = {name: value for name, value in before.json().items() if name not in ("name", "updatedAt")}
    assert stays.items() <= response.json().items()
    assert api.get(address).json() == response.json()
    assert Trigger.objects.get(pk=trigger.pk).anchored_at == trigger.anchored_at


def test_other_members_of_a_trigger_can_change_together_with_its_name(api, address):
    trigger = api.patch(
        address, {"name": "each-hour", "priority": 1, "schedule": {"expression": "0 30 * * * ?"}}
    ).json()

    assert (trigger["name"], trigger["priority"]) == ("each-hour", 1)
    assert trigger["schedule"]["expression"] == "0 30 * * * ?"


def test_put_renames_a_trigger_too_and_keeps_an_omitted_name(api, address):
    read = api.get(address).json()

    renamed = api.put(address, {"schedule": read["schedule"], "name": "each-hour"}).json()
    unnamed = api.put(address, {"schedule": read["schedule"]}).json()

    assert [each["name"] for each in (renamed, unnamed)] == ["each-hour", "each-hour"]


@pytest.mark.parametrize(
    "name, status", [("nightly", 409), ("default", 400), ("-no", 400), ("", 400), ("x" * 101, 400)]
)
def test_name_of_a_trigger_that_is_taken_or_malformed_is_refused(api, address, trigger, make_trigger, name, status):
    make_trigger(trigger.job, "nightly")

    assert refused(api.patch(address, {"name": name, "priority": 1})) == (status, "name")
    assert Trigger.objects.get(name="hourly").priority == 5


def test_own_schedule_of_a_job_cannot_be_renamed(api, trigger):
    main = Trigger.objects.get(name="default")

    response = api.patch(f"/api/triggers/{main.pk}", {"name": "daily"})

    assert response.status_code == 409
    assert "fixed name" in response.json()["error"]["message"]
    assert Trigger.objects.get(pk=main.pk).name == "default"


def test_earlier_runs_keep_the_old_name_of_a_trigger_and_later_ones_have_the_new_one(api, address, trigger):
    Trigger.objects.filter(pk=trigger.pk).update(next_fire_at=NOW)
    dispatch_due(NOW)

    api.patch(address, {"name": "each-hour"})
    later = Trigger.objects.get(pk=trigger.pk).next_fire_at
    dispatch_due(later)

    runs = Run.objects.filter(occurrence__isnull=False).order_by("fire_at")
    assert list(runs.values_list("trigger_name", "fire_at")) == [("hourly", NOW), ("each-hour", later)]
    runs_of_job = api.get(f"/api/runs?job={trigger.job_id}&order=oldest").json()["value"]
    assert [each["trigger"] for each in runs_of_job] == ["hourly", "each-hour"]


def test_due_fire_time_is_not_lost_when_a_deleted_trigger_had_the_new_name(api, trigger, make_trigger):
    """A job has at most one run for each trigger name and fire time."""
    former = make_trigger(trigger.job, "nightly")
    Trigger.objects.filter(name__in=["hourly", "nightly"]).update(next_fire_at=NOW)
    Trigger.objects.filter(name="hourly").update(next_fire_at=None)
    dispatch_due(NOW)
    Trigger.objects.filter(name="hourly").update(next_fire_at=NOW)
    api.delete(f"/api/triggers/{former.pk}")

    early = api.patch(f"/api/triggers/{trigger.pk}", {"name": "nightly"})
    dispatch_due(NOW)
    late = api.patch(f"/api/triggers/{trigger.pk}", {"name": "nightly"})

    assert refused(early) == (409, "name")
    assert late.status_code == 200
    assert set(Run.objects.values_list("trigger_name", "fire_at")) == {("nightly", NOW), ("hourly", NOW)}
