"""Announced maintenance on the calendar page, in every view and for whom."""

import re
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Role, Subscription
from maintenance.models import Notice
from tests.calendars.job_runs import LATER
from tests.calendars.notices.reading import (
    FRIDAY,
    HOUR,
    REBOOT,
    SUNDAY,
    THURSDAY,
    VIEWS,
    cell,
    notices,
    reboot_of,
    rows,
    runs,
    words,
)
from tests.maintenance.notices import announce, cancel, complete, holds, resource, start

pytestmark = pytest.mark.django_db


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

    assert 'class="placed background maintenance" data-h="17" data-m="30" data-dh="1" data-state="warning"' in column


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
    "state, said",
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


def test_what_is_due_is_shown_as_started_and_nothing_is_written(look, db2, clock):
    announce(db2, now=LATER, not_before=LATER + HOUR, duration_s=7200)
    clock.move_to(LATER + HOUR)

    assert notices(look()) == ["running: 15:32 Reboot of db-2 , maintenance, started"]
    assert Notice.objects.get().status == "scheduled"


def test_what_is_over_by_its_duration_has_ended(look, db2, clock):
    announce(db2, now=LATER, has_started=True, duration_s=600, ends_after_duration=True)
    clock.move_to(LATER + HOUR)

    assert notices(look()) == ["success: 14:32 Reboot of db-2 , maintenance, completed"]


# Days and zones


def test_a_notice_over_midnight_is_on_both_days(look, db2):
    reboot_of(db2, at=f"{THURSDAY}T23:00", hours=2)

    week = look(f"view=week&date={THURSDAY}")

    assert 'background maintenance" data-h="23" data-dh="1" data-state="warning" data-part="continues"' in cell(
        week, THURSDAY
    )
    assert 'background maintenance" data-dh="1" data-state="warning" data-part="continued"' in cell(week, FRIDAY)
    assert notices(cell(look(), FRIDAY)) == ["warning: Reboot of db-2 , continued, maintenance, waiting for approval"]
    assert "since Thu 29 October" in " ".join(rows(look(f"view=agenda&date={FRIDAY}")))


def test_a_notice_until_midnight_is_not_on_the_next_day(look, db2):
    reboot_of(db2, at=f"{THURSDAY}T23:00", hours=1)

    assert notices(cell(look(), FRIDAY)) == []
    assert notices(look(f"view=day&date={FRIDAY}")) == []
    assert notices(look(f"view=day&date={THURSDAY}")) != []


@pytest.mark.parametrize(
    "zone, day, at",
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
    assert "background maintenance" not in week
    assert "12:00 – Sun 12:00 Reboot of db-2 maintenance · until Sun 1 November" in " ".join(
        rows(look(f"view=agenda&date={THURSDAY}"))
    )


def test_nobody_knows_the_end(look, db2, invoices, popover):
    notice = reboot_of(db2, hours=None)

    day = look(f"view=day&date={THURSDAY}")

    assert notices(day) == ["warning: 17:30 Reboot of db-2 , maintenance, waiting for approval, nobody knows how long"]
    assert 'background maintenance" data-h="17" data-m="30" data-dh="6" data-dm="30"' in day
    assert runs(day) == ["held: 18:00 invoices , held, held by maintenance: Reboot of db-2"]
    assert runs(look(f"view=day&date={FRIDAY}")) == runs(day)  # for ever, as far as is known
    assert notices(look(f"view=day&date={FRIDAY}")) == []
    assert popover("notice")["when"] == "from Thu 29 October, 17:30"
    assert "nobody knows when it ends" in popover("run")["replacement"]
    start(notice, LATER)
    assert "from 14:32" in " ".join(rows(look("view=agenda")))


def test_what_lasts_longer_than_was_expected_goes_on(look, db2, make_planned, clock):
    holds(make_planned("0 0 16 * * ?").job, now=LATER)
    announce(db2, now=LATER, has_started=True, duration_s=600)
    clock.move_to(LATER + HOUR)

    day = look("view=day")

    assert notices(day) == [
        "running: 14:32 Reboot of db-2 , maintenance, started, longer than 10 min, nobody knows how long"
    ]
    assert 'background maintenance" data-h="14" data-m="32" data-dh="9" data-dm="28"' in day
    assert runs(day) == ["held: 16:00 invoices , held, held by maintenance: Reboot of db-2"]


def test_what_interrupts_nothing_holds_until_somebody_ends_it(look, db2, invoices):
    reboot_of(db2, at=f"{THURSDAY}T18:00", hours=0)

    page = look(f"view=day&date={THURSDAY}")

    assert len(notices(page)) == 1
    assert runs(page) == ["held: 18:00 invoices , held, held by maintenance: Reboot of db-2"]


@pytest.mark.parametrize(
    "members, said",
    [
        ({"has_started": True, "duration_s": 600}, "longer than 10 min, nobody knows how long"),
        ({"has_started": True}, "nobody knows how long"),
        ({"has_started": True, "duration_s": 0}, "no interruption, nobody knows how long"),
        ({"not_before": LATER + 3 * HOUR, "duration_s": 0}, "no interruption, nobody knows how long"),
        ({"has_started": True, "duration_s": 7200}, "about 2 h"),
        ({"not_before": LATER + 3 * HOUR, "duration_s": 7200}, "about 2 h"),
        ({"has_started": True, "duration_s": 600, "ends_after_duration": True}, "10 min"),  # it is over
    ],
)
def test_its_length_is_said_in_the_same_words_everywhere(look, client, db2, clock, members, said):
    notice = announce(db2, now=LATER, **members)
    clock.move_to(LATER + HOUR)

    day, agenda = look("view=day"), look("view=agenda")
    assert notice.is_open_ended(LATER + HOUR) is ("nobody knows" in said) or said == "10 min"
    for page in (day, agenda):
        assert ("nobody knows" in page) is ("nobody knows" in said)
        assert "nobody knows" not in said or said in page
    for address in (
        f"/calendar/notices/{notice.pk}",
        f"/admin/maintenance/notice/{notice.pk}/change/",
        "/admin/maintenance/notice/",
        f"/maintenance/notices/{notice.pk}/",
        *([] if "has_started" in members else ["/maintenance/"]),
    ):
        assert said in words(client.get(address).content.decode()), address


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
def test_the_layer_is_one_query_without_maintenance_and_two_with_it(look, subscription, make_planned, view):
    def queries() -> tuple[int, int]:
        """All, and those about maintenance; one of these is of the header, which says how many wait."""
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
    assert about == 1 + 1

    for count in (1, 20):
        add(count)
        assert queries() == (without + 1, 1 + 2)


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
