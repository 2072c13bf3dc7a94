"""The closed days that the calendar page shades, and moved and delayed runs."""

import html
import re
from datetime import date, timedelta

import pytest

from accounts.models import Role, Subscription
from calendars.pages.closed_days import MOST_NAMES, DayNote, note_of
from recurrence.closed_days import ClosedDay
from tests.calendars.page.reading import WEDNESDAY, cell, column, items
from tests.conftest import NOW, utc
from triggers import closed_days
from triggers.dispatch import dispatch_due
from triggers.models import ClosedDays

pytestmark = pytest.mark.django_db

EPIPHANY = {"dates": [{"date": "2026-01-06", "name": "Epiphany"}], "weekend": ["sunday"]}


@pytest.fixture
def make_closed(subscription):
    """Return a function that makes a calendar of closed days."""

    def make_closed(name: str = "Bavaria", document: dict = EPIPHANY, of: Subscription | None = None) -> ClosedDays:
        return closed_days.create(of or subscription, name, document, NOW)

    return make_closed


@pytest.fixture
def bavaria(make_closed, make_job, make_trigger) -> ClosedDays:
    """A calendar that a daily trigger at 08:00 UTC uses."""
    calendar = make_closed()
    use(calendar, make_job, make_trigger)
    return calendar


def use(calendar: ClosedDays, make_job, make_trigger, job: str = "backup", rule: str = "skip", **members):
    definition = {"expression": "0 0 8 * * ?", "closedDays": {"calendar": calendar.name, "rule": rule}, **members}
    return make_trigger(make_job(job, schedule=None), definition=definition, now=WEDNESDAY - timedelta(days=2))


def shaded(page: str) -> set[str]:
    return set(re.findall(r'<td[^>]* data-date="([0-9-]+)"[^>]* data-closed', page))


def test_month_shades_the_closed_days_of_calendars_in_use(load_page, bavaria):
    page = load_page("date=2026-01-07")

    assert shaded(page) == {f"2026-01-{day:02}" for day in (4, 6, 11, 18, 25)} | {"2026-02-01"}
    assert 'aria-label="Tuesday 6 January 2026, closed: Epiphany, Bavaria"' in page
    assert 'aria-label="Sunday 4 January 2026, closed: weekend, Bavaria"' in page
    assert "<span>Epiphany</span>" in cell(page, "2026-01-06")
    assert "<span>" not in cell(page, "2026-01-04").split("</div>")[0]


def test_week_and_day_shade_their_columns_and_name_the_day(load_page, bavaria):
    week = load_page("view=week&date=2026-01-07")

    assert shaded(week) == {"2026-01-06", "2026-01-11"}
    assert 'aria-label="Tuesday 6 January 2026, closed: Epiphany, Bavaria"' in week
    assert re.findall(r"data-closed>.*?<small>(.*?)</small>", week) == ["Epiphany", ""]
    day = load_page("view=day&date=2026-01-06")
    assert "data-closed" in column(day, "2026-01-06")
    assert "<small>closed: Epiphany, Bavaria</small>" in day


def test_agenda_lists_named_closed_days_without_items(load_page, bavaria):
    page = load_page("view=agenda&date=2026-01-05")

    sections = re.findall(r"<tbody([^>]*)>\s*<tr><th[^>]*><a[^>]*>(.*?)</a>(?: <small>(.*?)</small>)?", page)
    assert (" data-closed", "Tuesday 6 January", "yesterday, closed: Epiphany, Bavaria") in sections
    assert not any("Sunday" in name for _, name, _ in sections)  # nothing happens then


@pytest.mark.parametrize("view", ["month", "week", "day", "agenda"])
def test_calendars_that_no_shown_job_uses_are_shaded_when_chosen(load_page, make_closed, view):
    calendar = make_closed()
    address = f"view={view}&date=2026-01-06"

    assert "Epiphany" not in load_page(address)
    page = load_page(f"{address}&closed={calendar.pk}")
    assert "Epiphany, Bavaria" in page
    assert f'value="{calendar.pk}" checked' in page
    assert f"closed={calendar.pk}" in page.split('rel="next"')[0]


def test_calendar_in_use_can_be_switched_off(load_page, client, bavaria, make_closed):
    other = make_closed("Other", {"dates": [{"date": "2026-01-07", "name": "Other day"}]})
    form = {"layers": "1", "skipped": "1", "maintenance": "1", "hadclosed": bavaria.pk, "hadopen": other.pk}

    load_page()
    response = client.get("/calendar/", {**form, "closedday": other.pk})
    assert response["Location"] == f"/calendar/?closed={other.pk}&noclosed={bavaria.pk}"
    page = client.get(response["Location"]).text
    assert "Other day" in page
    assert "Epiphany" not in page
    response = client.get("/calendar/", {**form, "closedday": bavaria.pk, "noclosed": bavaria.pk})
    assert response["Location"] == "/calendar/"


def test_calendar_of_hidden_collections_or_stopped_triggers_is_not_shaded(load_page, bavaria, make_job):
    trigger = closed_days.users_of(bavaria).get()

    assert "Epiphany" not in load_page(f"date=2026-01-06&noruns={trigger.job.collection_id}")
    trigger.enabled = False
    trigger.save()
    assert "Epiphany" not in load_page("date=2026-01-06")


@pytest.mark.parametrize("parameter", ["closed=x", "noclosed=-1", f"closed={2**63}"])
def test_wrong_ids_are_refused(load_page, parameter):
    assert parameter.split("=")[0] in load_page(parameter, status=400)


def test_closed_days_of_other_subscriptions_are_not_shown(make_closed, bavaria, client, make_user):
    elsewhere = Subscription.objects.create(name="elsewhere")
    secret = make_closed("Secret", {"dates": [{"date": "2026-01-06", "name": "Launch"}]}, of=elsewhere)

    client.force_login(make_user("bob", role=Role.READER))
    page = client.get(f"/calendar/?date=2026-01-06&closed={secret.pk}").text
    assert "Epiphany" in page
    assert "Secret" not in page
    assert "Launch" not in page

    client.force_login(make_user("eve", in_subscription=elsewhere, role=Role.READER))
    page = client.get(f"/calendar/?date=2026-01-06&closed={secret.pk},{bavaria.pk}").text
    assert "Launch" in page
    assert "Epiphany" not in page
    assert "Bavaria" not in page


def test_number_of_queries_does_not_depend_on_the_number_of_calendars(
    load_page, make_closed, make_job, make_trigger, client, django_assert_max_num_queries
):
    def load(count: int) -> None:
        calendars = [make_closed(f"c{count}-{number}") for number in range(count)]
        for calendar in calendars:
            use(calendar, make_job, make_trigger, calendar.name)
        load_page()
        with django_assert_max_num_queries(13):
            client.get("/calendar/?view=week")

    load(1)
    load(12)


def test_text_of_a_day_names_a_limited_number_of_calendars():
    day = date(2026, 1, 6)
    reasons = [(ClosedDay(day, None, "weekend"), "w")] + [
        (ClosedDay(day, "Epiphany", "holidays"), f"c{number}") for number in range(MOST_NAMES)
    ]

    note = note_of(reasons)

    assert (note.label, note.text.count("Epiphany")) == ("Epiphany", MOST_NAMES)
    assert note.text.endswith("and 1 more")
    assert note_of(reasons[:1]) == DayNote("", "weekend, w")
    assert len(note_of([(ClosedDay(day, "x" * 200, "dates"), "c")]).label) == 60


# Moved and delayed runs


def test_moved_runs_say_from_where(load_page, make_closed, make_job, make_trigger):
    calendar = make_closed("offices", {"weekend": ["saturday", "sunday"]})
    trigger = use(calendar, make_job, make_trigger, rule="after", expression="0 0 8 ? * SAT")
    trigger.next_fire_at = utc("2026-01-05T08:00Z")
    trigger.save()
    dispatch_due(utc("2026-01-05T08:00Z"))

    for view in ("month", "week", "agenda"):
        text = html.unescape(load_page(f"view={view}&date=2026-01-05"))
        assert "moved from Sat 09:00" in text, view  # a past run
        assert "moved from Sat 09:00" in html.unescape(load_page(f"view={view}&date=2026-01-12")), view


def test_jitter_is_shown_as_a_window_and_of_a_waiting_run_as_its_start(load_page, make_job, make_trigger):
    definition = {"expression": "0 0 11 * * ?", "jitter": "PT3H"}
    trigger = make_trigger(make_job(schedule=None), definition=definition, now=WEDNESDAY - timedelta(hours=1))
    fire = utc("2026-01-07T11:00Z")
    dispatch_due(fire)
    start = trigger.start_of(fire)
    assert start > WEDNESDAY

    week = load_page("view=week&date=2026-01-07")
    assert f"starts at {start + timedelta(hours=1):%H:%M}" in week
    [window] = [item for item in items(column(week, "2026-01-08")) if "backup" in item]
    assert "starts between 12:00 and 15:00" in window
    assert 'class="placed background jitter" data-h="12" data-dh="3"' in column(week, "2026-01-08")
    assert "jitter" not in column(week, "2026-01-07")
    assert "starts between 12:00 and 15:00" in load_page("view=agenda&date=2026-01-08")
    assert "starts between 12:00 and 15:00" in cell(load_page(), "2026-01-08")


def test_jitter_windows_that_overlap_are_one_band(load_page, make_job, make_trigger):
    for number in range(3):
        definition = {"expression": f"0 {20 * number} 11 * * ?", "jitter": "PT30M"}
        make_trigger(make_job(f"job-{number}", schedule=None), definition=definition, now=WEDNESDAY)

    day = column(load_page("view=day&date=2026-01-08"), "2026-01-08")

    assert re.findall(r'background jitter"([^>]*?)\s*aria', day) == [' data-h="12" data-dh="1" data-dm="10"']
