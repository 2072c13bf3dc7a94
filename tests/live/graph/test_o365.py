"""O365, a published client of Microsoft Graph, with a running installation.

Its protocol has the address of the installation, and its token backend has the token.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from O365 import Account, MSGraphProtocol
from O365.utils import BaseTokenBackend
from requests.exceptions import HTTPError

from tests.live.graph.series import EVERY_SERIES, LIMITS, PATTERNS, expected

BERLIN = ZoneInfo("Europe/Berlin")
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"]


class Backend(BaseTokenBackend):
    """A backend with an existing token."""

    def __init__(self, token: str):
        super().__init__()
        self.token = token

    def get_access_token(self, *, username: str | None = None) -> dict:
        return {"secret": self.token, "expires_on": "4102444800"}

    def load_token(self) -> bool:
        return True

    def check_token(self) -> bool:
        return True


@pytest.fixture
def account_of(live):
    accounts = []

    class Protocol(MSGraphProtocol):
        _protocol_url = f"{live.url}/"

    def make(token: str | None = None, timezone: str = "Europe/Berlin", **headers: str) -> Account:
        account = Account(
            ("client", "secret"),
            protocol=Protocol(timezone=timezone),
            token_backend=Backend(token or live.token),
            request_retries=0,
            requests_delay=0,
            default_headers=headers,
        )
        accounts.append(account)
        return account

    yield make
    for account in accounts:
        if account.con.session:
            account.con.session.close()


@pytest.fixture
def schedule(account_of):
    return account_of().schedule()


@pytest.fixture
def own_calendar(schedule, request):
    """A new calendar that is deleted after the test."""
    made = schedule.new_calendar(request.node.name[:200])
    yield made
    with suppress(HTTPError):
        made.delete()


def in_berlin(day: date, hour: int = 13) -> datetime:
    return datetime(day.year, day.month, day.day, hour, tzinfo=BERLIN)


def make_event(calendar, day: date = date(2026, 3, 2), subject: str = "Stand-up"):
    event = calendar.new_event(subject)
    event.start, event.end = in_berlin(day), in_berlin(day, 14)
    return event


def make_weekly(calendar, count: int = 10):
    event = make_event(calendar)
    event.recurrence.set_weekly(
        1, days_of_week=["monday"], first_day_of_week="sunday", start=date(2026, 3, 2), occurrences=count
    )
    assert event.save()
    return event


def occurrences(event, start: date = date(2010, 1, 1), end: date = date(2040, 1, 1), **options) -> list:
    return list(event.get_occurrences(start, end, **options))


def refused(call: Callable) -> tuple[int, str]:
    with pytest.raises(HTTPError) as refusal:
        call()
    return refusal.value.response.status_code, refusal.value.response.json()["error"]["code"]


SETTERS = {
    "daily": lambda recurrence, **range: recurrence.set_daily(2, **range),
    "weekly": lambda recurrence, **range: recurrence.set_weekly(
        1, days_of_week=["Monday"], first_day_of_week="sunday", **range
    ),
    "absoluteMonthly": lambda recurrence, **range: recurrence.set_monthly(2, day_of_month=30, **range),
    "relativeMonthly": lambda recurrence, **range: recurrence.set_monthly(
        2, days_of_week=["Thursday"], index="first", **range
    ),
    "absoluteYearly": lambda recurrence, **range: recurrence.set_yearly(1, 2, day_of_month=29, **range),
    "relativeYearly": lambda recurrence, **range: recurrence.set_yearly(
        1, 11, days_of_week=["thursday"], index="fourth", **range
    ),
}


@pytest.mark.parametrize("pattern, limit", EVERY_SERIES)
def test_o365_creates_every_series(own_calendar, pattern, limit):
    start, days = PATTERNS[pattern]
    event = make_event(own_calendar, start)
    limits = {name: value or date.fromisoformat(days[2]) for name, value in LIMITS[limit].items()}
    SETTERS[pattern](event.recurrence, start=start, **limits)

    assert event.save()

    master = own_calendar.get_event(event.object_id)
    found = occurrences(master, limit=4)
    assert [each.start.date().isoformat() for each in found][:4] == expected(pattern, limit)
    assert {(each.start.hour, each.end.hour) for each in found} == {(13, 14)}
    assert {each.event_type.value for each in found} == {"occurrence"}
    assert (master.event_type.value, master.recurrence.recurrence_type) == ("series_master", pattern)
    assert master.recurrence.start_date.isoformat() == days[0]
    assert master.start == found[0].start


def test_o365_reads_the_examples_of_the_article(own_calendar):
    mondays = make_event(own_calendar, date(2017, 9, 4))
    SETTERS["weekly"](mondays.recurrence, start=date(2017, 9, 4), end=date(2017, 12, 31))
    both = make_event(own_calendar, date(2017, 5, 15))
    both.recurrence.set_monthly(
        1, days_of_week=["Thursday", "Friday"], index="first", start=date(2017, 5, 15), occurrences=4
    )
    for event in (mondays, both):
        assert event.save()

    found = occurrences(own_calendar.get_event(mondays.object_id))
    firsts = occurrences(own_calendar.get_event(both.object_id))

    assert (len(found), found[-1].start.date()) == (17, date(2017, 12, 25))
    assert [f"{each.start:%m-%d}" for each in firsts] == ["06-01", "07-06", "08-03", "09-01"]


def test_o365_changes_one_occurrence_and_cancels_another(own_calendar):
    master = own_calendar.get_event(make_weekly(own_calendar).object_id)
    second, third, fourth = occurrences(master)[1:4]

    second.subject, second.location = "Elsewhere", "Room 2"
    second.start, second.end = in_berlin(date(2026, 3, 10), 9), in_berlin(date(2026, 3, 10), 10)
    assert second.save()
    assert third.delete()
    assert fourth.cancel_event("not this time")

    found = occurrences(master)
    assert [f"{each.start:%m-%d %H}" for each in found][:3] == ["03-02 13", "03-10 09", "03-30 13"]
    assert (found[1].event_type.value, found[1].series_master_id) == ("exception", master.object_id)
    assert (found[1].subject, found[1].location["displayName"]) == ("Elsewhere", "Room 2")
    assert len(found) == 8
    assert refused(lambda: own_calendar.get_event(third.object_id)) == (404, "ErrorItemNotFound")
    second.start = in_berlin(date(2026, 3, 30))
    second.end = in_berlin(date(2026, 3, 30), 14)
    assert refused(second.save) == (400, "ErrorOccurrenceCrossingBoundary")


def test_o365_changes_a_series(own_calendar):
    master = own_calendar.get_event(make_weekly(own_calendar).object_id)
    changed = occurrences(master)[1]
    changed.subject = "Other"
    changed.save()

    master.subject = "New"
    assert master.save()
    assert [each.subject for each in occurrences(master)][:3] == ["New", "Other", "New"]

    master.recurrence.set_weekly(  # it would send back a numbered range that it has read as one with an end date
        2, days_of_week=["monday"], first_day_of_week="sunday", start=date(2026, 3, 2), occurrences=10
    )
    assert master.save()
    assert [f"{each.start:%m-%d}" for each in occurrences(own_calendar.get_event(master.object_id))][:3] == [
        "03-02",
        "03-16",
        "03-30",
    ]
    assert {each.subject for each in occurrences(master)} == {"New"}


def test_o365_reads_all_pages_of_a_calendar_view(own_calendar):
    make_weekly(own_calendar, count=40)
    single = make_event(own_calendar, date(2026, 3, 4), "Single")
    assert single.save()
    window = {"start_recurring": "2026-03-01T00:00:00+01:00", "end_recurring": "2026-12-31T00:00:00Z"}

    found = list(own_calendar.get_events(limit=None, batch=7, order_by="start/dateTime", **window))
    some = list(own_calendar.get_events(limit=3, **window))

    assert len(found) == 41
    assert [each.start for each in found] == sorted(each.start for each in found)
    assert [each.subject for each in found[:3]] == ["Stand-up", "Single", "Stand-up"]
    assert [each.object_id for each in some] == [each.object_id for each in found[:3]]
    masters = list(own_calendar.get_events(include_recurring=False))
    assert sorted(each.event_type.value for each in masters) == ["series_master", "single_instance"]


def test_o365_filters_and_orders_events(own_calendar):
    for n, subject in enumerate(["alpha", "beta", "gamma"]):
        make_event(own_calendar, date(2026, 3, 2 + n), subject).save()
    q = own_calendar.new_query()

    late = q.chain_and(q.greater_equal("start", in_berlin(date(2026, 3, 3), 0)), q.startswith("subject", "g"))
    found = own_calendar.get_events(query=late & q.orderby(("subject", False)), include_recurring=False)
    assert [each.subject for each in found] == ["gamma"]

    either = q.chain_or(q.equals("subject", "alpha"), q.contains("subject", "mm")) & q.orderby(
        ("start/dateTime", False)
    )
    found = own_calendar.get_events(query=either, include_recurring=False)
    assert [each.subject for each in found] == ["gamma", "alpha"]


def test_o365_reads_changes_and_deletes_calendars(schedule, own_calendar):
    assert own_calendar.calendar_id in [each.calendar_id for each in schedule.list_calendars()]
    assert schedule.get_calendar(calendar_name=own_calendar.name).calendar_id == own_calendar.calendar_id
    assert schedule.get_default_calendar().can_edit is True

    own_calendar.name, own_calendar.color = "Renamed", "lightGreen"
    assert own_calendar.update()
    read = schedule.get_calendar(calendar_id=own_calendar.calendar_id)
    assert (read.name, read.color.value, read.can_share) == ("Renamed", "light_green", True)
    assert refused(schedule.get_default_calendar().delete)[0] == 400
    id = own_calendar.calendar_id
    assert own_calendar.delete()
    assert refused(lambda: schedule.get_calendar(calendar_id=id)) == (404, "ErrorItemNotFound")


def test_o365_uses_the_default_calendar(schedule):
    event = make_event(schedule, date(2031, 5, 6), "In the default calendar")
    assert event.save()

    found = schedule.get_events(start_recurring="2031-05-06T00:00:00Z", end_recurring="2031-05-07T00:00:00Z")

    assert [(each.subject, f"{each.start:%H:%M}") for each in found] == [("In the default calendar", "13:00")]
    assert event.delete()
    assert refused(event.delete) == (404, "ErrorItemNotFound")


def test_o365_stores_and_reads_all_members_of_an_event(own_calendar):
    event = make_event(own_calendar)
    event.body, event.location, event.categories = "<p>Bring <b>tea</b></p>", "Room 1", ["Red"]
    event.show_as, event.importance, event.sensitivity = "tentative", "high", "personal"
    event.remind_before_minutes, event.is_reminder_on = 30, True
    event.attendees.add([("Bob", "bob@example.org")])
    event.transaction_id = "a key of one creation"
    assert event.save()

    read = own_calendar.get_event(event.object_id)

    assert (read.body, read.get_body_soup().text) == ("<p>Bring <b>tea</b></p>", "Bring tea")
    assert (read.location["displayName"], read.categories, read.remind_before_minutes) == ("Room 1", ["Red"], 30)
    assert [each.value for each in (read.show_as, read.importance, read.sensitivity)] == [
        "tentative",
        "high",
        "personal",
    ]
    assert [(each.name, each.address) for each in read.attendees] == [("Bob", "bob@example.org")]
    assert read.transaction_id == "a key of one creation"
    assert read.organizer.name == "ada"


def test_o365_creates_all_day_events(own_calendar):
    event = own_calendar.new_event("Holiday")
    event.start, event.end = in_berlin(date(2026, 3, 2), 0), in_berlin(date(2026, 3, 4), 0)
    event.is_all_day = True
    assert event.save()

    read = own_calendar.get_event(event.object_id)

    assert (read.is_all_day, read.start.date(), read.end.date()) == (True, date(2026, 3, 2), date(2026, 3, 4))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_o365_gets_the_preferred_time_zone(account_of, own_calendar, zone):
    event = make_weekly(own_calendar)
    account = account_of(timezone=zone, Prefer=f'outlook.timezone="{zone}"')

    there = account.schedule().get_calendar(calendar_id=own_calendar.calendar_id)
    raw = account.con.get(f"{there._base_url}/events/{event.object_id}")

    assert there.get_event(event.object_id).start == in_berlin(date(2026, 3, 2))
    assert raw.json()["start"]["timeZone"] == zone
    assert raw.headers["Preference-Applied"] == f'outlook.timezone="{zone}"'


def test_o365_gets_an_error_for_each_wrong_request(live, account_of, own_calendar):
    backwards = make_event(own_calendar)
    backwards.end = in_berlin(date(2026, 3, 1))
    never = make_event(own_calendar)
    never.recurrence.set_daily(1, start=date(2026, 3, 2), end=date(2026, 3, 1))
    elsewhere = make_event(own_calendar)
    elsewhere.recurrence.set_daily(1, start=date(2026, 3, 3))

    assert refused(backwards.save) == (400, "ErrorCalendarEndDateIsEarlierThanStartDate")
    assert refused(never.save) == (400, "ErrorRecurrenceHasNoOccurrence")
    assert refused(elsewhere.save) == (400, "ErrorPropertyValidationFailure")
    assert refused(lambda: own_calendar.get_event("nothing")) == (404, "ErrorItemNotFound")
    assert refused(lambda: list(own_calendar.get_events(order_by="start", include_recurring=False))) == (
        400,
        "BadRequest",
    )
    assert refused(account_of("wrong").schedule().get_default_calendar) == (401, "InvalidAuthenticationToken")
    lost = make_event(account_of(Prefer='outlook.timezone="Nowhere"').schedule())
    assert refused(lost.save) == (400, "TimeZoneNotSupportedException")
