"""A calendar has a limited number of events, on every surface that creates or moves one."""

from datetime import date

import pytest

from calendars import editing
from calendars.errors import TooManyEvents
from calendars.ics.importing import import_calendar
from calendars.models import Event
from tests.admin.forms import submitted
from tests.calendars.conftest import recurrence, times
from tests.calendars.event_form.filling import errors
from tests.calendars.graph.conftest import Graph, event, read_error
from tests.calendars.importing.files import REFUSED, TAKEN, UNCHANGED, build_file, override, repeating, vevent
from tests.conftest import NOW

MESSAGE = "a calendar has at most 2 events: delete events, or use another calendar"
MIDDLE = date(2026, 2, 2)


@pytest.fixture
def full(calendar, make_event, monkeypatch):
    """Return a series in a calendar with one event less than the limit, and fill the calendar."""
    monkeypatch.setattr(editing, "EVENTS", 2)
    make_event()
    return make_event(recurrence=recurrence(count=10))


@pytest.fixture
def other(owner):
    return editing.create_calendar(owner, "Other", None, NOW)


def test_event_is_created_up_to_the_limit(calendar, full, other):
    with pytest.raises(TooManyEvents) as refused:
        editing.create(calendar, times("2026-01-05T10:00"), NOW)

    assert (refused.value.message, refused.value.code, refused.value.status) == (MESSAGE, "too_many", 409)
    assert calendar.events.count() == 2
    editing.create(other, times("2026-01-05T10:00"), NOW)
    editing.delete(full, NOW)
    editing.create(calendar, times("2026-01-05T10:00"), NOW)


def test_event_of_an_earlier_call_is_returned_by_a_full_calendar(calendar, monkeypatch):
    made, _ = editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a")
    monkeypatch.setattr(editing, "EVENTS", 1)

    assert editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a") == (made, False)


def test_event_does_not_move_to_a_full_calendar(calendar, full, other):
    event, _ = editing.create(other, times("2026-01-05T10:00"), NOW)

    with pytest.raises(TooManyEvents):
        editing.move(event, calendar, NOW)
    with pytest.raises(TooManyEvents):
        editing.change_and_move(event, {"subject": "Moved"}, calendar, NOW)

    event.refresh_from_db()
    assert (event.calendar, event.subject) == (other, "")
    assert editing.move(full, calendar, NOW) == full


def test_series_of_a_full_calendar_is_not_split_but_can_end_and_change(full):
    with pytest.raises(TooManyEvents):
        editing.change_following(full, MIDDLE, {"subject": "Planning"}, NOW)

    full.refresh_from_db()
    assert full.recurrence["range"]["numberOfOccurrences"] == 10
    editing.change_following(full, full.series.days.start, {"subject": "Planning"}, NOW)
    editing.change_occurrence(full, MIDDLE, {"subject": "Review"}, NOW)
    editing.truncate_series(full, MIDDLE, NOW)
    assert Event.objects.count() == 2


def test_api_refuses_an_event_of_a_full_calendar(api, calendar, full, other):
    meeting = {"startLocal": "2026-01-05T10:00:00", "endLocal": "2026-01-05T11:00:00"}
    single, _ = editing.create(other, times("2026-01-05T10:00"), NOW)
    refused = [
        api.post("/api/events", meeting),
        api.patch(f"/api/events/{single.pk.hex}", {"calendarId": str(calendar.pk)}),
        api.patch(f"/api/occurrences/{full.pk.hex}_20260202/following", {"subject": "Planning"}),
    ]

    for response in refused:
        assert response.status_code == 409, response.content
        error = response.json()["error"]
        assert (error["code"], error["message"]) == ("too_many", MESSAGE)


def test_graph_refuses_an_event_of_a_full_calendar(token, calendar, full):
    graph = Graph(token)

    response = graph.post("/me/events", event())

    assert read_error(response) == (400, "ErrorQuotaExceeded")  # Graph does not use 409
    assert response.json()["error"]["message"] == MESSAGE


def test_import_refuses_what_is_beyond_the_limit(calendar, make_event, monkeypatch):
    make_event()
    monkeypatch.setattr(editing, "EVENTS", 3)
    file = build_file(*(vevent(uid=str(n)) for n in range(4)))

    report = import_calendar(calendar, file, NOW)

    assert [each.status for each in report.lines] == [TAKEN, TAKEN, REFUSED, REFUSED]
    assert report.lines[3].notes == [f"It cannot be taken: {MESSAGE.replace('2', '3')}."]
    again = import_calendar(calendar, file, NOW)
    assert [each.status for each in again.lines] == [UNCHANGED, UNCHANGED, REFUSED, REFUSED]


def test_refused_events_of_an_import_do_not_count_as_changes(calendar, full, monkeypatch):
    monkeypatch.setattr("calendars.ics.importing.MOST_CHANGES", 1)

    report = import_calendar(calendar, build_file(*(vevent(uid=str(n)) for n in range(3))), NOW)

    assert {note for each in report.lines for note in each.notes} == {f"It cannot be taken: {MESSAGE}."}


def test_import_refuses_a_single_occurrence_beyond_the_limit(calendar, monkeypatch):
    """An occurrence that its series does not have is a single event."""
    monkeypatch.setattr(editing, "EVENTS", 1)

    report = import_calendar(calendar, build_file(repeating(), override(of="20260106T100000")), NOW)

    assert [each.status for each in report.lines] == [TAKEN, REFUSED]
    assert calendar.events.count() == 1


def test_page_refuses_an_event_of_a_full_calendar(browser, full):
    address = "/calendar/events/new"
    values = submitted(browser.get(address).content.decode(), "event_form") | {"subject": "Budget"}

    answer = browser.post(address, values)

    assert errors(answer) == {"__all__": [MESSAGE.capitalize()]}
    assert Event.objects.count() == 2
