"""Refused components, reported with their lines, and refused files."""

from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calendars.errors import CalendarError
from calendars.ics.importing import import_calendar
from calendars.models import Event, EventException
from tests.calendars.importing.files import (
    REFUSED,
    TAKEN,
    build_file,
    vevent,
)
from tests.conftest import NOW


def test_report_has_the_line_of_each_component(import_parts):
    lines = import_parts(
        vevent("SUMMARY:One"),
        "BEGIN:VTODO\r\nUID:todo\r\nSUMMARY:Do\r\nEND:VTODO",
        vevent("SUMMARY:Two", uid="two", start=":nonsense"),
        vevent("SUMMARY:Three", uid="three"),
    )

    assert [(each.line, each.component, each.uid, each.summary, each.status) for each in lines] == [
        (3, "VEVENT", "one@example.com", "One", TAKEN),
        (8, "VTODO", "todo", "Do", REFUSED),
        (12, "VEVENT", "two", "Two", REFUSED),
        (17, "VEVENT", "three", "Three", TAKEN),
    ]
    assert [each.notes for each in lines[1:3]] == [["Only events are taken."], ["Its DTSTART is no time: 'nonsense'."]]


@pytest.mark.parametrize(
    "lines, options, reason",
    [
        ([], {"start": ""}, "It has no DTSTART."),
        (["STATUS:CANCELLED"], {}, "It is cancelled."),
        (["DTEND;VALUE=DATE:20260106"], {}, "One of its DTSTART and DTEND is a date and the other is none."),
        (["DTEND;TZID=Europe/Berlin:20260104T100000"], {}, "It cannot be taken: end: must not be before the start"),
        (["DURATION:-PT1H"], {}, "Its DURATION cannot be read: '-PT1H'."),
        (["DURATION:P99999999999D"], {}, "Its DURATION cannot be read: 'P99999999999D'."),
        (["a line without a colon"], {}, "It cannot be read: line 6 cannot be read: 'a line without a colon'."),
        (["RDATE;VALUE=DATE:20260106"], {}, "One of its DTSTART and RDATE is a date and the other is none."),
        (["EXDATE:nonsense"], {}, "Its EXDATE is no time: 'nonsense'."),
        ([], {"start": ":00010101T000000Z"}, "Its DTSTART is not in the years 1900 to 4500."),
        (["DTEND:99991231T235959Z"], {}, "Its DTEND is not in the years 1900 to 4500."),
        (["RECURRENCE-ID;VALUE=DATE:00010101"], {}, "Its RECURRENCE-ID is not in the years 1900 to 4500."),
        (["RDATE;VALUE=PERIOD:20260105T090000Z/99991231T235959Z"], {}, "Its RDATE is not in the years 1900 to 4500."),
        (["DURATION:P2900000D"], {}, "Its DURATION cannot be read: 'P2900000D'."),
        ([], {"start": ";VALUE=DATE:20260230"}, "Its DTSTART is no time: '20260230'."),
        (["EXDATE:20260105T090000Z"], {}, "It has no occurrence."),
        ([f"EXDATE:{','.join(['20260105T090000Z'] * 1001)}"], {}, "It has more than 1000 dates of its own."),
    ],
)  # fmt: skip
def test_invalid_component_is_refused_with_the_reason(import_parts, lines, options, reason):
    (line,) = import_parts(vevent(*lines, **options))

    assert (line.status, line.event_id) == (REFUSED, None)
    assert line.notes[-1].startswith(reason)
    assert not EventException.objects.filter(is_cancelled=False).exists()


def test_component_without_an_end_does_not_affect_the_others(import_parts):
    lines = import_parts("BEGIN:VEVENT\r\nUID:open\r\nDTSTART:20260105T100000Z", vevent(), "BEGIN:VEVENT\r\nUID:last")

    assert [each.status for each in lines] == [REFUSED, TAKEN, REFUSED]
    assert lines[0].notes == ["It cannot be read: BEGIN:VEVENT has no END."]


def test_file_with_method_cancel_is_refused(import_parts):
    (line,) = import_parts(vevent(), head="METHOD:CANCEL")

    assert line.notes == ["It is cancelled."]


@pytest.mark.parametrize(
    "content, code",
    [
        (b"", "not_icalendar"),
        (b"BEGIN:VCARD\r\nEND:VCARD", "not_icalendar"),
        (b"<html></html>", "not_icalendar"),
        ("BEGIN:VCALENDAR\r\nX-A:é\r\nEND:VCALENDAR".encode("latin-1"), "not_utf8"),
        (build_file().encode("utf-16"), "not_utf8"),
        (b"x" * 1_048_577, "too_large"),
        ("é" * 600_000, "too_large"),
        ("BEGIN:VCALENDAR\n" + "BEGIN:X\nEND:X\n" * 6_000, "too_many"),
        ("BEGIN:VCALENDAR\n" + "X:1\n" * 60_000, "too_many"),
        ("BEGIN:VCALENDAR\n" + "".join(f"BEGIN:A{n}\n" for n in range(60)), "too_deep"),
    ],
)
def test_file_that_is_not_a_calendar_is_refused(calendar, content, code):
    with pytest.raises(CalendarError) as import_refused:
        import_calendar(calendar, content, NOW)

    assert (import_refused.value.path, import_refused.value.code) == ("file", code)


def test_byte_order_mark_and_line_endings_are_accepted(calendar):
    text = build_file(vevent("SUMMARY:One"))

    for content in (b"\xef\xbb\xbf" + text.encode(), text.replace("\r\n", "\n"), text.replace("\r\n", "\r")):
        report = import_calendar(calendar, content, NOW, dry_run=True)

        assert [each.summary for each in report.lines] == ["One"]


def test_control_characters_are_removed(import_accepted):
    assert import_accepted("SUMMARY:a\x00b\x07c")[0].subject == "abc"


def test_escaped_newline_in_a_value_does_not_start_a_property(import_accepted):
    event, _ = import_accepted(r"SUMMARY:a\nATTENDEE:mailto:eve@example.com")

    assert (event.subject, event.attendees) == ("a ATTENDEE:mailto:eve@example.com", [])


@given(st.text(alphabet='BEGINDVCALRTS:;=,\\"\r\n \t0129TZé-', max_size=400))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_text_is_imported_or_refused(calendar, text_lines):
    text = f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20260105T100000Z\r\n{text_lines}\r\nEND:VEVENT\r\nEND:VCALENDAR"
    for content in (text_lines, text):
        with suppress(CalendarError):
            import_calendar(calendar, content, NOW, dry_run=True)
    assert not Event.objects.exists()
