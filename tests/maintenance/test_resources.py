"""The API /api/resources: creation with a token that is shown once, changes, new tokens and removal."""

from datetime import timedelta

import pytest
import time_machine

from accounts.models import ApiToken, Membership, Role, Subscription
from maintenance.models import EventScope, Notice, Resource
from tests.conftest import NOW
from tests.maintenance.machines import Machine, machine, post_notice

DB2 = {"name": "db-2", "scopeGroup": "databases", "labels": {"rack": "r7"}}

pytestmark = pytest.mark.usefixtures("clock", "unlimited")


def create(api, **members) -> dict:
    response = api.post("/api/resources", {**DB2, **members})
    assert response.status_code == 201, response.content
    return response.json()


def assert_error(response, status: int, target: str | None = None) -> dict:
    assert response.status_code == status, response.content
    assert response.json()["error"]["target"] == target
    return response.json()["error"]


# Creating


def test_resource_token_is_returned_only_on_creation(api, subscription):
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


def test_resource_polls_with_its_token(api):
    answer = create(api)
    polls = Machine(Resource.objects.get(), answer["token"])

    assert polls.document() == {"DocumentIncarnation": 1, "Events": []}
    assert len(answer["token"]) >= 43  # 32 random bytes


def test_resource_requires_only_a_name(api):
    answer = api.post("/api/resources", {"name": "alone"}).json()

    assert (answer["scopeGroup"], answer["labels"]) == ("", {})


def test_resource_name_is_unique_and_case_sensitive_in_a_subscription(api):
    create(api)
    create(api, name="DB-2")

    error = assert_error(api.post("/api/resources", DB2), 409, "name")

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
        ({"name": "a\nb"}, "name"),  # not allowed in the value of a header
        ({"name": "a\u202eb"}, "name"),  # changes the direction of text
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
def test_invalid_resource_is_refused(api, members, target):
    assert_error(api.post("/api/resources", {**DB2, **members}), 400, target)

    assert not Resource.objects.exists()


def test_resource_requires_a_subscription_if_the_user_has_several(api, owner, subscription):
    other = Subscription.objects.create(name="other")
    Membership.objects.create(subscription=other, user=owner, role=Role.OPERATOR)

    assert_error(api.post("/api/resources", DB2), 400, "subscription")
    assert create(api, subscription=str(other.pk))["subscription"] == str(other.pk)
    assert create(api, subscription=str(subscription.pk))["subscription"] == str(subscription.pk)


def test_reader_can_read_but_not_change_resources(api, api_of, make_user):
    path = f"/api/resources/{create(api)['id']}"
    reader = api_of(ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1])
    before = list(Resource.objects.values())

    assert reader.get(path).status_code == reader.get("/api/resources").status_code == 200
    assert_error(reader.post("/api/resources", {"name": "mine"}), 403)
    assert_error(reader.patch(path, {"labels": {}}), 403)
    assert_error(reader.delete(path), 403)
    assert_error(reader.post(f"{path}/token"), 403)
    assert list(Resource.objects.values()) == before


# Reading


@pytest.mark.parametrize("listening_hours", [1, 24])
def test_resource_is_listening_for_the_set_hours_after_its_last_poll(api, settings, listening_hours):
    settings.LISTENING_HOURS = listening_hours
    polls = Machine(Resource(name="db-2"), create(api)["token"])
    path = f"/api/resources/{Resource.objects.get().pk}"
    listening = []

    for later in (timedelta(0), timedelta(hours=listening_hours), timedelta(hours=listening_hours, seconds=1)):
        with time_machine.travel(NOW + later, tick=False):
            if not later:
                polls.get()
            listening.append(api.get(path).json()["listening"])

    assert listening == [True, True, False]
    assert api.get(path).json()["lastSeenAt"] == "2026-01-01T00:00:00Z"


def test_resource_list_has_pages_and_filters(api):
    for number in range(5):
        create(api, name=f"db-{number}", scopeGroup="even" if number % 2 == 0 else "")

    def names(query: str) -> list[str]:
        return [row["name"] for row in api.get(f"/api/resources?{query}").json()["value"]]

    assert names("scopeGroup=even") == ["db-0", "db-2", "db-4"]
    assert names("name=db-3") == ["db-3"]
    assert names("name=DB-3") == []
    first = api.get("/api/resources?limit=3").json()
    assert [row["name"] for row in first["value"]] == ["db-0", "db-1", "db-2"]
    assert [row["name"] for row in api.get(first["nextLink"]).json()["value"]] == ["db-3", "db-4"]
    assert_error(api.get("/api/resources?group=even"), 400, "group")


@pytest.mark.parametrize("count", [1, 20])
def test_resource_list_takes_a_fixed_number_of_queries(api, django_assert_num_queries, count):
    for number in range(count):
        create(api, name=f"db-{number}")

    with django_assert_num_queries(2):
        api.get("/api/resources")


# Changing


def test_patch_of_a_resource_changes_only_the_sent_members(api):
    path = f"/api/resources/{create(api)['id']}"

    labelled = api.patch(path, {"labels": {"rack": "r8"}}).json()
    regrouped = api.patch(path, {"scopeGroup": "others"}).json()

    assert (labelled["scopeGroup"], labelled["labels"]) == ("databases", {"rack": "r8"})
    assert (regrouped["scopeGroup"], regrouped["labels"]) == ("others", {"rack": "r8"})
    assert "token" not in regrouped


@pytest.mark.parametrize(
    "members, target",
    [({"scopeGroup": 5}, "scopeGroup"), ({"labels": {"a": None}}, "labels.a"), ({"labels": {"": "x"}}, "labels")],
)
def test_invalid_change_of_a_resource_is_refused(api, members, target):
    answer = create(api)

    assert_error(api.patch(f"/api/resources/{answer['id']}", members), 400, target)
    assert Resource.objects.get().scope_group == "databases"


def test_new_token_is_returned_once_and_replaces_the_old_one(api):
    answer = create(api)
    path = f"/api/resources/{answer['id']}"

    response = api.post(f"{path}/token")

    token = response.json()["token"]
    assert (response.status_code, set(response.json())) == (201, {"token"})
    assert response["Cache-Control"] == "no-store"
    before, after = (Machine(Resource.objects.get(), text) for text in (answer["token"], token))
    assert (before.get().status_code, after.get().status_code) == (401, 200)
    assert token not in api.get(path).text


def test_removed_resource_stays_in_notices_by_name(api, subscription):
    polls = machine(subscription, "db-2", "databases")
    event_id = post_notice(api, polls)

    response = api.delete(f"/api/resources/{polls.resource.pk}")

    assert (response.status_code, response.content) == (204, b"")
    assert api.get(f"/api/notices/{event_id.lower()}").json()["resources"] == ["db-2"]
    assert polls.get().status_code == 401
    assert api.get(f"/api/resources/{polls.resource.pk}").status_code == 404
    assert Notice.objects.get().status == "scheduled"
    assert EventScope.objects.get(scope_key="group databases").incarnation == 3


@pytest.mark.parametrize("key", ["0", "x", "-1", "99999999999999999999", "1.5", "%00"])
def test_unknown_resource_is_not_found(api, key):
    create(api)

    for method in ("get", "patch", "delete"):
        assert getattr(api, method)(f"/api/resources/{key}").status_code == 404
    assert api.post(f"/api/resources/{key}/token").status_code == 404
