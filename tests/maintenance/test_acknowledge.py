"""Approval at the resource manager's address, by operators.  With the published client: tests/live."""

import uuid

import pytest

from accounts.models import ApiToken, Role, Subscription
from maintenance.models import Approval, Notice
from tests.maintenance.machines import Machine, announced, machine, moved

VERSION = "?api-version=2025-10-01-preview"
UNKNOWN = "00000000-0000-0000-0000-00000000000a"
MANY = {"value": ["x"] * 1001}

pytestmark = pytest.mark.usefixtures("clock", "unlimited")


def events(asking: Machine, subscription_id: object = None) -> str:
    subscription_id = subscription_id or asking.resource.subscription_id
    resource = f"/resourcegroups/any/providers/Microsoft.Compute/virtualMachines/{asking.name}"
    return f"/subscriptions/{subscription_id}{resource}/providers/Microsoft.Maintenance/scheduledevents"


def one(asking: Machine, event_id: str) -> str:
    return f"{events(asking)}/{event_id}/acknowledge{VERSION}"


def statuses(asking: Machine) -> dict[str, str]:
    return {event["EventId"]: event["EventStatus"] for event in asking.events()}


def refused(response, status: int, code: str) -> dict:
    """In the form of the resource manager, which is another than that of machines."""
    assert response.status_code == status, response.content
    error = response.json()["error"]
    assert error["code"] == code
    assert error["message"]
    return error


@pytest.mark.parametrize("form", [str.lower, str.upper])
def test_any_member_of_the_group_may_be_named(api, owner, db2, db3, form):
    event_id = announced(api, db2)

    response = api.post(one(db3, form(event_id)))

    assert (response.status_code, response.json()) == (200, {"value": "Successfully approved"})
    assert statuses(db2) == {event_id: "Started"}
    assert Approval.objects.get().user == owner


def test_again_it_is_the_same(api, db2):
    event_id = announced(api, db2)
    api.post(one(db2, event_id))
    before = db2.document()

    assert api.post(one(db2, event_id)).status_code == 200

    assert db2.document() == before
    assert Approval.objects.count() == 1


@pytest.mark.parametrize("end", ["complete", "cancel"])
def test_of_what_is_over_nothing_comes(api, db2, end):
    event_id = announced(api, db2, eventStatus="Started" if end == "complete" else "Scheduled")
    moved(api, event_id, end)
    before = db2.document()

    assert api.post(one(db2, event_id)).status_code == 200
    assert db2.document() == before


def test_several_are_all_approved(api, db2):
    first, second, third = (announced(api, db2) for _ in range(3))

    response = api.post(f"{events(db2)}{VERSION}", {"value": [first, second.lower(), first]})

    assert response.status_code == 200
    assert isinstance(response.json()["value"], str)
    assert statuses(db2) == {first: "Started", second: "Started", third: "Scheduled"}


def test_of_several_none_is_approved_when_one_is_unknown_and_each_unknown_one_is_named(api, subscription, db2):
    event_id, foreign = announced(api, db2), announced(api, machine(subscription, "web-1"))
    wrong = [UNKNOWN, "x" * 5000, foreign]

    response = api.post(f"{events(db2)}{VERSION}", {"value": [event_id, *wrong]})

    details = refused(response, 400, "BadRequest")["details"]
    assert [each["target"] for each in details] == [UNKNOWN, "x" * 100, foreign]
    assert {each["code"] for each in details} == {"ResourceNotFound"}
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize(
    "body", [None, [], "x", 5, {}, {"value": None}, {"value": "x"}, {"value": [None]}, {"value": [[]]}, MANY]
)
def test_a_body_that_is_wrong_is_refused(api, db2, body):
    refused(api.post(f"{events(db2)}{VERSION}", body), 400, "BadRequest")


def test_an_empty_list_does_nothing(api, db2):
    event_id = announced(api, db2)

    assert api.post(f"{events(db2)}{VERSION}", {"value": []}).status_code == 200
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize("event_id", [UNKNOWN, "x", "%00", "%FF", "{}", "a" * 3000])
def test_an_unknown_event_is_not_found(api, db2, event_id):
    refused(api.post(one(db2, event_id)), 404, "ResourceNotFound")


def test_an_event_of_another_group_is_not_found(api, subscription, db2):
    foreign = announced(api, machine(subscription, "web-1"))

    refused(api.post(one(db2, foreign)), 404, "ResourceNotFound")
    assert Notice.objects.get().status == "scheduled"


def test_what_belongs_to_others_is_not_found(api, api_of, make_user, db2):
    elsewhere = Subscription.objects.create(name="elsewhere")
    eve = make_user("eve", in_subscription=elsewhere)
    stranger = machine(elsewhere, "db-9")
    theirs = announced(api_of(ApiToken.objects.issue(eve, "eve")[1]), stranger)

    missing = api.post(f"{events(stranger, uuid.uuid4())}/{theirs}/acknowledge{VERSION}")
    foreign = api.post(one(stranger, theirs))

    assert refused(foreign, 404, "ResourceNotFound") == refused(missing, 404, "ResourceNotFound")
    for address in (events(stranger), events(stranger, "x"), events(db2, elsewhere.pk)):
        refused(api.post(f"{address}{VERSION}", {"value": [theirs]}), 404, "ResourceNotFound")
    assert Notice.objects.get().status == "scheduled"


def test_a_reader_may_not_and_nobody_even_less(api, api_of, make_user, db2):
    event_id = announced(api, db2)
    reader = api_of(ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1])

    refused(reader.post(one(db2, event_id)), 403, "AuthorizationFailed")
    refused(api_of().post(one(db2, event_id)), 401, "AuthenticationFailed")
    refused(api_of(db2.token).post(one(db2, event_id)), 401, "AuthenticationFailed")
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize("version", ["", "?api-version=2016-03-01", "?api-version=2025-10-01", "?api-version=latest"])
def test_another_version_is_refused(api, db2, version):
    event_id = announced(api, db2)

    response = api.post(one(db2, event_id).replace(VERSION, version))

    refused(response, 400, "MissingOrIncorrectVersionHeader")
    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_other_verbs_are_refused(api, db2, method):
    for address in (one(db2, UNKNOWN), f"{events(db2)}{VERSION}"):
        refused(getattr(api, method)(address), 405, "InvalidHttpVerb")


def test_an_address_is_taken_in_any_case_and_with_a_slash(api, db2):
    first, second = announced(api, db2), announced(api, db2)
    address = one(db2, first).replace("resourcegroups", "resourceGroups").replace("acknowledge", "Acknowledge/")

    several = f"{events(db2)}/{VERSION}".replace("scheduledevents", "scheduledEvents")

    assert api.post(address).status_code == 200
    assert api.post(several, {"value": [second]}).status_code == 200
    assert set(statuses(db2).values()) == {"Started"}
