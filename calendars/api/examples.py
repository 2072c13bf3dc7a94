"""Examples for the OpenAPI description.  Each request works as it is."""

from drf_spectacular.utils import OpenApiExample

CALENDARS = [
    OpenApiExample(
        "A calendar that is shared with two users",
        {
            "name": "Releases",
            "hue": "moss",
            "shares": [{"user": "bob", "role": "operator"}, {"user": "carol", "role": "reader"}],
        },
        request_only=True,
    )
]
EVENTS = [
    OpenApiExample(
        "A meeting",
        {
            "subject": "Budget",
            "location": "Room 4",
            "startLocal": "2026-01-05T10:00:00",
            "endLocal": "2026-01-05T11:30:00",
            "timeZone": "Europe/Berlin",
            "reminderMinutes": 15,
            "key": "budget-2026",
        },
        request_only=True,
    ),
    OpenApiExample(
        "Every second Monday and Wednesday, 20 times",
        {
            "subject": "Stand-up",
            "startLocal": "2026-01-05T09:00:00",
            "endLocal": "2026-01-05T09:15:00",
            "timeZone": "Europe/Berlin",
            "recurrence": {
                "pattern": {"type": "weekly", "interval": 2, "daysOfWeek": ["monday", "wednesday"]},
                "range": {"type": "numbered", "startDate": "2026-01-05", "numberOfOccurrences": 20},
            },
        },
        request_only=True,
    ),
    OpenApiExample(
        "The last working day of each month, all day",
        {
            "subject": "Accounts are closed",
            "showAs": "free",
            "isAllDay": True,
            "startLocal": "2026-01-30",
            "endLocal": "2026-01-31",
            "timeZone": "Europe/Berlin",
            "recurrence": {
                "pattern": {
                    "type": "relativeMonthly",
                    "interval": 1,
                    "index": "last",
                    "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"],
                },
                "range": {"type": "noEnd", "startDate": "2026-01-30"},
            },
        },
        request_only=True,
    ),
]
EVENT_PATCHES = [OpenApiExample("A new location", {"location": "Room 5"}, request_only=True)]
OCCURRENCE_PATCHES = [
    OpenApiExample(
        "One hour later, only this occurrence",
        {"startLocal": "2026-01-07T10:00:00", "endLocal": "2026-01-07T10:15:00", "timeZone": "Europe/Berlin"},
        request_only=True,
    )
]
FOLLOWING_PATCHES = [
    OpenApiExample(
        "Every week from now on, without an end",
        {
            "recurrence": {
                "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "wednesday"]},
                "range": {"type": "noEnd", "startDate": "2026-01-21"},
            }
        },
        request_only=True,
    )
]
FEEDS = [
    OpenApiExample(
        "A feed of one calendar",
        {"name": "Phone", "calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"},
        request_only=True,
    ),
    OpenApiExample(
        "A feed of all calendars and the runs of one job collection",
        {"name": "Wall display", "query": {"calendars": None, "collections": [1], "runs": True}},
        request_only=True,
    ),
]
