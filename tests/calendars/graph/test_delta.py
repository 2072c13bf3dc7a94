"""Rounds of /calendarView/delta."""

from datetime import timedelta

import pytest
from django.utils import timezone

from calendars.graph import delta
from calendars.models import Share, SyncState
from tests.calendars.graph.conftest import YEAR, at, error_of, event, recurrence

GONE = (410, "syncStateNotFound")
JANUARY = {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2026-02-01T00:00:00Z"}


@pytest.fixture
def master(graph, calendar) -> str:
    """Ten Mondays, of which January has four."""
    return graph.create(event(recurrence=recurrence()))["id"]


def first(graph, path: str = "/me/calendarView/delta", size: int = 100, **window) -> tuple[list[dict], str]:
    return round_of(graph, path, size, **(window or JANUARY))


def round_of(graph, link: str, size: int = 100, **query) -> tuple[list[dict], str]:
    """All that a round tells, and where the next one begins."""
    prefer = {"Prefer": f"odata.maxpagesize={size}"}
    page = graph.read(link, prefer, **query)
    told = page["value"]
    while "@odata.nextLink" in page:
        assert "@odata.deltaLink" not in page
        assert len(page["value"]) == size
        page = graph.read(page["@odata.nextLink"], prefer)
        told += page["value"]
    return told, page["@odata.deltaLink"]


def ids(told: list[dict]) -> list[str]:
    return [f"-{each['id'][-4:]}" if "@removed" in each else each["id"][-4:] for each in told]


@pytest.mark.parametrize("spelling", ["delta", "delta()"])
@pytest.mark.parametrize("place", ["/me", "/me/calendar", "/me/calendars/{}", "/users/ada"])
def test_the_first_round_tells_what_the_window_holds(graph, calendar, master, place, spelling):
    path = f"{place.format(calendar.pk)}/calendarView/{spelling}"

    told, link = first(graph, path)

    assert told == graph.values("/me/calendarView", _top=100, **JANUARY)
    assert link.startswith(f"http://testserver/v1.0{path}?$deltatoken=")
    assert round_of(graph, link) == ([], link)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_a_round_comes_in_pages(graph, master, size):
    told, link = first(graph, size=size)

    assert ids(told) == ["0105", "0112", "0119", "0126"]
    for day in ("0105", "0112", "0119"):
        graph.change(f"{master}_2026{day}", {"subject": "Other"})
    assert ids(round_of(graph, link, size)[0]) == ["0105", "0112", "0119"]


def test_later_rounds_tell_what_has_changed(graph, master):
    told, link = first(graph)

    graph.change(f"{master}_20260112", {"subject": "Other"})
    graph.delete(f"/me/events/{master}_20260119")
    single = graph.create(event("2026-01-20T10:00:00", "2026-01-20T11:00:00"))["id"]
    graph.create(event("2026-03-20T10:00:00", "2026-03-20T11:00:00"))  # outside

    told, link = round_of(graph, link)
    assert [each["id"] for each in told] == [f"{master}_20260112", single, f"{master}_20260119"]
    assert (told[0]["subject"], told[0]["type"]) == ("Other", "exception")
    assert told[2] == {"id": f"{master}_20260119", "@removed": {"reason": "deleted"}}
    assert round_of(graph, link)[0] == []

    graph.change(single, {"start": at("2026-03-20T10:00:00"), "end": at("2026-03-20T11:00:00")})
    assert round_of(graph, link)[0] == [{"id": single, "@removed": {"reason": "deleted"}}]


def test_a_change_of_the_series_tells_all_its_occurrences(graph, master):
    _, link = first(graph)

    graph.change(master, {"subject": "New"})
    told, link = round_of(graph, link)
    assert [(each["id"][-4:], each["subject"]) for each in told] == [
        (d, "New") for d in ("0105", "0112", "0119", "0126")
    ]

    graph.delete(f"/me/events/{master}")
    assert ids(round_of(graph, link)[0]) == ["-0105", "-0112", "-0119", "-0126"]


def test_an_occurrence_that_is_changed_back_is_told_again(graph, master):
    _, link = first(graph)
    graph.change(f"{master}_20260112", {"subject": "Other"})
    _, link = round_of(graph, link)

    graph.change(f"{master}_20260112", {"subject": "Stand-up"})

    told, link = round_of(graph, link)
    assert [(each["id"][-4:], each["type"]) for each in told] == [("0112", "occurrence")]
    graph.change(f"{master}_20260112", {"subject": "Again"})
    assert [each["subject"] for each in round_of(graph, link)[0]] == ["Again"]


def test_a_page_can_be_read_twice(graph, master):
    page = graph.read("/me/calendarView/delta", {"Prefer": "odata.maxpagesize=2"}, **JANUARY)

    second = graph.read(page["@odata.nextLink"])
    assert graph.read(page["@odata.nextLink"]) == second

    link = second["@odata.deltaLink"]
    graph.change(f"{master}_20260112", {"subject": "Other"})
    assert ids(round_of(graph, link)[0]) == ids(round_of(graph, link)[0]) == ["0112"]


def test_what_changes_during_a_round_is_told_by_the_next(graph, master):
    page = graph.read("/me/calendarView/delta", {"Prefer": "odata.maxpagesize=1"}, **JANUARY)
    graph.change(f"{master}_20260105", {"subject": "Told already"})
    graph.change(f"{master}_20260126", {"subject": "Not told yet"})
    graph.delete(f"/me/events/{master}_20260119")

    told, link = round_of(graph, page["@odata.nextLink"])

    assert ids(told) == ["0112", "-0119", "0126"]
    assert ids(round_of(graph, link)[0]) == ["0105", "0126", "-0119"]


def test_answers_follow_what_is_preferred(graph, master):
    prefer = {"Prefer": 'odata.maxpagesize=1, outlook.timezone="Tokyo Standard Time"'}

    response = graph.get("/me/calendarView/delta()", prefer, **JANUARY)

    assert response.json()["value"][0]["start"] == at("2026-01-05T19:00:00.0000000", "Tokyo Standard Time")
    assert response["Preference-Applied"] == 'outlook.timezone="Tokyo Standard Time", odata.maxpagesize=1'


@pytest.mark.parametrize("names", [("startDateTime", "endDateTime"), ("startdatetime", "ENDDATETIME")])
def test_the_window_comes_in_any_case(graph, master, names):
    window = dict(zip(names, JANUARY.values(), strict=True))

    assert len(first(graph, **window)[0]) == 4


def test_tokens_come_in_any_case(graph, master):
    _, link = first(graph)

    assert graph.read(link.replace("$deltatoken", "$DeltaToken"))["value"] == []


@pytest.mark.parametrize("window", [{}, {"startDateTime": "2026-01-01"}, {**JANUARY, "endDateTime": "soon"}])
def test_the_first_round_takes_a_window(graph, calendar, window):
    assert error_of(graph.get("/me/calendarView/delta", **window)) == (400, "ErrorInvalidParameter")


@pytest.mark.parametrize("option", ["select", "filter", "orderby", "expand", "search", "top", "skip", "count", "foo"])
def test_no_option_of_lists_is_supported(graph, master, option):
    response = graph.get("/me/calendarView/delta", **JANUARY, **{f"_{option}": "subject"})

    assert error_of(response) == (400, "BadRequest")


# Tokens


@pytest.mark.parametrize("text", ["", "x", "latest", "a" * 43, "a" * 43 + ".1", "a" * 5000, "%00", "a" * 43 + ".x"])
@pytest.mark.parametrize("name", ["deltatoken", "skiptoken"])
def test_an_unknown_token_means_to_begin_again(graph, master, name, text):
    response = graph.get(f"/me/calendarView/delta?${name}={text}")

    expected = (400, "BadRequest") if text == "%00" else GONE
    assert error_of(response) == expected


def test_both_tokens_at_once_are_refused(graph, master):
    _, link = first(graph)

    assert error_of(graph.get(f"{link}&$skiptoken=x")) == (400, "BadRequest")


def test_an_expired_token_means_to_begin_again(graph, master):
    _, link = first(graph)
    SyncState.objects.update(created_at=timezone.now() - delta.KEEP - timedelta(minutes=1))

    assert error_of(graph.get(link)) == GONE


def test_a_token_is_of_one_person_and_one_calendar(graph, sharing, calendar, other_calendar, master):
    reader = sharing()
    _, link = first(graph)

    theirs = link.replace("/me/", f"/users/ada/calendars/{calendar.pk}/")
    assert graph.get(theirs).status_code == 200
    assert error_of(reader.get(theirs)) == GONE
    assert error_of(graph.get(link.replace("/me/", f"/me/calendars/{other_calendar.pk}/"))) == GONE


def test_a_calendar_that_is_not_shared_any_more_is_not_found(sharing, master):
    reader = sharing()
    _, link = first(reader, "/users/ada/calendarView/delta")

    Share.objects.all().delete()

    assert error_of(reader.get(link)) == (404, "ErrorItemNotFound")


def test_a_token_in_use_does_not_expire(graph, master):
    _, link = first(graph)
    SyncState.objects.update(created_at=timezone.now() - delta.FRESH - timedelta(minutes=1))

    told, later = round_of(graph, link)

    assert told == []
    assert later != link
    assert round_of(graph, later) == ([], later)


def test_the_oldest_rounds_of_a_person_make_room(graph, master, monkeypatch):
    monkeypatch.setattr(delta, "STATES", 3)
    links = [first(graph)[1] for _ in range(5)]

    assert [graph.get(link).status_code for link in links] == [410, 410, 200, 200, 200]
    assert SyncState.objects.count() == 3


def test_a_window_with_too_much_in_it_is_refused(graph, calendar, monkeypatch):
    monkeypatch.setattr(delta, "MOST", 300)
    graph.create(event(recurrence=recurrence({"type": "daily", "interval": 1}, type="noEnd")))

    assert error_of(graph.get("/me/calendarView/delta", **YEAR)) == (400, "ErrorInvalidParameter")
    assert not SyncState.objects.exists()


def test_others_see_of_something_private_only_that_it_changed(graph, sharing, calendar):
    private = graph.create(event(subject="Secret", sensitivity="private"))["id"]
    reader = sharing()
    told, link = first(reader, "/users/ada/calendarView/delta")
    assert [each["subject"] for each in told] == [""]

    graph.change(private, {"subject": "Another secret"})

    assert [each["subject"] for each in round_of(reader, link)[0]] == [""]
