"""Apigee's triggers interface: the list, and single triggers."""

from urllib.parse import quote

import pytest

from tests.conftest import NOW
from tests.triggers.mint.triggers import (
    ADHOC,
    ADHOC_ID,
    CHARGE,
    CHARGE_ID,
    LIST,
    SIMPLE,
    START,
)
from triggers.mint import jobs


def test_a_cron_trigger_has_the_published_members_and_types(api, make_trigger):
    trigger = make_trigger()

    document = api.get(f"{LIST}/{CHARGE_ID}").json()

    assert document == {
        "id": CHARGE_ID,
        "jobId": "MINT.CHARGE_DAILY@@@management-server",
        "name": CHARGE,
        "group": "management-server",
        "suiteId": "DEFAULT",
        "enabled": True,
        "cronExpression": "0 20 1 * * ?",
        "priority": "1",
        "triggerDataMap": {"custom_lock_key": "mint.scheduler.__ORG_ID__.chargedaily@@@management"},
        "createdDate": round(trigger.created_at.timestamp() * 1000),
        "updatedDate": round(trigger.updated_at.timestamp() * 1000),
    }


@pytest.mark.parametrize(
    "definition, times",
    [
        ({"startTime": START}, {"startTime": START}),
        ({"startTime": int(START)}, {"startTime": START}),
        ({"startTime": "2013-07-04T05:45:49Z"}, {"startTime": START}),
        ({"repeatCount": 0}, {"startTime": "1767225600000"}),  # when the trigger was created
        (
            {"startTime": START, "interval": 1000, "endTime": 1372916759000},
            {"startTime": START, "endTime": "1372916759000"},
        ),
    ],
)
def test_a_simple_trigger_has_an_empty_expression_and_its_times_as_texts(api, make_trigger, definition, times):
    make_trigger(ADHOC, format="simple", definition=definition, priority=4)

    document = api.get(f"{LIST}/{ADHOC_ID}").json()

    assert (document["cronExpression"], document["priority"]) == ("", "4")
    assert {name: value for name, value in document.items() if name.endswith("Time")} == times


def test_list_is_an_array_of_the_triggers_with_names_like_apigees(api, make_trigger, subscription):
    make_trigger()
    make_trigger(ADHOC, **SIMPLE)
    make_trigger("nightly")
    make_trigger("A@@@B")
    make_trigger("A@@@B@@@C@@@D")
    make_trigger("MINT.ONCE@@@g@@@S", format="once", definition={"at": "2030-01-01T00:00:00Z"})

    response = api.get(LIST, {"orgid": "default"})

    assert [each["id"] for each in response.json()] == [ADHOC_ID, CHARGE_ID]
    assert response["Content-Type"].startswith("application/json")
    assert response.json()[1] == api.get(f"{LIST}/{CHARGE_ID}").json()


@pytest.mark.parametrize("orgid", ["default", "DEFAULT", "00000000-0000-0000-0000-000000000001"])
def test_organization_is_found_by_its_short_name_or_its_id(api, make_trigger, orgid):
    make_trigger()

    assert len(api.get(f"{LIST}?orgid={orgid}").json()) == 1
    assert api.get(f"{LIST}/{CHARGE_ID}?orgid={orgid}").status_code == 200


def test_an_organization_without_triggers_has_an_empty_list(api):
    assert api.get(f"{LIST}?orgid=default").json() == []


@pytest.mark.parametrize(
    "address", [CHARGE_ID, quote(CHARGE_ID, safe=""), CHARGE_ID.replace("@", "%40"), f"{CHARGE_ID}/"]
)
def test_id_can_be_percent_encoded(api, make_trigger, address):
    make_trigger()

    assert api.get(f"{LIST}/{address}").json()["id"] == CHARGE_ID
    assert api.put(f"{LIST}/{address}", {"id": CHARGE_ID, "enabled": False}).json()["enabled"] is False


@pytest.mark.parametrize("accept", ["application/json", "application/xml", "*/*", "text/html"])
def test_response_is_json_with_any_accept_header(api, make_trigger, accept):
    make_trigger()

    assert api.get(f"{LIST}/{CHARGE_ID}", HTTP_ACCEPT=accept).json()["id"] == CHARGE_ID


def test_number_of_queries_does_not_depend_on_the_number_of_triggers(
    api, subscription, make_trigger, django_assert_num_queries
):
    make_trigger()
    api.get(f"{LIST}?orgid=default")  # writes when the token was last used
    with django_assert_num_queries(3):  # the token, the organization, its triggers
        assert len(api.get(f"{LIST}?orgid=default").json()) == 1
    jobs.load(subscription, NOW)
    with django_assert_num_queries(3):
        assert len(api.get(f"{LIST}?orgid=default").json()) == 21
    with django_assert_num_queries(2):
        assert api.get(f"{LIST}/{ADHOC_ID}").status_code == 200
