"""What events bring in a window: /calendarView, and /instances of one series."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice

from calendars.expansion import Occurrence
from calendars.graph import documents, items, queries
from calendars.graph.documents import EVENTS
from calendars.graph.errors import WRONG_PARAMETER, Refusal
from calendars.graph.event_views import EventView
from calendars.graph.queries import Options
from calendars.models import EARLIEST, LATEST
from recurrence.wire import WireError, reading

MOST = 50_000  # occurrences that one request looks at


class Window(EventView):
    resource = ""

    def get(self, request, **kwargs):
        options = queries.options_of(request, queries.LIST, EVENTS)
        start, end = window_of(queries.parameters_of(request))
        found = chosen(limited(items.in_order(self.rows(), start, end, request.user)), options)
        length = options.top or self.preferences.page_length or queries.PAGE_LENGTH
        page = list(islice(found, options.skip, options.skip + length + 1))
        rendered = [documents.render_event(item, self.manner) for item in page[:length]]
        count = len(found) if isinstance(found, list) and options.count else None
        return self.events_answer(self.page(self.resource, rendered, options, len(page) > length, count))


class CalendarView(Window):
    resource = "/calendarView"

    def rows(self):
        return self.visible_events(calendar=self.calendar())


class Instances(Window):
    resource = "/events/instances"

    def rows(self):
        item = self.item()
        if items.type_of(item) != "seriesMaster":
            raise Refusal("must name a series; this is one event", target="id", code=WRONG_PARAMETER)
        return self.visible_events(pk=item.event.pk)


def window_of(given: Mapping[str, str]) -> tuple[datetime, datetime]:
    """The window that parameters, named in lower case, ask for.  Raises Refusal."""
    start, end = (instant_in(given, name) for name in ("startDateTime", "endDateTime"))
    if end < start:
        raise Refusal("must not be before startDateTime", target="endDateTime", code=WRONG_PARAMETER)
    return min(max(start, EARLIEST), LATEST), min(max(end, EARLIEST), LATEST)


def instant_in(given: Mapping[str, str], name: str) -> datetime:
    text = given.get(name.lower())
    if text is None:
        raise Refusal("is required, such as 2026-01-05T08:00:00Z", target=name, code=WRONG_PARAMETER)
    try:
        return reading.instant(text, name)
    except WireError as error:
        raise Refusal(error.message, target=name, code=WRONG_PARAMETER) from None


def limited(found: Iterator[Occurrence], most: int = MOST) -> Iterator[Occurrence]:
    """Raises Refusal rather than looking at more than `most`."""
    yield from islice(found, most)
    if next(found, None) is not None:
        message = f"must be closer to startDateTime: there are more than {most} occurrences between them"
        raise Refusal(message, target="endDateTime", code=WRONG_PARAMETER)


def chosen(found: Iterator[Occurrence], options: Options) -> Iterator[Occurrence] | list[Occurrence]:
    """Those that match, in order: a list when only all of them tell which come first, or how many they are."""
    if options.filter is not None:
        found = filter(options.filter.matches, found)
    if not options.count and options.order in ((), ((EVENTS.fields["start/datetime"], False),)):
        return found
    listed = list(found)
    for field, descends in reversed(options.order):
        listed.sort(key=field.place_of, reverse=descends)
    return listed
