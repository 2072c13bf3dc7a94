"""Apigee's triggers interface: list, one, update, and what it refuses."""

import base64
import json
from datetime import timedelta
from urllib.parse import quote

import pytest
from rest_framework.test import APIClient

from accounts.models import ApiToken, Role, Subscription
from jobs.models import Job, JobCollection
from tests.conftest import NOW, utc
from tests.site.test_bad_input import BODIES
from triggers import mint_jobs
from triggers.definitions import JobDefinition, TriggerDefinition
from triggers.models import Trigger
from triggers.scheduling import save_collection, save_job, save_trigger

LIST = "/v1/mint/triggers"
CHARGE = "MINT.CHARGE_DAILY@@@management-server@@@DEFAULT"
CHARGE_ID = f"{CHARGE}@@@management-server@@@DEFAULT"
ADHOC = "MINT.ADHOC_NOTIFY@@@management-server@@@DEFAULT"
ADHOC_ID = f"{ADHOC}@@@management-server@@@DEFAULT"
CRON = {"format": "quartz", "definition": {"expression": "0 20 1 * * ?"}}
START = "1372916749000"  # of the published example: before its trigger was created
SIMPLE = {"format": "simple", "definition": {"startTime": START}}


@pytest.fixture
def make_trigger(make_job):
    """A trigger on a job without a schedule of its own."""

    def make(name=CHARGE, job="charge-daily", in_collection=None, **fields):
        fields = {
            **CRON,
            "priority": 1,
            "group": "management-server",
            "data_map": {"custom_lock_key": "mint.scheduler.__ORG_ID__.chargedaily@@@management"},
            **fields,
        }
        where = {"in_collection": in_collection} if in_collection else {}
        row = Job.objects.filter(name=job, **({"collection": in_collection} if in_collection else {})).first()
        row = row or make_job(
            job, action={"type": "Task", "task": {"name": "MINT.CHARGE_DAILY"}}, schedule=None, **where
        )
        return save_trigger(row, name, TriggerDefinition(**fields), NOW)[0]

    return make


@pytest.fixture
def elsewhere(make_user):
    """A collection of a subscription that the caller is no member of."""
    subscription = Subscription.objects.create(name="elsewhere")
    make_user("eve", in_subscription=subscription)
    collection = JobCollection(subscription=subscription, name="theirs")
    save_collection(collection, NOW)
    return collection


@pytest.fixture
def put(api):
    """Change the trigger with this id; what is left out stays out of the body, but for the id."""

    def put(trig_id: str, **members):
        return api.put(f"{LIST}/{trig_id}", {"id": trig_id} | members)

    return put


def read_again(trigger: Trigger) -> Trigger:
    return Trigger.objects.get(pk=trigger.pk)


def state_of(*_) -> list:
    return list(Trigger.objects.order_by("pk").values())


def refusal(response) -> tuple[int, dict]:
    body = response.json()
    assert set(body) == {"code", "message"} and all(isinstance(text, str) and text for text in body.values()), body
    return response.status_code, body


# Reading


def test_a_cron_trigger_has_the_published_members_and_types(api, make_trigger):
    trigger = make_trigger()

    document = api.get(f"{LIST}/{CHARGE_ID}").json()

    assert document == {
        "id": CHARGE_ID,
        "jobId": "MINT.CHARGE_DAILY@@@management-server",
        "name": CHARGE,
        "group": "management-server",
        "suiteId": "DEFAULT",
        "enabled": True,
        "cronExpression": "0 20 1 * * ?",
        "priority": "1",
        "triggerDataMap": {"custom_lock_key": "mint.scheduler.__ORG_ID__.chargedaily@@@management"},
        "createdDate": round(trigger.created_at.timestamp() * 1000),
        "updatedDate": round(trigger.updated_at.timestamp() * 1000),
    }


@pytest.mark.parametrize(
    "definition, times",
    [
        ({"startTime": START}, {"startTime": START}),
        ({"startTime": int(START)}, {"startTime": START}),
        ({"startTime": "2013-07-04T05:45:49Z"}, {"startTime": START}),
        ({"repeatCount": 0}, {"startTime": "1767225600000"}),  # at its creation
        (
            {"startTime": START, "interval": 1000, "endTime": 1372916759000},
            {"startTime": START, "endTime": "1372916759000"},
        ),
    ],
)
def test_a_simple_trigger_has_an_empty_expression_and_its_times_as_texts(api, make_trigger, definition, times):
    make_trigger(ADHOC, format="simple", definition=definition, priority=4)

    document = api.get(f"{LIST}/{ADHOC_ID}").json()

    assert (document["cronExpression"], document["priority"]) == ("", "4")
    assert {name: value for name, value in document.items() if name.endswith("Time")} == times


def test_the_list_is_a_bare_array_of_what_is_named_as_apigee_does(api, make_trigger, subscription):
    make_trigger()
    make_trigger(ADHOC, **SIMPLE)
    make_trigger("nightly")
    make_trigger("A@@@B")
    make_trigger("A@@@B@@@C@@@D")
    make_trigger("MINT.ONCE@@@g@@@S", format="once", definition={"at": "2030-01-01T00:00:00Z"})

    answer = api.get(LIST, {"orgid": "default"})

    assert [each["id"] for each in answer.json()] == [ADHOC_ID, CHARGE_ID]
    assert answer["Content-Type"].startswith("application/json")
    assert answer.json()[1] == api.get(f"{LIST}/{CHARGE_ID}").json()


@pytest.mark.parametrize("orgid", ["default", "DEFAULT", "00000000-0000-0000-0000-000000000001"])
def test_an_organization_goes_by_its_short_name_or_its_id(api, make_trigger, orgid):
    make_trigger()

    assert len(api.get(f"{LIST}?orgid={orgid}").json()) == 1
    assert api.get(f"{LIST}/{CHARGE_ID}?orgid={orgid}").status_code == 200


def test_an_organization_without_triggers_has_an_empty_list(api):
    assert api.get(f"{LIST}?orgid=default").json() == []


@pytest.mark.parametrize(
    "address", [CHARGE_ID, quote(CHARGE_ID, safe=""), CHARGE_ID.replace("@", "%40"), f"{CHARGE_ID}/"]
)
def test_an_id_may_be_written_in_any_of_these_ways(api, make_trigger, address):
    make_trigger()

    assert api.get(f"{LIST}/{address}").json()["id"] == CHARGE_ID
    assert api.put(f"{LIST}/{address}", {"id": CHARGE_ID, "enabled": False}).json()["enabled"] is False


@pytest.mark.parametrize("accept", ["application/json", "application/xml", "*/*", "text/html"])
def test_the_answer_is_json_whatever_is_accepted(api, make_trigger, accept):
    make_trigger()

    assert api.get(f"{LIST}/{CHARGE_ID}", HTTP_ACCEPT=accept).json()["id"] == CHARGE_ID


def test_reading_takes_as_many_queries_however_many_triggers_there_are(
    api, subscription, make_trigger, django_assert_num_queries
):
    make_trigger()
    api.get(f"{LIST}?orgid=default")  # writes when the token was last used
    with django_assert_num_queries(3):  # who calls, which organization, its triggers
        assert len(api.get(f"{LIST}?orgid=default").json()) == 1
    mint_jobs.load(subscription, NOW)
    with django_assert_num_queries(3):
        assert len(api.get(f"{LIST}?orgid=default").json()) == 21
    with django_assert_num_queries(2):
        assert api.get(f"{LIST}/{ADHOC_ID}").status_code == 200


# Changing a cron trigger


def test_an_expression_takes_effect_from_now_on(put, make_trigger):
    trigger = make_trigger()

    answer = put(CHARGE_ID, cronExpression="0 0/5 * * * ?")

    changed = read_again(trigger)
    assert (answer.status_code, answer.json()["cronExpression"]) == (200, "0 0/5 * * * ?")
    assert changed.definition == {"expression": "0 0/5 * * * ?"}
    assert changed.next_fire_at > changed.updated_at
    assert changed.next_fire_at - changed.updated_at <= timedelta(minutes=5)
    assert answer.json()["updatedDate"] >= answer.json()["createdDate"]


def test_disabling_stops_it_and_enabling_goes_on_with_the_next_time(put, make_trigger):
    trigger = make_trigger()

    assert put(CHARGE_ID, enabled=False).json()["enabled"] is False
    disabled = read_again(trigger)
    assert (disabled.enabled, disabled.next_fire_at, disabled.definition) == (False, None, CRON["definition"])

    assert put(CHARGE_ID, enabled=True).json()["enabled"] is True
    enabled = read_again(trigger)
    assert (enabled.next_fire_at.hour, enabled.next_fire_at.minute) == (1, 20)
    assert enabled.next_fire_at > enabled.updated_at


def test_anything_else_in_the_body_is_ignored(api, put, make_trigger):
    trigger = make_trigger(priority=3)
    before = api.get(f"{LIST}/{CHARGE_ID}").json()

    answer = put(
        CHARGE_ID,
        name="other",
        jobId="other",
        group="other",
        suiteId=["other"],
        priority="high",
        startTime={"a": 1},
        endTime=True,
        triggerDataMap="no object",
        createdDate="x",
        updatedDate=None,
        unheard_of=1,
    )

    assert answer.json() == before | {"updatedDate": answer.json()["updatedDate"]}
    assert read_again(trigger).priority == 3


def test_what_was_read_can_be_sent_back(api, make_trigger):
    trigger = make_trigger(
        format="quartz", definition={"expression": "0 20 1 * * ?", "timeZone": "Europe/Berlin", "clockChange": "quartz"}
    )
    document = api.get(f"{LIST}/{CHARGE_ID}").json()

    answer = api.put(f"{LIST}/{CHARGE_ID}", document)

    assert answer.json() == document | {"updatedDate": answer.json()["updatedDate"]}
    assert read_again(trigger).next_fire_at == trigger.next_fire_at
    assert read_again(trigger).definition == trigger.definition


def test_another_expression_keeps_the_zone(put, make_trigger):
    trigger = make_trigger(definition={"expression": "0 20 1 * * ?", "timeZone": "Europe/Berlin"})

    put(CHARGE_ID, cronExpression="0 20 2 * * ?")

    assert read_again(trigger).definition == {"expression": "0 20 2 * * ?", "timeZone": "Europe/Berlin"}


@pytest.mark.parametrize("expression", ["0 15 10 ? * 6L 2013-2015", "0 15 10 ? * FRIL 2013"])
def test_an_expression_that_never_fires_again_is_accepted(put, make_trigger, expression):
    trigger = make_trigger()

    assert put(CHARGE_ID, cronExpression=expression).json()["cronExpression"] == expression
    assert (read_again(trigger).enabled, read_again(trigger).next_fire_at) == (True, None)


@pytest.mark.parametrize(
    "members, member",
    [
        ({"cronExpression": "0 20 1 * *"}, "cronExpression"),
        ({"cronExpression": "0 20 1 * * QUA"}, "cronExpression"),
        ({"cronExpression": "x" * 300}, "cronExpression"),
        ({"cronExpression": ""}, "cronExpression"),
        ({"cronExpression": 5}, "cronExpression"),
        ({"enabled": "true"}, "enabled"),
        ({"enabled": 1}, "enabled"),
        ({"enabled": []}, "enabled"),
    ],
)
def test_a_wrong_member_of_a_cron_trigger_is_a_400_that_names_it(put, make_trigger, members, member):
    make_trigger()
    before = state_of()

    status, body = refusal(put(CHARGE_ID, **members))

    assert (status, body["message"].partition(":")[0]) == (400, member)
    assert state_of() == before


def test_a_quota_is_kept_here_too(put, make_trigger, collection):
    collection.max_recurrence_frequency, collection.max_recurrence_interval = "hour", 1
    save_collection(collection, NOW)
    make_trigger()

    status, body = refusal(put(CHARGE_ID, cronExpression="0 * * * * ?"))

    assert (status, body["code"]) == (409, "quota_exceeded")


# Changing a simple trigger


@pytest.mark.parametrize("text", ["1924992000000", 1924992000000])
def test_start_and_end_may_be_texts_or_numbers(put, make_trigger, text):
    trigger = make_trigger(ADHOC, **SIMPLE)

    document = put(ADHOC_ID, startTime=text, endTime=1924992100000).json()

    assert (document["startTime"], document["endTime"]) == ("1924992000000", "1924992100000")
    assert read_again(trigger).next_fire_at == utc("2031-01-01T00:00:00Z")
    assert "endTime" not in put(ADHOC_ID, endTime="").json()


@pytest.mark.parametrize("priority, kept", [("7", 7), (7, 7), ("0", 0), (None, 1)])
def test_the_priority_may_be_a_text_or_a_number(put, make_trigger, priority, kept):
    trigger = make_trigger(ADHOC, **SIMPLE)

    assert put(ADHOC_ID, priority=priority).json()["priority"] == str(kept)
    assert read_again(trigger).priority == kept


def test_the_data_map_is_replaced_and_its_lock_key_counts(put, make_trigger, subscription):
    trigger = make_trigger(ADHOC, **SIMPLE)
    data_map = {"custom_lock_key": "__ORG_ID__.other", "note": {"a": [1]}}

    assert put(ADHOC_ID, triggerDataMap=data_map).json()["triggerDataMap"] == data_map
    assert f"{subscription.pk}.other" in read_again(trigger).lock_key
    assert put(ADHOC_ID, triggerDataMap={}).json()["triggerDataMap"] == {}
    assert read_again(trigger).lock_key is None


def test_what_is_not_sent_or_null_stays(api, put, make_trigger):
    make_trigger(ADHOC, format="simple", definition={"startTime": START, "interval": 86_400_000, "repeatCount": -1})
    before = api.get(f"{LIST}/{ADHOC_ID}").json()

    answer = put(ADHOC_ID, startTime=None, priority=None, triggerDataMap=None, enabled=None, cronExpression=None)

    assert answer.json() == before | {"updatedDate": answer.json()["updatedDate"]}
    assert Trigger.objects.get().definition == {"startTime": START, "interval": 86_400_000, "repeatCount": -1}


def test_a_start_in_the_past_makes_no_run(put, make_trigger):
    trigger = make_trigger("OURS@@@g@@@S", **SIMPLE)

    assert put("OURS@@@g@@@S@@@g@@@S", enabled=False).status_code == 200
    assert put("OURS@@@g@@@S@@@g@@@S", enabled=True).status_code == 200

    assert (trigger.next_fire_at, read_again(trigger).next_fire_at) == (None, None)


def test_what_an_event_switches_on_gets_its_start_with_it(put, make_trigger):
    trigger = make_trigger(ADHOC, **SIMPLE, enabled=False)

    document = put(ADHOC_ID, enabled=True, startTime=START).json()

    fire = read_again(trigger).next_fire_at
    assert (fire.hour, fire.minute) == (21, 0)
    assert document["startTime"] == str(round(fire.timestamp() * 1000))


def test_what_an_event_switches_on_keeps_a_start_to_come(put, make_trigger):
    make_trigger(ADHOC, **SIMPLE, enabled=False)

    assert put(ADHOC_ID, enabled=True, startTime="1924992000000").json()["startTime"] == "1924992000000"


def test_an_expression_makes_a_cron_trigger_of_it(put, make_trigger):
    trigger = make_trigger(ADHOC, **SIMPLE)

    document = put(ADHOC_ID, cronExpression="0 0 21 * * ?", priority="2").json()

    assert (document["cronExpression"], document["priority"]) == ("0 0 21 * * ?", "2")
    assert "startTime" not in document
    assert (read_again(trigger).format, read_again(trigger).next_fire_at.hour) == ("quartz", 21)


@pytest.mark.parametrize(
    "members, member",
    [
        ({"startTime": "soon"}, "startTime"),
        ({"startTime": True}, "startTime"),
        ({"startTime": 1.5}, "startTime"),
        ({"startTime": []}, "startTime"),
        ({"startTime": 10**15}, "startTime"),
        ({"startTime": "9" * 15}, "startTime"),
        ({"endTime": {}}, "endTime"),
        ({"startTime": "2000", "endTime": "1000"}, "endTime"),
        ({"priority": "high"}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": ""}, "priority"),
        ({"priority": -1}, "priority"),
        ({"priority": "-1"}, "priority"),
        ({"priority": 2**15}, "priority"),
        ({"priority": "9" * 9}, "priority"),
        ({"triggerDataMap": []}, "triggerDataMap"),
        ({"triggerDataMap": {"custom_lock_key": 5}}, "triggerDataMap.custom_lock_key"),
        ({"triggerDataMap": {"custom_lock_key": "x" * 200}}, "triggerDataMap.custom_lock_key"),
        ({"cronExpression": "every day"}, "cronExpression"),
        ({"enabled": "no"}, "enabled"),
    ],
)
def test_a_wrong_member_of_a_simple_trigger_is_a_400_that_names_it(put, make_trigger, members, member):
    make_trigger(ADHOC, **SIMPLE)
    before = state_of()

    status, body = refusal(put(ADHOC_ID, **members))

    assert (status, body["message"].partition(":")[0]) == (400, member)
    assert state_of() == before


# The body and the id


@pytest.mark.parametrize("sent", [{}, {"id": None}, {"id": ""}, {"id": 5}, {"id": ADHOC_ID}, {"id": CHARGE_ID.lower()}])
def test_a_missing_or_different_id_is_a_400(api, make_trigger, sent):
    make_trigger()
    before = state_of()

    status, body = refusal(api.put(f"{LIST}/{CHARGE_ID}", sent | {"enabled": False}))

    assert (status, body["message"].partition(":")[0]) == (400, "id")
    assert state_of() == before


PUBLISHED = f'{{ "id" : "{CHARGE_ID}", "cronExpression" : "0 20 1 * * ?", "enabled" : true }}, }}'


@pytest.mark.parametrize("body", [PUBLISHED.encode(), *BODIES.values()], ids=["as published", *BODIES])
def test_a_body_that_is_not_strict_json_is_a_400(api, make_trigger, body):
    make_trigger()
    before = state_of()

    response = api.generic("PUT", f"{LIST}/{CHARGE_ID}", body, content_type="application/json")

    assert refusal(response)[0] == 400
    assert state_of() == before


def test_a_body_of_another_type_or_length_is_refused(api, make_trigger):
    make_trigger()
    long = json.dumps({"id": CHARGE_ID, "x": "x" * 20_000}).encode()

    other = api.generic("PUT", f"{LIST}/{CHARGE_ID}", b"enabled=false", content_type="application/xml")
    charset = api.generic("PUT", f"{LIST}/{CHARGE_ID}", b"{}", content_type="application/json; charset=latin-1")

    assert refusal(other)[0] == refusal(charset)[0] == 415
    assert refusal(api.generic("PUT", f"{LIST}/{CHARGE_ID}", long, content_type="application/json"))[0] == 400


@pytest.mark.parametrize(
    "trig_id",
    [
        ADHOC_ID,
        CHARGE,
        f"{CHARGE}@@@message-processor@@@DEFAULT",
        f"{CHARGE}@@@management-server@@@SYSTEM",
        CHARGE_ID.lower(),
        "1",
        "@@@",
        "%00",
        "MINT.CHARGE_DAILY%00@@@management-server@@@DEFAULT@@@management-server@@@DEFAULT",
        "x" * 3000,
        f"{CHARGE_ID}.json",
        f"{CHARGE_ID}/runs",
        "%ff",
    ],
)
def test_an_unknown_id_is_a_404(api, make_trigger, trig_id):
    make_trigger()

    for method in ("get", "put"):
        assert refusal(getattr(api, method)(f"{LIST}/{trig_id}"))[0] == 404


@pytest.mark.parametrize("name", ["MINT.ONCE@@@g@@@S", "nightly"])
def test_triggers_of_other_forms_are_not_here(api, make_trigger, name):
    form = {"format": "once", "definition": {"at": "2030-01-01T00:00:00Z"}} if "@" in name else {}
    make_trigger(name, **form)

    assert api.get(f"{LIST}?orgid=default").json() == []
    assert refusal(api.get(f"{LIST}/{name}@@@g@@@S"))[0] == 404


@pytest.mark.parametrize("address", ["/v1/mint", "/v1/mint/", "/v1/mint/organizations", "/v1/mint/triggersx"])
def test_any_other_address_is_a_404_of_the_same_shape(api, address):
    assert refusal(api.get(address))[0] == 404


@pytest.mark.parametrize(
    "method, address",
    [(method, LIST) for method in ("post", "put", "patch", "delete", "options")]
    + [(method, f"{LIST}/{CHARGE_ID}") for method in ("post", "patch", "delete", "options")],
)
def test_a_wrong_method_is_a_405(api, make_trigger, method, address):
    make_trigger()

    assert refusal(getattr(api, method)(f"{address}?orgid=default"))[0] == 405


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


def test_an_address_of_two_users_signs_nobody_in(make_user):
    make_user("ada", email="team@example.com")
    make_user("grace", email="team@example.com")

    assert signed_in("team@example.com").get(f"{LIST}?orgid=default").status_code == 401
    assert signed_in("ada").get(f"{LIST}?orgid=default").status_code == 200


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
    monkeypatch.setattr("triggers.mint.rendered", fails)
    api.raise_request_exception = False

    assert refusal(api.get(f"{LIST}?orgid=default"))[0] == 500


def test_a_collection_may_hold_jobs_of_both_kinds(api, collection, make_trigger):
    save_job(
        collection, "plain", JobDefinition(action={"type": "Task", "task": {"name": "MINT.XEFEED"}}, schedule={}), NOW
    )
    make_trigger()

    assert len(api.get(f"{LIST}?orgid=default").json()) == 1
