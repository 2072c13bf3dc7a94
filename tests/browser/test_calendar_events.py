"""Events in a real browser: creating, viewing, moving, cancelling, splitting and subscribing."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import Role
from calendars import editing, feeds
from calendars.ids import ItemId
from calendars.models import Calendar, Event, Share
from jobs.models import Run
from tests.browser.layout import resize, scrolls_sideways
from tests.calendars.conftest import day, recurrence, times
from tests.calendars.test_manage import FILE
from tests.conftest import NOW

pytestmark = pytest.mark.django_db(transaction=True)

WORKDAYS = {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]}


@pytest.fixture
def user_in_berlin(owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    return owner


@pytest.fixture
def stand_up(user_in_berlin) -> Event:
    """A series on each workday of October 2098 at 09:00. 1 October is a Wednesday; clocks go back on the 26th."""
    team = editing.create_calendar(user_in_berlin, "Team", "iris", NOW)
    values = {
        "subject": "Stand-up",
        **times("2098-10-01T09:00", "2098-10-01T09:15"),
        "recurrence": recurrence(WORKDAYS, start="2098-10-01", type="endDate", endDate="2098-10-31"),
        "locations": [{"displayName": "Room Spree"}],
        "categories": ["Team"],
        "body": "Bring news.",
        "is_reminder_on": True,
    }
    return editing.create(team, values, NOW)[0]


def view_url(name: str, date: str = "2098-10-08", **more: str) -> str:
    return f"/calendar/?view={name}&date={date}" + "".join(f"&{key}={value}" for key, value in more.items())


def item_on(page, date: str):
    """Return the items in the cell of that day in the month."""
    return page.locator(f'.month td[data-date="{date}"] .item.event')


def popover(page):
    return page.get_by_role("dialog")


def status_message(page):
    return page.locator(".banner[role=status]").first


def test_weekly_series_is_created_and_shown_in_each_view(open_page, sign_in, user_in_berlin):
    page = sign_in(open_page())
    page.goto(view_url("month"))
    page.get_by_role("link", name="New event").click()

    page.get_by_label("Title").fill("Ledger review")
    page.get_by_label("Starts").fill("2098-10-07T10:00")
    expect(page.get_by_label("Ends")).to_have_value("2098-10-07T11:00")
    page.get_by_label("Weekly", exact=True).check()
    expect(page.get_by_role("checkbox", name="Tuesday")).to_be_checked()
    page.get_by_role("checkbox", name="Thursday").check()
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview).to_contain_text("Every week on Tuesday and Thursday from 10:00 to 11:00 Europe/Berlin.")
    expect(preview.get_by_role("listitem")).to_have_count(10)
    expect(preview.get_by_role("listitem").nth(6)).to_contain_text("Clock went back on 26 October")
    page.get_by_label("Location").fill("Room Spree")
    page.get_by_role("button", name="Create series").click()

    expect(status_message(page)).to_contain_text("Created: Ledger review, Tue 7 October 2098, 10:00–11:00.")
    expect(page.locator(".month .item.event", has_text="Ledger review")).to_have_count(8)
    page.get_by_role("link", name="Week", exact=True).click()
    expect(page.locator(".week .item.event", has_text="Ledger review")).to_have_count(2)
    page.get_by_role("link", name="Agenda").click()
    expect(page.locator(".agenda .entry", has_text="Ledger review")).to_have_count(2)
    expect(page.get_by_role("row", name="Ledger review").first).to_contain_text("Room Spree")


def test_occurrence_is_moved_and_another_is_cancelled_and_restored(open_page, sign_in, stand_up):
    page = sign_in(open_page())
    page.goto(view_url("month"))
    item_on(page, "2098-10-08").click()
    expect(popover(page)).to_contain_text("Wed 8 October 2098, 09:00–09:15 Berlin")
    expect(popover(page)).to_contain_text("Every week from Monday to Friday from 09:00 to 09:15 Europe/Berlin")
    popover(page).get_by_role("link", name="Edit…").click()
    expect(page.get_by_text("Only Wed 8 October 2098 is changed, not the rest of the series.")).to_be_visible()
    expect(page.get_by_label("Weekly", exact=True)).to_have_count(0)

    page.get_by_label("Starts").fill("2098-10-09T14:00")
    expect(page.get_by_label("Ends")).to_have_value("2098-10-09T14:15")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("alert")).to_contain_text("Please correct the error below.")
    expect(page.locator("#id_start_error")).to_contain_text("neighbouring occurrences")
    page.get_by_label("Starts").fill("2098-10-08T14:00")
    expect(page.get_by_label("Ends")).to_have_value("2098-10-08T14:15")
    page.get_by_role("button", name="Save changes").click()

    page.wait_for_url(re.compile(r"/calendar/\?date=2098-10-08$"))  # waits until the script has loaded
    item_on(page, "2098-10-08").click()
    expect(popover(page)).to_contain_text("moved from 09:00")
    page.keyboard.press("Escape")
    item_on(page, "2098-10-10").click()
    popover(page).get_by_role("button", name="Cancel occurrence").click()
    expect(item_on(page, "2098-10-10")).to_have_count(0)
    page.get_by_role("link", name="Restore").click()
    page.get_by_role("button", name="Restore").click()
    expect(item_on(page, "2098-10-10")).to_have_count(1)
    assert [each.original_day for each in stand_up.exceptions.all()] == [day("2098-10-08")]


def test_change_of_this_and_following_creates_a_second_series(open_page, sign_in, stand_up):
    page = sign_in(open_page())
    page.goto(view_url("month"))
    item_on(page, "2098-10-20").click()
    popover(page).get_by_role("link", name="Edit…").click()
    page.get_by_role("link", name="This and following").click()
    expect(
        page.get_by_text("From Mon 20 October 2098 on. This series ends before that day, and a new series begins.")
    ).to_be_visible()
    expect(page.get_by_label("Every weekday")).to_be_checked()

    page.get_by_label("Title").fill("Short stand-up")
    page.get_by_label("Starts").fill("2098-10-20T08:30")
    expect(page.get_by_label("Ends")).to_have_value("2098-10-20T08:45")
    page.get_by_role("button", name="Save changes").click()

    expect(page.locator(".month .item.event", has_text="Short stand-up")).to_have_count(10)
    expect(item_on(page, "2098-10-17")).to_contain_text("09:00")
    expect(item_on(page, "2098-10-20")).to_contain_text("08:30")
    assert Event.objects.count() == 2


def test_deletion_offers_three_scopes(open_page, sign_in, stand_up):
    page = sign_in(open_page())
    page.goto(view_url("month"))
    item_on(page, "2098-10-20").click()
    popover(page).get_by_role("link", name="Delete…").click()

    expect(page.get_by_role("button", name="Delete this occurrence")).to_be_visible()
    page.get_by_label("The series").check()
    expect(page.get_by_role("button", name="Delete 23 occurrences")).to_be_visible()
    page.get_by_label("This and following").check()
    page.get_by_role("button", name="Delete 10 occurrences").click()

    expect(status_message(page)).to_contain_text("Deleted: Stand-up, from Mon 20 October 2098 on.")
    expect(page.locator(".month .item.event")).to_have_count(13)


def test_page_and_form_use_the_selected_zone(open_page, sign_in, stand_up):
    page = sign_in(open_page())
    page.goto(view_url("month"))
    page.get_by_label("Time zone", exact=True).select_option("UTC")

    expect(item_on(page, "2098-10-08")).to_contain_text("07:00")
    expect(item_on(page, "2098-10-28")).to_contain_text("08:00")
    item_on(page, "2098-10-08").click()
    expect(popover(page)).to_contain_text("Wed 8 October 2098, 07:00–07:15 UTC")
    expect(popover(page)).to_contain_text("09:00 Berlin")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="New event").click()
    expect(page.get_by_label("Time zone")).to_have_value("UTC")


def test_feed_is_created_read_and_revoked(open_page, sign_in, stand_up, client):
    page = sign_in(open_page())
    page.goto(view_url("month"))
    page.get_by_role("link", name="Subscribe to this view").click()
    expect(page.get_by_role("list").filter(has_text="Team")).to_be_visible()
    page.get_by_label("Name").fill("Telephone")
    with page.expect_navigation():  # a page that is not complete may not use the clipboard
        page.get_by_role("button", name="Create address").click()
    page.bring_to_front()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.get_by_role("searchbox").press("ControlOrMeta+v")
    address = page.get_by_role("searchbox").input_value()

    first = b"".join(client.get(address)).decode()
    assert "SUMMARY:Stand-up" in first
    assert "RRULE:" in first
    editing.change(stand_up, {"subject": "Round"}, timezone.now())
    editing.cancel_occurrence(stand_up, day("2098-10-08"), timezone.now())
    again = b"".join(client.get(address)).decode()
    assert "SUMMARY:Round" in again
    assert "EXDATE" in again

    page.get_by_role("link", name="Done").click()
    expect(page.get_by_role("row", name="Telephone")).not_to_contain_text("never")
    page.get_by_role("link", name="Revoke Telephone…").click()
    page.get_by_role("button", name="Revoke").click()
    expect(status_message(page)).to_contain_text("Revoked: Telephone.")
    assert client.get(address).status_code == 404


def test_event_is_created_and_changed_with_the_keyboard_only(open_page, sign_in, user_in_berlin):
    page = sign_in(open_page())
    page.goto(view_url("agenda"))
    press = page.keyboard.press

    def tab_to(locator) -> None:
        for _ in range(60):
            if locator.evaluate("element => element === document.activeElement"):
                return
            press("Tab")
        raise AssertionError(f"no tab leads to {locator}")

    press("n")
    page.wait_for_url("**/events/new*")
    tab_to(page.get_by_label("Title"))
    page.keyboard.type("Ledger review")
    tab_to(page.get_by_label("Does not repeat"))
    press("ArrowDown")  # daily
    press("ArrowDown")  # every weekday
    expect(page.get_by_label("Every weekday")).to_be_checked()
    press("ArrowDown")  # weekly
    tab_to(page.get_by_label("Weeks between"))
    press("Control+a")
    page.keyboard.type("2")
    tab_to(page.get_by_role("checkbox", name="Friday"))
    press("Space")
    tab_to(page.get_by_label("Never"))
    press("ArrowDown")
    press("ArrowDown")
    tab_to(page.get_by_label("Number of occurrences", exact=True))
    press("Control+a")
    page.keyboard.type("4")
    expect(page.get_by_role("complementary", name="Preview")).to_contain_text(
        "Every 2 weeks on Wednesday and Friday from 09:00 to 10:00 Europe/Berlin, until 24 October 2098, 4 times."
    )
    tab_to(page.get_by_role("button", name="Create series"))
    press("Enter")

    entry = page.get_by_role("link", name="Ledger review").first
    tab_to(entry)
    press("Enter")
    expect(popover(page)).to_be_focused()
    press("Escape")
    expect(entry).to_be_focused()
    press("Enter")
    expect(popover(page)).to_be_focused()
    tab_to(popover(page).get_by_role("link", name="Edit…"))
    press("Enter")
    tab_to(page.get_by_label("Location"))
    page.keyboard.type("Room Spree")
    press("Enter")
    expect(page.get_by_role("row", name="Ledger review").first).to_contain_text("Room Spree")


def test_form_converts_between_timed_and_all_day(open_page, sign_in, user_in_berlin):
    page = sign_in(open_page())
    page.goto("/calendar/events/new?start=2098-10-08T13:30")
    page.get_by_label("All day").check()

    expect(page.get_by_label("Starts")).to_be_hidden()
    expect(page.get_by_label("First day", exact=True)).to_have_value("2098-10-08")
    page.get_by_label("First day", exact=True).fill("2098-10-10")
    expect(page.get_by_label("Last day").first).to_have_value("2098-10-10")
    page.get_by_label("Last day").first.fill("2098-10-12")
    expect(page.get_by_role("complementary", name="Preview")).to_contain_text(
        "Fri 10 October 2098 – Sun 12 October 2098, all day."
    )
    page.get_by_label("All day").uncheck()
    expect(page.get_by_label("Starts")).to_have_value("2098-10-10T13:30")
    expect(page.get_by_label("Ends")).to_have_value("2098-10-12T14:30")


def test_input_before_the_script_has_loaded_is_kept(open_page, sign_in, user_in_berlin):
    page = sign_in(open_page())
    pending_routes = []
    page.route("**/event-form*.js", lambda route: pending_routes.append(route))
    page.goto("/calendar/events/new?start=2098-10-08T10:00", wait_until="commit")
    page.get_by_label("Starts").fill("2098-10-09T14:00")
    expect(page.get_by_label("Ends")).to_have_value("2098-10-08T11:00")
    pending_routes[0].continue_()
    expect(page.get_by_label("Ends")).to_have_value("2098-10-09T15:00")
    expect(page.get_by_label("Day of the month")).to_have_value("9")


def test_patterns_follow_the_start_until_they_are_edited(open_page, sign_in, user_in_berlin):
    page = sign_in(open_page())
    page.goto("/calendar/events/new?start=2098-10-08T10:00")
    day_of_month = page.get_by_label("Day of the month")
    page.get_by_label("Position in the month").first.select_option("last")

    page.get_by_label("Starts").fill("2098-11-25T10:00")

    expect(day_of_month).to_have_value("25")
    expect(page.get_by_label("Position in the month").first).to_have_value("last")
    expect(page.get_by_label("Position in the month").last).to_have_value("fourth")
    expect(page.get_by_label("Monthly, on a weekday")).to_be_checked()  # because its field was edited


def test_concurrent_change_is_shown_and_can_be_overwritten(open_page, sign_in, stand_up):
    page = sign_in(open_page())
    page.goto(f"/calendar/events/{ItemId(stand_up.pk)}/edit")
    page.get_by_label("Title").fill("Mine")
    editing.change(stand_up, {"subject": "Theirs"}, timezone.now())
    page.get_by_role("button", name="Save changes").click()

    expect(page.get_by_role("alert")).to_contain_text("Someone changed it while you were editing.")
    expect(page.get_by_label("Title")).to_have_value("Mine")
    page.get_by_role("button", name="Save changes").click()
    expect(status_message(page)).to_contain_text("Saved: Mine")


def test_events_can_be_managed_without_javascript(open_page, sign_in, stand_up):
    page = sign_in(open_page(javascript=False))
    page.goto(view_url("month"))
    item_on(page, "2098-10-08").click()
    expect(page.get_by_role("heading", name="Stand-up", level=2)).to_be_visible()
    page.get_by_role("link", name="Edit…").click()
    page.get_by_role("link", name="The series").click()
    page.get_by_label("Weekly", exact=True).check()
    page.get_by_role("checkbox", name="Wednesday").check()
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("complementary", name="Preview")).to_contain_text("Every week on Wednesday from 09:00")
    page.get_by_role("button", name="Save changes").click()

    expect(page.locator(".month .item.event")).to_have_count(5)
    item_on(page, "2098-10-08").click()
    page.get_by_role("button", name="Cancel occurrence").click()
    expect(page.locator(".month .item.event")).to_have_count(4)
    page.get_by_role("link", name="Restore").click()
    page.get_by_role("button", name="Restore").click()
    item_on(page, "2098-10-15").click()
    page.get_by_role("link", name="Delete…").click()
    page.get_by_label("The series").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    assert not Event.objects.exists()


def test_calendar_is_created_shared_and_deleted(open_page, sign_in, user_in_berlin, make_user):
    make_user("joao", first_name="João", last_name="Prado")
    page = sign_in(open_page())
    page.goto(view_url("week"))
    page.get_by_role("link", name="Add a calendar").click()
    page.get_by_label("Name").fill("On call")
    page.get_by_label("Plum").check()
    page.get_by_role("button", name="Create calendar").click()

    page.get_by_label("Person").select_option(label="João Prado (joao)")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("row", name="João Prado")).to_contain_text("can view")
    page.get_by_role("button", name="Let João Prado (joao) edit events").click()
    expect(page.get_by_role("row", name="João Prado")).to_contain_text("can edit")
    page.get_by_role("button", name="Remove João Prado (joao)").click()
    expect(status_message(page)).to_contain_text("João Prado (joao) no longer has access.")
    page.get_by_role("link", name="Delete…").click()
    page.get_by_role("button", name="Delete calendar").click()
    expect(page.get_by_role("row", name="On call")).to_have_count(0)


def test_file_is_previewed_and_imported(open_page, sign_in, user_in_berlin, tmp_path):
    file = tmp_path / "work.ics"
    file.write_bytes(FILE.encode())
    page = sign_in(open_page())
    page.goto(view_url("month", "2026-01-01"))
    page.get_by_role("link", name="Calendars", exact=True).click()
    page.get_by_role("link", name="Import…").click()
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Preview import").click()

    expect(page.get_by_role("row", name="Größe prüfen")).to_contain_text("new")
    expect(page.get_by_role("row", name="Buy milk")).to_contain_text("rejected")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(status_message(page)).to_contain_text("Calendar: 1 new, 1 rejected.")
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Calendar").click()
    expect(page.locator(".month .item.event", has_text="Größe prüfen")).to_have_count(3)


def page_urls(stand_up: Event, owner, job_with_runs, make_user) -> list[str]:
    now = timezone.now()
    joao = make_user("joao", first_name="João", last_name="Prado")
    make_user("elif")
    shared_calendar = Calendar.objects.create(owner=joao, name="Finance", hue="sea")
    Share.objects.create(calendar=shared_calendar, user=owner, role=Role.OPERATOR)
    team = stand_up.calendar
    Share.objects.create(calendar=team, user=joao, role=Role.READER)
    feed, _ = feeds.make(owner, "Telephone", now, calendar=team)
    interview, _ = editing.create(shared_calendar, {"sensitivity": "private", **times("2098-10-08T13:00")}, now)
    holidays, _ = editing.create(team, {"is_all_day": True, **times("2098-10-08T00:00", "2098-10-11T00:00")}, now)
    moved = times("2098-10-09T11:00", "2098-10-09T11:15")
    editing.change_occurrence(stand_up, day("2098-10-09"), moved, now)
    editing.cancel_occurrence(stand_up, day("2098-10-10"), now)
    trigger = job_with_runs.triggers.get()
    occurrence = ItemId(stand_up.pk, day("2098-10-09"))
    return [
        "/calendar/events/new",
        f"/calendar/events/{occurrence}/edit",
        f"/calendar/events/{occurrence}/edit?scope=following",
        f"/calendar/events/{occurrence}/edit?scope=series",
        f"/calendar/events/{ItemId(holidays.pk)}/edit",
        f"/calendar/events/{occurrence}/delete",
        f"/calendar/events/{ItemId(holidays.pk)}/delete",
        f"/calendar/items/{occurrence}",
        f"/calendar/items/{ItemId(stand_up.pk, day('2098-10-10'))}",
        f"/calendar/items/{ItemId(interview.pk)}",
        *(f"/calendar/runs/{run}" for run in Run.objects.values_list("pk", flat=True)),
        f"/calendar/planned/{trigger.pk}/{trigger.next_fire_at.isoformat().replace('+00:00', 'Z')}",
        "/calendar/calendars/",
        "/calendar/calendars/new",
        f"/calendar/calendars/{team.pk}/edit",
        f"/calendar/calendars/{team.pk}/delete",
        "/calendar/calendars/import",
        "/calendar/calendars/feeds/new",
        f"/calendar/calendars/feeds/{feed.pk}/revoke",
    ]


def test_event_pages_are_accessible_and_fit(
    open_page, sign_in, find_accessibility_faults, stand_up, user_in_berlin, job_with_runs, make_user
):
    page = sign_in(open_page())
    faults = []

    for address in page_urls(stand_up, user_in_berlin, job_with_runs, make_user):
        page.goto(address)
        for width in (1280, 390):
            resize(page, width)
            faults += [f"{address} at {width} px: {fault}" for fault in find_accessibility_faults(page)]
            if scrolls_sideways(page):
                faults.append(f"{address} at {width} px scrolls sideways")

    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("width", [1280, 390])
def test_form_errors_popovers_and_results_are_accessible_and_fit(
    open_page, sign_in, find_accessibility_faults, stand_up, job_with_runs, width
):
    page = sign_in(open_page(width=width))
    faults = []
    page.goto(f"/calendar/events/{ItemId(stand_up.pk)}/edit")
    page.get_by_label("Ends").fill("2098-10-01T08:00")
    page.get_by_label("Weekly", exact=True).check()
    for box in page.locator('[name="weekly_days"]:checked').all():
        box.uncheck()
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("alert")).to_contain_text("Please correct the errors below.")
    faults += find_accessibility_faults(page)
    page.goto(f"/calendar/calendars/feeds/new?calendar={stand_up.calendar_id.hex}")
    page.get_by_role("button", name="Create address").click()
    page.locator("#address").wait_for()
    faults += find_accessibility_faults(page)
    page.goto(view_url("agenda"))
    page.get_by_role("link", name="Stand-up").first.click()
    popover(page).wait_for()
    faults += find_accessibility_faults(page)
    page.goto("/calendar/calendars/import")
    page.get_by_label("Or paste the text").fill(FILE)
    page.get_by_role("button", name="Preview import").click()
    page.get_by_role("row", name="Buy milk").wait_for()
    faults += find_accessibility_faults(page)
    if scrolls_sideways(page):
        faults.append("the report scrolls sideways")

    assert not faults, "\n".join(faults)
