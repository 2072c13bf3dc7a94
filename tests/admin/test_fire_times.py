"""The page that leaves out, moves and adds single fire times of a trigger."""

import pytest
import time_machine
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import Role, Subscription
from tests.conftest import NOW, utc
from triggers.models import Trigger
from triggers.upcoming import next_fire_times

DAILY = {"expression": "0 0 8 * * ?"}


@pytest.fixture(autouse=True)
def clock():
    with time_machine.travel(NOW, tick=False) as clock:
        yield clock


@pytest.fixture
def trigger(make_job, make_trigger):
    return make_trigger(make_job(schedule=None), "daily", definition=DAILY)


@pytest.fixture
def page(client, owner):
    client.force_login(owner)

    def page(trigger: Trigger, **order):
        address = f"/admin/triggers/trigger/{trigger.pk}/fire-times/"
        return client.post(address, order, follow=True) if order else client.get(address)

    return page


def days(trigger: Trigger, count: int = 3) -> list[str]:
    return [f"{fire:%d %H:%M}" for fire in next_fire_times([Trigger.objects.get(pk=trigger.pk)], count)]


@pytest.mark.parametrize("kind", ["own", "additional"])
def test_run_is_left_out_and_brought_back(page, trigger, make_job, kind):
    if kind == "own":
        trigger = make_job("own", schedule=DAILY, format="quartz").triggers.get()

    assertContains(page(trigger, order="skip", at="2026-01-02T08:00:00Z"), "The run is left out.")
    assert days(trigger) == ["01 08:00", "03 08:00", "04 08:00"]
    assert Trigger.objects.get(pk=trigger.pk).definition["skips"] == ["2026-01-02T08:00:00Z"]

    assertContains(page(trigger, order="undo", exception="2026-01-02T08:00:00Z"), "The exception is removed.")
    assert days(trigger) == ["01 08:00", "02 08:00", "03 08:00"]
    assert Trigger.objects.get(pk=trigger.pk).definition == DAILY


def test_run_is_moved_and_the_moved_run_is_left_out(page, trigger):
    assertContains(page(trigger, order="move", at="2026-01-02T08:00:00Z", to="2026-01-02T10:30"), "The run is moved.")
    assert days(trigger) == ["01 08:00", "02 10:30", "03 08:00"]

    page(trigger, order="skip", at="2026-01-02T10:30:00Z")
    assert days(trigger) == ["01 08:00", "03 08:00", "04 08:00"]
    assert "extras" not in Trigger.objects.get(pk=trigger.pk).definition


def test_run_is_added_and_a_run_that_was_left_out_can_be_added_again(page, trigger):
    assertContains(page(trigger, order="add", to="2026-01-01T12:00"), "The run is added.")
    assert days(trigger) == ["01 08:00", "01 12:00", "02 08:00"]

    page(trigger, order="skip", at="2026-01-02T08:00:00Z")
    page(trigger, order="add", to="2026-01-02T08:00")
    assert days(trigger) == ["01 08:00", "01 12:00", "02 08:00"]
    assert "skips" not in Trigger.objects.get(pk=trigger.pk).definition


def test_left_out_run_of_a_counted_schedule_keeps_the_count(page, make_job):
    schedule = {"startTime": "2026-01-02T08:00:00Z", "recurrence": {"frequency": "Day", "count": 3}}
    trigger = make_job("counted", schedule=schedule).triggers.get()

    page(trigger, order="skip", at="2026-01-03T08:00:00Z")

    assert days(trigger, 9) == ["02 08:00", "04 08:00", "05 08:00"]


@pytest.mark.parametrize(
    "order",
    [
        {"order": "skip"},
        {"order": "skip", "at": "2026-01-02T09:00:00Z"},
        {"order": "skip", "at": "2025-12-31T08:00:00Z"},
        {"order": "skip", "at": "\0"},
        {"order": "move", "at": "2026-01-02T08:00:00Z"},
        {"order": "move", "at": "2026-01-02T08:00:00Z", "to": "2025-01-02T08:00"},
        {"order": "add", "to": "x"},
        {"order": "add"},
        {"order": "unknown", "at": "2026-01-02T08:00:00Z"},
    ],
)
def test_wrong_order_is_refused_and_changes_nothing(page, trigger, order):
    response = page(trigger, **order)

    assert response.status_code == 200
    assertContains(response, 'data-state="failure"')
    assert Trigger.objects.get(pk=trigger.pk).definition == DAILY


def test_run_on_a_closed_day_is_left_out_by_its_nominal_time(page, api, trigger, make_trigger):
    api.post("/api/closed-days", {"name": "offices", "weekend": ["saturday", "sunday"]})
    friday = {"expression": "0 0 8 3 1 ?", "closedDays": {"calendar": "offices", "rule": "after"}}
    moved = make_trigger(trigger.job, "moved", definition=friday)
    assert days(moved, 1) == ["05 08:00"]

    page(moved, order="skip", at="2026-01-05T08:00:00Z")

    assert Trigger.objects.get(pk=moved.pk).definition["skips"] == ["2026-01-03T08:00:00Z"]
    assert next_fire_times([Trigger.objects.get(pk=moved.pk)], 1) == [utc("2027-01-04T08:00:00Z")]


def test_operators_see_links_and_readers_do_not(client, page, make_user, trigger):
    address = f"/admin/triggers/trigger/{trigger.pk}/fire-times/"
    job_page = f"/admin/jobs/job/{trigger.job_id}/"
    page(trigger)
    assertContains(client.get(job_page), f"{address}?at=2026-01-01T08:00:00Z")
    assertContains(client.get(f"{address}?at=2026-01-02T08:00:00Z"), 'value="2026-01-02T08:00:00Z" checked')

    client.force_login(make_user("bob", role=Role.READER, is_staff=True))
    assertNotContains(client.get(job_page), address)
    assert client.get(address).status_code == 403

    other = Subscription.objects.create(name="other")
    client.force_login(make_user("eve", in_subscription=other, is_staff=True))
    assert client.post(address, {"order": "skip", "at": "2026-01-02T08:00:00Z"}).status_code == 404
    assert days(trigger, 2) == ["01 08:00", "02 08:00"]
