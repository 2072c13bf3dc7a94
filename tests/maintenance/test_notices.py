"""/api/notices: maintenance is announced, changed, approved, completed and cancelled, and its history is read."""

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
def stopped():
    with time_machine.travel(NOW, tick=False) as traveller:
        yield traveller


@pytest.fixture
def db2(subscription):
    return machine(subscription, "db-2", "databases")


@pytest.fixture
def web(subscription):
    return machine(subscription, "web-1")


def without(*members: str, **others) -> dict:
    return {name: value for name, value in (BODY | others).items() if name not in members}


def announced(api, **members) -> dict:
    response = api.post("/api/notices", BODY | members)
    assert response.status_code == 201, response.content
    return response.json()


def path_of(notice: dict) -> str:
    return f"/api/notices/{notice['eventId']}"


def refused(response, status: int, target: str | None = None) -> str:
    assert response.status_code == status, response.content
    assert response.json()["error"]["target"] == target
    return response.json()["error"]["message"]


# Announcing


def test_it_is_answered_with_its_id_and_all_that_is_known_of_it(api, subscription, db2, web):
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
def test_without_a_time_it_is_as_far_ahead_as_its_type_is_usually_announced(api, db2, event_type):
    answer = api.post("/api/notices", without("notBeforeSeconds", eventType=event_type)).json()

    assert Notice.objects.get().not_before == NOW + MINIMUM_NOTICE[EventType(event_type)]
    assert (answer["durationInSeconds"], answer["eventSource"], answer["description"]) == (-1, "Platform", "")
    assert (answer["endsAt"], answer["warnings"]) == (None, [])


@pytest.mark.parametrize("event_type", EventType.values)
def test_less_notice_than_usual_is_announced_with_a_warning(api, db2, event_type):
    least = int(MINIMUM_NOTICE[EventType(event_type)].total_seconds())

    warned, enough = (announced(api, eventType=event_type, notBeforeSeconds=least + by) for by in (-2, 0))

    assert f"{least} s" in warned["warnings"][0]
    assert enough["warnings"] == []


def test_a_failure_is_announced_as_started(api, db2):
    answer = api.post("/api/notices", without("notBeforeSeconds", eventStatus="Started")).json()

    assert (answer["eventStatus"], answer["startedAt"]) == ("Started", "2026-01-01T00:00:00Z")
    assert [step["status"] for step in answer["history"]] == ["Started"]


@pytest.mark.parametrize("seconds", [0, 1, 3600])
def test_not_before_is_so_many_seconds_from_now(api, db2, seconds):
    answer = announced(api, notBeforeSeconds=seconds)

    assert Notice.objects.get().not_before == NOW + timedelta(seconds=seconds)
    assert answer["eventStatus"] == "Scheduled"
    tasks.advance()
    assert api.get(path_of(answer)).json()["eventStatus"] == ("Scheduled" if seconds else "Started")


@pytest.mark.parametrize("in_header", [False, True])
def test_the_same_key_announces_once(api, db2, stopped, in_header):
    def ask(key: str):
        if in_header:
            return api.post("/api/notices", BODY, headers={"Idempotency-Key": key})
        return api.post("/api/notices", BODY | {"key": key})

    first = ask("kernel-6.12")
    stopped.shift(2 * 3600)  # by then it has started
    again, other = ask("kernel-6.12"), ask("kernel-6.13")

    assert [each.status_code for each in (first, again, other)] == [201, 200, 201]
    assert again.json()["eventId"] == first.json()["eventId"] != other.json()["eventId"]
    assert "Location" not in again
    assert Notice.objects.count() == 2
    assert [each.json()["eventStatus"] for each in (first, again)] == ["Scheduled", "Started"]


def test_a_notice_announced_again_by_its_key_may_be_late(api, db2, stopped):
    body = without("notBeforeSeconds", notBefore="2026-01-01T01:00:00Z", key="kernel")
    first = api.post("/api/notices", body)
    stopped.shift(2 * 3600)

    assert api.post("/api/notices", body).json()["eventId"] == first.json()["eventId"]


def test_a_key_counts_in_its_own_subscription(api, api_of, make_user, db2):
    elsewhere = Subscription.objects.create(name="elsewhere")
    machine(elsewhere, "db-2")
    _, token = ApiToken.objects.issue(make_user("eve", in_subscription=elsewhere), "t")

    theirs, ours = (each.post("/api/notices", BODY | {"key": "kernel"}) for each in (api_of(token), api))

    assert (ours.status_code, theirs.status_code) == (201, 201)
    assert ours.json()["eventId"] != theirs.json()["eventId"]


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
def test_a_wrong_key_announces_nothing(api, db2, key, header, target):
    body = BODY if key is None else BODY | {"key": key}

    response = api.post("/api/notices", body, headers={} if header is None else {"Idempotency-Key": header})

    refused(response, 400, target)
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
def test_what_cannot_be_is_refused_and_nothing_is_announced(api, db2, body, target):
    refused(api.post("/api/notices", body), 400, target)

    assert not Notice.objects.exists()
    assert db2.incarnation == 1


def test_a_reader_reads_and_moves_nothing(api, api_of, make_user, db2):
    notice = announced(api)
    reader = api_of(ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1])

    assert reader.get(path_of(notice)).json() == notice
    refused(reader.post("/api/notices", BODY), 403)
    refused(reader.patch(path_of(notice), {"description": "x"}), 403)
    for step in ("approve", "complete", "cancel"):
        refused(reader.post(f"{path_of(notice)}/{step}"), 403)
    assert api.get("/api/notices").json()["value"] == [notice]


# Changing


@pytest.mark.parametrize(
    "changes, shown",
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
def test_a_member_is_changed_and_the_others_stay(api, db2, web, changes, shown):
    notice = announced(api, description="Kernel")

    answer = api.patch(path_of(notice), changes)

    assert answer.status_code == 200, answer.content
    assert answer.json() == {**notice, **shown, "history": answer.json()["history"]}
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
def test_a_change_to_what_cannot_be_is_refused(api, db2, changes, target):
    notice = announced(api)

    refused(api.patch(path_of(notice), changes), 400, target)

    assert api.get(path_of(notice)).json() == notice


def test_what_has_started_or_is_over_is_changed_no_more(api, db2):
    started, over = announced(api), announced(api)
    api.post(f"{path_of(started)}/approve")
    api.post(f"{path_of(over)}/cancel")

    for notice, target in ((started, "description"), (over, None)):
        assert refused(api.patch(path_of(notice), {"description": "x"}), 409, target)


# Moving


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
def test_it_goes_one_way_only(api, db2, steps, statuses, last):
    notice = announced(api)

    assert [api.post(f"{path_of(notice)}/{step}").status_code for step in steps] == statuses

    after = api.get(path_of(notice)).json()
    assert after["eventStatus"] == last
    ways = [step["status"] for step in after["history"]]
    assert ways == list(dict.fromkeys(ways))


def test_its_time_starts_it_before_anybody_moves_it_and_not_when_it_is_read(api, db2):
    read, cancelled = announced(api), announced(api)

    with time_machine.travel(NOW + timedelta(hours=1)):
        assert api.get(path_of(read)).json()["eventStatus"] == "Scheduled"
        assert api.get("/api/notices?eventStatus=Started").json()["value"] == []
        assert refused(api.post(f"{path_of(cancelled)}/cancel"), 409)
        tasks.advance()
        by_status = api.get("/api/notices?eventStatus=Started").json()["value"]

    assert {row["eventId"] for row in by_status} == {each["eventId"] for each in (read, cancelled)}
    assert {row["history"][-1]["actor"] for row in by_status} == {"the clock"}


# Reading


def test_notices_are_listed_newest_first_page_by_page_and_filtered(api, db2, web, stopped):
    ids = []
    for number in range(4):
        stopped.shift(1)
        notice = announced(
            api, eventType="Freeze" if number else "Reboot", resources=["web-1" if number % 2 else "db-2"]
        )
        ids.insert(0, notice["eventId"])
    api.post(f"/api/notices/{ids[0]}/cancel")

    def listed(query: str = "") -> list[str]:
        return [row["eventId"] for row in api.get(f"/api/notices?{query}").json()["value"]]

    assert listed() == ids
    assert listed("eventStatus=Cancelled") == ids[:1]
    assert listed("eventType=Reboot") == ids[3:]
    assert listed("resource=web-1") == [ids[0], ids[2]]
    assert listed("resource=WEB-1") == listed("resource=none") == []
    first = api.get("/api/notices?limit=3").json()
    assert [row["eventId"] for row in first["value"]] == ids[:3]
    assert [row["eventId"] for row in api.get(first["nextLink"]).json()["value"]] == ids[3:]
    for query in ("eventStatus=Gone", "eventType=x", "subscription=x", "status=Started"):
        refused(api.get(f"/api/notices?{query}"), 400, query.partition("=")[0])


@pytest.mark.parametrize("count", [1, 20])
def test_a_list_is_a_fixed_number_of_queries(api, db2, django_assert_num_queries, count):
    for _ in range(count):
        announced(api)

    # who asks, their subscriptions, the notices, their resources, their steps
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
def test_history_makes_no_list_slower(api, subscription, query, index):
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
def test_what_is_not_there_is_not_found(api, db2, key):
    announced(api)

    for method in ("get", "patch"):
        assert getattr(api, method)(f"/api/notices/{key}").status_code == 404
    for step in ("approve", "complete", "cancel"):
        assert api.post(f"/api/notices/{key}/{step}").status_code == 404


def test_nothing_is_deleted(api, db2):
    notice = announced(api)

    for method in ("delete", "put"):
        assert getattr(api, method)(path_of(notice)).status_code == 405
