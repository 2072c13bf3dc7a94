"""Which members of an action's document are stored, and how they are returned."""

import pytest

from jobs.actions import documents
from jobs.encryption import Secrets
from tests.jobs.documents.samples import BASIC, OAUTH, SERVICE_BUS, STORAGE, URI, http, replaced, stored


@pytest.mark.parametrize("type", ["Http", "Https"])
def test_http_action_is_stored_as_it_was_sent(type):
    document = http(type=type, method="POST", headers={"X-Kind": "nightly", "Empty": ""}, body="line\r\nü")

    assert documents.parse(document) == documents.ParsedAction(document, Secrets())


def test_enums_are_read_in_any_case_and_written_in_one_case():
    document = {
        **http({**BASIC, "type": "bASIC"}, type="http", method="post"),
        "retryPolicy": {"retryType": "fixed", "retryInterval": "PT1M", "retryCount": 3},
    }

    written = documents.parse(document).document

    assert written["type"] == "Http"
    assert written["request"]["method"] == "POST"
    assert written["request"]["authentication"]["type"] == "Basic"
    assert written["retryPolicy"]["retryType"] == "Fixed"


def test_unknown_members_are_dropped():
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


def test_error_action_has_the_same_members_except_an_error_action():
    error_action = {**http(BASIC), "retryPolicy": {"retryType": "None"}, "errorAction": http()}

    parsed = documents.parse({**STORAGE, "errorAction": error_action})

    assert parsed.document["errorAction"] == {
        "type": "Http",
        "request": {"uri": URI, "method": "GET", "authentication": {"type": "Basic", "username": "ada"}},
        "retryPolicy": {"retryType": "None"},
    }
    assert parsed.secrets == {"queueMessage.sasToken": "?sig=1", "errorAction.request.authentication.password": "pw"}


def test_service_bus_message_is_stored_with_its_properties():
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


def test_service_bus_topic_has_a_topic_path():
    document = {"type": "servicebustopic", "serviceBusTopicMessage": {"namespace": "orders", "topicPath": "a/b"}}

    assert documents.parse(document).document == {**document, "type": "ServiceBusTopic"}


@pytest.mark.parametrize(
    "sent, stored_interval",
    [("PT1M", "PT1M"), ("00:01:00", "00:01:00"), ("PT1D", "P1D"), ("P18M", "P18M"), ("00:00:15", "00:00:15")],
)
def test_retry_interval_is_returned_in_the_format_that_was_sent(sent, stored_interval):
    policy = documents.parse({**http(), "retryPolicy": {"retryInterval": sent}}).document["retryPolicy"]

    assert policy == {"retryInterval": stored_interval}


def test_render_returns_a_copy():
    action = stored(http(headers={"A": "1"}))

    documents.render(action)["request"]["headers"]["A"] = "2"

    assert documents.render(action) == http(headers={"A": "1"})


def test_additions_to_the_original_contract_are_stored():
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


def test_additions_that_are_off_are_not_returned():
    sent = {**http(followRedirects=False, certificateAuthority="", success=None), "template": False, "follow": False}

    assert documents.parse(sent).document == http()


def test_queue_message_is_stored_with_its_format():
    sent = replaced(STORAGE, ["queueMessage", "messageFormat"], "xml")
    sent["queueMessage"]["messageEncoding"] = "BASE64"

    written = documents.parse(sent).document["queueMessage"]

    assert (written["messageFormat"], written["messageEncoding"]) == ("Xml", "Base64")
