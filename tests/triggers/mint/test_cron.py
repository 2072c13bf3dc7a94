"""What Apigee's clients change in a cron trigger."""

from datetime import timedelta

import pytest

from tests.conftest import NOW
from tests.triggers.mint.triggers import CHARGE_ID, CRON, LIST, read_again, refusal, state_of
from triggers.scheduling import save_collection


def test_changed_expression_applies_from_now_on(put, make_trigger):
    trigger = make_trigger()

    response = put(CHARGE_ID, cronExpression="0 0/5 * * * ?")

    changed = read_again(trigger)
    assert (response.status_code, response.json()["cronExpression"]) == (200, "0 0/5 * * * ?")
    assert changed.definition == {"expression": "0 0/5 * * * ?"}
    assert changed.next_fire_at > changed.updated_at
    assert changed.next_fire_at - changed.updated_at <= timedelta(minutes=5)
    assert response.json()["updatedDate"] >= response.json()["createdDate"]


def test_disabled_trigger_does_not_fire_and_continues_when_it_is_enabled(put, make_trigger):
    trigger = make_trigger()

    assert put(CHARGE_ID, enabled=False).json()["enabled"] is False
    disabled = read_again(trigger)
    assert (disabled.enabled, disabled.next_fire_at, disabled.definition) == (False, None, CRON["definition"])

    assert put(CHARGE_ID, enabled=True).json()["enabled"] is True
    enabled = read_again(trigger)
    assert (enabled.next_fire_at.hour, enabled.next_fire_at.minute) == (1, 20)
    assert enabled.next_fire_at > enabled.updated_at


def test_other_members_of_the_body_are_ignored(api, put, make_trigger):
    trigger = make_trigger(priority=3)
    before = api.get(f"{LIST}/{CHARGE_ID}").json()

    response = put(
        CHARGE_ID,
        name="other",
        jobId="other",
        group="other",
        suiteId=["other"],
        priority="high",
        startTime={"a": 1},
        endTime=True,
        triggerDataMap="no object",
        createdDate="x",
        updatedDate=None,
        unknown=1,
    )

    assert response.json() == before | {"updatedDate": response.json()["updatedDate"]}
    assert read_again(trigger).priority == 3


def test_returned_trigger_can_be_sent_back(api, make_trigger):
    trigger = make_trigger(
        format="quartz", definition={"expression": "0 20 1 * * ?", "timeZone": "Europe/Berlin", "clockChange": "quartz"}
    )
    document = api.get(f"{LIST}/{CHARGE_ID}").json()

    response = api.put(f"{LIST}/{CHARGE_ID}", document)

    assert response.json() == document | {"updatedDate": response.json()["updatedDate"]}
    assert read_again(trigger).next_fire_at == trigger.next_fire_at
    assert read_again(trigger).definition == trigger.definition


def test_changed_expression_keeps_the_time_zone(put, make_trigger):
    trigger = make_trigger(definition={"expression": "0 20 1 * * ?", "timeZone": "Europe/Berlin"})

    put(CHARGE_ID, cronExpression="0 20 2 * * ?")

    assert read_again(trigger).definition == {"expression": "0 20 2 * * ?", "timeZone": "Europe/Berlin"}


@pytest.mark.parametrize("expression", ["0 15 10 ? * 6L 2013-2015", "0 15 10 ? * FRIL 2013"])
def test_an_expression_that_never_fires_again_is_accepted(put, make_trigger, expression):
    trigger = make_trigger()

    assert put(CHARGE_ID, cronExpression=expression).json()["cronExpression"] == expression
    assert (read_again(trigger).enabled, read_again(trigger).next_fire_at) == (True, None)


@pytest.mark.parametrize(
    "members, member",
    [
        ({"cronExpression": "0 20 1 * *"}, "cronExpression"),
        ({"cronExpression": "0 20 1 * * QUA"}, "cronExpression"),
        ({"cronExpression": "x" * 300}, "cronExpression"),
        ({"cronExpression": ""}, "cronExpression"),
        ({"cronExpression": 5}, "cronExpression"),
        ({"enabled": "true"}, "enabled"),
        ({"enabled": 1}, "enabled"),
        ({"enabled": []}, "enabled"),
    ],
)
def test_a_wrong_member_of_a_cron_trigger_is_a_400_that_names_it(put, make_trigger, members, member):
    make_trigger()
    before = state_of()

    status, body = refusal(put(CHARGE_ID, **members))

    assert (status, body["message"].partition(":")[0]) == (400, member)
    assert state_of() == before


def test_quota_of_the_collection_applies(put, make_trigger, collection):
    collection.max_recurrence_frequency, collection.max_recurrence_interval = "hour", 1
    save_collection(collection, NOW)
    make_trigger()

    status, body = refusal(put(CHARGE_ID, cronExpression="0 * * * * ?"))

    assert (status, body["code"]) == (409, "quota_exceeded")
