"""What holds for every address of Graph's interface."""

import json
import uuid
from datetime import datetime

import pytest

from accounts.models import ApiToken, Role
from calendars.graph.calendar_views import Calendars
from calendars.models import Calendar, Event, EventException
from tests.calendars.graph.conftest import YEAR, Graph, error_of, event, recurrence

NOBODYS = uuid.UUID("8fbf99af-8277-4470-81e5-fd5fb14b3255")
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
def places(graph, calendar, other_calendar):
    master = graph.create(event(recurrence=recurrence()))["id"]
    return {
        "calendar": calendar.pk.hex,
        "other": other_calendar.pk.hex,
        "event": master,
        "occurrence": f"{master}_20260112",
    }


def everything() -> list:
    return [list(model.objects.order_by("pk").values()) for model in (Calendar, Event, EventException)]


# Who calls


@pytest.mark.parametrize("caller", [Graph(None), Graph("wrong")], ids=["no token", "a wrong token"])
def test_nobody_gets_a_challenge(places, caller):
    before = everything()

    for method, path, body in EVERY:
        response = caller.call(method, path.format(**places), body)
        assert error_of(response) == (401, "InvalidAuthenticationToken"), path
        assert response["WWW-Authenticate"].startswith("Bearer")
    assert everything() == before


def test_reads_are_answered(graph, places):
    for path in READS:
        assert graph.get(path.format(**places)).status_code == 200, path


@pytest.mark.parametrize("method, path, body, status", WRITES)
def test_writes_are_answered(graph, places, method, path, body, status):
    response = graph.call(method, path.format(**places), body)

    assert response.status_code == status, response.content
    assert bool(response.content) is (status in (200, 201))


def test_a_token_of_a_reader_reads(places, owner):
    reader = Graph(ApiToken.objects.issue(owner, "reads", role=Role.READER)[1])

    for path in READS:
        assert reader.get(path.format(**places)).status_code == 200, path


def test_a_token_of_a_reader_changes_nothing_of_its_user(places, owner):
    reader = Graph(ApiToken.objects.issue(owner, "reads", role=Role.READER)[1])
    before = everything()

    for method, path, body, _ in WRITES:
        assert error_of(reader.call(method, path.format(**places), body)) == (403, "ErrorAccessDenied"), path
    assert everything() == before


@pytest.mark.parametrize("method, path, body", EVERY)
def test_users_is_the_same_as_me(graph, places, owner, method, path, body):
    path = path.format(**places).replace("/me", f"/users/{owner.pk}", 1)

    assert graph.call(method, path, body).status_code < 300


# What is called


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
def test_another_address_is_not_found_in_the_form_of_the_protocol(graph, places, path):
    assert error_of(graph.get("/v1.0" + path.format(**places))) == (404, "ErrorItemNotFound")


@pytest.mark.parametrize("method, path, body", [row for row in EVERY if "{event}" in row[1]])
def test_an_event_that_is_not_there_is_not_found(graph, places, method, path, body):
    for id in ("x", "0", "%00", "a%00b", "..", "%ED%A0%80", "a" * 300, "{event}_20260113", "{event}_"):
        address = path.replace("{event}", id).format(**places)
        assert error_of(graph.call(method, address, body)) == (404, "ErrorItemNotFound"), address


@pytest.mark.parametrize("method, path, body", [row for row in EVERY if "{calendar}" in row[1]])
def test_a_calendar_that_is_not_there_is_not_found(graph, places, method, path, body):
    for id in ("x", "None", "%00", str(uuid.uuid4()), uuid.uuid4().hex, "1", "a" * 300):
        address = path.replace("{calendar}", id).format(**places)
        assert error_of(graph.call(method, address, body)) == (404, "ErrorItemNotFound"), address


def test_an_event_is_found_only_in_its_own_calendar(graph, places):
    assert graph.get("/me/calendars/{other}/events/{event}".format(**places)).status_code == 404
    assert graph.get("/me/calendars/{calendar}/events/{event}".format(**places)).status_code == 200


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_addresses_match_in_any_case(graph, places, change):
    assert graph.read(change("/me/calendars") + "/" + places["calendar"])["id"] == places["calendar"]
    assert graph.values(change(f"/me/calendarView?{WINDOW}"))


def test_a_slash_at_the_end_changes_nothing(graph, places):
    path = "/me/events/{event}".format(**places)

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
def test_a_method_that_an_address_does_not_have_is_refused(graph, places, method, path):
    before = everything()

    assert error_of(graph.call(method, path.format(**places))) == (405, "MethodNotAllowed")
    assert everything() == before


# What is answered


def test_a_refusal_has_the_form_of_the_protocol(graph, calendar):
    response = graph.get("/me/events/missing")

    error = response.json()["error"]
    assert set(error) == {"code", "message", "innerError"}
    assert set(error["innerError"]) == {"date", "request-id", "client-request-id"}
    assert error["innerError"]["request-id"] == response["request-id"] == response["x-ms-request-id"]
    assert datetime.fromisoformat(error["innerError"]["date"])
    assert response["Content-Type"] == "application/json"


def test_a_request_id_of_the_client_comes_back(graph, calendar):
    id = str(uuid.uuid4())

    assert graph.get("/me/calendar", {"client-request-id": id})["client-request-id"] == id
    refusal = graph.get("/me/nothing", {"client-request-id": id}).json()["error"]["innerError"]
    assert refusal["client-request-id"] == id != refusal["request-id"]
    assert "client-request-id" not in graph.get("/me/calendar", {"client-request-id": "a b"}).headers


@pytest.mark.parametrize("accept", ["application/json", "text/html", "application/xml", "", "*/*"])
def test_the_answer_is_json_whatever_is_accepted(graph, calendar, accept):
    response = graph.get("/me/calendar", {"Accept": accept})

    assert (response.status_code, response["Content-Type"]) == (200, "application/json")


def test_too_many_requests_are_told_when_to_come_again(graph, calendar, settings):
    settings.API_REQUESTS_PER_MINUTE = 1

    graph.get("/me/calendar")
    response = graph.get("/me/calendar")

    assert error_of(response) == (429, "TooManyRequests")
    assert 1 <= int(response["Retry-After"]) <= 60


def test_a_bug_of_ours_has_the_form_of_the_protocol(graph, calendar, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr(Calendars, "get", broken)
    graph.client.raise_request_exception = False

    response = graph.get("/me/calendars")

    assert error_of(response) == (500, "InternalServerError")
    assert "secret" not in response.content.decode()
    assert response.json()["error"]["innerError"]["request-id"] == response["x-ms-request-id"]


def test_text_in_another_encoding_is_refused_in_the_form_of_the_protocol(graph, calendar):
    response = graph.client.generic("POST", "/v1.0/me/events", b"{}", content_type="application/json; charset=utf-16")

    assert error_of(response) == (415, "UnsupportedMediaType")


def test_links_lead_to_where_the_installation_is_known(graph, calendar, settings):
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
def test_a_body_that_is_no_object_is_refused(graph, places, method, path, body):
    before = everything()

    response = graph.call(method, path.format(**places), body)

    if method == "PATCH" and not body:
        assert response.status_code == 200  # nothing is to be changed
    else:
        assert response.status_code == 400
        codes = ("BadRequest", "UnableToDeserializePostBody", "ErrorPropertyValidationFailure")
        assert error_of(response)[1] in codes
    assert everything() == before


def test_what_is_not_json_is_a_bad_request(graph, calendar):
    assert error_of(graph.post("/me/events", b"{")) == (400, "BadRequest")


def test_a_body_beyond_the_limit_is_too_large(graph, calendar):
    body = b'{"subject": "' + b"a" * 1_048_576 + b'"}'

    assert error_of(graph.post("/me/events", body)) == (413, "RequestTooLarge")


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", "application/x-www-form-urlencoded"])
def test_another_media_type_is_refused(graph, calendar, media_type):
    response = graph.client.generic("POST", "/v1.0/me/events", json.dumps(event()).encode(), content_type=media_type)

    assert error_of(response) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize("body", [None, {}, {"comment": "Off"}, {"Comment": "Off"}, {"comment": None}, b"null"])
def test_a_cancellation_may_say_why(graph, places, body):
    assert graph.post("/me/events/{occurrence}/cancel".format(**places), body).status_code == 202


@pytest.mark.parametrize("body", [{"comment": 5}, {"Comment": []}, b"[]", b"{", b'"off"'])
def test_a_cancellation_says_it_in_words(graph, places, body):
    before = everything()

    assert graph.post("/me/events/{occurrence}/cancel".format(**places), body).status_code == 400
    assert everything() == before


# How much it takes


def test_answers_take_a_number_of_queries_that_does_not_grow(graph, calendar, django_assert_max_num_queries):
    def questions(path: str) -> int:
        with django_assert_max_num_queries(40) as queries:
            graph.read(path)
        return len(queries)

    lists = [f"/me/calendarView?{WINDOW}&$top=1000", "/me/events?$top=1000&$count=true", "/me/calendars?$top=1000"]
    master = graph.create(event(recurrence=recurrence()))["id"]
    lists.append(f"/me/events/{master}/instances?{WINDOW}&$top=1000")
    for day in ("12", "19"):
        graph.change(f"{master}_202601{day}", {"subject": "Other"})
    few = [questions(path) for path in lists]

    for n in range(12):
        made = graph.create(event(recurrence=recurrence()))["id"]
        graph.change(f"{made}_20260112", {"subject": "Other", "location": {"displayName": "There"}})
        graph.create(event())
        graph.post("/me/calendars", {"name": f"Calendar {n}"})
    for day in ("0202", "0209", "0216"):
        graph.change(f"{master}_2026{day}", {"subject": "Other"})

    assert [questions(path) for path in lists] == few
    assert max(few) <= 8, few


def test_an_event_takes_few_queries(graph, calendar, django_assert_max_num_queries):
    master = graph.create(event(recurrence=recurrence()))["id"]

    with django_assert_max_num_queries(4):
        graph.read(f"/me/events/{master}")
    with django_assert_max_num_queries(5):
        graph.read(f"/me/events/{master}_20260112")


def test_a_window_of_a_thousand_years_is_laid_out_as_far_as_it_is_read(graph, calendar):
    master = graph.create(event(recurrence=recurrence({"type": "daily", "interval": 1}, type="noEnd")))["id"]

    window = {"startDateTime": "2026-01-01", "endDateTime": "9999-12-31"}
    instances = f"/me/events/{master}/instances"
    page = graph.read(instances, **window, _top=3)

    assert [each["start"]["dateTime"][:10] for each in page["value"]] == ["2026-01-05", "2026-01-06", "2026-01-07"]
    far = graph.get(instances, **window, _skip=10**9)
    assert error_of(far) == (400, "ErrorInvalidParameter")
    assert graph.get("/me/calendarView", **YEAR, _skip=10**9).json()["value"] == []
