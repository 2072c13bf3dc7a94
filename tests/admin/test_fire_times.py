"""The page that leaves out, moves and adds single fire times of a trigger."""

import html
import re

import pytest
import time_machine
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import Role, Subscription
from tests.conftest import NOW, utc
from triggers.dispatch import dispatch_due
from triggers.models import Trigger
from triggers.scheduling import change_definition
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

    assertContains(page(trigger, order="revert", added_skip="2026-01-02T08:00:00Z"), "The change is undone.")
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
    assertContains(client.get(job_page), f"{address}?at=2026-01-01T08%3A00%3A00%2B00%3A00&amp;next={job_page}")
    assertContains(client.get(f"{address}?at=2026-01-02T08:00:00Z"), 'value="2026-01-02T08:00:00+00:00" checked')

    client.force_login(make_user("bob", role=Role.READER, is_staff=True))
    assertNotContains(client.get(job_page), address)
    assert client.get(address).status_code == 403

    other = Subscription.objects.create(name="other")
    client.force_login(make_user("eve", in_subscription=other, is_staff=True))
    assert client.post(address, {"order": "skip", "at": "2026-01-02T08:00:00Z"}).status_code == 404
    assert days(trigger, 2) == ["01 08:00", "02 08:00"]


# Undo, and the way back


def undo_fields(response) -> dict[str, list[str]]:
    """Return the fields of the form with the button Undo."""
    form = re.search(r'<form class="undo".*?</form>', response.text, re.DOTALL)[0]
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form):
        fields.setdefault(name, []).append(html.unescape(value))
    return fields


def test_undo_of_a_move_restores_both_halves(page, trigger):
    fields = undo_fields(page(trigger, order="move", at="2026-01-02T08:00:00Z", to="2026-01-02T10:30"))

    response = page(trigger, **fields)

    assertContains(response, "The change is undone.")
    assertNotContains(response, 'class="undo"')
    assert Trigger.objects.get(pk=trigger.pk).definition == DAILY


def test_undo_leaves_other_exceptions_as_they_are(page, trigger):
    page(trigger, order="skip", at="2026-01-01T08:00:00Z")
    page(trigger, order="add", to="2026-01-01T12:00")
    fields = undo_fields(page(trigger, order="move", at="2026-01-01T12:00:00Z", to="2026-01-01T08:00"))
    assert days(trigger, 2) == ["01 08:00", "02 08:00"]

    page(trigger, **fields)

    definition = Trigger.objects.get(pk=trigger.pk).definition
    assert (definition["skips"], definition["extras"]) == (["2026-01-01T08:00:00Z"], ["2026-01-01T12:00:00Z"])


def test_exceptions_are_listed_in_words_and_undone_together(page, trigger, owner):
    type(owner).objects.update(time_zone="Europe/Berlin")
    page(trigger, order="move", at="2026-01-02T08:00:00Z", to="2026-01-02T10:30")
    change_definition(trigger, lambda definition: {**definition, "skips": [*definition["skips"], "2026-02-01"]}, NOW)

    response = page(trigger)
    rows = response.context["exceptions"]

    assert [(each["name"], each["words"]) for each in rows] == [
        ("added_skip", "Left out: Fri 2 January, 09:00"),
        ("added_extra", "Added: Fri 2 January, 11:30"),
        ("added_skip", "Left out: Sun 1 February 2026, the whole day"),
    ]
    assertContains(response, "Left out: Fri 2 January, 09:00")
    assertContains(page(trigger, order="revert", **{each["name"]: each["text"] for each in rows[:2]}), "undone")
    assert Trigger.objects.get(pk=trigger.pk).definition == DAILY | {"skips": ["2026-02-01"]}


def test_undo_of_nothing_is_refused(page, trigger):
    assertContains(page(trigger, order="revert"), "Choose what to undo.")


@pytest.mark.parametrize(
    "fields", [{"removed_skip": "never"}, {"added_skip": ["2026-01-01"] * 201}, {"added_extra": "x" * 41}]
)
def test_wrong_undo_is_refused_and_changes_nothing(page, trigger, fields):
    assertContains(page(trigger, order="revert", **fields), 'data-state="failure"')
    assert Trigger.objects.get(pk=trigger.pk).definition == DAILY


@pytest.mark.parametrize("address", ["/calendar/?view=week", "/admin/", "/admin/jobs/job/1/"])
def test_changes_lead_back_to_the_page_from_which_they_came(client, page, trigger, address):
    page(trigger)
    own = f"/admin/triggers/trigger/{trigger.pk}/fire-times/"

    response = client.post(own, {"order": "skip", "at": "2026-01-02T08:00:00Z", "next": address})

    assert (response.status_code, response["Location"]) == (302, address)
    assertContains(client.get(own, {"next": address}), f'name="next" value="{address}"')


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "calendar/", "/" * 3_000],
)
def test_changes_lead_to_no_other_site(client, page, trigger, address):
    page(trigger)
    own = f"/admin/triggers/trigger/{trigger.pk}/fire-times/"

    response = client.post(own, {"order": "skip", "at": "2026-01-02T08:00:00Z", "next": address})

    assert (response.status_code, response["Location"]) == (302, own)


def test_new_time_is_read_in_the_zone_of_the_page(page, trigger, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    assertContains(page(trigger), "Move it to, in Europe/Berlin")

    page(trigger, order="move", at="2026-01-02T09:00:00+01:00", to="2026-01-02T10:30", zone="Europe/Berlin")

    assert days(trigger) == ["01 08:00", "02 09:30", "03 08:00"]
    assertContains(page(trigger, order="add", to="2026-01-02T10:30", zone="Mars"), 'data-state="failure"')
    assertContains(page(trigger, order="add", to="0001-01-01T00:00", zone="Europe/Berlin"), 'data-state="failure"')


def test_later_fire_time_can_be_chosen(page, client, trigger):
    page(trigger)
    own = f"/admin/triggers/trigger/{trigger.pk}/fire-times/"

    assertContains(client.get(own, {"at": "2026-03-01T08:00:00Z"}), 'value="2026-03-01T08:00:00+00:00" checked')
    assertNotContains(client.get(own, {"at": "2026-03-01T08:01:00Z"}), " checked")


def test_lists_say_from_where_closed_days_moved_a_run(page, api, client, trigger, make_trigger):
    api.post("/api/closed-days", {"name": "offices", "weekend": ["saturday", "sunday"]})
    definition = {"expression": "0 0 8 3 1 ?", "closedDays": {"calendar": "offices", "rule": "after"}}
    moved = make_trigger(trigger.job, "moved", definition={**definition, "jitter": "PT10M"})

    for response in (page(moved), client.get(f"/admin/jobs/job/{trigger.job_id}/")):
        assertContains(response, "moved from Sat 3 January, 08:00")
        assertContains(response, "starts between 08:00 and 08:10")


def test_run_that_exists_can_not_be_left_out(client, page, trigger, clock):
    definition = {"expression": "0 0 8 * * ?", "jitter": "PT10H"}
    Trigger.objects.filter(pk=trigger.pk).update(definition=definition)
    trigger.refresh_from_db()
    dispatch_due(utc("2026-01-01T08:00Z"))
    clock.move_to(utc("2026-01-01T08:00Z"))
    page(trigger)

    text = client.get(f"/admin/jobs/job/{trigger.job_id}/").text

    assert "starts at" in text
    assert "?at=2026-01-01T08" not in text
    assert "?at=2026-01-02T08" in text
