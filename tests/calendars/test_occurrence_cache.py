"""The cache of expanded occurrences is bounded, and always agrees with the database."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Role
from calendars import editing, expansion, sharing
from calendars.models import Event
from calendars.pages import occurrence_cache as memory
from calendars.pages.filters import Filter
from calendars.pages.occurrence_cache import MOST, OccurrenceCache, occurrences_in
from calendars.pages.page_data import layers_of
from recurrence.wire.zone_names import zone_of
from tests.calendars.conftest import recurrence, times
from tests.calendars.test_expansion import EDITS, VIEWER_ZONES, edit, new_events
from tests.conftest import NOW, utc


def test_cache_drops_the_least_recently_used_windows():
    cache = OccurrenceCache(6)
    cache.put(("a",), [1, 2])
    cache.put(("b",), [3])
    assert cache.get(("a",)) == [1, 2]

    cache.put(("c",), [4])

    assert (cache.get(("a",)), cache.get(("b",)), cache.get(("c",))) == ([1, 2], None, [4])


def test_cache_counts_a_replaced_window_once():
    cache = OccurrenceCache(3)
    for _ in range(5):
        cache.put(("a",), [1, 2])

    assert cache.get(("a",)) == [1, 2]


def test_cache_does_not_store_a_window_above_its_size():
    cache = OccurrenceCache(3)
    cache.put(("a",), [1, 2, 3])

    assert cache.get(("a",)) is None


def as_tuples(found) -> list[tuple]:
    return [
        (
            str(each.id),
            each.start,
            each.end,
            each.days,
            each.is_cancelled,
            each.event.calendar.hue,
            each.original_start,
            each.details.subject,
            each.details.location_name,
            each.details.show_as,
            each.details.is_private,
        )
        for each in found
    ]


def load_through_cache(viewer, start, end, zone, cancelled=False) -> list:
    versions = {layer.cache_key: layer.version for layer in layers_of(viewer, Filter())[0]}
    found = occurrences_in(versions, viewer, start, end, zone, cancelled=cancelled)
    return memory.merge_sorted(found.by_calendar.values())


@pytest.fixture
def reader(make_user, calendar):
    user = make_user("grace")
    sharing.share(calendar, user, Role.READER)
    return user


SENSITIVITIES = st.sampled_from(["normal", "private"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(new_events(), SENSITIVITIES, st.lists(EDITS, max_size=5), st.sampled_from(VIEWER_ZONES), st.booleans())
def test_cached_occurrences_equal_those_of_the_database(
    calendar, reader, changes, sensitivity, edits, zone_name, cancelled
):
    Event.objects.all().delete()
    memory.CACHE = OccurrenceCache(MOST)
    zone = zone_of(zone_name, "zone")
    values = {"subject": "Doctor", "locations": [{"displayName": "Ward 9"}], "sensitivity": sensitivity}
    at = first = editing.create(calendar, changes | values, NOW)[0]
    editing.create(calendar, {"subject": "Other", **times("2026-01-05T10:00"), "recurrence": recurrence()}, NOW)
    window = first.covers_from - timedelta(20), first.covers_from + timedelta(300), zone

    for each in [None, *edits]:
        at = edit(at, *each) if at and each else at
        for viewer in (calendar.owner, reader):
            uncached = expansion.occurrences(Event.objects.all(), *window, viewer=viewer, cancelled=cancelled)
            assert as_tuples(load_through_cache(viewer, *window, cancelled=cancelled)) == as_tuples(uncached)


def test_change_by_another_process_is_seen_immediately(monkeypatch, owner, weekly):
    def load_in_process(process_cache: OccurrenceCache) -> list[str]:
        monkeypatch.setattr(memory, "CACHE", process_cache)
        found = load_through_cache(
            owner, utc("2026-01-01T00:00Z"), utc("2026-01-20T00:00Z"), zone_of("Europe/Berlin", "zone")
        )
        return [f"{each.details.subject} {each.event.calendar.hue} {each.start:%d}" for each in found]

    first_cache, second_cache = OccurrenceCache(MOST), OccurrenceCache(MOST)
    assert (
        load_in_process(first_cache)
        == load_in_process(second_cache)
        == ["Stand-up sky 05", "Stand-up sky 12", "Stand-up sky 19"]
    )

    editing.change(weekly, {"subject": "Stand-down"}, NOW)
    assert (
        load_in_process(second_cache)
        == load_in_process(first_cache)
        == ["Stand-down sky 05", "Stand-down sky 12", "Stand-down sky 19"]
    )
    editing.change_occurrence(weekly, weekly.start.date(), times("2026-01-06T10:00"), NOW)
    assert (
        load_in_process(first_cache)
        == load_in_process(second_cache)
        == ["Stand-down sky 06", "Stand-down sky 12", "Stand-down sky 19"]
    )
    editing.change_calendar(weekly.calendar, {"hue": "plum"}, NOW)
    assert (
        load_in_process(second_cache)
        == load_in_process(first_cache)
        == ["Stand-down plum 06", "Stand-down plum 12", "Stand-down plum 19"]
    )
    editing.delete(Event.objects.get(), NOW)
    assert load_in_process(first_cache) == load_in_process(second_cache) == []


def test_only_changed_events_are_expanded_again(monkeypatch, owner, make_event):
    for number in range(3):
        make_event(subject=str(number), recurrence=recurrence())
    window = utc("2026-01-01T00:00Z"), utc("2026-01-20T00:00Z"), zone_of("Europe/Berlin", "zone")
    load_through_cache(owner, *window)
    expanded = []
    monkeypatch.setattr(memory, "expand", lambda event, *rest: expanded.append(event) or expansion.expand(event, *rest))

    editing.change(Event.objects.get(subject="1"), {"subject": "New"}, NOW)
    found = load_through_cache(owner, *window)

    assert [each.subject for each in expanded] == ["New"]
    assert {each.details.subject for each in found} == {"0", "New", "2"}
