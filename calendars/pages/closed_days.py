"""The closed days of a window, from the calendars of closed days that the shown jobs use or that the viewer chooses."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import CharField, Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Cast
from django.utils.translation import gettext

from accounts.visibility import rows_visible_to
from calendars.pages.filters import Filter
from jobs.models import runnable_q
from recurrence.closed_days import ClosedDay
from recurrence.closed_days import ClosedDays as Days
from triggers.models import ClosedDays, ClosedDaysVersion, Trigger, parse_event_days

MOST_CALENDARS = 50  # calendars of closed days in the sidebar, those in use first
MOST_NAMES = 5  # calendars that the text of a day names
LABEL_LENGTH = 60  # characters


@dataclass(frozen=True, slots=True)
class ClosedCalendar:
    """A calendar of closed days.  `is_used` means that triggers of shown jobs use it: then it is shown by default."""

    id: int
    name: str
    version: UUID
    is_used: bool
    is_shown: bool


class DayNote(NamedTuple):
    """Why a day is closed: names for the page, and all names with their calendars."""

    label: str  # empty if the day has no name, such as a day of the weekend
    text: str


def calendar_rows(user, chosen: Filter) -> QuerySet:
    """Return the calendars that the user may see, with the columns of the query for all layers.

    The columns are: kind, id, name, version, whether it is used, two numbers and a text.
    """
    hidden = chosen.noruns
    using = Trigger.objects.filter(runnable_q("job__"), enabled=True, closed_days__calendar=OuterRef("pk"))
    visible = rows_visible_to(user, ClosedDays.objects).filter(version__isnull=False)
    visible = visible.annotate(is_used=Exists(using.exclude(job__collection__in=hidden) if hidden else using))
    first = visible.order_by("-is_used", "name", "pk").values("pk")[:MOST_CALENDARS]
    rows: Any = visible.filter(pk__in=first).order_by()
    return rows.values_list(
        *(Value("closed"), Cast("pk", CharField()), "name", Cast("version_id", CharField())),
        *("is_used", Value(0), Value(0), Value("")),
    )


def calendar_of(row: Sequence[Any], chosen: Filter) -> ClosedCalendar:
    """Return the calendar of a row of `calendar_rows`."""
    _, key, name, version, is_used, *_ = row
    number, is_used = int(key), bool(is_used)
    is_shown = number not in chosen.noclosed if is_used else number in chosen.closed
    return ClosedCalendar(number, name, UUID(version), is_used, is_shown)


def closed_days_within(calendars: Iterable[ClosedCalendar], first: date, last: date) -> dict[date, DayNote]:
    """Return the days from `first` to `last` that a shown calendar closes.  One query, and none if none is shown."""
    names = {each.version: each.name for each in calendars if each.is_shown}
    if not names:
        return {}
    found: dict[date, list[tuple[ClosedDay, str]]] = defaultdict(list)
    rows = ClosedDaysVersion.objects.filter(pk__in=list(names)).values_list("pk", "document", "event_days")
    for version, document, event_days in sorted(rows, key=lambda row: names[row[0]].casefold()):
        days = Days.of(document, parse_event_days(event_days))
        for closed in days.closed_between(first, last):
            found[closed.day].append((closed, names[version]))
    return {day: note_of(reasons) for day, reasons in found.items()}


def note_of(reasons: Sequence[tuple[ClosedDay, str]]) -> DayNote:
    """Return the note of a day.  Days with a name come before those of the weekend."""
    reasons = sorted(reasons, key=lambda each: each[0].name is None)
    texts = [f"{name_of(closed)}, {calendar}" for closed, calendar in reasons[:MOST_NAMES]]
    if len(reasons) > MOST_NAMES:
        texts.append(gettext("and %d more") % (len(reasons) - MOST_NAMES))
    label = ", ".join(dict.fromkeys(closed.name for closed, _ in reasons if closed.name))
    return DayNote(label if len(label) <= LABEL_LENGTH else f"{label[: LABEL_LENGTH - 1]}…", "; ".join(texts))


def name_of(closed: ClosedDay) -> str:
    if closed.name:
        return closed.name
    return gettext("weekend") if closed.source == "weekend" else gettext("closed day")


def closed_text(note: DayNote | None) -> str:
    """Return the text as in closed: Christmas Day, Germany; empty for an open day."""
    return gettext("closed: %s") % note.text if note else ""
