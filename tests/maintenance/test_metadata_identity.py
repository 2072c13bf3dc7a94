"""Who asks for announced maintenance, and what each is shown."""

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
from tests.maintenance.machines import NEWEST, PATH, Machine, announced, call, machine, moved
from tests.maintenance.test_metadata_documents import error_of

METADATA = {"Metadata": "true"}


pytestmark = pytest.mark.usefixtures("clock", "unlimited")


@pytest.fixture
def elsewhere(make_user) -> Subscription:
    """Another subscription, with an owner of its own."""
    subscription = Subscription.objects.create(name="elsewhere")
    make_user("eve", in_subscription=subscription)
    return subscription


def bearer(text: str) -> dict[str, str]:
    return {**METADATA, "Authorization": f"Bearer {text}"}


def ids(response) -> set[str]:
    assert response.status_code == 200, response.content
    return {event["EventId"] for event in response.json()["Events"]}


def api_of_eve(api_of):
    return api_of(ApiToken.objects.issue(ApiToken.user.field.related_model.objects.get(username="eve"), "eve")[1])


# Scope


def test_a_machine_is_told_of_its_group_whole_and_of_nothing_else(api, subscription, db2):
    other, web = machine(subscription, "db-3", "databases"), machine(subscription, "web-1", "webs")
    alone = machine(subscription, "alone")
    of_group, of_both, of_alone = announced(api, other), announced(api, db2, web), announced(api, alone)

    assert ids(db2.get()) == ids(other.get()) == {of_group, of_both}
    assert ids(web.get()) == {of_both}
    assert ids(alone.get()) == {of_alone}
    shown = {event["EventId"]: event["Resources"] for each in (db2, other, web) for event in each.events()}
    assert shown == {of_group: ["db-3"], of_both: ["db-2", "web-1"]}


def test_groups_of_one_name_in_two_subscriptions_are_two(api, api_of, db2, elsewhere):
    stranger = machine(elsewhere, "db-2", "databases")
    ours, theirs = announced(api, db2), announced(api_of_eve(api_of), stranger)

    assert (ids(db2.get()), ids(stranger.get())) == ({ours}, {theirs})
    error_of(db2.approve(theirs), 400)
    assert db2.incarnation == stranger.incarnation == 2


def test_machines_without_a_group_do_not_share_one(api, subscription):
    first, second = machine(subscription, "first"), machine(subscription, "second")
    announced(api, first)

    assert second.events() == []
    assert (first.incarnation, second.incarnation) == (2, 1)


def test_a_group_called_as_a_machine_is_not_that_machine(api, subscription):
    alone, member = machine(subscription, "db"), machine(subscription, "other", "db")
    announced(api, alone)

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
def test_a_token_in_the_path_says_who_asks(api, db2, path):
    event_id = announced(api, db2)
    path = path.format(db2.token)

    assert ids(call("GET", NEWEST, path, headers=METADATA)) == {event_id}
    approved = db2.approve(event_id, path=path, headers={"Authorization": None})
    assert approved.json()["Events"][0]["EventStatus"] == "Started"


def test_a_token_in_the_path_wins_over_credentials_of_people(db2, token):
    assert call("GET", NEWEST, f"/r/{db2.token}{PATH}", headers=bearer(token)).json()["DocumentIncarnation"] == 1
    assert Resource.objects.get().last_seen_at


def test_two_machines_in_one_request_are_refused(subscription, db2):
    other = machine(subscription, "db-3")

    error_of(call("GET", NEWEST, f"/r/{db2.token}{PATH}", headers=other.headers), 403)
    assert call("GET", NEWEST, f"/r/{db2.token}{PATH}", headers=db2.headers).status_code == 200


@pytest.mark.parametrize("text", ["unknown", "", "ü", "a b", "%00", "x" * 5000])
def test_an_unknown_token_is_refused(db2, text):
    response = call("GET", NEWEST, headers={**METADATA, "Authorization": f"Bearer {text}".encode().decode("latin-1")})

    error_of(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("text", ["unknown", "%00", "%FF", "%F0%9F%98%80", "..", "x" * 5000])
def test_an_unknown_token_in_the_path_is_refused_whatever_else_is_sent(db2, token, text):
    error_of(call("GET", NEWEST, f"/r/{text}{PATH}", headers=METADATA), 401)
    error_of(call("GET", NEWEST, f"/r/{text}{PATH}", headers=bearer(token)), 401)


def test_an_account_s_token_in_the_path_is_nobody_s(token):
    error_of(call("GET", NEWEST, f"/r/{token}{PATH}", headers=METADATA), 401)


def test_a_machine_s_token_opens_nothing_else(api_of, db2):
    assert api_of(db2.token).get("/api/notices").status_code == 401
    assert Client().get(f"/r/{db2.token}/api/notices").status_code == 404


def test_a_token_that_was_replaced_is_worth_nothing(api, db2):
    renewed = api.post(f"/api/resources/{db2.resource.pk}/token").json()["token"]

    error_of(db2.get(), 401)
    assert Machine(db2.resource, renewed).get().status_code == 200


def test_the_token_of_a_deleted_machine_is_worth_nothing(api, db2):
    api.delete(f"/api/resources/{db2.resource.pk}")

    error_of(db2.get(), 401)


def test_a_machine_that_polls_with_a_dead_token_locks_nobody_out(db2, api):
    for _ in range(WRONG_TOKENS.most + 1):
        error_of(call("GET", NEWEST, headers=bearer("dead")), 401)
        error_of(call("GET", NEWEST, f"/r/dead{PATH}", headers=METADATA), 401)

    assert api.get("/api/resources").status_code == 200


@pytest.mark.parametrize("how", [{"query": "&resource=db-2"}, {"headers": {"X-Scheduler-Resource": "db-2"}}])
def test_a_machine_may_say_its_own_name(db2, how):
    assert db2.get(**how).status_code == 200


@pytest.mark.parametrize("name", ["db-3", "DB-2", "unknown", "%00"])
def test_a_machine_may_not_say_another_s_name(subscription, db2, name):
    machine(subscription, "db-3", "databases")

    error_of(db2.get(query=f"&resource={name}"), 403)
    error_of(db2.get(headers={"X-Scheduler-Resource": name}), 403)


# People


@pytest.mark.parametrize("how", [{"query": "&resource=db-2"}, {"headers": {"X-Scheduler-Resource": "db-2"}}])
def test_somebody_with_an_account_looks_through_the_eyes_of_a_machine(api, subscription, db2, token, how):
    event_id = announced(api, db2)
    announced(api, machine(subscription, "web-1"))

    seen = call("GET", NEWEST, headers={**bearer(token), **how.get("headers", {})}, query=how.get("query", ""))

    assert ids(seen) == {event_id}
    assert seen.json() == db2.document()


def test_to_look_through_its_eyes_is_not_to_be_listening(db2, token):
    call("GET", NEWEST, headers=bearer(token), query="&resource=db-2")

    assert Resource.objects.get().last_seen_at is None


def test_without_a_name_everything_is_shown_under_a_number_of_its_own(api, subscription, db2, token):
    events = {announced(api, each) for each in (db2, machine(subscription, "web-1"), machine(subscription, "alone"))}

    everything = call("GET", NEWEST, headers=bearer(token))

    assert ids(everything) == events
    assert everything.json()["DocumentIncarnation"] == 4
    assert db2.incarnation == 2


def test_a_password_is_as_good_as_a_token(db2, owner):
    pair = base64.b64encode(b"ada:correct horse").decode()

    assert call("GET", NEWEST, headers={**METADATA, "Authorization": f"Basic {pair}"}).status_code == 200
    error_of(call("GET", NEWEST, headers={**METADATA, "Authorization": "Basic eDp5"}), 401)


def test_too_many_failed_log_ins_are_told_in_the_same_form(db2, owner):
    for _ in range(11):
        last = call("GET", NEWEST, headers={**METADATA, "Authorization": "Basic YWRhOng="})

    error_of(last, 429)
    assert int(last["Retry-After"]) > 0


def test_the_limit_counts_the_account_whatever_resource_it_names(db2, db3, token, settings):
    settings.METADATA_REQUESTS_PER_SECOND = 4
    ways = [{"query": "&resource=db-2"}, {"query": "&resource=db-3"}, {}, {"headers": {"X-Scheduler-Resource": "db-2"}}]

    with time_machine.travel(NOW, tick=False):
        answers = [
            call("GET", NEWEST, headers={**bearer(token), **way.get("headers", {})}, query=way.get("query", ""))
            for way in (*ways, *ways)
        ]
        machines = [each.get().status_code for each in (db2, db3)]

    assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 4
    assert machines == [200, 200]


@pytest.mark.parametrize("name", ["unknown", "DB-2", "%00", "%FF", "theirs"])
def test_a_machine_that_is_unknown_or_another_s_is_missing(elsewhere, db2, token, name):
    machine(elsewhere, "theirs")

    error_of(call("GET", NEWEST, headers=bearer(token), query=f"&resource={name}"), 404)


@pytest.mark.parametrize("how", [{"query": "&resource="}, {"headers": {"X-Scheduler-Resource": ""}}])
def test_an_empty_name_does_not_show_everything(db2, token, how):
    """As of a variable that nobody set."""
    response = call("GET", NEWEST, headers={**bearer(token), **how.get("headers", {})}, query=how.get("query", ""))

    assert "empty" in error_of(response, 400)


def test_two_names_are_refused(db2, token):
    headers = {**bearer(token), "X-Scheduler-Resource": "db-3"}

    error_of(call("GET", NEWEST, headers=headers, query="&resource=db-2"), 400)


def test_a_name_in_two_subscriptions_is_refused(elsewhere, owner, db2, token):
    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.READER)
    machine(elsewhere, "db-2")

    assert "several subscriptions" in error_of(call("GET", NEWEST, headers=bearer(token), query="&resource=db-2"), 400)


def test_everything_is_that_of_all_subscriptions_of_the_caller(api, api_of, owner, elsewhere, db2, token):
    theirs = announced(api_of_eve(api_of), machine(elsewhere, "theirs"))
    ours = announced(api, db2, subscription=str(db2.resource.subscription_id))
    assert ids(call("GET", NEWEST, headers=bearer(token))) == {ours}

    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.READER)
    both = call("GET", NEWEST, headers=bearer(token))

    assert ids(both) == {ours, theirs}
    refused = call("POST", NEWEST, body={"StartRequests": [{"EventId": theirs}]}, headers=bearer(token))
    assert "operator" in error_of(refused, 403)


def test_the_number_of_everything_goes_on_whatever_the_caller_joins_and_leaves(
    api, api_of, owner, elsewhere, db2, token
):
    theirs = machine(elsewhere, "theirs")
    for _ in range(3):
        announced(api_of_eve(api_of), theirs)
    ours = announced(api, db2, subscription=str(db2.resource.subscription_id))
    told: list[tuple[int, set[str]]] = []

    def ask() -> None:
        response = call("GET", NEWEST, headers=bearer(token))
        told.append((response.json()["DocumentIncarnation"], ids(response)))

    ask()
    membership = Membership.objects.create(subscription=elsewhere, user=owner, role=Role.READER)
    ask()
    membership.delete()
    for _ in range(4):  # once, they came to the number of both
        ask()
        moved(api, ours, "approve") if len(told) == 3 else announced(api, db2)
    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.READER)
    ask()
    elsewhere.delete()
    ask()
    ask()

    numbers = [number for number, _ in told]
    assert numbers[:2] == [2, 6]
    assert numbers == sorted(numbers)
    assert numbers[-1] == numbers[-2], "nothing changed between the last two"
    assert len(set(numbers)) == len(told) - 1


def test_people_have_numbers_of_their_own(api, make_user, db2, token):
    other = ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1]
    announced(api, db2)
    first = call("GET", NEWEST, headers=bearer(token)).json()
    announced(api, db2)

    assert call("GET", NEWEST, headers=bearer(other)).json()["DocumentIncarnation"] == 3
    assert first["DocumentIncarnation"] == 2
    assert call("GET", NEWEST, headers=bearer(token)).json()["DocumentIncarnation"] == 3


def test_a_reader_is_shown_everything_and_approves_nothing(api, make_user, db2):
    event_id = announced(api, db2)
    text = ApiToken.objects.issue(make_user("rob", Role.READER), "rob")[1]

    assert ids(call("GET", NEWEST, headers=bearer(text), query="&resource=db-2")) == {event_id}
    approval = {"StartRequests": [{"EventId": event_id}]}
    for query in ("", "&resource=db-2"):
        error_of(call("POST", NEWEST, body=approval, headers=bearer(text), query=query), 403)
    assert db2.events()[0]["EventStatus"] == "Scheduled"


def test_the_role_of_a_token_caps_that_of_its_owner(api, owner, db2):
    event_id = announced(api, db2)
    text = ApiToken.objects.issue(owner, "reads only", role=Role.READER)[1]

    assert ids(call("GET", NEWEST, headers=bearer(text))) == {event_id}
    error_of(call("POST", NEWEST, body={"StartRequests": [{"EventId": event_id}]}, headers=bearer(text)), 403)


def test_somebody_of_no_subscription_is_refused_instead_of_told_that_there_is_nothing(make_user, db2):
    text = ApiToken.objects.issue(make_user("nil", None), "nil")[1]

    error_of(call("GET", NEWEST, headers=bearer(text)), 403)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("query", ["", "&resource=db-2"])
def test_nobody_is_shown_nothing(api, db2, method, query):
    announced(api, db2)

    response = call(method, NEWEST, headers=METADATA, query=query)

    error_of(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_browser_s_session_says_nothing_here(owner, db2):
    client = Client()
    client.force_login(owner)

    error_of(client.get(f"{PATH}?api-version={NEWEST}", headers=METADATA), 401)


# What is written down


def test_a_machine_is_seen_at_most_every_five_seconds(db2):
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
        ("http://testserver//r/{}/metadata/scheduledevents", "latest"),  # a base address that ends with a slash
        ("http://testserver//r//{}//elsewhere", NEWEST),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_no_log_repeats_the_token_of_a_path(db2, caplog, settings, path, version, is_known):
    caplog.set_level(logging.DEBUG)
    settings.METADATA_REQUESTS_PER_SECOND = 1
    text = db2.token if is_known else "a-slip-of-a-token"

    with time_machine.travel(NOW, tick=False):
        answers = [call("GET", version, path.replace("{}", text), headers=METADATA) for _ in range(3)]

    assert answers[-1].status_code >= 400
    assert caplog.records
    assert text not in caplog.text
    assert not any(text in f"{vars(record)}" for record in caplog.records)
    assert not any(text in f"{answer.headers} {answer.content}" for answer in answers)


def test_a_token_is_stored_as_its_digest_only(db2):
    assert db2.token not in str(vars(Resource.objects.get()))
    assert resources.new_token(db2.resource) != db2.token


def test_a_name_in_two_subscriptions_means_the_default_one(api, api_of, elsewhere, owner, db2, token):
    ours, _ = announced(api, db2), announced(api_of_eve(api_of), machine(elsewhere, "db-2"))
    owner.default_subscription = db2.resource.subscription
    owner.save()
    Membership.objects.create(subscription=elsewhere, user=owner, role=Role.READER)

    assert ids(call("GET", NEWEST, headers=bearer(token), query="&resource=db-2")) == {ours}
