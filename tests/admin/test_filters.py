"""Filters of the lists: an unknown value is an error on the page, and lists nothing."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import JobCollection, Run
from operations.service import Caller
from triggers.collection_operations import DISABLE, start_operation

pytestmark = pytest.mark.database

RUNS = "/admin/jobs/run/"
MINUTE = timedelta(minutes=1)
FILTERS = {
    "jobs/job": ("collection", "state__exact", "failed"),
    "jobs/jobcollection": ("state__exact", "sku__exact"),
    "jobs/run": ("result", "days", "from", "to", "origin"),
    "maintenance/notice": ("status__exact", "event_type__exact", "source__exact"),
    "maintenance/resource": ("polls", "group"),
    "operations/operation": ("state__exact", "hours"),
    "triggers/trigger": ("format", "group", "enabled"),
    "accounts/user": ("is_active__exact", "is_staff__exact", "is_superuser__exact"),
    "django_celery_beat/periodictask": ("enabled__exact", "one_off__exact", "task"),
}


@pytest.fixture
def rows(make_job, make_run, make_trigger):
    """At least one row for most lists."""
    job = make_job()
    make_trigger(job)
    start_operation(DISABLE, job.collection, Caller(), timezone.now())
    return make_run(job)


@pytest.mark.parametrize(
    "model, name", [(model, name) for model, names in FILTERS.items() for name in [*names, "colour"]]
)
@pytest.mark.parametrize("value", ["x", "", "9999"])
def test_unknown_filter_or_value_is_an_error_and_lists_nothing(browser, rows, model, name, value):
    response = browser.get(f"/admin/{model}/?{name}={value}")

    assert response.status_code == 400
    assert list(response.context["cl"].result_list) == []
    (error,) = response.context["cl"].refusals
    assert value in error or name in error
    assert 'role="alert"' in response.text


def test_filter_error_lists_the_accepted_values(browser, rows):
    page = browser.get(f"{RUNS}?result=broken").text

    assert "Result: &#x27;broken&#x27; is unknown. It can be: failed or lost, lost, missed, skipped, late" in page


def test_action_on_a_list_with_an_invalid_filter_changes_nothing(browser, make_job):
    job = make_job()
    form = {"_selected_action": [job.pk], "action": "disable_ticked", "confirmed": "yes"}

    browser.post("/admin/jobs/job/?failed=x", form)

    job.refresh_from_db()
    assert job.state == "enabled"


@pytest.mark.parametrize(
    "result, expected",
    [
        ("failed", {"failed", "lost"}),
        ("lost", {"lost"}),
        ("held", {"held"}),
        ("late", {"late"}),
        ("succeeded", {"in time", "late"}),
        ("missed", {"missed"}),
        ("skipped", {"skipped"}),
        ("cancelled", {"cancelled"}),
        ("running", {"running", "following"}),
        ("waiting", {"waiting", "retrying"}),
    ],
)
def test_runs_are_filtered_by_each_result(browser, make_job, make_run, result, expected):
    for number, state in enumerate(Run.State):
        if state != Run.State.SUCCEEDED:
            make_run(make_job(state), state, ago=number * MINUTE, delay=5 * MINUTE)
    make_run(make_job("in-time"), delay=MINUTE)
    make_run(make_job("late"), delay=MINUTE + timedelta(seconds=1))

    found = browser.get(f"{RUNS}?result={result}").context["cl"].result_list

    assert {run.job_name.replace("-", " ") for run in found} == expected


def test_runs_are_filtered_by_fire_time(browser, make_job, make_run):
    job, now = make_job(), timezone.now()
    old, middle, new = (make_run(job, ago=hours * 60 * MINUTE) for hours in (3, 2, 1))
    since, until = (f"{now - hours * 60 * MINUTE:%Y-%m-%dT%H:%M:%SZ}" for hours in (2, 1))

    def list_runs(query):
        return list(browser.get(f"{RUNS}?{query}").context["cl"].result_list)

    assert list_runs(f"from={since}") == [new, middle]
    assert list_runs(f"to={since}") == [old]
    assert list_runs(f"from={since}&to={until}") == [middle]
    assert list_runs(f"from={since}&to={until}&result=failed") == []


def test_time_range_filter_is_shown_and_can_be_removed(browser, make_job, make_run):
    make_run(make_job())

    page = browser.get(f"{RUNS}?from=2026-11-04T11:00:00Z&to=2026-11-04T12:00:00Z").text

    assert "from today 11:00 to today 12:00" in page
    assert 'href="?days=1"' in page


def test_collection_filter_works_for_collections_that_are_not_listed(browser, make_job, subscription, monkeypatch):
    monkeypatch.setattr("jobs.admin.jobs.COLLECTIONS_LISTED", 1)
    last = JobCollection.objects.create(subscription=subscription, name="zoo")
    make_job("first")
    job = make_job("second", in_collection=last)

    response = browser.get(f"/admin/jobs/job/?collection={last.pk}")

    assert list(response.context["cl"].result_list) == [job]
