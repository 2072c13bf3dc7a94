"""Light-weight events for pages that show many of them: read as stored, and parsed only when needed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from json import loads
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

from django.db.models import CharField, Exists, OuterRef, TextField
from django.db.models.functions import Cast

from calendars.models import Details, Event, EventException, compile_series
from recurrence.series import Series
from recurrence.wire.zone_names import zone_of

Row = tuple  # of COLUMNS: two rows are equal only if all that a page shows of the events is equal
CALENDAR, HAS_EXCEPTIONS, ID, START = 0, 1, 2, 4  # positions in COLUMNS
TEXT, LONG_TEXT = CharField(), TextField()
COLUMNS = (  # as text, so that no field of Django parses the values
    Cast("calendar", TEXT),
    Exists(EventException.objects.filter(event=OuterRef("pk"))),
    Cast("pk", TEXT),
    "is_all_day",
    Cast("start", TEXT),
    Cast("end", TEXT),
    "zone",
    Cast("recurrence", LONG_TEXT),
    "subject",
    Cast("locations", LONG_TEXT),
    "show_as",
    "sensitivity",
)


class CalendarSummary(NamedTuple):
    """The values of a calendar that its events need."""

    id: UUID
    owner_id: int
    name: str
    hue: str


@dataclass(frozen=True)
class EventSummary:
    """An event with only the values that lists and calendar views show.  Its `details` have only these values, too."""

    calendar: CalendarSummary
    id_text: str
    is_all_day: bool
    start_text: str
    end_text: str
    zone: str
    recurrence: str | None
    subject: str
    locations: str
    show_as: str
    sensitivity: str

    @classmethod
    def from_row(cls, calendar: CalendarSummary, row: Row) -> "EventSummary":
        _, _, *values = row
        return cls(calendar, *values)

    @property
    def is_series(self) -> bool:
        return self.recurrence is not None

    @cached_property
    def pk(self) -> UUID:
        return UUID(self.id_text)

    @cached_property
    def start(self) -> datetime:
        return datetime.fromisoformat(self.start_text)

    @cached_property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.end_text)

    @property
    def tzinfo(self) -> tzinfo:
        return zone_of(self.zone, "timeZone")

    @property
    def series(self) -> Series:
        """Return the compiled series.  Only for an event that is a series."""
        assert self.recurrence is not None
        return compile_series(self.recurrence, self.start, self.end, self.zone)

    @cached_property
    def details(self) -> Details:
        return Details(
            subject=self.subject,
            locations=loads(self.locations),
            show_as=self.show_as,
            sensitivity=self.sensitivity,
        )


def load_rows(
    calendars: Sequence[UUID], start: datetime, end: datetime, limit: int, *more_columns: str
) -> dict[UUID, list[Row]]:
    """Return rows by calendar, ordered by start: the events that may have an occurrence in [start, end).

    If there are more than `limit` events, load the first `limit` + 1 of them: calendar by calendar in their order.  The
    rest is not loaded.
    """
    events = Event.objects.overlapping(start, end).values_list(*COLUMNS, *more_columns)
    rows = sorted(events.filter(calendar__in=calendars)[: limit + 1], key=itemgetter(START, ID))
    if len(rows) > limit:  # these are any events: the order of all would take the database long
        rows = []
        for calendar in calendars:
            rows += events.filter(calendar=calendar).order_by("start", "pk")[: limit + 1 - len(rows)]
            if len(rows) > limit:
                break
    by_calendar: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_calendar[row[CALENDAR]].append(row)
    return {UUID(calendar): rows for calendar, rows in by_calendar.items()}
