"""With more jobs than a page shows, it reads no more rows, and says how many jobs are folded."""

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
from tests.calendars.job_runs import LATER, row, view
from tests.conftest import ACTION, utc
from triggers.models import Trigger

pytestmark = pytest.mark.django_db

MOST = 5  # jobs of a page here
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
    monkeypatch.setattr(chosen_jobs, "MOST_JOBS", MOST)
    monkeypatch.setattr(future_runs, "MOST_TRIGGERS", MOST)
    monkeypatch.setattr(search, "MOST_JOBS", MOST)


@pytest.fixture
def make_many(collection):
    """Make jobs that run daily, each at a minute of its own, and their runs of 19 and 20 October."""

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


def rows_fetched(get) -> int:
    """Count the rows of all queries of a request."""
    with CaptureQueriesContext(connection) as asked:
        assert get().status_code == 200
    count = 0
    with connection.cursor() as cursor:
        for query in asked:
            if query["sql"].lstrip("( ").startswith("SELECT"):
                cursor.execute(f"SELECT COUNT(*) FROM ({query['sql']}) AS rows_of_it")
                count += cursor.fetchone()[0]
    return count


@pytest.mark.parametrize("address", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("is_superuser", [True, False])
def test_a_page_fetches_no_more_rows_with_more_jobs(client, make_user, make_many, address, is_superuser):
    client.force_login(make_user("ada", Role.OPERATOR, is_superuser=is_superuser))
    make_many(SMALL)
    of_few = rows_fetched(lambda: client.get(address))
    make_many(LARGE - SMALL)

    of_many = rows_fetched(lambda: client.get(address))

    assert of_many <= of_few


def test_a_feed_fetches_no_more_rows_with_more_jobs(client, owner, make_many):
    _, secret = feeds.make(owner, "runs", LATER, query={"runs": True})
    make_many(SMALL)
    of_few = rows_fetched(lambda: client.get(f"/calendar/feeds/{secret}.ics"))
    make_many(LARGE - SMALL)

    assert rows_fetched(lambda: client.get(f"/calendar/feeds/{secret}.ics")) <= of_few


def test_a_feed_says_how_many_jobs_are_left_out(client, owner, make_many):
    _, secret = feeds.make(owner, "runs", LATER, query={"runs": True})
    make_many(LARGE)

    answer = client.get(f"/calendar/feeds/{secret}.ics").content.decode()

    assert f"SUMMARY:At least {LARGE - MOST} more jobs are not shown." in answer


def test_jobs_that_are_not_shown_are_counted(owner, make_many):
    make_many(LARGE)

    seen = view(owner)

    assert len({run.job_id for run in seen.runs}) <= 2 * MOST  # that were, and that come
    assert seen.hidden_jobs == LARGE - MOST


def test_with_few_jobs_nothing_is_folded(owner, make_many):
    make_many(MOST)

    assert view(owner).hidden_jobs == 0


def test_jobs_that_failed_are_shown_first(owner, make_many):
    jobs = make_many(LARGE)
    Run.objects.update(state="succeeded")
    failing = {job.pk for job in jobs[-MOST:]}
    Run.objects.filter(job__in=failing, fire_at__lt=utc("2026-10-20T00:00Z")).update(state="failed")

    seen = view(owner, "2026-10-19", "2026-10-21")

    assert {run.job_id for run in seen.runs} == failing


def test_a_job_that_ran_long_before_frequent_ones_is_found(owner, make_many, make_job, monkeypatch):
    monkeypatch.setattr(chosen_jobs, "RUNS_LOOKED_AT", 10)
    weekly = make_job("weekly", schedule=None)
    Run.objects.bulk_create([row(weekly, utc("2026-10-18T23:00Z"))])
    make_many(MOST - 1)
    busy = Job.objects.exclude(pk=weekly.pk).first()
    Run.objects.bulk_create(row(busy, utc("2026-10-20T20:00Z") + n * timedelta(minutes=20)) for n in range(20))

    assert weekly.pk in {run.job_id for run in view(owner, end="2026-10-21").runs}


def test_when_not_all_jobs_were_looked_at_the_page_says_that_there_may_be_more(owner, make_many, monkeypatch):
    monkeypatch.setattr(chosen_jobs, "RUNS_LOOKED_AT", 4)
    monkeypatch.setattr(chosen_jobs, "JOBS_LOOKED_AT", 2)
    make_many(MOST)

    assert view(owner, end="2026-10-21").hidden_jobs is None


def test_no_more_groups_are_counted_than_a_page_may_fetch(owner, make_many, monkeypatch):
    monkeypatch.setattr(past_runs, "MOST_GROUPS", 7)
    make_many(MOST)

    seen = view(owner, end="2026-10-21")

    assert len(seen.runs) == 6  # of three jobs, on two days
    assert seen.hidden_jobs == MOST - 3


def test_the_entry_counts_the_jobs_and_leads_to_the_list_of_the_days(look, make_many, client):
    make_many(LARGE)

    page = look("view=day&date=2026-10-20")

    entry = re.search(r'At least (\d+) more jobs are not shown.</strong> <a href="([^"]+)"', page)
    assert int(entry[1]) == LARGE - MOST
    listed = client.get(html.unescape(entry[2]))
    assert listed.status_code == 200
    assert {run.fire_at.date().isoformat() for run in listed.context["cl"].result_list} == {"2026-10-20"}
    assert listed.context["cl"].result_count == LARGE


def test_a_member_is_led_to_the_list_as_well(look_as, client, make_user, make_many):
    make_many(LARGE)
    rita = make_user("rita", Role.READER)

    entry = re.search(r'not shown.</strong> <a href="([^"]+)"', look_as(rita)("view=day&date=2026-10-20"))

    client.force_login(rita)
    assert client.get(html.unescape(entry[1])).context["cl"].result_count == LARGE


def test_a_search_says_that_it_found_more_jobs(look, make_many):
    make_many(LARGE)

    assert "more runs than this view can show" in look("q=MANY-")
    assert "more runs than this view can show" not in look("q=many-59")
