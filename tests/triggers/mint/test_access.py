"""Who may see and change triggers as Apigee's clients do, and in which organizations."""

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

# Who may


def signed_in(name: str, password: str = "correct horse") -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION="Basic " + base64.b64encode(f"{name}:{password}".encode()).decode())
    return client


@pytest.mark.parametrize("name", ["ada", "ada@example.com", "ADA@Example.com"])
def test_user_name_or_e_mail_address_and_password_sign_in(make_user, make_trigger, name):
    make_user("ada", email="ada@example.com")
    make_trigger()

    assert signed_in(name).get(f"{LIST}/{CHARGE_ID}").status_code == 200
    assert refusal(signed_in(name, "wrong").get(f"{LIST}/{CHARGE_ID}"))[0] == 401


def test_nobody_takes_the_sign_in_of_another_by_setting_the_same_address(make_user, client):
    make_user("ada", email="ada@example.com")
    client.force_login(make_user("eve"))

    for address in ("ada@example.com", "ADA@Example.COM"):
        assert client.post("/account/", ACCOUNT | {"email": address}).status_code == 200

    assert signed_in("ada@example.com").get(f"{LIST}?orgid=default").status_code == 200


def test_an_address_that_is_the_name_of_a_user_stays_the_sign_in_of_that_user(make_user, client):
    make_user("ada@example.com")
    client.force_login(make_user("eve"))

    client.post("/account/", ACCOUNT | {"email": "ADA@example.com"})

    assert not User.objects.exclude(email="").exists()
    assert signed_in("ada@example.com").get(f"{LIST}?orgid=default").status_code == 200


def test_an_address_that_is_another_users_name_signs_in_nobody_else(make_user):
    make_user("ada", email="ada@example.com")
    eve = make_user("ada@example.com")
    eve.set_password("battery staple")
    eve.save()

    assert signed_in("ada@example.com").get(f"{LIST}?orgid=default").status_code == 401


def test_an_e_mail_address_does_not_sign_in_elsewhere(make_user):
    make_user("ada", email="ada@example.com")

    assert signed_in("ada@example.com").get("/api/jobs").status_code == 401


def test_guessing_ends_by_name_and_by_address_together(make_user):
    make_user("ada", email="ada@example.com")

    for name in ("ada", "ada@example.com") * 5:
        assert signed_in(name, "wrong").get(f"{LIST}?orgid=default").status_code == 401

    answer = signed_in("ada@example.com").get(f"{LIST}?orgid=default")
    assert refusal(answer)[0] == 429
    assert int(answer["Retry-After"]) > 0


@pytest.mark.django_db
@pytest.mark.parametrize("address", [LIST, f"{LIST}/{CHARGE_ID}", "/v1/mint/elsewhere"])
def test_nobody_gets_an_answer_without_signing_in(api_of, address):
    for method in ("get", "post", "put", "patch", "delete"):
        answer = getattr(api_of(), method)(address)

        assert refusal(answer)[0] == 401
        assert answer["WWW-Authenticate"].startswith("Basic ")


def test_readers_read_and_operators_write(make_user, api_of, make_trigger):
    make_trigger()
    answers = {}
    for role in Role:
        token = ApiToken.objects.issue(make_user(role.name.lower(), role), "tests")[1]
        client = api_of(token)
        assert client.get(f"{LIST}?orgid=default").status_code == 200
        assert client.get(f"{LIST}/{CHARGE_ID}").status_code == 200
        answers[role] = client.put(f"{LIST}/{CHARGE_ID}", {"id": CHARGE_ID, "enabled": False})

    assert refusal(answers[Role.READER])[0] == 403
    assert [answers[role].status_code for role in (Role.OPERATOR, Role.OWNER)] == [200, 200]


def test_a_token_may_do_no_more_than_its_own_role(owner, api_of, make_trigger):
    make_trigger()
    client = api_of(ApiToken.objects.issue(owner, "reports", role=Role.READER)[1])

    assert client.get(f"{LIST}/{CHARGE_ID}").status_code == 200
    assert refusal(client.put(f"{LIST}/{CHARGE_ID}", {"id": CHARGE_ID, "enabled": False}))[0] == 403


# Other organizations


@pytest.mark.parametrize(
    "orgid", ["orgid=elsewhere", "orgid=nowhere", "orgid=", "", "orgid=%00", "orgid=" + "x" * 3000]
)
def test_an_organization_of_others_looks_like_one_that_is_missing(api, elsewhere, make_trigger, orgid):
    make_trigger(in_collection=elsewhere)
    missing = api.get(f"{LIST}?orgid=missing")

    answer = api.get(f"{LIST}?{orgid}")

    assert refusal(answer)[0] == 404
    assert answer.content == missing.content
    assert api.get(f"{LIST}?orgid={elsewhere.subscription_id}").content == missing.content


@pytest.mark.parametrize("method", ["get", "put"])
@pytest.mark.parametrize("query", ["", "?orgid=default", "?orgid=elsewhere"])
def test_a_trigger_of_others_looks_like_one_that_is_missing(api, elsewhere, make_trigger, method, query):
    make_trigger(in_collection=elsewhere)
    before = state_of()
    bodies = [] if method == "get" else [{"id": CHARGE_ID, "enabled": False}]

    foreign = getattr(api, method)(f"{LIST}/{CHARGE_ID}{query}", *bodies)
    missing = getattr(api, method)(f"{LIST}/{ADHOC_ID}{query}", *bodies)

    assert refusal(foreign)[0] == 404
    assert foreign.content == missing.content
    assert state_of() == before


def test_the_list_of_one_organization_has_nothing_of_another(api, elsewhere, make_trigger):
    make_trigger()
    make_trigger(ADHOC, in_collection=elsewhere)

    assert [each["id"] for each in api.get(f"{LIST}?orgid=default").json()] == [CHARGE_ID]


def test_an_id_that_several_organizations_have_needs_to_be_told_which(api, put, owner, elsewhere, make_trigger):
    ours, theirs = make_trigger(), make_trigger(in_collection=elsewhere)
    elsewhere.subscription.membership_set.create(user=owner, role=Role.OPERATOR)

    assert refusal(put(CHARGE_ID, enabled=False))[0] == 409
    answer = api.put(f"{LIST}/{CHARGE_ID}?orgid=elsewhere", {"id": CHARGE_ID, "enabled": False})

    assert answer.status_code == 200
    assert [read_again(each).enabled for each in (ours, theirs)] == [True, False]


def test_an_id_that_several_organizations_have_means_the_default_one(put, owner, elsewhere, make_trigger):
    ours, theirs = make_trigger(), make_trigger(in_collection=elsewhere)
    owner.default_subscription = ours.job.collection.subscription
    owner.save()
    elsewhere.subscription.membership_set.create(user=owner, role=Role.OPERATOR)

    assert put(CHARGE_ID, enabled=False).status_code == 200

    assert [read_again(each).enabled for each in (ours, theirs)] == [False, True]


def test_a_job_that_is_over_cannot_be_changed_here_either(put, make_trigger):
    trigger = make_trigger()
    Job.objects.filter(pk=trigger.job_id).update(state=Job.State.COMPLETED)

    assert refusal(put(CHARGE_ID, enabled=False)) == (
        409,
        {"code": "conflict", "message": "job 'charge-daily' is completed, which is final"},
    )


def test_a_wrong_host_or_a_bug_is_answered_in_the_same_shape(api, make_trigger, monkeypatch):
    def fails(trigger):
        raise RuntimeError("no")

    make_trigger()
    assert refusal(api.get(f"{LIST}?orgid=default", HTTP_HOST="evil.example"))[0] == 400
    monkeypatch.setattr("triggers.mint.api.rendered", fails)
    api.raise_request_exception = False

    assert refusal(api.get(f"{LIST}?orgid=default"))[0] == 500


def test_a_collection_may_hold_jobs_of_both_kinds(api, collection, make_trigger):
    save_job(
        collection, "plain", JobDefinition(action={"type": "Task", "task": {"name": "MINT.XEFEED"}}, schedule={}), NOW
    )
    make_trigger()

    assert len(api.get(f"{LIST}?orgid=default").json()) == 1
