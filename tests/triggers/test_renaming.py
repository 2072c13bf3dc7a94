"""Triggers get other names by PUT and PATCH of our own API."""

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


def test_a_trigger_is_renamed_and_goes_on_where_it_stands(api, address, trigger):
    before = api.get(address)

    response = api.patch(address, {"name": "each-hour"})

    assert response.status_code == 200, response.content
    assert response.json()["name"] == "each-hour"
    assert response["ETag"] != before["ETag"]
    stays = {name: value for name, value in before.json().items() if name not in ("name", "updatedAt")}
    assert stays.items() <= response.json().items()
    assert api.get(address).json() == response.json()
    assert Trigger.objects.get(pk=trigger.pk).anchored_at == trigger.anchored_at


def test_other_members_change_along_with_the_name(api, address):
    trigger = api.patch(
        address, {"name": "each-hour", "priority": 1, "schedule": {"expression": "0 30 * * * ?"}}
    ).json()

    assert (trigger["name"], trigger["priority"]) == ("each-hour", 1)
    assert trigger["schedule"]["expression"] == "0 30 * * * ?"


def test_a_trigger_is_renamed_by_put_as_well_and_keeps_a_name_that_is_left_out(api, address):
    read = api.get(address).json()

    renamed = api.put(address, {"schedule": read["schedule"], "name": "each-hour"}).json()
    kept = api.put(address, {"schedule": read["schedule"]}).json()

    assert [each["name"] for each in (renamed, kept)] == ["each-hour", "each-hour"]


@pytest.mark.parametrize(
    "name, status", [("nightly", 409), ("default", 400), ("-no", 400), ("", 400), ("x" * 101, 400)]
)
def test_a_name_that_is_taken_or_wrong_is_refused(api, address, trigger, make_trigger, name, status):
    make_trigger(trigger.job, "nightly")

    assert refused(api.patch(address, {"name": name, "priority": 1})) == (status, "name")
    assert Trigger.objects.get(name="hourly").priority == 5


def test_the_schedule_in_the_job_itself_has_no_other_name(api, trigger):
    main = Trigger.objects.get(name="default")

    response = api.patch(f"/api/triggers/{main.pk}", {"name": "daily"})

    assert response.status_code == 409
    assert "no other name" in response.json()["error"]["message"]
    assert Trigger.objects.get(pk=main.pk).name == "default"


def test_runs_of_before_keep_the_name_and_later_ones_have_the_new_one(api, address, trigger):
    Trigger.objects.filter(pk=trigger.pk).update(next_fire_at=NOW)
    dispatch_due(NOW)

    api.patch(address, {"name": "each-hour"})
    later = Trigger.objects.get(pk=trigger.pk).next_fire_at
    dispatch_due(later)

    runs = Run.objects.filter(occurrence__isnull=False).order_by("fire_at")
    assert list(runs.values_list("trigger_name", "fire_at")) == [("hourly", NOW), ("each-hour", later)]
    listed = api.get(f"/api/runs?job={trigger.job_id}&order=oldest").json()["value"]
    assert [each["trigger"] for each in listed] == ["hourly", "each-hour"]


def test_a_fire_time_that_is_due_is_not_lost_to_a_run_of_a_former_trigger_of_that_name(api, trigger, make_trigger):
    """A job has one run for each fire time of a name."""
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
