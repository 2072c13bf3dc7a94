"""The API /api/notices: notices are announced, changed, approved, completed, cancelled and read."""

import uuid
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiToken, Role, Subscription
from maintenance import tasks
from maintenance.models import MINIMUM_NOTICE, EventType, Notice, NoticeResource
from tests.conftest import NOW
from tests.maintenance.machines import IN_AN_HOUR, machine

BODY = {**IN_AN_HOUR, "resources": ["db-2"]}

pytestmark = pytest.mark.usefixtures("unlimited")


@pytest.fixture(autouse=True)
def frozen_clock():
    with time_machine.travel(NOW, tick=False) as traveller:
        yield traveller


@pytest.fixture
def db2(subscription):
    return machine(subscription, "db-2", "databases")


@pytest.fixture
def web(subscription):
    return machine(subscription, "web-1")


def without(*members: str, **changes) -> dict:
    return {name: value for name, value in (BODY | changes).items() if name not in members}


def post_announcement(api, **members) -> dict:
    response = api.post("/api/notices", BODY | members)
    assert response.status_code == 201, response.content
    return response.json()


def notice_path(notice: dict) -> str:
    return f"/api/notices/{notice['eventId']}"


def assert_error(response, status: int, target: str | None = None) -> str:
    assert response.status_code == status, response.content
    assert response.json()["error"]["target"] == target
    return response.json()["error"]["message"]


# Announcing


def test_announced_notice_is_returned_with_all_members(api, subscription, db2, web):
    response = api.post(
        "/api/notices",
        {
            "eventType": "Redeploy",
            "resources": ["web-1", "db-2", "web-1"],
            "notBefore": "2026-01-01T03:00:00.9+02:00",
            "description": "Näher am Rand",
            "durationInSeconds": 9,
            "eventSource": "User",
            "eventStatus": "Scheduled",
        },
    )

    answer = response.json()
    assert (response.status_code, response["Location"]) == (201, f"http://testserver/api/notices/{answer['eventId']}")
    assert uuid.UUID(answer["eventId"]) == Notice.objects.get().pk
    assert answer == {
        "eventId": answer["eventId"],
        "subscription": str(subscription.pk),
        "eventType": "Redeploy",
        "eventStatus": "Scheduled",
        "resources": ["web-1", "db-2"],
        "notBefore": "2026-01-01T01:00:00Z",
        "description": "Näher am Rand",
        "durationInSeconds": 9,
        "eventSource": "User",
        "approveWhenIdle": False,
        "endAfterDuration": False,
        "keepOpen": False,
        "runningAtStart": [],
        "announcedAt": "2026-01-01T00:00:00Z",
        "startedAt": None,
        "endsAt": "2026-01-01T01:00:09Z",
        "endedAt": None,
        "history": [
            {
                "at": "2026-01-01T00:00:00Z",
                "status": "Scheduled",
                "actor": "ada",
                "note": "",
                "incarnations": {"": 2, "group databases": 2, "resource web-1": 2},
            }
        ],
        "warnings": [],
    }
    assert api.get(response["Location"]).json() == answer
    assert api.get("/api/notices").json()["value"] == [answer]


@pytest.mark.parametrize("event_type", EventType.values)
def test_notice_without_a_time_starts_after_the_minimum_notice_of_its_type(api, db2, event_type):
    answer = api.post("/api/notices", without("notBeforeSeconds", eventType=event_type)).json()

    assert Notice.objects.get().not_before == NOW + MINIMUM_NOTICE[EventType(event_type)]
    assert (answer["durationInSeconds"], answer["eventSource"], answer["description"]) == (-1, "Platform", "")
    assert (answer["endsAt"], answer["warnings"]) == (None, [])


@pytest.mark.parametrize("event_type", EventType.values)
def test_shorter_notice_than_the_minimum_gives_a_warning(api, db2, event_type):
    minimum = int(MINIMUM_NOTICE[EventType(event_type)].total_seconds())

    too_short, long_enough = (
        post_announcement(api, eventType=event_type, notBeforeSeconds=minimum + difference) for difference in (-2, 0)
    )

    assert f"{minimum} s" in too_short["warnings"][0]
    assert long_enough["warnings"] == []


def test_notice_can_be_announced_as_started(api, db2):
    answer = api.post("/api/notices", without("notBeforeSeconds", eventStatus="Started")).json()

    assert (answer["eventStatus"], answer["startedAt"]) == ("Started", "2026-01-01T00:00:00Z")
    assert [step["status"] for step in answer["history"]] == ["Started"]


@pytest.mark.parametrize("seconds", [0, 1, 3600])
def test_not_before_seconds_are_counted_from_now(api, db2, seconds):
    answer = post_announcement(api, notBeforeSeconds=seconds)

    assert Notice.objects.get().not_before == NOW + timedelta(seconds=seconds)
    assert answer["eventStatus"] == "Scheduled"
    tasks.advance()
    assert api.get(notice_path(answer)).json()["eventStatus"] == ("Scheduled" if seconds else "Started")


@pytest.mark.parametrize("in_header", [False, True])
def test_idempotency_key_announces_one_notice(api, db2, frozen_clock, in_header):
    def post_with_key(key: str):
        if in_header:
            return api.post("/api/notices", BODY, headers={"Idempotency-Key": key})
        return api.post("/api/notices", BODY | {"key": key})

    first = post_with_key("kernel-6.12")
    frozen_clock.shift(2 * 3600)  # the notice has started by then
    again, other = post_with_key("kernel-6.12"), post_with_key("kernel-6.13")

    assert [each.status_code for each in (first, again, other)] == [201, 200, 201]
    assert again.json()["eventId"] == first.json()["eventId"] != other.json()["eventId"]
    assert "Location" not in again
    assert Notice.objects.count() == 2
    assert [each.json()["eventStatus"] for each in (first, again)] == ["Scheduled", "Started"]


def test_repeated_announcement_with_a_past_start_returns_the_notice(api, db2, frozen_clock):
    body = without("notBeforeSeconds", notBefore="2026-01-01T01:00:00Z", key="kernel")
    first = api.post("/api/notices", body)
    frozen_clock.shift(2 * 3600)

    assert api.post("/api/notices", body).json()["eventId"] == first.json()["eventId"]


def test_idempotency_key_is_unique_only_within_a_subscription(api, api_of, make_user, db2):
    other_subscription = Subscription.objects.create(name="elsewhere")
    machine(other_subscription, "db-2")
    _, token = ApiToken.objects.issue(make_user("eve", in_subscription=other_subscription), "t")

    response_of_others, own_response = (
        each.post("/api/notices", BODY | {"key": "kernel"}) for each in (api_of(token), api)
    )

    assert (own_response.status_code, response_of_others.status_code) == (201, 201)
    assert own_response.json()["eventId"] != response_of_others.json()["eventId"]


@pytest.mark.parametrize(
    "key, header, target",
    [
        ("", None, "key"),
        ("x" * 101, None, "key"),
        (7, None, "key"),
        (None, "", "Idempotency-Key"),
        (None, "x" * 101, "Idempotency-Key"),
        (None, "sch\xf6n", "Idempotency-Key"),
        ("one", "another", "key"),
    ],
)
def test_invalid_idempotency_key_is_refused(api, db2, key, header, target):
    body = BODY if key is None else BODY | {"key": key}

    response = api.post("/api/notices", body, headers={} if header is None else {"Idempotency-Key": header})

    assert_error(response, 400, target)
    assert not Notice.objects.exists()


WRONG = {
    "no type": (without("eventType"), "eventType"),
    "another type": (BODY | {"eventType": "Meteor"}, "eventType"),
    "a type in another case": (BODY | {"eventType": "reboot"}, "eventType"),
    "a type as a list": (BODY | {"eventType": ["Reboot"]}, "eventType"),
    "no resources": (without("resources"), "resources"),
    "an empty list of resources": (BODY | {"resources": []}, "resources"),
    "a resource as a text": (BODY | {"resources": "db-2"}, "resources"),
    "an unknown resource": (BODY | {"resources": ["db-2", "db-9"]}, "resources[1]"),
    "a resource in another case": (BODY | {"resources": ["DB-2"]}, "resources[0]"),
    "a resource as a number": (BODY | {"resources": [5]}, "resources[0]"),
    "a resource with NUL": (BODY | {"resources": ["a\0"]}, "resources[0]"),
    "too many resources": (BODY | {"resources": ["db-2"] * 1001}, "resources"),
    "a time that has passed": (without("notBeforeSeconds", notBefore="2025-12-31T23:59:59Z"), "notBefore"),
    "a time in eleven years": (without("notBeforeSeconds", notBefore="2037-01-01T00:00:00Z"), "notBefore"),
    "a time without a zone": (without("notBeforeSeconds", notBefore="2026-02-01T00:00:00"), "notBefore"),
    "an empty time": (without("notBeforeSeconds", notBefore=""), "notBefore"),
    "the last year": (without("notBeforeSeconds", notBefore="9999-12-31T23:59:59Z"), "notBefore"),
    "two times": (BODY | {"notBefore": "2026-02-01T00:00:00Z"}, "notBeforeSeconds"),
    "negative seconds": (BODY | {"notBeforeSeconds": -1}, "notBeforeSeconds"),
    "a fraction of seconds": (BODY | {"notBeforeSeconds": 1.5}, "notBeforeSeconds"),
    "too many seconds": (BODY | {"notBeforeSeconds": 10**9}, "notBeforeSeconds"),
    "a long description": (BODY | {"description": "x" * 1001}, "description"),
    "a description with NUL": (BODY | {"description": "\0"}, "description"),
    "a description as a number": (BODY | {"description": 5}, "description"),
    "a duration below -1": (BODY | {"durationInSeconds": -2}, "durationInSeconds"),
    "a duration as a text": (BODY | {"durationInSeconds": "9"}, "durationInSeconds"),
    "a duration as a flag": (BODY | {"durationInSeconds": True}, "durationInSeconds"),
    "a huge duration": (BODY | {"durationInSeconds": 2**31}, "durationInSeconds"),
    "another source": (BODY | {"eventSource": "platform"}, "eventSource"),
    "another status": (BODY | {"eventStatus": "Completed"}, "eventStatus"),
    "a flag as a text": (BODY | {"approveWhenIdle": "true"}, "approveWhenIdle"),
    "an end after no time": (BODY | {"endAfterDuration": True}, "endAfterDuration"),
    "another's subscription": (BODY | {"subscription": str(uuid.UUID(int=9))}, "subscription"),
    "started, and a time": (BODY | {"eventStatus": "Started"}, "eventStatus"),
    "started, and when idle": (
        without("notBeforeSeconds", eventStatus="Started", approveWhenIdle=True),
        "eventStatus",
    ),
}


@pytest.mark.parametrize("body, target", WRONG.values(), ids=WRONG)
def test_invalid_announcement_is_refused(api, db2, body, target):
    assert_error(api.post("/api/notices", body), 400, target)

    assert not Notice.objects.exists()
    assert db2.incarnation == 1


def test_reader_can_read_but_not_change_notices(api, api_of, make_user, db2):
    notice = post_announcement(api)
    reader = api_of(ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1])

    assert reader.get(notice_path(notice)).json() == notice
    assert_error(reader.post("/api/notices", BODY), 403)
    assert_error(reader.patch(notice_path(notice), {"description": "x"}), 403)
    for step in ("approve", "complete", "cancel"):
        assert_error(reader.post(f"{notice_path(notice)}/{step}"), 403)
    assert api.get("/api/notices").json()["value"] == [notice]


# Changing


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"eventType": "Freeze"}, {"eventType": "Freeze"}),
        ({"resources": ["web-1", "db-2"]}, {"resources": ["web-1", "db-2"]}),
        ({"notBefore": "2026-01-01T02:00:00Z"}, {"notBefore": "2026-01-01T02:00:00Z"}),
        ({"notBeforeSeconds": 60}, {"notBefore": "2026-01-01T00:01:00Z"}),
        ({"description": "x"}, {"description": "x"}),
        ({"durationInSeconds": 0}, {"durationInSeconds": 0, "endsAt": "2026-01-01T01:00:00Z"}),
        ({"eventSource": "User"}, {"eventSource": "User"}),
        ({"keepOpen": True}, {"keepOpen": True}),
        ({}, {}),
    ],
)
def test_patch_changes_only_the_sent_members(api, db2, web, changes, expected):
    notice = post_announcement(api, description="Kernel")

    answer = api.patch(notice_path(notice), changes)

    assert answer.status_code == 200, answer.content
    assert answer.json() == {**notice, **expected, "history": answer.json()["history"]}
    assert len(answer.json()["history"]) == (2 if changes else 1)
    assert web.incarnation == (2 if "resources" in changes else 1)


@pytest.mark.parametrize(
    "changes, target",
    [
        ({"eventType": "Meteor"}, "eventType"),
        ({"resources": []}, "resources"),
        ({"resources": ["db-9"]}, "resources[0]"),
        ({"notBefore": "2025-12-31T00:00:00Z"}, "notBefore"),
        ({"notBefore": None}, "notBefore"),
        ({"notBefore": "2026-02-01T00:00:00Z", "notBeforeSeconds": 5}, "notBeforeSeconds"),
        ({"durationInSeconds": None}, "durationInSeconds"),
        ({"endAfterDuration": True}, "endAfterDuration"),
    ],
)
def test_invalid_change_of_a_notice_is_refused(api, db2, changes, target):
    notice = post_announcement(api)

    assert_error(api.patch(notice_path(notice), changes), 400, target)

    assert api.get(notice_path(notice)).json() == notice


def test_started_or_ended_notice_cannot_be_changed(api, db2):
    started, ended = post_announcement(api), post_announcement(api)
    api.post(f"{notice_path(started)}/approve")
    api.post(f"{notice_path(ended)}/cancel")

    for notice, target in ((started, "description"), (ended, None)):
        assert assert_error(api.patch(notice_path(notice), {"description": "x"}), 409, target)


# Transitions


@pytest.mark.parametrize(
    "steps, statuses, last",
    [
        (["approve"], [200], "Started"),
        (["approve", "approve"], [200, 200], "Started"),
        (["approve", "complete"], [200, 200], "Completed"),
        (["approve", "complete", "complete"], [200, 200, 200], "Completed"),
        (["approve", "cancel"], [200, 409], "Started"),
        (["complete"], [409], "Scheduled"),
        (["cancel"], [200], "Cancelled"),
        (["cancel", "cancel"], [200, 200], "Cancelled"),
        (["cancel", "approve"], [200, 200], "Cancelled"),
        (["cancel", "complete"], [200, 409], "Cancelled"),
        (["approve", "complete", "cancel"], [200, 200, 409], "Completed"),
        (["approve", "complete", "approve"], [200, 200, 200], "Completed"),
    ],
)
def test_status_of_a_notice_never_goes_back(api, db2, steps, statuses, last):
    notice = post_announcement(api)

    assert [api.post(f"{notice_path(notice)}/{step}").status_code for step in steps] == statuses

    after = api.get(notice_path(notice)).json()
    assert after["eventStatus"] == last
    transitions = [step["status"] for step in after["history"]]
    assert transitions == list(dict.fromkeys(transitions))


def test_due_notice_is_started_by_a_change_but_not_by_reading(api, db2):
    read, cancelled = post_announcement(api), post_announcement(api)

    with time_machine.travel(NOW + timedelta(hours=1)):
        assert api.get(notice_path(read)).json()["eventStatus"] == "Scheduled"
        assert api.get("/api/notices?eventStatus=Started").json()["value"] == []
        assert assert_error(api.post(f"{notice_path(cancelled)}/cancel"), 409)
        tasks.advance()
        by_status = api.get("/api/notices?eventStatus=Started").json()["value"]

    assert {row["eventId"] for row in by_status} == {each["eventId"] for each in (read, cancelled)}
    assert {row["history"][-1]["actor"] for row in by_status} == {"the clock"}


# Reading


def test_notice_list_has_order_pages_and_filters(api, db2, web, frozen_clock):
    ids = []
    for number in range(4):
        frozen_clock.shift(1)
        notice = post_announcement(
            api, eventType="Freeze" if number else "Reboot", resources=["web-1" if number % 2 else "db-2"]
        )
        ids.insert(0, notice["eventId"])
    api.post(f"/api/notices/{ids[0]}/cancel")

    def list_ids(query: str = "") -> list[str]:
        return [row["eventId"] for row in api.get(f"/api/notices?{query}").json()["value"]]

    assert list_ids() == ids
    assert list_ids("eventStatus=Cancelled") == ids[:1]
    assert list_ids("eventType=Reboot") == ids[3:]
    assert list_ids("resource=web-1") == [ids[0], ids[2]]
    assert list_ids("resource=WEB-1") == list_ids("resource=none") == []
    first = api.get("/api/notices?limit=3").json()
    assert [row["eventId"] for row in first["value"]] == ids[:3]
    assert [row["eventId"] for row in api.get(first["nextLink"]).json()["value"]] == ids[3:]
    for query in ("eventStatus=Gone", "eventType=x", "subscription=x", "status=Started"):
        assert_error(api.get(f"/api/notices?{query}"), 400, query.partition("=")[0])


@pytest.mark.parametrize("count", [1, 20])
def test_notice_list_takes_a_fixed_number_of_queries(api, db2, django_assert_num_queries, count):
    for _ in range(count):
        post_announcement(api)

    # user, subscriptions, notices, resources, transitions
    with django_assert_num_queries(5):
        api.get("/api/notices")


@pytest.mark.parametrize(
    "query, index",
    [
        ("", "notice_of_subscription"),
        ("eventStatus=Cancelled", "notice_of_status"),
        ("resource=db-7", "affected_by_name"),
    ],
)
def test_notice_list_uses_an_index(api, subscription, query, index):
    notices = Notice.objects.bulk_create(
        Notice(
            subscription=subscription,
            event_type="Reboot",
            status="completed" if number % 500 else "cancelled",
            **dict.fromkeys(("not_before", "ended_at", "ends_at"), NOW),
            announced_at=NOW + timedelta(seconds=number),
        )
        for number in range(2000)
    )
    NoticeResource.objects.bulk_create(
        NoticeResource(notice=each, name=f"db-{place // 4}") for place, each in enumerate(notices)
    )
    explain = "EXPLAIN" if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        for table in ("maintenance_notice", "maintenance_noticeresource"):
            cursor.execute(f"ANALYZE {table}")
        with CaptureQueriesContext(connection) as queries:
            assert api.get(f"/api/notices?limit=20&{query}").status_code == 200
        listing = next(
            each["sql"] for each in queries if 'ORDER BY "maintenance_notice"."announced_at" DESC' in each["sql"]
        )
        cursor.execute(f"{explain} {listing}")
        plan = str(cursor.fetchall())

    assert index in plan
    assert "Seq Scan on maintenance_notice" not in plan


@pytest.mark.parametrize("key", ["x", "0", "%00", str(uuid.UUID(int=7)), str(uuid.UUID(int=7)).upper()])
def test_unknown_notice_is_not_found(api, db2, key):
    post_announcement(api)

    for method in ("get", "patch"):
        assert getattr(api, method)(f"/api/notices/{key}").status_code == 404
    for step in ("approve", "complete", "cancel"):
        assert api.post(f"/api/notices/{key}/{step}").status_code == 404


def test_notice_cannot_be_deleted_or_replaced(api, db2):
    notice = post_announcement(api)

    for method in ("delete", "put"):
        assert getattr(api, method)(notice_path(notice)).status_code == 405
