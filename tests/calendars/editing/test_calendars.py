"""Creating, changing and deleting calendars."""

import pytest

from calendars import editing
from calendars.errors import CalendarError, ChangedSince
from calendars.models import Calendar, Event
from tests.calendars.editing.stored import LATER
from tests.conftest import NOW


def test_new_calendar_gets_the_hue_that_its_owner_uses_least(owner, calendar):
    hues = [editing.create_calendar(owner, str(n), None, NOW).hue for n in range(8)]

    assert hues == ["moss", "clay", "iris", "straw", "sea", "plum", "brick", "sky"]


def test_calendar_name_and_hue_can_be_changed(calendar):
    changed = editing.change_calendar(calendar, {"name": " Home ", "hue": "plum"}, LATER)

    assert (changed.name, changed.hue, changed.revision, changed.updated_at) == ("Home", "plum", 2, LATER)


def test_change_with_an_outdated_calendar_revision_is_refused(calendar):
    editing.change_calendar(calendar, {"name": "Home"}, LATER)

    with pytest.raises(ChangedSince):
        editing.change_calendar(calendar, {"name": "Work"}, LATER, revision=calendar.revision)


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"name": 5}, "name"),
        ({"hue": "pink"}, "hue"),
        ({"hue": ["sky"]}, "hue"),
    ],
)
def test_invalid_calendar_name_or_hue_is_refused(calendar, changes, path):
    with pytest.raises(CalendarError) as refused:
        editing.change_calendar(calendar, changes, LATER)

    assert refused.value.path == path


def test_default_calendar_cannot_be_deleted(calendar):
    with pytest.raises(CalendarError) as refused:
        editing.delete_calendar(calendar, LATER)

    assert refused.value.code == "is_default"


def test_deleting_a_calendar_deletes_its_events(owner, calendar, make_event):
    other = editing.create_calendar(owner, "Other", None, NOW)
    make_event(other)

    editing.delete_calendar(other, LATER)

    assert list(Calendar.objects.all()) == [calendar]
    assert not Event.objects.exists()


def test_number_of_calendars_is_limited(owner, calendar, monkeypatch):
    monkeypatch.setattr(editing, "CALENDARS", 1)

    with pytest.raises(CalendarError) as refused:
        editing.create_calendar(owner, "Other", None, NOW)

    assert refused.value.code == "too_many"
