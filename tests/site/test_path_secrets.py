"""No log record contains a secret that is part of a path, for any method, form of the path and kind of refusal."""

import logging
import re
import timeit
from urllib.parse import quote

import pytest
from django.contrib.staticfiles.finders import get_finders
from django.test import Client
from django.urls import get_resolver
from granian.log import DEFAULT_ACCESSLOG_FMT
from granian.wsgi import _build_access_logger

from calendars import feeds
from calendars.models import Calendar
from maintenance.metadata import ScheduledEvents
from scheduler_site.path_secrets import safe_path
from scheduler_site.wsgi import application
from tests.conftest import NOW
from tests.maintenance.machines import machine
from tests.site.test_tenancy import routes

METHODS = (
    *("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"),
    *("PROPFIND", "REPORT", "MKCALENDAR", "LOCK", "BREW", "get"),
)
FEED = (
    "/calendar/feeds/{}.ics",
    "/calendar/feeds/{}.ics/",
    "/calendar/feeds/{}.ics//",
    "/calendar/feeds/{}",
    "/calendar/feeds/{}/",
    "/calendar/feeds/{}.ICS",
    "/calendar/feeds/{}.ics.ics",
    "/calendar/feeds/{}.ics/principals/{}",
    "/calendar/feeds/{}%2Eics",
    "/calendar/feeds/{}%252Eics",
    "/calendar%2Ffeeds%2F{}.ics",
    "/calendar%252Ffeeds%25252F{}.ics",
    "/calendar/feeds/%7B{}%7D.ics",
    "/calendar/feeds/{}%00.ics",
    "/calendar/feeds/{}%FF.ics",
    "/calendar/feeds/{}%0A.ics",
    "/calendar/feeds/{};a=b",
    "/calendar/feeds;a=b/{}.ics",
    "//calendar/feeds/{}.ics",
    "/calendar//feeds//{}.ics",
    "/calendar/./feeds/{}.ics",
    "/calendar\\feeds\\{}.ics",
    "/CALENDAR/Feeds/{}.ics",
    "/quando/calendar/feeds/{}.ics",
    "/feeds/{}.ics",
    "/{}.ics",
    "/admin/{}.ics",
    "/api/feeds/{}.ics",
    "/v1.0/me/{}.ics",
)
MACHINE = (
    "/r/{}/metadata/scheduledevents",
    "/r/{}/metadata/scheduledevents/",
    "/R/{}/Metadata/ScheduledEvents",
    "//r//{}//metadata/scheduledevents",
    "/r/{}/metadata/scheduledevents/{}",
    "/r/{}/metadata/{}",
    "/r/{}",
    "/r/{}/",
    "/r/{}/api/notices",
    "/r/r/{}",
    "/r%2F{}%2Fmetadata%2Fscheduledevents",
    "/r%252F{}%252Fmetadata%252Fscheduledevents",
    "/r\\{}\\metadata",
    "/quando/r/{}/metadata/scheduledevents",
    "/{}/metadata/scheduledevents",
    "/./r/{}/metadata/scheduledevents",
    "/../r/{}",
    "/metadata/scheduledevents/{}",
    "/metadata/{}/scheduledevents",
    "/metadata/scheduledevents;{}",
    "/{}",
    "/{}/",
    "/{}.json",
    "/{}:80/",
    "/%7B{}%7D",
    "/%257B{}%257D",
    "/é{}",
    "/{}/{}",
    "/r%3F/{}/x",
    "/api/resources/{}",
    "/admin/{}/",
    "/static/{}.js",
    "/calendar/items/{}",
    "/maintenance/{}",
)


@pytest.fixture
def secret_of(owner, calendar, subscription):
    polls = machine(subscription, "db-2")
    return {FEED: feeds.make(owner, "Phone", NOW, calendar=calendar)[1], MACHINE: polls.token}


@pytest.fixture
def calendar(owner):
    return Calendar.objects.default_of(owner)


def text_of(records: list[logging.LogRecord]) -> str:
    """Return all that a formatter, a handler or a reporter can read from the records."""
    formatter = logging.Formatter()
    return "\n".join(f"{formatter.format(record)} {vars(record)}" for record in records)


@pytest.mark.parametrize("paths", [FEED, MACHINE], ids=["feed", "machine"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Host": "elsewhere.example.com"}, {"Metadata": "true", "Content-Type": "text/plain; charset=ebcdic"}],
    ids=["usual", "another host", "another charset"],
)
def test_secret_in_a_path_is_not_logged_for_any_method_and_form_of_the_path(secret_of, caplog, paths, headers):
    caplog.set_level(logging.DEBUG)
    secret, client = secret_of[paths], Client(enforce_csrf_checks=True)

    for path in paths:
        for method in METHODS if path == paths[0] or not headers else METHODS[:3]:
            client.generic(method, f"http://testserver{path.replace('{}', secret)}", b"{}", headers=headers)

    assert len(caplog.records) > len(paths)
    assert secret not in text_of(caplog.records)
    assert secret[:20] not in text_of(caplog.records)


@pytest.mark.parametrize("length", [8, 42, 44])
def test_secret_of_a_wrong_length_is_not_logged(secret_of, caplog, length):
    text = (secret_of[FEED] + "x")[:length]

    for path in ("/calendar/feeds/{}.ics", "/calendar/feeds/{}", "/r/{}/metadata/scheduledevents", "/r/{}"):
        for method in ("GET", "PROPFIND"):
            Client().generic(method, path.replace("{}", text))

    assert len(caplog.records) == 8
    assert text not in text_of(caplog.records)


def test_feeds_are_the_only_route_with_a_secret():
    found = [
        route for route, _ in routes(get_resolver().url_patterns) if re.search("<(.*:)?(secret|token|key)>", route)
    ]

    assert found == ["calendar/feeds/<str:secret>.ics"]  # the token of a machine is taken out before routing


def test_traceback_of_a_bug_contains_no_secret(secret_of, caplog, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError(f"cannot answer {args} {kwargs}")

    monkeypatch.setattr(feeds, "calendars_of", broken)
    monkeypatch.setattr(ScheduledEvents, "event_feed", broken)
    client = Client(raise_request_exception=False)

    responses = [
        client.get(f"/calendar/feeds/{secret_of[FEED]}.ics"),
        client.get(
            f"/r/{secret_of[MACHINE]}/metadata/scheduledevents?api-version=2020-07-01", headers={"Metadata": "true"}
        ),
    ]

    assert [response.status_code for response in responses] == [500, 500]
    assert "RuntimeError" in text_of(caplog.records)
    assert not any(secret in text_of(caplog.records) for secret in secret_of.values())


def test_refused_referer_is_logged_without_its_secret(secret_of, caplog, settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    client = Client(enforce_csrf_checks=True, headers={"X-Forwarded-Proto": "https"})
    client.cookies["csrftoken"] = "a" * 32

    for paths, secret in secret_of.items():
        for path in (paths[0], quote(paths[0], safe="{}")):
            referer = f"https://elsewhere.example.com/{path.replace('{}', secret)}"
            assert client.post("/sign-in/", headers={"Referer": referer}).status_code == 403

    assert caplog.text.count("https://elsewhere.example.com/") == 4
    assert not any(secret in text_of(caplog.records) for secret in secret_of.values())


def test_feed_without_tls_is_redirected_to_its_address_with_https(secret_of, settings):
    settings.SECURE_SSL_REDIRECT = True
    path = f"/calendar/feeds/{secret_of[FEED]}.ics"

    response = Client().get(path)

    assert (response.status_code, response.url) == (301, f"https://testserver{path}")


def test_access_log_of_the_web_server_contains_no_secret(secret_of, caplog):
    assert application  # its import configures the log
    caplog.set_level(logging.INFO, "granian.access")
    write, scope = _build_access_logger(DEFAULT_ACCESSLOG_FMT), dict.fromkeys(("REMOTE_ADDR", "SERVER_PROTOCOL"), "")
    scope |= {"QUERY_STRING": "", "REQUEST_METHOD": "GET", "wsgi.url_scheme": "http"}

    logging.getLogger("granian.access").addHandler(caplog.handler)
    for paths, secret in secret_of.items():
        write(0, 0, {**scope, "PATH_INFO": paths[0].replace("{}", secret)}, 200)
    write(0, 0, {**scope, "PATH_INFO": "/calendar/"}, 200)
    logging.getLogger("granian.access").removeHandler(caplog.handler)

    assert len(caplog.records) >= 3
    assert "GET /calendar/ " in caplog.text
    assert not any(secret in text_of(caplog.records) for secret in secret_of.values())


NAME = "a" * 50


@pytest.mark.parametrize(
    "path",
    [
        f"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/r/providers/{NAME}",
        f"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/calendar/providers/feeds/{NAME}",
        f"/v1/mint/triggers/{NAME}@@@management-server@@@DEFAULT@@@management-server@@@DEFAULT",
        "/calendar/calendars/feeds/7/revoke",
        "/calendar/events/0123456789abcdef0123456789abcdef_20260105",
        "/calendar/events/0123456789abcdef0123456789abcdef_2026-01-05",
        "/v1.0/me/events/OID.0123456789abcdef0123456789abcdef_2026-01-05/instances",
        f"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/{NAME[:43]}/providers",
        f"/Subscriptions/00000000-0000-0000-0000-000000000001/resourcegroups/{NAME[:43]}/providers",
        f"/v1/mint/triggers/{NAME[:43]}@@@management-server@@@DEFAULT@@@management-server@@@DEFAULT",
        f"/v1.0/users/{NAME[:43]}/calendars",
        "/admin/r/3/7/",
        "/metadata/scheduledevents",
        "/static/calendar/feeds.css",
        "/r/",
        "/",
    ],
)
def test_paths_without_a_secret_are_not_changed(path):
    assert safe_path(path).path == path


def test_no_static_file_has_a_name_like_a_secret():
    paths = [f"/static/{path}" for finder in get_finders() for path, _ in finder.list([])]

    assert [path for path in paths if safe_path(path).path != path] == []


@pytest.mark.parametrize("text", ["/", "%25", "/r", "calendar/", "calendar/feeds", "a", "./", "\\", "a" * 43 + "/"])
def test_secrets_are_removed_from_a_path_in_linear_time(text):
    short, long = (least_seconds("/" + text * (size // len(text))) for size in (8_000, 64_000))

    assert long < 32 * short  # for 8 times the length; a quadratic expression takes 64 times as long


def least_seconds(path: str) -> float:
    return min(timeit.repeat(lambda: safe_path(path), number=1, repeat=20))
