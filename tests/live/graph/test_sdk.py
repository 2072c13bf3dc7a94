"""Microsoft's own SDK of Graph, unchanged, with a running installation.

Its request adapter has the address of the installation, and its token provider has the token.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, date, datetime

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

from tests.live.graph.series import EVERY_SERIES, PATTERNS, expected


class Token(AccessTokenProvider):
    """A provider of an existing token."""

    def __init__(self, token: str):
        self.token = token

    async def get_authorization_token(self, uri: str, additional_authentication_context: dict | None = None) -> str:
        return self.token

    def get_allowed_hosts_validator(self):
        return None


@pytest.fixture
def with_sdk(live):
    """Return a function that runs a coroutine function with a client and the id of a new calendar."""

    def run(scenario: Callable, token: str | None = None) -> None:
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
                    await scenario(client, "")
                    return
                calendar = await client.me.calendars.post(Calendar(name=scenario.__name__))
                await scenario(client, calendar.id)
                await client.me.calendars.by_calendar_id(calendar.id).delete()
            finally:
                await transport.aclose()  # the wrapper of the factory does not close it

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
def test_graph_sdk_creates_every_series(with_sdk, pattern, limit):
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

        # a series that was read can be sent back completely
        again = await client.me.events.by_event_id(made.id).patch(
            Event(recurrence=ours, start=read.start, end=read.end)
        )
        assert (again.change_key, again.recurrence.range.start_date) == (read.change_key, ours.range.start_date)

    with_sdk(makes_every_series)


def test_graph_sdk_changes_and_cancels_occurrences(with_sdk):
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


def test_graph_sdk_reads_all_pages_of_views_and_lists(with_sdk):
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


def test_graph_sdk_reads_changes_by_delta(with_sdk):
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
        changes = list(page.value)
        assert len(changes) == 2
        while page.odata_next_link:
            page = await builder.with_url(page.odata_next_link).get()
            changes += page.value
        assert len(changes) == 5
        assert (await builder.with_url(page.odata_delta_link).get()).value == []

        await client.me.events.by_event_id(changes[1].id).patch(Event(subject="Other"))
        await client.me.events.by_event_id(changes[2].id).delete()
        page = await builder.with_url(page.odata_delta_link).get()
        assert [each.id for each in page.value] == [changes[1].id, changes[2].id]
        assert page.value[0].subject == "Other"
        assert page.value[1].additional_data["@removed"] == {"reason": "deleted"}

        status, code, _ = await sdk_refused(builder.with_url(f"{page.odata_delta_link}x").get())
        assert (status, code) == (410, "syncStateNotFound")
        assert master.id

    with_sdk(follows)


def test_graph_sdk_gets_the_preferred_time_zone_and_body_type(with_sdk):
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


def test_graph_sdk_gets_conflicts_and_errors(with_sdk):
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


def test_graph_sdk_reads_users_and_calendars(with_sdk):
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


def test_graph_sdk_with_a_wrong_token_is_refused(with_sdk):
    async def read_with_wrong_token(client, _):
        assert (await sdk_refused(client.me.calendar.get()))[:2] == (401, "InvalidAuthenticationToken")

    with_sdk(read_with_wrong_token, token="wrong")
