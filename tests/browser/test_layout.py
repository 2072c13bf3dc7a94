"""Measured positions of boxes on pages: crowded calendars, long names, different widths, and print."""

from datetime import date, datetime, time, timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import ApiToken, Membership, Role, Subscription
from calendars import editing
from calendars.editing import WallTime
from calendars.models import Calendar
from jobs.models import JobCollection, Run
from tests.browser.layout import find_overflow
from tests.conftest import ACTION
from tests.maintenance.notices import announce, resource
from triggers.definitions import JobDefinition
from triggers.scheduling import save_job

pytestmark = pytest.mark.django_db(transaction=True)

TODAY = date(2026, 11, 4)  # tests/conftest.py
LONG = "Wolfeschlegelsteinhausenbergerdorff" * 2
WIDTHS = (320, 390, 520, 640, 768, 800, 960, 1280, 1600)
PAPER = {"width": 1047, "height": 718}  # A4 landscape without margins at 96 dpi

# of each item in a lane: the differences in height and width between its box and the lane
LANES = """() => [...document.querySelectorAll(".lane > .item")].map((item) => {
  const own = item.getBoundingClientRect(), lane = item.parentElement.getBoundingClientRect();
  return [item.textContent.trim().slice(0, 20), Math.abs(own.height - lane.height), Math.abs(own.width - lane.width)];
}).filter(([, height, width]) => height > 1 || width > 1)"""
# the vertical positions of the parts of the week, relative to the top of the scrolling box
HOURS = """() => {
  const wrap = document.querySelector(".week-wrap"), top = wrap.getBoundingClientRect().top;
  const from = (selector) => {
    const element = wrap.querySelector(selector);
    return element && Math.round(element.getBoundingClientRect().top - top);
  };
  return {
    heads: from(".day-heads"), allDay: from(".all-day"), hours: from("tbody"), now: from(".now-line"),
    above: wrap.querySelector("thead").offsetHeight, height: wrap.clientHeight,
    hour: wrap.querySelector(".lanes").offsetHeight / 24, fits: wrap.getBoundingClientRect().bottom <= innerHeight,
  };
}"""

# the id of each select and how much its widest option exceeds its width
CUT_CHOICES = """() => [...document.querySelectorAll("select:not([multiple])")].map((select) => {
  if (!select.checkVisibility()) return [select.id, 0];
  const width = select.offsetWidth;
  select.style.inlineSize = "max-content";
  select.style.maxInlineSize = "none";
  const cut = select.offsetWidth - width;
  select.style.inlineSize = select.style.maxInlineSize = "";
  return [select.id, cut];
}).filter(([, cut]) => cut > 1)"""

# the text of an element, how much it exceeds the width and height of the element, and its number of lines
NUMBER = """(element) => {
  const text = document.createRange();
  text.selectNodeContents(element);
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element;
  return [element.textContent, scrollWidth - clientWidth, scrollHeight - clientHeight, text.getClientRects().length];
}"""


@pytest.fixture
def crowded_calendar(owner, subscription):
    """A user in Berlin with five simultaneous events and with long names of all objects."""
    owner.time_zone = "Europe/Berlin"
    owner.save()
    now = timezone.now()
    calendar = Calendar.objects.default_of(owner)

    def make(subject: str, start: datetime, length: timedelta, in_calendar=calendar, **details) -> None:
        times = {name: WallTime(at, owner.time_zone) for name, at in (("start", start), ("end", start + length))}
        editing.create(in_calendar, {"subject": subject, **times, **details}, now)

    for name in ("Audit", "Load test", "On call", "Release", LONG):
        make(name, datetime.combine(TODAY, time(8)), timedelta(hours=7), locations=[{"displayName": LONG}])
    make("Holidays", datetime.combine(TODAY, time()), timedelta(days=2), is_all_day=True)
    calendar_with_long_name = Calendar.objects.create(owner=owner, name=LONG, hue="iris")
    make(LONG, datetime.combine(TODAY, time(18)), timedelta(minutes=15), calendar_with_long_name)
    collection = JobCollection.objects.create(subscription=subscription, name=LONG, sku="P20Premium")
    daily = {"recurrence": {"frequency": "Day", "schedule": {"hours": [17], "minutes": [0]}}}
    job, _ = save_job(collection, LONG, JobDefinition(action=ACTION, schedule=daily), now)
    return job


@pytest.fixture
def pages_with_long_names(crowded_calendar, owner, make_trigger):
    """The addresses of pages that show objects with long names."""
    now = timezone.now()
    subscription = Subscription.objects.create(name=LONG[:63])
    Membership.objects.create(subscription=subscription, user=owner, role=Role.OWNER)
    collection = JobCollection.objects.create(subscription=subscription, name=LONG, resource_group=LONG)
    job, _ = save_job(collection, LONG, JobDefinition(action=ACTION, schedule={}), now)
    trigger = make_trigger(job, LONG, group=LONG, data_map={"custom_lock_key": LONG}, now=now)
    run = Run.objects.create(
        subscription=subscription,
        job=job,
        action=job.action,
        collection_name=LONG,
        job_name=LONG,
        trigger_name=LONG,
        fire_at=now,
        publish_after=now,
        state=Run.State.FAILED,
        reason=f"Host '{LONG}' answered",
        started_at=now,
        finished_at=now,
    )
    ApiToken.objects.issue(owner, LONG)
    announce(resource(subscription, LONG), now=now, not_before=now + timedelta(days=1), description=LONG)
    owner.first_name = owner.last_name = LONG
    owner.save()
    return [
        "/admin/",
        "/admin/jobs/job/",
        f"/admin/jobs/job/{job.pk}/",
        f"/admin/jobs/job/{job.pk}/delete/",
        "/admin/triggers/trigger/",
        f"/admin/triggers/trigger/{trigger.pk}/change/",
        f"/admin/jobs/run/{run.pk}/change/",
        "/admin/jobs/jobcollection/",
        "/admin/accounts/user/",
        "/admin/accounts/subscription/",
        "/account/",
        "/account/tokens/",
        "/maintenance/",
        "/maintenance/resources",
        f"/maintenance/jobs/{job.pk}",
        "/calendar/calendars/",
    ]


def test_crowded_calendar_is_laid_out_correctly_at_each_width_and_in_print(open_page, sign_in, crowded_calendar):
    page = sign_in(open_page())
    faults = []

    for view in ("month", "week", "day", "agenda"):
        page.goto(f"/calendar/?view={view}")
        faults += [f"{view} {fault}" for fault in find_overflow(page, *WIDTHS)]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            faults += [f"{view} at {width} px: {fault}" for fault in page.evaluate(LANES)]
        sidebar = page.locator(".calendar-sidebar").bounding_box()
        assert sidebar["x"] + sidebar["width"] <= page.locator(".calendar-main").bounding_box()["x"]
        page.emulate_media(media="print")
        page.set_viewport_size(PAPER)
        faults += [f"{view} on paper {fault}" for fault in page.evaluate(LANES)]
        page.emulate_media(media="screen")

    assert not faults, "\n".join(map(str, faults))


def test_long_names_stay_within_their_cards(open_page, sign_in, pages_with_long_names):
    page = sign_in(open_page())
    faults = []

    for address in pages_with_long_names:
        page.goto(address)
        faults += [f"{address} {fault}" for fault in find_overflow(page, *WIDTHS)]

    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", [1280, 390])
def test_hours_open_at_the_current_time_below_fixed_headers(open_page, sign_in, crowded_calendar, width):
    page = sign_in(open_page(width=width))

    for query in ("view=week", "view=day", "view=day&zone=Pacific/Auckland"):  # in Auckland it is 01:32
        page.goto(f"/calendar/?{query}")
        positions = page.evaluate(HOURS)
        assert positions["above"] <= positions["now"] < positions["height"], query
        assert positions["fits"]

        page.locator(".week-wrap").evaluate("wrap => { wrap.scrollTop = wrap.scrollHeight }")
        assert page.evaluate(HOURS) | {"heads": 1, "allDay": positions["allDay"]} == page.evaluate(HOURS)

    page.goto("/calendar/?view=week&date=2027-02-10")
    positions = page.evaluate(HOURS)
    assert -7 <= (positions["hours"] - positions["above"]) / positions["hour"] <= -6.5  # the first full hour is 07:00


def test_scroll_position_of_hours_is_kept_when_paging(open_page, sign_in, crowded_calendar):
    page = sign_in(open_page())
    page.goto("/calendar/?view=week")
    opened = page.evaluate(HOURS)["hours"]
    page.locator(".week-wrap").evaluate("wrap => { wrap.scrollTop = 100 }")
    moved = page.evaluate(HOURS)
    assert moved["hours"] != opened

    page.keyboard.press("PageDown")
    expect(page.get_by_role("heading", level=1)).to_contain_text("9–15 November")
    after = page.evaluate(HOURS)
    assert after["hours"] - after["above"] == pytest.approx(moved["hours"] - moved["above"], abs=1)
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1)).to_contain_text("2–8 November")
    assert page.evaluate(HOURS)["hours"] == opened


def test_printed_views_fill_one_page(open_page, sign_in, crowded_calendar):
    page = sign_in(open_page())
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")

    for query in ("date=2027-02-10", "date=2026-08-31", "view=week", "view=day"):  # months with four and with six weeks
        page.goto(f"/calendar/?{query}")
        bottom = page.evaluate("document.querySelector('.month, .week').getBoundingClientRect().bottom")
        assert 0.8 * PAPER["height"] < bottom <= PAPER["height"], query
    lines = page.locator(".week .day").evaluate(
        "day => [getComputedStyle(day).printColorAdjust, getComputedStyle(day).backgroundImage]"
    )
    edges = page.locator(".lane > .event").evaluate_all(
        "items => items.map(item => getComputedStyle(item).borderWidth)"
    )
    assert lines[0] == "exact"
    assert "gradient" in lines[1]
    assert set(edges) == {"1px 1px 1px 4px"}


def test_options_of_selects_are_not_cut(open_page, sign_in, owner, make_job, make_trigger):
    job = make_job()
    resource(job.collection.subscription)
    trigger = make_trigger(job)
    page = sign_in(open_page())
    cut = []

    for width, address in (
        *((width, f"/admin/jobs/job/{job.pk}/change/") for width in (390, 768, 1280, 1600)),
        *((width, f"/admin/triggers/trigger/{trigger.pk}/change/") for width in (390, 768, 1280, 1600)),
        *((width, "/maintenance/announce") for width in (390, 768, 1280, 1600)),
        *((width, "/calendar/") for width in (520, 768, 1280, 1600)),  # on a phone only the place is shown in full
    ):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        cut += [f"{address} at {width} px: {fault}" for fault in page.evaluate(CUT_CHOICES)]

    assert not cut, "\n".join(cut)


def test_number_of_hidden_events_fits_its_lane(open_page, sign_in, crowded_calendar, owner):
    calendar, now = Calendar.objects.default_of(owner), timezone.now()
    start = WallTime(datetime.combine(TODAY, time(8)), owner.time_zone)
    end = WallTime(datetime.combine(TODAY, time(15)), owner.time_zone)
    for number in range(10):  # at the same time as five others; two of all are shown
        editing.create(calendar, {"subject": f"Meeting {number}", "start": start, "end": end}, now)
    page = sign_in(open_page())

    for width in (390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/calendar/?view=week")
        assert page.locator(".lane > .more").first.evaluate(NUMBER) == ["+13", 0, 0, 1]


def test_name_of_an_event_of_several_days_stays_visible_on_a_phone(open_page, sign_in, owner):
    calendar, now = Calendar.objects.default_of(owner), timezone.now()
    first, last = (WallTime(datetime.combine(date(2026, 11, day), time()), "UTC") for day in (2, 9))
    editing.create(calendar, {"subject": "Fair", "start": first, "end": last, "is_all_day": True}, now)
    page = sign_in(open_page(width=390))

    page.goto("/calendar/?view=week")
    wrap, name = page.locator(".week-wrap"), page.locator(".all-day .name")
    for day in range(7):
        wrap.evaluate("(wrap, day) => { wrap.scrollLeft = day / 7 * wrap.scrollWidth }", day)
        scale, text, visible_area = (part.bounding_box() for part in (page.locator(".week .corner"), name, wrap))
        assert scale["x"] + scale["width"] <= text["x"], day
        assert text["x"] + text["width"] <= visible_area["x"] + visible_area["width"], day
