"""Properties of imported events, except recurrences."""

import pytest

from calendars.ics import timezones
from calendars.models import Event
from tests.calendars.importing.files import REFUSED, vevent


def test_all_properties_of_an_event_are_imported(import_accepted):
    event, notes = import_accepted(
        "DTEND;TZID=Europe/Berlin:20260105T113000",
        r"SUMMARY:Budget\, part 1",
        r"DESCRIPTION:First line\nC:\\New",
        "LOCATION:Room 4",
        r"CATEGORIES:Red\, dark,Work",
        "CATEGORIES:Home",
        "CLASS:CONFIDENTIAL",
        "PRIORITY:2",
        "X-MICROSOFT-CDO-BUSYSTATUS:OOF",
        "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT90M\r\nEND:VALARM",
    )

    assert (event.subject, event.body, event.details.location_name) == (
        "Budget, part 1",
        "First line\nC:\\New",
        "Room 4",
    )
    assert event.categories == ["Red, dark", "Work", "Home"]
    assert (event.sensitivity, event.importance, event.show_as) == ("confidential", "high", "oof")
    assert (event.is_reminder_on, event.reminder_minutes) == (True, 90)
    assert (f"{event.start}", f"{event.end}", event.zone) == (
        "2026-01-05 10:00:00",
        "2026-01-05 11:30:00",
        "Europe/Berlin",
    )
    assert event.uid == "one@example.com"
    assert notes == []


@pytest.mark.parametrize(
    "start, lines, expected, is_all_day",
    [
        (":20260105T090000Z", ["DTEND:20260105T100000Z"], ("05 09:00", "05 10:00", "UTC"), False),
        (";VALUE=DATE:20260105", [], ("05 00:00", "06 00:00", "Europe/Berlin"), True),
        (";VALUE=DATE:20260105", ["DTEND;VALUE=DATE:20260107"], ("05 00:00", "07 00:00", "Europe/Berlin"), True),
        # an end on the first day, as many programs write
        (";VALUE=DATE:20260105", ["DTEND;VALUE=DATE:20260105"], ("05 00:00", "06 00:00", "Europe/Berlin"), True),
        (";VALUE=DATE:20260105", ["DURATION:P2D"], ("05 00:00", "07 00:00", "Europe/Berlin"), True),
        (":20260105T090000Z", ["DURATION:PT1H30M"], ("05 09:00", "05 10:30", "UTC"), False),
        (":20260105T090000Z", [], ("05 09:00", "05 09:00", "UTC"), False),
        (";TZID=W. Europe Standard Time:20260105T090000", [], ("05 09:00", "05 09:00", "Europe/Berlin"), False),
        (
            ";TZID=Europe/Berlin:20260105T090000",
            ["DTEND;TZID=Europe/London:20260105T090000"],
            ("05 09:00", "05 10:00", "Europe/Berlin"),
            False,
        ),
    ],
)
def test_start_and_end_are_imported_in_each_form(import_accepted, owner, start, lines, expected, is_all_day):
    owner.time_zone = "Europe/Berlin"
    owner.save()

    event, _ = import_accepted(*lines, start=start)

    assert (f"{event.start:%d %H:%M}", f"{event.end:%d %H:%M}", event.zone) == expected
    assert event.is_all_day is is_all_day


def test_duration_in_hours_is_elapsed_time_and_in_days_is_wall_time(import_accepted):
    """Clocks in Berlin go forward on 29 March 2026."""
    hours, _ = import_accepted("DURATION:PT24H", uid="h", start=";TZID=Europe/Berlin:20260328T120000")
    whole_days, _ = import_accepted("DURATION:P1D", uid="d", start=";TZID=Europe/Berlin:20260328T120000")

    assert (f"{hours.end:%d %H}", f"{whole_days.end:%d %H}") == ("29 13", "29 12")


@pytest.mark.parametrize(
    "lines, show_as",
    [
        (["TRANSP:TRANSPARENT"], "free"),
        (["STATUS:TENTATIVE"], "tentative"),
        (["TRANSP:OPAQUE", "STATUS:CONFIRMED"], "busy"),
        (["X-MICROSOFT-CDO-BUSYSTATUS:WORKINGELSEWHERE", "TRANSP:TRANSPARENT"], "workingElsewhere"),
        ([], "busy"),
    ],
)
def test_busy_status_is_imported(import_accepted, lines, show_as):
    assert import_accepted(*lines)[0].show_as == show_as


@pytest.mark.parametrize(
    "value, sensitivity",
    [("PUBLIC", "normal"), ("X-PERSONAL", "personal"), ("private", "private"), ("X-SECRET", "private")],
)
def test_unknown_class_is_imported_as_private(import_accepted, value, sensitivity):
    assert import_accepted(f"CLASS:{value}")[0].sensitivity == sensitivity


@pytest.mark.parametrize(
    "value, importance",
    [
        ("0", "normal"),
        ("1", "high"),
        ("4", "high"),
        ("5", "normal"),
        ("9", "low"),
        ("x", "normal"),
        ("9" * 99, "normal"),
    ],
)
def test_priority_is_imported_as_importance(import_accepted, value, importance):
    assert import_accepted(f"PRIORITY:{value}")[0].importance == importance


def test_html_description_is_preferred(import_accepted):
    event, _ = import_accepted("DESCRIPTION:Read this", "X-ALT-DESC;FMTTYPE=text/html:<p>Read <b>this</b></p>")

    assert (event.body_type, event.body) == ("html", "<p>Read <b>this</b></p>")


def test_imported_attendees_are_stored_and_not_invited(import_accepted):
    event, notes = import_accepted(
        "ORGANIZER:mailto:ada@example.com",
        'ATTENDEE;CN="Prado, João";ROLE=OPT-PARTICIPANT:mailto:joao@example.com',
        "ATTENDEE;CUTYPE=ROOM:mailto:room4@example.com",
    )

    assert notes == ["2 attendees are kept by name; nobody is invited."]
    assert event.attendees == [
        {"type": "optional", "emailAddress": {"name": "Prado, João", "address": "joao@example.com"}},
        {"type": "resource", "emailAddress": {"name": "", "address": "room4@example.com"}},
    ]


def test_control_characters_in_mail_addresses_are_removed_with_a_note(import_accepted):
    event, notes = import_accepted("ATTENDEE:mailto:bob@example.com\x01\x7f", r"ATTENDEE:mailto:eve\n@example.com")

    assert [each["emailAddress"]["address"] for each in event.attendees] == ["bob@example.com", "eve@example.com"]
    assert notes[1:] == ["Control characters in the addresses of attendees are left out."]


@pytest.mark.parametrize(
    "lines, note",
    [
        (["ATTACH:https://example.com/a.pdf", "URL:https://example.com"], "Left out: ATTACH, URL."),
        (["SUMMARY:" + "x" * 300], "Its SUMMARY is cut off after 255 characters."),
        (
            ["BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER;VALUE=DATE-TIME:20260105T080000Z\r\nEND:VALARM"],
            "Its reminder is left out: it is not before the start.",
        ),
        (
            ["BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT5M\r\nEND:VALARM"] * 2,
            "Of its 2 reminders one is kept.",
        ),
        (["CATEGORIES:" + "x" * 300], "Some of its categories are left out: there are too many, or they are too long."),
    ],
)
def test_unsupported_properties_are_noted(import_accepted, lines, note):
    assert import_accepted(*lines)[1] == [note]


# Zones

CUSTOM = """BEGIN:VTIMEZONE
TZID:{name}
{more}BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY={autumn};BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE"""


def vtimezone(name: str, more: str = "", autumn: str = "-1SU") -> str:
    return CUSTOM.format(name=name, more=more, autumn=autumn).replace("\n", "\r\n")


@pytest.mark.parametrize(
    "name, description, zone",
    [
        ("/freeassociation.sourceforge.net/Europe/Paris", None, "Europe/Paris"),
        ("Custom", vtimezone("Custom", "X-LIC-LOCATION:Europe/Vienna\n"), "Europe/Vienna"),
        ("Custom", vtimezone("Custom"), "Europe/Berlin"),  # the owner's zone, because it has the same clock changes
        ("(UTC+01:00) Amsterdam", vtimezone("(UTC+01:00) Amsterdam"), "Europe/Berlin"),
        (
            "New York",
            timezones.render_vtimezone("America/New_York", 2020, 2040).decode().replace("America/New_York", "New York"),
            "America/New_York",
        ),
    ],
)
def test_zone_with_an_unknown_name_is_matched(import_parts, owner, name, description, zone):
    owner.time_zone = "Europe/Berlin"
    owner.save()

    (line,) = import_parts(*filter(None, [description]), vevent(start=f';TZID="{name}":20260705T100000'))

    assert line.notes == [f"Its time zone {name} is taken as {zone}."]
    assert (Event.objects.get().zone, f"{Event.objects.get().start:%H}") == (zone, "10")


@pytest.mark.parametrize(
    "description, reason",
    [
        (None, "Its time zone Custom is not known, and the file does not describe it."),
        (vtimezone("Custom", autumn="-1TU"), "No time zone has clocks that run as the file says of Custom."),
        (vtimezone("Custom", autumn="XX"), "Its time zone Custom is described in a way that cannot be read: "),
        (vtimezone("Custom").replace("FREQ=YEARLY", "FREQ=SECONDLY"), "Its time zone Custom is described in a way"),
        (vtimezone("Custom", autumn="-7SU"), "Its time zone Custom is described in a way that cannot be read: "),
        (
            """BEGIN:VTIMEZONE\r\nTZID:Custom\r\nBEGIN:STANDARD\r\nDTSTART:00010101T000000\r\nTZOFFSETFROM:+0200
TZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE""",
            "Its time zone Custom is described in a way",
        ),
        ("BEGIN:VTIMEZONE\r\nTZID:Custom\r\nEND:VTIMEZONE", "Its time zone Custom is described in a way"),
    ],
)
def test_unknown_zone_is_refused_with_the_reason(import_parts, description, reason):
    (line,) = import_parts(*filter(None, [description]), vevent(start=";TZID=Custom:20260105T100000"))

    assert line.status is REFUSED
    assert line.notes[-1].startswith(reason)


def test_zone_definition_is_not_remembered_for_the_next_file(import_parts):
    import_parts(vtimezone("Custom"), vevent(start=";TZID=Custom:20260105T100000"))

    (line,) = import_parts(vevent(start=";TZID=Custom:20260105T100000"))

    assert line.status is REFUSED


@pytest.mark.parametrize("head, zone", [("", "Asia/Kolkata"), ("X-WR-TIMEZONE:America/New_York", "America/New_York")])
def test_time_without_a_zone_is_in_the_zone_of_the_file_or_the_owner(import_parts, owner, head, zone):
    owner.time_zone = "Asia/Kolkata"
    owner.save()

    (line,) = import_parts(vevent(start=":20260105T100000"), head=head)

    assert line.notes == [f"A time without a zone is taken as one in {zone}."]
    assert Event.objects.get().zone == zone
