"""The calendar page, as a server sends it: what is on it, for whom, and at what cost."""

import html
import re
import uuid
from copy import copy
from datetime import UTC, date, datetime, timedelta

import pytest
import time_machine

from accounts.models import Role
from calendars import editing
from calendars.models import Calendar, Event, Share
from jobs.models import Run
from recurrence.series import Series
from tests.calendars.conftest import recurrence, times
from tests.conftest import NOW

pytestmark = pytest.mark.django_db
WEDNESDAY = datetime(2026, 1, 7, 11, 30, tzinfo=UTC)  # 12:30 in Berlin
DAILY = recurrence("daily")
OFFSITE = [f"2026-01-{day:02}" for day in range(8, 14)]


@pytest.fixture(autouse=True)
def now():
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


@pytest.fixture
def viewer(owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    return owner


@pytest.fixture
def look(client, viewer):
    """What the page shows at an address; without one, the month."""
    client.force_login(viewer)

    def look(query: str = "", status: int = 200, **headers) -> str:
        response = client.get(f"/calendar/?{query}", headers=headers)
        assert response.status_code == status, response
        return response.content.decode()

    return look


def items(page: str) -> list[str]:
    """What a reader hears of each item of the calendar, in order."""
    found = re.findall(r'<a class="item [^"]*"[^>]*>(.*?)</a>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", each).replace("&nbsp;", " ").split()) for each in found]


def cell(page: str, day: str) -> str:
    return re.search(rf'<td data-date="{day}".*?</td>', page, re.DOTALL)[0]


def column(page: str, day: str) -> str:
    return re.search(rf'<td class="day" data-date="{day}".*?</td>', page, re.DOTALL)[0]


# what a view shows


def test_a_series_is_in_every_view(look, make_event):
    make_event(recurrence=DAILY)

    for view, count in (("month", 28), ("week", 7), ("workweek", 5), ("day", 1)):
        shown = items(look(f"view={view}"))
        assert [each for each in shown if "Stand-up" in each] == ["10:00 Stand-up , repeats"] * count
    assert look("view=agenda").count(">Stand-up</a>") == 7


def test_an_occurrence_that_differs_says_how(look, make_event):
    series = make_event(recurrence=DAILY)
    editing.change_occurrence(series, date(2026, 1, 8), times("2026-01-08T09:30"), NOW)
    editing.change_occurrence(series, date(2026, 1, 9), {"subject": "Stand-down"}, NOW)

    page = look()

    assert items(cell(page, "2026-01-08")) == ["09:30 Stand-up , moved from 10:00"]
    assert items(cell(page, "2026-01-09")) == ["10:00 Stand-down , changed"]


def test_a_cancelled_occurrence_is_shown_on_demand(look, make_event):
    editing.cancel_occurrence(make_event(recurrence=DAILY), date(2026, 1, 8), NOW)

    assert items(cell(look(), "2026-01-08")) == []
    assert items(cell(look("cancelled=1"), "2026-01-08")) == ["10:00 Stand-up , repeats, cancelled"]


def test_an_event_of_several_days_keeps_its_line_and_says_its_name_once_a_week(look, make_event):
    make_event(subject="Offsite", is_all_day=True, **times("2026-01-08T00:00", "2026-01-14T00:00"))
    make_event(subject="On call", is_all_day=True, **times("2026-01-09T00:00", "2026-01-10T00:00"))

    page = look()

    found = [
        re.search(r'data-part="([^"]*)"[^>]*>(?:(?!</a>).)*Offsite', cell(page, day), re.DOTALL) for day in OFFSITE
    ]
    assert [part and part[1] for part in found] == ["continues", *["continued continues"] * 4, "continued"]
    unnamed = '<span class="visually-hidden">Offsite</span>&nbsp;'
    assert [day for day in OFFSITE if unnamed not in cell(page, day)] == ["2026-01-08", "2026-01-12"]  # and on Monday
    assert cell(page, "2026-01-09").index("Offsite") < cell(page, "2026-01-09").index("On call")


def test_an_event_over_midnight_is_on_both_days(look, make_event):
    make_event(subject="Cut-over", **times("2026-01-08T22:00", "2026-01-09T01:30"))

    week = look("view=week")

    assert 'data-h="22" data-dh="2"' in column(week, "2026-01-08")
    assert "until Fri 01:30" in column(week, "2026-01-08")
    assert 'class="at lane" data-dh="1" data-dm="30"' in column(week, "2026-01-09")
    assert "since Thu 22:00" in column(week, "2026-01-09")
    month = look()
    assert items(cell(month, "2026-01-08")) == ["22:00 Cut-over"]
    assert items(cell(month, "2026-01-09")) == ["Cut-over , continued"]


def test_what_a_day_has_no_room_for_is_counted_and_leads_to_the_day(look, make_event):
    for hour in range(9, 16):
        make_event(subject=f"At {hour}", **times(f"2026-01-08T{hour:02}:00"))

    found = cell(look(), "2026-01-08")

    assert len(items(found)) == 4
    assert 'aria-label="3 more on Thursday 8 January 2026"' in found
    assert "/calendar/?view=day&amp;date=2026-01-08" in found


def test_a_week_shows_three_side_by_side_and_a_day_four(look, make_event):
    for name in "abcde":
        make_event(subject=name, **times("2026-01-08T10:00"))

    assert items(column(look("view=week"), "2026-01-08")) == ["10:00 a", "10:00 b", "10:00 c"]
    assert 'aria-label="2 more at this time on Thursday 8 January 2026">+2<' in look("view=week")
    assert len(items(column(look("view=day&date=2026-01-08"), "2026-01-08"))) == 4


@pytest.mark.parametrize(
    "details, attribute, said",
    [
        ({"show_as": "tentative"}, 'data-shows="tentative"', ", tentative"),
        ({"show_as": "free"}, 'data-shows="free"', ", free"),
        ({"sensitivity": "private"}, 'href="#i-lock"', ", private"),
    ],
)
def test_how_an_event_counts_is_drawn_and_said(look, make_event, details, attribute, said):
    make_event(**details)

    found = cell(look(), "2026-01-05")

    assert attribute in found
    assert said in found


def test_what_somebody_wrote_is_text(look, make_event):
    make_event(subject='<b title="x">&amp;', locations=[{"displayName": "<i>Spree</i>"}])

    for view in ("month", "week", "agenda&date=2026-01-05"):
        page = look(f"view={view}")
        assert "<b title" not in page
        assert "<i>Spree" not in page
        assert "&lt;b title=&quot;x&quot;&gt;&amp;amp;" in page


# runs of jobs


def add_run(job, at: datetime, state: str = "succeeded", **fields) -> Run:
    return Run.objects.create(
        subscription=job.collection.subscription,
        job=job,
        action=job.action,
        collection_name=job.collection.name,
        job_name=job.name,
        trigger_name="default",
        fire_at=at,
        publish_after=at,
        state=state,
        started_at=at,
        finished_at=at + timedelta(minutes=40),
        attempt_count=1,
        **fields,
    )


def test_runs_that_were_and_will_be_stand_among_the_events(look, make_job):
    job = make_job(now=WEDNESDAY)  # daily at 08:00 UTC
    add_run(job, datetime(2026, 1, 6, 8, tzinfo=UTC), "failed", reason="503")

    page = look()

    assert items(cell(page, "2026-01-06")) == ["09:00 backup , failed, 503"]
    assert items(cell(page, "2026-01-08")) == ["09:00 backup , planned"]
    assert 'data-state="planned"' in cell(page, "2026-01-08")
    week = column(look("view=week"), "2026-01-06")
    assert 'class="at lane brief" data-h="9" data-dm="40"' in week  # as long as it took


def test_a_frequent_job_is_one_line_a_day(look, make_job):
    make_job(schedule={"recurrence": {"frequency": "Minute", "interval": 5}}, now=WEDNESDAY)

    page = look("view=week")

    assert column(page, "2026-01-09").count("backup") == 0
    assert "every 5 min" in page
    assert ">288<" in page
    assert 'class="band"' in cell(look(), "2026-01-09")


def test_runs_are_left_out_by_collection_and_by_kind(look, make_job, collection):
    job = make_job(now=WEDNESDAY)
    for hour, state in ((6, "succeeded"), (7, "failed"), (9, "skipped")):
        add_run(job, datetime(2026, 1, 6, hour, tzinfo=UTC), state)

    def shown(query: str) -> list[str]:
        return [each[:5] for each in items(cell(look(query), "2026-01-06"))]

    assert shown("") == ["07:00", "08:00", "10:00"]
    assert shown("noskipped=1") == ["07:00", "08:00"]
    assert shown("failures=1") == ["08:00"]
    assert shown(f"noruns={collection.pk}") == []


# for whom


def test_nobody_sees_what_is_not_theirs(look, make_user, make_event):
    other = make_user("mallory", role=None)
    make_event(Calendar.objects.default_of(other), subject="Secret plan")

    for query in ("", "view=week", "view=agenda&date=2026-01-05", "q=secret"):
        assert "Secret plan" not in look(query)


def test_what_others_keep_private_is_a_time_without_a_name(look, make_user, make_event, viewer):
    calendar = Calendar.objects.default_of(make_user("grace"))
    Share.objects.create(calendar=calendar, user=viewer, role=Role.READER)
    make_event(calendar, subject="Doctor", sensitivity="private")

    assert items(cell(look(), "2026-01-05")) == ["10:00 Private , private"]
    assert "Doctor" not in look() + look("view=day&date=2026-01-05") + look("view=agenda&date=2026-01-05")
    assert "Nothing is called that" in look("q=doctor")


def test_runs_of_other_subscriptions_are_not_shown(look, make_job, viewer, make_user):
    make_job(now=WEDNESDAY)
    viewer.is_superuser = viewer.is_staff = False
    viewer.save()
    viewer.membership_set.all().delete()

    page = look()

    assert "backup" not in page
    assert "Runs of jobs" not in page


def test_the_page_asks_who_one_is(client):
    assert client.get("/calendar/").status_code == 302


# how it is read


def test_zones_move_everything_and_the_second_scale_is_ones_own(look, make_event):
    make_event()

    page = look("view=day&date=2026-01-05&zone=Asia/Kolkata")

    assert items(page) == ["14:30 Stand-up"]
    assert (
        '<abbr title="Asia/Kolkata, UTC+05:30">Kolkata</abbr><abbr title="Europe/Berlin, UTC+01:00">Berlin</abbr>'
        in page
    )
    assert "view=week&amp;date=2026-01-05&amp;zone=Asia/Kolkata" in page  # every link keeps it


def test_the_present_time_stands_on_today_in_the_zone_that_is_shown(look):
    week = look("view=week")
    assert '<li class="at now-line" data-h="12" data-m="30"' in column(week, "2026-01-07")
    assert '<li class="at now-line far" data-h="12" data-m="30"' in column(week, "2026-01-08")

    kiritimati = look("view=week&zone=Pacific/Kiritimati")  # where tomorrow has begun
    assert '<li class="at now-line" data-h="1" data-m="30"' in column(kiritimati, "2026-01-08")
    assert "now-line" not in look("view=week&date=2026-02-02")


def test_the_viewer_chooses_how_weeks_and_times_are_written(look, make_event, viewer):
    make_event(**times("2026-01-05T15:00"))
    viewer.week_start, viewer.hour_cycle, viewer.language = 6, 12, "de"
    viewer.save()

    page = look()

    assert items(cell(page, "2026-01-05")) == ["3:00 PM Stand-up"]
    assert re.findall(r'<th scope="col"[^>]*><abbr title="(\w+)">', page)[0] == "Sonntag"
    assert "Januar 2026" in page
    assert 'aria-label="Montag, 5. Januar 2026"' in page


def test_a_week_with_a_clock_change_says_so_and_has_the_hour_twice(look):
    page = look("view=week&date=2026-10-25")

    assert "Sunday has 25 hours." in page
    assert "At 03:00 the clock in Berlin goes back to 02:00." in page
    assert 'data-hours="25"' in page
    assert page.count("under missing") == 6
    assert "02:00 again, UTC+1" in column(page, "2026-10-25")
    scale = re.search(r'<ol class="scale first".*?</ol>', page, re.DOTALL)[0]
    assert re.findall(r">(\d\d)<", scale)[:4] == ["01", "02", "02", "03"]


def test_a_day_that_clocks_shorten_says_what_it_does_not_have(look, make_job):
    page = look("view=day&date=2027-03-28")

    assert "This day has 23 hours." in page
    assert '<li class="at under missing" data-h="2" data-dh="1"' in page
    assert "02:00 to 03:00 does not exist on this day" in page


def test_a_day_that_was_left_out_is_hatched(look):
    page = look("view=day&date=2011-12-30&zone=Pacific/Apia")

    assert "Friday does not exist." in page
    assert '<li class="at under missing" data-dh="24"' in page
    assert "does not exist" in cell(look("date=2011-12-30&zone=Pacific/Apia"), "2011-12-30")


def test_tables_name_their_rows_and_columns(look, make_event):
    make_event()

    for view, columns in (("month", 8), ("week", 7), ("day&date=2026-01-05", 1), ("agenda&date=2026-01-05", 3)):
        page = look(f"view={view}")
        table = re.search(r'<table class="(?:month|week|week single|agenda)"(.*?)</table>', page, re.DOTALL)[1]
        assert "<caption" in table
        head = re.search(r"<thead.*?</thead>", table, re.DOTALL)[0]
        assert head.count('scope="col"') == columns
        assert re.search(r'scope="row(group)?"', table)


# finding


def test_a_search_shows_what_is_nearest_of_each_event_and_job(look, make_event, make_job):
    make_event(recurrence=recurrence("daily", start="2025-11-01"), **times("2025-11-01T10:00"))
    make_event(subject="Unrelated")
    job = make_job("stand-in", now=WEDNESDAY)
    add_run(job, datetime(2026, 1, 6, 8, tzinfo=UTC))

    page = look("q=STAND")

    assert "1 event, 1 job" in page
    assert page.count(">Stand-up</a>") == 3 + 5
    assert page.count(">stand-in</a>") == 1 + 5
    assert "Unrelated" not in page


@pytest.mark.parametrize("changes", [{"locations": [{"displayName": "Room Ümit"}]}, {"categories": ["room ümit"]}])
def test_a_search_looks_at_places_and_categories_too(look, make_event, changes):
    make_event(**changes)

    assert ">Stand-up</a>" in look("q=%C3%9Cmit")


def test_a_search_finds_the_occurrence_that_is_called_otherwise(look, make_event):
    series = make_event(recurrence=DAILY)
    editing.change_occurrence(series, date(2026, 1, 9), {"subject": "Retrospective"}, NOW)

    page = look("q=retro")

    assert page.count(">Retrospective</a>") == 1
    assert ">Stand-up</a>" not in page


# addresses


@pytest.mark.parametrize("query, name", [("view=year", "view"), ("date=0001-01-01", "date"), ("zone=Nowhere", "zone")])
def test_an_address_that_means_nothing_is_refused_and_says_where(look, query, name):
    assert f"Its “{name}” is not as it should be" in look(query, status=400)


@pytest.mark.parametrize(
    "query", ["date=1900-01-01", "date=2199-12-31", "view=week&date=2199-12-31", "view=agenda&date=2199-12-31"]
)
def test_the_first_and_the_last_day_are_shown_in_every_zone(look, query, make_event):
    make_event(recurrence=DAILY)

    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        look(f"{query}&zone={zone}")


def test_a_switch_without_script_leads_to_an_address(client, look, viewer):
    calendar = Calendar.objects.default_of(viewer)

    response = client.get(f"/calendar/?layers=1&view=week&had={calendar.pk.hex}&hadruns=&skipped=1&maintenance=1")

    assert response.status_code == 302
    assert response["Location"] == f"/calendar/?view=week&off={calendar.pk.hex}"


def test_a_calendar_that_is_off_is_not_shown(look, make_event, viewer):
    event = make_event()

    assert "Stand-up" not in look(f"off={event.calendar.pk.hex}")


def test_script_gets_the_part_that_changes_and_the_address_it_has(client, look):
    response = client.get("/calendar/?view=week&date=2026-01-05&noruns=", headers={"HX-Request": "true"})

    assert response["HX-Push-Url"] == "/calendar/?view=week&date=2026-01-05"
    assert "HX-Request" in response["Vary"]
    page = response.content.decode()
    assert page.startswith("<title>5–11 January 2026, Week · Quando</title>")
    assert "<html" not in page and 'class="week"' in page


def test_a_page_that_is_gone_back_to_is_whole(client, look):
    response = client.get("/calendar/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert response.content.decode().startswith("<!doctype html>")


def test_every_address_on_the_page_is_right(client, look, make_event, make_job):
    make_event(recurrence=DAILY)
    make_job(now=WEDNESDAY)
    found = {
        html.unescape(link)
        for query in ("", "view=week", "view=agenda", "q=stand")
        for link in re.findall(r'href="(/calendar/[^"]*)"', look(query))
    }

    refused = {link for link in found if client.get(link).status_code != 200}

    assert len(found) > 100
    assert not refused


# cost


def test_what_was_laid_out_before_holds_until_something_changes(look, make_event, viewer):
    series = make_event(recurrence=DAILY)
    other = Calendar.objects.create(owner=viewer, name="Other")
    day = date(2026, 1, 12)

    def shown() -> list[str]:
        return items(cell(look("cancelled=1"), "2026-01-12"))

    assert shown() == shown() == ["10:00 Stand-up , repeats"]
    editing.change_occurrence(series, day, {"subject": "Stand-down"}, NOW)
    assert shown() == ["10:00 Stand-down , changed"]
    editing.cancel_occurrence(series, day, NOW)
    assert shown() == ["10:00 Stand-down , repeats, cancelled"]
    editing.restore_occurrence(series, day, NOW)
    assert shown() == ["10:00 Stand-up , repeats"]
    editing.change_calendar(series.calendar, {"name": "Team", "hue": "plum"}, NOW)
    assert 'data-hue="plum"' in cell(look(), "2026-01-12")
    editing.move(series, other, NOW)
    assert shown() == ["10:00 Stand-up , repeats"]
    assert items(cell(look(f"off={other.pk.hex}"), "2026-01-12")) == []
    editing.delete(Event.objects.get(), NOW)
    assert shown() == []


def test_what_is_kept_for_its_owner_is_not_shown_to_others(client, look, make_user, make_event, viewer):
    grace = make_user("grace")
    calendar = Calendar.objects.default_of(grace)
    make_event(calendar, subject="Doctor", sensitivity="private")
    share = Share.objects.create(calendar=calendar, user=viewer, role=Role.READER)
    client.force_login(grace)
    assert "Doctor" in look()

    client.force_login(viewer)
    assert "Doctor" not in look() and "Private" in look()
    share.delete()
    assert "Private" not in look()


def test_the_queries_of_a_month_are_as_many_whatever_is_in_it(
    client, look, make_event, make_job, django_assert_max_num_queries
):
    def add(count: int) -> None:
        for number in range(count):
            series = make_event(subject=f"Series {number}", recurrence=DAILY)
            editing.cancel_occurrence(series, date(2026, 1, 12), NOW)
            add_run(make_job(f"job-{number}-{count}", now=WEDNESDAY), datetime(2026, 1, 6, 8, tzinfo=UTC))

    own, of_every_page = 7, 3  # layers, events, exceptions, maintenance, and three for runs
    for count in (1, 30):
        add(count)
        with django_assert_max_num_queries(own + of_every_page):
            client.get("/calendar/")


def test_a_month_of_a_thousand_series_takes_seven_queries_at_most(
    client, viewer, calendar, django_assert_max_num_queries
):
    def add(count: int) -> None:
        said = {"subject": "One", **times("2026-01-05T10:00"), "recurrence": DAILY}
        series = editing.create(calendar, said, NOW)[0]
        rows = [copy(series) for _ in range(count - 1)]
        for each in rows:
            each.pk = each.uid = uuid.uuid4()
        Event.objects.bulk_create(rows)
        editing.cancel_occurrence(series, date(2026, 1, 12), NOW)

    client.force_login(viewer)
    for count in (10, 990):  # with those of every page: the session, the user, and how many notices wait
        add(count)
        with django_assert_max_num_queries(7):
            assert client.get("/calendar/").status_code == 200
    assert Event.objects.count() == 1_000


def test_nothing_is_laid_out_beyond_the_window(look, make_event, monkeypatch):
    make_event(recurrence=DAILY)
    laid_out = []
    whole = Series.occurrences
    monkeypatch.setattr(
        Series, "occurrences", lambda self, start, end: laid_out.append((start, end)) or whole(self, start, end)
    )

    look("view=week")

    assert laid_out == [(datetime(2026, 1, 4, 23, tzinfo=UTC), datetime(2026, 1, 11, 23, tzinfo=UTC))]
