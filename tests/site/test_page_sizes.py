"""The size of a page of a list: it ends early when its entries are large, and few large rows are loaded at once."""

import orjson
import pytest

from api import pagination
from api.viewsets import ApiViewSet
from calendars import editing
from calendars.api.events import Events
from calendars.models import Calendar
from maintenance import lifecycle, resources
from maintenance.lifecycle import Announcement
from maintenance.models import EventType
from tests.calendars.conftest import times
from tests.conftest import NOW

COUNT = 7
LISTS = ("events", "jobs", "triggers", "runs", "resources", "notices", "calendars", "collections")


@pytest.fixture
def entries(api, owner, subscription, make_job, make_trigger):
    """COUNT entries or more in each of LISTS."""
    calendar = Calendar.objects.default_of(owner)
    names = [f"{number}{'r' * 150}" for number in range(COUNT)]
    machines = [resources.register(subscription, name, "g", {"a": "b" * 200}, NOW)[0] for name in names]
    for number in range(COUNT):
        editing.create(calendar, {"body": "x" * 1_000, **times(f"2026-01-1{number}T09:00")}, NOW)
        editing.create_calendar(owner, f"calendar {number}", None, NOW)
        announcement = Announcement(EventType.REBOOT, machines, description="d" * 500)
        lifecycle.announce(subscription, announcement, "ada", NOW)
        job = make_job(f"job{number}")
        make_trigger(job, data_map={"a": "b" * 500})
        assert api.post(f"/api/jobs/{job.pk}/run").status_code == 201
        response = api.post("/api/collections", {"name": f"collection{number}"})
        assert response.status_code == 201, response.content


def ids_of(page: dict) -> list:
    return [each.get("id") or each["eventId"] for each in page["value"]]


@pytest.mark.parametrize("name", LISTS)
def test_page_ends_early_when_its_entries_are_large(api, entries, monkeypatch, name):
    whole = api.get(f"/api/{name}").json()
    sizes = [len(orjson.dumps(entry)) for entry in whole["value"]]
    monkeypatch.setattr(pagination, "PAGE_BYTES", 2 * max(sizes))

    address, pages = f"/api/{name}?limit=1000", []
    while address:
        page = api.get(address).json()
        pages.append(ids_of(page))
        assert len(orjson.dumps(page["value"])) <= 2 * max(sizes) + 100
        address = page["nextLink"]

    assert len(pages) > 1
    assert [id for page in pages for id in page] == ids_of(whole)
    assert len(ids_of(whole)) >= COUNT


def test_entry_that_is_larger_than_a_page_is_a_page_of_its_own(api, entries, monkeypatch):
    monkeypatch.setattr(pagination, "PAGE_BYTES", 1)

    page = api.get("/api/events").json()

    assert len(page["value"]) == 1
    assert page["nextCursor"]


def test_large_rows_are_loaded_a_few_at_once(api, entries, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(Events, "rows_at_once", 3)
    whole = api.get("/api/events").json()

    # the token, and three times: events, whether their calendars can be changed
    with django_assert_num_queries(1 + 3 * 2):
        assert api.get("/api/events").json() == whole
    assert len(whole["value"]) == COUNT

    monkeypatch.setattr(pagination, "PAGE_BYTES", 1)
    with django_assert_num_queries(1 + 2):
        assert len(api.get("/api/events").json()["value"]) == 1


@pytest.mark.parametrize("name", LISTS)
def test_list_is_the_same_whatever_is_loaded_at_once(api, entries, monkeypatch, name):
    address = f"/api/{name}?limit=5"
    expected = api.get(address).json()
    for view in (ApiViewSet, *subclasses(ApiViewSet)):
        monkeypatch.setattr(view, "rows_at_once", 2)

    assert api.get(address).json() == expected
    assert len(expected["value"]) == 5


def subclasses(view: type) -> list[type]:
    return [each for direct in view.__subclasses__() for each in (direct, *subclasses(direct))]
