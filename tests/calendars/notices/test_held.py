"""Runs that announced maintenance will hold, in each view of the calendar page."""

import re
from datetime import timedelta

import pytest

from maintenance.models import Notice
from tests.calendars.job_runs import LATER, add_run
from tests.calendars.notices.reading import FRIDAY, HOUR, THURSDAY, cell, notices, reboot_of, rows, runs, words
from tests.conftest import utc
from tests.maintenance.notices import announce, holds
from triggers.gates import HoldWindow
from triggers.upcoming import find_hold

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("view", ["month", "week", "workweek", "day"])
def test_run_that_will_be_held_is_shown_at_both_times(load_page, reboot, invoices, view):
    assert runs(cell(load_page(f"view={view}&date={THURSDAY}"), THURSDAY)) == [
        "held: 18:00 invoices , held, held by maintenance: Reboot of db-2",
        "planned: 18:30 invoices , planned, once, after maintenance",
    ]


def test_legend_contains_held_runs(load_page, reboot, invoices):
    page = load_page(f"view=day&date={THURSDAY}")

    assert re.search(r'<li data-state="held"><svg.*?</svg>held</li>', page)


def test_runs_on_other_days_are_not_held(load_page, reboot, invoices):
    assert runs(cell(load_page(), FRIDAY)) == ["planned: 18:00 invoices , planned"]


def test_agenda_lists_held_runs(load_page, reboot, invoices):
    assert rows(load_page(f"view=agenda&date={THURSDAY}"))[1:] == [
        "18:00 invoices nightly · regular Held held by maintenance: Reboot of db-2",
        "18:30 invoices nightly · regular Planned once, after maintenance",
    ]


def test_held_runs_are_shown_without_the_maintenance_layer(load_page, reboot, invoices):
    assert runs(load_page(f"view=day&date={THURSDAY}&nomaintenance=1"))[0].startswith("held: 18:00")


def test_popover_of_a_held_run_shows_when_it_will_start(popover, reboot, invoices):
    item = popover("run")

    assert item["outcome"].mark == "held"
    assert item["reason"] == "Held by maintenance: Reboot of db-2"
    assert item["replacement"] == "once after the maintenance, at about Thu 29 October, 18:30"


def test_dropped_run_is_shown_only_once(load_page, reboot, make_planned, popover):
    holds(make_planned().job, on_end="drop", now=LATER)

    assert runs(load_page(f"view=day&date={THURSDAY}")) == [
        "held: 18:00 invoices , held, held by maintenance: Reboot of db-2"
    ]
    assert popover("run")["replacement"] == "not at all"


def test_policy_that_runs_the_latest_shows_one_released_run(load_page, db2, make_planned):
    holds(make_planned("0 0/30 17-18 * * ?").job, now=LATER)
    reboot_of(db2)

    times = [text.split(" ")[:2] for text in runs(load_page(f"view=day&date={THURSDAY}"))]

    assert times == [["planned:", "17:00"], ["held:", "17:30"], ["held:", "18:00"], *[["planned:", "18:30"]] * 2]


def test_jobs_that_do_not_hold_and_jobs_of_other_resources_run_as_planned(load_page, reboot, make_planned):
    make_planned(name="careless")
    holds(make_planned(name="elsewhere").job, "web-1", now=LATER)

    assert runs(cell(load_page(), THURSDAY)) == [
        "planned: 18:00 careless , planned",
        "planned: 18:00 elsewhere , planned",
    ]


def test_lead_time_of_a_hold_is_shown(load_page, db2, make_planned):
    holds(make_planned().job, lead_time=HOUR, now=LATER)
    reboot_of(db2, at=f"{THURSDAY}T18:15")

    day = load_page(f"view=day&date={THURSDAY}")

    assert 'class="placed background lead" data-h="17" data-m="15" data-dh="1"' in day
    assert [text.split(" ")[:2] for text in runs(day)] == [["held:", "18:00"], ["planned:", "19:15"]]


def test_lead_time_may_start_on_the_day_before(load_page, db2, make_planned):
    holds(make_planned().job, lead_time=12 * HOUR, now=LATER)
    reboot_of(db2, at=f"{FRIDAY}T03:00")

    week = load_page(f"view=week&date={THURSDAY}")

    assert 'background lead" data-h="15" data-dh="9"' in cell(week, THURSDAY)
    assert 'background lead" data-dh="3"' in cell(week, FRIDAY)
    assert runs(cell(week, THURSDAY))[0].startswith("held: 18:00")
    assert runs(cell(week, FRIDAY))[0].startswith("planned: 04:00")
    assert runs(load_page(f"view=day&date={THURSDAY}")) == runs(
        cell(week, THURSDAY)
    )  # the notice itself starts after this day


def test_notice_that_waits_for_the_last_run_holds_runs_until_its_start(load_page, db2, make_planned):
    job = make_planned().job
    holds(job, now=LATER)
    add_run(job, LATER - HOUR, "running")
    reboot_of(db2, at=f"{FRIDAY}T12:00", approve_when_idle=True)

    page = load_page(f"view=day&date={THURSDAY}")

    assert runs(page)[0].startswith("held: 18:00")
    assert notices(load_page(f"view=day&date={FRIDAY}")) == [
        "warning: 12:00 Reboot of db-2 , maintenance, waiting for the last run"
    ]


def test_stored_held_run_is_shown_at_its_release_time(load_page, db2, make_planned, popover):
    job = make_planned().job
    holds(job, now=LATER)
    announce(db2, now=LATER - HOUR, has_started=True, duration_s=7200)
    add_run(job, LATER - 2 * HOUR, "held", hold_key=f"notice {Notice.objects.get().pk}", reason="held by maintenance")

    held, moved, *_ = runs(load_page("view=day"))

    assert held == "held: 12:32 invoices , held, held by maintenance"
    assert moved == "planned: 15:32 invoices , planned, once, after maintenance"
    assert popover("run", "view=day")["replacement"] == "once after the maintenance, at about Wed 21 October, 15:32"


def test_line_of_a_frequent_job_shows_the_held_part(load_page, reboot, make_planned):
    holds(make_planned("0 0/5 * * * ?", "poll").job, now=LATER)

    for view in ("month", "week", "day"):
        page = load_page(f"view={view}&date={THURSDAY}")
        line = re.search(r'<a class="frequent-job"[^>]*title="poll[^>]*Reboot.*?</a>', page, re.DOTALL)[0]
        assert (line.count('class="planned"'), line.count('class="held"')) == (2, 1), view
        assert words(line) == "poll 288 , every 5 min, 288 runs, held by maintenance: Reboot of db-2"


def test_held_runs_of_a_frequent_job_are_not_shown_as_finished(load_page, db2, make_planned):
    job = make_planned("0 0/5 * * * ?", "poll").job
    holds(job, now=LATER)
    announce(db2, now=LATER - 2 * HOUR, has_started=True, duration_s=3 * 3600)
    key = f"notice {Notice.objects.get().pk}"
    for minute in range(0, 120, 5):
        add_run(job, LATER.replace(minute=30) - timedelta(minutes=minute), "held", hold_key=key)

    line = re.search(r'<a class="frequent-job".*?</a>', cell(load_page(), "2026-10-21"), re.DOTALL)[0]

    assert 'class="finished"' not in line
    assert line.count('class="held"') >= 1
    assert "held by maintenance: Reboot of db-2" in line


def at(text: str):
    return utc(f"2026-10-29T{text}Z")


def window(start: str, end: str | None) -> HoldWindow:
    return HoldWindow("notice", "", at(start), at(end) if end else None)


@pytest.mark.parametrize(
    "windows, until",
    [
        ([("10:00", "11:00")], "11:00"),
        ([("10:00", "11:00"), ("11:00", "12:00")], "12:00"),  # the second window starts where the first ends
        ([("10:00", "11:00"), ("10:20", "12:00"), ("11:30", "11:40")], "12:00"),
        ([("10:00", "11:00"), ("11:01", "12:00")], "11:00"),
        ([("10:00", "11:00"), ("10:45", None)], None),
    ],
)
def test_hold_lasts_until_the_last_of_adjoining_windows_ends(windows, until):
    hold = find_hold([window(*each) for each in windows], at("10:30"))

    assert hold.until == (at(until) if until else None)


@pytest.mark.parametrize("moment", ["09:59", "11:00"])
def test_hold_window_is_half_open(moment):
    assert find_hold([window("10:00", "11:00")], at(moment)) is None
