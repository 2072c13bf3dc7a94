"""The page of a job: schedule, runs, actions, document and history."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from jobs.models import Job, Run


def job_url(job) -> str:
    return f"/admin/jobs/job/{job.pk}/"


def test_job_page_shows_schedule_next_runs_and_policies(browser, make_job):
    page = browser.get(job_url(make_job(overlap="queue_all"))).text

    assert "Every day at 08:00 UTC." in page
    assert page.count('<ol class="upcoming">') == 1
    assert "queue all runs" in page
    assert "4 more times, 30 s apart" in page


def test_job_page_shows_only_the_remaining_runs_of_a_count(browser, make_job):
    job = make_job(schedule={"startTime": "2027-01-01T00:00:00Z", "recurrence": {"frequency": "Day", "count": 3}})

    response = browser.get(job_url(job))

    assert len(response.context["fires"]) == 3
    assert "3 left" in response.text


def test_job_page_lists_runs_in_pages_newest_first(browser, make_job, make_run):
    job = make_job()
    runs = [make_run(job, ago=timedelta(minutes=number)) for number in range(1, 46)]

    first = browser.get(job_url(job))
    second = browser.get(f"{job_url(job)}?before={first.context['older']}")
    third = browser.get(f"{job_url(job)}?before={second.context['older']}")

    run_ids = [row["run"].pk for page in (first, second, third) for row in page.context["runs"]]
    assert run_ids == [run.pk for run in runs]
    assert third.context["older"] is None


def test_job_page_takes_the_same_number_of_queries_for_any_history(
    browser, make_job, make_run, django_assert_num_queries, django_assert_max_num_queries
):
    job = make_job()
    make_run(job)
    with django_assert_max_num_queries(11) as one:
        browser.get(job_url(job))
    for number in range(60):
        make_run(job, ago=timedelta(minutes=number))

    with django_assert_num_queries(len(one)):
        browser.get(job_url(job))


def test_run_now_creates_a_run_and_redirects_to_it(browser, make_job):
    job = make_job()

    response = browser.post(f"{job_url(job)}run/")

    run = Run.objects.get()
    assert (run.origin, run.job) == (Run.Origin.MANUAL, job)
    assert response.url == f"/admin/jobs/run/{run.pk}/change/"
    assert LogEntry.objects.get().get_change_message() == "Run queued."


def test_run_now_of_a_disabled_job_is_refused_with_the_reason(browser, make_job):
    response = browser.post(f"{job_url(make_job(state='disabled'))}run/", follow=True)

    assert "only an enabled job can be run" in response.text
    assert not Run.objects.exists()


@pytest.mark.parametrize("action", ["run/", "state/"])
def test_get_request_does_not_run_or_disable_a_job(browser, make_job, action):
    browser.get(job_url(make_job()) + action)

    assert not Run.objects.exists()
    assert Job.objects.get().state == "enabled"


def test_job_is_disabled_and_enabled_with_entries_in_its_history(browser, make_job):
    job = make_job()

    browser.post(f"{job_url(job)}state/", {"state": "disabled"})
    stopped = browser.get(job_url(job)).text
    browser.post(f"{job_url(job)}state/", {"state": "enabled"})
    changes = browser.get(f"{job_url(job)}history/").text

    assert "No runs while the job is disabled." in stopped
    assert "Disabled." in changes
    assert "Enabled." in changes


def test_invalid_state_is_ignored(browser, make_job):
    browser.post(f"{job_url(make_job())}state/", {"state": "completed"})

    assert Job.objects.get().state == "enabled"


def test_job_document_contains_no_secrets(browser, make_job):
    authentication = {"type": "Basic", "username": "ada", "password": "opensesame"}
    action = {
        "type": "Http",
        "request": {"uri": "https://x.example/", "method": "GET", "authentication": authentication},
    }

    page = browser.get(f"{job_url(make_job(action=action))}document/").text

    assert "&quot;username&quot;: &quot;ada&quot;" in page
    assert "opensesame" not in page


def test_deletion_requires_confirmation_and_keeps_runs(browser, make_job, make_run):
    job = make_job()
    make_run(job)

    confirmation = browser.get(f"{job_url(job)}delete/").text
    browser.post(f"{job_url(job)}delete/", {"post": "yes"})

    assert "Delete backup" in confirmation
    assert not Job.objects.exists()
    assert Run.objects.get().job is None


def test_invalid_page_of_runs_is_the_first_page(browser, make_job, make_run):
    job = make_job()
    make_run(job)

    assert len(browser.get(f"{job_url(job)}?before=nonsense").context["runs"]) == 1


# Credentials and warnings


def action_with_certificate(certificate, uri="https://x.example/") -> dict:
    authentication = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    return {"type": "Http", "request": {"uri": uri, "method": "GET", "authentication": authentication}}


@pytest.mark.parametrize(
    "days, word", [(-3, "Expired"), (12, "Expires soon"), (40, None)], ids=["expired", "soon", "later"]
)
def test_expiry_of_a_certificate_is_shown_on_page_and_list(browser, make_job, authority, days, word):
    certificate = authority.client(expires_at=timezone.now() + timedelta(days=days))
    job = make_job(action=action_with_certificate(certificate))

    page, jobs = browser.get(job_url(job)).text, browser.get("/admin/jobs/job/").text

    assert certificate.thumbprint in page
    assert certificate.subject in page
    for text in (page, jobs):
        assert (f"{word}</span>" in text) is bool(word)
    assert ("The client certificate" in page) is bool(word)


def test_certificate_of_the_error_action_is_shown(browser, make_job, authority):
    certificate = authority.client(expires_at=timezone.now() - timedelta(days=1))
    main = {"type": "Http", "request": {"uri": "https://x.example/", "method": "GET"}}
    job = make_job(action={**main, "errorAction": action_with_certificate(certificate)})

    page = browser.get(job_url(job)).text

    assert certificate.thumbprint in page
    assert "Expired</span>" in page


def test_job_page_shows_when_each_secret_was_set(browser, make_job):
    headers = {"X-Api-Key": "abcdefgh"}
    error_action = {"type": "Http", "request": {"uri": "https://y.example/", "method": "GET", "headers": headers}}
    authentication = {"type": "Basic", "username": "ada", "password": "opensesame"}
    request = {"uri": "https://x.example/", "method": "GET", "authentication": authentication}
    job = make_job(action={"type": "Http", "request": request, "errorAction": error_action})

    page = browser.get(job_url(job)).text

    assert "<dt>Password</dt><dd>set <time" in page
    assert "<dt>Error action: header x-api-key</dt>" in page
    assert "ada, with a password" in page


def test_credentials_without_tls_show_a_warning(browser, make_job):
    authentication = {"type": "Basic", "username": "ada", "password": "opensesame"}
    request = {"uri": "http://x.example/", "method": "GET", "authentication": authentication}

    page = browser.get(job_url(make_job(action={"type": "Http", "request": request}))).text

    assert "the credentials travel unencrypted" in page


BUS = {"namespace": "orders", "message": "hi"}


@pytest.mark.parametrize(
    "action, message",
    [
        (
            {"type": "ServiceBusQueue", "serviceBusQueueMessage": {**BUS, "queueName": "incoming"}},
            "message to bus queue incoming of orders",
        ),
        (
            {"type": "ServiceBusTopic", "serviceBusTopicMessage": {**BUS, "topicPath": "news"}},
            "message to topic news of orders",
        ),
        (
            {
                "type": "StorageQueue",
                "queueMessage": {
                    "storageAccount": "account1",
                    "queueName": "mail",
                    "sasToken": "sig=topsecret",
                    "message": "hi",
                },
            },
            "message to queue mail of account1",
        ),
        (
            {
                "type": "Http",
                "request": {
                    "uri": "https://x.example/",
                    "method": "GET",
                    "success": {"statusCodes": [200, "300-399"], "bodyPath": "$.state", "bodyValue": True},
                },
                "retryPolicy": {"retryType": "Exponential", "retryCount": 3, "maximumRetryInterval": "PT1H"},
            },
            "200, 300-399, and $.state is true",
        ),
    ],
)
def test_each_action_kind_is_described(browser, make_job, action, message):
    page = browser.get(job_url(make_job(action=action))).text

    assert message in page
    if "retryPolicy" in action:
        assert "3 more times, 30 s apart, then twice as long each time, at most 1 h" in page
