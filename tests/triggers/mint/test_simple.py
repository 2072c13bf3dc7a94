"""What Apigee's clients change in a simple trigger."""

import pytest

from tests.conftest import utc
from tests.triggers.mint.triggers import ADHOC, ADHOC_ID, LIST, SIMPLE, START, read_again, refusal, state_of
from triggers.models import Trigger


@pytest.mark.parametrize("text", ["1924992000000", 1924992000000])
def test_start_and_end_can_be_texts_or_numbers(put, make_trigger, text):
    trigger = make_trigger(ADHOC, **SIMPLE)

    document = put(ADHOC_ID, startTime=text, endTime=1924992100000).json()

    assert (document["startTime"], document["endTime"]) == ("1924992000000", "1924992100000")
    assert read_again(trigger).next_fire_at == utc("2031-01-01T00:00:00Z")
    assert "endTime" not in put(ADHOC_ID, endTime="").json()


@pytest.mark.parametrize("priority, stored", [("7", 7), (7, 7), ("0", 0), (None, 1)])
def test_priority_can_be_a_text_or_a_number(put, make_trigger, priority, stored):
    trigger = make_trigger(ADHOC, **SIMPLE)

    assert put(ADHOC_ID, priority=priority).json()["priority"] == str(stored)
    assert read_again(trigger).priority == stored


def test_data_map_is_replaced_together_with_its_lock_key(put, make_trigger, subscription):
    trigger = make_trigger(ADHOC, **SIMPLE)
    data_map = {"custom_lock_key": "__ORG_ID__.other", "note": {"a": [1]}}

    assert put(ADHOC_ID, triggerDataMap=data_map).json()["triggerDataMap"] == data_map
    assert f"{subscription.pk}.other" in read_again(trigger).lock_key
    assert put(ADHOC_ID, triggerDataMap={}).json()["triggerDataMap"] == {}
    assert read_again(trigger).lock_key is None


def test_omitted_and_null_members_are_unchanged(api, put, make_trigger):
    make_trigger(ADHOC, format="simple", definition={"startTime": START, "interval": 86_400_000, "repeatCount": -1})
    before = api.get(f"{LIST}/{ADHOC_ID}").json()

    response = put(ADHOC_ID, startTime=None, priority=None, triggerDataMap=None, enabled=None, cronExpression=None)

    assert response.json() == before | {"updatedDate": response.json()["updatedDate"]}
    assert Trigger.objects.get().definition == {"startTime": START, "interval": 86_400_000, "repeatCount": -1}


def test_start_in_the_past_creates_no_run(put, make_trigger):
    trigger = make_trigger("OURS@@@g@@@S", **SIMPLE)

    assert put("OURS@@@g@@@S@@@g@@@S", enabled=False).status_code == 200
    assert put("OURS@@@g@@@S@@@g@@@S", enabled=True).status_code == 200

    assert (trigger.next_fire_at, read_again(trigger).next_fire_at) == (None, None)


def test_enabled_event_trigger_gets_a_new_start(put, make_trigger):
    trigger = make_trigger(ADHOC, **SIMPLE, enabled=False)

    document = put(ADHOC_ID, enabled=True, startTime=START).json()

    fire = read_again(trigger).next_fire_at
    assert (fire.hour, fire.minute) == (21, 0)
    assert document["startTime"] == str(round(fire.timestamp() * 1000))


def test_enabled_event_trigger_keeps_a_start_in_the_future(put, make_trigger):
    make_trigger(ADHOC, **SIMPLE, enabled=False)

    assert put(ADHOC_ID, enabled=True, startTime="1924992000000").json()["startTime"] == "1924992000000"


def test_expression_turns_a_simple_trigger_into_a_cron_trigger(put, make_trigger):
    trigger = make_trigger(ADHOC, **SIMPLE)

    document = put(ADHOC_ID, cronExpression="0 0 21 * * ?", priority="2").json()

    assert (document["cronExpression"], document["priority"]) == ("0 0 21 * * ?", "2")
    assert "startTime" not in document
    assert (read_again(trigger).format, read_again(trigger).next_fire_at.hour) == ("quartz", 21)


@pytest.mark.parametrize(
    "members, member",
    [
        ({"startTime": "soon"}, "startTime"),
        ({"startTime": True}, "startTime"),
        ({"startTime": 1.5}, "startTime"),
        ({"startTime": []}, "startTime"),
        ({"startTime": 10**15}, "startTime"),
        ({"startTime": "9" * 15}, "startTime"),
        ({"endTime": {}}, "endTime"),
        ({"startTime": "2000", "endTime": "1000"}, "endTime"),
        ({"priority": "high"}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": ""}, "priority"),
        ({"priority": -1}, "priority"),
        ({"priority": "-1"}, "priority"),
        ({"priority": 2**15}, "priority"),
        ({"priority": "9" * 9}, "priority"),
        ({"triggerDataMap": []}, "triggerDataMap"),
        ({"triggerDataMap": {"custom_lock_key": 5}}, "triggerDataMap.custom_lock_key"),
        ({"triggerDataMap": {"custom_lock_key": "x" * 200}}, "triggerDataMap.custom_lock_key"),
        ({"cronExpression": "every day"}, "cronExpression"),
        ({"enabled": "no"}, "enabled"),
    ],
)
def test_a_wrong_member_of_a_simple_trigger_is_a_400_that_names_it(put, make_trigger, members, member):
    make_trigger(ADHOC, **SIMPLE)
    before = state_of()

    status, body = refusal(put(ADHOC_ID, **members))

    assert (status, body["message"].partition(":")[0]) == (400, member)
    assert state_of() == before
