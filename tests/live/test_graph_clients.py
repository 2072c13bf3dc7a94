"""Published clients of Microsoft Graph, as they are, against a running installation.

Each is told where to go and with which token in the ways that it documents: O365 by a protocol and a token backend,
Microsoft's own SDK by the base address of its request adapter and a provider of tokens.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import httpx
import pytest
from kiota_abstractions.authentication import AccessTokenProvider, BaseBearerTokenAuthenticationProvider
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphRequestAdapter, GraphServiceClient
from msgraph.generated.models.body_type import BodyType
from msgraph.generated.models.calendar import Calendar
from msgraph.generated.models.date_time_time_zone import DateTimeTimeZone
from msgraph.generated.models.day_of_week import DayOfWeek
from msgraph.generated.models.event import Event
from msgraph.generated.models.event_type import EventType
from msgraph.generated.models.free_busy_status import FreeBusyStatus
from msgraph.generated.models.item_body import ItemBody
from msgraph.generated.models.location import Location
from msgraph.generated.models.o_data_errors.o_data_error import ODataError
from msgraph.generated.models.patterned_recurrence import PatternedRecurrence
from msgraph.generated.models.recurrence_pattern import RecurrencePattern
from msgraph.generated.models.recurrence_pattern_type import RecurrencePatternType
from msgraph.generated.models.recurrence_range import RecurrenceRange
from msgraph.generated.models.recurrence_range_type import RecurrenceRangeType
from msgraph.generated.models.week_index import WeekIndex
from msgraph.generated.users.item.calendar_view.calendar_view_request_builder import CalendarViewRequestBuilder
from msgraph.generated.users.item.calendars.item.calendar_view.calendar_view_request_builder import (
    CalendarViewRequestBuilder as ViewOfCalendar,
)
from msgraph.generated.users.item.calendars.item.calendar_view.delta.delta_request_builder import (
    DeltaRequestBuilder,
)
from msgraph.generated.users.item.calendars.item.events.events_request_builder import EventsRequestBuilder
from msgraph.generated.users.item.calendars.item.events.item.cancel.cancel_post_request_body import (
    CancelPostRequestBody,
)
from msgraph.generated.users.item.events.item.event_item_request_builder import EventItemRequestBuilder
from msgraph.generated.users.item.events.item.instances.instances_request_builder import InstancesRequestBuilder
from msgraph.graph_request_adapter import options
from msgraph_core import GraphClientFactory
from O365 import Account, MSGraphProtocol
from O365.utils import BaseTokenBackend
from requests.exceptions import HTTPError

BERLIN = ZoneInfo("Europe/Berlin")
WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"]
LIMITS = {"noEnd": {}, "endDate": {"end": None}, "numbered": {"occurrences": 3}}

# how each pattern begins: the contract's examples of the article, and one for each type that it has none of
PATTERNS = {
    "daily": (date(2026, 3, 27), ["2026-03-27", "2026-03-29", "2026-03-31", "2026-04-02"]),
    "weekly": (date(2017, 9, 4), ["2017-09-04", "2017-09-11", "2017-09-18", "2017-09-25"]),
    "absoluteMonthly": (date(2012, 8, 30), ["2012-08-30", "2012-10-30", "2012-12-30", "2013-02-28"]),
    "relativeMonthly": (date(2017, 8, 29), ["2017-09-07", "2017-11-02", "2018-01-04", "2018-03-01"]),
    "absoluteYearly": (date(2024, 2, 29), ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28"]),
    "relativeYearly": (date(2026, 1, 5), ["2026-11-26", "2027-11-25", "2028-11-23", "2029-11-22"]),
}
EVERY_SERIES = [(pattern, limit) for pattern in PATTERNS for limit in LIMITS]


def expected(pattern: str, limit: str) -> list[str]:
    return PATTERNS[pattern][1] if limit == "noEnd" else PATTERNS[pattern][1][:3]


# O365


class Backend(BaseTokenBackend):
    """A token that is there already."""

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
    """A calendar of the test's own, gone after it."""
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
def test_o365_makes_every_series(own_calendar, pattern, limit):
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

    master.recurrence.set_weekly(  # what it reads of a series with a number it would send back as one with an end
        2, days_of_week=["monday"], first_day_of_week="sunday", start=date(2026, 3, 2), occurrences=10
    )
    assert master.save()
    assert [f"{each.start:%m-%d}" for each in occurrences(own_calendar.get_event(master.object_id))][:3] == [
        "03-02",
        "03-16",
        "03-30",
    ]
    assert {each.subject for each in occurrences(master)} == {"New"}


def test_o365_views_a_window_over_pages(own_calendar):
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


def test_o365_filters_and_orders(own_calendar):
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


def test_o365_knows_calendars(schedule, own_calendar):
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


def test_o365_keeps_what_an_event_says(own_calendar):
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


def test_o365_makes_all_day_events(own_calendar):
    event = own_calendar.new_event("Holiday")
    event.start, event.end = in_berlin(date(2026, 3, 2), 0), in_berlin(date(2026, 3, 4), 0)
    event.is_all_day = True
    assert event.save()

    read = own_calendar.get_event(event.object_id)

    assert (read.is_all_day, read.start.date(), read.end.date()) == (True, date(2026, 3, 2), date(2026, 3, 4))


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_o365_is_answered_in_the_zone_that_it_prefers(account_of, own_calendar, zone):
    event = make_weekly(own_calendar)
    account = account_of(timezone=zone, Prefer=f'outlook.timezone="{zone}"')

    there = account.schedule().get_calendar(calendar_id=own_calendar.calendar_id)
    raw = account.con.get(f"{there._base_url}/events/{event.object_id}")

    assert there.get_event(event.object_id).start == in_berlin(date(2026, 3, 2))
    assert raw.json()["start"]["timeZone"] == zone
    assert raw.headers["Preference-Applied"] == f'outlook.timezone="{zone}"'


def test_o365_is_told_what_is_wrong(live, account_of, own_calendar):
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


# Microsoft's own SDK


class Token(AccessTokenProvider):
    """A token that is there already."""

    def __init__(self, token: str):
        self.token = token

    async def get_authorization_token(self, uri: str, additional_authentication_context: dict | None = None) -> str:
        return self.token

    def get_allowed_hosts_validator(self):
        return None


@pytest.fixture
def with_sdk(live):
    """Run a coroutine function with a client and the id of a calendar of its own."""

    def run(told: Callable, token: str | None = None) -> None:
        async def whole() -> None:
            transport = httpx.AsyncHTTPTransport()
            http = GraphClientFactory.create_with_default_middleware(
                client=httpx.AsyncClient(transport=transport), options=options
            )
            adapter = GraphRequestAdapter(BaseBearerTokenAuthenticationProvider(Token(token or live.token)), http)
            adapter.base_url = f"{live.url}/v1.0"
            client = GraphServiceClient(request_adapter=adapter)
            try:
                if token:
                    await told(client, "")
                    return
                calendar = await client.me.calendars.post(Calendar(name=told.__name__))
                await told(client, calendar.id)
                await client.me.calendars.by_calendar_id(calendar.id).delete()
            finally:
                await transport.aclose()  # the factory's own wrapping of it does not

        asyncio.run(whole())

    return run


def moment(day: str, hour: int = 13) -> DateTimeTimeZone:
    return DateTimeTimeZone(date_time=f"{day}T{hour:02}:00:00", time_zone="W. Europe Standard Time")


def sdk_event(day: str = "2026-03-02", pattern: RecurrencePattern | None = None, **limits) -> Event:
    recurrence = pattern and PatternedRecurrence(
        pattern=pattern, range=RecurrenceRange(start_date=date.fromisoformat(day), **limits)
    )
    return Event(subject="Stand-up", start=moment(day), end=moment(day, 14), recurrence=recurrence)


def sdk_weekly() -> Event:
    weekly = RecurrencePattern(type=RecurrencePatternType.Weekly, interval=1, days_of_week=[DayOfWeek.Monday])
    return sdk_event("2026-03-02", weekly, type=RecurrenceRangeType.Numbered, number_of_occurrences=10)


SDK_PATTERNS = {
    "daily": RecurrencePattern(type=RecurrencePatternType.Daily, interval=2),
    "weekly": RecurrencePattern(
        type=RecurrencePatternType.Weekly,
        interval=1,
        days_of_week=[DayOfWeek.Monday],
        first_day_of_week=DayOfWeek.Sunday,
    ),
    "absoluteMonthly": RecurrencePattern(type=RecurrencePatternType.AbsoluteMonthly, interval=2, day_of_month=30),
    "relativeMonthly": RecurrencePattern(
        type=RecurrencePatternType.RelativeMonthly, interval=2, days_of_week=[DayOfWeek.Thursday], index=WeekIndex.First
    ),
    "absoluteYearly": RecurrencePattern(
        type=RecurrencePatternType.AbsoluteYearly, interval=1, month=2, day_of_month=29
    ),
    "relativeYearly": RecurrencePattern(
        type=RecurrencePatternType.RelativeYearly,
        interval=1,
        month=11,
        days_of_week=[DayOfWeek.Thursday],
        index=WeekIndex.Fourth,
    ),
}
SDK_LIMITS = {
    "noEnd": lambda days: {"type": RecurrenceRangeType.NoEnd},
    "numbered": lambda days: {"type": RecurrenceRangeType.Numbered, "number_of_occurrences": 3},
    "endDate": lambda days: {"type": RecurrenceRangeType.EndDate, "end_date": date.fromisoformat(days[2])},
}


async def sdk_instances(client, id: str, **options) -> list[Event]:
    window = {"start_date_time": "2010-01-01T00:00:00Z", "end_date_time": "2040-01-01T00:00:00+01:00", **options}
    query = InstancesRequestBuilder.InstancesRequestBuilderGetQueryParameters(**window)
    builder = client.me.events.by_event_id(id).instances
    page = await builder.get(request_configuration=RequestConfiguration(query_parameters=query))
    found = list(page.value)
    while page.odata_next_link and options.get("top") != 4:
        page = await builder.with_url(page.odata_next_link).get()
        found += page.value
    return found


async def sdk_refused(call) -> tuple[int, str, str]:
    with pytest.raises(ODataError) as refusal:
        await call
    error = refusal.value.error
    assert error.inner_error.request_id
    assert abs(error.inner_error.date.replace(tzinfo=UTC).timestamp() - datetime.now(UTC).timestamp()) < 60
    return refusal.value.response_status_code, error.code, error.message


@pytest.mark.parametrize("pattern, limit", EVERY_SERIES)
def test_the_sdk_makes_every_series(with_sdk, pattern, limit):
    start, days = PATTERNS[pattern]

    async def makes_every_series(client, calendar):
        sent = sdk_event(start.isoformat(), SDK_PATTERNS[pattern], **SDK_LIMITS[limit](days))
        made = await client.me.calendars.by_calendar_id(calendar).events.post(sent)

        read = await client.me.events.by_event_id(made.id).get()
        found = await sdk_instances(client, made.id, top=4)

        assert [each.start.date_time[:10] for each in found] == expected(pattern, limit)
        assert {each.type for each in found} == {EventType.Occurrence}
        assert read.type == EventType.SeriesMaster
        ours = read.recurrence
        assert ours.pattern.type == SDK_PATTERNS[pattern].type
        assert ours.pattern.days_of_week == (SDK_PATTERNS[pattern].days_of_week or [])
        assert ours.range.type.value == limit
        assert ours.range.start_date.isoformat() == days[0]
        assert (ours.range.end_date == date(1, 1, 1)) is (limit != "endDate")
        assert ours.range.recurrence_time_zone == "W. Europe Standard Time"

        # what it reads it may send back, whole
        again = await client.me.events.by_event_id(made.id).patch(
            Event(recurrence=ours, start=read.start, end=read.end)
        )
        assert (again.change_key, again.recurrence.range.start_date) == (read.change_key, ours.range.start_date)

    with_sdk(makes_every_series)


def test_the_sdk_changes_and_cancels_occurrences(with_sdk):
    async def changes_and_cancels(client, calendar):
        master = await client.me.calendars.by_calendar_id(calendar).events.post(sdk_weekly())
        events = client.me.events
        second, third = (await sdk_instances(client, master.id))[1:3]

        moved = Event(subject="Elsewhere", start=moment("2026-03-10", 9), end=moment("2026-03-10", 10))
        changed = await events.by_event_id(second.id).patch(moved)
        await events.by_event_id(third.id).delete()

        assert (changed.id, changed.type, changed.series_master_id) == (second.id, EventType.Exception, master.id)
        assert changed.original_start == datetime(2026, 3, 9, 12, tzinfo=UTC)
        found = await sdk_instances(client, master.id)
        assert [each.start.date_time[5:13] for each in found][:3] == ["03-02T12", "03-10T08", "03-23T12"]
        assert len(found) == 9

        query = EventItemRequestBuilder.EventItemRequestBuilderGetQueryParameters(
            select=["subject", "cancelledOccurrences", "exceptionOccurrences"], expand=["exceptionOccurrences"]
        )
        read = await events.by_event_id(master.id).get(
            request_configuration=RequestConfiguration(query_parameters=query)
        )
        assert read.cancelled_occurrences == [f"OID.{master.id}.2026-03-16"]
        assert [each.id for each in read.exception_occurrences] == [second.id]

        status, code, _ = await sdk_refused(
            events.by_event_id(second.id).patch(Event(start=moment("2026-03-23"), end=moment("2026-03-23", 14)))
        )
        assert (status, code) == (400, "ErrorOccurrenceCrossingBoundary")
        assert (await sdk_refused(events.by_event_id(third.id).get()))[:2] == (404, "ErrorItemNotFound")

    with_sdk(changes_and_cancels)


def test_the_sdk_pages_through_views_and_lists(with_sdk):
    async def pages(client, calendar):
        place = client.me.calendars.by_calendar_id(calendar)
        await place.events.post(sdk_weekly())
        for day in range(2, 14):
            await place.events.post(sdk_event(f"2026-04-{day:02}"))

        query = ViewOfCalendar.CalendarViewRequestBuilderGetQueryParameters(
            start_date_time="2026-03-01T00:00:00Z",
            end_date_time="2026-05-01T00:00:00+02:00",
            top=5,
            orderby=["start/dateTime desc"],
            select=["subject", "start"],
        )
        page = await place.calendar_view.get(request_configuration=RequestConfiguration(query_parameters=query))
        found = list(page.value)
        while page.odata_next_link:
            page = await place.calendar_view.with_url(page.odata_next_link).get()
            found += page.value
        starts = [each.start.date_time for each in found]
        assert (len(found), starts) == (21, sorted(starts, reverse=True))
        assert found[0].end is None

        filtered = EventsRequestBuilder.EventsRequestBuilderGetQueryParameters(
            filter="start/dateTime ge '2026-04-10T00:00:00' and type eq 'singleInstance'", count=True, top=2
        )
        page = await place.events.get(request_configuration=RequestConfiguration(query_parameters=filtered))
        assert (page.odata_count, len(page.value)) == (4, 2)

    with_sdk(pages)


def test_the_sdk_follows_changes(with_sdk):
    async def follows(client, calendar):
        place = client.me.calendars.by_calendar_id(calendar)
        master = await place.events.post(sdk_weekly())
        query = DeltaRequestBuilder.DeltaRequestBuilderGetQueryParameters(
            start_date_time="2026-03-01T00:00:00Z", end_date_time="2026-04-01T00:00:00Z"
        )
        configuration = RequestConfiguration(query_parameters=query)
        configuration.headers.add("Prefer", "odata.maxpagesize=2")
        builder = place.calendar_view.delta

        page = await builder.get(request_configuration=configuration)
        told = list(page.value)
        assert len(told) == 2
        while page.odata_next_link:
            page = await builder.with_url(page.odata_next_link).get()
            told += page.value
        assert len(told) == 5
        assert (await builder.with_url(page.odata_delta_link).get()).value == []

        await client.me.events.by_event_id(told[1].id).patch(Event(subject="Other"))
        await client.me.events.by_event_id(told[2].id).delete()
        page = await builder.with_url(page.odata_delta_link).get()
        assert [each.id for each in page.value] == [told[1].id, told[2].id]
        assert page.value[0].subject == "Other"
        assert page.value[1].additional_data["@removed"] == {"reason": "deleted"}

        status, code, _ = await sdk_refused(builder.with_url(f"{page.odata_delta_link}x").get())
        assert (status, code) == (410, "syncStateNotFound")
        assert master.id

    with_sdk(follows)


def test_the_sdk_is_answered_in_the_zone_and_form_that_it_prefers(with_sdk):
    async def prefers(client, calendar):
        sent = sdk_event()
        sent.body = ItemBody(content_type=BodyType.Html, content="<p>Bring <b>tea</b></p>")
        sent.location, sent.show_as = Location(display_name="Room 1"), FreeBusyStatus.WorkingElsewhere
        made = await client.me.calendars.by_calendar_id(calendar).events.post(sent)
        configuration = RequestConfiguration()
        configuration.headers.add("Prefer", 'outlook.timezone="Eastern Standard Time"')
        configuration.headers.add("Prefer", 'outlook.body-content-type="text"')

        read = await client.me.events.by_event_id(made.id).get(request_configuration=configuration)

        assert (made.start.date_time, made.start.time_zone) == ("2026-03-02T12:00:00.0000000", "UTC")
        assert (read.start.date_time, read.start.time_zone) == ("2026-03-02T07:00:00.0000000", "Eastern Standard Time")
        assert (read.body.content_type, read.body.content) == (BodyType.Text, "Bring tea")
        assert (made.body.content_type, made.body_preview) == (BodyType.Html, "Bring tea")
        assert (read.location.display_name, read.show_as) == ("Room 1", FreeBusyStatus.WorkingElsewhere)
        assert read.created_date_time.tzinfo is not None
        assert "W. Europe Standard Time" in [
            each.alias for each in (await client.me.outlook.supported_time_zones.get()).value
        ]

    with_sdk(prefers)


def test_the_sdk_meets_conflicts_and_refusals(with_sdk):
    async def refusals(client, calendar):
        made = await client.me.calendars.by_calendar_id(calendar).events.post(sdk_event())
        event = client.me.events.by_event_id(made.id)
        stale = RequestConfiguration()
        stale.headers.add("If-Match", made.additional_data["@odata.etag"])
        await event.patch(Event(subject="First"))

        assert (await sdk_refused(event.patch(Event(subject="Second"), request_configuration=stale)))[:2] == (
            412,
            "ErrorIrresolvableConflict",
        )
        assert (await event.get()).subject == "First"

        broken = sdk_weekly()
        broken.recurrence.pattern.interval = 0
        status, code, message = await sdk_refused(client.me.events.post(broken))
        assert (status, code) == (400, "ErrorPropertyValidationFailure")
        assert message.startswith("recurrence.pattern.interval: ")
        nowhere = sdk_event()
        nowhere.start.time_zone = "Nowhere"
        assert (await sdk_refused(client.me.events.post(nowhere)))[:2] == (400, "TimeZoneNotSupportedException")
        assert (await sdk_refused(client.me.calendar_view.get()))[:2] == (400, "ErrorInvalidParameter")
        window = CalendarViewRequestBuilder.CalendarViewRequestBuilderGetQueryParameters(
            start_date_time="2026-03-01", end_date_time="2026-03-02", filter="recurrence ne null"
        )
        assert (
            await sdk_refused(
                client.me.calendar_view.get(request_configuration=RequestConfiguration(query_parameters=window))
            )
        )[:2] == (400, "BadRequest")

    with_sdk(refusals)


def test_the_sdk_knows_people_and_calendars(with_sdk):
    async def knows(client, calendar):
        me = await client.me.get()
        assert me.user_principal_name == "ada"
        assert (await client.users.by_user_id("ada").get()).id == me.id
        default = await client.me.calendar.get()
        assert (default.is_default_calendar, default.can_edit, default.owner.name) == (True, True, "ada")
        names = {each.id: each.name for each in (await client.me.calendars.get()).value}
        assert {default.id, calendar} <= set(names)
        place = client.users.by_user_id("ada").calendars.by_calendar_id(calendar)
        made = await place.events.post(sdk_event())
        assert (await place.events.by_event_id(made.id).get()).id == made.id
        await place.events.by_event_id(made.id).cancel.post(CancelPostRequestBody(comment="Off"))
        assert (await sdk_refused(place.events.by_event_id(made.id).get()))[:2] == (404, "ErrorItemNotFound")

    with_sdk(knows)


def test_the_sdk_without_a_good_token_is_refused(with_sdk):
    async def stranger(client, _):
        assert (await sdk_refused(client.me.calendar.get()))[:2] == (401, "InvalidAuthenticationToken")

    with_sdk(stranger, token="wrong")
