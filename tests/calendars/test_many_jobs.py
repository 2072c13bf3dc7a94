"""Pages with many jobs: a page reads a bounded number of rows, and shows how many jobs are hidden."""

import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Role
from calendars import feeds
from calendars.pages import chosen_jobs, future_runs, past_runs, search
from jobs.models import Action, Job, Run
from tests.calendars.job_runs import LATER, load_view, row
from tests.conftest import ACTION, utc
from triggers.models import Trigger

pytestmark = pytest.mark.django_db

MAX_JOBS = 5  # jobs that a page shows in these tests
SMALL, LARGE = 20, 60
DAY = timedelta(days=1)
PAGES = {
    "month": "/calendar/?date=2026-10-20",
    "week": "/calendar/?view=week&date=2026-10-20",
    "day": "/calendar/?view=day&date=2026-10-20",
    "agenda": "/calendar/?view=agenda&date=2026-10-19",
    "what comes": "/calendar/?view=day&date=2026-10-24",
    "failures": "/calendar/?date=2026-10-20&failures=1",
    "search": "/calendar/?q=many",
}


@pytest.fixture(autouse=True)
def limits(monkeypatch, time_machine):
    time_machine.move_to(LATER)
    monkeypatch.setattr(chosen_jobs, "MOST_JOBS", MAX_JOBS)
    monkeypatch.setattr(future_runs, "MOST_TRIGGERS", MAX_JOBS)
    monkeypatch.setattr(search, "MOST_JOBS", MAX_JOBS)


@pytest.fixture
def make_many(collection):
    """Return a function that creates daily jobs at different minutes, with runs on 19 and 20 October."""

    def make(count: int) -> list[Job]:
        action = Action.objects.create(document=ACTION)
        first = Job.objects.count()
        jobs = [Job(collection=collection, name=f"many-{first + number}", action=action) for number in range(count)]
        Job.objects.bulk_create(jobs)
        at = {job: utc("2026-10-19T06:00Z") + number * timedelta(minutes=1) for number, job in enumerate(jobs)}
        Trigger.objects.bulk_create(
            Trigger(
                job=job,
                definition={"recurrence": {"frequency": "Day"}},
                anchored_at=at[job],
                next_fire_at=at[job] + 3 * DAY,
            )
            for job in jobs
        )
        Run.objects.bulk_create(
            row(job, at[job] + day * DAY, "failed" if number % 4 == day else "succeeded")
            for number, job in enumerate(jobs)
            for day in range(2)
        )
        return jobs

    return make


def count_fetched_rows(get) -> int:
    """Count the rows of all queries of a request."""
    with CaptureQueriesContext(connection) as captured:
        assert get().status_code == 200
    count = 0
    with connection.cursor() as cursor:
        for query in captured:
            if query["sql"].lstrip("( ").startswith("SELECT"):
                cursor.execute(f"SELECT COUNT(*) FROM ({query['sql']}) AS rows_of_it")
                count += cursor.fetchone()[0]
    return count


@pytest.mark.parametrize("address", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("is_superuser", [True, False])
def test_calendar_page_fetches_no_more_rows_with_more_jobs(client, make_user, make_many, address, is_superuser):
    client.force_login(make_user("ada", Role.OPERATOR, is_superuser=is_superuser))
    make_many(SMALL)
    rows_with_few_jobs = count_fetched_rows(lambda: client.get(address))
    make_many(LARGE - SMALL)

    rows_with_many_jobs = count_fetched_rows(lambda: client.get(address))

    assert rows_with_many_jobs <= rows_with_few_jobs


def test_feed_fetches_no_more_rows_with_more_jobs(client, owner, make_many):
    _, secret = feeds.make(owner, "runs", LATER, query={"runs": True})
    make_many(SMALL)
    rows_with_few_jobs = count_fetched_rows(lambda: client.get(f"/calendar/feeds/{secret}.ics"))
    make_many(LARGE - SMALL)

    assert count_fetched_rows(lambda: client.get(f"/calendar/feeds/{secret}.ics")) <= rows_with_few_jobs


def test_feed_counts_its_hidden_jobs(client, owner, make_many):
    _, secret = feeds.make(owner, "runs", LATER, query={"runs": True})
    make_many(LARGE)

    answer = client.get(f"/calendar/feeds/{secret}.ics").content.decode()

    assert f"SUMMARY:At least {LARGE - MAX_JOBS} more jobs are not shown." in answer


def test_calendar_page_counts_its_hidden_jobs(owner, make_many):
    make_many(LARGE)

    view = load_view(owner)

    assert len({run.job_id for run in view.runs}) <= 2 * MAX_JOBS  # jobs with past runs, and jobs with planned runs
    assert view.hidden_jobs == LARGE - MAX_JOBS


def test_few_jobs_are_all_shown(owner, make_many):
    make_many(MAX_JOBS)

    assert load_view(owner).hidden_jobs == 0


def test_jobs_that_failed_are_shown_first(owner, make_many):
    jobs = make_many(LARGE)
    Run.objects.update(state="succeeded")
    failing = {job.pk for job in jobs[-MAX_JOBS:]}
    Run.objects.filter(job__in=failing, fire_at__lt=utc("2026-10-20T00:00Z")).update(state="failed")

    view = load_view(owner, "2026-10-19", "2026-10-21")

    assert {run.job_id for run in view.runs} == failing


def test_job_that_ran_long_before_frequent_jobs_is_shown(owner, make_many, make_job, monkeypatch):
    monkeypatch.setattr(chosen_jobs, "RUNS_LOOKED_AT", 10)
    weekly = make_job("weekly", schedule=None)
    Run.objects.bulk_create([row(weekly, utc("2026-10-18T23:00Z"))])
    make_many(MAX_JOBS - 1)
    busy = Job.objects.exclude(pk=weekly.pk).first()
    Run.objects.bulk_create(row(busy, utc("2026-10-20T20:00Z") + n * timedelta(minutes=20)) for n in range(20))

    assert weekly.pk in {run.job_id for run in load_view(owner, end="2026-10-21").runs}


def test_number_of_hidden_jobs_is_unknown_if_not_all_were_read(owner, make_many, monkeypatch):
    monkeypatch.setattr(chosen_jobs, "RUNS_LOOKED_AT", 4)
    monkeypatch.setattr(chosen_jobs, "JOBS_LOOKED_AT", 2)
    make_many(MAX_JOBS)

    assert load_view(owner, end="2026-10-21").hidden_jobs is None


def test_number_of_counted_groups_is_limited(owner, make_many, monkeypatch):
    monkeypatch.setattr(past_runs, "MOST_GROUPS", 7)
    make_many(MAX_JOBS)

    view = load_view(owner, end="2026-10-21")

    assert len(view.runs) == 6  # three jobs on two days
    assert view.hidden_jobs == MAX_JOBS - 3


def test_note_about_hidden_jobs_links_to_the_runs_of_the_day(load_page, make_many, client):
    make_many(LARGE)

    page = load_page("view=day&date=2026-10-20")

    entry = re.search(r'At least (\d+) more jobs are not shown.</strong> <a href="([^"]+)"', page)
    assert int(entry[1]) == LARGE - MAX_JOBS
    listed = client.get(html.unescape(entry[2]))
    assert listed.status_code == 200
    assert {run.fire_at.date().isoformat() for run in listed.context["cl"].result_list} == {"2026-10-20"}
    assert listed.context["cl"].result_count == LARGE


def test_member_can_open_the_list_of_runs(load_page_as, client, make_user, make_many):
    make_many(LARGE)
    rita = make_user("rita", Role.READER)

    entry = re.search(r'not shown.</strong> <a href="([^"]+)"', load_page_as(rita)("view=day&date=2026-10-20"))

    client.force_login(rita)
    assert client.get(html.unescape(entry[1])).context["cl"].result_count == LARGE


def test_search_notes_hidden_jobs(load_page, make_many):
    make_many(LARGE)

    assert "more runs than this view can show" in load_page("q=MANY-")
    assert "more runs than this view can show" not in load_page("q=many-59")
