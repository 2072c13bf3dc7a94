"""Where boxes lie on the pages, measured: crowded calendars, long names, windows of every width, and paper."""

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
PAPER = {"width": 1047, "height": 718}  # A4 landscape within its margins, at 96 dots an inch

# of everything placed by time, how far its box is from that of its lane
LANES = """() => [...document.querySelectorAll(".lane > .item")].map((item) => {
  const own = item.getBoundingClientRect(), lane = item.parentElement.getBoundingClientRect();
  return [item.textContent.trim().slice(0, 20), Math.abs(own.height - lane.height), Math.abs(own.width - lane.width)];
}).filter(([, height, width]) => height > 1 || width > 1)"""
# the heights of the week's parts, from the top of the box in which the hours scroll
HOURS = """() => {
  const wrap = document.querySelector(".week-wrap"), top = wrap.getBoundingClientRect().top;
  const from = (selector) => {
    const element = wrap.querySelector(selector);
    return element && Math.round(element.getBoundingClientRect().top - top);
  };
  return {
    heads: from(".day-heads"), allDay: from(".all-day"), hours: from(".hours"), now: from(".now-line"),
    above: wrap.querySelector("thead").offsetHeight, height: wrap.clientHeight,
    hour: wrap.querySelector(".lanes").offsetHeight / 24, fits: wrap.getBoundingClientRect().bottom <= innerHeight,
  };
}"""

# of every select, the id and by how much its widest choice passes its width
CUT_CHOICES = """() => [...document.querySelectorAll("select:not([multiple])")].map((select) => {
  if (!select.checkVisibility()) return [select.id, 0];
  const width = select.offsetWidth;
  select.style.inlineSize = "max-content";
  select.style.maxInlineSize = "none";
  const cut = select.offsetWidth - width;
  select.style.inlineSize = select.style.maxInlineSize = "";
  return [select.id, cut];
}).filter(([, cut]) => cut > 1)"""

# the text of an element, how far it passes the width and the height of the element, and its lines
NUMBER = """(element) => {
  const text = document.createRange();
  text.selectNodeContents(element);
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element;
  return [element.textContent, scrollWidth - clientWidth, scrollHeight - clientHeight, text.getClientRects().length];
}"""


@pytest.fixture
def crowded(owner, subscription):
    """A viewer in Berlin with five events at a time, and with long names for everything that has one."""
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
    named = Calendar.objects.create(owner=owner, name=LONG, hue="iris")
    make(LONG, datetime.combine(TODAY, time(18)), timedelta(minutes=15), named)
    collection = JobCollection.objects.create(subscription=subscription, name=LONG, sku="P20Premium")
    daily = {"recurrence": {"frequency": "Day", "schedule": {"hours": [17], "minutes": [0]}}}
    job, _ = save_job(collection, LONG, JobDefinition(action=ACTION, schedule=daily), now)
    return job


@pytest.fixture
def long_names(crowded, owner, make_trigger):
    """What operators look at, by long names: the addresses of their pages."""
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


def test_a_crowded_calendar_is_drawn_true_at_every_width_and_on_paper(open_page, sign_in, crowded):
    page = sign_in(open_page())
    faults = []

    for view in ("month", "week", "day", "agenda"):
        page.goto(f"/calendar/?view={view}")
        faults += [f"{view} {fault}" for fault in find_overflow(page, *WIDTHS)]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            faults += [f"{view} at {width} px: {fault}" for fault in page.evaluate(LANES)]
        side = page.locator(".calendar-sidebar").bounding_box()
        assert side["x"] + side["width"] <= page.locator(".calendar-main").bounding_box()["x"]
        page.emulate_media(media="print")
        page.set_viewport_size(PAPER)
        faults += [f"{view} on paper {fault}" for fault in page.evaluate(LANES)]
        page.emulate_media(media="screen")

    assert not faults, "\n".join(map(str, faults))


def test_long_names_stay_within_their_cards(open_page, sign_in, long_names):
    page = sign_in(open_page())
    faults = []

    for address in long_names:
        page.goto(address)
        faults += [f"{address} {fault}" for fault in find_overflow(page, *WIDTHS)]

    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_hours_open_at_now_below_heads_that_stay(open_page, sign_in, crowded, width):
    page = sign_in(open_page(width=width))

    for query in ("view=week", "view=day", "view=day&zone=Pacific/Auckland"):  # where it is 01:32
        page.goto(f"/calendar/?{query}")
        seen = page.evaluate(HOURS)
        assert seen["above"] <= seen["now"] < seen["height"], query
        assert seen["fits"]

        page.locator(".week-wrap").evaluate("wrap => { wrap.scrollTop = wrap.scrollHeight }")
        assert page.evaluate(HOURS) | {"heads": 1, "allDay": seen["allDay"]} == page.evaluate(HOURS)

    page.goto("/calendar/?view=week&date=2027-02-10")
    seen = page.evaluate(HOURS)
    assert -7 <= (seen["hours"] - seen["above"]) / seen["hour"] <= -6.5  # the first hour in full is that of seven


def test_the_hours_stay_where_they_are_when_one_goes_on(open_page, sign_in, crowded):
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


def test_a_sheet_of_paper_is_used(open_page, sign_in, crowded):
    page = sign_in(open_page())
    page.set_viewport_size(PAPER)
    page.emulate_media(media="print")

    for query in ("date=2027-02-10", "date=2026-08-31", "view=week", "view=day"):  # a month of four weeks, one of six
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


def test_the_choices_of_a_form_are_not_cut(open_page, sign_in, owner, make_job, make_trigger):
    job = make_job()
    resource(job.collection.subscription)
    trigger = make_trigger(job)
    page = sign_in(open_page())
    cut = []

    for width, address in (
        *((width, f"/admin/jobs/job/{job.pk}/change/") for width in (390, 768, 1280, 1600)),
        *((width, f"/admin/triggers/trigger/{trigger.pk}/change/") for width in (390, 768, 1280, 1600)),
        *((width, "/maintenance/announce") for width in (390, 768, 1280, 1600)),
        *((width, "/calendar/") for width in (520, 768, 1280, 1600)),  # on a telephone only the place is in full
    ):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        cut += [f"{address} at {width} px: {fault}" for fault in page.evaluate(CUT_CHOICES)]

    assert not cut, "\n".join(cut)


def test_the_number_of_events_without_room_stays_within_its_lane(open_page, sign_in, crowded, owner):
    calendar, now = Calendar.objects.default_of(owner), timezone.now()
    start = WallTime(datetime.combine(TODAY, time(8)), owner.time_zone)
    end = WallTime(datetime.combine(TODAY, time(15)), owner.time_zone)
    for number in range(10):  # beside five others, of which two are shown
        editing.create(calendar, {"subject": f"Meeting {number}", "start": start, "end": end}, now)
    page = sign_in(open_page())

    for width in (390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto("/calendar/?view=week")
        assert page.locator(".lane > .more").first.evaluate(NUMBER) == ["+13", 0, 0, 1]


def test_the_name_of_an_event_of_several_days_stays_in_view_on_a_telephone(open_page, sign_in, owner):
    calendar, now = Calendar.objects.default_of(owner), timezone.now()
    first, last = (WallTime(datetime.combine(date(2026, 11, day), time()), "UTC") for day in (2, 9))
    editing.create(calendar, {"subject": "Fair", "start": first, "end": last, "is_all_day": True}, now)
    page = sign_in(open_page(width=390))

    page.goto("/calendar/?view=week")
    wrap, name = page.locator(".week-wrap"), page.locator(".all-day .name")
    for day in range(7):
        wrap.evaluate("(wrap, day) => { wrap.scrollLeft = day / 7 * wrap.scrollWidth }", day)
        scale, text, shown = (part.bounding_box() for part in (page.locator(".week .corner"), name, wrap))
        assert scale["x"] + scale["width"] <= text["x"], day
        assert text["x"] + text["width"] <= shown["x"] + shown["width"], day
