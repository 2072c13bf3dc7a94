"""Authentication in the metadata API, and the scope of each caller."""

import base64
import logging

import pytest
import time_machine
from django.test import Client

from accounts.authentication import WRONG_TOKENS
from accounts.models import ApiToken, Membership, Role, Subscription
from maintenance import resources
from maintenance.models import Resource
from tests.conftest import NOW, utc
from tests.maintenance.machines import NEWEST, PATH, Machine, call, machine, post_notice, post_step
from tests.maintenance.test_metadata_documents import read_error

METADATA = {"Metadata": "true"}


pytestmark = pytest.mark.usefixtures("clock", "unlimited")


@pytest.fixture
def other_subscription(make_user) -> Subscription:
    """Another subscription, with another owner."""
    subscription = Subscription.objects.create(name="elsewhere")
    make_user("eve", in_subscription=subscription)
    return subscription


def bearer(text: str) -> dict[str, str]:
    return {**METADATA, "Authorization": f"Bearer {text}"}


def ids(response) -> set[str]:
    assert response.status_code == 200, response.content
    return {event["EventId"] for event in response.json()["Events"]}


def make_api_of_eve(api_of):
    return api_of(ApiToken.objects.issue(ApiToken.user.field.related_model.objects.get(username="eve"), "eve")[1])


# Scope


def test_machine_gets_the_events_of_its_whole_group_only(api, subscription, db2):
    other, web = machine(subscription, "db-3", "databases"), machine(subscription, "web-1", "webs")
    alone = machine(subscription, "alone")
    of_group, of_both, of_alone = post_notice(api, other), post_notice(api, db2, web), post_notice(api, alone)

    assert ids(db2.get()) == ids(other.get()) == {of_group, of_both}
    assert ids(web.get()) == {of_both}
    assert ids(alone.get()) == {of_alone}
    resources_by_event = {event["EventId"]: event["Resources"] for each in (db2, other, web) for event in each.events()}
    assert resources_by_event == {of_group: ["db-3"], of_both: ["db-2", "web-1"]}


def test_groups_with_the_same_name_in_two_subscriptions_are_separate(api, api_of, db2, other_subscription):
    stranger = machine(other_subscription, "db-2", "databases")
    own_event, event_of_others = post_notice(api, db2), post_notice(make_api_of_eve(api_of), stranger)

    assert (ids(db2.get()), ids(stranger.get())) == ({own_event}, {event_of_others})
    read_error(db2.approve(event_of_others), 400)
    assert db2.incarnation == stranger.incarnation == 2


def test_machines_without_a_group_have_separate_scopes(api, subscription):
    first, second = machine(subscription, "first"), machine(subscription, "second")
    post_notice(api, first)

    assert second.events() == []
    assert (first.incarnation, second.incarnation) == (2, 1)


def test_group_with_the_name_of_a_machine_is_a_separate_scope(api, subscription):
    alone, member = machine(subscription, "db"), machine(subscription, "other", "db")
    post_notice(api, alone)

    assert member.document() == {"DocumentIncarnation": 1, "Events": []}


# Tokens of machines


@pytest.mark.parametrize(
    "path",
    [
        "/r/{}/metadata/scheduledevents",
        "/R/{}/metadata/scheduledEvents/",
        "http://testserver//r/{}//metadata/scheduledevents",
    ],
)
def test_token_in_the_path_authenticates_the_machine(api, db2, path):
    event_id = post_notice(api, db2)
    path = path.format(db2.token)

    assert ids(call("GET", NEWEST, path, headers=METADATA)) == {event_id}
    approved = db2.approve(event_id, path=path, headers={"Authorization": None})
    assert approved.json()["Events"][0]["EventStatus"] == "Started"


def test_token_in_the_path_takes_precedence_over_user_credentials(db2, token):
    assert call("GET", NEWEST, f"/r/{db2.token}{PATH}", headers=bearer(token)).json()["DocumentIncarnation"] == 1
    assert Resource.objects.get().last_seen_at


def test_request_with_tokens_of_two_machines_is_refused(subscription, db2):
    other = machine(subscription, "db-3")

    read_error(call("GET", NEWEST, f"/r/{db2.token}{PATH}", headers=other.headers), 403)
    assert call("GET", NEWEST, f"/r/{db2.token}{PATH}", headers=db2.headers).status_code == 200


@pytest.mark.parametrize("text", ["unknown", "", "ü", "a b", "%00", "x" * 5000])
def test_an_unknown_token_is_refused(db2, text):
    response = call("GET", NEWEST, headers={**METADATA, "Authorization": f"Bearer {text}".encode().decode("latin-1")})

    read_error(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("text", ["unknown", "%00", "%FF", "%F0%9F%98%80", "..", "x" * 5000])
def test_unknown_token_in_the_path_is_refused_even_with_user_credentials(db2, token, text):
    read_error(call("GET", NEWEST, f"/r/{text}{PATH}", headers=METADATA), 401)
    read_error(call("GET", NEWEST, f"/r/{text}{PATH}", headers=bearer(token)), 401)


def test_user_token_in_the_path_is_refused(token):
    read_error(call("GET", NEWEST, f"/r/{token}{PATH}", headers=METADATA), 401)


def test_machine_token_gives_no_access_to_other_apis(api_of, db2):
    assert api_of(db2.token).get("/api/notices").status_code == 401
    assert Client().get(f"/r/{db2.token}/api/notices").status_code == 404


def test_replaced_machine_token_is_refused(api, db2):
    renewed = api.post(f"/api/resources/{db2.resource.pk}/token").json()["token"]

    read_error(db2.get(), 401)
    assert Machine(db2.resource, renewed).get().status_code == 200


def test_token_of_a_deleted_machine_is_refused(api, db2):
    api.delete(f"/api/resources/{db2.resource.pk}")

    read_error(db2.get(), 401)


def test_polls_with_an_invalid_token_do_not_lock_out_others(db2, api):
    for _ in range(WRONG_TOKENS.most + 1):
        read_error(call("GET", NEWEST, headers=bearer("dead")), 401)
        read_error(call("GET", NEWEST, f"/r/dead{PATH}", headers=METADATA), 401)

    assert api.get("/api/resources").status_code == 200


@pytest.mark.parametrize("parameters", [{"query": "&resource=db-2"}, {"headers": {"X-Scheduler-Resource": "db-2"}}])
def test_machine_may_send_its_own_name(db2, parameters):
    assert db2.get(**parameters).status_code == 200


@pytest.mark.parametrize("name", ["db-3", "DB-2", "unknown", "%00"])
def test_machine_may_not_send_the_name_of_another(subscription, db2, name):
    machine(subscription, "db-3", "databases")

    read_error(db2.get(query=f"&resource={name}"), 403)
    read_error(db2.get(headers={"X-Scheduler-Resource": name}), 403)


# Users


@pytest.mark.parametrize("parameters", [{"query": "&resource=db-2"}, {"headers": {"X-Scheduler-Resource": "db-2"}}])
def test_user_with_a_resource_name_gets_the_document_of_that_machine(api, subscription, db2, token, parameters):
    event_id = post_notice(api, db2)
    post_notice(api, machine(subscription, "web-1"))

    response = call(
        "GET", NEWEST, headers={**bearer(token), **parameters.get("headers", {})}, query=parameters.get("query", "")
    )

    assert ids(response) == {event_id}
    assert response.json() == db2.document()


def test_user_request_does_not_count_as_a_poll_of_the_machine(db2, token):
    call("GET", NEWEST, headers=bearer(token), query="&resource=db-2")

    assert Resource.objects.get().last_seen_at is None


def test_user_without_a_resource_name_gets_all_events_with_a_separate_incarnation(api, subscription, db2, token):
    events = {post_notice(api, each) for each in (db2, machine(subscription, "web-1"), machine(subscription, "alone"))}

    all_events = call("GET", NEWEST, headers=bearer(token))

    assert ids(all_events) == events
    assert all_events.json()["DocumentIncarnation"] == 4
    assert db2.incarnation == 2


def test_user_can_authenticate_with_a_password(db2, owner):
    pair = base64.b64encode(b"ada:correct horse").decode()

    assert call("GET", NEWEST, headers={**METADATA, "Authorization": f"Basic {pair}"}).status_code == 200
    read_error(call("GET", NEWEST, headers={**METADATA, "Authorization": "Basic eDp5"}), 401)


def test_too_many_failed_sign_ins_get_a_metadata_error(db2, owner):
    for _ in range(11):
        last = call("GET", NEWEST, headers={**METADATA, "Authorization": "Basic YWRhOng="})

    read_error(last, 429)
    assert int(last["Retry-After"]) > 0


def test_rate_limit_counts_by_user_for_all_resource_names(db2, db3, token, settings):
    settings.METADATA_REQUESTS_PER_SECOND = 4
    variants = [
        {"query": "&resource=db-2"},
        {"query": "&resource=db-3"},
        {},
        {"headers": {"X-Scheduler-Resource": "db-2"}},
    ]

    with time_machine.travel(NOW, tick=False):
        responses = [
            call("GET", NEWEST, headers={**bearer(token), **variant.get("headers", {})}, query=variant.get("query", ""))
            for variant in (*variants, *variants)
        ]
        machines = [each.get().status_code for each in (db2, db3)]

    assert [response.status_code for response in responses] == [200] * 4 + [429] * 4
    assert machines == [200, 200]


@pytest.mark.parametrize("name", ["unknown", "DB-2", "%00", "%FF", "theirs"])
def test_unknown_resource_name_is_not_found(other_subscription, db2, token, name):
    machine(other_subscription, "theirs")

    read_error(call("GET", NEWEST, headers=bearer(token), query=f"&resource={name}"), 404)


@pytest.mark.parametrize("parameters", [{"query": "&resource="}, {"headers": {"X-Scheduler-Resource": ""}}])
def test_empty_resource_name_is_refused(db2, token, parameters):
    """A script may send an unset variable."""
    response = call(
        "GET", NEWEST, headers={**bearer(token), **parameters.get("headers", {})}, query=parameters.get("query", "")
    )

    assert "empty" in read_error(response, 400)


def test_two_resource_names_are_refused(db2, token):
    headers = {**bearer(token), "X-Scheduler-Resource": "db-3"}

    read_error(call("GET", NEWEST, headers=headers, query="&resource=db-2"), 400)


def test_resource_name_in_two_subscriptions_is_refused(other_subscription, owner, db2, token):
    Membership.objects.create(subscription=other_subscription, user=owner, role=Role.READER)
    machine(other_subscription, "db-2")

    assert "several subscriptions" in read_error(
        call("GET", NEWEST, headers=bearer(token), query="&resource=db-2"), 400
    )


def test_user_gets_the_events_of_all_own_subscriptions(api, api_of, owner, other_subscription, db2, token):
    event_of_others = post_notice(make_api_of_eve(api_of), machine(other_subscription, "theirs"))
    own_event = post_notice(api, db2, subscription=str(db2.resource.subscription_id))
    assert ids(call("GET", NEWEST, headers=bearer(token))) == {own_event}

    Membership.objects.create(subscription=other_subscription, user=owner, role=Role.READER)
    both = call("GET", NEWEST, headers=bearer(token))

    assert ids(both) == {own_event, event_of_others}
    refused = call("POST", NEWEST, body={"StartRequests": [{"EventId": event_of_others}]}, headers=bearer(token))
    assert "operator" in read_error(refused, 403)


def test_incarnation_of_a_user_increases_on_membership_changes(api, api_of, owner, other_subscription, db2, token):
    event_of_others = machine(other_subscription, "theirs")
    for _ in range(3):
        post_notice(make_api_of_eve(api_of), event_of_others)
    own_event = post_notice(api, db2, subscription=str(db2.resource.subscription_id))
    polls: list[tuple[int, set[str]]] = []

    def poll() -> None:
        response = call("GET", NEWEST, headers=bearer(token))
        polls.append((response.json()["DocumentIncarnation"], ids(response)))

    poll()
    membership = Membership.objects.create(subscription=other_subscription, user=owner, role=Role.READER)
    poll()
    membership.delete()
    for _ in range(4):  # the incarnation must not become that of both subscriptions again
        poll()
        post_step(api, own_event, "approve") if len(polls) == 3 else post_notice(api, db2)
    Membership.objects.create(subscription=other_subscription, user=owner, role=Role.READER)
    poll()
    other_subscription.delete()
    poll()
    poll()

    numbers = [number for number, _ in polls]
    assert numbers[:2] == [2, 6]
    assert numbers == sorted(numbers)
    assert numbers[-1] == numbers[-2], "nothing changed between the last two"
    assert len(set(numbers)) == len(polls) - 1


def test_each_user_has_a_separate_incarnation(api, make_user, db2, token):
    other = ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1]
    post_notice(api, db2)
    first = call("GET", NEWEST, headers=bearer(token)).json()
    post_notice(api, db2)

    assert call("GET", NEWEST, headers=bearer(other)).json()["DocumentIncarnation"] == 3
    assert first["DocumentIncarnation"] == 2
    assert call("GET", NEWEST, headers=bearer(token)).json()["DocumentIncarnation"] == 3


def test_reader_can_read_but_not_approve_events(api, make_user, db2):
    event_id = post_notice(api, db2)
    text = ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1]

    assert ids(call("GET", NEWEST, headers=bearer(text), query="&resource=db-2")) == {event_id}
    approval = {"StartRequests": [{"EventId": event_id}]}
    for query in ("", "&resource=db-2"):
        read_error(call("POST", NEWEST, body=approval, headers=bearer(text), query=query), 403)
    assert db2.events()[0]["EventStatus"] == "Scheduled"


def test_token_role_limits_the_role_of_its_user(api, owner, db2):
    event_id = post_notice(api, db2)
    text = ApiToken.objects.issue(owner, "reads only", role=Role.READER)[1]

    assert ids(call("GET", NEWEST, headers=bearer(text))) == {event_id}
    read_error(call("POST", NEWEST, body={"StartRequests": [{"EventId": event_id}]}, headers=bearer(text)), 403)


def test_user_without_a_subscription_is_refused(make_user, db2):
    text = ApiToken.objects.issue(make_user("nil", None), "nil")[1]

    read_error(call("GET", NEWEST, headers=bearer(text)), 403)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("query", ["", "&resource=db-2"])
def test_request_without_authentication_is_refused(api, db2, method, query):
    post_notice(api, db2)

    response = call(method, NEWEST, headers=METADATA, query=query)

    read_error(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_browser_session_does_not_authenticate(owner, db2):
    client = Client()
    client.force_login(owner)

    read_error(client.get(f"{PATH}?api-version={NEWEST}", headers=METADATA), 401)


# Stored times, logs and tokens


def test_last_seen_time_is_updated_at_most_every_five_seconds(db2):
    with time_machine.travel(utc("2027-01-01T00:00:00Z"), tick=False) as traveller:
        db2.get()
        first = Resource.objects.get().last_seen_at
        traveller.shift(4)
        db2.get()
        second = Resource.objects.get().last_seen_at
        traveller.shift(1)
        db2.approve()
        third = Resource.objects.get().last_seen_at

    assert first == second == utc("2027-01-01T00:00:00Z")
    assert third == utc("2027-01-01T00:00:05Z")


@pytest.mark.parametrize(
    "path, version",
    [
        ("/r/{}/metadata/scheduledevents", NEWEST),
        ("/r/{}/metadata/scheduledevents", "latest"),
        ("/r/{}/metadata/scheduledevents/x", NEWEST),
        ("/r/{}/metadata", NEWEST),
        ("/r/{}/elsewhere", NEWEST),
        ("/r/{}/r/{}/metadata/scheduledevents", NEWEST),
        ("/r/{}", NEWEST),
        ("/r/{}/", NEWEST),
        ("/R/{}/Metadata/ScheduledEvents/", "latest"),
        ("http://testserver//r/{}/metadata/scheduledevents", "latest"),  # the base address ends with a slash
        ("http://testserver//r//{}//elsewhere", NEWEST),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_token_in_the_path_is_not_logged(db2, caplog, settings, path, version, is_known):
    caplog.set_level(logging.DEBUG)
    settings.METADATA_REQUESTS_PER_SECOND = 1
    text = db2.token if is_known else "a-slip-of-a-token"

    with time_machine.travel(NOW, tick=False):
        responses = [call("GET", version, path.replace("{}", text), headers=METADATA) for _ in range(3)]

    assert responses[-1].status_code >= 400
    assert caplog.records
    assert text not in caplog.text
    assert not any(text in f"{vars(record)}" for record in caplog.records)
    assert not any(text in f"{response.headers} {response.content}" for response in responses)


def test_machine_token_is_stored_only_as_a_digest(db2):
    assert db2.token not in str(vars(Resource.objects.get()))
    assert resources.new_token(db2.resource) != db2.token


def test_resource_name_in_two_subscriptions_is_that_of_the_default_subscription(
    api, api_of, other_subscription, owner, db2, token
):
    own_event, _ = post_notice(api, db2), post_notice(make_api_of_eve(api_of), machine(other_subscription, "db-2"))
    owner.default_subscription = db2.resource.subscription
    owner.save()
    Membership.objects.create(subscription=other_subscription, user=owner, role=Role.READER)

    assert ids(call("GET", NEWEST, headers=bearer(token), query="&resource=db-2")) == {own_event}
