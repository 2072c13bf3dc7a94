"""Messages to a service bus: the server checks the signature and reads every property."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import pytest

from api.errors import Invalid
from jobs.actions import documents, http, prepare
from tests.jobs.attempts import CONTEXT, attempt, carry_out
from tests.peers.server import Answer
from tests.peers.service_bus import NAMESPACE, ServiceBus
from tests.peers.target import Target

KEY = "the+key/of=send"


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


@pytest.fixture
def bus(peer, settings):
    bus = peer(ServiceBus, ["orders", "in/box", "news"], {"send": KEY, "ö &=": KEY})
    settings.SERVICE_BUS_URL = bus.address
    return bus


def message(text="hello", key_name="send", key=KEY, template=False, **members) -> dict:
    authentication = {"type": "SharedAccessKey", "sasKeyName": key_name, "sasKey": key}
    members = {"namespace": NAMESPACE, "queueName": "orders", "authentication": authentication, **members}
    return {"type": "ServiceBusQueue", "template": template, "serviceBusQueueMessage": {"message": text, **members}}


def prepared(document, context=CONTEXT) -> http.Call:
    parsed = documents.parse(document)
    return prepare(parsed.document, parsed.secrets, context)


def broker_properties(call) -> dict:
    return json.loads(call.headers["BrokerProperties"])


# What the service receives


def test_message_is_sent_to_a_queue(bus):
    outcome = attempt(message("Grüße"))

    assert (outcome.succeeded, outcome.status_code) == (True, 201)
    (received,) = bus.messages
    assert (received.entity, received.body, received.key_name) == ("orders", "Grüße", "send")
    assert received.content_type == "text/plain;charset=utf-8"
    assert (received.properties, received.custom) == ({"MessageId": str(CONTEXT.run_id)}, {})


def test_message_is_sent_to_a_topic(bus):
    members = message()["serviceBusQueueMessage"]
    del members["queueName"]

    assert attempt({"type": "ServiceBusTopic", "serviceBusTopicMessage": {**members, "topicPath": "news"}}).succeeded
    assert bus.messages[0].entity == "news"


def test_path_of_a_queue_can_have_several_parts(bus):
    assert attempt(message(queueName="in/box")).succeeded
    assert bus.messages[0].entity == "in/box"


def test_every_broker_property_is_sent(bus):
    properties = {
        "contentType": "application/json",
        "correlationId": "c-1",
        "forcePersistence": True,
        "label": 'Grüße, "quoted" \\ {}',
        "messageId": "m-1",
        "partitionKey": "s-1",
        "replyTo": "answers",
        "replyToSessionId": "r-1",
        "scheduledEnqueueTimeUtc": "2030-01-06T08:49:37+02:00",
        "sessionId": "s-1",
        "timeToLive": "PT1M30S",
        "to": "somebody",
        "viaPartitionKey": "v-1",
    }

    outcome = attempt(message("{}", brokeredMessageProperties=properties))

    assert outcome.succeeded, outcome.body
    assert bus.messages[0].content_type == "application/json"
    assert bus.messages[0].properties == {
        "CorrelationId": "c-1",
        "ForcePersistence": True,
        "Label": 'Grüße, "quoted" \\ {}',
        "MessageId": "m-1",
        "PartitionKey": "s-1",
        "ReplyTo": "answers",
        "ReplyToSessionId": "r-1",
        "ScheduledEnqueueTimeUtc": datetime(2030, 1, 6, 6, 49, 37, tzinfo=UTC),
        "SessionId": "s-1",
        "TimeToLive": 90,
        "To": "somebody",
        "ViaPartitionKey": "v-1",
    }


@pytest.mark.parametrize(
    "text, seconds",
    [("PT1M", 60), ("00:01:00", 60), ("PT0.5S", 0.5), ("P18M", 46_656_000), ("1.00:00:00", 86_400)],
)
def test_a_time_to_live_is_sent_in_seconds(text, seconds):
    call = prepared(message(brokeredMessageProperties={"timeToLive": text}))

    assert broker_properties(call)["TimeToLive"] == seconds


def test_custom_properties_are_sent_as_texts(bus):
    properties = {"Priority": "High", "Size": "3", "IsNew": "true", "Quote": 'a "b" \\ c'}

    assert attempt(message(customMessageProperties={**properties, "Greeting": "Grüße", "Empty": ""})).succeeded
    assert bus.messages[0].custom == {
        "priority": "High",
        "size": "3",
        "isnew": "true",
        "quote": 'a "b" \\ c',
        "greeting": "Grüße",
        "empty": "",
    }


def test_attempts_of_a_run_have_the_same_message_id():
    ids = {broker_properties(prepared(message(), replace(CONTEXT, attempt=number)))["MessageId"] for number in (1, 2)}

    assert ids == {str(CONTEXT.run_id)}


def test_empty_message_id_is_replaced_by_the_run_id():
    call = prepared(message(brokeredMessageProperties={"messageId": ""}))

    assert broker_properties(call)["MessageId"] == str(CONTEXT.run_id)


def test_message_can_be_empty(bus):
    document = message()
    del document["serviceBusQueueMessage"]["message"]

    assert attempt(document).succeeded
    assert bus.messages[0].body == ""


@pytest.mark.parametrize("transport", ["AMQP", "NetMessaging", "NotSpecified", None])
def test_messages_of_every_transport_are_sent_over_https(transport):
    call = prepared(message(transportType=transport))

    assert str(call.url) == f"https://{NAMESPACE}.servicebus.windows.net/orders/messages"


def test_namespace_with_a_dot_is_the_host():
    assert str(prepared(message(namespace="bus.example.org")).url) == "https://bus.example.org/orders/messages"


def test_placeholders_in_a_message_are_filled_in():
    assert prepared(message('for {{ job.name }}: {"a"}', template=True)).body == 'for backup: {"a"}'


def test_braces_in_a_message_are_unchanged_without_template():
    assert prepared(message("{{ job.name }} {{ x }}")).body == "{{ job.name }} {{ x }}"


# Signatures


def test_signature_is_valid_for_ten_minutes():
    now = datetime(2026, 1, 5, 8, 0, 1, tzinfo=UTC)
    scheme, _, rest = prepared(message(), replace(CONTEXT, now=now)).headers["Authorization"].partition(" ")
    parts = dict(part.split("=", 1) for part in rest.split("&"))

    assert scheme == "SharedAccessSignature"
    assert parts["sr"] == f"https%3A%2F%2F{NAMESPACE}.servicebus.windows.net%2Forders"
    assert datetime.fromtimestamp(int(parts["se"]), UTC) == now + timedelta(minutes=10)
    digest = hmac.digest(KEY.encode(), f"{parts['sr']}\n{parts['se']}".encode(), hashlib.sha256)
    assert unquote(parts["sig"]) == base64.b64encode(digest).decode()


def test_name_of_a_key_can_have_any_character(bus):
    assert attempt(message(key_name="ö &=")).succeeded
    assert bus.messages[0].key_name == "ö &="


@pytest.mark.parametrize(
    "members, ago, reason",
    [
        ({"key": "another key"}, timedelta(0), "the signature is not the key's"),
        ({"key_name": "listen"}, timedelta(0), "no key has this name"),
        ({}, timedelta(minutes=11), "the signature has expired"),  # as with a late clock
    ],
)
def test_refused_signature_fails_the_attempt(bus, members, ago, reason):
    outcome = attempt(message(**members), now=datetime.now(UTC) - ago)

    assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, 401, True)
    assert reason in outcome.body
    assert bus.messages == []


@pytest.mark.parametrize("authentication", [None, {"type": "None"}, {"type": "notspecified"}])
def test_message_without_a_key_is_not_signed(bus, authentication):
    outcome = attempt(message(authentication=authentication))

    assert outcome.status_code == 401
    assert bus.calls[0].headers["Authorization"] is None


def test_key_and_signature_are_masked_in_the_response(peer, settings):
    class Echo(Target):
        def answer(self, call):
            authorization = call.headers["Authorization"]
            return Answer(401, {"X-Echo": authorization}, f"{authorization} {unquote(authorization)} {KEY}")

    echo = peer(Echo)
    settings.SERVICE_BUS_URL = f"{echo.url}/{{namespace}}"

    outcome = attempt(message())

    signature = dict(part.split("=", 1) for part in echo.calls[0].headers["Authorization"].split("&"))["sig"]
    assert outcome.status_code == 401
    for secret in (KEY, signature, unquote(signature)):
        assert secret not in f"{outcome}"


def test_key_and_signature_are_not_in_the_redacted_call():
    call = prepared(message())

    assert dict(call.as_redacted_dict()["headers"])["Authorization"] == "********"
    assert KEY not in f"{call}{call.as_redacted_dict()}"


def test_redirect_of_a_service_bus_is_not_followed(peer, settings):
    elsewhere = peer(Target)
    server = peer(Target)
    settings.SERVICE_BUS_URL = f"{server.url}/{{namespace}}"
    server.answers[f"/{NAMESPACE}/orders/messages"] = [Answer(307, {"Location": elsewhere.url})]

    assert not attempt(message()).succeeded
    assert elsewhere.calls == []


# Messages that are refused when a job is saved


@pytest.mark.parametrize(
    "member, value, code",
    [
        ("namespace", "evil.example/", "malformed"),
        ("namespace", "evil.example/x", "malformed"),
        ("namespace", "evil.example:444", "malformed"),
        ("namespace", "evil.example#", "malformed"),
        ("namespace", "evil.example?x", "malformed"),
        ("namespace", "user@evil.example", "malformed"),
        ("namespace", "evil\\example", "malformed"),
        ("namespace", "evil\n", "malformed"),
        ("namespace", "{namespace}", "malformed"),
        ("namespace", "ä.example", "malformed"),
        ("namespace", "a..b", "malformed"),
        ("namespace", ".example", "malformed"),
        ("namespace", "example.", "malformed"),
        ("namespace", "-a", "malformed"),
        ("namespace", "127.1", "malformed"),  # a way to write 127.0.0.1
        ("namespace", "0x7f.0.0.1", "malformed"),
        ("namespace", "a" * 64, "malformed"),
        ("namespace", "[::1]", "malformed"),
        ("queueName", "", "malformed"),
        ("queueName", "/orders", "malformed"),
        ("queueName", "orders/", "malformed"),
        ("queueName", "or//ders", "malformed"),
        ("queueName", "..", "malformed"),
        ("queueName", "../other", "malformed"),
        ("queueName", "a/../b", "malformed"),
        ("queueName", "a/./b", "malformed"),
        ("queueName", "a/.../b", "malformed"),
        ("queueName", "a%2Fb", "malformed"),
        ("queueName", "a?b", "malformed"),
        ("queueName", "a#b", "malformed"),
        ("queueName", "a b", "malformed"),
        ("queueName", "a\r\nHost: x", "malformed"),
        ("queueName", "a" * 261, "too_long"),
        ("message", "a" * 16_385, "too_long"),
    ],
)
def test_malformed_namespace_or_queue_is_refused(member, value, code):
    with pytest.raises(Invalid) as caught:
        documents.parse(message(**{member: value}))

    assert (caught.value.path, caught.value.code) == (f"action.serviceBusQueueMessage.{member}", code)


@pytest.mark.parametrize(
    "name, code",
    [
        ("Two Words", "malformed"),
        ("Naïve", "malformed"),
        ("a:b", "malformed"),
        ("a\r\nb", "invalid"),
        ("", "invalid"),
        ("Authorization", "forbidden"),
        ("authorization", "forbidden"),
        ("BrokerProperties", "forbidden"),
        ("Content-Type", "forbidden"),
        ("Content-Length", "forbidden"),
        ("Transfer-Encoding", "forbidden"),
        ("Host", "forbidden"),
        ("Expect", "forbidden"),
        ("Cookie", "forbidden"),
        ("User-Agent", "forbidden"),
        ("Accept-Encoding", "forbidden"),
        ("Proxy-Authorization", "forbidden"),
        ("Metadata-Flavor", "forbidden"),
        ("x-ms-retrypolicy", "forbidden"),
    ],
)
def test_custom_property_with_the_name_of_an_http_header_is_refused(name, code):
    with pytest.raises(Invalid) as caught:
        documents.parse(message(customMessageProperties={name: "x"}))

    assert (caught.value.path, caught.value.code) == (
        "action.serviceBusQueueMessage.customMessageProperties",
        code,
    )


def test_custom_property_in_two_cases_is_refused():
    with pytest.raises(Invalid, match="twice"):
        documents.parse(message(customMessageProperties={"Size": "1", "size": "2"}))


@pytest.mark.parametrize("value", ["a\r\nX-Injected: 1", "a\nb", "a\x01", "\x7f", "\x85"])
def test_unprintable_custom_property_is_refused(value):
    with pytest.raises(Invalid) as caught:
        documents.parse(message(customMessageProperties={"Kind": value}))

    assert caught.value.path == "action.serviceBusQueueMessage.customMessageProperties.Kind"


@pytest.mark.parametrize(
    "properties, path",
    [
        ({"contentType": "text/plain;charset=ütf"}, "contentType"),
        ({"contentType": "text/plain\r\nX: y"}, "contentType"),
        ({"label": "a\nb"}, "label"),
        ({"timeToLive": "PT0S"}, "timeToLive"),
        ({"timeToLive": "soon"}, "timeToLive"),
        ({"sessionId": "a", "partitionKey": "b"}, "partitionKey"),
    ],
)
def test_broker_property_that_the_service_refuses_is_refused(properties, path):
    with pytest.raises(Invalid) as caught:
        documents.parse(message(brokeredMessageProperties=properties))

    assert caught.value.path == f"action.serviceBusQueueMessage.brokeredMessageProperties.{path}"


@pytest.mark.parametrize(
    "custom, label",
    [
        ({"A": "a" * 8000, "B": "b" * 4300}, ""),
        ({f"P{number}": "x" * 120 for number in range(100)}, ""),
        ({"A": "ü" * 2100}, ""),  # six characters each in a header
        ({"A": "a" * 8000, "B": "ü" * 500}, "ü" * 256),
    ],
)
def test_properties_too_long_for_headers_are_refused(custom, label):
    with pytest.raises(Invalid) as caught:
        documents.parse(message(customMessageProperties=custom, brokeredMessageProperties={"label": label}))

    assert (caught.value.path, caught.value.code) == (
        "action.serviceBusQueueMessage.customMessageProperties",
        "too_long",
    )


def test_properties_of_the_maximum_length_are_accepted(bus):
    assert attempt(message(customMessageProperties={"A": "a" * 8000, "B": "b" * 4200})).succeeded


@pytest.mark.parametrize("custom", [{"Host": "elsewhere"}, {"A\r\nB": "x"}, {"": "x"}])
def test_stored_custom_property_that_is_now_invalid_is_not_sent(bus, custom):
    parsed = documents.parse(message())
    parsed.document["serviceBusQueueMessage"]["customMessageProperties"] = custom

    (outcome,) = carry_out([(parsed.document, parsed.secrets)])

    assert (outcome.succeeded, outcome.may_retry) == (False, False)
    assert bus.calls == []
