"""Examples for the OpenAPI description: requests that work without changes."""

from drf_spectacular.utils import OpenApiExample

TRIGGERS = [
    OpenApiExample(
        "A cron expression in the time zone of Berlin",
        {
            "job": 1,
            "name": "last-friday",
            "schedule": {"format": "quartz", "expression": "0 15 10 ? * 6L", "timeZone": "Europe/Berlin"},
            "priority": 1,
            "triggerDataMap": {"custom_lock_key": "reports.__ORG_ID__"},
        },
        request_only=True,
    ),
    OpenApiExample(
        "Five times, every 90 minutes",
        {
            "job": 1,
            "name": "five-times",
            "schedule": {
                "format": "simple",
                "startTime": "2026-01-05T08:00:00Z",
                "interval": 5_400_000,
                "repeatCount": 4,
            },
            "misfire": "skip",
            "misfireThreshold": "PT5M",
        },
        request_only=True,
    ),
    OpenApiExample(
        "Once",
        {"job": 1, "name": "new-year", "schedule": {"format": "once", "at": "2030-01-01T00:00:00Z"}},
        request_only=True,
    ),
]
