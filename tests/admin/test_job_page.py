"""A job's own page, its orders, its document and its history."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from jobs.models import Job, Run


def page_of(job) -> str:
    return f"/admin/jobs/job/{job.pk}/"


def test_it_shows_schedule_next_ten_and_rules(browser, make_job):
    page = browser.get(page_of(make_job(overlap="queue_all"))).text

    assert "Every day at 08:00 UTC." in page
    assert page.count('<ol class="upcoming">') == 1
    assert "waits for the one before" in page
    assert "4 more times, 30 s apart" in page


def test_a_counted_job_shows_no_more_times_than_are_left(browser, make_job):
    job = make_job(schedule={"startTime": "2027-01-01T00:00:00Z", "recurrence": {"frequency": "Day", "count": 3}})

    answer = browser.get(page_of(job))

    assert len(answer.context["fires"]) == 3
    assert "3 left" in answer.text


def test_its_runs_are_a_page_at_a_time_newest_first(browser, make_job, make_run):
    job = make_job()
    runs = [make_run(job, ago=timedelta(minutes=number)) for number in range(1, 46)]

    first = browser.get(page_of(job))
    second = browser.get(f"{page_of(job)}?before={first.context['older']}")
    third = browser.get(f"{page_of(job)}?before={second.context['older']}")

    shown = [row["run"].pk for page in (first, second, third) for row in page.context["runs"]]
    assert shown == [run.pk for run in runs]
    assert third.context["older"] is None


def test_the_page_takes_the_same_queries_however_long_the_history(
    browser, make_job, make_run, django_assert_num_queries, django_assert_max_num_queries
):
    job = make_job()
    make_run(job)
    with django_assert_max_num_queries(11) as one:
        browser.get(page_of(job))
    for number in range(60):
        make_run(job, ago=timedelta(minutes=number))

    with django_assert_num_queries(len(one)):
        browser.get(page_of(job))


def test_run_now_makes_a_run_and_leads_to_it(browser, make_job):
    job = make_job()

    answer = browser.post(f"{page_of(job)}run/")

    run = Run.objects.get()
    assert (run.origin, run.job) == (Run.Origin.MANUAL, job)
    assert answer.url == f"/admin/jobs/run/{run.pk}/change/"
    assert LogEntry.objects.get().get_change_message() == "Ordered to run."


def test_run_now_of_a_disabled_job_says_why_not(browser, make_job):
    answer = browser.post(f"{page_of(make_job(state='disabled'))}run/", follow=True)

    assert "only an enabled job can be run" in answer.text
    assert not Run.objects.exists()


@pytest.mark.parametrize("order", ["run/", "state/"])
def test_orders_are_not_given_by_following_a_link(browser, make_job, order):
    browser.get(page_of(make_job()) + order)

    assert not Run.objects.exists()
    assert Job.objects.get().state == "enabled"


def test_a_job_is_disabled_and_enabled_and_both_are_in_its_changes(browser, make_job):
    job = make_job()

    browser.post(f"{page_of(job)}state/", {"state": "disabled"})
    stopped = browser.get(page_of(job)).text
    browser.post(f"{page_of(job)}state/", {"state": "enabled"})
    changes = browser.get(f"{page_of(job)}history/").text

    assert "Nothing while the job is disabled." in stopped
    assert "Disabled." in changes
    assert "Enabled." in changes


def test_a_state_that_nobody_can_set_is_ignored(browser, make_job):
    browser.post(f"{page_of(make_job())}state/", {"state": "completed"})

    assert Job.objects.get().state == "enabled"


def test_its_document_is_what_an_api_takes_without_secrets(browser, make_job):
    authentication = {"type": "Basic", "username": "ada", "password": "opensesame"}
    action = {
        "type": "Http",
        "request": {"uri": "https://x.example/", "method": "GET", "authentication": authentication},
    }

    page = browser.get(f"{page_of(make_job(action=action))}document/").text

    assert "&quot;username&quot;: &quot;ada&quot;" in page
    assert "opensesame" not in page


def test_deleting_asks_first_and_keeps_history(browser, make_job, make_run):
    job = make_job()
    make_run(job)

    question = browser.get(f"{page_of(job)}delete/").text
    browser.post(f"{page_of(job)}delete/", {"post": "yes"})

    assert "Delete backup" in question
    assert not Job.objects.exists()
    assert Run.objects.get().job is None


def test_an_unknown_page_of_history_is_the_first(browser, make_job, make_run):
    job = make_job()
    make_run(job)

    assert len(browser.get(f"{page_of(job)}?before=nonsense").context["runs"]) == 1


# Credentials and warnings


def certified(certificate, uri="https://x.example/") -> dict:
    proof = {"type": "ClientCertificate", "pfx": certificate.pfx, "password": certificate.password}
    return {"type": "Http", "request": {"uri": uri, "method": "GET", "authentication": proof}}


@pytest.mark.parametrize(
    "days, word", [(-3, "Expired"), (12, "Expires soon"), (40, None)], ids=["expired", "soon", "later"]
)
def test_a_certificate_is_shown_with_its_end_on_page_and_list(browser, make_job, authority, days, word):
    certificate = authority.client(expires_at=timezone.now() + timedelta(days=days))
    job = make_job(action=certified(certificate))

    page, jobs = browser.get(page_of(job)).text, browser.get("/admin/jobs/job/").text

    assert certificate.thumbprint in page
    assert certificate.subject in page
    for text in (page, jobs):
        assert (f"{word}</span>" in text) is bool(word)
    assert ("The client certificate" in page) is bool(word)


def test_a_certificate_of_the_error_action_counts_as_well(browser, make_job, authority):
    certificate = authority.client(expires_at=timezone.now() - timedelta(days=1))
    main = {"type": "Http", "request": {"uri": "https://x.example/", "method": "GET"}}
    job = make_job(action={**main, "errorAction": certified(certificate)})

    page = browser.get(page_of(job)).text

    assert certificate.thumbprint in page
    assert "Expired</span>" in page


def test_each_secret_says_since_when_it_is_set(browser, make_job):
    headers = {"X-Api-Key": "abcdefgh"}
    alarm = {"type": "Http", "request": {"uri": "https://y.example/", "method": "GET", "headers": headers}}
    proof = {"type": "Basic", "username": "ada", "password": "opensesame"}
    request = {"uri": "https://x.example/", "method": "GET", "authentication": proof}
    job = make_job(action={"type": "Http", "request": request, "errorAction": alarm})

    page = browser.get(page_of(job)).text

    assert "<dt>Password</dt><dd>set <time" in page
    assert "<dt>Error action: header x-api-key</dt>" in page
    assert "ada, with a password" in page


def test_credentials_without_tls_are_a_banner(browser, make_job):
    proof = {"type": "Basic", "username": "ada", "password": "opensesame"}
    request = {"uri": "http://x.example/", "method": "GET", "authentication": proof}

    page = browser.get(page_of(make_job(action={"type": "Http", "request": request}))).text

    assert "the credentials travel unencrypted" in page


BUS = {"namespace": "orders", "message": "hi"}


@pytest.mark.parametrize(
    "action, says",
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
def test_every_kind_of_action_is_said_in_words(browser, make_job, action, says):
    page = browser.get(page_of(make_job(action=action))).text

    assert says in page
    if "retryPolicy" in action:
        assert "3 more times, 30 s apart, then twice as long each time, at most 1 h" in page
