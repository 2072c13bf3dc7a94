"""Who may choose a plan: operators up to Standard, owners every plan."""

import pytest

from accounts.models import ApiToken, Role
from jobs.models import JobCollection
from tests.jobs.arm_client import ArmClient

PREMIUM = ("P10Premium", "P20Premium")


@pytest.fixture
def issue_token(make_user):
    """Return a function that returns the text of a new token of a user with a role."""

    def issue(role: Role, token_role: Role = Role.OWNER) -> str:
        return ApiToken.objects.issue(make_user(f"user-{role}-{token_role}", role), "t", role=token_role)[1]

    return issue


@pytest.fixture(params=[(Role.OPERATOR, Role.OWNER), (Role.OWNER, Role.OPERATOR)], ids=["user", "token"])
def operator(request, issue_token):
    """The text of a token of an operator, or of an owner's token with the role of an operator."""
    return issue_token(*request.param)


@pytest.fixture
def standard_collection(collection):
    JobCollection.objects.update(sku="Standard")
    return collection


def arm_body(sku: str) -> dict:
    return {"properties": {"sku": {"name": sku}}}


def plans() -> list[str]:
    return list(JobCollection.objects.order_by("pk").values_list("sku", flat=True))


@pytest.mark.parametrize("sku", PREMIUM)
def test_operator_cannot_choose_a_premium_plan_in_our_own_api(api_of, operator, standard_collection, sku):
    client, address = api_of(operator), f"/api/collections/{standard_collection.pk}"

    refused = [
        client.post("/api/collections", {"name": "fresh", "sku": sku}),
        client.put(address, {"sku": sku}),
        client.patch(address, {"sku": sku}),
    ]

    assert [(response.status_code, response.json()["error"]["code"]) for response in refused] == [
        (403, "forbidden")
    ] * 3
    assert "premium" in refused[0].json()["error"]["message"]
    assert plans() == ["Standard"]


@pytest.mark.parametrize("sku", PREMIUM)
def test_operator_cannot_choose_a_premium_plan_in_the_azure_contract(operator, standard_collection, sku):
    client = ArmClient(operator)

    refused = [
        client.put(client.collection("fresh"), arm_body(sku)),
        client.put(client.collection(), arm_body(sku)),
        client.patch(client.collection(), arm_body(sku.lower())),
    ]

    errors = [(response.status_code, response.json()["error"]["code"]) for response in refused]
    assert errors == [(403, "AuthorizationFailed")] * 3
    assert plans() == ["Standard"]


@pytest.mark.parametrize("sku", PREMIUM)
def test_owner_can_choose_every_plan(api_of, issue_token, standard_collection, sku):
    owner = issue_token(Role.OWNER)
    client = ArmClient(owner)

    assert api_of(owner).patch(f"/api/collections/{standard_collection.pk}", {"sku": sku}).status_code == 200
    assert client.put(client.collection("fresh"), arm_body(sku)).status_code == 201
    assert plans() == [sku, sku]


@pytest.mark.parametrize(
    "before, after, status",
    [
        ("P20Premium", "P20Premium", 200),
        ("P20Premium", "P10Premium", 200),
        ("P20Premium", "Standard", 200),
        ("P10Premium", "P20Premium", 403),
        ("Standard", "Free", 200),
        ("Free", "Standard", 200),
        ("Free", "P10Premium", 403),
    ],
)
def test_operator_can_keep_or_lower_a_plan(api_of, operator, collection, before, after, status):
    JobCollection.objects.update(sku=before)

    response = api_of(operator).patch(f"/api/collections/{collection.pk}", {"sku": after, "tags": {"a": "b"}})

    assert response.status_code == status
    assert plans() == [after if status == 200 else before]


def test_operator_can_change_other_members_of_a_premium_collection(operator, collection):
    client = ArmClient(operator)
    document = client.get(client.collection()).json()

    assert client.patch(client.collection(), {"tags": {"a": "b"}}).status_code == 200
    assert client.put(client.collection(), document).status_code == 200
    assert plans() == ["P20Premium"]
