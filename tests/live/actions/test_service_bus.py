"""Messages that worker processes send to a service bus."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.live.actions.jobs import BUS_KEY, bus_message, message


def test_every_property_of_a_message_is_sent(bus, carry_out):
    bus.entities.add("orders/eu")
    enqueue_at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    properties = {
        "contentType": "application/json; charset=utf-8",
        "correlationId": "order 7",
        "forcePersistence": True,
        "label": 'größe "L"',
        "messageId": "7",
        "partitionKey": "eu",
        "replyTo": "answers",
        "replyToSessionId": "session 1",
        "scheduledEnqueueTimeUtc": enqueue_at.isoformat(),
        "sessionId": "eu",
        "timeToLive": "PT1M30S",
        "to": "warehouse",
        "viaPartitionKey": "via",
    }
    sent = bus_message(
        topicPath="orders/eu",
        message='{"size": "größe"}',
        brokeredMessageProperties=properties,
        customMessageProperties={"Priority": "high", "Note": 'say "größe"\\', "Count": "7"},
    )

    run = carry_out({"type": "ServiceBusTopic", "serviceBusTopicMessage": sent})

    assert run["state"] == "succeeded", message(run)
    (received,) = [message for message in bus.messages if message.entity == "orders/eu"]
    assert received.body == '{"size": "größe"}'
    assert received.content_type == "application/json; charset=utf-8"
    assert received.custom == {"priority": "high", "note": 'say "größe"\\', "count": "7"}
    assert received.properties == {
        "CorrelationId": "order 7",
        "ForcePersistence": True,
        "Label": 'größe "L"',
        "MessageId": "7",
        "PartitionKey": "eu",
        "ReplyTo": "answers",
        "ReplyToSessionId": "session 1",
        "ScheduledEnqueueTimeUtc": enqueue_at,
        "SessionId": "eu",
        "TimeToLive": 90,
        "To": "warehouse",
        "ViaPartitionKey": "via",
    }


@pytest.mark.parametrize(
    "members, status",
    [
        ({"authentication": {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": "another"}}, 401),
        ({"authentication": {"type": "SharedAccessKey", "sasKeyName": "listen", "sasKey": BUS_KEY}}, 401),
        ({"queueName": "nowhere"}, 404),
        ({"namespace": "elsewhere"}, 404),
    ],
)
def test_message_refused_by_the_bus_fails_with_its_status(members, status, bus, carry_out):
    bus.entities.add("picky")

    run = carry_out({"type": "ServiceBusQueue", "serviceBusQueueMessage": bus_message(queueName="picky") | members})

    assert (run["state"], run["attempts"][0]["statusCode"]) == ("failed", status)
    assert BUS_KEY not in str(run)
    assert [message for message in bus.messages if message.entity == "picky"] == []
