"""Moving events to another calendar, and deleting them."""

from datetime import date

import pytest

from calendars import editing
from calendars.errors import CalendarError, Gone
from calendars.models import Calendar, Event, EventException
from tests.calendars.conftest import days, times
from tests.calendars.editing.stored import LATER
from tests.conftest import NOW


def test_an_event_moves_to_another_calendar(owner, with_exceptions):
    other = editing.create_calendar(owner, "Other", None, NOW)

    event = editing.move(with_exceptions, other, LATER)

    assert event.calendar == other
    assert Event.objects.get().calendar == other
    assert days(event)[1] == "2026-01-13"
    assert set(Calendar.objects.values_list("updated_at", flat=True)) == {LATER}


def test_event_with_a_private_occurrence_does_not_move_to_another_owner(owner, make_user, with_exceptions):
    editing.change_occurrence(with_exceptions, date(2026, 2, 2), {"sensitivity": "private"}, NOW)
    other_calendar = Calendar.objects.default_of(make_user("bob"))

    with pytest.raises(CalendarError) as refused:
        editing.move(with_exceptions, other_calendar, LATER)

    assert refused.value.path == "calendarId"
    assert Event.objects.get().calendar.owner == owner
    assert editing.move(with_exceptions, editing.create_calendar(owner, "Other", None, NOW), LATER)


def test_moved_event_loses_a_transaction_id_that_is_used_in_the_target_calendar(owner, calendar):
    other = editing.create_calendar(owner, "Other", None, NOW)
    first, _ = editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a")
    editing.create(other, times("2026-01-05T10:00"), NOW, transaction_id="a")

    assert editing.move(first, other, LATER).transaction_id is None


def test_deleting_an_event_deletes_its_exceptions(with_exceptions):
    editing.delete(with_exceptions, LATER)

    assert not Event.objects.exists()
    assert not EventException.objects.exists()


GONE = {
    "change": lambda event: editing.change(event, {"subject": "New"}, LATER),
    "change an occurrence": lambda event: editing.change_occurrence(event, date(2026, 1, 12), {}, LATER),
    "cancel": lambda event: editing.cancel_occurrence(event, date(2026, 1, 12), LATER),
    "restore": lambda event: editing.restore_occurrence(event, date(2026, 1, 12), LATER),
    "change the rest": lambda event: editing.change_following(event, date(2026, 1, 12), {}, LATER),
    "end": lambda event: editing.truncate_series(event, date(2026, 1, 12), LATER),
    "move": lambda event: editing.move(event, event.calendar, LATER),
    "delete": lambda event: editing.delete(event, LATER),
}


@pytest.mark.parametrize("act", GONE.values(), ids=GONE)
def test_deleted_event_raises_gone(weekly, act):
    editing.delete(weekly, LATER)

    with pytest.raises(Gone):
        act(weekly)


@pytest.mark.parametrize("act", [act for name, act in GONE.items() if name != "move"])
def test_moved_event_raises_gone_in_its_old_calendar(owner, with_exceptions, act):
    """The user who loaded the event had permissions only in its old calendar."""
    editing.move(with_exceptions, editing.create_calendar(owner, "Other", None, NOW), LATER)

    with pytest.raises(Gone):
        act(with_exceptions)
