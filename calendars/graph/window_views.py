"""Occurrences in a window: /calendarView, and /instances of one series."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice

from api.pagination import fill_page
from calendars.expansion import Occurrence, load_long_details
from calendars.graph import documents, items, queries
from calendars.graph.documents import EVENTS
from calendars.graph.errors import LONG_VIEW, WRONG_PARAMETER, Refusal
from calendars.graph.event_views import EventView
from calendars.graph.queries import Options
from calendars.models import EARLIEST, LATEST
from recurrence.wire import WireError, json_values

MOST = 50_000  # occurrences that one request expands
LONGEST_VIEW = timedelta(days=1825)  # Graph's limit; it has none for the instances of a series


class WindowView(EventView):
    resource = ""

    def get(self, request, **kwargs):
        options = queries.parse_options(request, queries.LIST, EVENTS)
        start, end = self.requested_window()
        found = requested_order(
            refuse_large_window(items.items_in_window(self.events_to_expand(), start, end, request.user)), options
        )
        length = options.top or self.preferences.page_length or queries.PAGE_LENGTH
        page = list(islice(found, options.skip, options.skip + length + 1))
        rendered = fill_page(
            options.select_members(documents.render_event(item, self.render_options))
            for item in load_long_details(page[:length], request.user)
        )
        count = len(found) if isinstance(found, list) and options.count else None
        return self.add_preference_header(
            self.page_response(self.resource, rendered, options, len(page) > len(rendered), count)
        )

    def requested_window(self) -> tuple[datetime, datetime]:
        return window_of(queries.read_parameters(self.request))


class CalendarView(WindowView):
    resource = "/calendarView"

    def requested_window(self) -> tuple[datetime, datetime]:
        return view_of(queries.read_parameters(self.request))

    def events_to_expand(self):
        return self.visible_events(calendar=self.get_calendar())


class Instances(WindowView):
    resource = "/events/instances"

    def events_to_expand(self):
        item = self.get_item()
        if items.type_of(item) != "seriesMaster":
            raise Refusal("must name a series; this is one event", target="id", code=WRONG_PARAMETER)
        return self.visible_events(pk=item.event.pk)


def window_of(parameters: Mapping[str, str]) -> tuple[datetime, datetime]:
    """Return the window in the parameters, whose names are in lower case.  Raises Refusal."""
    start, end = (instant_in(parameters, name) for name in ("startDateTime", "endDateTime"))
    if end < start:
        raise Refusal("must not be before startDateTime", target="endDateTime", code=WRONG_PARAMETER)
    return min(max(start, EARLIEST), LATEST), min(max(end, EARLIEST), LATEST)


def view_of(parameters: Mapping[str, str]) -> tuple[datetime, datetime]:
    """Return the window of a calendar view.  Raises Refusal, also for a window above the limit."""
    start, end = (instant_in(parameters, name) for name in ("startDateTime", "endDateTime"))
    if end - start > LONGEST_VIEW:
        message = f"must be at most {LONGEST_VIEW.days} days after startDateTime"
        raise Refusal(message, target="endDateTime", code=LONG_VIEW)
    return window_of(parameters)


def instant_in(parameters: Mapping[str, str], name: str) -> datetime:
    text = parameters.get(name.lower())
    if text is None:
        raise Refusal("is required, such as 2026-01-05T08:00:00Z", target=name, code=WRONG_PARAMETER)
    try:
        return json_values.instant(text, name)
    except WireError as error:
        raise Refusal(error.message, target=name, code=WRONG_PARAMETER) from None


def refuse_large_window(found: Iterator[Occurrence], most: int = MOST) -> Iterator[Occurrence]:
    """Yield the occurrences.  Raises Refusal for more than `most`."""
    yield from islice(found, most)
    if next(found, None) is not None:
        message = f"must be closer to startDateTime: there are more than {most} occurrences between them"
        raise Refusal(message, target="endDateTime", code=WRONG_PARAMETER)


def requested_order(found: Iterator[Occurrence], options: Options) -> Iterator[Occurrence] | list[Occurrence]:
    """Filter and order the occurrences.  The result is a list if the order or the count needs all of them."""
    if options.filter is not None:
        found = filter(options.filter.matches, found)
    if not options.count and options.order in ((), ((EVENTS.fields["start/datetime"], False),)):
        return found
    listed = list(found)
    for field, descends in reversed(options.order):
        listed.sort(key=field.sort_value, reverse=descends)
    return listed
