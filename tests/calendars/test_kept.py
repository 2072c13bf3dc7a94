"""What pages keep in memory is bounded, and is never another than what the database has by now."""

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
from tests.calendars.test_expansion import EDITS, READERS, edit, new_events
from tests.conftest import NOW, utc


def test_windows_that_were_not_asked_for_longest_are_given_up():
    kept = OccurrenceCache(6)
    kept.put(("a",), [1, 2])
    kept.put(("b",), [3])
    assert kept.get(("a",)) == [1, 2]

    kept.put(("c",), [4])

    assert (kept.get(("a",)), kept.get(("b",)), kept.get(("c",))) == ([1, 2], None, [4])


def test_what_is_kept_again_is_counted_once():
    kept = OccurrenceCache(3)
    for _ in range(5):
        kept.put(("a",), [1, 2])

    assert kept.get(("a",)) == [1, 2]


def test_what_is_larger_than_all_there_is_room_for_is_not_kept():
    kept = OccurrenceCache(3)
    kept.put(("a",), [1, 2, 3])

    assert kept.get(("a",)) is None


def told(found) -> list[tuple]:
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


def kept_by(viewer, start, end, zone, cancelled=False) -> list:
    versions = {layer.cache_key: layer.version for layer in layers_of(viewer, Filter())[0]}
    found = occurrences_in(versions, viewer, start, end, zone, cancelled=cancelled)
    return memory.merge_sorted(found.values())


@pytest.fixture
def reader(make_user, calendar):
    user = make_user("grace")
    sharing.share(calendar, user, Role.READER)
    return user


SENSITIVITIES = st.sampled_from(["normal", "private"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(new_events(), SENSITIVITIES, st.lists(EDITS, max_size=5), st.sampled_from(READERS), st.booleans())
def test_what_is_kept_is_what_the_database_has(calendar, reader, changes, sensitivity, edits, zone_name, cancelled):
    Event.objects.all().delete()
    memory.CACHE = OccurrenceCache(MOST)
    zone = zone_of(zone_name, "zone")
    said = {"subject": "Doctor", "locations": [{"displayName": "Ward 9"}], "sensitivity": sensitivity}
    at = first = editing.create(calendar, changes | said, NOW)[0]
    editing.create(calendar, {"subject": "Other", **times("2026-01-05T10:00"), "recurrence": recurrence()}, NOW)
    window = first.covers_from - timedelta(20), first.covers_from + timedelta(300), zone

    for each in [None, *edits]:
        at = edit(at, *each) if at and each else at
        for viewer in (calendar.owner, reader):
            now = expansion.occurrences(Event.objects.all(), *window, viewer=viewer, cancelled=cancelled)
            assert told(kept_by(viewer, *window, cancelled=cancelled)) == told(now)


def test_a_change_by_another_process_is_seen_at_once(monkeypatch, owner, weekly):
    def look(memory_of_process: OccurrenceCache) -> list[str]:
        monkeypatch.setattr(memory, "CACHE", memory_of_process)
        found = kept_by(owner, utc("2026-01-01T00:00Z"), utc("2026-01-20T00:00Z"), zone_of("Europe/Berlin", "zone"))
        return [f"{each.details.subject} {each.event.calendar.hue} {each.start:%d}" for each in found]

    here, there = OccurrenceCache(MOST), OccurrenceCache(MOST)
    assert look(here) == look(there) == ["Stand-up sky 05", "Stand-up sky 12", "Stand-up sky 19"]

    editing.change(weekly, {"subject": "Stand-down"}, NOW)
    assert look(there) == look(here) == ["Stand-down sky 05", "Stand-down sky 12", "Stand-down sky 19"]
    editing.change_occurrence(weekly, weekly.start.date(), times("2026-01-06T10:00"), NOW)
    assert look(here) == look(there) == ["Stand-down sky 06", "Stand-down sky 12", "Stand-down sky 19"]
    editing.change_calendar(weekly.calendar, {"hue": "plum"}, NOW)
    assert look(there) == look(here) == ["Stand-down plum 06", "Stand-down plum 12", "Stand-down plum 19"]
    editing.delete(Event.objects.get(), NOW)
    assert look(here) == look(there) == []


def test_only_what_has_changed_is_laid_out_again(monkeypatch, owner, make_event):
    for number in range(3):
        make_event(subject=str(number), recurrence=recurrence())
    window = utc("2026-01-01T00:00Z"), utc("2026-01-20T00:00Z"), zone_of("Europe/Berlin", "zone")
    kept_by(owner, *window)
    laid_out = []
    monkeypatch.setattr(memory, "expand", lambda event, *rest: laid_out.append(event) or expansion.expand(event, *rest))

    editing.change(Event.objects.get(subject="1"), {"subject": "New"}, NOW)
    found = kept_by(owner, *window)

    assert [each.subject for each in laid_out] == ["New"]
    assert {each.details.subject for each in found} == {"0", "New", "2"}
