"""Literal addresses that calls cannot reach are refused when a job is saved, except in jobs that already have one."""

import pytest

from api.errors import Invalid
from jobs.actions import documents
from jobs.actions.addresses import closed_host_reason
from jobs.models import Job
from jobs.warnings import warnings_of
from tests.conftest import ACTION, NOW
from tests.jobs.arm_jobs import body as arm_body
from tests.jobs.arm_jobs import refusal

INNER = "http://10.0.0.5/hook"
OTHER = "http://10.0.0.6/hook"
BY_NAME = "http://intranet.example/hook"
REASON = "must not have the host 10.0.0.5: it is a private address, and EGRESS_ALLOW does not open it"


def http(uri: str = BY_NAME, **members) -> dict:
    return {"type": "Http", "request": {"uri": uri, "method": "GET", **members}}


def by_token(authority: str) -> dict:
    proof = {"type": "ActiveDirectoryOAuth", "tenant": "t.example", "clientId": "app", "secret": "amber-lantern"}
    return http(authentication={**proof, "authority": authority})


def to_bus(namespace: str) -> dict:
    return {"type": "ServiceBusQueue", "serviceBusQueueMessage": {"namespace": namespace, "queueName": "orders"}}


@pytest.fixture
def allow_networks(settings):
    def set_networks(*networks: str) -> None:
        settings.EGRESS_ALLOW = list(networks)

    set_networks()
    return set_networks


@pytest.fixture
def inner_job(allow_networks, make_job):
    """A job that was saved when its network was open."""
    allow_networks("10.0.0.0/8")
    job = make_job(action=http(INNER))
    allow_networks()
    return job


def refused(document: dict) -> tuple[str, str, str]:
    with pytest.raises(Invalid) as caught:
        documents.parse(document)
    return caught.value.path, caught.value.code, caught.value.message


# Refused addresses


@pytest.mark.parametrize(
    "host, reason",
    [
        ("10.0.0.5", "is a private address, and EGRESS_ALLOW does not open it"),
        ("127.0.0.1", "is a loopback address, and EGRESS_ALLOW does not open it"),
        ("169.254.7.7", "is a link-local address, and EGRESS_ALLOW does not open it"),
        ("169.254.169.254", "is where clouds give credentials to whoever asks, and no setting opens it"),
        ("0.0.0.0", "is the address of no host, and EGRESS_ALLOW does not open it"),
        ("::1", "is a loopback address, and EGRESS_ALLOW does not open it"),
        ("fd00::5", "is a private address, and EGRESS_ALLOW does not open it"),
        ("fe80::5", "is a link-local address, and EGRESS_ALLOW does not open it"),
        ("::ffff:10.0.0.5", "is a private address, and EGRESS_ALLOW does not open it"),
        ("64:ff9b::a00:5", "is an address of NAT64, and EGRESS_ALLOW does not open it"),
        ("2002:a00:5::", "is an address of 6to4, and EGRESS_ALLOW does not open it"),
        ("5f00::1", "is not a public address, and EGRESS_ALLOW does not open it"),
        ("8.8.8.8", None),
        ("2606:4700::1111", None),
        ("localhost", None),
        ("intranet.example", None),
        ("10.0.0.5.example", None),
    ],
)
def test_closed_address_has_the_reason_why_it_is_closed(allow_networks, host, reason):
    assert closed_host_reason(host) == reason


def test_reason_names_the_closed_address_behind_an_open_gateway(allow_networks):
    allow_networks("64:ff9b::/96")

    assert closed_host_reason("64:ff9b::a00:5").startswith("leads to 10.0.0.5, which is a private address")


@pytest.mark.parametrize(
    "document, path",
    [
        (http(INNER), "action.request.uri"),
        ({**http(), "errorAction": http(INNER)}, "action.errorAction.request.uri"),
        (by_token("https://10.0.0.5/"), "action.request.authentication.authority"),
        (to_bus("10.0.0.5"), "action.serviceBusQueueMessage.namespace"),
        ({**http(f"{INNER}?since={{{{ fire_time }}}}"), "template": True}, "action.request.uri"),
    ],
)
def test_closed_address_is_refused_in_every_member(allow_networks, document, path):
    assert refused(document) == (path, "closed_address", REASON)

    allow_networks("10.0.0.0/8")
    documents.parse(document)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "10.0.0.5."])
def test_address_in_another_format_is_refused_with_the_accepted_format(host):
    path, code, message = refused(http(f"http://{host}/"))

    assert (path, code) == ("action.request.uri", "malformed")
    assert message == f"must have an IPv4 address as four decimal numbers without leading zeros, not {host!r}"


def test_error_for_a_closed_address_does_not_contain_its_key(allow_networks):
    assert "amber-lantern" not in refused(http(f"{INNER}?code=amber-lantern"))[2]


def test_closed_addresses_in_settings_are_not_refused(allow_networks, settings):
    settings.OAUTH_AUTHORITY = "http://10.0.0.5"
    settings.SERVICE_BUS_URL = "http://10.0.0.5/{namespace}"

    assert documents.parse(to_bus("orders")).document == to_bus("orders")


# In each API


def test_own_api_refuses_a_closed_address_with_the_reason(allow_networks, api, collection, make_job):
    job = make_job(action=http())

    responses = [
        api.post("/api/jobs", {"collection": collection.pk, "name": "new", "action": http(INNER)}),
        api.put(f"/api/jobs/{job.pk}", {"action": http(INNER)}),
        api.patch(f"/api/jobs/{job.pk}", {"action": {"request": {"uri": INNER}}}),
    ]

    wrong = {"code": "closed_address", "message": REASON, "target": "action.request.uri"}
    assert [(response.status_code, response.json()["error"]) for response in responses] == [(400, wrong)] * 3
    assert [job.action.document for job in Job.objects.all()] == [http()]


def test_azure_contract_refuses_a_closed_address_in_its_own_format(allow_networks, arm, collection, make_job):
    make_job(action=http())

    responses = [
        arm.put(arm.job("new"), arm_body(action=http(INNER))),
        arm.put(arm.job(), arm_body(action=http(INNER))),
        arm.patch(arm.job(), {"properties": {"action": {"request": {"uri": INNER}}}}),
    ]

    assert [refusal(response) for response in responses] == [(400, "BadRequest", "properties.action.request.uri")] * 3
    assert REASON in responses[0].json()["error"]["message"]
    assert Job.objects.count() == 1


# Existing jobs


def test_job_with_a_closed_address_can_be_changed_in_other_members(inner_job, api, arm):
    assert api.patch(f"/api/jobs/{inner_job.pk}", {"overlap": "allow"}).status_code == 200
    assert api.patch(f"/api/jobs/{inner_job.pk}", {"action": {"request": {"method": "POST"}}}).status_code == 200
    assert api.put(f"/api/jobs/{inner_job.pk}", {"action": http(INNER)}).status_code == 200
    assert arm.patch(arm.job(), {"properties": {"action": {"request": {"body": "x"}}}}).status_code == 200
    assert arm.put(arm.job(), arm_body(action=http(INNER))).status_code == 200


@pytest.mark.parametrize(
    "document",
    [
        http(OTHER),
        {**http(INNER), "errorAction": http(INNER)},  # the error action had no closed address before
        http("http://127.0.0.1/hook"),
    ],
)
def test_job_with_a_closed_address_cannot_get_another_one(inner_job, api, document):
    assert api.put(f"/api/jobs/{inner_job.pk}", {"action": document}).status_code == 400


def test_job_with_a_closed_authority_can_get_another_target(allow_networks, make_job, api):
    allow_networks("10.0.0.0/8")
    job = make_job(action=by_token("https://10.0.0.5/"))
    allow_networks()

    moved = {"uri": "http://elsewhere.example/", "authentication": {"secret": "violet-harbour"}}
    response = api.patch(f"/api/jobs/{job.pk}", {"action": {"request": moved}})

    assert response.status_code == 200, response.content


def test_job_with_a_closed_address_has_a_warning(inner_job, api, arm):
    (warning,) = api.get(f"/api/jobs/{inner_job.pk}").json()["warnings"]

    assert warning == {
        "code": "closed_address",
        "target": "action.request.uri",
        "message": "Calls cannot reach 10.0.0.5: it is a private address, and EGRESS_ALLOW does not open it.",
    }
    assert arm.get(arm.job()).status_code == 200


@pytest.mark.parametrize(
    "document, targets",
    [
        ({**http(INNER), "errorAction": http(OTHER)}, ["action.request.uri", "action.errorAction.request.uri"]),
        (by_token("https://10.0.0.5/"), ["action.request.authentication.authority"]),
        (to_bus("10.0.0.5"), ["action.serviceBusQueueMessage.namespace"]),
        (to_bus("orders"), []),
        (ACTION, ["action.request.uri"]),
        (http("http://localhost/"), []),
    ],
)
def test_each_closed_address_has_a_warning(allow_networks, document, targets):
    assert [each.target for each in warnings_of(document, NOW) if each.code == "closed_address"] == targets
