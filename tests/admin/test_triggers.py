"""The list of triggers, orders for one, and who may give them."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from tests.admin.forms import submitted
from tests.admin.trigger_pages import LIST, PREVIEW, add_to, page_of
from triggers.definitions import main_trigger
from triggers.mint.jobs import load
from triggers.models import Trigger

DAILY = {"startTime": "2027-06-01T00:00:00Z", "recurrence": {"frequency": "Day"}}


# Orders


def test_a_trigger_is_disabled_and_enabled(browser, trigger):
    off = browser.post(page_of(trigger, "state"), {"enabled": "no"}, follow=True)
    disabled = Trigger.objects.get()
    on = browser.post(page_of(trigger, "state"), {"enabled": "yes"}, follow=True)

    assert (disabled.enabled, disabled.next_fire_at) == (False, None)
    assert Trigger.objects.get().next_fire_at == trigger.next_fire_at
    assert "Disabled: hourly." in off.text
    assert "Enabled: hourly. The next run is" in on.text


@pytest.mark.parametrize("by_form", [True, False])
def test_a_trigger_of_an_event_gets_its_start_when_it_is_switched_on(browser, write, subscription, by_form):
    load(subscription, timezone.now() - timedelta(days=30))
    trigger = Trigger.objects.get(name__startswith="MINT.ADHOC")
    now = timezone.now()

    told = browser.get(f"/admin/jobs/job/{trigger.job_id}/").text
    if by_form:
        write(page_of(trigger, "change"), enabled="on")
    else:
        browser.post(page_of(trigger, "state"), {"enabled": "yes"})

    switched = Trigger.objects.get(pk=trigger.pk)
    assert "an event switches it on: it then starts at 21:00 UTC" in told
    assert now < switched.next_fire_at <= now + timedelta(days=1, seconds=1)
    assert (switched.next_fire_at.hour, switched.next_fire_at.minute) == (21, 0)


def test_a_deleted_trigger_is_gone_and_its_job_stays(browser, trigger):
    question = browser.get(page_of(trigger, "delete")).text
    deleted = browser.post(page_of(trigger, "delete"), {"post": "yes"})

    assert "Runs that it has made stay" in question
    assert deleted.url == f"/admin/jobs/job/{trigger.job_id}/"
    assert not Trigger.objects.exists()
    assert Job.objects.exists()


@pytest.mark.parametrize("page", ["change", "delete"])
def test_a_jobs_own_schedule_is_changed_with_the_job(browser, make_job, page):
    job = make_job(schedule=DAILY)

    answer = browser.post(page_of(main_trigger(job), page), {"post": "yes"})

    assert answer.url == f"/admin/jobs/job/{job.pk}/change/"
    assert Trigger.objects.exists()


def test_a_jobs_own_schedule_is_not_switched_off_beside_the_job(browser, make_job):
    own = main_trigger(make_job(schedule=DAILY))

    page = browser.post(page_of(own, "state"), {"enabled": "no"}, follow=True).text

    assert "the schedule in the job itself" in page
    assert Trigger.objects.get().enabled


def test_a_job_that_has_ended_gets_no_trigger(browser, job):
    Job.objects.update(state="completed")

    page = browser.get(add_to(job), follow=True).text

    assert "which is final" in page
    assert "Add a trigger" not in page


# The list


def test_a_row_says_what_when_and_where(browser, alive, make_job, make_trigger):
    job = make_job(schedule=DAILY)
    trigger = make_trigger(job, now=timezone.now(), group="mail")

    page = browser.get(LIST).text

    assert f'href="{page_of(trigger, "change")}">hourly</a>' in page
    assert f'href="/admin/jobs/job/{job.pk}/change/">Own schedule</a>' in page
    assert page.count(f'href="/admin/jobs/job/{job.pk}/">backup') == 2
    assert "every hour at :00 UTC" in page
    assert page.count("nobody serves it: its runs wait") == 1


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
def test_filters_and_search_narrow_the_list(browser, job, make_trigger, query, found):
    make_trigger(job)
    make_trigger(job, "stopped", enabled=False)
    make_trigger(job, "mailing", "once", definition={"at": "2099-01-01T00:00:00Z"}, group="mail")

    page = browser.get(LIST + query).text

    assert {name for name in ("hourly", "stopped", "mailing") if f">{name}</a>" in page} == found


def test_a_list_of_triggers_takes_the_same_queries_however_long(
    browser, make_job, make_trigger, django_assert_num_queries, django_assert_max_num_queries
):
    make_trigger(make_job())
    with django_assert_max_num_queries(8) as one:
        browser.get(LIST)
    for number in range(12):
        make_trigger(make_job(f"job-{number}"), group=f"group-{number}")

    with django_assert_num_queries(len(one)):
        page = browser.get(LIST).text

    assert page.count('<tr role="row"') == 26  # with the head, and one page


def test_what_fires_next_comes_first_and_what_does_not_last(browser, job, make_trigger):
    make_trigger(job, "off", enabled=False)
    make_trigger(job, "later", "once", definition={"at": "2099-01-01T00:00:00Z"})
    make_trigger(job, "sooner", "once", definition={"at": "2098-01-01T00:00:00Z"})

    page = browser.get(LIST).text

    assert page.index(">sooner<") < page.index(">later<") < page.index(">off<")


def test_an_empty_list_says_what_to_do(browser, subscription):
    assert "A job gets its triggers on its page." in browser.get(LIST).text
    assert "No trigger matches" in browser.get(LIST + "?q=nothing").text


def test_a_page_of_a_job_takes_the_same_queries_however_many_triggers(
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


# Who may what


def test_a_reader_sees_triggers_and_changes_nothing(browser_of, reader, trigger):
    browser = browser_of(reader)

    listed, page = browser.get(LIST).text, browser.get(f"/admin/jobs/job/{trigger.job_id}/").text
    refused = [
        browser.get(add_to(trigger.job)),
        browser.get(page_of(trigger, "change")),
        browser.post(page_of(trigger, "change"), {"priority": "1"}),
        browser.post(page_of(trigger, "state"), {"enabled": "no"}),
        browser.post(page_of(trigger, "delete"), {"post": "yes"}),
    ]

    assert f'href="/admin/jobs/job/{trigger.job_id}/">hourly</a>' in listed
    assert "every hour at :00 UTC" in page
    assert "Add a trigger" not in page
    assert page_of(trigger, "state") not in page
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert Trigger.objects.get().enabled


def test_an_operator_writes_triggers(browser_of, operator, job):
    browser = browser_of(operator)
    form = submitted(browser.get(add_to(job)).text, "trigger_form")

    saved = browser.post(add_to(job), form | {"name": "extra", "expression": "0 0 * * * ?"})

    assert saved.status_code == 302
    assert "Add a trigger" in browser.get(saved.url).text


def test_triggers_of_others_look_like_what_does_not_exist(browser_of, operator, elsewhere, make_job, make_trigger):
    job = make_job("theirs", in_collection=elsewhere, schedule=None)
    trigger = make_trigger(job, group="theirs")
    browser = browser_of(operator)

    answers = [
        browser.get(add_to(job)),
        browser.get(page_of(trigger, "change")),
        browser.get(page_of(trigger, "history")),
        browser.post(page_of(trigger, "state"), {"enabled": "no"}),
        browser.post(page_of(trigger, "delete"), {"post": "yes"}),
        browser.post(f"{PREVIEW}?trigger={trigger.pk}", {}),
        browser.post(f"{PREVIEW}?job={job.pk}", {}),
    ]

    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert "theirs" not in browser.get(LIST).text
    assert Trigger.objects.get().enabled


@pytest.mark.parametrize("address", ["add/", "add/?job=0", "add/?job=x", "0/change/", "x/change/", "0/delete/"])
def test_what_does_not_exist_is_not_found(browser, db, address):
    assert browser.get(LIST + address).status_code == 404


def test_orders_take_a_post_with_its_token(client, owner, trigger):
    strict = type(client)(enforce_csrf_checks=True)
    strict.force_login(owner)

    strict.get(page_of(trigger, "state"))
    refused = strict.post(page_of(trigger, "state"), {"enabled": "no"})

    assert refused.status_code == 403
    assert Trigger.objects.get().enabled
