"""Who may see and change triggers in Apigee's interface, and in which organizations."""

import base64

import pytest
from rest_framework.test import APIClient

from accounts.models import ApiToken, Role, User
from jobs.models import Job
from tests.conftest import NOW
from tests.triggers.mint.triggers import (
    ADHOC,
    ADHOC_ID,
    CHARGE_ID,
    LIST,
    read_again,
    refusal,
    state_of,
)
from triggers.definitions import JobDefinition
from triggers.scheduling import save_job

ACCOUNT = {"time_zone": "UTC", "language": "", "week_start": "0", "hour_cycle": "24"}

# Sign-in and roles


def signed_in(name: str, password: str = "correct horse") -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION="Basic " + base64.b64encode(f"{name}:{password}".encode()).decode())
    return client


@pytest.mark.parametrize("name", ["ada", "ada@example.com", "ADA@Example.com"])
def test_user_name_or_email_address_with_password_signs_in(make_user, make_trigger, name):
    make_user("ada", email="ada@example.com")
    make_trigger()

    assert signed_in(name).get(f"{LIST}/{CHARGE_ID}").status_code == 200
    assert refusal(signed_in(name, "wrong").get(f"{LIST}/{CHARGE_ID}"))[0] == 401


def test_user_cannot_take_over_a_sign_in_by_setting_the_same_email_address(make_user, client):
    make_user("ada", email="ada@example.com")
    client.force_login(make_user("eve"))

    for address in ("ada@example.com", "ADA@Example.COM"):
        assert client.post("/account/", ACCOUNT | {"email": address}).status_code == 200

    assert signed_in("ada@example.com").get(f"{LIST}?orgid=default").status_code == 200


def test_user_cannot_set_an_email_address_that_is_the_name_of_another_user(make_user, client):
    make_user("ada@example.com")
    client.force_login(make_user("eve"))

    client.post("/account/", ACCOUNT | {"email": "ADA@example.com"})

    assert not User.objects.exclude(email="").exists()
    assert signed_in("ada@example.com").get(f"{LIST}?orgid=default").status_code == 200


def test_email_address_that_is_another_users_name_does_not_sign_in(make_user):
    make_user("ada", email="ada@example.com")
    eve = make_user("ada@example.com")
    eve.set_password("battery staple")
    eve.save()

    assert signed_in("ada@example.com").get(f"{LIST}?orgid=default").status_code == 401


def test_email_address_does_not_sign_in_to_our_own_api(make_user):
    make_user("ada", email="ada@example.com")

    assert signed_in("ada@example.com").get("/api/jobs").status_code == 401


def test_failed_sign_ins_by_name_and_by_email_address_are_counted_together(make_user):
    make_user("ada", email="ada@example.com")

    for name in ("ada", "ada@example.com") * 5:
        assert signed_in(name, "wrong").get(f"{LIST}?orgid=default").status_code == 401

    response = signed_in("ada@example.com").get(f"{LIST}?orgid=default")
    assert refusal(response)[0] == 429
    assert int(response["Retry-After"]) > 0


@pytest.mark.django_db
@pytest.mark.parametrize("address", [LIST, f"{LIST}/{CHARGE_ID}", "/v1/mint/elsewhere"])
def test_every_request_requires_sign_in(api_of, address):
    for method in ("get", "post", "put", "patch", "delete"):
        response = getattr(api_of(), method)(address)

        assert refusal(response)[0] == 401
        assert response["WWW-Authenticate"].startswith("Basic ")


def test_readers_can_read_and_operators_can_write(make_user, api_of, make_trigger):
    make_trigger()
    responses = {}
    for role in Role:
        token = ApiToken.objects.issue(make_user(role.name.lower(), role), "tests")[1]
        client = api_of(token)
        assert client.get(f"{LIST}?orgid=default").status_code == 200
        assert client.get(f"{LIST}/{CHARGE_ID}").status_code == 200
        responses[role] = client.put(f"{LIST}/{CHARGE_ID}", {"id": CHARGE_ID, "enabled": False})

    assert refusal(responses[Role.READER])[0] == 403
    assert [responses[role].status_code for role in (Role.OPERATOR, Role.OWNER)] == [200, 200]


def test_token_is_limited_to_its_own_role(owner, api_of, make_trigger):
    make_trigger()
    client = api_of(ApiToken.objects.issue(owner, "reports", role=Role.READER)[1])

    assert client.get(f"{LIST}/{CHARGE_ID}").status_code == 200
    assert refusal(client.put(f"{LIST}/{CHARGE_ID}", {"id": CHARGE_ID, "enabled": False}))[0] == 403


# Other organizations


@pytest.mark.parametrize(
    "orgid", ["orgid=elsewhere", "orgid=nowhere", "orgid=", "", "orgid=%00", "orgid=" + "x" * 3000]
)
def test_organization_of_another_subscription_is_treated_as_missing(api, elsewhere, make_trigger, orgid):
    make_trigger(in_collection=elsewhere)
    missing = api.get(f"{LIST}?orgid=missing")

    response = api.get(f"{LIST}?{orgid}")

    assert refusal(response)[0] == 404
    assert response.content == missing.content
    assert api.get(f"{LIST}?orgid={elsewhere.subscription_id}").content == missing.content


@pytest.mark.parametrize("method", ["get", "put"])
@pytest.mark.parametrize("query", ["", "?orgid=default", "?orgid=elsewhere"])
def test_trigger_of_another_subscription_is_treated_as_missing(api, elsewhere, make_trigger, method, query):
    make_trigger(in_collection=elsewhere)
    before = state_of()
    bodies = [] if method == "get" else [{"id": CHARGE_ID, "enabled": False}]

    inaccessible = getattr(api, method)(f"{LIST}/{CHARGE_ID}{query}", *bodies)
    missing = getattr(api, method)(f"{LIST}/{ADHOC_ID}{query}", *bodies)

    assert refusal(inaccessible)[0] == 404
    assert inaccessible.content == missing.content
    assert state_of() == before


def test_list_of_an_organization_contains_only_its_own_triggers(api, elsewhere, make_trigger):
    make_trigger()
    make_trigger(ADHOC, in_collection=elsewhere)

    assert [each["id"] for each in api.get(f"{LIST}?orgid=default").json()] == [CHARGE_ID]


def test_id_in_several_organizations_requires_an_orgid(api, put, owner, elsewhere, make_trigger):
    ours, theirs = make_trigger(), make_trigger(in_collection=elsewhere)
    elsewhere.subscription.membership_set.create(user=owner, role=Role.OPERATOR)

    assert refusal(put(CHARGE_ID, enabled=False))[0] == 409
    response = api.put(f"{LIST}/{CHARGE_ID}?orgid=elsewhere", {"id": CHARGE_ID, "enabled": False})

    assert response.status_code == 200
    assert [read_again(each).enabled for each in (ours, theirs)] == [True, False]


def test_id_in_several_organizations_without_an_orgid_is_that_of_the_default_one(put, owner, elsewhere, make_trigger):
    ours, theirs = make_trigger(), make_trigger(in_collection=elsewhere)
    owner.default_subscription = ours.job.collection.subscription
    owner.save()
    elsewhere.subscription.membership_set.create(user=owner, role=Role.OPERATOR)

    assert put(CHARGE_ID, enabled=False).status_code == 200

    assert [read_again(each).enabled for each in (ours, theirs)] == [False, True]


def test_trigger_of_an_ended_job_cannot_be_changed(put, make_trigger):
    trigger = make_trigger()
    Job.objects.filter(pk=trigger.job_id).update(state=Job.State.COMPLETED)

    assert refusal(put(CHARGE_ID, enabled=False)) == (
        409,
        {"code": "conflict", "message": "job 'charge-daily' is completed, which is final"},
    )


def test_errors_for_a_wrong_host_or_a_bug_have_the_same_format(api, make_trigger, monkeypatch):
    def fails(trigger):
        raise RuntimeError("no")

    make_trigger()
    assert refusal(api.get(f"{LIST}?orgid=default", HTTP_HOST="evil.example"))[0] == 400
    monkeypatch.setattr("triggers.mint.api.rendered", fails)
    api.raise_request_exception = False

    assert refusal(api.get(f"{LIST}?orgid=default"))[0] == 500


def test_collection_can_contain_jobs_of_both_kinds(api, collection, make_trigger):
    save_job(
        collection, "plain", JobDefinition(action={"type": "Task", "task": {"name": "MINT.XEFEED"}}, schedule={}), NOW
    )
    make_trigger()

    assert len(api.get(f"{LIST}?orgid=default").json()) == 1
