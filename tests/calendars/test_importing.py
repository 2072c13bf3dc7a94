"""Taking iCalendar files: what becomes of each component, and what the report says of it."""

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calendars import editing, ics, importing, vtimezones
from calendars.errors import CalendarError
from calendars.importing import Status, import_calendar
from calendars.models import Calendar, Event, EventException
from tests.calendars.conftest import days, starts
from tests.calendars.test_ics import LENGTHS, PATTERNS, RANGES, STARTS, ZONES, ours, touch
from tests.conftest import NOW, utc

TAKEN, CHANGED, UNCHANGED, REFUSED = Status


def vevent(*lines: str, uid: str = "one@example.com", start: str = ";TZID=Europe/Berlin:20260105T100000") -> str:
    """An event on Monday, 5 January 2026, at 10:00 in Berlin, of no length unless it says otherwise."""
    head = [f"UID:{uid}"] * bool(uid) + [f"DTSTART{start}"] * bool(start)
    return "\r\n".join(["BEGIN:VEVENT", *head, *lines, "END:VEVENT"])


def file_of(*parts: str, head: str = "") -> str:
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *([head] if head else []), *parts, "END:VCALENDAR", ""])


@pytest.fixture
def take(calendar):
    """Import what consists of `parts`; returns the lines of the report."""

    def run(*parts: str, head: str = "", **options) -> list[importing.Line]:
        return list(import_calendar(calendar, file_of(*parts, head=head), NOW, **options).lines)

    return run


@pytest.fixture
def taken(take):
    """Import one component that is taken; returns its event and the notes."""

    def run(*lines: str, **options) -> tuple[Event, list[str]]:
        (line,) = take(vevent(*lines, **options))
        assert line.status is TAKEN, line.notes
        return Event.objects.get(pk=line.event_id), line.notes

    return run


@pytest.fixture
def refused(take):
    """Import one component that is refused; returns why."""

    def run(*lines: str, **options) -> str:
        (line,) = take(vevent(*lines, **options))
        assert (line.status, line.event_id) == (REFUSED, None)
        assert not Event.objects.exists()
        return line.notes[-1]

    return run


# What an event says


def test_an_event_is_taken_with_all_that_it_says(taken):
    event, notes = taken(
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

    assert (event.subject, event.body, event.details.place) == ("Budget, part 1", "First line\nC:\\New", "Room 4")
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
    "start, lines, times_of, is_all_day",
    [
        (":20260105T090000Z", ["DTEND:20260105T100000Z"], ("05 09:00", "05 10:00", "UTC"), False),
        (";VALUE=DATE:20260105", [], ("05 00:00", "06 00:00", "Europe/Berlin"), True),
        (";VALUE=DATE:20260105", ["DTEND;VALUE=DATE:20260107"], ("05 00:00", "07 00:00", "Europe/Berlin"), True),
        # an end on the first day, as many programs write it
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
def test_starts_and_ends_in_every_form(taken, owner, start, lines, times_of, is_all_day):
    owner.time_zone = "Europe/Berlin"
    owner.save()

    event, _ = taken(*lines, start=start)

    assert (f"{event.start:%d %H:%M}", f"{event.end:%d %H:%M}", event.zone) == times_of
    assert event.is_all_day is is_all_day


def test_a_duration_of_hours_is_elapsed_time_and_one_of_days_is_dates(taken):
    """Clocks in Berlin go forward on 29 March 2026."""
    hours, _ = taken("DURATION:PT24H", uid="h", start=";TZID=Europe/Berlin:20260328T120000")
    whole_days, _ = taken("DURATION:P1D", uid="d", start=";TZID=Europe/Berlin:20260328T120000")

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
def test_how_time_is_shown(taken, lines, show_as):
    assert taken(*lines)[0].show_as == show_as


@pytest.mark.parametrize(
    "value, sensitivity",
    [("PUBLIC", "normal"), ("X-PERSONAL", "personal"), ("private", "private"), ("X-SECRET", "private")],
)
def test_a_class_that_nobody_knows_is_private(taken, value, sensitivity):
    assert taken(f"CLASS:{value}")[0].sensitivity == sensitivity


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
def test_priorities(taken, value, importance):
    assert taken(f"PRIORITY:{value}")[0].importance == importance


def test_html_is_taken_where_there_is_some(taken):
    event, _ = taken("DESCRIPTION:Read this", "X-ALT-DESC;FMTTYPE=text/html:<p>Read <b>this</b></p>")

    assert (event.body_type, event.body) == ("html", "<p>Read <b>this</b></p>")


def test_nobody_is_invited(taken):
    event, notes = taken(
        "ORGANIZER:mailto:ada@example.com",
        'ATTENDEE;CN="Prado, João";ROLE=OPT-PARTICIPANT:mailto:joao@example.com',
        "ATTENDEE;CUTYPE=ROOM:mailto:room4@example.com",
    )

    assert notes == ["2 attendees are kept by name; nobody is invited."]
    assert event.attendees == [
        {"type": "optional", "emailAddress": {"name": "Prado, João", "address": "joao@example.com"}},
        {"type": "resource", "emailAddress": {"name": "", "address": "room4@example.com"}},
    ]


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
def test_what_cannot_be_said_is_noted(taken, lines, note):
    assert taken(*lines)[1] == [note]


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


def described(name: str, more: str = "", autumn: str = "-1SU") -> str:
    return CUSTOM.format(name=name, more=more, autumn=autumn).replace("\n", "\r\n")


@pytest.mark.parametrize(
    "name, description, zone",
    [
        ("/freeassociation.sourceforge.net/Europe/Paris", None, "Europe/Paris"),
        ("Custom", described("Custom", "X-LIC-LOCATION:Europe/Vienna\n"), "Europe/Vienna"),
        ("Custom", described("Custom"), "Europe/Berlin"),  # the owner's, whose clocks run so
        ("(UTC+01:00) Amsterdam", described("(UTC+01:00) Amsterdam"), "Europe/Berlin"),
        (
            "New York",
            vtimezones.described("America/New_York", 2020, 2040).decode().replace("America/New_York", "New York"),
            "America/New_York",
        ),
    ],
)
def test_a_zone_of_another_name_is_found(take, owner, name, description, zone):
    owner.time_zone = "Europe/Berlin"
    owner.save()

    (line,) = take(*filter(None, [description]), vevent(start=f';TZID="{name}":20260705T100000'))

    assert line.notes == [f"Its time zone {name} is taken as {zone}."]
    assert (Event.objects.get().zone, f"{Event.objects.get().start:%H}") == (zone, "10")


@pytest.mark.parametrize(
    "description, reason",
    [
        (None, "Its time zone Custom is not known, and the file does not describe it."),
        (described("Custom", autumn="-1TU"), "No time zone has clocks that run as the file says of Custom."),
        (described("Custom", autumn="XX"), "Its time zone Custom is described in a way that cannot be read: "),
        (described("Custom").replace("FREQ=YEARLY", "FREQ=SECONDLY"), "Its time zone Custom is described in a way"),
        (described("Custom", autumn="-7SU"), "Its time zone Custom is described in a way that cannot be read: "),
        (
            """BEGIN:VTIMEZONE\r\nTZID:Custom\r\nBEGIN:STANDARD\r\nDTSTART:00010101T000000\r\nTZOFFSETFROM:+0200
TZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE""",
            "Its time zone Custom is described in a way",
        ),
        ("BEGIN:VTIMEZONE\r\nTZID:Custom\r\nEND:VTIMEZONE", "Its time zone Custom is described in a way"),
    ],
)
def test_a_zone_that_is_none_of_ours_is_refused_with_the_reason(take, description, reason):
    (line,) = take(*filter(None, [description]), vevent(start=";TZID=Custom:20260105T100000"))

    assert line.status is REFUSED
    assert line.notes[-1].startswith(reason)


def test_the_zone_of_one_file_is_unknown_to_the_next(take):
    take(described("Custom"), vevent(start=";TZID=Custom:20260105T100000"))

    (line,) = take(vevent(start=";TZID=Custom:20260105T100000"))

    assert line.status is REFUSED


@pytest.mark.parametrize("head, zone", [("", "Asia/Kolkata"), ("X-WR-TIMEZONE:America/New_York", "America/New_York")])
def test_a_time_without_a_zone_is_one_of_the_file_or_of_the_owner(take, owner, head, zone):
    owner.time_zone = "Asia/Kolkata"
    owner.save()

    (line,) = take(vevent(start=":20260105T100000"), head=head)

    assert line.notes == [f"A time without a zone is taken as one in {zone}."]
    assert Event.objects.get().zone == zone


# Series


def repeating(*lines: str, rule: str = "FREQ=WEEKLY;BYDAY=MO;COUNT=4", **options) -> str:
    return vevent(f"RRULE:{rule}", "DURATION:PT1H", *lines, **options)


@pytest.mark.parametrize(
    "rule, pattern",
    [
        ("FREQ=DAILY;INTERVAL=3", {"type": "daily", "interval": 3}),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", {"type": "weekly", "daysOfWeek": ["monday", "wednesday"]}),
        ("FREQ=MONTHLY;BYMONTHDAY=5", {"type": "absoluteMonthly", "dayOfMonth": 5}),
        ("FREQ=MONTHLY;BYDAY=1MO", {"type": "relativeMonthly", "index": "first", "daysOfWeek": ["monday"]}),
        ("FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=5", {"type": "absoluteYearly", "dayOfMonth": 5, "month": 1}),
        ("FREQ=YEARLY", {"type": "absoluteYearly", "dayOfMonth": 5, "month": 1}),
    ],
)
def test_a_rule_that_is_one_of_our_patterns_is_taken_as_a_series(taken, rule, pattern):
    event, notes = taken(f"RRULE:{rule}")

    assert pattern.items() <= event.recurrence["pattern"].items()
    assert event.recurrence["range"]["type"] == "noEnd"
    assert notes == []


def test_a_series_has_the_occurrences_that_its_rule_counts(take):
    take(repeating())

    assert days(Event.objects.get()) == ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26"]


def everything(calendar: Calendar) -> list[str]:
    """The starts of all that is in the calendar."""
    return sorted(each for event in calendar.events.all() for each in starts(event))


@pytest.mark.parametrize(
    "rule, count, found",
    [
        # the first and the third Monday: no pattern has both
        ("FREQ=MONTHLY;BYDAY=1MO,3MO;COUNT=4", 2, ["01-05", "01-19", "02-02", "02-16"]),
        ("FREQ=MONTHLY;BYMONTHDAY=5,20;UNTIL=20260301T000000Z", 2, ["01-05", "01-20", "02-05", "02-20"]),
        ("FREQ=YEARLY;BYMONTH=1,4;BYMONTHDAY=5;COUNT=2", 2, ["01-05", "04-05"]),
        # one of which never comes before the end
        ("FREQ=MONTHLY;BYMONTHDAY=5,20;COUNT=1", 1, ["01-05"]),
    ],
)
def test_a_rule_that_several_patterns_say_together_is_taken_as_several_series(take, calendar, rule, count, found):
    (line,) = take(repeating(rule=rule))

    assert line.status is TAKEN
    assert [each[5:10] for each in everything(calendar)] == found
    assert calendar.events.filter(recurrence__isnull=False).count() == count


def test_a_rule_that_no_pattern_says_is_taken_as_single_events(take, calendar):
    """In months of 30 days a pattern would take the 30th for the 31st."""
    (line,) = take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000"))

    assert line.notes == ["Its rule is no series here: its occurrences are single events."]
    assert [each[5:10] for each in everything(calendar)] == ["01-31", "03-31", "05-31"]
    assert not calendar.events.filter(recurrence__isnull=False).exists()


def test_of_one_without_an_end_those_near_today_are_taken(take, calendar):
    (line,) = take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31", start=";TZID=Europe/Berlin:20100131T100000"))

    assert line.notes == [
        "Its rule is no series here: its occurrences from 2025-01-01 to 2028-01-02 are single events."
    ]
    assert calendar.events.count() == 21


@pytest.mark.parametrize(
    "rule, reason",
    [
        ("FREQ=SECONDLY", "Its rule cannot be taken: FREQ must not be 'SECONDLY'."),
        ("FREQ=HOURLY;COUNT=2", "Its rule cannot be taken: FREQ must not be 'HOURLY'."),
        ("FREQ=DAILY;BYHOUR=10,12", "Its rule cannot be taken: BYHOUR must be that of the start"),
        (
            "FREQ=DAILY;BYMONTHDAY=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
            "Its rule is no series here, and it repeats too often for single events.",
        ),
        ("FREQ=WEEKLY;COUNT=x", "Its rule cannot be taken: COUNT must not be 'X'"),
        ("", "Its rule cannot be taken: must have a FREQ"),
        ("FREQ=YEARLY;BYYEARDAY=1;BYWEEKNO=20;COUNT=3", "Its rule"),
        ("FREQ=DAILY;BYSETPOS=1;COUNT=999999999999", "Its rule"),
        ("FREQ=MONTHLY;BYMONTHDAY=31;UNTIL=19990101", "Its rule"),
    ],
)
def test_a_rule_that_cannot_be_taken_is_refused_with_the_reason(take, rule, reason):
    (line,) = take(repeating(rule=rule))

    assert line.notes[-1].startswith(reason)


@pytest.mark.parametrize("rule", ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;INTERVAL=7;BYDAY=TU"])
def test_a_rule_that_never_fits_leaves_the_start(take, calendar, rule):
    (line,) = take(repeating(rule=rule))

    assert (line.status, line.notes) == (TAKEN, ["Its rule repeats it no more."])
    assert everything(calendar) == ["2026-01-05T10:00"]
    assert calendar.events.get().uid == "one@example.com"


def test_two_rules_are_refused(refused):
    assert refused("RRULE:FREQ=DAILY;COUNT=2", "RRULE:FREQ=WEEKLY") == "It repeats by more than one rule."


def test_a_start_that_does_not_fit_its_rule_counts_as_the_first(take, calendar):
    """So most programs show it; RFC 5545 leaves it open."""
    (line,) = take(repeating(rule="FREQ=WEEKLY;BYDAY=WE;COUNT=3"))

    assert line.notes == ["Its start is no day of its rule: it is a single event."]
    assert everything(calendar) == ["2026-01-05T10:00", "2026-01-07T10:00", "2026-01-14T10:00"]


@pytest.mark.parametrize(
    "exdate",
    [
        "EXDATE;TZID=Europe/Berlin:20260112T100000,20260126T100000",
        "EXDATE;VALUE=DATE:20260112,20260126",
        "EXDATE:20260112T090000Z\r\nEXDATE:20260126T090000Z",
    ],
)
def test_dates_that_are_left_out_are_cancelled_occurrences(take, exdate):
    take(repeating(exdate))

    event = Event.objects.get()
    assert days(event) == ["2026-01-05", "2026-01-19"]
    assert event.exceptions.filter(is_cancelled=True).count() == 2


def test_a_date_that_is_left_out_at_another_time_leaves_out_nothing(take):
    take(repeating("EXDATE;TZID=Europe/Berlin:20260112T110000"))

    assert len(days(Event.objects.get())) == 4


def test_extra_dates_are_single_events(take, calendar):
    (line,) = take(
        repeating(
            "RDATE;TZID=Europe/Berlin:20260113T150000,20260112T100000,20260114T150000",
            "RDATE;VALUE=PERIOD:20260115T080000Z/PT2H",
            "EXDATE;TZID=Europe/Berlin:20260114T150000",
        )
    )

    assert line.notes == ["Its extra dates are single events."]
    assert [
        f"{each.start:%m-%d %H}-{each.end:%H}"
        for each in calendar.events.filter(recurrence__isnull=True).order_by("start")
    ] == [
        "01-13 15-16",
        "01-15 08-10",
    ]
    assert len(everything(calendar)) == 6


# Single occurrences


def override(*lines: str, of: str = "20260112T100000", start: str = "20260113T120000", **options) -> str:
    return vevent(
        f"RECURRENCE-ID;TZID=Europe/Berlin:{of}",
        "DURATION:PT1H",
        *lines,
        start=f";TZID=Europe/Berlin:{start}",
        **options,
    )


def test_a_changed_occurrence_is_taken_as_one(take):
    series, changed = take(repeating("SUMMARY:Stand-up"), override("SUMMARY:Moved"))

    event = Event.objects.get()
    assert starts(event)[:2] == ["2026-01-05T10:00", "2026-01-13T12:00"]
    assert event.exceptions.get().changes["subject"] == "Moved"
    assert (series.status, changed.status, changed.event_id) == (TAKEN, TAKEN, event.pk)


def test_a_cancelled_occurrence_is_taken_as_one(take):
    take(repeating(), override("STATUS:CANCELLED"))

    assert days(Event.objects.get()) == ["2026-01-05", "2026-01-19", "2026-01-26"]


def test_one_that_was_moved_beyond_its_neighbour_is_a_single_event(take, calendar):
    _, moved = take(repeating(), override("SUMMARY:Late", start="20260120T100000"))

    assert moved.notes == ["It was moved onto or beyond its neighbour: it leaves its series and is a single event."]
    assert everything(calendar) == [f"2026-01-{each}T10:00" for each in ("05", "19", "20", "26")]


def test_a_change_of_what_is_no_occurrence_is_a_single_event(take, calendar):
    _, other = take(repeating(), override(of="20260114T100000"))

    assert other.notes == ["Its series has no such occurrence: it is a single event."]
    assert calendar.events.count() == 2


def test_a_change_of_a_series_that_is_here_is_taken_without_the_series(take):
    take(repeating())

    (line,) = take(override("SUMMARY:Moved"))

    assert line.status is CHANGED
    assert starts(Event.objects.get())[1] == "2026-01-13T12:00"


def test_a_change_of_a_single_event_among_those_that_stand_for_a_rule(take, calendar):
    rule = repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000")

    take(rule, override("SUMMARY:Moved", of="20260331T100000", start="20260401T100000"))

    assert [each[5:10] for each in everything(calendar)] == ["01-31", "04-01", "05-31"]
    again = take(rule, override("SUMMARY:Moved", of="20260331T100000", start="20260401T100000"))
    assert [each.status for each in again] == [UNCHANGED, UNCHANGED]


def test_a_change_of_all_that_follow_is_refused(take):
    (line,) = take(vevent("RECURRENCE-ID;RANGE=THISANDFUTURE:20260112T100000Z"))

    assert line.notes[-1] == "It changes an occurrence and all that follow, which is not taken."


def test_what_is_refused_takes_its_occurrences_along(take, calendar):
    lines = take(repeating(rule="FREQ=SECONDLY"), override())

    assert [each.status for each in lines] == [REFUSED, REFUSED]
    assert lines[1].notes == ["Its series is refused."]
    assert not calendar.events.exists()


# Again


@pytest.mark.parametrize(
    "parts",
    [
        [vevent("SUMMARY:One", "DURATION:PT1H")],
        [vevent("SUMMARY:No UID", uid="")],
        [vevent("SUMMARY:Long UID", uid="x" * 400)],
        [vevent(start=";TZID=W. Europe Standard Time:20260105T100000")],
        [
            repeating("EXDATE;TZID=Europe/Berlin:20260112T100000", "ATTENDEE:mailto:a@example.com"),
            override(of="20260119T100000", start="20260119T120000"),
        ],
        [repeating(), override("STATUS:CANCELLED")],
        [repeating(), override(start="20260120T100000")],
        [repeating(), override(of="20260114T100000")],
        [repeating("RDATE;TZID=Europe/Berlin:20260113T150000", rule="FREQ=MONTHLY;BYDAY=1MO,3MO")],
        [repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31")],
        [repeating(rule="FREQ=WEEKLY;BYDAY=WE;COUNT=3")],
    ],
)  # fmt: skip
def test_the_same_file_again_changes_nothing(take, calendar, parts):
    assert {each.status for each in take(*parts)} == {TAKEN}
    before = everything_in(calendar)

    again = take(*parts)

    assert {each.status for each in again} == {UNCHANGED}
    assert everything_in(calendar) == before


def everything_in(calendar: Calendar) -> list:
    tables = (Event, EventException)
    rows = [list(table.objects.order_by("pk").values()) for table in tables]
    return [*rows, Calendar.objects.get(pk=calendar.pk).revision]


def test_what_has_changed_in_the_file_changes_here(take):
    take(
        repeating("SUMMARY:Old", "EXDATE;TZID=Europe/Berlin:20260112T100000"),
        override(of="20260119T100000", start="20260120T100000"),
    )

    (line,) = take(repeating("SUMMARY:New"))

    event = Event.objects.get()
    assert (line.status, event.subject) == (CHANGED, "New")
    assert days(event) == ["2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26"]


def test_a_series_that_becomes_a_single_event_does(take):
    take(repeating())

    take(vevent())

    assert Event.objects.get().recurrence is None


def test_single_events_that_the_file_has_no_more_are_gone(take, calendar):
    take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", start=";TZID=Europe/Berlin:20260131T100000"))

    (line,) = take(repeating(rule="FREQ=MONTHLY;BYMONTHDAY=31;COUNT=2", start=";TZID=Europe/Berlin:20260131T100000"))

    assert (line.status, line.notes[-1]) == (CHANGED, "1 single event of it is gone.")
    assert calendar.events.count() == 2


def test_the_same_uid_in_another_calendar_is_another_event(take, calendar, owner):
    take(vevent())
    other = Calendar.objects.create(owner=owner, name="Other")

    import_calendar(other, file_of(vevent()), NOW)

    assert Event.objects.count() == 2


def test_a_uid_twice_in_a_file_is_taken_once(take):
    first, second = take(vevent("SUMMARY:One"), vevent("SUMMARY:Two"))

    assert (first.status, second.status) == (TAKEN, REFUSED)
    assert second.notes == ["Its UID is that of the event in line 3."]


def test_a_dry_run_tells_the_same_and_writes_nothing(take, calendar):
    parts = [repeating(), override(), vevent(uid="two"), vevent(start=":x", uid="three")]
    take(vevent(uid="two"))
    before = everything_in(calendar)

    dry = take(*parts, dry_run=True)
    assert everything_in(calendar) == before

    wet = take(*parts)
    assert [(each.status, each.notes) for each in dry] == [(each.status, each.notes) for each in wet]


def test_what_is_private_to_the_owner_is_not_changed_by_others(take, make_user):
    take(vevent("SUMMARY:Doctor", "CLASS:PRIVATE"), vevent("SUMMARY:Open", uid="two"))

    lines = take(vevent("SUMMARY:Mine"), vevent("SUMMARY:Mine", uid="two"), viewer=make_user("bob"))

    assert [each.status for each in lines] == [REFUSED, CHANGED]
    assert Event.objects.get(uid="one@example.com").subject == "Doctor"


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((repeating(), override("SUMMARY:Mine")), id="changed"),
        pytest.param((override("SUMMARY:Mine"),), id="changed alone"),
        pytest.param((override("STATUS:CANCELLED"),), id="cancelled"),
        pytest.param((repeating("EXDATE;TZID=Europe/Berlin:20260112T100000"),), id="left out"),
        pytest.param((repeating(),), id="restored"),
    ],
)
def test_an_occurrence_that_is_private_alone_is_not_changed_by_others(take, make_user, parts):
    take(repeating(), override("SUMMARY:Doctor", "CLASS:PRIVATE"))

    take(*parts, viewer=make_user("bob"))

    kept = Event.objects.get().exceptions.get()
    assert (kept.is_cancelled, kept.changes["subject"]) == (False, "Doctor")


# What is not taken


def test_each_component_is_told_of_with_its_line(take):
    lines = take(
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
def test_what_is_wrong_is_refused_with_the_reason(take, lines, options, reason):
    (line,) = take(vevent(*lines, **options))

    assert (line.status, line.event_id) == (REFUSED, None)
    assert line.notes[-1].startswith(reason)
    assert not EventException.objects.filter(is_cancelled=False).exists()


def test_a_component_without_an_end_leaves_the_others_as_they_are(take):
    lines = take("BEGIN:VEVENT\r\nUID:open\r\nDTSTART:20260105T100000Z", vevent(), "BEGIN:VEVENT\r\nUID:last")

    assert [each.status for each in lines] == [REFUSED, TAKEN, REFUSED]
    assert lines[0].notes == ["It cannot be read: BEGIN:VEVENT has no END."]


def test_a_file_that_cancels_is_not_taken(take):
    (line,) = take(vevent(), head="METHOD:CANCEL")

    assert line.notes == ["It is cancelled."]


@pytest.mark.parametrize(
    "content, code",
    [
        (b"", "not_icalendar"),
        (b"BEGIN:VCARD\r\nEND:VCARD", "not_icalendar"),
        (b"<html></html>", "not_icalendar"),
        ("BEGIN:VCALENDAR\r\nX-A:é\r\nEND:VCALENDAR".encode("latin-1"), "not_utf8"),
        (file_of().encode("utf-16"), "not_utf8"),
        (b"x" * 1_048_577, "too_large"),
        ("é" * 600_000, "too_large"),
        ("BEGIN:VCALENDAR\n" + "BEGIN:X\nEND:X\n" * 6_000, "too_many"),
        ("BEGIN:VCALENDAR\n" + "X:1\n" * 60_000, "too_many"),
        ("BEGIN:VCALENDAR\n" + "".join(f"BEGIN:A{n}\n" for n in range(60)), "too_deep"),
    ],
)
def test_what_is_no_calendar_is_refused_whole(calendar, content, code):
    with pytest.raises(CalendarError) as refused:
        import_calendar(calendar, content, NOW)

    assert (refused.value.path, refused.value.code) == ("file", code)


def test_a_byte_order_mark_and_other_ends_of_lines_do_not_matter(calendar):
    text = file_of(vevent("SUMMARY:One"))

    for content in (b"\xef\xbb\xbf" + text.encode(), text.replace("\r\n", "\n"), text.replace("\r\n", "\r")):
        report = import_calendar(calendar, content, NOW, dry_run=True)

        assert [each.summary for each in report.lines] == ["One"]


def test_characters_that_cannot_be_kept_are_left_out(taken):
    assert taken("SUMMARY:a\x00b\x07c")[0].subject == "abc"


def test_no_text_of_one_property_becomes_another(taken):
    event, _ = taken(r"SUMMARY:a\nATTENDEE:mailto:eve@example.com")

    assert (event.subject, event.attendees) == ("a ATTENDEE:mailto:eve@example.com", [])


def test_a_file_makes_only_so_many_changes(calendar, monkeypatch):
    monkeypatch.setattr(importing, "MOST_CHANGES", 3)

    report = import_calendar(calendar, file_of(*(vevent(uid=str(n)) for n in range(5))), NOW)

    assert [each.status for each in report.lines] == [TAKEN] * 3 + [REFUSED] * 2


@given(st.text(alphabet='BEGINDVCALRTS:;=,\\"\r\n \t0129TZé-', max_size=400))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_noise_is_at_most_refused(calendar, noise):
    text = f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20260105T100000Z\r\n{noise}\r\nEND:VEVENT\r\nEND:VCALENDAR"
    for content in (noise, text):
        with suppress(CalendarError):
            import_calendar(calendar, content, NOW, dry_run=True)


# There and back


@given(
    pattern=PATTERNS,
    range=RANGES,
    start=STARTS,
    length=LENGTHS,
    zone=st.sampled_from(ZONES),
    is_all_day=st.booleans(),
    touched=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=4),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_feed_of_ours_is_taken_as_what_it_was_made_of(
    calendar, owner, pattern, range, start, length, zone, is_all_day, touched
):
    Event.objects.all().delete()
    copy, _ = Calendar.objects.get_or_create(owner=owner, name="Copy")
    if is_all_day:
        start, length = start.replace(hour=0, minute=0), timedelta(days=max(1, length.days))
    document = {"pattern": pattern, "range": {**range, "startDate": start.date().isoformat()}}
    ends = {"start": editing.WallTime(start, zone), "end": editing.WallTime(start + length, zone)}
    said = {"subject": "One", "is_all_day": is_all_day, "recurrence": document, **ends}
    event, _ = editing.create(calendar, said, NOW)
    days = [each.day for each in event.series.occurrences(utc("2025-11-01T00:00Z"), utc("2026-12-01T00:00Z"))][:31]
    for number, what in touched:
        if number < len(days) and not event.exceptions.filter(original_day=days[number]).exists():
            touch(event, days[number], what)

    report = import_calendar(copy, ics.calendar("One", "UTC", ics.events([calendar], owner, NOW)), NOW)

    assert {each.status for each in report.lines} == {TAKEN}
    assert ours(copy) == ours(calendar)
    assert copy.events.get().is_series
