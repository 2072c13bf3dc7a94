"""Who may choose a plan: an operator up to Standard, an owner every one."""

import pytest

from accounts.models import ApiToken, Role
from jobs.models import JobCollection
from tests.jobs.arm_client import ArmClient

PREMIUM = ("P10Premium", "P20Premium")


@pytest.fixture
def text_of(make_user):
    """Make the text of a token of somebody in this role."""

    def issue(role: Role, token_role: Role = Role.OWNER) -> str:
        return ApiToken.objects.issue(make_user(f"user-{role}-{token_role}", role), "t", role=token_role)[1]

    return issue


@pytest.fixture(params=[(Role.OPERATOR, Role.OWNER), (Role.OWNER, Role.OPERATOR)], ids=["user", "token"])
def operator(request, text_of):
    """The text of an operator's token, and that of an operator's token of an owner."""
    return text_of(*request.param)


@pytest.fixture
def plain(collection):
    JobCollection.objects.update(sku="Standard")
    return collection


def arm_body(sku: str) -> dict:
    return {"properties": {"sku": {"name": sku}}}


def plans() -> list[str]:
    return list(JobCollection.objects.order_by("pk").values_list("sku", flat=True))


@pytest.mark.parametrize("sku", PREMIUM)
def test_an_operator_chooses_no_premium_plan_at_our_interface(api_of, operator, plain, sku):
    client, address = api_of(operator), f"/api/collections/{plain.pk}"

    refused = [
        client.post("/api/collections", {"name": "fresh", "sku": sku}),
        client.put(address, {"sku": sku}),
        client.patch(address, {"sku": sku}),
    ]

    assert [(answer.status_code, answer.json()["error"]["code"]) for answer in refused] == [(403, "forbidden")] * 3
    assert "premium" in refused[0].json()["error"]["message"]
    assert plans() == ["Standard"]


@pytest.mark.parametrize("sku", PREMIUM)
def test_an_operator_chooses_no_premium_plan_at_the_resource_manager(operator, plain, sku):
    client = ArmClient(operator)

    refused = [
        client.put(client.collection("fresh"), arm_body(sku)),
        client.put(client.collection(), arm_body(sku)),
        client.patch(client.collection(), arm_body(sku.lower())),
    ]

    answers = [(answer.status_code, answer.json()["error"]["code"]) for answer in refused]
    assert answers == [(403, "AuthorizationFailed")] * 3
    assert plans() == ["Standard"]


@pytest.mark.parametrize("sku", PREMIUM)
def test_an_owner_chooses_every_plan(api_of, text_of, plain, sku):
    owner = text_of(Role.OWNER)
    client = ArmClient(owner)

    assert api_of(owner).patch(f"/api/collections/{plain.pk}", {"sku": sku}).status_code == 200
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
def test_an_operator_keeps_and_lowers_a_plan(api_of, operator, collection, before, after, status):
    JobCollection.objects.update(sku=before)

    answer = api_of(operator).patch(f"/api/collections/{collection.pk}", {"sku": after, "tags": {"a": "b"}})

    assert answer.status_code == status
    assert plans() == [after if status == 200 else before]


def test_an_operator_changes_the_rest_of_a_premium_collection(operator, collection):
    client = ArmClient(operator)
    document = client.get(client.collection()).json()

    assert client.patch(client.collection(), {"tags": {"a": "b"}}).status_code == 200
    assert client.put(client.collection(), document).status_code == 200
    assert plans() == ["P20Premium"]
