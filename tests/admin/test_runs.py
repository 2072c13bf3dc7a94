"""The list of runs and the page of a run."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Attempt, Poll, Run

LIST = "/admin/jobs/run/"


def run_url(run) -> str:
    return f"{LIST}{run.pk}/change/"


def test_run_list_takes_the_same_number_of_queries_for_any_length(
    browser, make_job, make_run, django_assert_num_queries, django_assert_max_num_queries
):
    job = make_job()
    make_run(job)
    with django_assert_max_num_queries(6) as one:
        browser.get(LIST)
    for number in range(30):
        make_run(job, ago=timedelta(minutes=number))

    with django_assert_num_queries(len(one)):
        browser.get(LIST)


@pytest.mark.parametrize(
    "query, count",
    [
        ("", 4),
        ("?result=failed", 2),
        ("?result=failed&days=1", 1),
        ("?result=waiting", 1),
        ("?result=running", 0),
        ("?q=nothing", 0),
    ],
)
def test_run_list_is_filtered(browser, make_job, make_run, query, count):
    job = make_job()
    make_run(job)
    make_run(job, Run.State.FAILED, ago=timedelta(hours=2))
    make_run(job, Run.State.LOST, ago=timedelta(days=3))
    make_run(job, Run.State.RETRYING, ago=timedelta(minutes=1))

    assert browser.get(LIST + query).context["cl"].result_count == count


def test_run_list_counts_only_up_to_a_limit(browser, make_job, make_run, monkeypatch):
    monkeypatch.setattr("jobs.admin.lists.COUNT_LIMIT", 2)
    job = make_job()
    for number in range(3):
        make_run(job, ago=timedelta(minutes=number))

    assert "of 2 and more" in browser.get(LIST).text


def test_failed_run_shows_its_attempts_and_the_escaped_response(browser, make_job, make_run):
    run = make_run(make_job(), Run.State.FAILED)

    page = browser.get(run_url(run)).text

    assert "Attempt 1 failed" in page
    assert "503" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page


def test_request_of_a_run_masks_its_credentials(browser, make_job, make_run):
    authentication = {"type": "Basic", "username": "ada", "password": "opensesame"}
    request = {"uri": "https://x.example/a?b=c", "method": "POST", "body": "hello", "authentication": authentication}
    run = make_run(make_job(action={"type": "Http", "request": request}))

    page = browser.get(run_url(run)).text

    assert "POST /a?b=c" in page
    assert "Authorization: ********" in page
    assert f"Idempotency-Key: {run.pk}" in page
    assert "opensesame" not in page


def test_timeline_shows_waiting_times_between_attempts(browser, make_job, make_run):
    run = make_run(make_job(), Run.State.FAILED, attempt_count=2)
    first = run.attempts.get()
    Attempt.objects.create(
        run=run,
        number=2,
        state="failed",
        started_at=first.finished_at + timedelta(seconds=30),
        finished_at=timezone.now(),
    )

    timeline = browser.get(run_url(run)).context["timeline"]

    assert [stage["name"] for stage in timeline] == ["Planned", "Started", "Attempt 2", "Failed"]
    assert timeline[2]["note"] == "waited 30 s"


def test_following_run_shows_its_polls(browser, make_job, make_run):
    run = make_run(make_job(), Run.State.FOLLOWING, not_before=timezone.now() + timedelta(minutes=4))
    run.attempts.update(state=Attempt.State.RUNNING)
    attempt = run.attempts.get()
    values = {"attempt": attempt, "started_at": attempt.started_at, "finished_at": attempt.started_at}
    Poll.objects.create(number=1, **values, status_code=200, status="<Running>", percent=12.5, retry_after_s=90)
    Poll.objects.create(number=2, **values, message="No connection to host 'example.com'.")

    page = browser.get(run_url(run))

    newest, oldest = page.context["attempts"][0]["polls"]
    assert (oldest["said"], oldest["percent"], oldest["wait"]) == ("<Running>", "12.5 %", "1 min 30 s")
    assert (newest["said"], newest["percent"]) == ("No connection to host 'example.com'.", "")
    assert page.context["timeline"][-1]["name"] == "Next poll"
    assert page.context["steps"][-1]["note"].endswith("after 2 polls")
    assert "&lt;Running&gt;" in page.text
    assert "Cancel run" in page.text


def test_run_page_takes_the_same_number_of_queries_for_any_number_of_attempts(
    browser, make_job, make_run, django_assert_num_queries, django_assert_max_num_queries
):
    run = make_run(make_job(), Run.State.FOLLOWING, attempt_count=9)
    with django_assert_max_num_queries(20) as one:
        browser.get(run_url(run))
    for number in range(2, 9):
        attempt = Attempt.objects.create(run=run, number=number, state="failed", started_at=timezone.now())
        Poll.objects.create(attempt=attempt, number=1, started_at=timezone.now())

    with django_assert_num_queries(len(one)):
        browser.get(run_url(run))


@pytest.mark.parametrize(
    "kind, headers, message",
    [
        ("Fixed", [], "in 3 min"),
        ("Exponential", [], "the wait grows after each failure"),
        ("Fixed", [["retry-after", "240"]], "the target sent Retry-After: 240"),
    ],
)
def test_retrying_run_shows_the_next_attempt_and_its_reason(browser, make_job, make_run, kind, headers, message):
    request = {"uri": "https://x.example/", "method": "GET"}
    job = make_job(action={"type": "Http", "request": request, "retryPolicy": {"retryType": kind}})
    run = make_run(job, Run.State.RETRYING, not_before=timezone.now() + timedelta(minutes=4))
    run.attempts.update(response_headers=headers)

    page = browser.get(run_url(run))

    assert page.context["timeline"][-1]["name"] == "Next attempt"
    assert message in page.context["steps"][-1]["note"]
    assert message in page.text


@pytest.mark.parametrize(
    "action, message",
    [
        (
            {
                "type": "StorageQueue",
                "queueMessage": {
                    "storageAccount": "account1",
                    "queueName": "mail",
                    "sasToken": "sv=1&sig=topsecret",
                    "message": "hello",
                },
            },
            ["POST /mail/messages?********", "Host: account1.queue.core.windows.net", "hello"],
        ),
        (
            {
                "type": "ServiceBusQueue",
                "serviceBusQueueMessage": {
                    "namespace": "orders",
                    "queueName": "incoming",
                    "message": "hello",
                    "authentication": {"type": "SharedAccessKey", "sasKeyName": "sender", "sasKey": "c2VjcmV0a2V5"},
                },
            },
            ["POST /incoming/messages", "Host: orders.servicebus.windows.net", "Authorization: ********", "hello"],
        ),
        (
            {
                "type": "Http",
                "template": True,
                "request": {"uri": "https://x.example/{{ attempt }}", "method": "PUT", "body": "by {{ job.name }}"},
            },
            ["PUT /1", "by backup"],
        ),
        (
            {
                "type": "Http",
                "request": {
                    "uri": "https://x.example/",
                    "method": "GET",
                    "authentication": {
                        "type": "ActiveDirectoryOAuth",
                        "tenant": "contoso.example",
                        "clientId": "c",
                        "secret": "clientsecret",
                    },
                },
            },
            ["GET /", "Authorization: Bearer ********"],
        ),
    ],
)
def test_attempt_shows_the_request_of_each_action_kind(browser, make_job, make_run, action, message):
    page = browser.get(run_url(make_run(make_job(action=action)))).text

    for text in message:
        assert text in page


def test_missed_run_shows_why_no_attempt_was_made(browser, make_job, make_run):
    run = make_run(make_job(), Run.State.MISSED, reason="found 5 min late")

    page = browser.get(run_url(run)).text

    assert "No attempts" in page
    assert "found 5 min late" in page


def test_failed_run_and_its_error_action_link_to_each_other(browser, make_job, make_run):
    error_action = {"type": "Http", "request": {"uri": "https://alerts.example/", "method": "POST"}}
    call = {"uri": "https://x.example/", "method": "GET"}
    job = make_job(action={"type": "Http", "request": call, "errorAction": error_action})
    failed = make_run(job, Run.State.FAILED)
    follow_up = make_run(
        job, ago=timedelta(minutes=1), origin=Run.Origin.ERROR_ACTION, parent=failed, trigger_name=None
    )

    assert run_url(follow_up) in browser.get(run_url(failed)).text
    page = browser.get(run_url(follow_up)).text
    assert run_url(failed) in page
    assert "POST alerts.example" in page


def test_run_page_links_to_the_previous_and_next_run(browser, make_job, make_run):
    job = make_job()
    older, middle, newer = (make_run(job, ago=timedelta(hours=hours)) for hours in (3, 2, 1))

    context = browser.get(run_url(middle)).context

    assert (context["previous"], context["following"]) == (older, newer)


def test_only_a_waiting_run_can_be_cancelled(browser, make_job, make_run):
    waiting = make_run(make_job(), Run.State.WAITING)

    browser.post(f"{LIST}{waiting.pk}/cancel/")
    again = browser.post(f"{LIST}{waiting.pk}/cancel/", follow=True)

    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == (Run.State.CANCELLED, "cancelled by ada")
    assert "only one that waits can be cancelled" in again.text


def test_run_of_a_deleted_job_can_be_read(browser, make_job, make_run):
    job = make_job()
    run = make_run(job)
    job.delete()

    assert "backup, deleted" in browser.get(run_url(run)).text


def test_runs_are_read_only_in_the_admin(browser, make_job, make_run):
    run = make_run(make_job())

    assert browser.get(f"{LIST}add/").status_code in (403, 404)
    browser.post(run_url(run), {"state": "failed"})
    assert browser.post(f"{LIST}{run.pk}/delete/", {"post": "yes"}).status_code == 403
    run.refresh_from_db()
    assert run.state == Run.State.SUCCEEDED


@pytest.mark.parametrize("address", ["nonsense/change/", "00000000-0000-0000-0000-000000000000/change/"])
def test_unknown_run_is_not_found(browser, address):
    assert browser.get(LIST + address).status_code == 404
