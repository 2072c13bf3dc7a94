"""The form of a job: fields and JSON to documents and back, errors at their fields, the preview, secrets."""

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


def post_messages(response) -> str:
    return " ".join(str(message) for message in get_messages(response.wsgi_request))


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
    assert job.triggers.get().definition["recurrence"] == schedule["recurrence"]
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


# The first run


@pytest.fixture
def still():
    """The clock stands still."""
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


def saved(response) -> Job:
    assert response.status_code == 302, response.context["form"].errors
    return Job.objects.get()


@pytest.mark.parametrize("first_run", [{}, {"first_run": "next"}])
@pytest.mark.parametrize(
    "fields, start",
    [
        ({}, "2026-11-05T12:32:00Z"),
        ({"interval": "3"}, "2026-11-07T12:32:00Z"),
        ({"hours": "9"}, "2026-11-05T09:32:00Z"),
        ({"hours": "9", "minutes": "0"}, "2026-11-05T09:00:00Z"),
        ({"frequency": "Week", "week_days": ["Monday"], "hours": "6", "minutes": "30"}, "2026-11-09T06:30:00Z"),
        ({"when": "json", "schedule_json": '{"recurrence": {"frequency": "Hour"}}'}, "2026-11-04T13:32:00Z"),
    ],
)
def test_a_new_job_runs_first_at_the_next_time_of_its_schedule(post, still, first_run, fields, start):
    job = saved(post(start="", **fields, **first_run))

    trigger = job.triggers.get()
    assert (trigger.definition["startTime"], f"{trigger.next_fire_at:%Y-%m-%dT%H:%M:%SZ}") == (start, start)
    assert not job.runs.exists()


@pytest.mark.parametrize("start", ["", "2027-01-05T08:00"])
def test_a_new_job_also_runs_now_when_that_is_chosen(post, still, start):
    response = post(start=start, first_run="now")

    assert saved(response).runs.get().origin == "manual"
    assert Trigger.objects.get().next_fire_at > WEDNESDAY
    assert "It runs once now. The next run is" in post_messages(response)


def test_a_job_that_is_to_run_once_and_now_runs_once(post, still):
    job = saved(post(frequency="", start="", first_run="now"))

    assert not job.runs.exists()
    assert job.triggers.get().next_fire_at == WEDNESDAY


def test_a_new_job_that_ends_before_its_first_run_is_refused(post, still):
    form = post(start="", end="2026-11-05T09:00").context["form"]

    assert "Must be later than the first run" in form.errors["end"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("start", ["", "2020-01-05T08:00"])
def test_a_new_job_that_has_no_time_but_the_present_one_runs_at_once(post, still, start):
    saved(post(frequency="", start=start))

    assert Trigger.objects.get().next_fire_at == WEDNESDAY


@pytest.mark.parametrize(
    "fields, place, says",
    [
        ({"frequency": "", "start": ""}, "start", "Say when. To run it at once there is Run now"),
        ({"frequency": "", "start": "2020-01-05T08:00"}, "start", "Must be ahead without a recurrence"),
        ({"when": "json", "schedule_json": "{}"}, "schedule_json", "is required without a recurrence"),
    ],
)
def test_an_edit_to_no_time_but_the_present_one_is_refused(post, make_job, still, fields, place, says):
    job = make_job()
    address = f"{PREVIEW}?job={job.pk}"

    assert says in str(post(edit_of(job), revision=1, **fields).context["form"].errors[place])
    assert says in post(address, **fields).context["preview"].error
    assert Trigger.objects.get().definition["recurrence"] == {"frequency": "Day"}


@pytest.mark.parametrize("with_start", [True, False])
def test_an_edit_does_not_run_the_job(post, make_job, still, with_start):
    start = {"startTime": "2026-11-04T12:00:00Z"} if with_start else {}
    job = make_job(schedule={**start, "recurrence": {"frequency": "Hour"}}, now=WEDNESDAY - timedelta(minutes=32))
    dispatch_due(WEDNESDAY - timedelta(minutes=32))

    saved(
        post(edit_of(job), revision=1, frequency="Hour", interval="2", start="2026-11-04T12:00" if with_start else "")
    )

    trigger = Trigger.objects.get()
    assert f"{trigger.next_fire_at:%H:%M}" == "14:00"
    assert trigger.definition["startTime"] == ("2026-11-04T12:00:00Z" if with_start else "2026-11-04T14:00:00Z")
    assert job.runs.count() == 1


def test_an_edit_runs_the_job_once_more_when_that_is_chosen(post, make_job, still):
    job = make_job(schedule={"startTime": "2027-01-05T08:00:00Z", "recurrence": {"frequency": "Day"}})

    saved(post(edit_of(job), revision=1, first_run="now", start="2027-01-05T08:00:00"))

    assert job.runs.get().origin == "manual"
    assert LogEntry.objects.get().get_change_message() == "Changed First run."


def test_an_edit_that_runs_a_disabled_job_is_refused(post, make_job, still):
    job = make_job()

    form = post(edit_of(job), revision=1, first_run="now", state="disabled").context["form"]

    assert "only an enabled job can be run" in str(form.errors["first_run"])


def test_a_job_without_a_schedule_has_no_first_run(post, still):
    assert not saved(post(frequency="None", first_run="now")).runs.exists()


def test_the_preview_shows_the_times_that_saving_leads_to(post, still):
    rows = post(PREVIEW, start="").context["preview"].rows
    also = post(PREVIEW, start="", first_run="now").context["preview"].rows

    assert f"{rows[0]['at']:%d %H:%M}" == "05 12:32"
    assert (also[0]["at"], also[0]["remarks"]) == (WEDNESDAY, ["once, besides the schedule"])
    assert [row["at"] for row in also[1:]] == [row["at"] for row in rows]


def test_the_preview_says_what_saving_would_refuse(post, still):
    preview = post(PREVIEW, start="", end="2026-11-05T09:00").context["preview"]

    assert preview.error == "End, in UTC: Must be later than the first run"


# Preview


def test_the_preview_shows_words_times_and_the_document(post):
    page = post(PREVIEW, frequency="Day", hours="6", minutes="0", start="").text

    assert "Every day at 06:00 UTC." in page
    assert page.count("<li>") == 10
    assert "&quot;hours&quot;: [" in page


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"misfire": "fire_once"}, "the next three: the last of them runs late, once."),
        ({"misfire": "fire_all"}, "the next three: each runs late, one after the other in order"),
        ({"misfire": "skip"}, "the next three: none of them runs"),
        ({"frequency": "", "misfire": "fire_all"}, "the next one: it runs late."),
        ({"frequency": "", "misfire": "skip"}, "the next one: it does not run"),
        ({"misfire": "sometimes"}, "the last of them runs late, once."),  # the default, while it cannot be read
    ],
)
def test_the_preview_says_what_happens_to_times_that_are_missed(post, fields, says):
    assert says in post(PREVIEW, **fields).text


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


def test_who_has_no_collection_is_led_to_make_one(browser_of, make_user, elsewhere):
    browser = browser_of(make_user("olga", in_subscription=elsewhere.subscription, is_staff=True))
    assert 'name="frequency"' in browser.get(ADD).text
    elsewhere.delete()

    page = browser.get(ADD).text

    assert 'href="/admin/jobs/jobcollection/add/"' in page
    assert 'name="frequency"' not in page


# What is accepted with a warning


WEAK = {"method": "POST", "headers": "Content-Type: application/json", "body": "at {{ fire_time }}"}
NOT_JSON = "but the body is not JSON: "
OFF = "The body holds {{ fire_time }}, and filling in placeholders (&quot;template&quot;) is off"


def test_a_body_that_is_not_what_it_seems_is_saved_with_a_warning(post, browser):
    answer = post(**WEAK)

    for address in (answer.url, edit_of(Job.objects.get())):
        page = browser.get(address).text
        assert NOT_JSON in page
        assert OFF in page


def test_a_template_that_becomes_json_is_saved_without_one(post, browser):
    answer = post(**WEAK | {"body": '{"at": "{{ fire_time }}"}', "template": "on"})

    assert 'class="vstack warnings"' not in browser.get(answer.url).text


def test_a_closed_address_is_refused_at_its_field(post, settings):
    settings.EGRESS_ALLOW = []

    answer = post(uri="http://10.0.0.5/hook")

    says = "Must not have the host 10.0.0.5: it is a private address, and EGRESS_ALLOW does not open it"
    assert answer.context["form"].errors == {"uri": [says]}
    assert not Job.objects.exists()


def test_a_closed_address_of_the_error_action_is_refused_at_its_field(post, settings):
    settings.EGRESS_ALLOW = []

    answer = post(uri="https://example.com/", error_action="http://10.0.0.5/hook")

    assert list(answer.context["form"].errors) == ["error_action"]


def test_a_closed_address_that_is_there_already_stays_with_a_warning(browser, make_job, settings):
    job = make_job()
    settings.EGRESS_ALLOW = []

    page = browser.get(edit_of(job)).text
    answer = browser.post(edit_of(job), {**submitted(page, "job_form"), "method": "POST"})

    assert answer.status_code == 302, answer.context["form"].errors
    job.refresh_from_db()
    assert job.action.document["request"] == {**ACTION["request"], "method": "POST"}
    for text in (page, browser.get(answer.url).text):
        assert "Calls cannot reach 127.0.0.1: it is a loopback address" in text
