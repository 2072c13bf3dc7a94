"""A job as clients of the resource manager send it, and as the API returns it."""

from tests.conftest import ACTION

URI = ACTION["request"]["uri"]
BASIC = {"type": "Basic", "username": "ada", "password": "violet-harbour"}
FULL = {
    "startTime": "2026-02-02T08:00:00.000Z",
    "action": {
        "type": "http",
        "request": {"uri": URI, "method": "post", "headers": {"A": "1"}, "body": "b", "authentication": BASIC},
        "retryPolicy": {"retryType": "fixed", "retryInterval": "00:01:00", "retryCount": 3},
        "errorAction": {
            "type": "StorageQueue",
            "queueMessage": {
                "storageAccount": "acct",
                "queueName": "jobs",
                "sasToken": "?sig=amber-lantern",
                "message": "m",
            },
        },
    },
    "recurrence": {
        "frequency": "week",
        "interval": 2,
        "count": 10,
        "endTime": "2026-12-01",
        "schedule": {"weekDays": ["monday", "FRIDAY"], "hours": 5, "minutes": [0, 30]},
    },
    "state": "enabled",
}
ANSWER = {
    "startTime": "2026-02-02T08:00:00Z",
    "action": {
        "type": "Http",
        "request": {
            "uri": URI,
            "method": "POST",
            "headers": {"A": "1"},
            "body": "b",
            "authentication": {"type": "Basic", "username": "ada"},
        },
        "retryPolicy": {"retryType": "Fixed", "retryInterval": "00:01:00", "retryCount": 3},
        "errorAction": {
            "type": "StorageQueue",
            "queueMessage": {"storageAccount": "acct", "queueName": "jobs", "message": "m"},
        },
    },
    "recurrence": {
        "frequency": "Week",
        "interval": 2,
        "count": 10,
        "endTime": "2026-12-01T00:00:00Z",
        "schedule": {"minutes": [0, 30], "hours": [5], "weekDays": ["Monday", "Friday"]},
    },
    "state": "Enabled",
}
DAILY = {"frequency": "Day", "interval": 2, "count": 10, "endTime": "2026-12-01T00:00:00Z"}


def body(**properties) -> dict:
    return {"properties": {"action": ACTION, **properties}}


def properties(response) -> dict:
    assert response.status_code in (200, 201), response.content
    return response.json()["properties"]


def refusal(response) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["target"]
