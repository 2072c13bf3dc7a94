import base64
import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import PBES, serialize_key_and_certificates
from hypothesis import given
from hypothesis import strategies as st

from jobs.actions import documents, pfx
from jobs.encryption import MASK, Secrets
from jobs.errors import Invalid
from jobs.models import Action

URI = "https://example.com/hook"
BASIC = {"type": "Basic", "username": "ada", "password": "pw"}
OAUTH = {
    "type": "ActiveDirectoryOAuth",
    "tenant": "contoso.example",
    "audience": "https://api.example",
    "clientId": "app",
    "secret": "s3cret",
}
STORAGE = {
    "type": "StorageQueue",
    "queueMessage": {"storageAccount": "acct", "queueName": "jobs", "sasToken": "?sig=1", "message": "hello"},
}
SERVICE_BUS = {
    "type": "ServiceBusQueue",
    "serviceBusQueueMessage": {
        "namespace": "orders",
        "queueName": "in/box",
        "transportType": "AMQP",
        "message": "hello",
        "customMessageProperties": {"k": "v"},
        "brokeredMessageProperties": {
            "contentType": "text/plain",
            "label": "nightly",
            "forcePersistence": True,
            "scheduledEnqueueTimeUtc": "2030-01-01T08:00:00.000Z",
            "timeToLive": "PT1M",
        },
        "authentication": {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": "k3y"},
    },
}


def http(authentication=None, type="Http", **request):
    request = {"uri": URI, "method": "GET", **request}
    if authentication is not None:
        request["authentication"] = authentication
    return {"type": type, "request": request}


def stored(document) -> Action:
    """The action as it would stand in the database."""
    parsed = documents.parse(document)
    return Action(document=parsed.document, secrets=parsed.secrets)


def refusal(document, previous=None) -> tuple[str, str]:
    with pytest.raises(Invalid) as caught:
        documents.parse(document, previous)
    return caught.value.path, caught.value.code


@pytest.fixture(scope="module")
def certificate():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "job.example")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime(2026, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC))
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def pfx_of(certificate, password: str | None) -> str:
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return base64.b64encode(serialize_key_and_certificates(b"job", *certificate, None, encryption)).decode()


# Shapes


@pytest.mark.parametrize("type", ["Http", "Https"])
def test_an_http_action_keeps_what_was_sent(type):
    document = http(type=type, method="POST", headers={"X-Kind": "nightly", "Empty": ""}, body="line\r\nü")

    assert documents.parse(document) == documents.ParsedAction(document, Secrets())


def test_enums_are_read_in_any_case_and_written_in_one():
    document = {
        **http({**BASIC, "type": "bASIC"}, type="http", method="post"),
        "retryPolicy": {"retryType": "fixed", "retryInterval": "PT1M", "retryCount": 3},
    }

    written = documents.parse(document).document

    assert written["type"] == "Http"
    assert written["request"]["method"] == "POST"
    assert written["request"]["authentication"]["type"] == "Basic"
    assert written["retryPolicy"]["retryType"] == "Fixed"


def test_members_nobody_knows_are_dropped():
    document = {
        **http({**BASIC, "realm": "x"}, colour="red"),
        "queueMessage": {"nonsense": 1},  # belongs to another type
        "retryPolicy": {"retryCount": 1, "jitter": 2},
        "colour": "red",
    }

    parsed = documents.parse(document)

    assert parsed.document == {
        "type": "Http",
        "request": {"uri": URI, "method": "GET", "authentication": {"type": "Basic", "username": "ada"}},
        "retryPolicy": {"retryCount": 1},
    }


def test_a_null_member_counts_as_absent():
    document = {**http(headers=None, body=None, authentication=None), "retryPolicy": None, "errorAction": None}

    assert documents.parse(document).document == http()


def test_an_error_action_has_the_same_shape_without_a_further_one():
    error_action = {**http(BASIC), "retryPolicy": {"retryType": "None"}, "errorAction": http()}

    parsed = documents.parse({**STORAGE, "errorAction": error_action})

    assert parsed.document["errorAction"] == {
        "type": "Http",
        "request": {"uri": URI, "method": "GET", "authentication": {"type": "Basic", "username": "ada"}},
        "retryPolicy": {"retryType": "None"},
    }
    assert parsed.secrets == {"queueMessage.sasToken": "?sig=1", "errorAction.request.authentication.password": "pw"}


def test_a_service_bus_message_keeps_its_properties():
    document = documents.parse(SERVICE_BUS).document["serviceBusQueueMessage"]

    assert document["authentication"] == {"type": "SharedAccessKey", "sasKeyName": "send"}
    assert document["customMessageProperties"] == {"k": "v"}
    assert document["brokeredMessageProperties"] == {
        "contentType": "text/plain",
        "label": "nightly",
        "forcePersistence": True,
        "scheduledEnqueueTimeUtc": "2030-01-01T08:00:00Z",
        "timeToLive": "PT1M",
    }


def test_a_topic_has_a_path():
    document = {"type": "servicebustopic", "serviceBusTopicMessage": {"namespace": "orders", "topicPath": "a/b"}}

    assert documents.parse(document).document == {**document, "type": "ServiceBusTopic"}


@pytest.mark.parametrize(
    "sent, kept",
    [("PT1M", "PT1M"), ("00:01:00", "00:01:00"), ("PT1D", "P1D"), ("P18M", "P18M"), ("00:00:15", "00:00:15")],
)
def test_a_retry_interval_is_answered_in_the_form_sent(sent, kept):
    policy = documents.parse({**http(), "retryPolicy": {"retryInterval": sent}}).document["retryPolicy"]

    assert policy == {"retryInterval": kept}


def test_rendering_gives_a_copy_of_its_own():
    action = stored(http(headers={"A": "1"}))

    documents.render(action)["request"]["headers"]["A"] = "2"

    assert documents.render(action) == http(headers={"A": "1"})


def test_what_was_added_to_the_original_is_kept():
    document = {
        **http(
            {key: text for key, text in OAUTH.items() if key != "secret"} | {"authority": "https://login.example/v1"},
            followRedirects=True,
            success={"statusCodes": [200, "202-204"], "bodyContains": "done"},
        ),
        "template": True,
        "follow": True,
        "followLimit": "PT2H",
        "retryPolicy": {
            "retryType": "Exponential",
            "retryInterval": "PT15S",
            "retryCount": 20,
            "maximumRetryInterval": "00:05:00",
        },
    }
    sent = replaced(document, ["request", "authentication"], {**document["request"]["authentication"], "secret": "s"})

    assert documents.parse(sent) == documents.ParsedAction(document, Secrets({"request.authentication.secret": "s"}))


def test_additions_that_are_off_are_not_answered():
    sent = {**http(followRedirects=False, certificateAuthority="", success=None), "template": False, "follow": False}

    assert documents.parse(sent).document == http()


def test_a_queue_message_keeps_its_format():
    sent = replaced(STORAGE, ["queueMessage", "messageFormat"], "xml")
    sent["queueMessage"]["messageEncoding"] = "BASE64"

    written = documents.parse(sent).document["queueMessage"]

    assert (written["messageFormat"], written["messageEncoding"]) == ("Xml", "Base64")


# Refusals


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
        # as a number of PostgreSQL's JSON it would come back as one that answers cannot hold
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
def test_what_is_wrong_is_refused_with_its_path(document, path, code):
    assert refusal(document) == (path, code)


@pytest.mark.parametrize(
    "path", ["/{{ run_id }}", "//{{ run_id }}", "?at={{ fire_time }}", "#{{ attempt }}", "/a//?b=//{{ attempt }}"]
)
def test_placeholders_stand_anywhere_after_the_host(path):
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
        "http://exämple.com",
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
def test_an_odd_but_plain_uri_is_taken_as_it_is(uri):
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
def test_a_header_that_is_not_the_jobs_to_set_is_refused(name):
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


def test_a_refused_secret_is_not_repeated():
    with pytest.raises(Invalid) as caught:
        documents.parse(http({**BASIC, "password": 123456}))

    assert "123456" not in caught.value.message


def test_a_long_value_is_repeated_only_in_part():
    with pytest.raises(Invalid) as caught:
        documents.parse(http(uri="ftp://" + "a" * 2000))

    assert len(caught.value.message) < 300


# Secrets


@pytest.mark.parametrize("type", ["None", "NotSpecified", "notspecified"])
def test_no_authentication_is_not_answered(type):
    assert documents.parse(http({"type": type})).document == http()


@pytest.mark.parametrize(
    "document, place, text",
    [
        (http(BASIC), "request.authentication.password", "pw"),
        (http(OAUTH), "request.authentication.secret", "s3cret"),
        (STORAGE, "queueMessage.sasToken", "?sig=1"),
        (SERVICE_BUS, "serviceBusQueueMessage.authentication.sasKey", "k3y"),
        ({**http(), "errorAction": http(BASIC)}, "errorAction.request.authentication.password", "pw"),
    ],
)
class TestSecrets:
    def test_are_split_from_the_document(self, document, place, text):
        parsed = documents.parse(document)

        assert parsed.secrets == {place: text}
        assert text not in repr(parsed)

    def test_are_kept_when_absent(self, document, place, text):
        action = stored(document)

        again = documents.parse(documents.render(action), action)

        assert again == documents.ParsedAction(action.document, action.secrets)

    def test_are_kept_when_masked(self, document, place, text):
        action = stored(document)
        sent = documents.render(action)
        parent = sent
        *parents, name = place.split(".")
        for part in parents:
            parent = parent[part]
        parent[name] = MASK

        assert documents.parse(sent, action).secrets == {place: text}


@pytest.mark.parametrize(
    "sent",
    [
        http({"type": "Basic", "username": "eve"}),
        http({"type": "Basic", "username": "ada"}, uri="https://evil.example/hook"),
        http({"type": "Basic", "username": "ada"}, uri="http://example.com/hook"),  # it would travel in the clear
        http({"type": "Basic", "username": "ada"}, uri="https://example.com:444/hook"),
    ],
)
def test_a_password_is_not_carried_to_another_user_or_host(sent):
    assert refusal(sent, stored(http(BASIC))) == ("action.request.authentication.password", "required")


def test_a_password_is_not_carried_to_whom_another_authority_vouches_for(authority):
    sent = http({"type": "Basic", "username": "ada"}, certificateAuthority=authority.pem)

    assert refusal(sent, stored(http(BASIC))) == ("action.request.authentication.password", "required")


def test_a_password_stays_when_only_the_path_changes():
    sent = http({"type": "Basic", "username": "ada"}, uri="https://EXAMPLE.com:443/other")

    assert documents.parse(sent, stored(http(BASIC))).secrets == {"request.authentication.password": "pw"}


def test_a_password_is_not_carried_to_the_error_action():
    sent = {**http(), "errorAction": http({"type": "Basic", "username": "ada"})}

    assert refusal(sent, stored(http(BASIC))) == ("action.errorAction.request.authentication.password", "required")


def test_a_shared_key_is_not_carried_to_another_namespace():
    sent = documents.render(stored(SERVICE_BUS))
    sent["serviceBusQueueMessage"]["namespace"] = "evil"

    path, code = refusal(sent, stored(SERVICE_BUS))

    assert (path, code) == ("action.serviceBusQueueMessage.authentication.sasKey", "required")


@pytest.mark.parametrize("change", [{"audience": None}, {"audience": "https://b.example"}, {"authority": None}])
def test_a_client_secret_is_not_used_for_another_audience_or_authority(change):
    action = stored(http({**OAUTH, "audience": "https://a.example", "authority": "https://login.example"}))
    sent = documents.render(action)
    sent["request"]["authentication"] |= change

    assert refusal(sent, action) == ("action.request.authentication.secret", "required")


def test_a_token_is_not_carried_to_another_account():
    sent = documents.render(stored(STORAGE))
    sent["queueMessage"]["storageAccount"] = "other"

    assert refusal(sent, stored(STORAGE)) == ("action.queueMessage.sasToken", "required")


@pytest.mark.parametrize(
    "before, after",
    [
        (None, "https://evil.example"),
        ("https://login.example", "https://evil.example"),
        ("https://login.example", None),  # the installation's own
        ("https://login.example", "https://login.example:444"),
    ],
)
def test_a_secret_is_not_carried_to_another_authority(before, after):
    sent = {key: text for key, text in OAUTH.items() if key != "secret"}

    path, code = refusal(http({**sent, "authority": after}), stored(http({**OAUTH, "authority": before})))

    assert (path, code) == ("action.request.authentication.secret", "required")
    documents.parse(http({**sent, "authority": before}), stored(http({**OAUTH, "authority": before})))


@pytest.mark.parametrize("member", ["tenant", "clientId", "audience"])
def test_a_secret_is_not_carried_to_another_grant(member):
    sent = {key: text for key, text in OAUTH.items() if key != "secret"} | {member: "other.example"}

    assert refusal(http(sent), stored(http(OAUTH))) == ("action.request.authentication.secret", "required")


def test_removed_authentication_takes_its_secret_along():
    assert documents.parse(http(authentication=None), stored(http(BASIC))).secrets == {}


# Client certificates


@pytest.mark.parametrize("password", ["pw", None])
def test_a_certificate_is_described(certificate, password):
    authentication = {"type": "clientcertificate", "pfx": pfx_of(certificate, password), "password": password}

    parsed = documents.parse(http(authentication))

    assert parsed.document["request"]["authentication"] == {
        "type": "ClientCertificate",
        "certificateThumbprint": certificate[1].fingerprint(hashes.SHA1()).hex().upper(),
        "certificateSubjectName": "CN=job.example",
        "certificateExpirationDate": "2031-02-03T04:05:06Z",
        "certificateExpiration": "2031-02-03T04:05:06Z",
    }
    assert set(parsed.secrets) == {"request.authentication.pfx"} | (
        {"request.authentication.password"} if password else set()
    )


def test_a_stored_certificate_is_kept(certificate):
    action = stored(http({"type": "ClientCertificate", "pfx": pfx_of(certificate, "pw"), "password": "pw"}))

    again = documents.parse(documents.render(action), action)

    assert again == documents.ParsedAction(action.document, action.secrets)


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_certificate_that_its_password_does_not_open_is_refused(certificate, password):
    authentication = {"type": "ClientCertificate", "pfx": pfx_of(certificate, "pw"), "password": password}

    assert refusal(http(authentication)) == ("action.request.authentication.pfx", "malformed")


def test_a_stored_certificate_stays_with_its_host(certificate):
    action = stored(http({"type": "ClientCertificate", "pfx": pfx_of(certificate, None)}))

    path, code = refusal(http({"type": "ClientCertificate"}, uri="https://evil.example"), action)

    assert (path, code) == ("action.request.authentication.pfx", "required")


def test_a_certificate_made_to_keep_a_processor_busy_is_refused(certificate):
    costly = (
        PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(pfx.ITERATIONS_LIMIT // 2)  # more than that for its certificate, its key and its seal together
        .key_cert_algorithm(PBES.PBESv2SHA256AndAES256CBC)
        .hmac_hash(hashes.SHA256())
        .build(b"pw")
    )
    data = serialize_key_and_certificates(b"job", *certificate, None, costly)
    authentication = {"type": "ClientCertificate", "pfx": base64.b64encode(data).decode(), "password": "pw"}

    with pytest.raises(Invalid, match="at most 2000000 iterations"):
        documents.parse(http(authentication))


# Anything


def places(document, place=()):
    """The paths of all members of a document, as tuples."""
    for name, value in document.items():
        yield (*place, name)
        if isinstance(value, dict):
            yield from places(value, (*place, name))


def replaced(document, place, value) -> dict:
    name, *rest = place
    return {**document, name: replaced(document[name], rest, value) if rest else value}


FULL = {
    **http(BASIC, headers={"A": "1"}, body="b"),
    "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 3},
    "errorAction": http(OAUTH),
}
STRANGE = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    " ",
    "\0",
    "\ud800",
    "ä",
    "a" * 20_000,
    [],
    [None],
    {},
    {"a": {}},
    {"": 1},
]


@pytest.mark.parametrize("document", [FULL, STORAGE, SERVICE_BUS], ids=["http", "storage", "bus"])
def test_whatever_stands_at_a_member_is_taken_or_refused_below_the_action(document):
    for place in places(document):
        for value in STRANGE:
            try:
                parsed = documents.parse(replaced(document, place, value))
            except Invalid as error:
                assert error.path.startswith("action")
            else:
                json.dumps(parsed.document).encode()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "request",
                        "uri",
                        "method",
                        "headers",
                        "authentication",
                        "queueMessage",
                        "retryPolicy",
                        "errorAction",
                    ]
                ),
                inner,
            )
            | st.lists(inner)
        ),
        max_leaves=20,
    )
)
def test_any_value_is_refused_or_taken(value):
    with suppress(Invalid):
        documents.parse(value)


@given(st.binary(max_size=200))
def test_any_bytes_as_a_certificate_are_refused(data):
    with pytest.raises(ValueError):
        pfx.load(base64.b64encode(data).decode(), "pw")


@pytest.mark.filterwarnings("ignore:PKCS#12 bundle could not be parsed as DER")
@given(st.data())
def test_a_damaged_certificate_is_refused_or_opened(certificate, data):
    content = bytearray(base64.b64decode(pfx_of(certificate, None)))
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        content[position] = data.draw(st.integers(0, 255))

    with suppress(ValueError):
        pfx.public_members(base64.b64encode(content).decode(), None)


# Credentials in headers


def with_headers(headers, uri="https://api.example/hook"):
    return {"type": "Https", "request": {"uri": uri, "method": "GET", "headers": headers}}


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "authorization", "Cookie", "X-Api-Key", "X-Auth-Token", "X-Auth", "X-Auth-Key"),
        # of the services to which the original's jobs were sent
        *("x-functions-key", "Ocp-Apim-Subscription-Key", "aeg-sas-key"),
    ],
)
def test_a_header_that_holds_a_credential_is_stored_apart(name):
    parsed = documents.parse(with_headers({name: "Bearer opensesame", "Accept": "*/*"}))

    assert parsed.document["request"]["headers"] == {name: "********", "Accept": "*/*"}
    assert parsed.secrets == {f"request.headers.{name.lower()}": "Bearer opensesame"}


@pytest.mark.parametrize("name", ["Author", "Authors", "X-Partition-Key", "X-Routing-Key", "X-Key", "Accept"])
def test_other_headers_are_answered_as_they_are(name):
    assert documents.parse(with_headers({name: "plain"})).document["request"]["headers"] == {name: "plain"}


def test_the_mask_keeps_a_headers_credential_at_the_same_host_only():
    first = documents.parse(with_headers({"Authorization": "Bearer opensesame"}))
    stored = Action(document=first.document, secrets=first.secrets)

    again = documents.parse(with_headers({"authorization": "********"}), stored)
    assert again.secrets == first.secrets

    with pytest.raises(Invalid) as refusal:
        documents.parse(with_headers({"Authorization": "********"}, "https://elsewhere.example/"), stored)
    assert refusal.value.path == "action.request.headers.Authorization"


def test_brackets_hold_an_ipv6_address():
    with pytest.raises(Invalid):
        documents.parse(with_headers({}, "http://[v1.x]/"))
    documents.parse(with_headers({}, "http://[2001:db8::1]/"))
