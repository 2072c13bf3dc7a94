"""Examples for the OpenAPI description.  A request works as it is once its dots are replaced by real secrets."""

from drf_spectacular.utils import OpenApiExample

HIDDEN = "..."  # never a text that looks like a secret: a reader could mistake it for a real one

JOBS = [
    OpenApiExample(
        "HTTP action with a success condition",
        {
            "collection": 1,
            "name": "warm-the-cache",
            "action": {
                "type": "Https",
                "template": True,
                "request": {
                    "method": "PUT",
                    "uri": "https://shop.example.com/cache?since={{ fire_time }}",
                    "headers": {"Content-Type": "application/json"},
                    "body": '{"run": "{{ run_id }}", "attempt": {{ attempt }}}',
                    "authentication": {"type": "Basic", "username": "quando", "password": HIDDEN},
                    "followRedirects": True,
                    "success": {"statusCodes": ["200-299", 304], "bodyPath": "$.state", "bodyValue": "warm"},
                },
                "retryPolicy": {
                    "retryType": "Exponential",
                    "retryInterval": "PT30S",
                    "retryCount": 6,
                    "maximumRetryInterval": "PT1H",
                },
            },
            "recurrence": {"frequency": "Hour", "interval": 1},
        },
        request_only=True,
    ),
    OpenApiExample(
        "HTTP action with an OAuth token",
        {
            "collection": 1,
            "name": "stop-machines",
            "action": {
                "type": "Https",
                "request": {
                    "method": "POST",
                    "uri": "https://machines.example.com/stop",
                    "authentication": {
                        "type": "ActiveDirectoryOAuth",
                        "tenant": "example.onmicrosoft.com",
                        "audience": "https://machines.example.com/",
                        "clientId": "11111111-2222-3333-4444-555555555555",
                        "secret": HIDDEN,
                    },
                },
            },
            "schedule": {"format": "quartz", "expression": "0 0 19 ? * MON-FRI", "timeZone": "Europe/Berlin"},
        },
        request_only=True,
    ),
    OpenApiExample(
        "Queue message with an error action",
        {
            "collection": 1,
            "name": "nightly-orders",
            "action": {
                "type": "StorageQueue",
                "queueMessage": {
                    "storageAccount": "exampleaccount",
                    "queueName": "orders",
                    "sasToken": HIDDEN,
                    "message": "collect",
                    "messageEncoding": "Base64",
                },
                "errorAction": {
                    "type": "ServiceBusTopic",
                    "serviceBusTopicMessage": {
                        "namespace": "example",
                        "topicPath": "alarms",
                        "message": "orders were not collected",
                        "authentication": {"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": HIDDEN},
                        "brokeredMessageProperties": {"label": "alarm", "timeToLive": "PT1H"},
                        "customMessageProperties": {"severity": "high"},
                    },
                },
            },
            "startTime": "2026-01-05T01:30:00Z",
            "recurrence": {"frequency": "Day", "interval": 1},
        },
        request_only=True,
    ),
]

SIGNING = [
    OpenApiExample("Keep the old secret valid for a week", {"overlap": "P7D"}, request_only=True),
    OpenApiExample(
        "The new secret",
        {
            "secret": f"whsec_{HIDDEN}",
            "createdAt": "2026-01-01T09:30:00Z",
            "overlapEndsAt": "2026-01-08T09:30:00Z",
        },
        response_only=True,
        status_codes=["201"],
    ),
]
