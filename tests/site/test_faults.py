"""Documents with several faults: `details` lists each of them with its path, in our own texts."""

import re

import pytest
from rest_framework.test import APIClient

from tests.site.test_strictness import (
    OUTLOOK,
    calendar,  # noqa: F401  # a fixture
    ids,  # noqa: F401  # a fixture
)

# how the texts of Django, its filters and the REST framework begin
FRAMEWORK_TEXTS = re.compile(
    r"This (field|list|dictionary|value)|Ensure |Select a valid|Enter a|Not a valid|Expected |Must be a valid"
    r"|Invalid data|Invalid input|A valid |Null characters|Value .* is not a valid|is not a valid choice"
    r"|Method |Unsupported media|Could not |Authentication cred|CSRF Failed|No data|You do not"
)
ACTION = {
    "type": "Https",
    "request": {
        "uri": "ftp://example.com",
        "method": "TRACE",
        "headers": {"Host": "x", "A B": "x", "X-A": 5},
        "authentication": {"type": "Basic", "username": "a:b", "domain": "x"},
        "success": {"statusCodes": [99], "bodyPath": "$..x", "bodyValue": {}},
        "followRedirects": "yes",
    },
    "queueMessage": {},
    "retryPolicy": {"retryType": "Often", "retryInterval": "PT1S", "retryCount": 21},
    "errorAction": {"type": "Task", "task": {"name": "json.dumps"}},
    "follow": 1,
}
JOB_FAULTS = {
    "action.request.uri",
    "action.request.method",
    "action.request.headers",
    "action.request.headers.X-A",
    "action.request.authentication.username",
    "action.request.authentication.password",
    "action.request.authentication.domain",
    "action.request.success.statusCodes",
    "action.request.success.bodyPath",
    "action.request.success.bodyValue",
    "action.request.followRedirects",
    "action.queueMessage",
    "action.retryPolicy.retryType",
    "action.retryPolicy.retryInterval",
    "action.retryPolicy.retryCount",
    "action.errorAction.task.name",
    "action.follow",
    "startTime",
    "recurrence.interval",
    "recurrence.schedule.weekDays",
    "recurrence.schedule.minutes[1]",
    "recurrence.every",
    "overlap",
    "misfire",
    "timezone",
}
JOB = {
    "action": ACTION,
    "startTime": "soon",
    "recurrence": {
        "frequency": "Day",
        "interval": 0,
        "schedule": {"weekDays": ["Monday"], "minutes": [1, 60]},
        "every": 2,
    },
    "overlap": "never",
    "misfire": 5,
    "timezone": "UTC",
}
RECURRENCE = {"pattern": {"type": "weekly", "interval": 0, "days": []}, "range": {"type": "endDate", "endDate": "x"}}
RECURRENCE_FAULTS = {
    "recurrence.pattern.interval",
    "recurrence.pattern.daysOfWeek",
    "recurrence.pattern.days",
    "recurrence.range.startDate",
    "recurrence.range.endDate",
}
BROKEN = [
    ("post", "/api/jobs", {"collection": "x", **JOB}, {"collection", "name", *JOB_FAULTS}),
    ("put", "/api/jobs/{jobs}", JOB, JOB_FAULTS),
    ("patch", "/api/jobs/{jobs}", JOB, JOB_FAULTS),
    (
        "post",
        "/api/triggers",
        {
            "job": 0,
            "name": "",
            "schedule": {"format": "quartz", "expression": "x", "timeZone": "Mars", "timezone": "UTC"},
            "priority": -1,
            "misfire": None,
            "misfireThreshold": "PT0S",
            "colour": 1,
        },
        {
            *("job", "name", "schedule.expression", "schedule.timeZone", "schedule.timezone"),
            *("priority", "misfire", "misfireThreshold", "colour"),
        },
    ),
    (
        "patch",
        "/api/triggers/{triggers}",
        {"schedule": {"expression": "x", "timezone": None}, "enabled": "yes", "job": 99},
        {"schedule.expression", "schedule.timezone", "enabled", "job"},
    ),
    (
        "post",
        "/api/schedules/preview",
        {"schedule": OUTLOOK | {"start": 5, "recurrence": RECURRENCE}, "count": 0, "from": "x", "form": "x"},
        {"schedule.start", *(f"schedule.{path}" for path in RECURRENCE_FAULTS), "count", "from", "form"},
    ),
    (
        "post",
        "/api/schedules/compare",
        {"before": {"format": "quartz", "expression": "x"}, "after": {"format": "once", "at": "x"}, "days": 0},
        {"before.expression", "after.at", "days"},
    ),
    (
        "post",
        "/api/schedules/translate",
        {"schedule": {"format": "cron", "expression": "61 * * * *", "timeZone": "Mars"}, "to": "ical"},
        {"schedule.expression", "schedule.timeZone", "to"},
    ),
    (
        "post",
        "/api/collections",
        {
            "name": "x" * 200,
            "subscription": "mine",
            "tags": {"a": 1},
            "maxJobCount": -1,
            "maxRecurrence": {"frequency": "often", "interval": 0, "x": 1},
            "plan": "Free",
        },
        {
            *("name", "subscription", "tags.a", "maxJobCount", "maxRecurrence.frequency", "maxRecurrence.interval"),
            *("maxRecurrence.x", "plan"),
        },
    ),
    (
        "put",
        "/api/collections/{collections}",
        {"subscription": "00000000-0000-0000-0000-000000000009", "sku": "Free", "state": "on"},
        {"subscription", "state"},
    ),
    (
        "post",
        "/api/tokens",
        {"name": "x" * 101, "role": "king", "expiresAt": 5, "collection": 5},
        {"name", "role", "expiresAt", "collection"},
    ),
    (
        "post",
        "/api/events",
        {
            "subject": 5,
            "startLocal": "noon",
            "timeZone": "Mars",
            "attendees": [{"name": "x"}, {"type": "x", "mail": "x"}],
            "categories": ["x", 5],
            "recurrence": RECURRENCE,
            "calendarId": "mine",
        },
        {
            *("subject", "startLocal", "endLocal", "timeZone", "attendees[1].type", "attendees[1].mail"),
            *("categories[1]", "calendarId", *RECURRENCE_FAULTS),
        },
    ),
    (
        "patch",
        "/api/occurrences/{occurrences}",
        {"subject": None, "recurrence": None, "showAs": "asleep", "calendarId": "x"},
        {"subject", "recurrence", "showAs", "calendarId"},
    ),
    (
        "post",
        "/api/calendars",
        {"hue": "violent", "shares": [{"user": "bob"}, 5]},
        {"name", "hue", "shares[0].role", "shares[1]"},
    ),
    (
        "post",
        "/api/feeds",
        {"name": None, "calendarId": 5, "query": {"runs": 1, "calendars": ["x"], "hue": 1}},
        {"name", "calendarId", "query.runs", "query.calendars[0]", "query.hue"},
    ),
    (
        "put",
        "/api/jobs/{jobs}/maintenance",
        {"resources": "db-2", "labels": {"a": 5}, "during": "sleep", "lead": 5, "runOn": ["x"], "untill": 1},
        {"resources", "labels.a", "during", "lead", "runOn[0]", "untill"},
    ),
    (
        "post",
        "/api/notices",
        {"resources": [], "notBefore": "x", "durationInSeconds": -2, "eventStatus": "Over", "endsAfter": 1},
        {"eventType", "resources", "notBefore", "durationInSeconds", "eventStatus", "endsAfter"},
    ),
    (
        "patch",
        "/api/notices/{notices}",
        {"eventStatus": "Completed", "keepOpen": 1, "resources": [""]},
        {"eventStatus", "keepOpen", "resources[0]"},
    ),
    (
        "post",
        "/api/resources",
        {"scopeGroup": 5, "labels": [], "subscription": 5},
        {"name", "scopeGroup", "labels", "subscription"},
    ),
    (
        "patch",
        "/api/jobs/{jobs}",
        {"action": {"request": {"authentication": {"type": "ClientCertificate", "pfx": 5, "password": 5}}}},
        {"action.request.authentication.pfx", "action.request.authentication.password"},
    ),
    ("post", "/api/jobs/{jobs}/run", {"key": "", "payload": 1}, {"key", "payload"}),
    ("post", "/api/jobs/{jobs}/signing-secret", {"overlap": "x", "until": 1}, {"overlap", "until"}),
]
QUERIES = [
    ("jobs", "collection=x&state=x&name=" + "x" * 200 + "&nmae=x", {"nmae"}),
    ("jobs", "collection=x&state=on&name=" + "x" * 200, {"collection", "state", "name"}),
    ("runs", "state=x&origin=x&order=x&from=x&to=1&job=x", {"state", "origin", "order", "from", "to", "job"}),
    ("triggers", "enabled=maybe&format=cobol&group=" + "x" * 101, {"enabled", "format", "group"}),
    ("notices", "eventStatus=x&eventType=x&subscription=x", {"eventStatus", "eventType", "subscription"}),
    ("collections", "state=x&name=%00", {"state", "name"}),
    ("operations", "state=x&subscription=x", {"state", "subscription"}),
    ("occurrences", "calendar=x&cancelled=x", {"calendar", "cancelled", "from", "to"}),
    ("events", "calendar=x&from=x", {"calendar", "from"}),
    ("feeds", "calendar=x", {"calendar"}),
    ("jobs", "limit=0", {"limit"}),
    ("jobs", "cursor=x", {"cursor"}),
    ("jobs", "name=a&name=b", {"name"}),
]


def faults_of(response) -> dict[str, str]:
    assert response.status_code == 400, response.content
    error = response.json()["error"]
    return {each["target"]: each["message"] for each in error.get("details", [error])}


@pytest.mark.parametrize("method, route, body, targets", BROKEN)
def test_all_faults_of_a_document_are_listed_with_their_paths(api, ids, method, route, body, targets):  # noqa: F811
    faults = faults_of(getattr(api, method)(route.format(**ids), body))

    assert set(faults) == targets
    assert not [message for message in faults.values() if FRAMEWORK_TEXTS.search(message)]


@pytest.mark.parametrize("name, query, targets", QUERIES)
def test_wrong_query_parameters_are_listed(api, ids, name, query, targets):  # noqa: F811
    faults = faults_of(api.get(f"/api/{name}?{query}"))

    assert set(faults) == targets
    assert not [message for message in faults.values() if FRAMEWORK_TEXTS.search(message)]


@pytest.mark.parametrize("value", [None, 5, True, "", "x", [], {}, [5], {"x": 1}])
def test_refusal_of_a_wrong_value_has_no_text_of_a_framework(api, ids, value):  # noqa: F811
    for method, route, body, _ in BROKEN:
        for member in body:
            response = getattr(api, method)(route.format(**ids), {member: value})

            if response.status_code == 400:
                assert not [message for message in faults_of(response).values() if FRAMEWORK_TEXTS.search(message)]


def test_first_fault_is_repeated_in_the_error_itself(api, ids):  # noqa: F811
    error = api.post("/api/jobs", {"action": ACTION}).json()["error"]

    assert {name: error[name] for name in ("code", "message", "target")} == error["details"][0]


def test_response_lists_at_most_100_faults(api, ids):  # noqa: F811
    attendees = [{"type": "x"}] * 300

    response = api.post("/api/events", {"subject": "x", "attendees": attendees})

    assert len(response.json()["error"]["details"]) == 100


REFUSED = [
    ("put", "/api/resources/{resources}", {"data": "{}", "content_type": "application/json"}, 405),
    ("post", "/api/jobs", {"data": "<job/>", "content_type": "application/xml"}, 415),
    ("post", "/api/jobs", {"data": "null", "content_type": "application/json"}, 400),
    ("get", "/api/jobs", {"HTTP_ACCEPT": "text/csv"}, 406),
]


@pytest.mark.parametrize("method, route, sent, status", REFUSED)
def test_refusal_of_a_method_or_media_type_has_no_text_of_a_framework(api, ids, method, route, sent, status):  # noqa: F811
    response = getattr(api, method)(route.format(**ids), **sent)

    assert response.status_code == status
    assert not FRAMEWORK_TEXTS.search(response.json()["error"]["message"])


def test_refusal_without_sign_in_or_csrf_token_has_no_text_of_a_framework(api_of, owner):
    page = APIClient(enforce_csrf_checks=True)
    page.force_login(owner)

    for response, status in ((api_of().get("/api/jobs"), 401), (page.post("/api/jobs", {}), 403)):
        assert response.status_code == status
        assert not FRAMEWORK_TEXTS.search(response.json()["error"]["message"])
