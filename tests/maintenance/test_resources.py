"""/api/resources: machines are made with a token that is shown once, changed, given another token, and removed."""

from datetime import timedelta

import pytest
import time_machine

from accounts.models import ApiToken, Membership, Role, Subscription
from maintenance.models import EventScope, Notice, Resource
from tests.conftest import NOW
from tests.maintenance.machines import Machine, announced, machine

DB2 = {"name": "db-2", "scopeGroup": "databases", "labels": {"rack": "r7"}}

pytestmark = pytest.mark.usefixtures("clock", "unlimited")


def made(api, **members) -> dict:
    response = api.post("/api/resources", {**DB2, **members})
    assert response.status_code == 201, response.content
    return response.json()


def refused(response, status: int, target: str | None = None) -> dict:
    assert response.status_code == status, response.content
    assert response.json()["error"]["target"] == target
    return response.json()["error"]


# Making


def test_it_is_answered_with_its_token_this_once(api, subscription):
    response = api.post("/api/resources", DB2)

    answer = response.json()
    token = answer.pop("token")
    assert (response.status_code, response["Location"]) == (201, f"http://testserver/api/resources/{answer['id']}")
    assert response["Cache-Control"] == "no-store"
    assert answer == {
        "id": Resource.objects.get().pk,
        "subscription": str(subscription.pk),
        **DB2,
        "lastSeenAt": None,
        "listening": False,
        "createdAt": answer["createdAt"],
    }
    assert answer["createdAt"].startswith("2026-01-01T00:00:0")
    for path in (response["Location"], "/api/resources"):
        assert token not in api.get(path).text
    assert api.get(response["Location"]).json() == answer
    assert api.get("/api/resources").json()["value"] == [answer]


def test_its_token_is_what_it_polls_with(api):
    answer = made(api)
    polls = Machine(Resource.objects.get(), answer["token"])

    assert polls.document() == {"DocumentIncarnation": 1, "Events": []}
    assert len(answer["token"]) >= 43  # 32 bytes of chance


def test_a_name_is_enough(api):
    answer = api.post("/api/resources", {"name": "alone"}).json()

    assert (answer["scopeGroup"], answer["labels"]) == ("", {})


def test_a_name_is_there_once_in_a_subscription_with_case(api):
    made(api)
    made(api, name="DB-2")

    error = refused(api.post("/api/resources", DB2), 409, "name")

    assert "db-2" in error["message"]
    assert Resource.objects.count() == 2


@pytest.mark.parametrize(
    "members, target",
    [
        ({"name": ""}, "name"),
        ({"name": "  "}, "name"),
        ({"name": None}, "name"),
        ({"name": 5}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": "a\nb"}, "name"),  # a header's value
        ({"name": "a\u202eb"}, "name"),  # writes backwards
        ({"scopeGroup": 5}, "scopeGroup"),
        ({"scopeGroup": None}, "scopeGroup"),
        ({"scopeGroup": "x" * 256}, "scopeGroup"),
        ({"labels": []}, "labels"),
        ({"labels": {"a": 5}}, "labels.a"),
        ({"labels": {"a": {"b": "c"}}}, "labels.a"),
        ({"labels": {"a": "x" * 256}}, "labels.a"),
        ({"labels": {"": "a"}}, "labels"),
        ({"labels": {"x" * 256: "a"}}, "labels"),
        ({"labels": {f"l{number}": "a" for number in range(51)}}, "labels"),
        ({"subscription": "x"}, "subscription"),
        ({"subscription": "00000000-0000-0000-0000-00000000dead"}, "subscription"),
    ],
)
def test_what_cannot_be_is_refused(api, members, target):
    refused(api.post("/api/resources", {**DB2, **members}), 400, target)

    assert not Resource.objects.exists()


def test_whoever_may_write_to_several_subscriptions_says_to_which(api, owner, subscription):
    other = Subscription.objects.create(name="other")
    Membership.objects.create(subscription=other, user=owner, role=Role.OPERATOR)

    refused(api.post("/api/resources", DB2), 400, "subscription")
    assert made(api, subscription=str(other.pk))["subscription"] == str(other.pk)
    assert made(api, subscription=str(subscription.pk))["subscription"] == str(subscription.pk)


def test_a_reader_reads_and_writes_nothing(api, api_of, make_user):
    path = f"/api/resources/{made(api)['id']}"
    reader = api_of(ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1])
    before = list(Resource.objects.values())

    assert reader.get(path).status_code == reader.get("/api/resources").status_code == 200
    refused(reader.post("/api/resources", {"name": "mine"}), 403)
    refused(reader.patch(path, {"labels": {}}), 403)
    refused(reader.delete(path), 403)
    refused(reader.post(f"{path}/token"), 403)
    assert list(Resource.objects.values()) == before


# Reading


@pytest.mark.parametrize("hours", [1, 24])
def test_it_listens_for_so_many_hours_after_its_newest_poll(api, settings, hours):
    settings.LISTENING_HOURS = hours
    polls = Machine(Resource(name="db-2"), made(api)["token"])
    path = f"/api/resources/{Resource.objects.get().pk}"
    listening = []

    for later in (timedelta(0), timedelta(hours=hours), timedelta(hours=hours, seconds=1)):
        with time_machine.travel(NOW + later, tick=False):
            if not later:
                polls.get()
            listening.append(api.get(path).json()["listening"])

    assert listening == [True, True, False]
    assert api.get(path).json()["lastSeenAt"] == "2026-01-01T00:00:00Z"


def test_resources_are_listed_page_by_page_and_filtered(api):
    for number in range(5):
        made(api, name=f"db-{number}", scopeGroup="even" if number % 2 == 0 else "")

    def names(query: str) -> list[str]:
        return [row["name"] for row in api.get(f"/api/resources?{query}").json()["value"]]

    assert names("scopeGroup=even") == ["db-0", "db-2", "db-4"]
    assert names("name=db-3") == ["db-3"]
    assert names("name=DB-3") == []
    first = api.get("/api/resources?limit=3").json()
    assert [row["name"] for row in first["value"]] == ["db-0", "db-1", "db-2"]
    assert [row["name"] for row in api.get(first["nextLink"]).json()["value"]] == ["db-3", "db-4"]
    refused(api.get("/api/resources?group=even"), 400, "group")


@pytest.mark.parametrize("count", [1, 20])
def test_a_list_is_a_fixed_number_of_queries(api, django_assert_num_queries, count):
    for number in range(count):
        made(api, name=f"db-{number}")

    with django_assert_num_queries(2):
        api.get("/api/resources")


# Changing


def test_its_group_and_labels_are_changed_and_what_is_left_out_stays(api):
    path = f"/api/resources/{made(api)['id']}"

    labelled = api.patch(path, {"labels": {"rack": "r8"}}).json()
    regrouped = api.patch(path, {"scopeGroup": "others"}).json()

    assert (labelled["scopeGroup"], labelled["labels"]) == ("databases", {"rack": "r8"})
    assert (regrouped["scopeGroup"], regrouped["labels"]) == ("others", {"rack": "r8"})
    assert "token" not in regrouped


@pytest.mark.parametrize(
    "members, target",
    [({"scopeGroup": 5}, "scopeGroup"), ({"labels": {"a": None}}, "labels.a"), ({"labels": {"": "x"}}, "labels")],
)
def test_a_change_to_what_cannot_be_is_refused(api, members, target):
    answer = made(api)

    refused(api.patch(f"/api/resources/{answer['id']}", members), 400, target)
    assert Resource.objects.get().scope_group == "databases"


def test_another_token_is_shown_once_and_the_one_before_is_worth_nothing(api):
    answer = made(api)
    path = f"/api/resources/{answer['id']}"

    response = api.post(f"{path}/token")

    token = response.json()["token"]
    assert (response.status_code, set(response.json())) == (201, {"token"})
    assert response["Cache-Control"] == "no-store"
    before, after = (Machine(Resource.objects.get(), text) for text in (answer["token"], token))
    assert (before.get().status_code, after.get().status_code) == (401, 200)
    assert token not in api.get(path).text


def test_one_that_is_removed_leaves_its_name_in_the_history(api, subscription):
    polls = machine(subscription, "db-2", "databases")
    event_id = announced(api, polls)

    response = api.delete(f"/api/resources/{polls.resource.pk}")

    assert (response.status_code, response.content) == (204, b"")
    assert api.get(f"/api/notices/{event_id.lower()}").json()["resources"] == ["db-2"]
    assert polls.get().status_code == 401
    assert api.get(f"/api/resources/{polls.resource.pk}").status_code == 404
    assert Notice.objects.get().status == "scheduled"
    assert EventScope.objects.get(scope_key="group databases").incarnation == 3


@pytest.mark.parametrize("key", ["0", "x", "-1", "99999999999999999999", "1.5", "%00"])
def test_what_is_not_there_is_not_found(api, key):
    made(api)

    for method in ("get", "patch", "delete"):
        assert getattr(api, method)(f"/api/resources/{key}").status_code == 404
    assert api.post(f"/api/resources/{key}/token").status_code == 404
