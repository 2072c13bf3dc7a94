"""Messages to storage queues: what is refused, what is sent, and what the service's own client reads."""

import base64
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4
from xml.etree import ElementTree

import pytest
from azure.storage.queue import TextBase64DecodePolicy

from api.errors import Invalid
from jobs.actions import documents, prepare
from jobs.actions.result import CallRefused
from tests.jobs.attempts import CONTEXT, attempt
from tests.peers.server import Answer

TOKEN = "?sv=2025-11-05&sp=a&sig=ab%2Bcd%2Fef%3D"


@pytest.fixture(autouse=True)
def fixed_start():
    """Leave the time as it is: the emulator refuses tokens that have expired by the machine's clock."""


@pytest.fixture(autouse=True)
def loopback_is_open(settings):
    settings.EGRESS_ALLOW = ["127.0.0.0/8"]


def queued(message="hello", template=False, **members) -> dict:
    members = {"storageAccount": "acct", "queueName": "inbox", "sasToken": TOKEN, "message": message, **members}
    return {"type": "StorageQueue", "template": template, "queueMessage": members}


def prepared(document, context=CONTEXT):
    parsed = documents.parse(document)
    return prepare(parsed.document, parsed.secrets, context)


def message_text(call) -> str:
    """Return the message as the service reads it from the request."""
    root = ElementTree.fromstring(call.body.encode())
    assert (root.tag, [child.tag for child in root]) == ("QueueMessage", ["MessageText"])
    return root[0].text


# What is sent


def test_message_is_sent_to_its_queue_with_the_sas_token():
    call = prepared(queued())

    assert (call.method, str(call.url)) == (
        "POST",
        "https://acct.queue.core.windows.net/inbox/messages?sv=2025-11-05&sp=a&sig=ab%2Bcd%2Fef%3D",
    )
    assert call.headers["Content-Type"] == "application/xml"
    assert call.headers["x-ms-version"]


def test_sas_token_can_omit_its_question_mark():
    assert prepared(queued(sasToken=TOKEN[1:])).url == prepared(queued()).url


def test_address_of_the_storage_service_is_a_setting(settings):
    settings.STORAGE_QUEUE_URL = "http://127.0.0.1:10001/{account}"

    assert str(prepared(queued(sasToken="?sig=1")).url) == "http://127.0.0.1:10001/acct/inbox/messages?sig=1"


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        "",
        " a \t b ",
        '{"a": "<&>\'"}',
        "]]></MessageText></QueueMessage>",
        "&lt;not twice&gt;",
        "line\nline\r\nline\rline",  # a parser would convert them all to LF
        "Grüße, \U0001f600, \ufffd",
        "<?xml version='1.0'?><a/>",
    ],
)
@pytest.mark.parametrize("encoding", ["None", "Base64"])
@pytest.mark.parametrize("format", ["Text", "Xml"])
def test_message_is_sent_unchanged(message, encoding, format):
    text = message_text(prepared(queued(message, messageEncoding=encoding, messageFormat=format))) or ""

    if encoding == "Base64":
        text = base64.b64decode(text, validate=True).decode()
    if format == "Xml":
        text = ElementTree.fromstring(text).findtext("Message")
    assert text == message


def test_base64_message_can_contain_characters_that_xml_cannot():
    text = message_text(prepared(queued("a\x01b\ufffe", messageEncoding="Base64")))

    assert base64.b64decode(text).decode() == "a\x01b\ufffe"


def test_xml_envelope_is_that_of_the_original_service():
    call = prepared(queued("do <it>", messageFormat="Xml"))

    assert message_text(call) == (
        '<?xml version="1.0" encoding="utf-16"?>\n'
        '<StorageQueueMessage xmlns:xsd="http://www.w3.org/2001/XMLSchema"'
        ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n'
        "  <ExecutionTag>00000000000000000000000000000007</ExecutionTag>\n"
        f"  <ClientRequestId>{call.headers['x-ms-client-request-id']}</ClientRequestId>\n"
        "  <ExpectedExecutionTime>2026-01-05T08:00:00</ExpectedExecutionTime>\n"
        "  <SchedulerJobId>backup</SchedulerJobId>\n"
        "  <SchedulerJobCollectionId>nightly</SchedulerJobCollectionId>\n"
        "  <Region>West Europe</Region>\n"
        "  <Message>do &lt;it&gt;</Message>\n"
        "</StorageQueueMessage>"
    )


def test_attempts_of_a_run_share_the_execution_tag_and_have_different_request_ids():
    first, second = (prepared(queued(messageFormat="Xml"), replace(CONTEXT, attempt=number)) for number in (1, 2))
    tags, requests = zip(
        *(
            (root.findtext("ExecutionTag"), UUID(root.findtext("ClientRequestId")))
            for root in (ElementTree.fromstring(message_text(call)) for call in (first, second))
        ),
        strict=True,
    )

    assert tags[0] == tags[1]
    assert requests[0] != requests[1]
    assert first.headers["x-ms-client-request-id"] == str(requests[0])


def test_placeholders_in_a_message_are_filled_in():
    document = queued('{"run": "{{ run_id }}", "of": "{{job.name}}", "as": "{{ "{{" }}"}', template=True)

    assert message_text(prepared(document)) == f'{{"run": "{CONTEXT.run_id}", "of": "backup", "as": "{{{{"}}'


def test_braces_in_a_message_are_unchanged_without_template():
    assert message_text(prepared(queued("{{ run_id }}"))) == "{{ run_id }}"


# Messages that are refused when a job is saved


@pytest.mark.parametrize(
    "member, value, code",
    [
        ("storageAccount", "ab", "malformed"),
        ("storageAccount", "Acct", "malformed"),
        ("storageAccount", "a" * 25, "too_long"),
        ("storageAccount", "acct.evil", "malformed"),
        ("storageAccount", "acct/..", "malformed"),
        ("storageAccount", "acct@evil", "malformed"),
        ("storageAccount", "acct\n", "malformed"),
        ("storageAccount", "{account}", "malformed"),
        ("queueName", "ab", "malformed"),
        ("queueName", "a" * 64, "too_long"),
        ("queueName", "Inbox", "malformed"),
        ("queueName", "-inbox", "malformed"),
        ("queueName", "inbox-", "malformed"),
        ("queueName", "in--box", "malformed"),
        ("queueName", "in/box", "malformed"),
        ("queueName", "in_box", "malformed"),
        ("queueName", "inbox\n", "malformed"),
        ("sasToken", "", "malformed"),
        ("sasToken", "?", "malformed"),
        ("sasToken", "sig=1#fragment", "malformed"),
        ("sasToken", "sig=1 HTTP/1.1", "malformed"),
        ("sasToken", "sig=1\r\nX-Injected: 1", "malformed"),
        ("sasToken", "sig=1\n", "malformed"),
        ("sasToken", "sig=1\\", "malformed"),
        ("sasToken", "sig=%zz", "malformed"),
        ("sasToken", "sig=%2", "malformed"),
        ("sasToken", "sig=ü", "malformed"),
        ("sasToken", 'sig="1"', "malformed"),
        ("sasToken", "sig=<1>", "malformed"),
        ("messageFormat", "Json", "unknown_value"),
        ("messageEncoding", "Hex", "unknown_value"),
        ("message", "a\x01b", "malformed"),  # XML cannot contain control characters
        ("message", "a\x0bb", "malformed"),
        ("message", "a\uffffb", "malformed"),
        ("message", "\x1b[31m", "malformed"),
        ("message", "a" * 16_385, "too_long"),
    ],
)
def test_message_that_the_service_refuses_is_refused_when_it_is_saved(member, value, code):
    with pytest.raises(Invalid) as caught:
        documents.parse(queued(**{member: value}))

    assert (caught.value.path, caught.value.code) == (f"action.queueMessage.{member}", code)
    assert member != "sasToken" or value == "" or value not in str(caught.value)


@pytest.mark.parametrize("name", ["abc", "a-b", "1-2-3", "a" * 63])
def test_valid_queue_names_are_accepted(name):
    assert documents.parse(queued(queueName=name)).document["queueMessage"]["queueName"] == name


@pytest.mark.parametrize(
    "message, members",
    [
        ("\U0001f600" * 16_384, {"messageEncoding": "Base64"}),  # 64 KiB before it is encoded
        ("&" * 16_384, {"messageFormat": "Xml"}),  # five characters each in the envelope
        ("ü&" * 8000, {"messageFormat": "Xml", "messageEncoding": "Base64"}),
    ],
)
def test_message_that_is_too_long_is_refused(message, members):
    with pytest.raises(Invalid) as caught:
        documents.parse(queued(message, **members))

    assert (caught.value.path, caught.value.code) == ("action.queueMessage.message", "too_long")
    assert "65536 bytes" in caught.value.message


def test_message_of_the_maximum_length_is_accepted():
    assert len(message_text(prepared(queued("\U0001f600" * 16_384))).encode()) == 65_536


def test_message_whose_placeholders_can_become_too_long_is_refused():
    grown = "{{job.name}}" * 656  # 7,872 characters, and 65,600 with the longest name

    with pytest.raises(Invalid, match="65536 bytes"):
        documents.parse(queued(grown, template=True))
    documents.parse(queued(grown))


def test_control_characters_in_an_xml_envelope_are_refused_with_base64_too():
    with pytest.raises(Invalid) as caught:
        documents.parse(queued("a\x01b", messageFormat="Xml", messageEncoding="Base64"))

    assert caught.value.code == "malformed"


def test_an_unknown_placeholder_is_refused():
    with pytest.raises(Invalid) as caught:
        documents.parse(queued("{{ job.secret }}", template=True))

    assert caught.value.path == "action.queueMessage.message"


def test_stored_message_that_is_now_invalid_is_not_sent():
    stored = queued("a\x01b")
    del stored["queueMessage"]["sasToken"]

    with pytest.raises(CallRefused, match="must not contain"):
        prepare(stored, {"queueMessage.sasToken": TOKEN}, CONTEXT)


# Secrets


def test_sas_token_is_not_in_the_redacted_call():
    shown = prepared(queued()).as_redacted_dict()

    assert shown["uri"] == "https://acct.queue.core.windows.net/inbox/messages?********"


@pytest.mark.parametrize("repeated", [TOKEN, TOKEN[1:], "ab%2Bcd%2Fef%3D", "ab%2bcd%2fef%3d", "ab+cd/ef="])
def test_signature_that_the_service_repeats_is_masked(target, settings, repeated):
    settings.STORAGE_QUEUE_URL = f"{target.url}/{{account}}"
    target.answers[f"/acct/inbox/messages{TOKEN}"] = [Answer(403, {"X-Echo": repeated}, f"wrong: {repeated}.")]

    outcome = attempt(queued())

    assert (outcome.succeeded, outcome.status_code) == (False, 403)
    assert "ab" not in f"{outcome.body}{dict(outcome.headers)['X-Echo']}"
    assert outcome.body.endswith("********.")


def test_redirect_of_a_storage_service_is_not_followed(target, peer, settings):
    elsewhere = peer(type(target))
    settings.STORAGE_QUEUE_URL = f"{target.url}/{{account}}"
    target.answers[f"/acct/inbox/messages{TOKEN}"] = [Answer(307, {"Location": elsewhere.url})]

    assert not attempt(queued()).succeeded
    assert elsewhere.calls == []


# The service


@pytest.fixture
def make_queue(storage, settings):
    """Return a function that creates a queue of the storage account."""
    settings.STORAGE_QUEUE_URL = storage.address
    return lambda **policies: storage.queue(f"q-{uuid4()}", **policies)


@pytest.fixture
def inbox(make_queue):
    return make_queue()


def test_client_of_the_service_reads_a_plain_message(storage, inbox):
    message = "Grüße <&>\r\n\U0001f600"
    outcome = attempt(_message_for(storage, inbox, message, sasToken=storage.account_sas()))

    assert (outcome.succeeded, outcome.status_code) == (True, 201)
    assert [received.content for received in inbox.receive_messages()] == [message]


def test_client_of_the_service_reads_a_base64_message(storage, make_queue):
    inbox = make_queue(message_decode_policy=TextBase64DecodePolicy())
    document = _message_for(
        storage, inbox, "a\x01b ü", messageEncoding="Base64", sasToken=storage.queue_sas(inbox.queue_name)
    )

    assert attempt(document).succeeded
    assert [received.content for received in inbox.receive_messages()] == ["a\x01b ü"]


def test_client_of_the_service_reads_an_xml_envelope(storage, inbox):
    document = _message_for(storage, inbox, "do it", messageFormat="Xml", sasToken=storage.queue_sas(inbox.queue_name))

    assert attempt(document).succeeded
    (received,) = inbox.receive_messages()
    root = ElementTree.fromstring(received.content)
    assert {child.tag: child.text for child in root} | {"ClientRequestId": ""} == {
        "ExecutionTag": CONTEXT.run_id.hex,
        "ClientRequestId": "",
        "ExpectedExecutionTime": "2026-01-05T08:00:00",
        "SchedulerJobId": "backup",
        "SchedulerJobCollectionId": "nightly",
        "Region": "West Europe",
        "Message": "do it",
    }


def test_service_accepts_a_message_of_the_maximum_size(storage, make_queue):
    inbox = make_queue(message_decode_policy=TextBase64DecodePolicy())
    largest = "€" * 16_384  # 48 KiB, and 64 KiB in base64

    assert attempt(
        _message_for(storage, inbox, largest, messageEncoding="Base64", sasToken=storage.account_sas())
    ).succeeded
    assert [received.content for received in inbox.receive_messages()] == [largest]


def test_invalid_sas_token_fails_the_attempt_and_is_not_shown(storage, inbox, make_queue):
    other = make_queue()
    for token in (storage.queue_sas(other.queue_name), storage.queue_sas(inbox.queue_name, -timedelta(hours=1))):
        outcome = attempt(_message_for(storage, inbox, sasToken=token))

        assert (outcome.succeeded, outcome.status_code, outcome.may_retry) == (False, 403, True)
        assert token not in f"{outcome}"
    assert list(inbox.receive_messages()) == []


def test_a_queue_that_does_not_exist_fails_the_attempt(storage, inbox):
    outcome = attempt(_message_for(storage, inbox, queueName="nowhere", sasToken=storage.account_sas()))

    assert (outcome.succeeded, outcome.status_code) == (False, 404)


def _message_for(storage, inbox, message="hello", **members) -> dict:
    return queued(message, **{"storageAccount": storage.account, "queueName": inbox.queue_name, **members})
