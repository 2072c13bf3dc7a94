"""The text of an HTML body is stored on writing; no API and no page converts it on reading."""

from datetime import timedelta

import icalendar
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from django.urls import reverse

from calendars import editing, feeds
from calendars.ics.importing import import_calendar
from calendars.models import Event, EventException
from tests.calendars.conftest import day, recurrence
from tests.calendars.importing.files import build_file, vevent
from tests.conftest import NOW
from tests.growth import assert_linear

pytestmark = pytest.mark.database

LATER = NOW + timedelta(hours=1)
HTML = {"body": "<p>Hi</p>", "body_type": "html"}
SECOND = day("2026-01-12")
AS_TEXT = {"HTTP_PREFER": 'outlook.body-content-type="text"'}
TEN_YEARS = {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2027-01-01T00:00:00Z", "$top": 30}


@pytest.fixture
def read_texts(api, browser, calendar, owner):
    """Return a function that reads the texts of a series and of its first occurrences on a surface."""
    feed = reverse("calendar:feed", args=[feeds.make(owner, "Phone", NOW, calendar=calendar)[1]])

    def graph(path: str, **query) -> dict:
        return api.get(f"/v1.0/me/{path}", query, **AS_TEXT).json()

    def in_window() -> list[dict]:
        return graph("calendarView", **TEN_YEARS)["value"]

    def in_feed() -> list[str]:
        found = icalendar.Calendar.from_ical(Client().get(feed).content).walk("VEVENT")
        return [str(each["DESCRIPTION"]) for each in found]

    def on_page(path: str):
        return browser.get(f"/calendar/{path}").context

    surfaces = {
        "event": lambda id: [graph(f"events/{id}")["body"]["content"]],
        "preview": lambda id: [graph(f"events/{id}")["bodyPreview"]],
        "list": lambda id: [each["body"]["content"] for each in graph("events")["value"]],
        "instances": lambda id: [
            each["body"]["content"] for each in graph(f"events/{id}/instances", **TEN_YEARS)["value"]
        ],
        "window": lambda id: [each["body"]["content"] for each in in_window()],
        "previews": lambda id: [each["bodyPreview"] for each in in_window()],
        "feed": lambda id: in_feed(),
        "popover": lambda id: [on_page(f"items/{id}_20260105")["item"]["notes"]],
        "edit page": lambda id: [on_page(f"events/{id}_20260105/edit")["form"]["notes"].value()],
    }
    return lambda surface, event: surfaces[surface](event.pk.hex)


SURFACES = ("event", "preview", "list", "instances", "window", "previews", "feed", "popover", "edit page")


@pytest.mark.parametrize("surface", SURFACES)
def test_each_surface_reads_the_stored_text(read_texts, make_event, surface):
    event = make_event(recurrence=recurrence("daily", count=30), **HTML)
    Event.objects.update(body_text="stored")

    assert set(read_texts(surface, event)) == {"stored"}


@pytest.mark.parametrize("surface", ["window", "previews", "feed", "popover", "edit page"])
def test_each_surface_reads_the_stored_text_of_an_occurrence(read_texts, make_event, surface):
    event = make_event(recurrence=recurrence(count=1), body="Hello")
    editing.change_occurrence(event, day("2026-01-05"), HTML, LATER)
    exception = EventException.objects.get()
    EventException.objects.update(changes=exception.changes | {"body_text": "stored"})

    assert read_texts(surface, event)[-1] == "stored"


@pytest.mark.parametrize(
    "changes, text",
    [
        ({"body": "<i>You</i>"}, "You"),
        ({"body_type": "text"}, ""),
        ({"body": "You", "body_type": "text"}, ""),
        ({"subject": "You"}, "Hi"),
    ],
)
def test_text_is_updated_with_the_body(make_event, changes, text):
    event = editing.change(make_event(**HTML), changes, LATER)

    event.refresh_from_db()
    assert event.body_text == text


def test_each_api_and_import_write_the_text(api, calendar):
    members = {"start": {"dateTime": "2026-01-05T10:00:00"}, "end": {"dateTime": "2026-01-05T11:00:00"}}
    local = {"startLocal": "2026-01-05T10:00:00", "endLocal": "2026-01-05T11:00:00"}
    api.post("/v1.0/me/events", {**members, "body": {"contentType": "html", "content": "<b>Graph</b>"}}, "json")
    made = api.post("/api/events", {**local, "body": "<b>API</b>", "bodyType": "html"}).json()
    import_calendar(calendar, build_file(vevent("X-ALT-DESC;FMTTYPE=text/html:<b>File</b>")), NOW)

    assert set(Event.objects.values_list("body_text", flat=True)) == {"Graph", "API", "File"}
    api.patch(f"/api/events/{made['id']}", {"bodyType": "text"})
    assert Event.objects.get(pk=made["id"]).details.body_text == ""


def test_body_text_cannot_be_set_directly(make_event):
    assert make_event(body_text="mine", **HTML).body_text == "Hi"
    assert make_event(body_text="mine").body_text == ""


def test_exception_stores_all_members_of_its_body(make_event):
    event = make_event(recurrence=recurrence(count=3), **HTML)
    editing.change_occurrence(event, SECOND, {"body": "<p>You</p>"}, LATER)

    body_changes = {"body": "<p>You</p>", "body_type": "html", "body_text": "You"}
    assert EventException.objects.get().changes == body_changes
    editing.change(event, {"body": "Hello", "body_type": "text"}, LATER)
    assert EventException.objects.get().changes == body_changes
    editing.change_occurrence(event, SECOND, {"subject": "Other"}, LATER)
    assert EventException.objects.get().changes == {**body_changes, "subject": "Other"}
    editing.change_occurrence(event, SECOND, {"body": "Hello", "body_type": "text"}, LATER)
    assert EventException.objects.get().changes == {"subject": "Other"}


@pytest.mark.parametrize("unit", ["a", "<", "&#9", '"', "\\,", "<style>", ";", "^n"])
def test_body_in_a_file_is_imported_in_linear_time(calendar, unit):
    def import_body(body: str) -> None:
        Event.objects.all().delete()
        lines = import_calendar(calendar, build_file(vevent(f"X-ALT-DESC;FMTTYPE=text/html:<{body}")), NOW).lines
        assert Event.objects.count() == len(lines) == 1

    assert_linear(import_body, lambda length: unit * (length // len(unit)), 22_000)


# Bodies stored before the migration


@pytest.fixture
def migrate_back(transactional_db):
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def migrate_to(name: str):
    executor = MigrationExecutor(connection)
    executor.migrate([("calendars", name)])
    return executor.loader.project_state([("calendars", name)]).apps


def test_migration_stores_the_text_of_existing_bodies(migrate_back, make_event):
    long_reference = "&#" + "9" * 5000
    html = [make_event(body=body, body_type="html") for body in ("<p>Hi</p>", "", long_reference) * 70]
    text = make_event(body="<p>Hi</p>")
    series = make_event(recurrence=recurrence(count=5), **HTML)
    for on, changes in ((SECOND, {"subject": "Other"}), (day("2026-01-19"), {"body": "<p>You</p>"})):
        editing.change_occurrence(series, on, changes, LATER)
    before = EventException.objects.get(original_day=day("2026-01-19"))

    apps = migrate_to("0004_body_text")
    stored = apps.get_model("calendars", "EventException").objects
    assert "body_text" not in stored.get(pk=before.pk).changes
    stored.filter(pk=before.pk).update(changes={"body": "<p>You</p>"})
    apps.get_model("calendars", "Event").objects.update(body_text="")
    apps = migrate_to("0005_body_texts")

    texts = dict(apps.get_model("calendars", "Event").objects.values_list("pk", "body_text"))
    assert [texts[event.pk] for event in html] == ["Hi", "", "\ufffd"] * 70
    assert (texts[text.pk], texts[series.pk]) == ("", "Hi")
    changes = apps.get_model("calendars", "EventException").objects.order_by("original_day")
    assert list(changes.values_list("changes", flat=True)) == [{"subject": "Other"}, before.changes]
