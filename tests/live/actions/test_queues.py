"""Messages that worker processes put into storage queues."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from azure.storage.queue import TextBase64DecodePolicy

from tests.live.actions.jobs import NAMES, message, queue_message


@pytest.mark.parametrize(
    "encoding, policies", [("None", {}), ("Base64", {"message_decode_policy": TextBase64DecodePolicy()})]
)
def test_client_of_the_queue_reads_the_message(encoding, policies, storage, carry_out):
    name, text = next(NAMES), "hellö <&> ]]> \U0001f642\n"
    queue = storage.queue(name, **policies)
    sent = queue_message(storage, name, message=text, messageEncoding=encoding)

    run = carry_out({"type": "StorageQueue", "queueMessage": sent})

    assert run["state"] == "succeeded", message(run)
    assert [received.content for received in queue.receive_messages()] == [text]


@pytest.mark.parametrize(
    "encoding, policies", [("None", {}), ("Base64", {"message_decode_policy": TextBase64DecodePolicy()})]
)
def test_envelope_of_a_message_names_its_run(encoding, policies, storage, make):
    name = next(NAMES)
    queue = storage.queue(name, **policies)
    sent = queue_message(storage, name, message="hellö <&>", messageFormat="Xml", messageEncoding=encoding)
    job = make({"type": "StorageQueue", "queueMessage": sent})

    run = job.run()
    (received,) = queue.receive_messages()
    envelope = ElementTree.fromstring(received.content)
    members = {member.tag: member.text for member in envelope}

    assert re.match(r"""<\?xml version=["']1.0["'] encoding=["']utf-16["']""", received.content, re.IGNORECASE)
    assert envelope.tag == "StorageQueueMessage"
    assert re.fullmatch("[0-9a-f]{32}", members.pop("ExecutionTag"))
    assert uuid.UUID(members.pop("ClientRequestId"))
    expected = datetime.fromisoformat(members.pop("ExpectedExecutionTime"))
    assert expected.tzinfo is None
    assert abs(expected.replace(tzinfo=UTC) - datetime.fromisoformat(run["fireAt"])) < timedelta(seconds=1)
    assert members.pop("Region") == "West Europe"
    assert members == {
        "SchedulerJobId": job.name,
        "SchedulerJobCollectionId": run["collectionName"],
        "Message": "hellö <&>",
    }


@pytest.mark.parametrize("token", ["another queue's", "expired", "with a question mark"])
def test_queue_accepts_only_a_valid_token(token, storage, carry_out):
    name = next(NAMES)
    queue = storage.queue(name)
    sas, state = {
        "another queue's": (storage.queue_sas("elsewhere"), "failed"),
        "expired": (storage.queue_sas(name, -timedelta(hours=1)), "failed"),
        "with a question mark": ("?" + storage.queue_sas(name), "succeeded"),
    }[token]

    run = carry_out({"type": "StorageQueue", "queueMessage": queue_message(storage, name, sasToken=sas)})

    assert run["state"] == state, message(run)
    assert len(list(queue.receive_messages())) == (state == "succeeded")
    assert sas.lstrip("?") not in str(run)
