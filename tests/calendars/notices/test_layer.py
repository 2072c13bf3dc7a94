"""The maintenance layer of the calendar page: each view, and permissions."""

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
def test_notice_is_shown_on_its_day(load_page, reboot, view):
    page = load_page(f"view={view}&date={THURSDAY}")

    assert notices(page) == ["warning: 17:30 Reboot of db-2 , maintenance, waiting for approval"]
    assert notices(cell(page, THURSDAY)) == notices(page)
    assert f"/calendar/notices/{reboot.pk}" in page


def test_agenda_lists_a_notice(load_page, reboot):
    assert rows(load_page(f"view=agenda&date={THURSDAY}")) == [
        "17:30–18:30 Reboot of db-2 maintenance Waiting for approval"
    ]


def test_notice_is_shown_as_background_of_its_hours(load_page, reboot):
    column = cell(load_page(f"view=week&date={THURSDAY}"), THURSDAY)

    assert 'class="placed background maintenance" data-h="17" data-m="30" data-dh="1" data-state="warning"' in column


@pytest.mark.parametrize("view", VIEWS)
def test_switch_hides_notices(load_page, reboot, view):
    page = load_page(f"view={view}&date={THURSDAY}&nomaintenance=1")

    assert REBOOT not in page
    assert re.search(r'id="also-maintenance"[^>]*value="1">', page)  # not checked


def test_switch_is_on_by_default_and_counts_the_visible_notices(load_page, reboot, db2):
    reboot_of(db2, at="2026-12-24T12:00")

    page = load_page()

    assert re.search(r'id="also-maintenance"[^>]* checked>.*?<span class="count">1<', page, re.DOTALL)


def test_links_keep_the_state_of_the_switch(load_page, client, reboot):
    switched = client.get("/calendar/?layers=1&skipped=1&view=week&date=2026-10-29")
    assert switched["Location"] == "/calendar/?view=week&date=2026-10-29&nomaintenance=1"

    page = load_page("nomaintenance=1")

    assert re.search(r'href="/calendar/\?view=week[^"]*nomaintenance=1"', page)


@pytest.mark.parametrize(
    "state, expected",
    [
        (start, "running: 12:32 Reboot of db-2 , maintenance, started"),
        (complete, "success: 12:32 Reboot of db-2 , maintenance, completed"),
    ],
)
def test_notice_shows_its_state(load_page, db2, state, expected):
    notice = announce(db2, now=LATER - 2 * HOUR, has_started=True, duration_s=10_800)
    if state is complete:
        complete(notice, LATER - HOUR)

    assert notices(load_page()) == [expected]


def test_cancelled_notice_is_not_shown(load_page, reboot, invoices):
    cancel(reboot, LATER)

    for view in VIEWS:
        page = load_page(f"view={view}&date={THURSDAY}&cancelled=1")
        assert REBOOT not in page, view
        assert "Held" not in page, view


def test_due_notice_is_shown_as_started_without_a_write(load_page, db2, clock):
    announce(db2, now=LATER, not_before=LATER + HOUR, duration_s=7200)
    clock.move_to(LATER + HOUR)

    assert notices(load_page()) == ["running: 15:32 Reboot of db-2 , maintenance, started"]
    assert Notice.objects.get().status == "scheduled"


def test_notice_that_ends_after_its_duration_is_shown_as_completed(load_page, db2, clock):
    announce(db2, now=LATER, has_started=True, duration_s=600, ends_after_duration=True)
    clock.move_to(LATER + HOUR)

    assert notices(load_page()) == ["success: 14:32 Reboot of db-2 , maintenance, completed"]


# Days and zones


def test_notice_across_midnight_is_shown_on_both_days(load_page, db2):
    reboot_of(db2, at=f"{THURSDAY}T23:00", hours=2)

    week = load_page(f"view=week&date={THURSDAY}")

    assert 'background maintenance" data-h="23" data-dh="1" data-state="warning" data-part="continues"' in cell(
        week, THURSDAY
    )
    assert 'background maintenance" data-dh="1" data-state="warning" data-part="continued"' in cell(week, FRIDAY)
    assert notices(cell(load_page(), FRIDAY)) == [
        "warning: Reboot of db-2 , continued, maintenance, waiting for approval"
    ]
    assert "since Thu 29 October" in " ".join(rows(load_page(f"view=agenda&date={FRIDAY}")))


def test_notice_until_midnight_is_not_shown_on_the_next_day(load_page, db2):
    reboot_of(db2, at=f"{THURSDAY}T23:00", hours=1)

    assert notices(cell(load_page(), FRIDAY)) == []
    assert notices(load_page(f"view=day&date={FRIDAY}")) == []
    assert notices(load_page(f"view=day&date={THURSDAY}")) != []


@pytest.mark.parametrize(
    "zone, day, at",
    [("UTC", THURSDAY, "22:30"), ("Asia/Kolkata", FRIDAY, "04:00"), ("America/Los_Angeles", THURSDAY, "15:30")],
)
def test_notice_is_shown_in_the_zone_of_the_page(load_page, db2, zone, day, at):
    reboot_of(db2, at=f"{THURSDAY}T23:30", hours=0.25)

    for view in ("month", "week"):
        page = load_page(f"view={view}&date={day}&zone={zone}")
        assert notices(cell(page, day)) == [f"warning: {at} Reboot of db-2 , maintenance, waiting for approval"]


def test_notice_of_several_days_is_shown_as_a_bar(load_page, db2):
    reboot_of(db2, at=f"{THURSDAY}T12:00", hours=72)

    month, week = load_page(), load_page(f"view=week&date={THURSDAY}")

    parts = [
        re.search(r'class="item notice"[^>]*data-part="([^"]*)"', cell(month, day))[1]
        for day in (THURSDAY, FRIDAY, SUNDAY)
    ]
    assert parts == ["continues", "continued continues", "continued"]
    assert re.search(r'<td colspan="4"><a class="item notice"', week)
    assert "background maintenance" not in week
    assert "12:00 – Sun 12:00 Reboot of db-2 maintenance · until Sun 1 November" in " ".join(
        rows(load_page(f"view=agenda&date={THURSDAY}"))
    )


def test_notice_without_an_end_holds_runs_indefinitely(load_page, db2, invoices, popover):
    notice = reboot_of(db2, hours=None)

    day = load_page(f"view=day&date={THURSDAY}")

    assert notices(day) == ["warning: 17:30 Reboot of db-2 , maintenance, waiting for approval, duration unknown"]
    assert 'background maintenance" data-h="17" data-m="30" data-dh="6" data-dm="30"' in day
    assert runs(day) == ["held: 18:00 invoices , held, held by maintenance: Reboot of db-2"]
    assert runs(load_page(f"view=day&date={FRIDAY}")) == runs(day)  # the hold has no known end
    assert notices(load_page(f"view=day&date={FRIDAY}")) == []
    assert popover("notice")["when"] == "from Thu 29 October, 17:30"
    assert "the end is unknown" in popover("run")["replacement"]
    start(notice, LATER)
    assert "from 14:32" in " ".join(rows(load_page("view=agenda")))


def test_overdue_notice_continues_to_hold_runs(load_page, db2, make_planned, clock):
    holds(make_planned("0 0 16 * * ?").job, now=LATER)
    announce(db2, now=LATER, has_started=True, duration_s=600)
    clock.move_to(LATER + HOUR)

    day = load_page("view=day")

    assert notices(day) == ["running: 14:32 Reboot of db-2 , maintenance, started, longer than 10 min, end unknown"]
    assert 'background maintenance" data-h="14" data-m="32" data-dh="9" data-dm="28"' in day
    assert runs(day) == ["held: 16:00 invoices , held, held by maintenance: Reboot of db-2"]


def test_notice_with_a_duration_of_zero_holds_runs_until_it_is_ended(load_page, db2, invoices):
    reboot_of(db2, at=f"{THURSDAY}T18:00", hours=0)

    page = load_page(f"view=day&date={THURSDAY}")

    assert len(notices(page)) == 1
    assert runs(page) == ["held: 18:00 invoices , held, held by maintenance: Reboot of db-2"]


@pytest.mark.parametrize(
    "members, expected",
    [
        ({"has_started": True, "duration_s": 600}, "longer than 10 min, end unknown"),
        ({"has_started": True}, "duration unknown"),
        ({"has_started": True, "duration_s": 0}, "no interruption, end unknown"),
        ({"not_before": LATER + 3 * HOUR, "duration_s": 0}, "no interruption, end unknown"),
        ({"has_started": True, "duration_s": 7200}, "about 2 h"),
        ({"not_before": LATER + 3 * HOUR, "duration_s": 7200}, "about 2 h"),
        ({"has_started": True, "duration_s": 600, "ends_after_duration": True}, "10 min"),  # the notice has ended
    ],
)
def test_duration_of_a_notice_has_the_same_text_in_all_places(load_page, client, db2, clock, members, expected):
    notice = announce(db2, now=LATER, **members)
    clock.move_to(LATER + HOUR)

    day, agenda = load_page("view=day"), load_page("view=agenda")
    assert notice.is_open_ended(LATER + HOUR) is ("unknown" in expected) or expected == "10 min"
    for page in (day, agenda):
        assert ("unknown" in page) is ("unknown" in expected)
        assert "unknown" not in expected or expected in page
    for address in (
        f"/calendar/notices/{notice.pk}",
        f"/admin/maintenance/notice/{notice.pk}/change/",
        "/admin/maintenance/notice/",
        f"/maintenance/notices/{notice.pk}/",
        *([] if "has_started" in members else ["/maintenance/"]),
    ):
        assert expected in words(client.get(address).content.decode()), address


# The popover


def test_popover_shows_all_values_of_a_notice(load_page, client, db2, subscription, invoices, owner):
    notice = reboot_of(db2, resource(subscription, "db-3"), description="Kernel <update>\nand more", hours=1.5)

    response = client.get(f"/calendar/notices/{notice.pk}")
    page = words(response.content.decode())

    for expected in (
        "Reboot of db-2 and db-3",
        "Waiting for approval",
        "Thu 29 October, 17:30–19:00",
        "16:30 UTC",
        "1 h 30 min",
        "Kernel &lt;update&gt;",
        "Approved by nobody",
        "invoices: Thu 29 October, 18:00, once after",
        "Open notice",
    ):
        assert expected in page, expected
    assert f'href="/maintenance/notices/{notice.pk}/"' in response.content.decode()
    start(notice, LATER)
    assert "Started" in words(client.get(f"/calendar/notices/{notice.pk}").content.decode())


def test_names_of_resources_are_escaped(load_page, client, subscription):
    notice = reboot_of(resource(subscription, "<b>&"))

    pages = [f"/calendar/?view={view}&date={THURSDAY}" for view in VIEWS]
    for address in (*pages, f"/calendar/notices/{notice.pk}"):
        page = client.get(address).content.decode()
        assert "Reboot of &lt;b&gt;&amp;" in page, address
        assert "<b>&" not in page, address


@pytest.mark.parametrize("query", ["nomaintenance=2", "nomaintenance=true", "nomaintenance=1%00"])
def test_invalid_value_of_the_switch_is_refused(client, load_page, query):
    response = client.get(f"/calendar/?{query}")

    assert response.status_code == 400
    assert "nomaintenance" in response.content.decode()


@pytest.mark.parametrize("address", [str(UUID(int=7)), "x", "%00", "0" * 400])
def test_unknown_notice_is_not_found(client, load_page, address):
    assert client.get(f"/calendar/notices/{address}").status_code == 404


def test_popover_refuses_post(client, load_page, reboot):
    assert client.post(f"/calendar/notices/{reboot.pk}").status_code == 405


# Permissions


def test_notices_are_hidden_from_non_members(load_page_as, make_user, reboot, invoices, client):
    load_page = load_page_as(make_user("sven", None))

    for query in (*(f"view={view}&date={THURSDAY}" for view in VIEWS), "q=Reb"):
        page = load_page(query)
        assert "Reboot" not in page, query
        assert "invoices" not in page, query
    assert client.get(f"/calendar/notices/{reboot.pk}").status_code == 404
    client.logout()
    assert client.get(f"/calendar/notices/{reboot.pk}").status_code == 302


def test_readers_see_notices(load_page_as, make_user, reboot, invoices, client):
    page = load_page_as(make_user("rita", Role.READER))()

    assert len(notices(page)) == 1
    assert any(expected.startswith("held") for expected in runs(page))
    assert client.get(f"/calendar/notices/{reboot.pk}").status_code == 200


def test_notice_of_another_subscription_is_hidden_and_holds_nothing(load_page_as, make_user, invoices):
    other_subscription = Subscription.objects.create(name="elsewhere")
    reboot_of(resource(other_subscription))

    page = load_page_as(make_user("rita", Role.READER))(f"view=day&date={THURSDAY}")

    assert notices(page) == []
    assert runs(page) == ["planned: 18:00 invoices , planned"]


def test_superuser_sees_notices_of_all_subscriptions(load_page_as, make_user, client):
    other_subscription = Subscription.objects.create(name="elsewhere")
    notice = reboot_of(resource(other_subscription))
    root = make_user("root", None)
    root.is_superuser = True
    root.save()

    assert len(notices(load_page_as(root)())) == 1
    assert client.get(f"/calendar/notices/{notice.pk}").status_code == 200


# Search


@pytest.mark.parametrize("text", ["reboot", "DB-2", "kernel"])
def test_search_finds_notices_by_text(load_page, db2, text):
    reboot_of(db2, description="Kernel update")

    page = load_page(f"q={text}")

    assert rows(page) == ["17:30–18:30 Reboot of db-2 maintenance Waiting for approval"]
    assert "1 notice" in page
    assert rows(load_page(f"q={text}&nomaintenance=1")) == []
    assert rows(load_page("q=unheard")) == []


def test_search_shows_held_runs(load_page, db2, invoices):
    reboot_of(db2, at="2026-10-22T17:30")

    assert "18:00 invoices nightly · regular Held held by maintenance: Reboot of db-2" in rows(load_page("q=invoices"))


# Number of queries


@pytest.mark.parametrize("view", VIEWS)
def test_layer_takes_one_query_without_maintenance_and_two_with_it(load_page, subscription, make_planned, view):
    def queries() -> tuple[int, int]:
        """Return the number of all queries and of those about maintenance, one of which is for the page header."""
        with CaptureQueriesContext(connection) as captured:
            load_page(f"view={view}&date={THURSDAY}")
        return len(captured), sum("maintenance_" in query["sql"] for query in captured)

    def add(count: int) -> None:
        for number in range(count):
            name = f"db-{count}-{number}"
            reboot_of(resource(subscription, name), hours=2)
            holds(make_planned(name=name).job, name, now=LATER)

    make_planned()
    load_page(f"view={view}&date={THURSDAY}")
    without, maintenance_queries = queries()
    assert maintenance_queries == 1 + 1

    for count in (1, 20):
        add(count)
        assert queries() == (without + 1, 1 + 2)


def test_search_takes_the_same_number_of_queries_for_any_number_of_notices(load_page, subscription, make_planned):
    def captured(count: int) -> int:
        for number in range(count):
            name = f"db-{count}-{number}"
            reboot_of(resource(subscription, name), at="2026-10-22T17:30")
            holds(make_planned(name=name).job, name, now=LATER)
        with CaptureQueriesContext(connection) as queries:
            assert "Held" in load_page("q=db-")
        return len(queries)

    assert captured(1) == captured(20)
