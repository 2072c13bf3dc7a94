"""The form of a job: fields and JSON to documents and back, errors at their fields, the preview, secrets."""

import json

import pytest
from django.contrib.admin.models import LogEntry

from jobs.models import Job
from tests.conftest import ACTION
from triggers.forms import initial_of
from triggers.models import Trigger
from triggers.schedule_form import schedule_of

ADD = "/admin/jobs/job/add/"
PREVIEW = "/admin/jobs/job/preview/"

FORM = {
    "name": "backup",
    "state": "enabled",
    "when": "fields",
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


def edit_of(job) -> str:
    return f"/admin/jobs/job/{job.pk}/change/"


def test_the_fields_become_the_documents(post):
    answer = post(
        frequency="Week",
        interval="2",
        count="10",
        end="2028-01-01T00:00",
        hours="9, 17",
        minutes="0 30",
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
    assert answer.url == f"/admin/jobs/job/{job.pk}/"
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


def test_what_the_fields_show_of_a_job_makes_the_same_documents_again(make_job):
    recurrence = {
        "frequency": "Month",
        "interval": 3,
        "schedule": {"hours": [5], "monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}]},
    }
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": recurrence})

    values = initial_of(job, job.triggers.get())

    assert schedule_of(values) == job.triggers.get().definition


def test_a_job_without_recurrence_runs_once(post):
    post(frequency="")

    assert Trigger.objects.get().definition == {"startTime": "2027-01-05T08:00:00Z"}


def test_days_that_do_not_go_with_the_frequency_do_not_count(post):
    post(frequency="Day", week_days=["Monday"], month_days="31")

    assert Trigger.objects.get().definition["recurrence"] == {"frequency": "Day"}


@pytest.mark.parametrize(
    "fields, place, says",
    [
        ({"interval": "0"}, "interval", "Must be 1 to"),
        ({"interval": "two"}, "interval", "two"),
        ({"interval": "1 2"}, "interval", "Write one number"),
        ({"hours": "25"}, "hours", "25"),
        ({"frequency": "Month", "month_days": "32"}, "month_days", "32"),
        ({"frequency": "Month", "month_days": "1", "monthly_occurrences": "Friday 1"}, "monthly_occurrences", "Cannot"),
        ({"frequency": "Month", "monthly_occurrences": "Freitag 1"}, "monthly_occurrences", "Freitag"),
        ({"end": "2026-01-01T00:00"}, "end", "Must be in the future"),
        ({"start": "soon"}, "start", "Write a moment"),
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
def test_a_refused_member_is_said_at_its_field(post, fields, place, says):
    answer = post(**fields)

    assert not Job.objects.exists()
    errors = answer.context["form"].errors
    assert list(errors) == [place]
    assert says in errors[place][0]
    assert f'id="id_{place}_error"' in answer.text


def test_the_same_name_twice_is_refused_not_replaced(post, make_job):
    make_job("backup")

    answer = post()

    assert "has a job of this name already" in answer.context["form"].errors["name"][0]
    assert Job.objects.get().revision == 1


def test_a_full_collection_refuses_the_form_as_a_whole(post, collection):
    type(collection).objects.update(max_job_count=0)

    answer = post()

    assert "may hold 0 jobs" in answer.context["form"].non_field_errors()[0]


def test_a_schedule_too_fast_for_the_plan_is_said_at_the_frequency(post, collection):
    type(collection).objects.update(sku="Free")

    answer = post(frequency="Minute")

    assert "one hour or slower" in answer.context["form"].errors["frequency"][0]


# Editing


def test_saving_something_else_leaves_the_schedule_where_it_stands(post, make_job, browser):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00+00:00", "recurrence": {"frequency": "day", "count": 5}})
    Trigger.objects.update(fires_left=2)

    post(edit_of(job), revision=1, start="2026-01-05T08:00:00", frequency="Day", count="5", method="POST")

    job.refresh_from_db()
    trigger = job.triggers.get()
    assert job.action.document["request"]["method"] == "POST"
    assert trigger.fires_left == 2
    assert trigger.definition["recurrence"]["frequency"] == "day"


def test_a_stored_password_is_never_shown_and_kept_when_left_empty(post, make_job, browser):
    job = make_job(action=BASIC)

    page = browser.get(edit_of(job)).text
    post(edit_of(job), revision=1, uri="https://example.com/", authentication="Basic", username="ada", interval="2")

    assert "opensesame" not in page
    assert "Empty keeps it." in page
    job.refresh_from_db()
    assert job.action.secrets == {"request.authentication.password": "opensesame"}


def test_a_new_password_replaces_the_old_one_and_leaves_no_trace(post, make_job, browser):
    job = make_job(action=BASIC)

    post(
        edit_of(job),
        revision=1,
        uri="https://example.com/",
        authentication="Basic",
        username="ada",
        password="swordfish",
    )

    job.refresh_from_db()
    assert job.action.secrets == {"request.authentication.password": "swordfish"}
    entry = LogEntry.objects.get()
    assert entry.get_change_message() == "Changed Start, in UTC and Password."
    assert "swordfish" not in entry.change_message


def test_a_refused_form_does_not_send_the_password_back(post):
    answer = post(authentication="Basic", username="ada", password="swordfish", interval="0")

    assert "swordfish" not in answer.text


def test_who_saves_an_older_version_is_refused(post, make_job):
    job = make_job()
    Job.objects.update(revision=3)

    answer = post(edit_of(job), revision=2)

    assert "somebody saved version 3" in answer.text.lower()


def test_a_final_job_has_no_form(browser, make_job):
    job = make_job()
    Job.objects.update(state="completed")

    answer = browser.get(edit_of(job), follow=True)

    assert "which is final" in answer.text


# JSON


def test_json_in_front_is_what_is_saved(post):
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

    post(when="json", what="json", schedule_json=json.dumps(schedule), action_json=json.dumps(queue), frequency="Day")

    job = Job.objects.get()
    assert job.triggers.get().definition == schedule
    assert job.action.document["type"] == "StorageQueue"
    assert job.action.secrets == {"queueMessage.sasToken": "sig=amber-lantern"}


@pytest.mark.parametrize("text", ["[1]", "{", '{"x": 1e999}', '{"x": "\\ud800"}', "[" * 9000])
def test_text_that_is_no_storable_object_is_refused_at_its_field(post, text):
    answer = post(when="json", schedule_json=text)

    assert list(answer.context["form"].errors) == ["schedule_json"]


def test_a_refused_member_of_json_is_named_with_its_path(post):
    answer = post(when="json", schedule_json='{"recurrence": {"frequency": "Day", "interval": 0}}')

    assert answer.context["form"].errors["schedule_json"][0].startswith("recurrence.interval: ")


def test_switching_carries_over_what_was_written_and_saves_nothing(post):
    there = post(_switch="when:json", interval="3")
    form = there.context["form"]
    back = post(
        _switch="when:fields",
        when="json",
        schedule_json='{"recurrence": {"frequency": "Hour", "interval": 7}}',
    )

    assert form.mode("when") == "json"
    assert json.loads(form["schedule_json"].value())["recurrence"] == {"frequency": "Day", "interval": 3}
    assert back.context["form"]["frequency"].value() == "Hour"
    assert 'interval" value="7"' in back.text
    assert not Job.objects.exists()


# Preview


def test_the_preview_shows_words_times_and_the_document(post):
    page = post(PREVIEW, frequency="Day", hours="6", minutes="0", start="").text

    assert "then every day at 06:00 UTC." in page
    assert page.count("<li>") == 10
    assert "&quot;hours&quot;: [" in page


def test_the_preview_says_in_words_what_is_wrong(post):
    page = post(PREVIEW, hours="25").text

    assert "Hours, in UTC: Must be 0 to 23" in page
    assert "<li>" not in page


def test_the_preview_of_an_unchanged_schedule_goes_on_from_where_it_stands(post, make_job):
    job = make_job(schedule={"startTime": "2027-01-05T08:00:00Z", "recurrence": {"frequency": "Day", "count": 9}})
    Trigger.objects.update(fires_left=2)

    page = post(f"{PREVIEW}?job={job.pk}", start="2027-01-05T08:00:00", count="9").text

    assert page.count("<li>") == 2


def test_the_preview_needs_a_post_and_a_way_in(browser, browser_of, reader, client, elsewhere, make_job):
    theirs = make_job("theirs", in_collection=elsewhere)

    assert browser.get(PREVIEW).status_code == 404
    assert browser_of(reader).post(f"{PREVIEW}?job={theirs.pk}", FORM).status_code == 404
    client.logout()
    assert client.post(PREVIEW, FORM).status_code == 302


def test_without_script_a_button_previews_on_the_page_itself(post):
    answer = post(_preview="1", frequency="Hour", start="")

    assert "Every hour" in answer.text
    assert not Job.objects.exists()


def test_the_form_says_the_times_of_the_viewer(post, owner):
    type(owner).objects.update(time_zone="Europe/Berlin")

    page = post(PREVIEW, frequency="Day", hours="6", minutes="0", start="2027-03-27T00:00").text

    assert '>07:00</time> <span class="zone">06:00 UTC</span>' in page
    assert "1 h later in Berlin from here" in page


def test_action_of_conftest_fits_the_fields(browser, make_job):
    job = make_job(action=ACTION)

    assert "id_uri" in browser.get(edit_of(job)).text
