"""Convert a rule of iCalendar to one series, to several series that are equivalent together, or to single events.

No database.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice, product
from typing import Any

from django.utils.translation import gettext

from calendars.ics.events import ImportRefused
from calendars.models import YEARS
from recurrence.series import Series
from recurrence.wire import WireError, graph, rrule

SINGLES = 366  # single events from one rule
MOST_EVENTS = 10_000  # events from one file
MOST_YEARS = 1_000  # years searched in total for the rules of one file that only dateutil understands
BACK, AHEAD = timedelta(days=365), timedelta(days=731)  # around now: the window if a rule has too many occurrences
RULES = 12  # series from one rule
LISTS = ("BYMONTH", "BYMONTHDAY", "BYDAY")  # parts with lists of values
COMPARED = 3_653  # days in which several series from one rule must have no day in common
EVER = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Repetition:
    """The result for a rule: Graph documents of `series`, or `days` of single events.

    `first` is the first day that matches the rule, or None if there is none.
    """

    first: date | None = None
    series: list[dict[str, Any]] = field(default_factory=list)
    days: list[date] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Span:
    """The times of an event: wall times in `zone`."""

    start: datetime
    end: datetime
    zone: tzinfo


@dataclass(slots=True)
class Allowance:
    """The remaining work for one file: a limit, so that no file keeps the server busy."""

    events_left: int = field(default_factory=lambda: MOST_EVENTS)
    days_left: int = field(default_factory=lambda: MOST_YEARS * 365)

    def take_event(self) -> None:
        """Count one event.  Raises ImportRefused above the limit."""
        self.events_left -= 1
        self.require_events()

    def require_events(self) -> None:
        if self.events_left < 0:
            message = gettext("The file becomes more than %(most)d events: import the rest of it apart.")
            raise ImportRefused(message % {"most": MOST_EVENTS})

    def take_days(self, days: int) -> None:
        """Count days that were searched for a rule.  Raises ImportRefused above the limit."""
        self.days_left -= days
        if self.days_left < 0:
            message = gettext(
                "Its rule is no series here, and the rules of this kind in the file have to be followed through more"
                " than %(most)d years: import the rest of them apart."
            )
            raise ImportRefused(message % {"most": MOST_YEARS})


def read_recurrence(rule: str, span: Span, now: datetime, allowance: Allowance) -> Repetition:
    """Return the repetition of `rule`.  Raises ImportRefused.

    A start that does not match the rule counts as one of its COUNT.
    """
    try:
        found = convert_rule(rule, span, now, allowance)
        if found.first != span.start.date() and (shorter := decrement_count(rule)) is not None:
            found = convert_rule(shorter, span, now, allowance) if shorter else Repetition()
    except WireError as error:
        if error.code == "never_fires":
            return Repetition(notes=[gettext("Its rule repeats it no more.")])
        raise ImportRefused(gettext("Its rule cannot be taken: %(error)s.") % {"error": error.message}) from None
    return found


def decrement_count(rule: str) -> str | None:
    """Return the rule with COUNT reduced by one; "" if nothing is left; None for a rule without COUNT."""
    parts = parts_of(rule)
    if "COUNT" not in parts:
        return None
    count = int(parts["COUNT"]) - 1
    return text_of(parts | {"COUNT": str(count)}) if count else ""


def convert_rule(rule: str, span: Span, now: datetime, allowance: Allowance) -> Repetition:
    """Convert the rule to one series, several series, or single events.  Raises WireError and ImportRefused."""
    document = rrule.graph_of(rule, span.start, span.end, span.zone)
    if document is not None:
        return limit_count(document, span)
    whole = rrule.read(rule, span.start, span.end, span.zone, budget=allowance.take_days)
    documents = as_several_series(rule, whole, span, allowance)
    if documents:
        note = gettext("Its rule is taken as %(count)d series.") % {"count": len(documents)}
        return Repetition(whole.days.start, documents, notes=[note])
    return as_single_events(whole, now)


def limit_count(document: dict[str, Any], span: Span) -> Repetition:
    """Return one series.  If its count is above the limit, it ends on the day of its last occurrence instead."""
    limits = document["range"]
    count = limits["numberOfOccurrences"]
    if count <= graph.MOST_OCCURRENCES:
        return Repetition(first_day_of(document), [document])
    numbers = {"count": count, "most": graph.MOST_OCCURRENCES, "year": YEARS[-1]}
    last = series_of(document, span).last
    if last is None or last.year not in YEARS:
        raise ImportRefused(gettext("It repeats %(count)d times, beyond the year %(year)d.") % numbers)
    note = gettext(
        "It repeats %(count)d times, and at most %(most)d can be counted: it is a series that ends on %(day)s."
    )
    ends = {"type": "endDate", "endDate": last.isoformat(), "numberOfOccurrences": 0}
    ending = {**document, "range": {**limits, **ends}}
    return Repetition(first_day_of(document), [ending], notes=[note % {**numbers, "day": last}])


def as_several_series(rule: str, whole: Series, span: Span, allowance: Allowance) -> list[dict[str, Any]]:
    """Return several series that are equivalent to the rule together, or [] if there are none.

    An example is the first and the third Monday of each month.
    """
    rules = list(islice(split_rule(rule, whole), RULES + 1))
    if not 1 < len(rules) <= RULES:
        return []
    documents: list[dict[str, Any]] = []
    days: list[int] = []
    for each in rules:
        document = rrule.graph_of(each, span.start, span.end, span.zone)
        if document is None and not is_over(each, span, allowance):
            return []
        if document is not None:
            documents.append(document)
            days += days_in_ten_years(document, span)
    return documents if len(days) == len(set(days)) else []


def split_rule(rule: str, whole: Series) -> Iterator[str]:
    """Yield rules with one value of each list, for all combinations of values.  Yield nothing if that is impossible."""
    parts = parts_of(rule)
    if "BYSETPOS" in parts or parts.get("FREQ") not in ("MONTHLY", "YEARLY"):
        return
    if parts.pop("COUNT", None) and whole.last is not None:
        parts["UNTIL"] = f"{whole.last:%Y%m%d}"
    lists = [name for name in LISTS if name in parts]
    for values in product(*(parts[name].split(",") for name in lists)):
        yield text_of(parts | dict(zip(lists, values, strict=True)))


def is_over(rule: str, span: Span, allowance: Allowance) -> bool:
    """Return True if the rule has no occurrence from the start of the event on."""
    try:
        rrule.read(rule, span.start, span.end, span.zone, budget=allowance.take_days)
    except WireError as error:
        return error.code == "never_fires"
    return False


def days_in_ten_years(document: dict[str, Any], span: Span) -> Iterable[int]:
    first = span.start.toordinal()
    return series_of(document, span).days.ordinals(first, first + COMPARED)


def series_of(document: dict[str, Any], span: Span) -> Series:
    start = datetime.combine(first_day_of(document), span.start.time())
    return graph.read(document, start, start + (span.end - span.start), span.zone).series


def first_day_of(document: dict[str, Any]) -> date:
    return date.fromisoformat(document["range"]["startDate"])


def as_single_events(whole: Series, now: datetime) -> Repetition:
    """Return all occurrences as single events; if there are too many, those near now.

    Raises ImportRefused if there are too many near now, or none.
    """
    if whole.last is not None:
        found = list(islice(whole.occurrences(whole.first.start, EVER), SINGLES + 1))
        if len(found) <= SINGLES:
            note = gettext("Its rule is no series here: its occurrences are single events.")
            return Repetition(whole.days.start, days=[each.day for each in found], notes=[note])
    start, end = now - BACK, now + AHEAD
    found = list(islice(whole.occurrences(start, end), SINGLES + 1))
    if len(found) > SINGLES:
        raise ImportRefused(gettext("Its rule is no series here, and it repeats too often for single events."))
    if not found:
        raise ImportRefused(gettext("Its rule is no series here, and has nothing from a year ago to two years ahead."))
    note = gettext("Its rule is no series here: its occurrences from %(start)s to %(end)s are single events.")
    formatted = note % {"start": start.date(), "end": end.date()}
    return Repetition(whole.days.start, days=[each.day for each in found], notes=[formatted])


def parts_of(rule: str) -> dict[str, str]:
    """Return the parts of a rule by name.  The engine validates the rule."""
    pairs = (part.partition("=") for part in rule.strip().upper().removeprefix("RRULE:").split(";") if part)
    return {name: value for name, _, value in pairs}


def text_of(parts: dict[str, str]) -> str:
    return ";".join(f"{name}={value}" for name, value in parts.items())
