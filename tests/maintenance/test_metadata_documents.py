"""Documents of the metadata API in each version, and its errors."""

import json
import logging
from datetime import datetime

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from maintenance import tasks
from maintenance.models import Notice
from scheduler_site.settings import SECURE_REDIRECT_EXEMPT
from tests.conftest import utc
from tests.maintenance.machines import NEWEST, PATH, VERSIONS, call, machine, post_notice, post_step, rfc1123

SIX = {"EventId", "EventStatus", "EventType", "ResourceType", "Resources", "NotBefore"}
MEMBERS = {
    "2017-03-01": SIX,
    "2017-08-01": SIX,
    "2017-11-01": SIX,
    "2019-01-01": SIX,
    "2019-04-01": SIX | {"Description"},
    "2019-08-01": SIX | {"Description", "EventSource"},
    "2020-07-01": SIX | {"Description", "EventSource", "DurationInSeconds"},
}
OLD_TYPES = {"Freeze", "Reboot", "Redeploy"}
TYPES = {
    "2017-03-01": OLD_TYPES,
    "2017-08-01": OLD_TYPES,
    "2017-11-01": OLD_TYPES | {"Preempt"},
    "2019-01-01": OLD_TYPES | {"Preempt", "Terminate"},
    "2019-04-01": OLD_TYPES | {"Preempt", "Terminate"},
    "2019-08-01": OLD_TYPES | {"Preempt", "Terminate"},
    "2020-07-01": OLD_TYPES | {"Preempt", "Terminate"},
}


pytestmark = pytest.mark.usefixtures("clock", "unlimited")


def read_error(response, status: int) -> str:
    """Return the text of an error.  A client that ignores the status must not take the error for a document."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    body = response.json()
    assert isinstance(body["error"], str)
    assert body["error"]
    assert set(body) <= {"error", "newest-versions"}
    return body["error"]


# The document


@pytest.mark.parametrize("version", VERSIONS)
def test_machine_without_maintenance_gets_an_empty_document_with_incarnation_one(db2, version):
    response = db2.get(version)

    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    assert response.json() == {"DocumentIncarnation": 1, "Events": []}


@pytest.mark.parametrize("version", VERSIONS)
def test_event_has_exactly_the_members_of_its_version(api, db2, version):
    post_notice(api, db2)

    (event,) = db2.events(version)

    assert set(event) == MEMBERS[version]


def test_event_members_equal_the_announcement(api, db2, subscription):
    other = machine(subscription, "Web-1")
    event_id = post_notice(
        api,
        db2,
        other,
        eventType="Redeploy",
        notBefore="2027-02-03T04:05:06.987Z",
        description="Näher am Rand",
        durationInSeconds=9,
        eventSource="User",
    )

    assert db2.document() == {
        "DocumentIncarnation": 2,
        "Events": [
            {
                "EventId": event_id,
                "EventStatus": "Scheduled",
                "EventType": "Redeploy",
                "ResourceType": "VirtualMachine",
                "Resources": ["db-2", "Web-1"],
                "NotBefore": "Wed, 03 Feb 2027 04:05:06 GMT",
                "Description": "Näher am Rand",
                "EventSource": "User",
                "DurationInSeconds": 9,
            }
        ],
    }


@pytest.mark.parametrize("seconds", [-1, 0, 86_400])
def test_duration_is_a_number_even_if_zero_or_unknown(api, db2, seconds):
    post_notice(api, db2, durationInSeconds=seconds)

    (event,) = db2.events()

    assert event["DurationInSeconds"] is not None
    assert event["DurationInSeconds"] == seconds
    assert type(event["DurationInSeconds"]) is int


@pytest.mark.parametrize("version", VERSIONS)
def test_version_shows_only_its_event_types(api, db2, version):
    for event_type in ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"):
        post_notice(api, db2, eventType=event_type)

    assert {event["EventType"] for event in db2.events(version)} == TYPES[version]


def test_all_versions_have_the_same_incarnation(api, db2):
    post_notice(api, db2, eventType="Terminate")

    assert {db2.document(version)["DocumentIncarnation"] for version in VERSIONS} == {2}


@pytest.mark.parametrize("version", VERSIONS)
def test_not_before_is_an_rfc_1123_date_in_english(api, db2, version):
    moments = [datetime.fromisoformat(f"2027-{month:02}-07T04:05:06+00:00") for month in range(1, 13)]
    for moment in moments:
        post_notice(api, db2, notBefore=moment.isoformat())

    assert [event["NotBefore"] for event in db2.events(version)] == [rfc1123(moment) for moment in moments]


@pytest.mark.parametrize("language", ["de", "pt-br", "tr"])
def test_document_does_not_depend_on_the_language(api, db2, owner, language):
    post_notice(api, db2, notBefore="2027-05-05T05:05:05Z")
    expected = db2.document()
    User.objects.filter(pk=owner.pk).update(language=language, time_zone="Europe/Berlin")
    client = Client()
    client.force_login(owner)

    anonymous = db2.get(headers={"Accept-Language": language})
    signed_in = client.get(f"{PATH}?api-version={NEWEST}", headers={**db2.headers, "Accept-Language": language})

    assert anonymous.json() == signed_in.json() == expected
    assert expected["Events"][0]["NotBefore"] == "Wed, 05 May 2027 05:05:05 GMT"


def test_not_before_is_rounded_down_and_the_event_starts_then(api, db2):
    post_notice(api, db2, notBefore="2027-01-01T00:00:10.999999Z")

    with time_machine.travel(utc("2027-01-01T00:00:09.999999Z"), tick=False):
        tasks.advance()
        (before,) = db2.events()
    with time_machine.travel(utc("2027-01-01T00:00:10Z"), tick=False):
        tasks.advance()
        (after,) = db2.events()

    assert (before["EventStatus"], before["NotBefore"]) == ("Scheduled", "Fri, 01 Jan 2027 00:00:10 GMT")
    assert (after["EventStatus"], after["NotBefore"]) == ("Started", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_started_event_has_an_empty_not_before(api, db2, version):
    post_notice(api, db2, eventStatus="Started")

    (event,) = db2.events(version)

    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")


def test_ended_events_are_not_in_the_document(api, db2):
    done, withdrawn = post_notice(api, db2, eventStatus="Started"), post_notice(api, db2)
    post_step(api, done, "complete")
    post_step(api, withdrawn, "cancel")

    assert db2.events() == []


def test_events_are_sorted_by_announcement(api, db2, clock):
    """Some scripts read only the first event."""
    ids = []
    for hours in (5, 3, 4, 1, 2):
        ids.append(post_notice(api, db2, notBeforeSeconds=3600 * hours))
        clock.shift(1)
    db2.approve(ids[1])

    assert [event["EventId"] for event in db2.events()] == ids


def test_event_id_never_changes(api, db2):
    event_id = post_notice(api, db2)

    ids = {db2.events(version)[0]["EventId"] for version in VERSIONS}
    db2.approve(event_id)

    assert ids == {event_id} == {db2.events()[0]["EventId"]}
    assert event_id == event_id.upper()


# Versions


@pytest.mark.parametrize(
    "version",
    [
        None,
        "",
        "latest",
        "2099-01-01",  # a later date is not mapped to the newest version
        "2018-01-01",
        "2020-07-01-preview",
        "2020-07-1",
        "2020-07-01%20",
        "2020-07-01%00",
        "%D9%A2020-07-01",
        "x" * 5000,
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_version_is_refused_with_a_list_of_the_newest(db2, version, method):
    response = call(method, version, headers=db2.headers)

    assert "api-version" in read_error(response, 400)
    assert response.json()["newest-versions"] == ["2020-07-01", "2019-08-01", "2019-04-01"]


def test_other_errors_do_not_list_the_newest_versions(db2):
    assert "newest-versions" not in db2.get(headers={"Metadata": None}).json()


# Headers and queries


@pytest.mark.parametrize("value", ["true", "True", "TRUE", " true "])
def test_metadata_header_ignores_case(db2, value):
    for name in ("Metadata", "metadata", "METADATA"):
        assert db2.get(headers={"Metadata": None, name: value}).status_code == 200


@pytest.mark.parametrize("value", [None, "", "false", "1", "yes", "true, true", "true;"])
def test_get_requires_the_metadata_header(db2, value):
    for version in VERSIONS:
        assert "metadata header" in read_error(db2.get(version, headers={"Metadata": value}), 400)


@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_first_version_allows_approvals_without_the_metadata_header(api, db2, version):
    event_id = post_notice(api, db2)

    response = db2.approve(event_id, version=version, headers={"Metadata": None})

    if version == "2017-03-01":
        assert response.status_code == 200
    else:
        assert "metadata header" in read_error(response, 400)
        assert db2.events()[0]["EventStatus"] == "Scheduled"


def test_invalid_metadata_header_is_refused_in_the_first_version(db2):
    assert "metadata header" in read_error(db2.approve(version="2017-03-01", headers={"Metadata": "no"}), 400)


@pytest.mark.parametrize(
    "query",
    ["&api-version=2020-07-01", "&api-version=2019-08-01", "&resource=db-2&resource=db-2", "&a=1&a=1", "&a=&a="],
)
def test_repeated_parameter_is_refused(db2, query):
    assert "more than once" in read_error(db2.get(query=query), 400)


def test_unknown_parameters_are_ignored(db2):
    assert db2.get(query="&format=json&x=1").status_code == 200


@pytest.mark.parametrize(
    "proxies, forwarded, status",
    [
        (0, None, 200),
        (0, "10.0.0.1", 400),
        (0, "", 400),
        (1, None, 200),
        (1, "10.0.0.1", 200),  # added by the proxy
        (1, "10.0.0.1, 10.0.0.2", 400),  # the client had already sent one
        (2, "10.0.0.1, 10.0.0.2", 200),
        (2, "10.0.0.1,10.0.0.2,10.0.0.3", 400),
    ],
)
def test_number_of_proxies_must_not_exceed_the_setting(db2, settings, proxies, forwarded, status):
    settings.PROXIES = proxies

    response = db2.get(headers={"X-Forwarded-For": forwarded})

    assert response.status_code == status
    if status == 400:
        assert "X-Forwarded-For" in read_error(response, 400)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_metadata_api_refuses_other_methods(db2, method):
    response = call(method, NEWEST, headers=db2.headers)

    read_error(response, 405)
    assert response["Allow"] == "GET, POST"


def test_head_request_is_refused_without_authentication(db):
    assert call("HEAD", None, headers={}).status_code == 405


# Addresses


@pytest.mark.parametrize(
    "path",
    [
        "/metadata/scheduledevents",
        "/metadata/scheduledevents/",
        "/metadata/scheduledEvents",
        "/Metadata/ScheduledEvents/",
        "/METADATA/SCHEDULEDEVENTS",
        "http://testserver//metadata/scheduledevents",  # the base address ends with a slash
    ],
)
def test_metadata_address_ignores_case_and_slashes(api, db2, path):
    event_id = post_notice(api, db2)

    assert db2.get(path=path).json()["Events"][0]["EventId"] == event_id
    assert db2.approve(event_id, path=path).json()["Events"][0]["EventStatus"] == "Started"


@pytest.mark.parametrize(
    "path", [PATH, f"{PATH}/", f"http://testserver/{PATH}", "/r/{token}/metadata/scheduledevents/"]
)
@pytest.mark.parametrize("host", ["testserver", "169.254.169.254", "10.1.2.3:8000", "metadata", "a b", "", "[::1"])
def test_metadata_api_accepts_any_host_and_is_never_redirected(db2, settings, path, host):
    settings.SECURE_SSL_REDIRECT = True
    settings.ALLOWED_HOSTS = ["quando.example.org"]
    path = path.format(token=db2.token)

    got, posted = db2.get(path=path, HTTP_HOST=host), db2.approve(path=path, HTTP_HOST=host)

    assert (got.status_code, posted.status_code) == (200, 200)
    assert "Strict-Transport-Security" not in got


def test_other_addresses_are_redirected_and_check_the_host(settings, db):
    settings.SECURE_SSL_REDIRECT = True

    assert Client().get("/api/notices").status_code == 301
    assert Client().get("/api/notices", secure=True, HTTP_HOST="elsewhere").status_code == 400


@pytest.mark.parametrize(
    "path", ["/metadata", "/metadata/", "/metadata/instance", f"{PATH}/x", "/r/x", "/r/x/api/jobs"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_metadata_address_gets_a_metadata_error(db2, path, method):
    read_error(call(method, NEWEST, path, headers={**db2.headers, "Host": "10.0.0.1"}), 404)


# Bodies and media types


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
        "text/json; charset=nonsense",
        "",
        "/;;=",
    ],
)
def test_approval_is_accepted_with_any_content_type(api, db2, content_type):
    event_id = post_notice(api, db2)
    body = json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()

    response = db2.post(body, content_type=content_type)

    assert response.status_code == 200, response.content
    assert response.json()["Events"][0]["EventStatus"] == "Started"


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/xml", "nonsense", ""])
def test_response_is_json_for_each_accept_header(db2, accept):
    assert db2.get(headers={"Accept": accept})["Content-Type"] == "application/json"


def test_post_requires_no_session_and_no_csrf_token(api, db2):
    event_id = post_notice(api, db2)
    client = Client(enforce_csrf_checks=True)

    response = client.post(
        f"{PATH}?api-version={NEWEST}",
        json.dumps({"StartRequests": [{"EventId": event_id}]}),
        content_type="application/x-www-form-urlencoded",
        headers={**db2.headers, "Origin": "https://elsewhere.example"},
    )

    assert response.status_code == 200
    assert not response.cookies


def test_body_above_the_size_limit_is_refused(db2, settings):
    read_error(db2.post(b'{"x": "' + b"x" * settings.BODY_LIMIT + b'"}'), 413)


def test_requests_above_the_rate_limit_are_refused(db2, subscription, settings):
    settings.METADATA_REQUESTS_PER_SECOND = 5
    other = machine(subscription, "db-3")

    with time_machine.travel(utc("2027-01-01T00:00:00Z"), tick=False) as traveller:
        statuses = [db2.get().status_code for _ in range(5)]
        refused = db2.get()
        other_status = other.get().status_code
        traveller.shift(1)
        later = db2.get().status_code

    assert (statuses, other_status, later) == ([200] * 5, 200, 200)
    assert read_error(refused, 429) == "too many requests. Expected available in 1 second."
    assert refused["Retry-After"] == "1"


def test_internal_error_gets_a_metadata_error(db2, monkeypatch, caplog):
    """This is the only mock, because no request causes an internal error."""

    def raise_error(*args):
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr("maintenance.metadata.render_event", raise_error)
    monkeypatch.setattr("maintenance.metadata.EventFeed.read_snapshot", raise_error)
    caplog.set_level(logging.CRITICAL)

    assert "42" not in read_error(db2.get(), 500)


def test_responses_are_not_cacheable(db2):
    assert db2.get()["Cache-Control"] == "no-store"


def test_only_metadata_addresses_are_exempt_from_tls():
    assert SECURE_REDIRECT_EXEMPT == ["(?i)^(metadata|r)(/|$)"]


def test_documents_show_only_the_statuses_scheduled_and_started(api, db2):
    """Completed and cancelled events are left out."""
    for status in Notice.Status:
        event_id = post_notice(api, db2)
        Notice.objects.filter(pk=event_id).update(status=status)

    assert {event["EventStatus"] for event in db2.events()} == {"Scheduled", "Started"}
