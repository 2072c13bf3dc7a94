"""The API POST /api/calendars/{id}/import."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import ApiToken, Role
from calendars import sharing
from calendars.models import Event
from tests.calendars.importing.files import build_file, repeating, vevent

FILE = build_file(repeating("SUMMARY:Stand-up"), vevent(uid="two", start=":nonsense"))


@pytest.fixture
def send(api, calendar):
    def post(content: str | bytes = FILE, query: str = "", content_type: str = "text/calendar", client=api):
        body = content.encode() if isinstance(content, str) else content
        return client.generic("POST", f"/api/calendars/{calendar.pk}/import{query}", body, content_type=content_type)

    return post


def test_imported_file_gets_a_report_of_each_component(send):
    response = send()

    event = Event.objects.get()
    assert response.json() == {
        "dryRun": False,
        "taken": 1,
        "changed": 0,
        "unchanged": 0,
        "refused": 1,
        "lines": [
            {
                "line": 3,
                "component": "VEVENT",
                "uid": "one@example.com",
                "summary": "Stand-up",
                "status": "taken",
                "notes": [],
                "eventId": event.pk.hex,
            },
            {
                "line": 10,
                "component": "VEVENT",
                "uid": "two",
                "summary": "",
                "status": "refused",
                "notes": ["Its DTSTART is no time: 'nonsense'."],
                "eventId": None,
            },
        ],
    }


def test_file_can_be_sent_as_form_data(api, calendar):
    form = {"file": SimpleUploadedFile("a.ics", FILE.encode(), "text/calendar")}

    response = api.post(f"/api/calendars/{calendar.pk}/import", form, format="multipart")

    assert (response.status_code, response.json()["taken"]) == (200, 1)


def test_a_dry_run_writes_nothing(send):
    dry = send(query="?dryRun=true").json()

    assert (dry["dryRun"], dry["taken"], dry["lines"][0]["eventId"]) == (True, 1, None)
    assert not Event.objects.exists()


def test_importing_the_same_file_again_changes_nothing(send):
    send()

    assert send().json()["unchanged"] == 1
    assert Event.objects.count() == 1


@pytest.mark.parametrize(
    "content, query, content_type, status, code",
    [
        (b"", "", "text/calendar", 400, "not_icalendar"),
        (b"\xff\xfe", "", "text/calendar", 400, "not_utf8"),
        (b"x" * 1_048_577, "", "text/calendar", 413, "too_large"),
        (FILE, "?dryRun=maybe", "text/calendar", 400, "invalid"),
        (FILE, "", "application/json", 415, "unsupported_media_type"),
        (FILE, "", "text/plain", 415, "unsupported_media_type"),
        (FILE, "", "text/calendar; charset=latin-1", 415, "unsupported_media_type"),
        (FILE, "", "multipart/form-data; boundary=x", 400, "required"),
        (FILE, "", "multipart/form-data", 400, "parse_error"),
        (b"--x\r\n" * 10_000, "", "multipart/form-data; boundary=x", 400, "bad_request"),
    ],
)
def test_invalid_file_is_refused(send, content, query, content_type, status, code):
    response = send(content, query, content_type)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.content
    assert not Event.objects.exists()


@pytest.mark.parametrize("names", [[], ["other"], ["file", "other"]])
def test_form_data_must_have_exactly_one_file(api, calendar, names):
    form = {name: SimpleUploadedFile("a.ics", FILE.encode()) for name in names}

    response = api.post(f"/api/calendars/{calendar.pk}/import", form, format="multipart")

    assert (response.status_code, response.json()["error"]["target"]) == (400, "file")


def test_file_in_form_data_above_the_size_limit_is_refused(api, calendar):
    form = {"file": SimpleUploadedFile("a.ics", b"x" * 1_048_577)}

    assert api.post(f"/api/calendars/{calendar.pk}/import", form, format="multipart").status_code == 413


def test_import_requires_permission_to_change_events(send, api_of, calendar, make_user):
    bob = make_user("bob", Role.READER)
    api_of_bob = api_of(ApiToken.objects.issue(bob, "tests")[1])
    assert send(client=api_of_bob).status_code == 404

    sharing.share(calendar, bob, Role.READER)
    assert send(client=api_of_bob).status_code == 403

    sharing.share(calendar, bob, Role.OPERATOR)
    assert send(client=api_of_bob).json()["taken"] == 1
