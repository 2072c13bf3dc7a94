"""Approvals posted by machines: one approval starts an event for the whole group, and requests are atomic."""

import json
import uuid

import pytest

from accounts.models import ApiToken
from maintenance.models import Approval, EventScope, Notice
from tests.maintenance.machines import NEWEST, VERSIONS, Machine, call, machine, post_notice, post_step
from tests.maintenance.test_metadata_documents import read_error

UNKNOWN = "00000000-0000-0000-0000-00000000000A"


pytestmark = pytest.mark.usefixtures("clock", "unlimited")


def statuses(polling: Machine) -> dict[str, str]:
    return {event["EventId"]: event["EventStatus"] for event in polling.events()}


@pytest.mark.parametrize("posted_at", VERSIONS)
@pytest.mark.parametrize("read_at", ["2017-03-01", "2020-07-01"])
def test_event_can_be_read_and_approved_with_different_versions(api, db2, posted_at, read_at):
    post_notice(api, db2)

    response = db2.approve(db2.events(read_at)[0]["EventId"], version=posted_at)

    assert response.status_code == 200
    assert response.json() == db2.document(posted_at)
    assert (db2.events()[0]["EventStatus"], db2.events()[0]["NotBefore"]) == ("Started", "")


def test_approval_of_one_member_is_for_the_whole_group(api, db2, db3):
    event_id = post_notice(api, db2)

    db3.approve(event_id)

    assert statuses(db2) == {event_id: "Started"}
    assert Approval.objects.get().resource == db3.resource


@pytest.mark.parametrize("form", [str.lower, str.upper, str.title])
def test_event_id_ignores_case(api, db2, form):
    event_id = post_notice(api, db2)

    db2.approve(form(event_id))

    assert statuses(db2) == {event_id: "Started"}


def test_several_events_are_approved_at_once(api, db2):
    first, second, third = (post_notice(api, db2) for _ in range(3))

    response = db2.approve(first, third, first)

    assert {event["EventId"]: event["EventStatus"] for event in response.json()["Events"]} == statuses(db2)
    assert statuses(db2) == {first: "Started", second: "Scheduled", third: "Started"}


def test_second_approval_changes_nothing(api, db2, db3):
    event_id = post_notice(api, db2)
    db2.approve(event_id)
    before = db2.document()

    for polling in (db2, db3, db2):
        assert polling.approve(event_id).json() == before

    assert db2.document() == before


def test_approval_of_a_started_event_changes_nothing(api, db2):
    event_id = post_notice(api, db2, eventStatus="Started")
    before = db2.document()

    assert db2.approve(event_id).json() == before


@pytest.mark.parametrize("end", ["complete", "cancel"])
def test_approval_of_an_ended_event_changes_nothing(api, db2, end):
    event_id = post_notice(api, db2, eventStatus="Started" if end == "complete" else "Scheduled")
    post_step(api, event_id, end)
    before = db2.document()

    response = db2.approve(event_id)

    assert (response.status_code, response.json()) == (200, before)
    assert Notice.objects.get().status == {"complete": "completed", "cancel": "cancelled"}[end]
    assert not Approval.objects.exists()


def test_unknown_event_and_event_out_of_scope_get_the_same_error(api, subscription, db2):
    event_of_another_group = post_notice(api, machine(subscription, "web-1"))

    unknown, out_of_scope = read_error(db2.approve(UNKNOWN), 400), read_error(db2.approve(event_of_another_group), 400)

    assert unknown.replace(UNKNOWN, "") == out_of_scope.replace(event_of_another_group, "")
    assert Notice.objects.get().status == "scheduled"


@pytest.mark.parametrize("order", [1, -1])
def test_no_event_is_approved_if_one_is_unknown(api, db2, order):
    event_id = post_notice(api, db2)
    number = db2.incarnation

    read_error(db2.approve(*[event_id, UNKNOWN][::order]), 400)

    assert statuses(db2) == {event_id: "Scheduled"}
    assert db2.incarnation == number
    assert not Approval.objects.exists()


@pytest.mark.parametrize("incarnation", [None, 0, -1, 1, 99, 2.5, "2", "", "x", True, [], {}, 2**64, 10**400])
def test_sent_incarnation_is_ignored(api, db2, incarnation):
    event_id = post_notice(api, db2)
    body = {"DocumentIncarnation": incarnation, "StartRequests": [{"EventId": event_id}]}

    assert db2.post(body).status_code == 200
    assert statuses(db2) == {event_id: "Started"}


def test_unknown_members_of_an_approval_are_ignored(api, db2):
    event_id = post_notice(api, db2)

    db2.post({"StartRequests": [{"EventId": event_id, "x": [1]}], "Events": None, "y": {"z": 1}})

    assert statuses(db2) == {event_id: "Started"}


def test_empty_list_of_approvals_is_accepted(api, db2):
    event_id = post_notice(api, db2)
    before = db2.document()

    assert db2.post({"StartRequests": []}).json() == before
    assert statuses(db2) == {event_id: "Scheduled"}


WRONG = {
    "nothing": b"",
    "noise": b"\x00\xff",
    "a form": b"StartRequests=1",
    "cut off": b'{"StartRequests": [',
    "null": b"null",
    "a list": b"[]",
    "a text": b'"x"',
    "a number": b"5",
    "no requests": b"{}",
    "requests of null": b'{"StartRequests": null}',
    "requests as an object": b'{"StartRequests": {}}',
    "requests as a text": b'{"StartRequests": "x"}',
    "another case": b'{"startRequests": []}',
    "a request of null": b'{"StartRequests": [null]}',
    "a request as a text": b'{"StartRequests": ["%s"]}',
    "no id": b'{"StartRequests": [{}]}',
    "an id of null": b'{"StartRequests": [{"EventId": null}]}',
    "an id as a number": b'{"StartRequests": [{"EventId": 5}]}',
    "an id as a list": b'{"StartRequests": [{"EventId": ["%s"]}]}',
    "an empty id": b'{"StartRequests": [{"EventId": ""}]}',
    "an id in braces": b'{"StartRequests": [{"EventId": "{%s}"}]}',
    "an id with a blank": b'{"StartRequests": [{"EventId": "%s "}]}',
    "an id as a URN": b'{"StartRequests": [{"EventId": "urn:uuid:%s"}]}',
    "half a pair": b'{"StartRequests": [{"EventId": "\\ud800"}]}',
    "deep": b'{"StartRequests":' * 20_000,
    "too many": b'{"StartRequests": [' + b",".join([b'{"EventId": "%s"}'] * 1001) + b"]}",
    "utf-8 cut off": '{"StartRequests": [], "x": "é'.encode()[:-1] + b'"}',
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_invalid_approval_body_changes_nothing(api, db2, body):
    event_id = post_notice(api, db2)

    read_error(db2.post(body.replace(b"%s", event_id.encode())), 400)

    assert statuses(db2) == {event_id: "Scheduled"}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_approval_body_may_have_any_json_encoding(api, db2, encoding):
    event_id = post_notice(api, db2)

    db2.post(json.dumps({"StartRequests": [{"EventId": event_id}]}).encode(encoding))

    assert statuses(db2) == {event_id: "Started"}


def test_operator_can_approve_with_and_without_a_resource_name(api, owner, db2, db3, token):
    first, second = post_notice(api, db2), post_notice(api, db3)
    headers = {"Metadata": "true", "Authorization": f"Bearer {token}"}

    for event_id, query in ((first, "&resource=db-2"), (second, "")):
        body = {"StartRequests": [{"EventId": event_id}]}
        response = call("POST", NEWEST, body=body, headers=headers, query=query)
        assert response.json() == call("GET", NEWEST, headers=headers, query=query).json()

    assert set(statuses(db2).values()) == {"Started"}
    assert set(Approval.objects.values_list("user", "resource")) == {(owner.pk, None)}


def test_operator_with_a_resource_name_has_the_scope_of_that_resource(api, subscription, db2, token):
    event_of_another_group = post_notice(api, machine(subscription, "web-1"))
    headers = {"Metadata": "true", "Authorization": f"Bearer {token}"}
    body = {"StartRequests": [{"EventId": event_of_another_group}]}

    read_error(call("POST", NEWEST, body=body, headers=headers, query="&resource=db-2"), 400)


def test_history_names_the_resource_that_approved(api, db2):
    event_id = post_notice(api, db2)
    db2.approve(event_id)

    history = api.get(f"/api/notices/{event_id.lower()}").json()["history"]

    assert [(step["status"], step["actor"]) for step in history] == [
        ("Scheduled", "ada"),
        ("Started", "resource db-2"),
    ]


def test_thousand_approvals_in_one_body_take_a_bounded_number_of_queries(api, db2, django_assert_max_num_queries):
    event_id = post_notice(api, db2)
    db2.approve(event_id)

    with django_assert_max_num_queries(40):
        response = db2.approve(*[event_id] * 1000)

    assert response.status_code == 200


def test_approval_increases_the_incarnation_of_each_view_by_one(api, subscription, db2, db3):
    alone = machine(subscription, "alone")
    event_id = post_notice(api, db2, alone)
    before = dict(EventScope.objects.values_list("scope_key", "incarnation"))

    for polling in (db2, db3, alone):
        polling.approve(event_id)

    assert dict(EventScope.objects.values_list("scope_key", "incarnation")) == {
        key: number + 1 for key, number in before.items()
    }
    assert set(before) == {"", "group databases", "resource alone"}


def test_event_ids_are_unique(api, db2):
    ids = [post_notice(api, db2) for _ in range(20)]

    assert len({uuid.UUID(each) for each in ids}) == 20
    assert ApiToken.objects.count() == 1
