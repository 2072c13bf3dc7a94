"""Two people change a calendar at the very same moment.

Two connections compete.  On SQLite the second waits for the first; on PostgreSQL they run together, held apart by the
row of the calendar alone.
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
    """Set once somebody holds a calendar and has read what they change; they then linger."""
    signal, hold = Signal(), locking.lock_calendars

    def lingering(*keys):
        held = hold(*keys)
        signal.set()
        if connection.vendor == "postgresql":
            time.sleep(PAUSE_S)
        return held

    monkeypatch.setattr(locking, "lock_calendars", lingering)
    monkeypatch.setattr(editing, "lock_calendars", lingering)
    return signal


def codes(raised: list[Exception]) -> list[str]:
    assert all(isinstance(error, CalendarError) for error in raised), raised
    return [error.code for error in raised]


def test_one_key_of_creation_makes_one_event(calendar, midway):
    made = []

    def create():
        made.append(editing.create(calendar, times("2026-01-05T10:00"), NOW, transaction_id="a"))

    assert at_once(create, create, midway) == []
    assert sorted(is_new for _, is_new in made) == [False, True]
    assert {event.pk for event, _ in made} == {Event.objects.get().pk}


def test_who_asks_for_a_default_calendar_at_once_gets_the_same(db):
    User.objects.bulk_create([User(username="grace")])
    user, ready, found = User.objects.get(), Signal(), []
    ready.set()

    def ask():
        found.append(Calendar.objects.default_of(user))

    assert at_once(ask, ask, ready) == []
    assert found[0] == found[1] == Calendar.objects.get()


def test_changes_of_different_things_both_hold(weekly, midway):
    raised = at_once(
        lambda: editing.change(weekly, {"subject": "New"}, LATER),
        lambda: editing.change(weekly, {"show_as": "free"}, LATER),
        midway,
    )

    event = Event.objects.get()
    assert raised == []
    assert (event.subject, event.show_as, event.revision) == ("New", "free", 3)


def test_of_two_who_have_read_the_same_one_changes_it(weekly, midway):
    def change():
        editing.change(weekly, {"subject": str(time.monotonic())}, LATER, revision=weekly.revision_pair)

    raised = at_once(change, change, midway)

    assert [type(error) for error in raised] == [ChangedSince]
    assert Event.objects.get().revision == 2


def test_of_two_who_cancel_an_occurrence_one_is_told_that_it_is_gone(weekly, midway):
    def cancel():
        editing.cancel_occurrence(weekly, SECOND, LATER)

    assert codes(at_once(cancel, cancel, midway)) == ["not_found"]
    assert EventException.objects.count() == 1


def test_two_neighbours_do_not_pass_each_other(weekly, midway):
    raised = at_once(
        lambda: editing.change_occurrence(weekly, SECOND, times("2026-01-16T10:00"), LATER),
        lambda: editing.change_occurrence(weekly, THIRD, times("2026-01-15T10:00"), LATER),
        midway,
    )

    assert codes(raised) == ["crosses_a_neighbour"]
    assert days(weekly)[1:3] in (["2026-01-16", "2026-01-19"], ["2026-01-12", "2026-01-15"])


# what somebody does with a series while somebody else changes its times, which drops exceptions
BESIDE = {
    "move an occurrence": lambda event: editing.change_occurrence(event, SECOND, times("2026-01-13T15:00"), LATER),
    "cancel an occurrence": lambda event: editing.cancel_occurrence(event, SECOND, LATER),
    "change the rest": lambda event: editing.change_following(event, THIRD, {"subject": "Rest"}, LATER),
    "end it": lambda event: editing.truncate_series(event, THIRD, LATER),
    "make it daily": lambda event: editing.change(event, {"recurrence": recurrence("daily", count=3)}, LATER),
    "make it single": lambda event: editing.change(event, {"recurrence": None}, LATER),
    "delete it": lambda event: editing.delete(event, LATER),
    "delete its calendar": lambda event: editing.delete_calendar(event.calendar, LATER),
}


@pytest.mark.parametrize("act", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "second"])
def test_whatever_happens_beside_a_change_of_a_series_it_stays_whole(owner, make_event, midway, act, is_first):
    home = editing.create_calendar(owner, "Home", None, NOW)
    series = make_event(home, recurrence=recurrence(count=10))
    pair = [lambda: act(series), lambda: editing.change(series, times("2026-01-06T08:00"), LATER)]

    raised = at_once(*(pair if is_first else reversed(pair)), midway)

    assert set(codes(raised)) <= {"not_found"}
    for event in Event.objects.all():
        for exception in event.exceptions.all():
            assert event.is_series
            assert event.series.occurrence_on(exception.original_day)
            assert event.covers_from <= exception.start_at
            assert event.covers_until >= exception.end_at
    assert EventException.objects.exclude(event__in=Event.objects.all()).count() == 0


@pytest.mark.parametrize(
    "act", [BESIDE["move an occurrence"], BESIDE["delete it"]], ids=["move an occurrence", "delete it"]
)
def test_what_moves_away_is_not_changed_with_the_rights_of_before(owner, weekly, midway, act):
    other = editing.create_calendar(owner, "Other", None, NOW)

    raised = at_once(lambda: editing.move(weekly, other, LATER), lambda: act(weekly), midway)

    assert [type(error) for error in raised] == [Gone]
    assert Event.objects.get().calendar_id == other.pk
    assert not EventException.objects.exists()


def test_events_that_change_places_wait_for_nobody_in_a_circle(owner, calendar, make_event, midway):
    other = editing.create_calendar(owner, "Other", None, NOW)
    here, there = make_event(calendar), make_event(other)

    raised = at_once(lambda: editing.move(here, other, LATER), lambda: editing.move(there, calendar, LATER), midway)

    assert raised == []
    assert dict(Event.objects.values_list("pk", "calendar_id")) == {here.pk: other.pk, there.pk: calendar.pk}


def test_events_that_are_changed_and_change_places_wait_for_nobody_in_a_circle(
    owner, calendar, make_event, api_of, token, midway
):
    other = editing.create_calendar(owner, "Other", None, NOW)
    here, there = make_event(calendar), make_event(other)

    def change(event, to):
        body = {"subject": "Moved", "calendarId": str(to.pk)}
        answer = api_of(token).patch(f"/api/events/{event.pk.hex}", body, format="json")
        assert answer.status_code == 200, answer.content

    assert at_once(lambda: change(here, other), lambda: change(there, calendar), midway) == []
    assert dict(Event.objects.values_list("pk", "calendar_id")) == {here.pk: other.pk, there.pk: calendar.pk}
    assert set(Event.objects.values_list("subject", flat=True)) == {"Moved"}


def test_what_is_made_in_a_calendar_that_goes_goes_with_it(owner, midway):
    home = editing.create_calendar(owner, "Home", None, NOW)

    raised = at_once(
        lambda: editing.delete_calendar(home, LATER),
        lambda: editing.create(home, times("2026-01-05T10:00"), LATER),
        midway,
    )

    assert codes(raised) == ["not_found"]
    assert not Event.objects.exists()


def test_two_shares_with_the_same_person_are_one(calendar, make_user):
    user, ready = make_user("grace"), Signal()
    ready.set()

    raised = at_once(lambda: sharing.share(calendar, user, 1), lambda: sharing.share(calendar, user, 2), ready)

    assert raised == []
    assert Share.objects.count() == 1
