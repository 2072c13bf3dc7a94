"""No log record repeats a secret that is part of a path, whatever the method, the spelling and the refusal."""

import logging
import re
import timeit
from urllib.parse import quote

import pytest
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
)


@pytest.fixture
def secret_of(owner, calendar, subscription):
    polls = machine(subscription, "db-2")
    return {FEED: feeds.make(owner, "Phone", NOW, calendar=calendar)[1], MACHINE: polls.token}


@pytest.fixture
def calendar(owner):
    return Calendar.objects.default_of(owner)


def seen_in(records: list[logging.LogRecord]) -> str:
    """All that a formatter, a handler or a reporter can read from the records."""
    formatter = logging.Formatter()
    return "\n".join(f"{formatter.format(record)} {vars(record)}" for record in records)


@pytest.mark.parametrize("paths", [FEED, MACHINE], ids=["feed", "machine"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Host": "elsewhere.example.com"}, {"Metadata": "true", "Content-Type": "text/plain; charset=ebcdic"}],
    ids=["usual", "another host", "another charset"],
)
def test_no_method_and_no_spelling_puts_the_secret_of_a_path_into_the_log(secret_of, caplog, paths, headers):
    caplog.set_level(logging.DEBUG)
    secret, client = secret_of[paths], Client(enforce_csrf_checks=True)

    for path in paths:
        for method in METHODS if path == paths[0] or not headers else METHODS[:3]:
            client.generic(method, f"http://testserver{path.replace('{}', secret)}", b"{}", headers=headers)

    assert len(caplog.records) > len(paths)
    assert secret not in seen_in(caplog.records)
    assert secret[:20] not in seen_in(caplog.records)


@pytest.mark.parametrize("length", [8, 42, 44])
def test_a_part_of_a_secret_is_not_logged_either(secret_of, caplog, length):
    text = (secret_of[FEED] + "x")[:length]

    for path in ("/calendar/feeds/{}.ics", "/calendar/feeds/{}", "/r/{}/metadata/scheduledevents", "/r/{}"):
        for method in ("GET", "PROPFIND"):
            Client().generic(method, path.replace("{}", text))

    assert len(caplog.records) == 8
    assert text not in seen_in(caplog.records)


def test_every_route_with_a_secret_is_one_that_this_module_walks():
    found = [
        route for route, _ in routes(get_resolver().url_patterns) if re.search("<(.*:)?(secret|token|key)>", route)
    ]

    assert found == ["calendar/feeds/<str:secret>.ics"]  # the token of a machine is taken out before routing


def test_a_bug_shows_no_secret_in_its_traceback(secret_of, caplog, monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError(f"cannot answer {args} {kwargs}")

    monkeypatch.setattr(feeds, "calendars_of", broken)
    monkeypatch.setattr(ScheduledEvents, "event_feed", broken)
    client = Client(raise_request_exception=False)

    answers = [
        client.get(f"/calendar/feeds/{secret_of[FEED]}.ics"),
        client.get(
            f"/r/{secret_of[MACHINE]}/metadata/scheduledevents?api-version=2020-07-01", headers={"Metadata": "true"}
        ),
    ]

    assert [answer.status_code for answer in answers] == [500, 500]
    assert "RuntimeError" in seen_in(caplog.records)
    assert not any(secret in seen_in(caplog.records) for secret in secret_of.values())


def test_a_refused_referer_is_logged_without_its_secret(secret_of, caplog, settings):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    client = Client(enforce_csrf_checks=True, headers={"X-Forwarded-Proto": "https"})
    client.cookies["csrftoken"] = "a" * 32

    for paths, secret in secret_of.items():
        for path in (paths[0], quote(paths[0], safe="{}")):
            referer = f"https://elsewhere.example.com/{path.replace('{}', secret)}"
            assert client.post("/sign-in/", headers={"Referer": referer}).status_code == 403

    assert caplog.text.count("https://elsewhere.example.com/") == 4
    assert not any(secret in seen_in(caplog.records) for secret in secret_of.values())


def test_a_feed_asked_for_without_tls_is_led_to_its_own_address(secret_of, settings):
    settings.SECURE_SSL_REDIRECT = True
    path = f"/calendar/feeds/{secret_of[FEED]}.ics"

    answer = Client().get(path)

    assert (answer.status_code, answer.url) == (301, f"https://testserver{path}")


def test_the_servers_own_access_log_shows_no_secret(secret_of, caplog):
    assert application  # which sets the log up
    caplog.set_level(logging.INFO, "granian.access")
    written, scope = _build_access_logger(DEFAULT_ACCESSLOG_FMT), dict.fromkeys(("REMOTE_ADDR", "SERVER_PROTOCOL"), "")
    scope |= {"QUERY_STRING": "", "REQUEST_METHOD": "GET", "wsgi.url_scheme": "http"}

    logging.getLogger("granian.access").addHandler(caplog.handler)
    for paths, secret in secret_of.items():
        written(0, 0, {**scope, "PATH_INFO": paths[0].replace("{}", secret)}, 200)
    written(0, 0, {**scope, "PATH_INFO": "/calendar/"}, 200)
    logging.getLogger("granian.access").removeHandler(caplog.handler)

    assert len(caplog.records) >= 3
    assert "GET /calendar/ " in caplog.text
    assert not any(secret in seen_in(caplog.records) for secret in secret_of.values())


NAME = "a" * 50


@pytest.mark.parametrize(
    "path",
    [
        f"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/r/providers/{NAME}",
        f"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/calendar/providers/feeds/{NAME}",
        f"/v1/mint/triggers/{NAME}@@@management-server@@@DEFAULT@@@management-server@@@DEFAULT",
        "/calendar/calendars/feeds/7/revoke",
        "/calendar/events/0123456789abcdef0123456789abcdef_20260105",
        "/admin/r/3/7/",
        "/metadata/scheduledevents",
        "/static/calendar/feeds.css",
        "/r/",
        "/",
    ],
)
def test_paths_without_a_secret_stay_as_they_are(path):
    assert safe_path(path).path == path


@pytest.mark.parametrize("text", ["/", "%25", "/r", "calendar/", "calendar/feeds", "a", "./", "\\", "a" * 43 + "/"])
def test_the_cost_of_a_path_grows_with_its_length_only(text):
    short, long = (least_seconds("/" + text * (size // len(text))) for size in (8_000, 64_000))

    assert long < 32 * short  # for 8 times the length; a quadratic expression takes 64 times as long


def least_seconds(path: str) -> float:
    return min(timeit.repeat(lambda: safe_path(path), number=1, repeat=20))
