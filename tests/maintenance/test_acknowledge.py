"""Approval by operators at the address of the resource manager API.  With the published client: tests/live."""

import uuid

import pytest

from accounts.models import ApiToken, Role, Subscription
from maintenance.models import Approval, Notice
from tests.maintenance.machines import Machine, machine, post_notice, post_step

VERSION = "?api-version=2025-10-01-preview"
UNKNOWN = "00000000-0000-0000-0000-00000000000a"
MANY = {"value": ["x"] * 1001}

pytestmark = pytest.mark.usefixtures("clock", "unlimited")


def events_path(polling: Machine, subscription_id: object = None) -> str:
    subscription_id = subscription_id or polling.resource.subscription_id
    resource = f"/resourcegroups/any/providers/Microsoft.Compute/virtualMachines/{polling.name}"
    return f"/subscriptions/{subscription_id}{resource}/providers/Microsoft.Maintenance/scheduledevents"


def acknowledge_url(polling: Machine, event_id: str) -> str:
    return f"{events_path(polling)}/{event_id}/acknowledge{VERSION}"


def statuses(polling: Machine) -> dict[str, str]:
    return {event["EventId"]: event["EventStatus"] for event in polling.events()}


def assert_error(response, status: int, code: str) -> dict:
    """Check an error in the format of the resource manager API, which differs from the metadata API; return it."""
    assert response.status_code == status, response.content
    error = response.json()["error"]
    assert error["code"] == code
    assert error["message"]
    return error


@pytest.mark.parametrize("form", [str.lower, str.upper])
def test_event_is_acknowledged_for_any_member_of_its_group(api, owner, db2, db3, form):
    event_id = post_notice(api, db2)

    response = api.post(acknowledge_url(db3, form(event_id)))

    assert (response.status_code, response.json()) == (200, {"value": "Successfully approved"})
    assert statuses(db2) == {event_id: "Started"}
    assert Approval.objects.get().user == owner


def test_second_acknowledgement_changes_nothing(api, db2):
    event_id = post_notice(api, db2)
    api.post(acknowledge_url(db2, event_id))
    before = db2.document()

    assert api.post(acknowledge_url(db2, event_id)).status_code == 200

    assert db2.document() == before
    assert Approval.objects.count() == 1


@pytest.mark.parametrize("end", ["complete", "cancel"])
def test_acknowledging_an_ended_event_changes_nothing(api, db2, end):
    event_id = post_notice(api, db2, eventStatus="Started" if end == "complete" else "Scheduled")
    post_step(api, event_id, end)
    before = db2.document()

    assert api.post(acknowledge_url(db2, event_id)).status_code == 200
    assert db2.document() == before


def test_several_events_are_acknowledged_at_once(api, db2):
    first, second, third = (post_notice(api, db2) for _ in range(3))

    response = api.post(f"{events_path(db2)}{VERSION}", {"value": [first, second.lower(), first]})

    assert response.status_code == 200
    assert isinstance(response.json()["value"], str)
    assert statuses(db2) == {first: "Started", second: "Started", third: "Scheduled"}


def test_no_event_is_acknowledged_if_one_is_unknown_and_errors_name_all_unknown(api, subscription, db2):
    event_id, event_of_another_group = post_notice(api, db2), post_notice(api, machine(subscription, "web-1"))
    unknown_ids = [UNKNOWN, "x" * 5000, event_of_another_group]

    response = api.post(f"{events_path(db2)}{VERSION}", {"value": [event_id, *unknown_ids]})

    details = assert_error(response, 400, "BadRequest")["details"]
    assert [each["target"] for each in details] == [UNKNOWN, "x" * 100, event_of_another_group]
    assert {each["code"] for each in details} == {"ResourceNotFound"}
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize(
    "body", [None, [], "x", 5, {}, {"value": None}, {"value": "x"}, {"value": [None]}, {"value": [[]]}, MANY]
)
def test_invalid_acknowledge_body_is_refused(api, db2, body):
    assert_error(api.post(f"{events_path(db2)}{VERSION}", body), 400, "BadRequest")


def test_an_empty_list_does_nothing(api, db2):
    event_id = post_notice(api, db2)

    assert api.post(f"{events_path(db2)}{VERSION}", {"value": []}).status_code == 200
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize("event_id", [UNKNOWN, "x", "%00", "%FF", "{}", "a" * 3000])
def test_acknowledging_an_unknown_event_is_not_found(api, db2, event_id):
    assert_error(api.post(acknowledge_url(db2, event_id)), 404, "ResourceNotFound")


def test_acknowledging_an_event_of_another_group_is_not_found(api, subscription, db2):
    event_of_another_group = post_notice(api, machine(subscription, "web-1"))

    assert_error(api.post(acknowledge_url(db2, event_of_another_group)), 404, "ResourceNotFound")
    assert Notice.objects.get().status == "scheduled"


def test_acknowledging_events_of_another_subscription_is_not_found(api, api_of, make_user, db2):
    other_subscription = Subscription.objects.create(name="elsewhere")
    eve = make_user("eve", in_subscription=other_subscription)
    stranger = machine(other_subscription, "db-9")
    event_of_others = post_notice(api_of(ApiToken.objects.issue(eve, "eve")[1]), stranger)

    missing = api.post(f"{events_path(stranger, uuid.uuid4())}/{event_of_others}/acknowledge{VERSION}")
    event_of_another_group = api.post(acknowledge_url(stranger, event_of_others))

    assert assert_error(event_of_another_group, 404, "ResourceNotFound") == assert_error(
        missing, 404, "ResourceNotFound"
    )
    for address in (events_path(stranger), events_path(stranger, "x"), events_path(db2, other_subscription.pk)):
        assert_error(api.post(f"{address}{VERSION}", {"value": [event_of_others]}), 404, "ResourceNotFound")
    assert Notice.objects.get().status == "scheduled"


def test_acknowledging_requires_the_operator_role(api, api_of, make_user, db2):
    event_id = post_notice(api, db2)
    reader = api_of(ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1])

    assert_error(reader.post(acknowledge_url(db2, event_id)), 403, "AuthorizationFailed")
    assert_error(api_of().post(acknowledge_url(db2, event_id)), 401, "AuthenticationFailed")
    assert_error(api_of(db2.token).post(acknowledge_url(db2, event_id)), 401, "AuthenticationFailed")
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize("version", ["", "?api-version=2016-03-01", "?api-version=2025-10-01", "?api-version=latest"])
def test_other_api_versions_are_refused(api, db2, version):
    event_id = post_notice(api, db2)

    response = api.post(acknowledge_url(db2, event_id).replace(VERSION, version))

    assert_error(response, 400, "MissingOrIncorrectVersionHeader")
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_acknowledge_address_refuses_other_methods(api, db2, method):
    for address in (acknowledge_url(db2, UNKNOWN), f"{events_path(db2)}{VERSION}"):
        assert_error(getattr(api, method)(address), 405, "InvalidHttpVerb")


def test_acknowledge_address_ignores_case_and_a_trailing_slash(api, db2):
    first, second = post_notice(api, db2), post_notice(api, db2)
    address = (
        acknowledge_url(db2, first).replace("resourcegroups", "resourceGroups").replace("acknowledge", "Acknowledge/")
    )

    several = f"{events_path(db2)}/{VERSION}".replace("scheduledevents", "scheduledEvents")

    assert api.post(address).status_code == 200
    assert api.post(several, {"value": [second]}).status_code == 200
    assert set(statuses(db2).values()) == {"Started"}
