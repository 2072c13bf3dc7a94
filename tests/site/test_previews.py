"""What previews answer to those who may not write, and to forms that no page would send."""

from urllib.parse import urlencode

import pytest
from django.utils import timezone

from calendars import editing
from calendars.models import Calendar
from jobs.models import Job
from tests.admin.forms import submitted
from tests.calendars.conftest import recurrence, times
from tests.conftest import NOW

JOB, TRIGGER, EVENT = "/admin/jobs/job/preview/", "/admin/triggers/trigger/preview/", "/calendar/events/preview"
GARBAGE = ("", "\0", "x" * 5_000, "9" * 5_000, "-1", "٣", "\ud800", "[", '{"a": ' * 500, "9999-12-31T23:59", "null")


@pytest.fixture
def forms(client, owner, make_job, make_trigger):
    """For each preview: the address of the page with its form, the name of the form, and the address of the preview."""
    client.force_login(owner)
    job = make_job()
    trigger = make_trigger(job, now=timezone.now())
    weekly = {"recurrence": recurrence("weekly"), **times("2026-01-05T09:00")}
    event, _ = editing.create(Calendar.objects.default_of(owner), {"subject": "Stand-up", **weekly}, NOW)
    return {
        "a new job": ("/admin/jobs/job/add/", "job_form", JOB),
        "a job": (f"/admin/jobs/job/{job.pk}/change/", "job_form", f"{JOB}?job={job.pk}"),
        "a new trigger": (f"/admin/triggers/trigger/add/?job={job.pk}", "trigger_form", f"{TRIGGER}?job={job.pk}"),
        "a trigger": (
            f"/admin/triggers/trigger/{trigger.pk}/change/",
            "trigger_form",
            f"{TRIGGER}?trigger={trigger.pk}",
        ),
        "a new event": ("/calendar/events/new", "event_form", EVENT),
        "an event": (
            f"/calendar/events/{event.pk.hex}/edit?scope=series",
            "event_form",
            f"{EVENT}?event={event.pk.hex}&scope=series",
        ),
    }


def damaged_forms(form: dict, is_new: bool):
    """Yield forms with garbage in all fields and, for stored objects, with one field missing or given twice."""
    yield {}
    for name in () if is_new else form:
        yield {other: value for other, value in form.items() if other != name}
        yield {**form, name: [form[name] or "", "x"]}
    for text in GARBAGE:
        yield dict.fromkeys(form, text)


@pytest.mark.parametrize("name", ["a new job", "a job", "a new trigger", "a trigger", "a new event", "an event"])
def test_preview_of_a_damaged_form_is_no_error(forms, client, name):
    page, form_name, preview = forms[name]
    form = submitted(client.get(page).text, form_name)
    assert client.post(preview, form).status_code == 200

    for fields in damaged_forms(form, is_new="new" in name):
        assert client.post(preview, encoded(fields), content_type=ENCODING).status_code == 200, fields


ENCODING = "application/x-www-form-urlencoded"


def encoded(fields: dict) -> bytes:
    return urlencode(fields, doseq=True, errors="surrogatepass").encode()


def test_preview_without_the_kind_of_schedule_names_the_missing_field(forms, client):
    response = client.post(JOB, {"frequency": "Day"})

    assert (response.status_code, "Tab: This field is required." in response.text) == (200, True)


def test_incomplete_form_of_a_new_job_is_shown_again_and_creates_nothing(forms, client):
    for fields in (
        {"_preview": "1"},
        {"_use": "frequency:x"},
        {"_recognize": "times"},
        {"_pasted": "* * * * *"},
        {"name": "x"},
    ):
        assert client.post("/admin/jobs/job/add/", fields).status_code == 200

    assert Job.objects.count() == 1


@pytest.mark.parametrize("key", ["", "x", "٣", "-1", "0", "9" * 30, "9" * 5_000, "1_0", "%00"])
@pytest.mark.parametrize("address", [f"{JOB}?job=", f"{TRIGGER}?job=", f"{TRIGGER}?trigger=", f"{EVENT}?event=x"])
def test_preview_for_an_object_that_does_not_exist_is_not_found(forms, client, address, key):
    assert client.post(f"{address}{key}").status_code == 404


@pytest.mark.parametrize("name", ["a new job", "a job", "a new trigger", "a trigger"])
def test_reader_cannot_request_previews(forms, client, make_user, name):
    client.force_login(make_user("rita", 1, is_staff=True))

    assert client.post(forms[name][2], {"when": "fields"}).status_code == 403


def test_user_without_a_role_cannot_request_previews_of_jobs_and_triggers(forms, client, make_user):
    client.force_login(make_user("nora", None, is_staff=True))

    assert [client.post(preview).status_code for _, _, preview in forms.values()] == [403, 404, 404, 404, 200, 404]


@pytest.mark.parametrize("referer", ["http://[", "http://[x]/calendar/", "//", "\x00"])
def test_preview_of_an_event_accepts_an_invalid_referer(forms, client, referer):
    for headers in ({"Referer": referer}, {"HX-Request": "true", "HX-Current-URL": referer}):
        assert client.post(EVENT, headers=headers).status_code == 200
