"""Two users change a calendar at the same time.

Two connections compete.  On SQLite, the second waits for the first; on PostgreSQL, both run at the same time, and
only the lock on the row of the calendar separates them.
"""

import time
from datetime import timedelta
from threading import Event as Signal

import pytest
from django.db import connection

from accounts.models import User
from calendars import editing, locking, sharing
from calendars.errors import CalendarError, ChangedSince, Gone
from calendars.models import Calendar, Event, EventException, Share
from tests.calendars.conftest import day, days, recurrence, times
from tests.conftest import NOW
from tests.triggers.test_races import PAUSE_S, at_once

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(hours=1)
SECOND, THIRD = day("2026-01-12"), day("2026-01-19")


@pytest.fixture
def midway(monkeypatch):
    """A signal that is set when a calendar is locked; the thread that holds the lock then waits."""
    signal, lock_calendars = Signal(), locking.lock_calendars

    def lock_and_wait(*keys):
        locked = lock_calendars(*keys)
        signal.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        return locked

    monkeypatch.setattr(locking, "lock_calendars", lock_and_wait)
    monkeypatch.setattr(editing, "lock_calendars", lock_and_wait)
    return signal


def codes(raised: list[Exception]) -> list[str]:
    assert all(isinstance(error, CalendarError) for error in raised), raised
    return [error.code for error in raised]


def test_transaction_id_creates_one_event_in_a_race(calendar, midway):
    made = []

    def create():
        made.append(editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a"))

    assert at_once(create, create, midway) == []
    assert sorted(is_new for _, is_new in made) == [False, True]
    assert {event.pk for event, _ in made} == {Event.objects.get().pk}


def test_concurrent_requests_create_one_default_calendar(db):
    User.objects.bulk_create([User(username="grace")])
    user, ready, found = User.objects.get(), Signal(), []
    ready.set()

    def ask():
        found.append(Calendar.objects.default_of(user))

    assert at_once(ask, ask, ready) == []
    assert found[0] == found[1] == Calendar.objects.get()


def test_concurrent_changes_of_different_members_are_both_applied(weekly, midway):
    raised = at_once(
        lambda: editing.change(weekly, {"subject": "New"}, LATER),
        lambda: editing.change(weekly, {"show_as": "free"}, LATER),
        midway,
    )

    event = Event.objects.get()
    assert raised == []
    assert (event.subject, event.show_as, event.revision) == ("New", "free", 3)


def test_only_one_of_two_changes_with_the_same_revision_is_applied(weekly, midway):
    def change():
        editing.change(weekly, {"subject": str(time.monotonic())}, LATER, revision=weekly.revision_pair)

    raised = at_once(change, change, midway)

    assert [type(error) for error in raised] == [ChangedSince]
    assert Event.objects.get().revision == 2


def test_only_one_of_two_cancellations_of_an_occurrence_succeeds(weekly, midway):
    def cancel():
        editing.cancel_occurrence(weekly, SECOND, LATER)

    assert codes(at_once(cancel, cancel, midway)) == ["not_found"]
    assert EventException.objects.count() == 1


def test_concurrent_moves_of_two_neighbours_do_not_cross(weekly, midway):
    raised = at_once(
        lambda: editing.change_occurrence(weekly, SECOND, times("2026-01-16T10:00"), LATER),
        lambda: editing.change_occurrence(weekly, THIRD, times("2026-01-15T10:00"), LATER),
        midway,
    )

    assert codes(raised) == ["crosses_a_neighbour"]
    assert days(weekly)[1:3] in (["2026-01-16", "2026-01-19"], ["2026-01-12", "2026-01-15"])


# actions on a series while another user changes its times, which deletes exceptions
ACTIONS = {
    "move an occurrence": lambda event: editing.change_occurrence(event, SECOND, times("2026-01-13T15:00"), LATER),
    "cancel an occurrence": lambda event: editing.cancel_occurrence(event, SECOND, LATER),
    "change the rest": lambda event: editing.change_following(event, THIRD, {"subject": "Rest"}, LATER),
    "end it": lambda event: editing.truncate_series(event, THIRD, LATER),
    "make it daily": lambda event: editing.change(event, {"recurrence": recurrence("daily", count=3)}, LATER),
    "make it single": lambda event: editing.change(event, {"recurrence": None}, LATER),
    "delete it": lambda event: editing.delete(event, LATER),
    "delete its calendar": lambda event: editing.delete_calendar(event.calendar, LATER),
}


@pytest.mark.parametrize("act", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "second"])
def test_series_stays_consistent_in_a_race_with_a_change_of_its_times(owner, make_event, midway, act, is_first):
    home = editing.create_calendar(owner, "Home", None, NOW)
    series = make_event(home, recurrence=recurrence(count=10))
    actions = [lambda: act(series), lambda: editing.change(series, times("2026-01-06T08:00"), LATER)]

    raised = at_once(*(actions if is_first else reversed(actions)), midway)

    assert set(codes(raised)) <= {"not_found"}
    for event in Event.objects.all():
        for exception in event.exceptions.all():
            assert event.is_series
            assert event.series.occurrence_on(exception.original_day)
            assert event.covers_from <= exception.start_at
            assert event.covers_until >= exception.end_at
    assert EventException.objects.exclude(event__in=Event.objects.all()).count() == 0


@pytest.mark.parametrize(
    "act", [ACTIONS["move an occurrence"], ACTIONS["delete it"]], ids=["move an occurrence", "delete it"]
)
def test_change_of_an_event_that_moves_away_is_refused(owner, weekly, midway, act):
    other = editing.create_calendar(owner, "Other", None, NOW)

    raised = at_once(lambda: editing.move(weekly, other, LATER), lambda: act(weekly), midway)

    assert [type(error) for error in raised] == [Gone]
    assert Event.objects.get().calendar_id == other.pk
    assert not EventException.objects.exists()


def test_two_moves_in_opposite_directions_do_not_deadlock(owner, calendar, make_event, midway):
    other = editing.create_calendar(owner, "Other", None, NOW)
    here, there = make_event(calendar), make_event(other)

    raised = at_once(lambda: editing.move(here, other, LATER), lambda: editing.move(there, calendar, LATER), midway)

    assert raised == []
    assert dict(Event.objects.values_list("pk", "calendar_id")) == {here.pk: other.pk, there.pk: calendar.pk}


def test_two_changes_with_opposite_moves_do_not_deadlock(owner, calendar, make_event, api_of, token, midway):
    other = editing.create_calendar(owner, "Other", None, NOW)
    here, there = make_event(calendar), make_event(other)

    def change(event, to):
        body = {"subject": "Moved", "calendarId": str(to.pk)}
        answer = api_of(token).patch(f"/api/events/{event.pk.hex}", body, format="json")
        assert answer.status_code == 200, answer.content

    assert at_once(lambda: change(here, other), lambda: change(there, calendar), midway) == []
    assert dict(Event.objects.values_list("pk", "calendar_id")) == {here.pk: other.pk, there.pk: calendar.pk}
    assert set(Event.objects.values_list("subject", flat=True)) == {"Moved"}


def test_event_cannot_be_created_in_a_calendar_that_is_deleted(owner, midway):
    home = editing.create_calendar(owner, "Home", None, NOW)

    raised = at_once(
        lambda: editing.delete_calendar(home, LATER),
        lambda: editing.create(home, times("2026-01-05T10:00"), LATER),
        midway,
    )

    assert codes(raised) == ["not_found"]
    assert not Event.objects.exists()


def test_two_concurrent_shares_with_one_user_are_one_share(calendar, make_user):
    user, ready = make_user("grace"), Signal()
    ready.set()

    raised = at_once(lambda: sharing.share(calendar, user, 1), lambda: sharing.share(calendar, user, 2), ready)

    assert raised == []
    assert Share.objects.count() == 1
