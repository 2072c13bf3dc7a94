"""Triggers in the admin: the list, actions, and permissions."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from tests.admin.forms import submitted
from tests.admin.trigger_pages import LIST, PREVIEW, add_url, trigger_url
from triggers.definitions import main_trigger
from triggers.mint.jobs import load
from triggers.models import Trigger

DAILY = {"startTime": "2027-06-01T00:00:00Z", "recurrence": {"frequency": "Day"}}


# Actions


def test_trigger_can_be_disabled_and_enabled(browser, trigger):
    off = browser.post(trigger_url(trigger, "state"), {"enabled": "no"}, follow=True)
    disabled = Trigger.objects.get()
    on = browser.post(trigger_url(trigger, "state"), {"enabled": "yes"}, follow=True)

    assert (disabled.enabled, disabled.next_fire_at) == (False, None)
    assert Trigger.objects.get().next_fire_at == trigger.next_fire_at
    assert "Disabled: hourly." in off.text
    assert "Enabled: hourly. The next run is" in on.text


@pytest.mark.parametrize("is_form", [True, False])
def test_event_trigger_gets_its_start_when_it_is_enabled(browser, submit_form, subscription, is_form):
    load(subscription, timezone.now() - timedelta(days=30))
    trigger = Trigger.objects.get(name__startswith="MINT.ADHOC")
    now = timezone.now()

    page_before = browser.get(f"/admin/jobs/job/{trigger.job_id}/").text
    if is_form:
        submit_form(trigger_url(trigger, "change"), enabled="on")
    else:
        browser.post(trigger_url(trigger, "state"), {"enabled": "yes"})

    enabled = Trigger.objects.get(pk=trigger.pk)
    assert "enabled by an event; then starts at 21:00 UTC" in page_before
    assert now < enabled.next_fire_at <= now + timedelta(days=1, seconds=1)
    assert (enabled.next_fire_at.hour, enabled.next_fire_at.minute) == (21, 0)


def test_deleting_a_trigger_keeps_its_job(browser, trigger):
    confirmation = browser.get(trigger_url(trigger, "delete")).text
    deleted = browser.post(trigger_url(trigger, "delete"), {"post": "yes"})

    assert "Its past runs stay" in confirmation
    assert deleted.url == f"/admin/jobs/job/{trigger.job_id}/"
    assert not Trigger.objects.exists()
    assert Job.objects.exists()


@pytest.mark.parametrize("page", ["change", "delete"])
def test_own_schedule_of_a_job_is_changed_in_the_job_form(browser, make_job, page):
    job = make_job(schedule=DAILY)

    response = browser.post(trigger_url(main_trigger(job), page), {"post": "yes"})

    assert response.url == f"/admin/jobs/job/{job.pk}/change/"
    assert Trigger.objects.exists()


def test_own_schedule_of_a_job_cannot_be_disabled_separately(browser, make_job):
    own = main_trigger(make_job(schedule=DAILY))

    page = browser.post(trigger_url(own, "state"), {"enabled": "no"}, follow=True).text

    assert "the schedule in the job itself" in page
    assert Trigger.objects.get().enabled


def test_completed_job_cannot_get_a_trigger(browser, job):
    Job.objects.update(state="completed")

    page = browser.get(add_url(job), follow=True).text

    assert "cannot be changed" in page
    assert "Add a trigger" not in page


# The list


def test_row_shows_trigger_job_and_schedule(browser, alive, make_job, make_trigger):
    job = make_job(schedule=DAILY)
    trigger = make_trigger(job, now=timezone.now(), group="mail")

    page = browser.get(LIST).text

    assert f'href="{trigger_url(trigger, "change")}">hourly</a>' in page
    assert f'href="/admin/jobs/job/{job.pk}/change/">Own schedule</a>' in page
    assert page.count(f'href="/admin/jobs/job/{job.pk}/">backup') == 2
    assert "every hour at :00 UTC" in page
    assert page.count("no worker serves it: its runs wait") == 1


@pytest.mark.parametrize(
    "query, found",
    [
        ("", {"hourly", "stopped", "mailing"}),
        ("?q=mail", {"mailing"}),
        ("?q=backup", {"hourly", "stopped", "mailing"}),
        ("?format=once", {"mailing"}),
        ("?group=mail", {"mailing"}),
        ("?enabled=no", {"stopped"}),
        ("?enabled=yes&format=quartz", {"hourly"}),
    ],
)
def test_trigger_list_is_filtered_and_searched(browser, job, make_trigger, query, found):
    make_trigger(job)
    make_trigger(job, "stopped", enabled=False)
    make_trigger(job, "mailing", "once", definition={"at": "2099-01-01T00:00:00Z"}, group="mail")

    page = browser.get(LIST + query).text

    assert {name for name in ("hourly", "stopped", "mailing") if f">{name}</a>" in page} == found


def test_trigger_list_takes_the_same_number_of_queries_for_any_length(
    browser, make_job, make_trigger, django_assert_num_queries, django_assert_max_num_queries
):
    make_trigger(make_job())
    with django_assert_max_num_queries(8) as one:
        browser.get(LIST)
    for number in range(12):
        make_trigger(make_job(f"job-{number}"), group=f"group-{number}")

    with django_assert_num_queries(len(one)):
        page = browser.get(LIST).text

    assert page.count('<tr role="row"') == 26  # the header and one page of rows


def test_trigger_list_is_sorted_by_next_fire_time(browser, job, make_trigger):
    make_trigger(job, "off", enabled=False)
    make_trigger(job, "later", "once", definition={"at": "2099-01-01T00:00:00Z"})
    make_trigger(job, "sooner", "once", definition={"at": "2098-01-01T00:00:00Z"})

    page = browser.get(LIST).text

    assert page.index(">sooner<") < page.index(">later<") < page.index(">off<")


def test_empty_trigger_list_shows_a_hint(browser, subscription):
    assert "Add triggers on the page of a job." in browser.get(LIST).text
    assert "No trigger matches" in browser.get(LIST + "?q=nothing").text


def test_job_page_takes_the_same_number_of_queries_for_any_number_of_triggers(
    browser, job, make_trigger, django_assert_num_queries, django_assert_max_num_queries
):
    make_trigger(job)
    address = f"/admin/jobs/job/{job.pk}/"
    with django_assert_max_num_queries(15) as one:
        browser.get(address)
    for number in range(12):
        make_trigger(job, f"trigger-{number}", group=f"group-{number}")

    with django_assert_num_queries(len(one)):
        browser.get(address)


# Permissions


def test_reader_can_see_but_not_change_triggers(sign_in_as, reader, trigger):
    browser = sign_in_as(reader)

    list_page, page = browser.get(LIST).text, browser.get(f"/admin/jobs/job/{trigger.job_id}/").text
    refused = [
        browser.get(add_url(trigger.job)),
        browser.get(trigger_url(trigger, "change")),
        browser.post(trigger_url(trigger, "change"), {"priority": "1"}),
        browser.post(trigger_url(trigger, "state"), {"enabled": "no"}),
        browser.post(trigger_url(trigger, "delete"), {"post": "yes"}),
    ]

    assert f'href="/admin/jobs/job/{trigger.job_id}/">hourly</a>' in list_page
    assert "every hour at :00 UTC" in page
    assert "Add a trigger" not in page
    assert trigger_url(trigger, "state") not in page
    assert [response.status_code for response in refused] == [403] * len(refused)
    assert Trigger.objects.get().enabled


def test_operator_can_add_triggers(sign_in_as, operator, job):
    browser = sign_in_as(operator)
    form = submitted(browser.get(add_url(job)).text, "trigger_form")

    saved = browser.post(add_url(job), form | {"name": "extra", "tab": "quartz", "expression": "0 0 * * * ?"})

    assert saved.status_code == 302
    assert "Add a trigger" in browser.get(saved.url).text


def test_triggers_of_other_subscriptions_are_not_found(
    sign_in_as, operator, collection_of_others, make_job, make_trigger
):
    job = make_job("theirs", in_collection=collection_of_others, schedule=None)
    trigger = make_trigger(job, group="theirs")
    browser = sign_in_as(operator)

    responses = [
        browser.get(add_url(job)),
        browser.get(trigger_url(trigger, "change")),
        browser.get(trigger_url(trigger, "history")),
        browser.post(trigger_url(trigger, "state"), {"enabled": "no"}),
        browser.post(trigger_url(trigger, "delete"), {"post": "yes"}),
        browser.post(f"{PREVIEW}?trigger={trigger.pk}", {}),
        browser.post(f"{PREVIEW}?job={job.pk}", {}),
    ]

    assert [response.status_code for response in responses] == [404] * len(responses)
    assert "theirs" not in browser.get(LIST).text
    assert Trigger.objects.get().enabled


@pytest.mark.parametrize("address", ["add/", "add/?job=0", "add/?job=x", "0/change/", "x/change/", "0/delete/"])
def test_unknown_trigger_is_not_found(browser, db, address):
    assert browser.get(LIST + address).status_code == 404


def test_trigger_actions_require_a_csrf_token(client, owner, trigger):
    strict = type(client)(enforce_csrf_checks=True)
    strict.force_login(owner)

    strict.get(trigger_url(trigger, "state"))
    refused = strict.post(trigger_url(trigger, "state"), {"enabled": "no"})

    assert refused.status_code == 403
    assert Trigger.objects.get().enabled
