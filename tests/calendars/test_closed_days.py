"""Events that close days in calendars of closed days, and dates from an iCalendar file."""

from datetime import date

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import ApiToken, Membership, Role
from calendars import editing
from calendars.ics import importing
from calendars.models import Calendar, Share
from calendars.tasks import renew_closed_days
from operations.reports import read_report
from tests.calendars.conftest import recurrence, times
from tests.conftest import utc
from triggers.models import ClosedDays, ClosedDaysVersion, Trigger
from triggers.zone_updates import apply_data

ADDRESS = "/api/closed-days"
THURSDAY, FRIDAY, SATURDAY = (utc(f"2026-11-{day}T08:00Z") for day in ("05", "06", "07"))
VADUZ = "Europe/Vaduz"
SCHEDULE = {
    "format": "quartz",
    "expression": "0 0 8 * * ?",
    "closedDays": {"calendar": "offices", "rule": "skip"},
}


@pytest.fixture
def calendar(owner) -> Calendar:
    return Calendar.objects.default_of(owner)


@pytest.fixture
def offices(api, calendar):
    return api.post(ADDRESS, {"name": "offices", "calendars": [{"calendar": str(calendar.pk), "category": "Closed"}]})


def add(calendar: Calendar, start: str, end: str | None = None, **members):
    return editing.create(
        calendar, {"subject": "Move", "categories": ["Closed"], **times(start, end), **members}, timezone.now()
    )[0]


def listed(api, first: str = "2026-11-05", last: str = "2026-11-30") -> dict:
    value = api.get(f"{ADDRESS}/offices/dates?from={first}&to={last}").json()["value"]
    return {each["date"][-2:]: (each["name"], each["source"]) for each in value}


def test_days_with_events_of_the_category_are_closed(api, calendar):
    add(calendar, "2026-11-05T23:00", "2026-11-06T01:00")
    add(calendar, "2026-11-09T09:00", categories=["Other"])
    add(calendar, "2026-11-09T09:00", subject="Stocktaking", recurrence=recurrence("weekly", start="2026-11-09"))
    add(calendar, "2026-11-12T09:00", sensitivity="private", categories=[])

    api.post(ADDRESS, {"name": "offices", "calendars": [{"calendar": str(calendar.pk), "category": "Closed"}]})

    assert listed(api, last="2026-11-20") == {
        **dict.fromkeys(("05", "06"), ("Move", "calendars")),
        **dict.fromkeys(("09", "16"), ("Stocktaking", "calendars")),
    }


def test_private_events_close_days_and_show_no_name(api, calendar):
    add(calendar, "2026-11-05T09:00", subject="Surgery", sensitivity="private")

    api.post(ADDRESS, {"name": "offices", "calendars": [{"calendar": str(calendar.pk)}]})

    assert listed(api) == {"05": (None, "calendars")}
    assert "Surgery" not in str(ClosedDaysVersion.objects.values_list("event_days"))


@pytest.mark.django_db(transaction=True)
def test_changed_events_are_taken_over_and_triggers_follow(api, calendar, offices, make_job):
    job = make_job(now=timezone.now(), schedule={"startTime": "2026-12-01T08:00:00Z"})
    api.post("/api/triggers", {"job": job.pk, "name": "extra", "schedule": SCHEDULE})
    assert Trigger.objects.get(name="extra").next_fire_at == THURSDAY

    event = add(calendar, "2026-11-05T09:00")
    renew_closed_days()
    assert Trigger.objects.get(name="extra").next_fire_at == FRIDAY
    versions = ClosedDaysVersion.objects.count()
    renew_closed_days()
    assert ClosedDaysVersion.objects.count() == versions

    editing.delete(event, timezone.now())
    renew_closed_days()
    assert Trigger.objects.get(name="extra").next_fire_at == THURSDAY
    assert ClosedDays.objects.get().revision == 1


def test_calendar_that_the_caller_does_not_see_is_refused(api, owner, make_user):
    colleague = make_user("bob")
    theirs = Calendar.objects.default_of(colleague)
    body = {"name": "offices", "calendars": [{"calendar": str(theirs.pk)}]}

    response = api.post(ADDRESS, body)
    assert (response.status_code, response.json()["error"]["target"]) == (400, "calendars[0].calendar")

    Share.objects.create(calendar=theirs, user=owner, role=Role.READER)
    assert api.post(ADDRESS, body).status_code == 201


def test_calendar_of_somebody_who_has_left_the_subscription_closes_nothing(calendar, offices, owner):
    add(calendar, "2026-11-05T09:00")
    renew_closed_days()
    assert ClosedDays.objects.get().days.is_closed(date(2026, 11, 5))

    Membership.objects.filter(user=owner).delete()
    add(calendar, "2026-11-06T09:00")
    renew_closed_days()

    assert not ClosedDays.objects.get().days.is_closed(date(2026, 11, 5))


def test_operator_may_change_other_days_beside_a_calendar_of_somebody_else(api_of, calendar, offices, make_user):
    bob = api_of(ApiToken.objects.issue(make_user("bob", Role.OPERATOR), "tests")[1])

    assert bob.patch(f"{ADDRESS}/offices", {"weekend": ["sunday"]}).status_code == 200
    other = [{"calendar": str(calendar.pk)}]
    assert bob.patch(f"{ADDRESS}/offices", {"calendars": other}).status_code == 400


def test_new_time_zone_data_renews_the_days_of_events(api, calendar, offices, make_job, start_with_zones, carry_out):
    apply_data(start_with_zones("2031a"), timezone.now())
    job = make_job(now=timezone.now(), schedule={"startTime": "2026-12-01T08:00:00Z"})
    api.post("/api/triggers", {"job": job.pk, "name": "extra", "schedule": SCHEDULE})
    when = times("2026-11-05T23:30", "2026-11-05T23:45", VADUZ)
    editing.create(calendar, {"subject": "Move", "categories": ["Closed"], **when}, timezone.now())
    assert Trigger.objects.get(name="extra").next_fire_at == THURSDAY

    (operation,) = apply_data(start_with_zones("2031b", {VADUZ: "Asia/Tokyo"}), timezone.now())
    carry_out()

    assert [*listed(api, last="2026-11-10")] == ["05"]
    assert Trigger.objects.get(name="extra").next_fire_at == FRIDAY
    operation.refresh_from_db()
    assert dict(read_report(operation).facts)["Closed days"] == "1 of 1 moved"


# An iCalendar file


def ics(*events: str) -> bytes:
    parts = [f"BEGIN:VEVENT\r\nUID:{number}\r\n{event}\r\nEND:VEVENT" for number, event in enumerate(events)]
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *parts, "END:VCALENDAR", ""]).encode()


FILE = ics(
    "DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20270102\r\nSUMMARY:Company holidays",
    "DTSTART;VALUE=DATE:20261106\r\nRRULE:FREQ=MONTHLY;COUNT=2\r\nSUMMARY:Maintenance",
)


def test_dates_are_taken_from_a_file(api):
    api.post(ADDRESS, {"name": "offices", "dates": [{"date": "2026-11-06", "name": "Maintenance"}]})

    for _ in range(2):  # the second time changes nothing
        response = api.generic("POST", f"{ADDRESS}/offices/import", FILE, "text/calendar")

        assert response.status_code == 200, response.content
        assert response.json()["dates"] == [
            {"date": "2026-11-06", "name": "Maintenance"},
            {"date": "2026-12-06", "name": "Maintenance"},
            {"from": "2026-12-24", "to": "2027-01-01", "name": "Company holidays"},
        ]
        assert response.json()["revision"] == 2
    assert Calendar.objects.filter(name="import").count() == 0


@pytest.mark.django_db(transaction=True)
def test_other_writers_get_their_turn_while_dates_are_taken_from_a_file(api, monkeypatch):
    monkeypatch.setattr(importing, "GROUPS", 2)
    is_in_transaction = []
    monkeypatch.setattr(importing.time, "sleep", lambda _: is_in_transaction.append(connection.in_atomic_block))
    api.post(ADDRESS, {"name": "offices"})
    days = [f"2026-12-0{number}" for number in range(1, 6)]
    file = ics(*(f"DTSTART;VALUE=DATE:{day.replace('-', '')}\r\nSUMMARY:Move {day}" for day in days))

    response = api.generic("POST", f"{ADDRESS}/offices/import", file, "text/calendar")

    assert response.json()["dates"] == [{"date": day, "name": f"Move {day}"} for day in days]
    assert is_in_transaction == [False, False]
    assert not Calendar.objects.filter(name="import").exists()


def test_file_that_is_no_calendar_is_refused(api):
    api.post(ADDRESS, {"name": "offices"})

    response = api.generic("POST", f"{ADDRESS}/offices/import", b"hello", "text/calendar")

    assert response.status_code == 400
    assert ClosedDays.objects.get().revision == 1


def test_reader_cannot_import(api, owner):
    api.post(ADDRESS, {"name": "offices"})
    Membership.objects.filter(user=owner).update(role=Role.READER)

    assert api.generic("POST", f"{ADDRESS}/offices/import", FILE, "text/calendar").status_code == 403
