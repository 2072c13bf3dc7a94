"""Announced maintenance on the calendar page, and the runs that it is going to hold, in every view and for whom."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Role, Subscription
from calendars.pages.held import hold_at
from maintenance.models import Heed, Notice
from maintenance.spells import Spell
from tests.calendars.job_runs import LATER, add_run, instant
from tests.conftest import utc
from tests.maintenance.notices import announce, cancel, complete, holds, resource, start
from triggers.models import Trigger

pytestmark = pytest.mark.django_db
VIEWS = ("month", "week", "workweek", "day", "agenda")
HOUR = timedelta(hours=1)
THURSDAY, FRIDAY, SUNDAY = "2026-10-29", "2026-10-30", "2026-11-01"  # clocks change on the Sunday before
REBOOT = "Reboot of db-2"


@pytest.fixture(autouse=True)
def clock():
    """Wednesday, 21 October 2026, 14:32 in Berlin."""
    with time_machine.travel(LATER, tick=False) as clock:
        yield clock


@pytest.fixture
def popover(look, client):
    """What the first item of that kind opens, by the name under which the template knows it."""

    def popover(kind: str, query: str = f"view=day&date={THURSDAY}") -> dict:
        address = re.search(rf'<a class="item {kind}" href="([^"]*)"', look(query))[1]
        return client.get(address).context["item"]

    return popover


@pytest.fixture
def db2(subscription):
    return resource(subscription)


@pytest.fixture
def reboot(db2) -> Notice:
    """Thursday from 17:30 to 18:30 in Berlin."""
    return reboot_of(db2)


@pytest.fixture
def make_planned(make_job, make_trigger):
    def make(expression: str = "0 0 18 * * ?", name: str = "invoices", **fields) -> Trigger:
        job = make_job(name, schedule=None, now=LATER, **fields)
        definition = {"expression": expression, "timeZone": "Europe/Berlin"}
        return make_trigger(job, "regular", definition=definition, now=LATER)

    return make


@pytest.fixture
def invoices(make_planned):
    """Every day at 18:00 in Berlin; it holds while db-2 is worked on."""
    trigger = make_planned()
    holds(trigger.job, now=LATER)
    return trigger


def reboot_of(*resources, at: str = f"{THURSDAY}T17:30", hours: float | None = 1, **members) -> Notice:
    if hours is not None:
        members["duration_s"] = int(hours * 3600)
    return announce(*resources, now=LATER, not_before=instant(at), **members)


def cell(page: str, day: str) -> str:
    """A day of the month, or of the hours of a week."""
    return re.findall(rf'<td[^>]*data-date="{day}".*?</td>', page, re.DOTALL)[-1]


def words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def items(part: str, kind: str) -> list[str]:
    """What a reader hears of each, with the state that gives its colour."""
    found = re.findall(rf'<a class="item {kind}" [^>]*data-state="(\w+)"[^>]*>(.*?)</a>', part, re.DOTALL)
    return [f"{state}: {words(text)}" for state, text in found]


def notices(part: str) -> list[str]:
    return items(part, "notice")


def runs(part: str) -> list[str]:
    return items(part, "run")


def rows(agenda: str) -> list[str]:
    """Of the agenda, what has to do with maintenance."""
    found = [words(row) for row in re.findall(r"<tr>.*?</tr>", agenda, re.DOTALL)]
    return [row for row in found if "maintenance" in row]


# The layer


@pytest.mark.parametrize("view", ["month", "week", "workweek", "day"])
def test_a_notice_stands_on_its_day(look, reboot, view):
    page = look(f"view={view}&date={THURSDAY}")

    assert notices(page) == ["warning: 17:30 Reboot of db-2 , maintenance, waiting for approval"]
    assert notices(cell(page, THURSDAY)) == notices(page)
    assert f"/calendar/notices/{reboot.pk}" in page


def test_a_notice_is_a_line_of_the_agenda(look, reboot):
    assert rows(look(f"view=agenda&date={THURSDAY}")) == ["17:30–18:30 Reboot of db-2 maintenance Waiting for approval"]


def test_its_time_lies_beneath_the_hours(look, reboot):
    column = cell(look(f"view=week&date={THURSDAY}"), THURSDAY)

    assert 'class="at under maintenance" data-h="17" data-m="30" data-dh="1" data-state="warning"' in column


@pytest.mark.parametrize("view", VIEWS)
def test_a_switch_hides_it(look, reboot, view):
    page = look(f"view={view}&date={THURSDAY}&nomaintenance=1")

    assert REBOOT not in page
    assert re.search(r'id="also-maintenance"[^>]*value="1">', page)  # not checked


def test_the_switch_is_on_and_counts_what_is_in_view(look, reboot, db2):
    reboot_of(db2, at="2026-12-24T12:00")

    page = look()

    assert re.search(r'id="also-maintenance"[^>]* checked>.*?<span class="count">1<', page, re.DOTALL)


def test_the_switch_is_kept_in_every_address(look, client, reboot):
    switched = client.get("/calendar/?layers=1&skipped=1&view=week&date=2026-10-29")
    assert switched["Location"] == "/calendar/?view=week&date=2026-10-29&nomaintenance=1"

    page = look("nomaintenance=1")

    assert re.search(r'href="/calendar/\?view=week[^"]*nomaintenance=1"', page)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (start, "running: 12:32 Reboot of db-2 , maintenance, started"),
        (complete, "success: 12:32 Reboot of db-2 , maintenance, completed"),
    ],
)
def test_it_says_how_far_it_is(look, db2, state, said):
    notice = announce(db2, now=LATER - 2 * HOUR, has_started=True, duration_s=10_800)
    if state is complete:
        complete(notice, LATER - HOUR)

    assert notices(look()) == [said]


def test_what_was_withdrawn_is_not_shown(look, reboot, invoices):
    cancel(reboot, LATER)

    for view in VIEWS:
        page = look(f"view={view}&date={THURSDAY}&cancelled=1")
        assert REBOOT not in page, view
        assert "Held" not in page, view


def test_what_nobody_has_looked_at_since_its_time_came_has_started(look, db2, clock):
    announce(db2, now=LATER, not_before=LATER + HOUR, duration_s=7200)
    clock.move_to(LATER + HOUR)

    assert notices(look()) == ["running: 15:32 Reboot of db-2 , maintenance, started"]
    assert Notice.objects.get().status == "started"


def test_what_is_over_by_its_duration_has_ended(look, db2, clock):
    announce(db2, now=LATER, has_started=True, duration_s=600, ends_after_duration=True)
    clock.move_to(LATER + HOUR)

    assert notices(look()) == ["success: 14:32 Reboot of db-2 , maintenance, completed"]


# Days and zones


def test_a_notice_over_midnight_is_on_both_days(look, db2):
    reboot_of(db2, at=f"{THURSDAY}T23:00", hours=2)

    week = look(f"view=week&date={THURSDAY}")

    assert 'under maintenance" data-h="23" data-dh="1" data-state="warning" data-part="continues"' in cell(
        week, THURSDAY
    )
    assert 'under maintenance" data-dh="1" data-state="warning" data-part="continued"' in cell(week, FRIDAY)
    assert notices(cell(look(), FRIDAY)) == ["warning: Reboot of db-2 , continued, maintenance, waiting for approval"]
    assert "since Thu 29 October" in " ".join(rows(look(f"view=agenda&date={FRIDAY}")))


def test_a_notice_until_midnight_is_not_on_the_next_day(look, db2):
    reboot_of(db2, at=f"{THURSDAY}T23:00", hours=1)

    assert notices(cell(look(), FRIDAY)) == []
    assert notices(look(f"view=day&date={FRIDAY}")) == []
    assert notices(look(f"view=day&date={THURSDAY}")) != []


@pytest.mark.parametrize(
    ("zone", "day", "at"),
    [("UTC", THURSDAY, "22:30"), ("Asia/Kolkata", FRIDAY, "04:00"), ("America/Los_Angeles", THURSDAY, "15:30")],
)
def test_a_notice_is_where_it_is_in_the_zone_that_is_shown(look, db2, zone, day, at):
    reboot_of(db2, at=f"{THURSDAY}T23:30", hours=0.25)

    for view in ("month", "week"):
        page = look(f"view={view}&date={day}&zone={zone}")
        assert notices(cell(page, day)) == [f"warning: {at} Reboot of db-2 , maintenance, waiting for approval"]


def test_a_notice_of_several_days_is_a_bar(look, db2):
    reboot_of(db2, at=f"{THURSDAY}T12:00", hours=72)

    month, week = look(), look(f"view=week&date={THURSDAY}")

    parts = [
        re.search(r'class="item notice"[^>]*data-part="([^"]*)"', cell(month, day))[1]
        for day in (THURSDAY, FRIDAY, SUNDAY)
    ]
    assert parts == ["continues", "continued continues", "continued"]
    assert re.search(r'<td colspan="4"><a class="item notice"', week)
    assert "under maintenance" not in week
    assert "12:00 – Sun 12:00 Reboot of db-2 maintenance · until Sun 1 November" in " ".join(
        rows(look(f"view=agenda&date={THURSDAY}"))
    )


def test_nobody_knows_the_end(look, db2, invoices, popover):
    notice = reboot_of(db2, hours=None)

    day = look(f"view=day&date={THURSDAY}")

    assert notices(day) == ["warning: 17:30 Reboot of db-2 , maintenance, waiting for approval, nobody knows how long"]
    assert 'under maintenance" data-h="17" data-m="30" data-dh="6" data-dm="30"' in day
    assert runs(day) == ["held: 18:00 invoices , held, held by maintenance: Reboot of db-2"]
    assert runs(look(f"view=day&date={FRIDAY}")) == runs(day)  # for ever, as far as is known
    assert notices(look(f"view=day&date={FRIDAY}")) == []
    assert popover("notice")["when"] == "from Thu 29 October, 17:30"
    assert "nobody knows when it ends" in popover("run")["instead"]
    start(notice, LATER)
    assert "from 14:32" in " ".join(rows(look("view=agenda")))


def test_what_lasts_longer_than_was_expected_goes_on(look, db2, make_planned, clock):
    holds(make_planned("0 0 16 * * ?").job, now=LATER)
    announce(db2, now=LATER, has_started=True, duration_s=600)
    clock.move_to(LATER + HOUR)

    day = look("view=day")

    assert notices(day) == ["running: 14:32 Reboot of db-2 , maintenance, started, nobody knows how long"]
    assert 'under maintenance" data-h="14" data-m="32" data-dh="9" data-dm="28"' in day
    assert runs(day) == ["held: 16:00 invoices , held, held by maintenance: Reboot of db-2"]


def test_what_interrupts_nothing_holds_until_somebody_ends_it(look, db2, invoices):
    reboot_of(db2, at=f"{THURSDAY}T18:00", hours=0)

    page = look(f"view=day&date={THURSDAY}")

    assert len(notices(page)) == 1
    assert runs(page) == ["held: 18:00 invoices , held, held by maintenance: Reboot of db-2"]


# What it holds


@pytest.mark.parametrize("view", ["month", "week", "workweek", "day"])
def test_a_run_that_will_be_held_is_seen_before_and_again_where_it_is_moved_to(look, reboot, invoices, view):
    assert runs(cell(look(f"view={view}&date={THURSDAY}"), THURSDAY)) == [
        "held: 18:00 invoices , held, held by maintenance: Reboot of db-2",
        "planned: 18:30 invoices , planned, once, after maintenance",
    ]


def test_other_days_are_as_planned(look, reboot, invoices):
    assert runs(cell(look(), FRIDAY)) == ["planned: 18:00 invoices , planned"]


def test_held_runs_are_lines_of_the_agenda(look, reboot, invoices):
    assert rows(look(f"view=agenda&date={THURSDAY}"))[1:] == [
        "18:00 invoices nightly · regular Held held by maintenance: Reboot of db-2",
        "18:30 invoices nightly · regular Planned once, after maintenance",
    ]


def test_they_are_seen_without_the_layer_as_well(look, reboot, invoices):
    assert runs(look(f"view=day&date={THURSDAY}&nomaintenance=1"))[0].startswith("held: 18:00")


def test_the_run_after_is_told_apart(popover, reboot, invoices):
    item = popover("run")

    assert item["outcome"].mark == "held"
    assert item["why"] == "Held by maintenance: Reboot of db-2"
    assert item["instead"] == "once after the maintenance, at about Thu 29 October, 18:30"


def test_what_is_dropped_is_not_seen_again(look, reboot, make_planned, popover):
    holds(make_planned().job, after="drop", now=LATER)

    assert runs(look(f"view=day&date={THURSDAY}")) == [
        "held: 18:00 invoices , held, held by maintenance: Reboot of db-2"
    ]
    assert popover("run")["instead"] == "not at all"


def test_of_several_the_newest_runs(look, db2, make_planned):
    holds(make_planned("0 0/30 17-18 * * ?").job, now=LATER)
    reboot_of(db2)

    times = [said.split(" ")[:2] for said in runs(look(f"view=day&date={THURSDAY}"))]

    assert times == [["planned:", "17:00"], ["held:", "17:30"], ["held:", "18:00"], *[["planned:", "18:30"]] * 2]


def test_jobs_that_do_not_hold_and_jobs_of_other_resources_run_as_planned(look, reboot, make_planned):
    make_planned(name="careless")
    holds(make_planned(name="elsewhere").job, "web-1", now=LATER)

    assert runs(cell(look(), THURSDAY)) == ["planned: 18:00 careless , planned", "planned: 18:00 elsewhere , planned"]


def test_the_time_ahead_in_which_jobs_are_held_is_drawn(look, db2, make_planned):
    holds(make_planned().job, lead=HOUR, now=LATER)
    reboot_of(db2, at=f"{THURSDAY}T18:15")

    day = look(f"view=day&date={THURSDAY}")

    assert 'class="at under lead" data-h="17" data-m="15" data-dh="1"' in day
    assert [said.split(" ")[:2] for said in runs(day)] == [["held:", "18:00"], ["planned:", "19:15"]]


def test_a_lead_begins_on_the_day_before(look, db2, make_planned):
    holds(make_planned().job, lead=12 * HOUR, now=LATER)
    reboot_of(db2, at=f"{FRIDAY}T03:00")

    week = look(f"view=week&date={THURSDAY}")

    assert 'under lead" data-h="15" data-dh="9"' in cell(week, THURSDAY)
    assert 'under lead" data-dh="3"' in cell(week, FRIDAY)
    assert runs(cell(week, THURSDAY))[0].startswith("held: 18:00")
    assert runs(cell(week, FRIDAY))[0].startswith("planned: 04:00")
    assert runs(look(f"view=day&date={THURSDAY}")) == runs(cell(week, THURSDAY))  # though it begins after that


def test_one_that_waits_for_the_last_run_holds_until_it_starts(look, db2, make_planned):
    job = make_planned().job
    holds(job, now=LATER)
    add_run(job, LATER - HOUR, "running")
    reboot_of(db2, at=f"{FRIDAY}T12:00", approve_when_idle=True)

    page = look(f"view=day&date={THURSDAY}")

    assert runs(page)[0].startswith("held: 18:00")
    assert notices(look(f"view=day&date={FRIDAY}")) == [
        "warning: 12:00 Reboot of db-2 , maintenance, waiting for the last run"
    ]


def test_a_row_that_is_held_says_when_it_will_run(look, db2, make_planned, popover):
    job = make_planned().job
    holds(job, now=LATER)
    announce(db2, now=LATER - HOUR, has_started=True, duration_s=7200)
    add_run(job, LATER - 2 * HOUR, "held", held_by=f"notice {Notice.objects.get().pk}", reason="held by maintenance")

    held, moved, *_ = runs(look("view=day"))

    assert held == "held: 12:32 invoices , held, held by maintenance"
    assert moved == "planned: 15:32 invoices , planned, once, after maintenance"
    assert popover("run", "view=day")["instead"] == "once after the maintenance, at about Wed 21 October, 15:32"


def test_a_frequent_job_is_held_for_a_part_of_its_line(look, reboot, make_planned):
    holds(make_planned("0 0/5 * * * ?", "poll").job, now=LATER)

    for view in ("month", "week", "day"):
        page = look(f"view={view}&date={THURSDAY}")
        line = re.search(r'<a class="band"[^>]*title="poll[^>]*Reboot.*?</a>', page, re.DOTALL)[0]
        assert (line.count('class="will"'), line.count('class="held"')) == (2, 1), view
        assert words(line) == "poll 288 , every 5 min, 288 runs, held by maintenance: Reboot of db-2"


def test_what_is_held_of_a_frequent_job_has_not_run(look, db2, make_planned):
    job = make_planned("0 0/5 * * * ?", "poll").job
    holds(job, now=LATER)
    announce(db2, now=LATER - 2 * HOUR, has_started=True, duration_s=3 * 3600)
    key = f"notice {Notice.objects.get().pk}"
    for minute in range(0, 120, 5):
        add_run(job, LATER.replace(minute=30) - timedelta(minutes=minute), "held", held_by=key)

    line = re.search(r'<a class="band".*?</a>', cell(look(), "2026-10-21"), re.DOTALL)[0]

    assert 'class="ran"' not in line
    assert line.count('class="held"') >= 1
    assert "held by maintenance: Reboot of db-2" in line


def at(text: str):
    return utc(f"2026-10-29T{text}Z")


def spell(start: str, end: str | None) -> Spell:
    return Spell(Notice(), at(start), at(end) if end else None, Heed.After.RUN_ONCE, "")


@pytest.mark.parametrize(
    ("spells", "until"),
    [
        ([("10:00", "11:00")], "11:00"),
        ([("10:00", "11:00"), ("11:00", "12:00")], "12:00"),  # it would not run in between
        ([("10:00", "11:00"), ("10:20", "12:00"), ("11:30", "11:40")], "12:00"),
        ([("10:00", "11:00"), ("11:01", "12:00")], "11:00"),
        ([("10:00", "11:00"), ("10:45", None)], None),
    ],
)
def test_a_run_waits_until_nothing_holds_it_any_more(spells, until):
    hold = hold_at([spell(*each) for each in spells], at("10:30"))

    assert hold.until == (at(until) if until else None)


@pytest.mark.parametrize("moment", ["09:59", "11:00"])
def test_a_spell_is_half_open(moment):
    assert hold_at([spell("10:00", "11:00")], at(moment)) is None


# What a click opens


def test_a_notice_is_told_whole(look, client, db2, subscription, invoices, owner):
    notice = reboot_of(db2, resource(subscription, "db-3"), description="Kernel <update>\nand more", hours=1.5)

    response = client.get(f"/calendar/notices/{notice.pk}")
    page = words(response.content.decode())

    for said in (
        "Reboot of db-2 and db-3",
        "Waiting for approval",
        "Thu 29 October, 17:30–19:00",
        "16:30 UTC",
        "1 h 30 min",
        "Kernel &lt;update&gt;",
        "Approved by nobody",
        "invoices: Thu 29 October, 18:00, once after",
        "Open maintenance",
    ):
        assert said in page, said
    assert f'href="/maintenance/notices/{notice.pk}/"' in response.content.decode()
    start(notice, LATER)
    assert "Started" in words(client.get(f"/calendar/notices/{notice.pk}").content.decode())


def test_the_names_that_people_gave_are_text(look, client, subscription):
    notice = reboot_of(resource(subscription, "<b>&"))

    pages = [f"/calendar/?view={view}&date={THURSDAY}" for view in VIEWS]
    for address in (*pages, f"/calendar/notices/{notice.pk}"):
        page = client.get(address).content.decode()
        assert "Reboot of &lt;b&gt;&amp;" in page, address
        assert "<b>&" not in page, address


@pytest.mark.parametrize("query", ["nomaintenance=2", "nomaintenance=true", "nomaintenance=1%00"])
def test_a_switch_that_is_not_one_is_refused(client, look, query):
    response = client.get(f"/calendar/?{query}")

    assert response.status_code == 400
    assert "nomaintenance" in response.content.decode()


@pytest.mark.parametrize("address", [str(UUID(int=7)), "x", "%00", "0" * 400])
def test_what_is_no_notice_is_not_found(client, look, address):
    assert client.get(f"/calendar/notices/{address}").status_code == 404


def test_a_popover_is_not_written_to(client, look, reboot):
    assert client.post(f"/calendar/notices/{reboot.pk}").status_code == 405


# For whom


def test_others_see_nothing_of_it(look_as, make_user, reboot, invoices, client):
    look = look_as(make_user("sven", None))

    for query in (*(f"view={view}&date={THURSDAY}" for view in VIEWS), "q=Reb"):
        page = look(query)
        assert "Reboot" not in page, query
        assert "invoices" not in page, query
    assert client.get(f"/calendar/notices/{reboot.pk}").status_code == 404
    client.logout()
    assert client.get(f"/calendar/notices/{reboot.pk}").status_code == 302


def test_readers_see_it(look_as, make_user, reboot, invoices, client):
    page = look_as(make_user("rita", Role.READER))()

    assert len(notices(page)) == 1
    assert any(said.startswith("held") for said in runs(page))
    assert client.get(f"/calendar/notices/{reboot.pk}").status_code == 200


def test_a_notice_of_another_subscription_holds_nothing_and_is_not_named(look_as, make_user, invoices):
    elsewhere = Subscription.objects.create(name="elsewhere")
    reboot_of(resource(elsewhere))

    page = look_as(make_user("rita", Role.READER))(f"view=day&date={THURSDAY}")

    assert notices(page) == []
    assert runs(page) == ["planned: 18:00 invoices , planned"]


def test_a_superuser_sees_those_of_everybody(look_as, make_user, client):
    elsewhere = Subscription.objects.create(name="elsewhere")
    notice = reboot_of(resource(elsewhere))
    root = make_user("root", None)
    root.is_superuser = True
    root.save()

    assert len(notices(look_as(root)())) == 1
    assert client.get(f"/calendar/notices/{notice.pk}").status_code == 200


# Search


@pytest.mark.parametrize("text", ["reboot", "DB-2", "kernel"])
def test_maintenance_is_found_by_what_it_says(look, db2, text):
    reboot_of(db2, description="Kernel update")

    page = look(f"q={text}")

    assert rows(page) == ["17:30–18:30 Reboot of db-2 maintenance Waiting for approval"]
    assert "1 notice" in page
    assert rows(look(f"q={text}&nomaintenance=1")) == []
    assert rows(look("q=unheard")) == []


def test_runs_that_are_found_are_held_as_well(look, db2, invoices):
    reboot_of(db2, at="2026-10-22T17:30")

    assert "18:00 invoices nightly · regular Held held by maintenance: Reboot of db-2" in rows(look("q=invoices"))


# What it costs


@pytest.mark.parametrize("view", VIEWS)
def test_without_maintenance_it_is_one_query_and_with_it_two(look, subscription, make_planned, view):
    def queries() -> tuple[int, int]:
        """All, and those about maintenance."""
        with CaptureQueriesContext(connection) as asked:
            look(f"view={view}&date={THURSDAY}")
        return len(asked), sum("maintenance_" in query["sql"] for query in asked)

    def add(count: int) -> None:
        for number in range(count):
            name = f"db-{count}-{number}"
            reboot_of(resource(subscription, name), hours=2)
            holds(make_planned(name=name).job, name, now=LATER)

    make_planned()
    look(f"view={view}&date={THURSDAY}")
    without, about = queries()
    assert about == 1

    for count in (1, 20):
        add(count)
        assert queries() == (without + 1, 2)


def test_search_asks_as_often_whatever_is_announced(look, subscription, make_planned):
    def asked(count: int) -> int:
        for number in range(count):
            name = f"db-{count}-{number}"
            reboot_of(resource(subscription, name), at="2026-10-22T17:30")
            holds(make_planned(name=name).job, name, now=LATER)
        with CaptureQueriesContext(connection) as queries:
            assert "Held" in look("q=db-")
        return len(queries)

    assert asked(1) == asked(20)
