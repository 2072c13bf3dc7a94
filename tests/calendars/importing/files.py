"""Build iCalendar files.  They are valid by default; a test gives only the values that matter to it."""

from calendars.ics.import_report import Status
from calendars.models import Calendar, Event, EventException
from tests.calendars.conftest import starts

TAKEN, CHANGED, UNCHANGED, REFUSED = Status


def vevent(*lines: str, uid: str = "one@example.com", start: str = ";TZID=Europe/Berlin:20260105T100000") -> str:
    """Return an event on Monday, 5 January 2026, at 10:00 in Berlin, by default with a length of zero."""
    head = [f"UID:{uid}"] * bool(uid) + [f"DTSTART{start}"] * bool(start)
    return "\r\n".join(["BEGIN:VEVENT", *head, *lines, "END:VEVENT"])


def build_file(*parts: str, head: str = "") -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *([head] if head else []), *parts, "END:VCALENDAR", ""])


def repeating(*lines: str, rule: str = "FREQ=WEEKLY;BYDAY=MO;COUNT=4", **options) -> str:
    return vevent(f"RRULE:{rule}", "DURATION:PT1H", *lines, **options)


def override(*lines: str, of: str = "20260112T100000", start: str = "20260113T120000", **options) -> str:
    return vevent(
        f"RECURRENCE-ID;TZID=Europe/Berlin:{of}",
        "DURATION:PT1H",
        *lines,
        start=f";TZID=Europe/Berlin:{start}",
        **options,
    )


def all_starts(calendar: Calendar) -> list[str]:
    """Return the starts of all occurrences in the calendar."""
    return sorted(each for event in calendar.events.all() for each in starts(event))


def dump_calendar(calendar: Calendar) -> list:
    tables = (Event, EventException)
    rows = [list(table.objects.order_by("pk").values()) for table in tables]
    return [*rows, Calendar.objects.get(pk=calendar.pk).revision]
