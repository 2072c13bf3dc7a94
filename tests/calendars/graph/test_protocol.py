"""Rules for all addresses of the Graph API."""

import json
import uuid
from datetime import datetime

import pytest

from accounts.models import ApiToken, Role
from calendars.graph.calendar_views import Calendars
from calendars.models import Calendar, Event, EventException
from tests.calendars.graph.conftest import YEAR, Graph, event, read_error, recurrence

UNKNOWN_ID = uuid.UUID("8fbf99af-8277-4470-81e5-fd5fb14b3255")
WINDOW = "startDateTime=2026-01-01T00:00:00Z&endDateTime=2027-01-01T00:00:00Z"
READS = (
    "/me",
    "/me/calendar",
    "/me/calendars",
    "/me/calendars/{calendar}",
    "/me/events",
    "/me/calendar/events",
    "/me/calendars/{calendar}/events",
    "/me/events/{event}",
    "/me/events/{occurrence}",
    "/me/calendar/events/{event}",
    "/me/calendars/{calendar}/events/{event}",
    f"/me/events/{{event}}/instances?{WINDOW}",
    f"/me/calendars/{{calendar}}/events/{{event}}/instances?{WINDOW}",
    f"/me/calendarView?{WINDOW}",
    f"/me/calendar/calendarView?{WINDOW}",
    f"/me/calendars/{{calendar}}/calendarView?{WINDOW}",
    f"/me/calendarView/delta?{WINDOW}",
    f"/me/calendarView/delta()?{WINDOW}",
    f"/me/calendar/calendarView/delta()?{WINDOW}",
    f"/me/calendars/{{calendar}}/calendarView/delta?{WINDOW}",
    "/me/outlook/supportedTimeZones",
)
WRITES = (
    ("POST", "/me/calendars", {"name": "New"}, 201),
    ("PATCH", "/me/calendars/{calendar}", {"name": "New"}, 200),
    ("DELETE", "/me/calendars/{other}", None, 204),
    ("POST", "/me/events", event(), 201),
    ("POST", "/me/calendar/events", event(), 201),
    ("POST", "/me/calendars/{calendar}/events", event(), 201),
    ("PATCH", "/me/events/{event}", {"subject": "New"}, 200),
    ("PATCH", "/me/events/{occurrence}", {"subject": "New"}, 200),
    ("PATCH", "/me/calendars/{calendar}/events/{event}", {"subject": "New"}, 200),
    ("DELETE", "/me/events/{event}", None, 204),
    ("DELETE", "/me/events/{occurrence}", None, 204),
    ("POST", "/me/events/{event}/cancel", {"comment": "Off"}, 202),
    ("POST", "/me/events/{occurrence}/cancel", {}, 202),
)
EVERY = [("GET", path, None) for path in READS] + [(method, path, body) for method, path, body, _ in WRITES]


@pytest.fixture
def path_ids(graph, calendar, other_calendar):
    master = graph.create(event(recurrence=recurrence()))["id"]
    return {
        "calendar": calendar.pk.hex,
        "other": other_calendar.pk.hex,
        "event": master,
        "occurrence": f"{master}_20260112",
    }


def dump_calendars() -> list:
    return [list(model.objects.order_by("pk").values()) for model in (Calendar, Event, EventException)]


# Authentication


@pytest.mark.parametrize("caller", [Graph(None), Graph("wrong")], ids=["no token", "a wrong token"])
def test_request_without_a_valid_token_gets_a_challenge(path_ids, caller):
    before = dump_calendars()

    for method, path, body in EVERY:
        response = caller.call(method, path.format(**path_ids), body)
        assert read_error(response) == (401, "InvalidAuthenticationToken"), path
        assert response["WWW-Authenticate"].startswith("Bearer")
    assert dump_calendars() == before


def test_all_get_requests_succeed(graph, path_ids):
    for path in READS:
        assert graph.get(path.format(**path_ids)).status_code == 200, path


@pytest.mark.parametrize("method, path, body, status", WRITES)
def test_all_write_requests_succeed(graph, path_ids, method, path, body, status):
    response = graph.call(method, path.format(**path_ids), body)

    assert response.status_code == status, response.content
    assert bool(response.content) is (status in (200, 201))


def test_token_with_the_reader_role_can_read(path_ids, owner):
    reader = Graph(ApiToken.objects.issue(owner, "reads", role=Role.READER)[1])

    for path in READS:
        assert reader.get(path.format(**path_ids)).status_code == 200, path


def test_token_with_the_reader_role_cannot_change_anything(path_ids, owner):
    reader = Graph(ApiToken.objects.issue(owner, "reads", role=Role.READER)[1])
    before = dump_calendars()

    for method, path, body, _ in WRITES:
        assert read_error(reader.call(method, path.format(**path_ids), body)) == (403, "ErrorAccessDenied"), path
    assert dump_calendars() == before


@pytest.mark.parametrize("method, path, body", EVERY)
def test_users_with_own_id_is_the_same_as_me(graph, path_ids, owner, method, path, body):
    path = path.format(**path_ids).replace("/me", f"/users/{owner.pk}", 1)

    assert graph.call(method, path, body).status_code < 300


# Addresses


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/users",
        "/me/messages",
        "/me/events/{event}/attachments",
        "/me/events/{event}/instances/delta",
        "/me/calendarView/delta(1)",
        "/me/outlook/supportedTimeZones(TimeZoneStandard='other')",
        "/$metadata",
        "/me/calendars/{calendar}/{event}",
    ],
)
def test_unknown_address_gets_a_graph_error(graph, path_ids, path):
    assert read_error(graph.get("/v1.0" + path.format(**path_ids))) == (404, "ErrorItemNotFound")


@pytest.mark.parametrize("method, path, body", [row for row in EVERY if "{event}" in row[1]])
def test_unknown_event_is_not_found(graph, path_ids, method, path, body):
    for id in ("x", "0", "%00", "a%00b", "..", "%ED%A0%80", "a" * 300, "{event}_20260113", "{event}_"):
        address = path.replace("{event}", id).format(**path_ids)
        assert read_error(graph.call(method, address, body)) == (404, "ErrorItemNotFound"), address


@pytest.mark.parametrize("method, path, body", [row for row in EVERY if "{calendar}" in row[1]])
def test_unknown_calendar_is_not_found(graph, path_ids, method, path, body):
    for id in ("x", "None", "%00", str(uuid.uuid4()), uuid.uuid4().hex, "1", "a" * 300):
        address = path.replace("{calendar}", id).format(**path_ids)
        assert read_error(graph.call(method, address, body)) == (404, "ErrorItemNotFound"), address


def test_event_is_found_only_below_its_calendar(graph, path_ids):
    assert graph.get("/me/calendars/{other}/events/{event}".format(**path_ids)).status_code == 404
    assert graph.get("/me/calendars/{calendar}/events/{event}".format(**path_ids)).status_code == 200


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_addresses_ignore_case(graph, path_ids, change):
    assert graph.read(change("/me/calendars") + "/" + path_ids["calendar"])["id"] == path_ids["calendar"]
    assert graph.values(change(f"/me/calendarView?{WINDOW}"))


def test_trailing_slash_is_ignored(graph, path_ids):
    path = "/me/events/{event}".format(**path_ids)

    assert graph.read(path + "/") == graph.read(path)


@pytest.mark.parametrize(
    "method, path",
    [
        ("PUT", "/me/events/{event}"),
        ("POST", "/me/events/{event}"),
        ("PATCH", "/me/events"),
        ("DELETE", "/me/calendars"),
        ("POST", "/me/calendars/{calendar}"),
        ("GET", "/me/events/{event}/cancel"),
        ("DELETE", "/me/events/{event}/cancel"),
        ("POST", "/me/calendarView"),
        ("POST", "/me"),
        ("OPTIONS", "/me/events"),
        ("TRACE", "/me/events"),
    ],
)
def test_unsupported_method_is_refused(graph, path_ids, method, path):
    before = dump_calendars()

    assert read_error(graph.call(method, path.format(**path_ids))) == (405, "MethodNotAllowed")
    assert dump_calendars() == before


# Responses


def test_error_response_has_the_graph_format(graph, calendar):
    response = graph.get("/me/events/missing")

    error = response.json()["error"]
    assert set(error) == {"code", "message", "innerError"}
    assert set(error["innerError"]) == {"date", "request-id", "client-request-id"}
    assert error["innerError"]["request-id"] == response["request-id"] == response["x-ms-request-id"]
    assert datetime.fromisoformat(error["innerError"]["date"])
    assert response["Content-Type"] == "application/json"


def test_client_request_id_is_returned(graph, calendar):
    id = str(uuid.uuid4())

    assert graph.get("/me/calendar", {"client-request-id": id})["client-request-id"] == id
    refusal = graph.get("/me/nothing", {"client-request-id": id}).json()["error"]["innerError"]
    assert refusal["client-request-id"] == id != refusal["request-id"]
    assert "client-request-id" not in graph.get("/me/calendar", {"client-request-id": "a b"}).headers


@pytest.mark.parametrize("accept", ["application/json", "text/html", "application/xml", "", "*/*"])
def test_response_is_json_for_each_accept_header(graph, calendar, accept):
    response = graph.get("/me/calendar", {"Accept": accept})

    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


def test_too_many_requests_get_a_retry_after_header(graph, calendar, settings):
    settings.API_REQUESTS_PER_MINUTE = 1

    graph.get("/me/calendar")
    response = graph.get("/me/calendar")

    assert read_error(response) == (429, "TooManyRequests")
    assert 1 <= int(response["Retry-After"]) <= 60


def test_internal_error_has_the_graph_format_and_no_details(graph, calendar, monkeypatch):
    def raise_error(*args, **kwargs):
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Calendars, "get", raise_error)
    graph.client.raise_request_exception = False

    response = graph.get("/me/calendars")

    assert read_error(response) == (500, "InternalServerError")
    assert "secret" not in response.content.decode()
    assert response.json()["error"]["innerError"]["request-id"] == response["x-ms-request-id"]


def test_body_in_another_encoding_gets_a_graph_error(graph, calendar):
    response = graph.client.generic("POST", "/v1.0/me/events", b"{}", content_type="application/json; charset=utf-16")

    assert read_error(response) == (415, "UnsupportedMediaType")


def test_links_start_with_the_public_url(graph, calendar, settings):
    for _ in range(2):
        graph.create(event())
    assert graph.read("/me/events", _top=1)["@odata.nextLink"].startswith("http://testserver/v1.0/me/events?")

    settings.PUBLIC_URL = "https://quando.example.org"

    page = graph.read("/me/events", _top=1)
    assert page["@odata.nextLink"] == "https://quando.example.org/v1.0/me/events?$top=1&$skip=1"
    assert page["@odata.context"].startswith("https://quando.example.org/v1.0/$metadata#")


# Bodies

WRONG_BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"3",
    b'"text"',
    b"\xff",
    b"<Event/>",
    b'{"subject": 1e999}',
    b'{"subject": NaN}',
    b'{"subject": ' + b"9" * 5000 + b"}",
    b'{"subject": "\\u0000"}',
    b'{"subject": "\\ud800"}',
    b'{"subject": "a", "subject": "b"}',
    b"[" * 5000 + b"]" * 5000,
    b'{"subject": ' * 2000 + b"1" + b"}" * 2000,
]


@pytest.mark.parametrize("body", WRONG_BODIES)
@pytest.mark.parametrize(
    "method, path", [("POST", "/me/events"), ("PATCH", "/me/events/{event}"), ("POST", "/me/calendars")]
)
def test_body_that_is_not_an_object_is_refused(graph, path_ids, method, path, body):
    before = dump_calendars()

    response = graph.call(method, path.format(**path_ids), body)

    if method == "PATCH" and not body:
        assert response.status_code == 200  # nothing is to be changed
    else:
        assert response.status_code == 400
        codes = ("BadRequest", "UnableToDeserializePostBody", "ErrorPropertyValidationFailure")
        assert read_error(response)[1] in codes
    assert dump_calendars() == before


def test_invalid_json_is_a_bad_request(graph, calendar):
    assert read_error(graph.post("/me/events", b"{")) == (400, "BadRequest")


def test_a_body_beyond_the_limit_is_too_large(graph, calendar):
    body = b'{"subject": "' + b"a" * 1_048_576 + b'"}'

    assert read_error(graph.post("/me/events", body)) == (413, "RequestTooLarge")


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded"])
def test_unsupported_media_type_is_refused(graph, calendar, media_type):
    response = graph.client.generic("POST", "/v1.0/me/events", json.dumps(event()).encode(), content_type=media_type)

    assert read_error(response) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("body", [None, {}, {"comment": "Off"}, {"Comment": "Off"}, {"comment": None}, b"null"])
def test_cancel_request_may_have_a_comment(graph, path_ids, body):
    assert graph.post("/me/events/{occurrence}/cancel".format(**path_ids), body).status_code == 202


@pytest.mark.parametrize("body", [{"comment": 5}, {"Comment": []}, b"[]", b"{", b'"off"'])
def test_comment_of_a_cancel_request_must_be_text(graph, path_ids, body):
    before = dump_calendars()

    assert graph.post("/me/events/{occurrence}/cancel".format(**path_ids), body).status_code == 400
    assert dump_calendars() == before


# Number of queries


def test_number_of_queries_does_not_grow_with_the_number_of_events(graph, calendar, django_assert_max_num_queries):
    def count_queries(path: str) -> int:
        with django_assert_max_num_queries(40) as queries:
            graph.read(path)
        return len(queries)

    lists = [f"/me/calendarView?{WINDOW}&$top=1000", "/me/events?$top=1000&$count=true", "/me/calendars?$top=1000"]
    master = graph.create(event(recurrence=recurrence()))["id"]
    lists.append(f"/me/events/{master}/instances?{WINDOW}&$top=1000")
    for day in ("12", "19"):
        graph.change(f"{master}_202601{day}", {"subject": "Other"})
    few = [count_queries(path) for path in lists]

    for n in range(12):
        made = graph.create(event(recurrence=recurrence()))["id"]
        graph.change(f"{made}_20260112", {"subject": "Other", "location": {"displayName": "There"}})
        graph.create(event())
        graph.post("/me/calendars", {"name": f"Calendar {n}"})
    for day in ("0202", "0209", "0216"):
        graph.change(f"{master}_2026{day}", {"subject": "Other"})

    assert [count_queries(path) for path in lists] == few
    assert max(few) <= 8, few


def test_reading_one_event_takes_few_queries(graph, calendar, django_assert_max_num_queries):
    master = graph.create(event(recurrence=recurrence()))["id"]

    with django_assert_max_num_queries(4):
        graph.read(f"/me/events/{master}")
    with django_assert_max_num_queries(5):
        graph.read(f"/me/events/{master}_20260112")


def test_window_of_thousands_of_years_is_expanded_only_as_far_as_read(graph, calendar):
    master = graph.create(event(recurrence=recurrence({"type": "daily", "interval": 1}, type="noEnd")))["id"]

    window = {"startDateTime": "2026-01-01", "endDateTime": "9999-12-31"}
    instances = f"/me/events/{master}/instances"
    page = graph.read(instances, **window, _top=3)

    assert [each["start"]["dateTime"][:10] for each in page["value"]] == ["2026-01-05", "2026-01-06", "2026-01-07"]
    far = graph.get(instances, **window, _skip=10**9)
    assert read_error(far) == (400, "ErrorInvalidParameter")
    assert graph.get("/me/calendarView", **YEAR, _skip=10**9).json()["value"] == []
