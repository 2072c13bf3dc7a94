"""Events as pages show many of them: read as they are stored, and understood only as far as somebody asks."""

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

from calendars.models import Details, Event, EventException, compiled
from recurrence.series import Series
from recurrence.wire.zone_names import zone_of

Row = tuple  # of COLUMNS: those of two events are equal only when all is that a page shows of them
CALENDAR, HAS_EXCEPTIONS = 0, 1
TEXT, LONG_TEXT = CharField(), TextField()
COLUMNS = (  # as text, which no field of Django takes apart
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


class Look(NamedTuple):
    """A calendar as its events show it."""

    id: UUID
    owner_id: int
    name: str
    hue: str


@dataclass(frozen=True)
class Brief:
    """An event without what only its own page says; its details lack that too."""

    calendar: Look
    key: str
    is_all_day: bool
    begins: str
    ends: str
    zone: str
    recurrence: str | None
    subject: str
    locations: str
    show_as: str
    sensitivity: str

    @classmethod
    def of(cls, calendar: Look, row: Row) -> "Brief":
        _, _, *said = row
        return cls(calendar, *said)

    @property
    def is_series(self) -> bool:
        return self.recurrence is not None

    @cached_property
    def pk(self) -> UUID:
        return UUID(self.key)

    @cached_property
    def start(self) -> datetime:
        return datetime.fromisoformat(self.begins)

    @cached_property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.ends)

    @property
    def tzinfo(self) -> tzinfo:
        return zone_of(self.zone, "timeZone")

    @property
    def series(self) -> Series:
        """Only a series has one."""
        assert self.recurrence is not None
        return compiled(self.recurrence, self.start, self.end, self.zone)

    @cached_property
    def details(self) -> Details:
        return Details(
            subject=self.subject,
            locations=loads(self.locations),
            show_as=self.show_as,
            sensitivity=self.sensitivity,
        )


def rows_in(calendars: Iterable[UUID], start: datetime, end: datetime) -> dict[UUID, list[Row]]:
    """By calendar, the events that may have something in [start, end)."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in Event.objects.filter(calendar__in=calendars).overlapping(start, end).values_list(*COLUMNS):
        found[row[CALENDAR]].append(row)
    return {UUID(calendar): rows for calendar, rows in found.items()}
