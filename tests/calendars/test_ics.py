"""Calendars as iCalendar files: other programs find the same occurrences."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calendars import editing, expansion
from calendars.editing import WallTime
from calendars.ics import exporting, timezones
from calendars.models import Calendar, Event
from recurrence.wire import graph
from tests.calendars.conftest import day, recurrence, times, wall_time
from tests.conftest import NOW, utc

WINDOW = utc("2025-11-01T00:02Z"), utc("2026-12-01T00:02Z")  # no event in these tests starts or ends at these instants


@pytest.fixture
def export_file(calendar):
    """Return a function that exports the owner's calendar as `viewer` sees it."""

    def make(viewer=None, now: datetime = NOW) -> icalendar.Calendar:
        parts = exporting.render_events([calendar], viewer or calendar.owner, now)
        return icalendar.Calendar.from_ical(exporting.render_calendar("Work", "Europe/Berlin", parts))

    return make


@pytest.fixture
def export_component(export_file):
    """Return a function that returns the only component of the exported file."""

    def find(**options) -> icalendar.Event:
        (component,) = export_file(**options).walk("VEVENT")
        return component

    return find


def occurrences_in_calendar(calendar: Calendar, window=WINDOW) -> list[tuple]:
    events = Event.objects.filter(calendar=calendar)
    found = expansion.occurrences(events, *window, UTC, viewer=calendar.owner)
    return sorted((*map(str, each.days or (each.start, each.end)), each.details.subject) for each in found)


def occurrences_in_file(file: icalendar.Calendar, window=WINDOW) -> list[tuple]:
    found = recurring_ical_events.of(file).between(*window)
    return sorted((*map(str, times_in_utc(each)), str(each.get("SUMMARY", ""))) for each in found)


def times_in_utc(component) -> tuple:
    start, end = component.start, component.end
    if isinstance(start, datetime):
        return start.astimezone(UTC), max(start.astimezone(UTC), end.astimezone(UTC))
    return start, end


def test_file_has_its_producer_and_a_refresh_interval(export_file):
    file = export_file()

    assert {name: str(file[name]) for name in ("VERSION", "PRODID", "X-WR-CALNAME", "X-WR-TIMEZONE")} == {
        "VERSION": "2.0",
        "PRODID": "-//Quando//Quando//EN",
        "X-WR-CALNAME": "Work",
        "X-WR-TIMEZONE": "Europe/Berlin",
    }
    assert file["REFRESH-INTERVAL"].dt == timedelta(hours=1)
    assert file["REFRESH-INTERVAL"].params["VALUE"] == "DURATION"


def test_all_properties_of_an_event_are_exported(make_event, export_component):
    event = make_event(
        subject="Budget, part 1; draft",
        body="First line\nsecond \\ line",
        locations=[{"displayName": "Room 4, north"}],
        categories=["Red, dark", "Work"],
        show_as="oof",
        sensitivity="confidential",
        importance="high",
        is_reminder_on=True,
        reminder_minutes=90,
    )

    exported = export_component()

    assert (exported.uid, exported["SUMMARY"], exported["DESCRIPTION"]) == (event.uid, event.subject, event.body)
    assert (exported["LOCATION"], exported["CATEGORIES"].cats) == ("Room 4, north", ["Red, dark", "Work"])
    assert (exported["CLASS"], exported["PRIORITY"], exported["TRANSP"]) == ("CONFIDENTIAL", 1, "OPAQUE")
    assert exported["X-MICROSOFT-CDO-BUSYSTATUS"] == "OOF"
    assert (exported.DTSTAMP, exported["SEQUENCE"]) == (event.updated_at, 0)
    (alarm,) = exported.walk("VALARM")
    assert (alarm["ACTION"], alarm["TRIGGER"].dt) == ("DISPLAY", -timedelta(minutes=90))


@pytest.mark.parametrize(
    "show_as, transparency, state, status",
    [
        ("free", "TRANSPARENT", "FREE", None),
        ("tentative", "OPAQUE", "TENTATIVE", "TENTATIVE"),
        ("busy", "OPAQUE", "BUSY", None),
        ("workingElsewhere", "OPAQUE", "WORKINGELSEWHERE", None),
        ("unknown", "OPAQUE", None, None),
    ],
)
def test_busy_status_is_exported(make_event, export_component, show_as, transparency, state, status):
    make_event(show_as=show_as)

    exported = export_component()

    assert (exported["TRANSP"], exported.get("X-MICROSOFT-CDO-BUSYSTATUS"), exported.get("STATUS")) == (
        transparency,
        state,
        status,
    )


@pytest.mark.parametrize("subject", ["C:\\New\\nothing", "a\\,b;c", "ü" * 100, "😀" * 60, '"quoted": yes', "tab\there"])
def test_subject_is_unchanged_after_export(make_event, export_component, subject):
    make_event(subject=subject)

    assert export_component()["SUMMARY"] == subject


@pytest.mark.parametrize("ending", ["\r\n", "\r", "\u2028", "\x85", "\n"])
def test_line_endings_and_control_characters_are_escaped_or_removed(calendar, make_event, ending):
    make_event(subject=f"a{ending}ATTENDEE:mailto:eve@example.com\x07", uid=f"one{ending}SUMMARY:two")

    file = exporting.render_calendar(
        f"Work{ending}X-BAD:1", "UTC", exporting.render_events([calendar], calendar.owner, NOW)
    ).decode()

    assert not {"ATTENDEE", "X-BAD", "SUMMARY:two"} & {line.partition(":")[0] for line in file.splitlines()}
    assert "\x07" not in file


def test_lines_are_folded_at_75_octets(calendar, make_event):
    make_event(subject="ü" * 250)

    file = exporting.render_calendar("Work", "UTC", exporting.render_events([calendar], calendar.owner, NOW))

    assert max(map(len, file.split(b"\r\n"))) <= 75


def test_html_body_is_exported_as_html_and_as_plain_text(make_event, export_component):
    make_event(body="<p>Read <b>this</b></p>", body_type="html")

    exported = export_component()

    assert (exported["DESCRIPTION"], exported["X-ALT-DESC"]) == ("Read this", "<p>Read <b>this</b></p>")
    assert exported["X-ALT-DESC"].params["FMTTYPE"] == "text/html"


def test_export_for_others_shows_only_the_times_of_private_events(make_event, make_user, export_component):
    make_event(subject="Doctor", body="knee", sensitivity="private", show_as="oof", locations=[{"displayName": "Spa"}])

    exported = export_component(viewer=make_user("bob"))

    assert (exported["SUMMARY"], exported["CLASS"], exported.get("DESCRIPTION"), exported.get("LOCATION")) == (
        "Private",
        "PRIVATE",
        None,
        None,
    )
    assert exported.start.isoformat() == "2026-01-05T10:00:00+01:00"


def test_export_for_others_hides_a_private_occurrence_of_a_public_series(weekly, make_user, export_file):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Doctor", "sensitivity": "private"}, NOW)

    exported = export_file(viewer=make_user("bob")).walk("VEVENT")

    assert [each["SUMMARY"] for each in exported] == ["Stand-up", "Private"]


def test_times_are_exported_in_their_zone_and_all_day_events_as_dates(make_event, export_file):
    make_event(subject="a")
    make_event(subject="b", **times("2026-01-05T09:00", zone="UTC"))
    make_event(subject="c", **times("2026-01-05T00:00", "2026-01-07T00:00"), is_all_day=True)
    make_event(subject="d", **times("2026-01-05T09:00", "2026-01-05T09:00"))  # a length of zero

    file = export_file().to_ical().decode().replace("\r\n", "\n")

    for lines in (
        "DTSTART;TZID=Europe/Berlin:20260105T100000\nDTEND;TZID=Europe/Berlin:20260105T110000",
        "DTSTART:20260105T090000Z\nDTEND:20260105T100000Z",
        "DTSTART;VALUE=DATE:20260105\nDTEND;VALUE=DATE:20260107",
    ):
        assert lines in file
    assert file.count("DTEND") == 3


def test_series_in_utc_is_exported_with_a_zone_without_clock_changes(make_event, export_component):
    make_event(recurrence=recurrence(), **times("2026-01-05T23:30", "2026-01-06T00:30", "UTC"))

    assert export_component()["DTSTART"].params["TZID"] == "Etc/GMT"


def test_cancelled_occurrences_are_excluded_and_changed_ones_have_a_recurrence_id(weekly, export_file):
    editing.cancel_occurrence(weekly, day("2026-01-12"), NOW)
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Moved", **times("2026-01-20T12:00")}, NOW)

    series, changed = export_file().walk("VEVENT")

    assert series["EXDATE"].to_ical() == b"20260112T100000"
    assert changed["RECURRENCE-ID"].to_ical() == b"20260119T100000"
    assert (changed["SUMMARY"], changed["DTSTART"].to_ical()) == ("Moved", b"20260120T120000")
    assert (series["SEQUENCE"], changed["SEQUENCE"]) == (2, 2)
    assert series.uid == changed.uid == weekly.uid


def test_export_of_unchanged_events_is_identical(calendar, weekly, make_event):
    make_event(**times("2026-01-05T09:00", zone="America/New_York"))

    first, second = (
        b"".join(exporting.render_events([calendar], calendar.owner, now)) for now in (NOW, NOW + timedelta(days=7))
    )

    assert first == second


def test_same_uid_in_two_calendars_is_exported_as_two_uids(calendar, owner, make_event):
    other = Calendar.objects.create(owner=owner, name="Other")
    for each in (calendar, other):
        editing.create(each, times("2026-01-05T10:00"), NOW, uid="one@example.com")

    file = icalendar.Calendar.from_ical(
        exporting.render_calendar("Both", "UTC", exporting.render_events([calendar, other], owner, NOW))
    )

    assert len({each.uid for each in file.walk("VEVENT")}) == 2


def test_export_takes_two_queries(calendar, owner, make_event, weekly, django_assert_num_queries):
    make_event(recurrence=recurrence("daily"))
    editing.cancel_occurrence(weekly, day("2026-01-12"), NOW)

    with django_assert_num_queries(2):
        list(exporting.render_events([calendar], owner, NOW))


# Occurrences that a rule cannot express


def test_occurrence_across_a_clock_change_is_exported_with_its_own_end(make_event, export_file):
    """By RFC 5545, each occurrence would last eight hours, as the first."""
    make_event(recurrence=recurrence("daily"), **times("2026-01-05T22:00", "2026-01-06T06:00"))

    nights = [each for each in export_file().walk("VEVENT") if "RECURRENCE-ID" in each]

    assert [f"{each['DTSTART'].dt:%m-%d} {each['DTEND'].dt:%H:%M}" for each in nights[:2]] == [
        "03-28 06:00",
        "10-24 06:00",
    ]


def test_series_that_starts_at_a_clock_change_is_exported_with_the_usual_length(make_event, export_file):
    daily = recurrence("daily", "2026-03-28")
    make_event(recurrence=daily, **times("2026-03-28T22:00", "2026-03-29T06:00"))

    series, first, *_ = export_file().walk("VEVENT")

    assert (series["DURATION"].dt, "DTEND" in series) == (timedelta(hours=8), False)
    assert first.end.astimezone(UTC) - first.start.astimezone(UTC) == timedelta(hours=7)


def test_series_without_a_rule_is_exported_as_single_occurrences(weekly, export_file, monkeypatch):
    """All patterns of Graph have a rule; this test removes it."""
    editing.cancel_occurrence(weekly, day("2026-01-12"), NOW)
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Moved", **times("2026-01-20T12:00")}, NOW)
    monkeypatch.setattr(exporting, "rrule_of", lambda series, *, is_all_day: None)

    exported = export_file().walk("VEVENT")

    assert [f"{each.start:%m-%d %H}" for each in exported[:3]] == ["01-05 10", "01-20 12", "01-26 10"]
    assert len({each.uid for each in exported}) == len(exported) == 9
    assert not any("RRULE" in each or "RECURRENCE-ID" in each for each in exported)


def test_single_occurrences_are_exported_from_one_year_ago_to_two_years_ahead():
    assert exporting.window_around(utc("2026-07-15T12:00Z")) == (utc("2025-07-01T00:00Z"), utc("2028-07-01T00:00Z"))
    assert exporting.window_around(utc("2026-07-31T23:59Z")) == exporting.window_around(utc("2026-07-01T00:00Z"))


# Other programs

ZONES = ["Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]
WEEKDAYS = st.lists(st.sampled_from(graph.WEEKDAYS), min_size=1, max_size=7, unique=True)
PATTERNS = st.one_of(
    st.fixed_dictionaries({"type": st.just("daily"), "interval": st.integers(1, 40)}),
    st.fixed_dictionaries(
        {
            "type": st.just("weekly"),
            "interval": st.integers(1, 5),
            "daysOfWeek": WEEKDAYS,
            "firstDayOfWeek": st.sampled_from(graph.WEEKDAYS),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("absoluteMonthly"), "interval": st.integers(1, 14), "dayOfMonth": st.integers(1, 31)}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("relativeMonthly"),
            "interval": st.integers(1, 14),
            "daysOfWeek": WEEKDAYS,
            "index": st.sampled_from(list(graph.INDEXES)),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("absoluteYearly"),
            "interval": st.integers(1, 2),
            "dayOfMonth": st.integers(1, 31),
            "month": st.integers(1, 12),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("relativeYearly"),
            "interval": st.integers(1, 2),
            "daysOfWeek": WEEKDAYS,
            "index": st.sampled_from(list(graph.INDEXES)),
            "month": st.integers(1, 12),
        }
    ),
)
STARTS = st.integers(0, 730 * 24 * 12).map(lambda n: wall_time("2024-06-01") + timedelta(minutes=5 * n))
RANGES = st.one_of(
    st.just({"type": "noEnd"}),
    st.builds(lambda count: {"type": "numbered", "numberOfOccurrences": count}, st.integers(1, 60)),
)
LENGTHS = st.sampled_from([0, 30, 60, 90, 480, 1440, 3000]).map(lambda minutes: timedelta(minutes=minutes))


@given(
    pattern=PATTERNS,
    range=RANGES,
    start=STARTS,
    length=LENGTHS,
    zone=st.sampled_from(ZONES),
    is_all_day=st.booleans(),
    changed_occurrences=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=4),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_other_program_finds_the_same_occurrences(
    calendar, export_file, pattern, range, start, length, zone, is_all_day, changed_occurrences
):
    calendar.events.all().delete()
    if is_all_day:
        start, length = start.replace(hour=0, minute=0), timedelta(days=max(1, length.days))
    document = {"pattern": pattern, "range": {**range, "startDate": start.date().isoformat()}}
    ends = {"start": WallTime(start, zone), "end": WallTime(start + length, zone)}
    event, _ = editing.create(
        calendar, {"subject": "One", "is_all_day": is_all_day, "recurrence": document, **ends}, NOW
    )
    days = [each.day for each in event.series.occurrences(*WINDOW)][:31]
    for number, change in changed_occurrences:
        if number < len(days) and not event.exceptions.filter(original_day=days[number]).exists():
            change_occurrence(event, days[number], change)

    assert occurrences_in_file(export_file()) == occurrences_in_calendar(calendar)


def change_occurrence(event: Event, original_day: date, change: int) -> None:
    first = datetime.combine(original_day, event.start.time())
    if change == 0:
        editing.cancel_occurrence(event, original_day, NOW)
    elif change == 1 or event.is_all_day:
        editing.change_occurrence(event, original_day, {"subject": "Two"}, NOW)
    else:
        first = first.replace(hour=(first.hour + change) % 24, minute=17)
        changes = {"start": WallTime(first, event.zone), "end": WallTime(first + timedelta(minutes=45), event.zone)}
        editing.change_occurrence(event, original_day, changes, NOW)


# Zones


@pytest.mark.parametrize("name", [*ZONES[:4], "Europe/Dublin", "Africa/Casablanca", "Asia/Gaza", "America/Santiago"])
def test_exported_time_zone_has_the_offsets_of_the_real_one(name):
    exported = icalendar.Timezone.from_ical(timezones.render_vtimezone(name, 2019, 2040)).to_tz(lookup_tzid=False)
    real, instant = ZoneInfo(name), utc("2019-02-01T00:00Z")

    while instant < utc("2041-01-01T00:00Z"):
        tomorrow = instant + timedelta(days=1)
        if (
            instant.astimezone(real).utcoffset() != tomorrow.astimezone(real).utcoffset()
        ):  # only days with a clock change can differ
            for each in (instant + timedelta(minutes=30 * n) for n in range(48)):
                if not is_repeated(real, each):
                    assert each.astimezone(exported).utcoffset() == each.astimezone(real).utcoffset(), each
        instant = tomorrow


def is_repeated(zone, instant) -> bool:
    """Return True if the wall time is repeated: dateutil may choose the first or the second instant."""
    local = instant.astimezone(zone)
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def test_regular_clock_changes_are_exported_as_rules_and_others_as_dates():
    berlin, casablanca = (
        timezones.render_vtimezone(name, 2025, 2040).decode() for name in ("Europe/Berlin", "Africa/Casablanca")
    )

    assert "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3" in berlin
    assert "RDATE" not in berlin
    assert "RRULE" not in casablanca
    assert "RDATE" in casablanca


def test_summer_time_in_dublin_is_daylight_saving_time():
    """In the time-zone database, winter time in Dublin is negative daylight saving."""
    zone = icalendar.Timezone.from_ical(timezones.render_vtimezone("Europe/Dublin", 2025, 2040))

    assert {str(each["TZNAME"]) for each in zone.daylight} == {"IST"}
    assert {str(each["TZNAME"]) for each in zone.standard} == {"GMT"}


def test_clock_changes_are_exported_at_the_wall_time_before_the_change():
    zone = icalendar.Timezone.from_ical(timezones.render_vtimezone("America/New_York", 2025, 2040))

    assert [each.DTSTART for each in zone.daylight] == [wall_time("2025-03-09T02:00")]
    assert wall_time("2025-11-02T02:00") in [each.DTSTART for each in zone.standard]


def test_each_time_zone_of_a_file_is_exported(make_event, export_file):
    for zone in ("Europe/Berlin", "America/New_York", "UTC"):
        make_event(**times("2026-01-05T10:00", zone=zone))

    assert {str(each["TZID"]) for each in export_file().walk("VTIMEZONE")} == {"Europe/Berlin", "America/New_York"}
