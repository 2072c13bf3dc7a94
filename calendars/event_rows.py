"""Light-weight events for pages that show many of them: read as stored, and parsed only when needed."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import cached_property
from json import loads
from typing import NamedTuple
from uuid import UUID

from django.db.models import CharField, Exists, OuterRef, TextField
from django.db.models.functions import Cast

from calendars.models import Details, Event, EventException, compile_series
from recurrence.series import Series
from recurrence.wire.zone_names import zone_of

Row = tuple  # of COLUMNS: two rows are equal only if all that a page shows of the events is equal
CALENDAR, HAS_EXCEPTIONS = 0, 1
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


def load_rows(calendars: Iterable[UUID], start: datetime, end: datetime) -> dict[UUID, list[Row]]:
    """Return rows by calendar: the events that may have an occurrence in [start, end)."""
    by_calendar: dict[str, list[Row]] = defaultdict(list)
    for row in Event.objects.filter(calendar__in=calendars).overlapping(start, end).values_list(*COLUMNS):
        by_calendar[row[CALENDAR]].append(row)
    return {UUID(calendar): rows for calendar, rows in by_calendar.items()}
