"""A rule of iCalendar as what we have: one series, several that together say the same, or single events.

Pure: it knows no rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice, product
from typing import Any

from django.utils.translation import gettext

from calendars.vevents import Refused
from recurrence.series import Series
from recurrence.wire import WireError, graph, rrule

SINGLES = 366  # events that one rule may become
MOST_EVENTS = 10_000  # that one file may become
MOST_YEARS = 1_000  # of the calendar, through which the rules of one file are followed that only dateutil understands
BACK, AHEAD = timedelta(days=365), timedelta(days=731)  # around now: where single events stand for too many
RULES = 12  # series that one rule may become
LISTS = ("BYMONTH", "BYMONTHDAY", "BYDAY")  # of each of which a rule may have several
COMPARED = 3_653  # days in which series that are to say the same together must not meet
EVER = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Repetition:
    """`series` are documents of Graph's, `days` those of single events; `first` is the first day that fits the rule."""

    first: date | None = None
    series: list[dict[str, Any]] = field(default_factory=list)
    days: list[date] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Span:
    """An event from `start` to `end`, as clocks in `zone` show them."""

    start: datetime
    end: datetime
    zone: tzinfo


@dataclass(slots=True)
class Allowance:
    """What may still be worked out for a file, so that none keeps its server busy, whatever it holds."""

    events: int = field(default_factory=lambda: MOST_EVENTS)
    days: int = field(default_factory=lambda: MOST_YEARS * 365)

    def take_event(self) -> None:
        """Raises Refused for one too many."""
        self.events -= 1
        self.require_events()

    def require_events(self) -> None:
        if self.events < 0:
            said = gettext("The file becomes more than %(most)d events: import the rest of it apart.")
            raise Refused(said % {"most": MOST_EVENTS})

    def take_days(self, days: int) -> None:
        """Raises Refused when rules have been followed through too many."""
        self.days -= days
        if self.days < 0:
            said = gettext(
                "Its rule is no series here, and the rules of this kind in the file have to be followed through more"
                " than %(most)d years: import the rest of them apart."
            )
            raise Refused(said % {"most": MOST_YEARS})


def repeated(rule: str, span: Span, now: datetime, allowance: Allowance) -> Repetition:
    """What `rule` makes of an event.  A start that does not fit it counts as one of its COUNT.  Raises Refused."""
    try:
        found = said(rule, span, now, allowance)
        if found.first != span.start.date() and (shorter := with_one_less(rule)) is not None:
            found = said(shorter, span, now, allowance) if shorter else Repetition()
    except WireError as error:
        if error.code == "never_fires":
            return Repetition(notes=[gettext("Its rule repeats it no more.")])
        raise Refused(gettext("Its rule cannot be taken: %(error)s.") % {"error": error.message}) from None
    return found


def with_one_less(rule: str) -> str | None:
    """The rule with a COUNT that is one less, empty when nothing is left; None without a COUNT."""
    parts = parts_of(rule)
    if "COUNT" not in parts:
        return None
    count = int(parts["COUNT"]) - 1
    return text_of(parts | {"COUNT": str(count)}) if count else ""


def said(rule: str, span: Span, now: datetime, allowance: Allowance) -> Repetition:
    document = rrule.graph_of(rule, span.start, span.end, span.zone)
    if document is not None:
        return Repetition(first_day_of(document), [document])
    whole = rrule.read(rule, span.start, span.end, span.zone, meter=allowance.take_days)
    documents = together(rule, whole, span, allowance)
    if documents:
        note = gettext("Its rule is taken as %(count)d series.") % {"count": len(documents)}
        return Repetition(whole.days.start, documents, notes=[note])
    return one_by_one(whole, now)


def together(rule: str, whole: Series, span: Span, allowance: Allowance) -> list[dict[str, Any]]:
    """Several series that say the same, as of the first and the third Monday of each month; none if there are none."""
    rules = list(islice(split(rule, whole), RULES + 1))
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


def split(rule: str, whole: Series) -> Iterator[str]:
    """The rule with one of each list instead of all."""
    parts = parts_of(rule)
    if "BYSETPOS" in parts or parts.get("FREQ") not in ("MONTHLY", "YEARLY"):
        return
    if parts.pop("COUNT", None) and whole.last is not None:
        parts["UNTIL"] = f"{whole.last:%Y%m%d}"
    named = [name for name in LISTS if name in parts]
    for chosen in product(*(parts[name].split(",") for name in named)):
        yield text_of(parts | dict(zip(named, chosen, strict=True)))


def is_over(rule: str, span: Span, allowance: Allowance) -> bool:
    try:
        rrule.read(rule, span.start, span.end, span.zone, meter=allowance.take_days)
    except WireError as error:
        return error.code == "never_fires"
    return False


def days_in_ten_years(document: dict[str, Any], span: Span) -> Iterable[int]:
    beginning = span.start.toordinal()
    return series_of(document, span).days.ordinals(beginning, beginning + COMPARED)


def series_of(document: dict[str, Any], span: Span) -> Series:
    start = datetime.combine(first_day_of(document), span.start.time())
    return graph.read(document, start, start + (span.end - span.start), span.zone).series


def first_day_of(document: dict[str, Any]) -> date:
    return date.fromisoformat(document["range"]["startDate"])


def one_by_one(whole: Series, now: datetime) -> Repetition:
    """All occurrences as single events, or if they are many those near now.  Raises Refused for more."""
    if whole.last is not None:
        found = list(islice(whole.occurrences(whole.first.start, EVER), SINGLES + 1))
        if len(found) <= SINGLES:
            note = gettext("Its rule is no series here: its occurrences are single events.")
            return Repetition(whole.days.start, days=[each.day for each in found], notes=[note])
    start, end = now - BACK, now + AHEAD
    found = list(islice(whole.occurrences(start, end), SINGLES + 1))
    if len(found) > SINGLES:
        raise Refused(gettext("Its rule is no series here, and it repeats too often for single events."))
    if not found:
        raise Refused(gettext("Its rule is no series here, and has nothing from a year ago to two years ahead."))
    note = gettext("Its rule is no series here: its occurrences from %(start)s to %(end)s are single events.")
    said = note % {"start": start.date(), "end": end.date()}
    return Repetition(whole.days.start, days=[each.day for each in found], notes=[said])


def parts_of(rule: str) -> dict[str, str]:
    """The parts of a rule that the engine has understood, or will refuse."""
    pairs = (part.partition("=") for part in rule.strip().upper().removeprefix("RRULE:").split(";") if part)
    return {name: value for name, _, value in pairs}


def text_of(parts: dict[str, str]) -> str:
    return ";".join(f"{name}={value}" for name, value in parts.items())
