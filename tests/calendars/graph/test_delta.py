"""Delta queries: rounds of /calendarView/delta."""

from datetime import timedelta

import pytest
from django.utils import timezone

from calendars.graph import delta
from calendars.models import Share, SyncState
from tests.calendars.graph.conftest import YEAR, at, event, read_error, recurrence

GONE = (410, "syncStateNotFound")
JANUARY = {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2026-02-01T00:00:00Z"}


@pytest.fixture
def master(graph, calendar) -> str:
    """A series on ten Mondays, four of them in January."""
    return graph.create(event(recurrence=recurrence()))["id"]


def read_first_round(graph, path: str = "/me/calendarView/delta", size: int = 100, **window) -> tuple[list[dict], str]:
    return read_round(graph, path, size, **(window or JANUARY))


def read_round(graph, link: str, size: int = 100, **query) -> tuple[list[dict], str]:
    """Return all values of a round and the link to the next round."""
    prefer = {"Prefer": f"odata.maxpagesize={size}"}
    page = graph.read(link, prefer, **query)
    values = page["value"]
    while "@odata.nextLink" in page:
        assert "@odata.deltaLink" not in page
        assert len(page["value"]) == size
        page = graph.read(page["@odata.nextLink"], prefer)
        values += page["value"]
    return values, page["@odata.deltaLink"]


def ids(values: list[dict]) -> list[str]:
    return [f"-{each['id'][-4:]}" if "@removed" in each else each["id"][-4:] for each in values]


@pytest.mark.parametrize("form", ["delta", "delta()"])
@pytest.mark.parametrize("place", ["/me", "/me/calendar", "/me/calendars/{}", "/users/ada"])
def test_first_delta_round_returns_all_events_of_the_window(graph, calendar, master, place, form):
    path = f"{place.format(calendar.pk)}/calendarView/{form}"

    values, link = read_first_round(graph, path)

    assert values == graph.values("/me/calendarView", _top=100, **JANUARY)
    assert link.startswith(f"http://testserver/v1.0{path}?$deltatoken=")
    assert read_round(graph, link) == ([], link)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_delta_round_has_pages(graph, master, size):
    values, link = read_first_round(graph, size=size)

    assert ids(values) == ["0105", "0112", "0119", "0126"]
    for day in ("0105", "0112", "0119"):
        graph.change(f"{master}_2026{day}", {"subject": "Other"})
    assert ids(read_round(graph, link, size)[0]) == ["0105", "0112", "0119"]


def test_later_delta_rounds_return_changes(graph, master):
    values, link = read_first_round(graph)

    graph.change(f"{master}_20260112", {"subject": "Other"})
    graph.delete(f"/me/events/{master}_20260119")
    single = graph.create(event("2026-01-20T10:00:00", "2026-01-20T11:00:00"))["id"]
    graph.create(event("2026-03-20T10:00:00", "2026-03-20T11:00:00"))  # outside

    values, link = read_round(graph, link)
    assert [each["id"] for each in values] == [f"{master}_20260112", single, f"{master}_20260119"]
    assert (values[0]["subject"], values[0]["type"]) == ("Other", "exception")
    assert values[2] == {"id": f"{master}_20260119", "@removed": {"reason": "deleted"}}
    assert read_round(graph, link)[0] == []

    graph.change(single, {"start": at("2026-03-20T10:00:00"), "end": at("2026-03-20T11:00:00")})
    assert read_round(graph, link)[0] == [{"id": single, "@removed": {"reason": "deleted"}}]


def test_delta_returns_all_occurrences_of_a_changed_series(graph, master):
    _, link = read_first_round(graph)

    graph.change(master, {"subject": "New"})
    values, link = read_round(graph, link)
    assert [(each["id"][-4:], each["subject"]) for each in values] == [
        (d, "New") for d in ("0105", "0112", "0119", "0126")
    ]

    graph.delete(f"/me/events/{master}")
    assert ids(read_round(graph, link)[0]) == ["-0105", "-0112", "-0119", "-0126"]


def test_delta_returns_an_occurrence_that_is_changed_back(graph, master):
    _, link = read_first_round(graph)
    graph.change(f"{master}_20260112", {"subject": "Other"})
    _, link = read_round(graph, link)

    graph.change(f"{master}_20260112", {"subject": "Stand-up"})

    values, link = read_round(graph, link)
    assert [(each["id"][-4:], each["type"]) for each in values] == [("0112", "occurrence")]
    graph.change(f"{master}_20260112", {"subject": "Again"})
    assert [each["subject"] for each in read_round(graph, link)[0]] == ["Again"]


def test_delta_page_can_be_read_twice(graph, master):
    page = graph.read("/me/calendarView/delta", {"Prefer": "odata.maxpagesize=2"}, **JANUARY)

    second = graph.read(page["@odata.nextLink"])
    assert graph.read(page["@odata.nextLink"]) == second

    link = second["@odata.deltaLink"]
    graph.change(f"{master}_20260112", {"subject": "Other"})
    assert ids(read_round(graph, link)[0]) == ids(read_round(graph, link)[0]) == ["0112"]


def test_change_during_a_delta_round_is_in_the_next_round(graph, master):
    page = graph.read("/me/calendarView/delta", {"Prefer": "odata.maxpagesize=1"}, **JANUARY)
    graph.change(f"{master}_20260105", {"subject": "Told already"})
    graph.change(f"{master}_20260126", {"subject": "Not told yet"})
    graph.delete(f"/me/events/{master}_20260119")

    values, link = read_round(graph, page["@odata.nextLink"])

    assert ids(values) == ["0112", "-0119", "0126"]
    assert ids(read_round(graph, link)[0]) == ["0105", "0126", "-0119"]


def test_delta_follows_the_preferences_of_the_request(graph, master):
    prefer = {"Prefer": 'odata.maxpagesize=1, outlook.timezone="Tokyo Standard Time"'}

    response = graph.get("/me/calendarView/delta()", prefer, **JANUARY)

    assert response.json()["value"][0]["start"] == at("2026-01-05T19:00:00.0000000", "Tokyo Standard Time")
    assert response["Preference-Applied"] == 'outlook.timezone="Tokyo Standard Time", odata.maxpagesize=1'


@pytest.mark.parametrize("names", [("startDateTime", "endDateTime"), ("startdatetime", "ENDDATETIME")])
def test_delta_window_parameters_ignore_case(graph, master, names):
    window = dict(zip(names, JANUARY.values(), strict=True))

    assert len(read_first_round(graph, **window)[0]) == 4


def test_delta_token_parameters_ignore_case(graph, master):
    _, link = read_first_round(graph)

    assert graph.read(link.replace("$deltatoken", "$DeltaToken"))["value"] == []


@pytest.mark.parametrize("window", [{}, {"startDateTime": "2026-01-01"}, {**JANUARY, "endDateTime": "soon"}])
def test_first_delta_round_requires_a_valid_window(graph, calendar, window):
    assert read_error(graph.get("/me/calendarView/delta", **window)) == (400, "ErrorInvalidParameter")


@pytest.mark.parametrize("option", ["select", "filter", "orderby", "expand", "search", "top", "skip", "count", "foo"])
def test_delta_refuses_list_options(graph, master, option):
    response = graph.get("/me/calendarView/delta", **JANUARY, **{f"_{option}": "subject"})

    assert read_error(response) == (400, "BadRequest")


# Tokens


@pytest.mark.parametrize("text", ["", "x", "latest", "a" * 43, "a" * 43 + ".1", "a" * 5000, "%00", "a" * 43 + ".x"])
@pytest.mark.parametrize("name", ["deltatoken", "skiptoken"])
def test_unknown_delta_token_is_gone(graph, master, name, text):
    response = graph.get(f"/me/calendarView/delta?${name}={text}")

    expected = (400, "BadRequest") if text == "%00" else GONE
    assert read_error(response) == expected


def test_delta_token_together_with_a_skip_token_is_refused(graph, master):
    _, link = read_first_round(graph)

    assert read_error(graph.get(f"{link}&$skiptoken=x")) == (400, "BadRequest")


def test_expired_delta_token_is_gone(graph, master):
    _, link = read_first_round(graph)
    SyncState.objects.update(created_at=timezone.now() - delta.KEEP - timedelta(minutes=1))

    assert read_error(graph.get(link)) == GONE


def test_delta_token_is_valid_for_one_user_and_one_calendar(
    graph, make_sharing_client, calendar, other_calendar, master
):
    reader = make_sharing_client()
    _, link = read_first_round(graph)

    link_by_user_name = link.replace("/me/", f"/users/ada/calendars/{calendar.pk}/")
    assert graph.get(link_by_user_name).status_code == 200
    assert read_error(reader.get(link_by_user_name)) == GONE
    assert read_error(graph.get(link.replace("/me/", f"/me/calendars/{other_calendar.pk}/"))) == GONE


def test_delta_of_a_calendar_that_is_no_longer_shared_is_not_found(make_sharing_client, master):
    reader = make_sharing_client()
    _, link = read_first_round(reader, "/users/ada/calendarView/delta")

    Share.objects.all().delete()

    assert read_error(reader.get(link)) == (404, "ErrorItemNotFound")


def test_delta_token_in_use_does_not_expire(graph, master):
    _, link = read_first_round(graph)
    SyncState.objects.update(created_at=timezone.now() - delta.FRESH - timedelta(minutes=1))

    values, later = read_round(graph, link)

    assert values == []
    assert later != link
    assert read_round(graph, later) == ([], later)


def test_oldest_delta_states_of_a_user_are_deleted(graph, master, monkeypatch):
    monkeypatch.setattr(delta, "STATES", 3)
    links = [read_first_round(graph)[1] for _ in range(5)]

    assert [graph.get(link).status_code for link in links] == [410, 410, 200, 200, 200]
    assert SyncState.objects.count() == 3


def test_delta_window_with_too_many_events_is_refused(graph, calendar, monkeypatch):
    monkeypatch.setattr(delta, "MOST", 300)
    graph.create(event(recurrence=recurrence({"type": "daily", "interval": 1}, type="noEnd")))

    assert read_error(graph.get("/me/calendarView/delta", **YEAR)) == (400, "ErrorInvalidParameter")
    assert not SyncState.objects.exists()


def test_delta_shows_others_no_content_of_a_private_event(graph, make_sharing_client, calendar):
    private = graph.create(event(subject="Secret", sensitivity="private"))["id"]
    reader = make_sharing_client()
    values, link = read_first_round(reader, "/users/ada/calendarView/delta")
    assert [each["subject"] for each in values] == [""]

    graph.change(private, {"subject": "Another secret"})

    assert [each["subject"] for each in read_round(reader, link)[0]] == [""]
