"""The form of a job: fields, JSON, errors, the preview and secrets."""

import json
from datetime import timedelta

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.messages import get_messages

from jobs.models import Job
from tests.admin.forms import submitted
from tests.conftest import ACTION, WEDNESDAY
from triggers.dispatch import dispatch_due
from triggers.models import Trigger

ADD = "/admin/jobs/job/add/"
PREVIEW = "/admin/jobs/job/preview/"

FORM = {
    "name": "backup",
    "state": "enabled",
    "tab": "simple",
    "what": "fields",
    "frequency": "Day",
    "interval": "",
    "start": "2027-01-05T08:00",
    "type": "Http",
    "method": "GET",
    "uri": "http://127.0.0.1:9/hook",
    "misfire": "fire_once",
    "overlap": "skip",
    "delivery": "at_least_once",
}
BASIC = {
    "type": "Http",
    "request": {
        "uri": "https://example.com/",
        "method": "GET",
        "authentication": {"type": "Basic", "username": "ada", "password": "opensesame"},
    },
}


@pytest.fixture
def post(browser, collection):
    def send(address=ADD, **fields):
        return browser.post(address, {**FORM, "collection": collection.pk, **fields})

    return send


def read_messages(response) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


def edit_url(job) -> str:
    return f"/admin/jobs/job/{job.pk}/change/"


def test_job_form_fields_become_documents(post):
    response = post(
        frequency="Week",
        interval="2",
        count="10",
        end="2028-01-01T00:00",
        times="09:00, 09:30, 17:00, 17:30",
        week_days=["Monday", "Friday"],
        method="POST",
        uri="https://example.com/x",
        headers="Accept: text/plain\nX-Tag: a:b",
        body="hello",
        retry="Fixed",
        retry_interval="PT1M",
        retry_count="2",
        error_action="https://alerts.example/",
        overlap="queue_one",
        delivery="at_most_once",
        misfire="skip",
    )

    job = Job.objects.get()
    trigger = job.triggers.get()
    assert response.url == f"/admin/jobs/job/{job.pk}/"
    assert trigger.definition == {
        "startTime": "2027-01-05T08:00:00Z",
        "recurrence": {
            "frequency": "Week",
            "interval": 2,
            "count": 10,
            "endTime": "2028-01-01T00:00:00Z",
            "schedule": {"minutes": [0, 30], "hours": [9, 17], "weekDays": ["Monday", "Friday"]},
        },
    }
    assert job.action.document == {
        "type": "Http",
        "request": {
            "uri": "https://example.com/x",
            "method": "POST",
            "headers": {"Accept": "text/plain", "X-Tag": "a:b"},
            "body": "hello",
        },
        "retryPolicy": {"retryType": "Fixed", "retryInterval": "PT1M", "retryCount": 2},
        "errorAction": {"type": "Https", "request": {"uri": "https://alerts.example/", "method": "POST"}},
    }
    assert (job.overlap, job.delivery, trigger.misfire) == ("queue_one", "at_most_once", "skip")


def test_a_job_without_recurrence_runs_once(post):
    post(tab="once", at="2027-01-05T08:00")

    trigger = Trigger.objects.get()
    assert (trigger.format, trigger.definition) == ("once", {"at": "2027-01-05T08:00:00Z"})


def test_days_of_other_frequencies_are_ignored(post):
    post(frequency="Day", week_days=["Monday"], month_days="31")

    assert Trigger.objects.get().definition["recurrence"] == {"frequency": "Day"}


@pytest.mark.parametrize(
    "fields, field, message",
    [
        ({"interval": "0"}, "interval", "Must be 1 to"),
        ({"interval": "two"}, "interval", "two"),
        ({"interval": "1 2"}, "interval", "Enter one number"),
        ({"times": "25:00"}, "times", "'25:00' is not a time of day"),
        ({"frequency": "Month", "month_days": "32"}, "month_days", "32"),
        ({"frequency": "Month", "month_days": "1", "monthly_occurrences": "Friday 1"}, "monthly_occurrences", "Cannot"),
        ({"frequency": "Month", "monthly_occurrences": "Freitag 1"}, "monthly_occurrences", "Freitag"),
        ({"end": "2026-01-01T00:00"}, "end", "Must be in the future"),
        ({"start": "soon"}, "start", "Enter a date and a time"),
        ({"uri": ""}, "uri", "Is required"),
        ({"uri": "ftp://example.com/"}, "uri", "ftp"),
        ({"headers": "no colon"}, "headers", "has no colon"),
        ({"headers": "Host: example.com"}, "headers", "Host"),
        ({"retry": "Fixed", "retry_count": "21"}, "retry_count", "21"),
        ({"retry": "Fixed", "retry_interval": "soon"}, "retry_interval", "soon"),
        ({"authentication": "Basic", "username": "ada"}, "password", "Is required"),
        ({"error_action": "{"}, "error_action", "line 1"),
        ({"error_action": '{"type": "Http"}'}, "error_action", "Request: is required"),
        ({"name": "1st"}, "name", "start with a letter"),
    ],
)
def test_error_of_a_job_is_shown_at_its_field(post, fields, field, message):
    response = post(**fields)

    assert not Job.objects.exists()
    errors = response.context["form"].errors
    assert list(errors) == [field]
    assert message in errors[field][0]
    assert f'id="id_{field}_error"' in response.text


def test_used_job_name_is_refused(post, make_job):
    make_job("backup")

    response = post()

    assert "has a job of this name already" in response.context["form"].errors["name"][0]
    assert Job.objects.get().revision == 1


def test_error_of_a_full_collection_is_shown_for_the_whole_form(post, collection):
    type(collection).objects.update(max_job_count=0)

    response = post()

    assert "may hold 0 jobs" in response.context["form"].non_field_errors()[0]


def test_error_of_a_too_fast_schedule_is_shown_at_the_frequency(post, collection):
    type(collection).objects.update(sku="Free")

    response = post(frequency="Minute")

    assert "one hour or slower" in response.context["form"].errors["frequency"][0]


# Editing


def test_saving_another_member_keeps_the_state_of_the_schedule(post, make_job, browser):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00+00:00", "recurrence": {"frequency": "day", "count": 5}})
    Trigger.objects.update(fires_left=2)

    post(edit_url(job), revision=1, start="2026-01-05T08:00:00", frequency="Day", count="5", method="POST")

    job.refresh_from_db()
    trigger = job.triggers.get()
    assert job.action.document["request"]["method"] == "POST"
    assert trigger.fires_left == 2
    assert trigger.definition["recurrence"]["frequency"] == "day"


def test_stored_password_is_not_shown_and_kept_if_left_empty(post, make_job, browser):
    job = make_job(action=BASIC)

    page = browser.get(edit_url(job)).text
    post(edit_url(job), revision=1, uri="https://example.com/", authentication="Basic", username="ada", interval="2")

    assert "opensesame" not in page
    assert "Leave empty to keep it." in page
    job.refresh_from_db()
    assert job.action.secrets == {"request.authentication.password": "opensesame"}


def test_new_password_replaces_the_old_one_and_is_not_logged(post, make_job, browser):
    job = make_job(action=BASIC)

    post(
        edit_url(job),
        revision=1,
        uri="https://example.com/",
        authentication="Basic",
        username="ada",
        password="swordfish",
    )

    job.refresh_from_db()
    assert job.action.secrets == {"request.authentication.password": "swordfish"}
    entry = LogEntry.objects.get()
    assert entry.get_change_message() == "Changed Start and Password."
    assert "swordfish" not in entry.change_message


def test_refused_form_does_not_contain_the_password(post):
    response = post(authentication="Basic", username="ada", password="swordfish", interval="0")

    assert "swordfish" not in response.text


def test_form_of_an_outdated_version_is_refused(post, make_job):
    job = make_job()
    Job.objects.update(revision=3)

    response = post(edit_url(job), revision=2)

    assert "someone saved version 3" in response.text.lower()


def test_completed_job_has_no_form(browser, make_job):
    job = make_job()
    Job.objects.update(state="completed")

    response = browser.get(edit_url(job), follow=True)

    assert "cannot be changed" in response.text


# JSON


def test_visible_json_is_saved(post):
    schedule = {"recurrence": {"frequency": "hour", "interval": 3}}
    queue = {
        "type": "StorageQueue",
        "queueMessage": {
            "storageAccount": "acct",
            "queueName": "mail",
            "sasToken": "sig=amber-lantern",
            "message": "hi",
        },
    }

    post(tab="json", what="json", schedule_json=json.dumps(schedule), action_json=json.dumps(queue), frequency="Day")

    job = Job.objects.get()
    assert job.triggers.get().definition["recurrence"] == schedule["recurrence"]
    assert job.action.document["type"] == "StorageQueue"
    assert job.action.secrets == {"queueMessage.sasToken": "sig=amber-lantern"}


@pytest.mark.parametrize("text", ["[1]", "{", '{"x": 1e999}', '{"x": "\\ud800"}', "[" * 9000])
def test_invalid_json_is_refused_at_its_field(post, text):
    response = post(tab="json", schedule_json=text)

    assert list(response.context["form"].errors) == ["schedule_json"]


def test_json_error_names_the_path_of_the_member(post):
    response = post(tab="json", schedule_json='{"recurrence": {"frequency": "Day", "interval": 0}}')

    assert response.context["form"].errors["schedule_json"][0].startswith("recurrence.interval: ")


# The first run


@pytest.fixture
def frozen_clock():
    """Stop the clock."""
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


def saved_job(response) -> Job:
    assert response.status_code == 302, response.context["form"].errors
    return Job.objects.get()


@pytest.mark.parametrize("first_run", [{}, {"first_run": "next"}])
@pytest.mark.parametrize(
    "fields, start",
    [
        ({}, "2026-11-05T12:32:00Z"),
        ({"interval": "3"}, "2026-11-07T12:32:00Z"),
        ({"times": "09:32"}, "2026-11-05T09:32:00Z"),
        ({"times": "9:00"}, "2026-11-05T09:00:00Z"),
        ({"frequency": "Week", "week_days": ["Monday"], "times": "06:30"}, "2026-11-09T06:30:00Z"),
        ({"tab": "json", "schedule_json": '{"recurrence": {"frequency": "Hour"}}'}, "2026-11-04T13:32:00Z"),
    ],
)
def test_new_job_first_runs_at_the_next_time_of_its_schedule(post, frozen_clock, first_run, fields, start):
    job = saved_job(post(start="", **fields, **first_run))

    trigger = job.triggers.get()
    assert (trigger.definition["startTime"], f"{trigger.next_fire_at:%Y-%m-%dT%H:%M:%SZ}") == (start, start)
    assert not job.runs.exists()


@pytest.mark.parametrize("start", ["", "2027-01-05T08:00"])
def test_new_job_also_runs_now_on_request(post, frozen_clock, start):
    response = post(start=start, first_run="now")

    assert saved_job(response).runs.get().origin == "manual"
    assert Trigger.objects.get().next_fire_at > WEDNESDAY
    assert "It runs once immediately. The next run is" in read_messages(response)


def test_single_run_now_runs_only_once(post, frozen_clock):
    job = saved_job(post(tab="json", schedule_json="{}", first_run="now"))

    assert not job.runs.exists()
    assert job.triggers.get().next_fire_at == WEDNESDAY


def test_new_job_with_an_end_before_its_first_run_is_refused(post, frozen_clock):
    form = post(start="", end="2026-11-05T09:00").context["form"]

    assert "Must be later than the first run" in form.errors["end"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("start", ["", "2020-01-05T08:00:00Z"])
def test_new_job_with_only_the_current_time_runs_immediately(post, frozen_clock, start):
    document = {"startTime": start} if start else {}
    saved_job(post(tab="json", schedule_json=json.dumps(document)))

    assert Trigger.objects.get().next_fire_at == WEDNESDAY


@pytest.mark.parametrize(
    "fields, field, message",
    [
        ({"tab": "once"}, "at", "s required, such as"),
        ({"tab": "json", "schedule_json": '{"startTime": "2020-01-05T08:00:00Z"}'}, "schedule_json", "must be ahead"),
        ({"tab": "json", "schedule_json": "{}"}, "schedule_json", "is required without a recurrence"),
    ],
)
def test_change_to_only_the_current_time_is_refused(post, make_job, frozen_clock, fields, field, message):
    job = make_job()
    address = f"{PREVIEW}?job={job.pk}"

    assert message in str(post(edit_url(job), revision=1, **fields).context["form"].errors[field])
    assert message in post(address, **fields).context["preview"].error
    assert Trigger.objects.get().definition["recurrence"] == {"frequency": "Day"}


@pytest.mark.parametrize("with_start", [True, False])
def test_changing_a_job_does_not_run_it(post, make_job, frozen_clock, with_start):
    start = {"startTime": "2026-11-04T12:00:00Z"} if with_start else {}
    job = make_job(schedule={**start, "recurrence": {"frequency": "Hour"}}, now=WEDNESDAY - timedelta(minutes=32))
    dispatch_due(WEDNESDAY - timedelta(minutes=32))

    saved_job(
        post(edit_url(job), revision=1, frequency="Hour", interval="2", start="2026-11-04T12:00" if with_start else "")
    )

    trigger = Trigger.objects.get()
    assert f"{trigger.next_fire_at:%H:%M}" == "14:00"
    assert trigger.definition["startTime"] == ("2026-11-04T12:00:00Z" if with_start else "2026-11-04T14:00:00Z")
    assert job.runs.count() == 1


def test_changing_a_job_runs_it_now_on_request(post, make_job, frozen_clock):
    job = make_job(schedule={"startTime": "2027-01-05T08:00:00Z", "recurrence": {"frequency": "Day"}})

    saved_job(post(edit_url(job), revision=1, first_run="now", start="2027-01-05T08:00:00"))

    assert job.runs.get().origin == "manual"
    assert LogEntry.objects.get().get_change_message() == "Changed First run."


def test_running_a_disabled_job_on_saving_is_refused(post, make_job, frozen_clock):
    job = make_job()

    form = post(edit_url(job), revision=1, first_run="now", state="disabled").context["form"]

    assert "only an enabled job can be run" in str(form.errors["first_run"])


def test_a_job_without_a_schedule_has_no_first_run(post, frozen_clock):
    assert not saved_job(post(tab="none", first_run="now")).runs.exists()


def test_preview_shows_the_times_after_saving(post, frozen_clock):
    rows = post(PREVIEW, start="").context["preview"].rows
    with_run_now = post(PREVIEW, start="", first_run="now").context["preview"].rows

    assert f"{rows[0]['at']:%d %H:%M}" == "05 12:32"
    assert (with_run_now[0]["at"], with_run_now[0]["remarks"]) == (WEDNESDAY, ["once, in addition to the schedule"])
    assert [row["at"] for row in with_run_now[1:]] == [row["at"] for row in rows]


def test_preview_shows_errors_of_saving(post, frozen_clock):
    preview = post(PREVIEW, start="", end="2026-11-05T09:00").context["preview"]

    assert preview.error == "End: Must be later than the first run"


# Preview


def test_preview_shows_a_description_times_and_the_document(post):
    page = post(PREVIEW, frequency="Day", times="06:00", start="").text

    assert "Every day at 06:00 UTC." in page
    assert page.count("<li>") == 10
    assert "&quot;hours&quot;: [" in page


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"misfire": "fire_once"}, "the next three runs, only the last one runs, late."),
        ({"misfire": "fire_all"}, "the next three runs, each runs late, one after the other"),
        ({"misfire": "skip"}, "the next three runs, all of them are skipped"),
        ({"tab": "once", "at": "2027-01-05T08:00", "misfire": "fire_all"}, "the next run, the run starts late."),
        ({"tab": "once", "at": "2027-01-05T08:00", "misfire": "skip"}, "the next run, the run is skipped"),
        ({"misfire": "sometimes"}, "only the last one runs, late."),  # an invalid value is shown as the default
    ],
)
def test_preview_describes_the_misfire_policy(post, fields, message):
    assert message in post(PREVIEW, **fields).text


def test_preview_shows_the_error_of_a_field(post):
    page = post(PREVIEW, times="25:00").text

    assert "Times: &#x27;25:00&#x27; is not a time of day" in page
    assert "<li>" not in page


def test_preview_of_an_unchanged_schedule_continues_its_count(post, make_job):
    job = make_job(schedule={"startTime": "2027-01-05T08:00:00Z", "recurrence": {"frequency": "Day", "count": 9}})
    Trigger.objects.update(fires_left=2)

    page = post(f"{PREVIEW}?job={job.pk}", start="2027-01-05T08:00:00", count="9").text

    assert page.count("<li>") == 2


def test_preview_requires_post_and_permission(browser, sign_in_as, reader, client, collection_of_others, make_job):
    job_of_others = make_job("theirs", in_collection=collection_of_others)

    assert browser.get(PREVIEW).status_code == 404
    assert sign_in_as(reader).post(f"{PREVIEW}?job={job_of_others.pk}", FORM).status_code == 404
    client.logout()
    assert client.post(PREVIEW, FORM).status_code == 302


def test_preview_button_works_without_javascript(post):
    response = post(_preview="1", frequency="Hour", start="")

    assert "Every hour" in response.text
    assert not Job.objects.exists()


def test_preview_shows_times_in_the_zone_of_the_user(post, owner):
    type(owner).objects.update(time_zone="Europe/Berlin")

    page = post(PREVIEW, frequency="Day", times="06:00", start="2027-03-27T00:00").text

    assert ">07:00</time></span>" in page
    assert '<span class="zone">06:00<span class="visually-hidden"> UTC</span></span>' in page
    assert "1 h later in Berlin from this run on" in page


def test_action_of_the_fixtures_is_shown_as_fields(browser, make_job):
    job = make_job(action=ACTION)

    assert "id_uri" in browser.get(edit_url(job)).text


def test_job_form_without_a_collection_links_to_the_collection_form(sign_in_as, make_user, collection_of_others):
    browser = sign_in_as(make_user("olga", in_subscription=collection_of_others.subscription, is_staff=True))
    assert 'name="frequency"' in browser.get(ADD).text
    collection_of_others.delete()

    page = browser.get(ADD).text

    assert 'href="/admin/jobs/jobcollection/add/"' in page
    assert 'name="frequency"' not in page


# Warnings


WEAK = {"method": "POST", "headers": "Content-Type: application/json", "body": "at {{ fire_time }}"}
NOT_JSON = "but the body is not JSON: "
OFF = "The body holds {{ fire_time }}, and filling in placeholders (&quot;template&quot;) is off"


def test_suspicious_body_is_saved_with_a_warning(post, browser):
    response = post(**WEAK)

    for address in (response.url, edit_url(Job.objects.get())):
        page = browser.get(address).text
        assert NOT_JSON in page
        assert OFF in page


def test_template_that_renders_json_is_saved_without_a_warning(post, browser):
    response = post(**WEAK | {"body": '{"at": "{{ fire_time }}"}', "template": "on"})

    assert 'class="vstack warnings"' not in browser.get(response.url).text


def test_blocked_address_is_refused_at_its_field(post, settings):
    settings.EGRESS_ALLOW = []

    response = post(uri="http://10.0.0.5/hook")

    message = "Must not have the host 10.0.0.5: it is a private address, and EGRESS_ALLOW does not open it"
    assert response.context["form"].errors == {"uri": [message]}
    assert not Job.objects.exists()


def test_blocked_address_of_the_error_action_is_refused_at_its_field(post, settings):
    settings.EGRESS_ALLOW = []

    response = post(uri="https://example.com/", error_action="http://10.0.0.5/hook")

    assert list(response.context["form"].errors) == ["error_action"]


def test_stored_blocked_address_is_kept_with_a_warning(browser, make_job, settings):
    job = make_job()
    settings.EGRESS_ALLOW = []

    page = browser.get(edit_url(job)).text
    response = browser.post(edit_url(job), {**submitted(page, "job_form"), "method": "POST"})

    assert response.status_code == 302, response.context["form"].errors
    job.refresh_from_db()
    assert job.action.document["request"] == {**ACTION["request"], "method": "POST"}
    for text in (page, browser.get(response.url).text):
        assert "Calls cannot reach 127.0.0.1: it is a loopback address" in text
