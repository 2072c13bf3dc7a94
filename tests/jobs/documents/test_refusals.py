"""Documents of actions that are refused, and the errors for them."""

import pytest

from api.errors import Invalid
from jobs.actions import documents
from tests.jobs.documents.samples import BASIC, OAUTH, SERVICE_BUS, STORAGE, URI, http, refusal


@pytest.mark.parametrize(
    "document, path, code",
    [
        (None, "action", "required"),
        ([], "action", "wrong_type"),
        ({}, "action.type", "required"),
        ({"type": 1}, "action.type", "wrong_type"),
        ({"type": "Smtp"}, "action.type", "unknown_value"),
        ({"type": "Http"}, "action.request", "required"),
        ({"type": "Http", "request": "x"}, "action.request", "wrong_type"),
        ({"type": "StorageQueue", "request": {}}, "action.queueMessage", "required"),
        ({"type": "Http", "request": {"method": "GET"}}, "action.request.uri", "required"),
        ({"type": "Http", "request": {"uri": URI}}, "action.request.method", "required"),
        (http(uri=1), "action.request.uri", "wrong_type"),
        (http(uri=True), "action.request.uri", "wrong_type"),
        (http(uri="https://example.com/" + "a" * 2029), "action.request.uri", "too_long"),
        (http(method="TRACE"), "action.request.method", "unknown_value"),
        (http(method="GET\r\n"), "action.request.method", "unknown_value"),
        (http(body={}), "action.request.body", "wrong_type"),
        (http(body="a" * 8193), "action.request.body", "too_long"),
        (http(body="a\0"), "action.request.body", "malformed"),
        (http(body="\ud800"), "action.request.body", "malformed"),
        (http(headers=[]), "action.request.headers", "wrong_type"),
        (http(headers={"A": 1}), "action.request.headers.A", "wrong_type"),
        (http(headers={"A": None}), "action.request.headers.A", "required"),
        (http(headers={"": "x"}), "action.request.headers", "malformed"),
        (http(headers={"A B": "x"}), "action.request.headers", "malformed"),
        (http(headers={"A\r\nB": "x"}), "action.request.headers", "malformed"),
        (http(headers={"A": "x\r\nB: y"}), "action.request.headers.A", "malformed"),
        (http(headers={"A": "x\0"}), "action.request.headers.A", "malformed"),
        (http(headers={"A": "ü"}), "action.request.headers.A", "malformed"),
        (http(headers={"A": "1", "a": "2"}), "action.request.headers", "invalid"),
        (http(headers={f"H{n}": "" for n in range(51)}), "action.request.headers", "too_long"),
        (http(headers={"A": "a" * 2048, "B": "b" * 2047}), "action.request.headers", "too_long"),
        (http("Basic"), "action.request.authentication", "wrong_type"),
        (http({}), "action.request.authentication.type", "required"),
        (http({"type": "Digest"}), "action.request.authentication.type", "unknown_value"),
        (http({"type": "Basic", "password": "x"}), "action.request.authentication.username", "required"),
        (http({**BASIC, "username": "a:b"}), "action.request.authentication.username", "malformed"),
        (http({**BASIC, "password": 1}), "action.request.authentication.password", "wrong_type"),
        (http({"type": "Basic", "username": "ada"}), "action.request.authentication.password", "required"),
        (http({**BASIC, "password": "********"}), "action.request.authentication.password", "required"),
        (http({**OAUTH, "tenant": "../x"}), "action.request.authentication.tenant", "malformed"),
        (http({**OAUTH, "clientId": None}), "action.request.authentication.clientId", "required"),
        (http({**OAUTH, "secret": None}), "action.request.authentication.secret", "required"),
        (http({"type": "ClientCertificate"}), "action.request.authentication.pfx", "required"),
        (http({"type": "ClientCertificate", "pfx": "%%"}), "action.request.authentication.pfx", "malformed"),
        (http({"type": "ClientCertificate", "pfx": "MAAw"}), "action.request.authentication.pfx", "malformed"),
        # PostgreSQL's JSON would return it as a number that responses cannot contain
        (http(success={"bodyPath": "$.a", "bodyValue": 1e30}), "action.request.success.bodyValue", "out_of_range"),
        (http(success={"bodyPath": "$.a", "bodyValue": -(2**64)}), "action.request.success.bodyValue", "out_of_range"),
        ({**http(uri="https://{{ run_id }}//x"), "template": True}, "action.request.uri", "malformed"),
        ({**http(uri="https:{{ run_id }}//x"), "template": True}, "action.request.uri", "malformed"),
        ({**http(uri='https://{{ "{{" }}/x'), "template": True}, "action.request.uri", "malformed"),
        ({**http(), "retryPolicy": []}, "action.retryPolicy", "wrong_type"),
        ({**http(), "retryPolicy": {"retryType": "Often"}}, "action.retryPolicy.retryType", "unknown_value"),
        ({**http(), "retryPolicy": {"retryCount": True}}, "action.retryPolicy.retryCount", "wrong_type"),
        ({**http(), "retryPolicy": {"retryCount": "4"}}, "action.retryPolicy.retryCount", "wrong_type"),
        ({**http(), "retryPolicy": {"retryCount": 4.0}}, "action.retryPolicy.retryCount", "wrong_type"),
        ({**http(), "retryPolicy": {"retryCount": 21}}, "action.retryPolicy.retryCount", "out_of_range"),
        ({**http(), "retryPolicy": {"retryCount": -1}}, "action.retryPolicy.retryCount", "out_of_range"),
        ({**http(), "retryPolicy": {"retryCount": 10**5000}}, "action.retryPolicy.retryCount", "out_of_range"),
        ({**http(), "retryPolicy": {"retryInterval": 30}}, "action.retryPolicy.retryInterval", "wrong_type"),
        ({**http(), "retryPolicy": {"retryInterval": "soon"}}, "action.retryPolicy.retryInterval", "malformed"),
        ({**http(), "retryPolicy": {"retryInterval": "PT14S"}}, "action.retryPolicy.retryInterval", "out_of_range"),
        ({**http(), "retryPolicy": {"retryInterval": "P2Y"}}, "action.retryPolicy.retryInterval", "out_of_range"),
        (
            {**http(), "retryPolicy": {"maximumRetryInterval": "PT1S"}},
            "action.retryPolicy.maximumRetryInterval",
            "out_of_range",
        ),
        (
            {**http(), "retryPolicy": {"maximumRetryInterval": 60}},
            "action.retryPolicy.maximumRetryInterval",
            "wrong_type",
        ),
        ({**http(), "template": "yes"}, "action.template", "wrong_type"),
        (http(followRedirects=1), "action.request.followRedirects", "wrong_type"),
        ({**http(), "follow": "yes"}, "action.follow", "wrong_type"),
        ({**http(), "follow": 1}, "action.follow", "wrong_type"),
        ({**STORAGE, "follow": True}, "action.follow", "invalid"),
        ({**http(), "followLimit": "PT1H"}, "action.followLimit", "invalid"),
        ({**http(), "follow": False, "followLimit": "PT1H"}, "action.followLimit", "invalid"),
        ({**http(), "follow": True, "followLimit": 60}, "action.followLimit", "wrong_type"),
        ({**http(), "follow": True, "followLimit": "1 hour"}, "action.followLimit", "malformed"),
        ({**http(), "follow": True, "followLimit": "PT0S"}, "action.followLimit", "out_of_range"),
        ({**http(), "follow": True, "followLimit": "PT24H1S"}, "action.followLimit", "out_of_range"),
        ({**http(), "follow": True, "followLimit": "P9999Y"}, "action.followLimit", "out_of_range"),
        ({**http(), "follow": True, "followLimit": "PT1H\0"}, "action.followLimit", "malformed"),
        (http(success=[]), "action.request.success", "wrong_type"),
        (http(certificateAuthority=1), "action.request.certificateAuthority", "wrong_type"),
        ({**http(), "errorAction": {"type": "Http"}}, "action.errorAction.request", "required"),
        ({**http(), "errorAction": http(uri="ftp://x")}, "action.errorAction.request.uri", "malformed"),
    ],
)
def test_wrong_document_is_refused_with_the_path_of_the_wrong_member(document, path, code):
    assert refusal(document) == (path, code)


@pytest.mark.parametrize(
    "path", ["/{{ run_id }}", "//{{ run_id }}", "?at={{ fire_time }}", "#{{ attempt }}", "/a//?b=//{{ attempt }}"]
)
def test_placeholders_are_accepted_anywhere_after_the_host(path):
    document = {**http(uri=f"https://example.com{path}"), "template": True}

    assert documents.parse(document).document == document


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "example.com/hook",
        "//example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "http://",
        "http:///path",
        "http://user@example.com",
        "http://user:pw@example.com",
        "http://@example.com",
        "http://example.com:0",
        "http://example.com:99999",
        "http://example.com:x",
        "http://exa mple.com",
        "http://example.com/\r\nHost: x",
        "http://example.com\\@evil.example",
        "http://ex\u200bample.com",
        "http://[::1",
        "http://[fe80::1%25eth0]/",
        "http://2130706433/",  # a whole number is read as an address by some resolvers
        "http://0x7f.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://-a-/",
        "http://a..b/",
        "http://example.com*/",
    ],
)
def test_a_uri_that_is_not_plain_http_is_refused(uri):
    assert refusal(http(uri=uri))[0] == "action.request.uri"


@pytest.mark.parametrize(
    "uri",
    [
        "HTTP://Example.COM:8080/a?b=%20#c",
        "http://[::1]:9/",
        "http://127.0.0.1",
        "http://a_b.example./x",
        "https://x/@y?z={1}|2",
    ],
)
def test_unusual_http_uri_is_stored_unchanged(uri):
    assert documents.parse(http(uri=uri)).document["request"]["uri"] == uri


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Proxy-Authorization",
        "Metadata",
        "X-aws-ec2-metadata-token",
    ],
)
def test_header_that_a_job_may_not_set_is_refused(name):
    assert refusal(http(headers={name: "x"})) == ("action.request.headers", "forbidden")


@pytest.mark.parametrize(
    "member, value",
    [
        ("storageAccount", "evil.example/"),
        ("storageAccount", None),
        ("queueName", "../x"),
        ("queueName", 1),
        ("message", None),
        ("message", "a" * 16_385),
        ("sasToken", None),
        ("sasToken", 1),
    ],
)
def test_a_wrong_member_of_a_queue_message_is_refused(member, value):
    document = {"type": "StorageQueue", "queueMessage": {**STORAGE["queueMessage"], member: value}}

    assert refusal(document)[0] == f"action.queueMessage.{member}"


@pytest.mark.parametrize(
    "member, value, path",
    [
        ("namespace", "evil.example/x", "namespace"),
        ("namespace", None, "namespace"),
        ("queueName", "a?b", "queueName"),
        ("queueName", None, "queueName"),
        ("transportType", "Pigeon", "transportType"),
        ("message", 1, "message"),
        ("customMessageProperties", [], "customMessageProperties"),
        ("customMessageProperties", {"k": 1}, "customMessageProperties.k"),
        ("customMessageProperties", {"k": "\0"}, "customMessageProperties.k"),
        ("customMessageProperties", {"k\0": "v"}, "customMessageProperties"),
        ("customMessageProperties", {str(n): "v" for n in range(101)}, "customMessageProperties"),
        ("brokeredMessageProperties", "x", "brokeredMessageProperties"),
        ("brokeredMessageProperties", {"label": 1}, "brokeredMessageProperties.label"),
        ("brokeredMessageProperties", {"forcePersistence": 1}, "brokeredMessageProperties.forcePersistence"),
        ("brokeredMessageProperties", {"timeToLive": "-PT1S"}, "brokeredMessageProperties.timeToLive"),
        (
            "brokeredMessageProperties",
            {"scheduledEnqueueTimeUtc": "soon"},
            "brokeredMessageProperties.scheduledEnqueueTimeUtc",
        ),
        (
            "brokeredMessageProperties",
            {"scheduledEnqueueTimeUtc": "0001-01-01T00:00:00+14:00"},  # before the first year
            "brokeredMessageProperties.scheduledEnqueueTimeUtc",
        ),
        ("authentication", {"type": "SharedAccessKey", "sasKey": "x"}, "authentication.sasKeyName"),
        ("authentication", {"type": "SharedAccessKey", "sasKeyName": "x"}, "authentication.sasKey"),
        ("authentication", {"type": "Basic"}, "authentication.type"),
    ],
)
def test_a_wrong_member_of_a_service_bus_message_is_refused(member, value, path):
    message = {**SERVICE_BUS["serviceBusQueueMessage"], member: value}
    document = {"type": "ServiceBusQueue", "serviceBusQueueMessage": message}

    assert refusal(document)[0] == f"action.serviceBusQueueMessage.{path}"


def test_error_for_a_refused_secret_does_not_contain_it():
    with pytest.raises(Invalid) as caught:
        documents.parse(http({**BASIC, "password": 123456}))

    assert "123456" not in caught.value.message


def test_error_contains_only_a_part_of_a_long_value():
    with pytest.raises(Invalid) as caught:
        documents.parse(http(uri="ftp://" + "a" * 2000))

    assert len(caught.value.message) < 300
