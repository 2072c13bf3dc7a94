"""Outages and missed runs in the admin."""

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs import outages
from jobs.models import LastPass, Outage, Process, Run
from scheduler_site import dashboard
from scheduler_site.outcome_hours import spread
from tests.conftest import utc

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NEVER_YET = {"startTime": "2027-06-01T00:00:00Z"}
OUTAGE_TEXT = "The scheduler did not run from 08:51:41 to 08:55:27"  # the current time is 2026-11-04, 12:32


@pytest.fixture
def job(make_job):
    return make_job(schedule=NEVER_YET)


@pytest.fixture
def outage(db):
    return Outage.objects.create(started_at=utc("2026-11-04T08:51:41Z"), ended_at=utc("2026-11-04T08:55:27Z"))


@pytest.fixture
def runs(job, make_run):
    """Runs affected by the outage, three missed and one late, and two that are not affected."""
    now = timezone.now()

    def run_at(name, state=Run.State.MISSED, **fields):
        return make_run(job, state, ago=now - utc(f"2026-11-04T{name}Z"), **fields)

    return {
        "before": run_at("08:51:00", Run.State.SUCCEEDED),
        **{name: run_at(name) for name in ("08:52:00", "08:53:00", "08:54:00")},
        "late": run_at("08:55:00", Run.State.SUCCEEDED, delay=timedelta(seconds=28)),
        "after": run_at("08:56:00", Run.State.SUCCEEDED),
    }


# Home


def test_home_shows_an_outage_and_counts_missed_runs(browser, alive, outage, runs):
    response = browser.get("/admin/")

    assert response.context["health"].word == "The scheduler is running"
    assert response.context["health"].advice == f"{OUTAGE_TEXT}. 3 runs were missed in the last 24 h."
    assert response.context["missed"] == 3
    (row,) = response.context["outage_rows"]
    assert (row["words"], row["length"], row["missed"]) == (OUTAGE_TEXT, "3 min 46 s", 3)
    run_list = browser.get(row["url"]).context["cl"].result_list
    assert [run.state for run in run_list] == ["succeeded", "missed", "missed", "missed"]


def test_home_shows_if_runs_were_missed(browser, alive, job, make_run):
    before = browser.get("/admin/pulse/").context["health"].advice
    make_run(job, Run.State.MISSED)
    after = browser.get("/admin/pulse/").context["health"].advice

    assert before == "No due run was missed in the last 24 h."
    assert after == "1 run was missed in the last 24 h."


def test_several_outages_are_summarized(browser, alive):
    now = timezone.now()
    for hours in (30, 5, 3):
        Outage.objects.create(started_at=now - hours * HOUR, ended_at=now - hours * HOUR + 2 * MINUTE)

    response = browser.get("/admin/")

    assert response.context["health"].advice == "It had 2 outages in the last 24 h, 4 min in total."
    assert len(response.context["outage_rows"]) == 2


def test_stopped_scheduler_is_shown_with_its_last_pass(browser):
    """A beat that ends normally deletes its process row."""
    LastPass.objects.create(pk=outages.ONLY, at=timezone.now() - 5 * MINUTE)

    response = browser.get("/admin/")

    assert response.context["health"].word == "The scheduler is not running"
    assert "5 min ago" in response.context["health"].advice
    assert [row["words"] for row in response.context["outage_rows"]] == ["The scheduler has not run since 12:27:00"]


def test_run_with_many_missed_fire_times_is_counted_in_each_hour(browser, alive, owner, job, make_run):
    """2,880 fire times in two days, until an hour ago: those of 23 hours are in the last day."""
    now = timezone.now()
    Outage.objects.create(started_at=now - 3 * DAY, ended_at=now - HOUR)
    until = now - HOUR
    make_run(job, Run.State.MISSED, ago=2 * DAY + HOUR, missed_count=2880, missed_until=until)

    context = browser.get("/admin/").context
    hours = dashboard.outcomes_by_hour(owner, now)

    assert context["missed"] == 1380
    assert [hour["missed"] for hour in hours[:-2]] == [60] * 22
    assert hours[-1]["missed"] == 0


def test_spread_fire_times_add_up():
    first = utc("2026-11-04T08:20:00Z")
    starts = [utc("2026-11-04T07:00:00Z") + number * HOUR for number in range(5)]

    shares = dict(spread(1001, first, first + 2 * HOUR, starts))

    assert sum(shares.values()) == 1001
    assert starts[0] not in shares
    assert starts[4] not in shares
    assert shares[starts[1]] == 334
    assert dict(spread(7, first, first, starts)) == {starts[1]: 7}


def test_chart_shows_all_outcomes_and_links_to_the_runs_of_an_hour(browser, job, make_run):
    for number, state in enumerate([Run.State.MISSED, Run.State.SKIPPED, Run.State.FAILED, Run.State.SUCCEEDED]):
        make_run(job, state, ago=HOUR + number * MINUTE)
    make_run(job, ago=3 * HOUR)

    response = browser.get("/admin/")

    bar = next(bar for bar in response.context["chart"].bars if bar.hour.failed)
    assert {part.kind for part in bar.parts} == {"ran", "failed", "missed", "skipped"}
    assert bar.hour.words == "today 11:00: 1 succeeded, 1 failed, 1 missed, 1 skipped"
    assert f'<a href="{bar.hour.url.replace("&", "&amp;")}"' in response.text
    assert len(browser.get(bar.hour.url).context["cl"].result_list) == 4
    assert "1 failed, 1 missed" in response.context["chart_title"]


def test_table_of_outcomes_links_to_the_runs_of_an_hour(browser, job, make_run):
    make_run(job, Run.State.MISSED)

    response = browser.get("/admin/outcomes/")

    (hour,) = [hour for hour in response.context["hours"] if hour["total"]]
    assert hour["missed"] == 1
    assert f'href="{hour["url"].replace("&", "&amp;")}"' in response.text


# Jobs and runs


def test_missed_runs_lower_the_success_rate_of_a_job(browser, job, outage, runs):
    response = browser.get(f"/admin/jobs/job/{job.pk}/")

    assert response.context["record"].startswith("50 % of 6 due runs succeeded")
    assert response.text.count(OUTAGE_TEXT) == 4


def test_run_with_many_missed_fire_times_counts_as_many_due_runs(browser, job, make_run):
    make_run(job)
    until = timezone.now() - HOUR
    make_run(job, Run.State.MISSED, ago=2 * DAY, missed_count=1200, missed_until=until)

    record = browser.get(f"/admin/jobs/job/{job.pk}/").context["record"]

    assert record.startswith("less than 1 % of 1,201 due runs succeeded")


def test_run_list_marks_runs_affected_by_an_outage(browser, outage, runs):
    assert browser.get("/admin/jobs/run/").text.count(OUTAGE_TEXT) == 4


@pytest.mark.parametrize("name, is_affected", [("08:52:00", True), ("late", True), ("before", False), ("after", False)])
def test_run_page_shows_an_outage_that_affected_the_run(browser, outage, runs, name, is_affected):
    steps = browser.get(f"/admin/jobs/run/{runs[name].pk}/change/").context["steps"]

    assert (steps[1]["what"] == OUTAGE_TEXT) == is_affected


def test_outage_across_midnight_names_both_days(browser, job, make_run):
    outage = Outage.objects.create(started_at=utc("2026-11-02T23:59:02Z"), ended_at=utc("2026-11-03T00:01:10Z"))
    run = make_run(job, Run.State.MISSED, ago=timezone.now() - outage.started_at - MINUTE)

    steps = browser.get(f"/admin/jobs/run/{run.pk}/change/").context["steps"]

    expected = "The scheduler did not run from Mon 2 November, 23:59:02 to Tue 3 November, 00:01:10"
    assert steps[1]["what"] == expected


def test_pulse_does_not_show_old_outages(browser, alive):
    now = timezone.now()
    Outage.objects.create(started_at=now - 2 * DAY, ended_at=now - 2 * DAY + HOUR)
    Process.objects.update(seen_at=now)

    assert browser.get("/admin/pulse/").context["outages"] == []
