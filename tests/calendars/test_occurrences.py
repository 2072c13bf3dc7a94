"""Single occurrences that are moved, changed, cancelled and restored, and a series that ends or goes on otherwise."""

from datetime import date, timedelta

import pytest

from calendars import editing
from calendars.errors import CalendarError, ChangedSince, Gone
from calendars.models import Event, EventException
from tests.calendars.conftest import day, days, laid_out, reading, recurrence, starts, times, wall
from tests.calendars.test_editing import everything
from tests.conftest import NOW, utc

LATER = NOW + timedelta(hours=1)
SECOND = day("2026-01-12")


def subjects(event) -> list[str]:
    return [each.details.subject for each in laid_out(event)]


# One occurrence


def test_a_moved_occurrence_leaves_the_others_where_they_are(weekly):
    exception = editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)

    assert starts(weekly)[:3] == ["2026-01-05T10:00", "2026-01-13T15:00", "2026-01-19T10:00"]
    assert (exception.start_at, exception.end_at) == (utc("2026-01-13T14:00Z"), utc("2026-01-13T15:00Z"))


def test_a_moved_occurrence_is_still_named_by_its_day(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)

    moved = laid_out(weekly)[1]

    assert moved.id.day == SECOND
    assert moved.original_start == utc("2026-01-12T09:00Z")


def test_an_occurrence_is_moved_on_the_clocks_of_its_series(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-12T04:30", zone="America/New_York"), LATER)

    assert starts(weekly)[1] == "2026-01-12T10:30"
    assert EventException.objects.get().changes == {"start": "2026-01-12T10:30:00", "end": "2026-01-12T11:30:00"}


def test_an_occurrence_keeps_only_what_it_says_otherwise(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Stand-up", "show_as": "free"}, LATER)

    assert EventException.objects.get().changes == {"show_as": "free"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"subject": "Stand-up", "recurrence": None, **times("2026-01-12T10:00")},
        times("2026-01-12T09:00", zone="UTC"),
    ],
)
def test_an_occurrence_that_says_nothing_otherwise_is_none_of_its_own(weekly, changes):
    before = everything()

    assert editing.change_occurrence(weekly, SECOND, changes, LATER) is None

    assert everything() == before


def test_an_occurrence_that_takes_everything_back_is_none_of_its_own(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Other", **times("2026-01-13T15:00")}, LATER)

    back = {"subject": "Stand-up", **times("2026-01-12T10:00")}

    assert editing.change_occurrence(weekly, SECOND, back, LATER) is None
    assert not EventException.objects.exists()
    assert starts(weekly)[1] == "2026-01-12T10:00"


def test_several_occurrences_are_changed_as_one(weekly, calendar):
    editing.cancel_occurrence(weekly, day("2026-01-19"), NOW)
    editing.change_occurrence(weekly, day("2026-01-26"), {"subject": "Other"}, NOW)
    weekly.refresh_from_db()
    calendar.refresh_from_db()

    with editing.occurrences_of(weekly, LATER) as occurrences:
        occurrences.cancel(SECOND)
        occurrences.revive(day("2026-01-19"), {"subject": "Back"})
        occurrences.restore(day("2026-01-26"))
        occurrences.change(day("2026-02-02"), times("2026-02-03T15:00"))

    after = Event.objects.get()
    assert starts(weekly)[1:4] == ["2026-01-19T10:00", "2026-01-26T10:00", "2026-02-03T15:00"]
    assert subjects(weekly)[1:3] == ["Back", "Stand-up"]
    assert (after.revision, after.series_revision) == (weekly.revision + 1, weekly.series_revision)
    assert {row.revision for row in EventException.objects.all()} == {after.revision}
    assert calendar.revision + 1 == type(calendar).objects.get(pk=calendar.pk).revision


def test_of_several_changes_one_that_is_refused_leaves_the_others(weekly):
    with editing.occurrences_of(weekly, LATER) as occurrences:
        with pytest.raises(CalendarError, match="neighbouring"):
            occurrences.change(SECOND, times("2026-01-19T12:00"))
        occurrences.cancel(day("2026-01-19"))
        occurrences.change(SECOND, times("2026-01-19T12:00"))

    assert starts(weekly)[1:3] == ["2026-01-19T12:00", "2026-01-26T10:00"]


def test_what_fails_among_several_changes_undoes_them_all(weekly):
    before = everything()

    with pytest.raises(Gone), editing.occurrences_of(weekly, LATER) as occurrences:
        occurrences.cancel(SECOND)
        occurrences.cancel(day("2026-01-13"))

    assert everything() == before


def test_nothing_that_changes_is_nothing_written(weekly):
    before = everything()

    with editing.occurrences_of(weekly, LATER) as occurrences:
        occurrences.change(SECOND, {"subject": "Stand-up"})

    assert everything() == before


def test_what_an_occurrence_has_said_before_stays_said(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Other"}, LATER)
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)

    moved = laid_out(weekly)[1]

    assert (moved.details.subject, moved.start) == ("Other", utc("2026-01-13T14:00Z"))


def test_an_occurrence_may_last_all_day(weekly):
    editing.change_occurrence(
        weekly, SECOND, {"is_all_day": True, **times("2026-01-12T00:00", "2026-01-13T00:00")}, LATER
    )

    assert [each.days for each in laid_out(weekly)][:2] == [None, (SECOND, day("2026-01-13"))]


def test_an_occurrence_of_an_all_day_series_may_have_hours(make_event):
    changes = {"is_all_day": True, **times("2026-01-05T00:00", "2026-01-06T00:00"), "recurrence": recurrence(count=3)}
    series = make_event(**changes)

    editing.change_occurrence(series, SECOND, {"is_all_day": False, **times("2026-01-12T10:00")}, LATER)

    assert [each.is_all_day for each in laid_out(series)] == [True, False, True]
    assert starts(series)[1] == "2026-01-12T10:00"


NEIGHBOURS = {
    # the series is on Mondays, and its second occurrence is moved: its neighbours' days are the 5th and the 19th
    "to the day after its neighbour's": ("2026-01-06T00:00", True),
    "to the end of the day before its neighbour's": ("2026-01-18T23:59", True),
    "to its neighbour's day, when that is over": ("2026-01-05T23:00", False),
    "to its neighbour's day, before that begins": ("2026-01-19T00:00", False),
    "beyond its neighbour's": ("2026-01-20T10:00", False),
    "before its neighbour's": ("2026-01-04T10:00", False),
}


@pytest.mark.parametrize("start, is_allowed", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_an_occurrence_stays_between_the_days_of_its_neighbours(weekly, start, is_allowed):
    before = everything()

    if is_allowed:
        editing.change_occurrence(weekly, SECOND, times(start), LATER)
        assert starts(weekly)[1] == start
        return
    with pytest.raises(CalendarError) as refused:
        editing.change_occurrence(weekly, SECOND, {"subject": "Other", **times(start)}, LATER)
    assert (refused.value.path, refused.value.code) == ("start", "crosses_a_neighbour")
    assert everything() == before


def test_the_first_and_the_last_occurrence_have_one_neighbour(weekly):
    editing.change_occurrence(weekly, day("2026-01-05"), times("2025-12-01T10:00"), LATER)
    editing.change_occurrence(weekly, day("2026-03-09"), times("2026-12-01T10:00"), LATER)

    event = Event.objects.get()
    assert (event.first_at, event.ends_at) == (utc("2025-12-01T09:00Z"), utc("2026-12-01T10:00Z"))
    assert days(event, "2025-01-01")[0] == "2025-12-01"
    assert days(event)[-1] == "2026-12-01"


def test_a_neighbour_counts_where_it_is_now(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-15T10:00"), LATER)

    editing.change_occurrence(weekly, day("2026-01-05"), times("2026-01-14T10:00"), LATER)
    with pytest.raises(CalendarError):
        editing.change_occurrence(weekly, day("2026-01-19"), times("2026-01-15T18:00"), LATER)
    with pytest.raises(CalendarError):
        editing.change_occurrence(weekly, SECOND, times("2026-01-13T10:00"), LATER)


def test_a_cancelled_occurrence_is_nobodys_neighbour(weekly):
    editing.cancel_occurrence(weekly, day("2026-01-19"), LATER)

    editing.change_occurrence(weekly, SECOND, times("2026-01-20T10:00"), LATER)

    assert days(weekly)[:3] == ["2026-01-05", "2026-01-20", "2026-01-26"]


def test_what_is_not_moved_is_never_refused(make_event):
    daily = make_event(recurrence=recurrence("daily", count=3))

    for changes in ({"subject": "Other"}, times("2026-01-06T23:00", "2026-01-08T12:00"), times("2026-01-06T00:00")):
        editing.change_occurrence(daily, day("2026-01-06"), changes, LATER)

    assert starts(daily)[1] == "2026-01-06T00:00"


def test_neighbours_of_a_series_that_reads_other_clocks_are_days_there(make_event):
    # 20:00 in New York is 02:00 of the next day in Berlin
    series = make_event(**times("2026-01-05T20:00", zone="America/New_York"), recurrence=recurrence("daily", count=3))

    editing.change_occurrence(series, day("2026-01-06"), times("2026-01-07T05:59"), LATER)

    assert starts(series)[1] == "2026-01-06T23:59"


@pytest.mark.parametrize(
    "changes, path",
    [
        ({"recurrence": recurrence("daily")}, "recurrence"),
        ({"start": wall("2026-01-12T12:00")}, "end"),
        (times("2026-01-12T10:00", "2027-01-14T10:00"), "end"),
        ({"is_all_day": True}, "start"),
        ({"subject": 5}, "subject"),
        (times("2026-01-12T10:00", zone="Mars/Phobos"), "start.timeZone"),
        ({"start": None}, "start"),
    ],
)
def test_what_is_refused_of_an_occurrence_changes_nothing(weekly, changes, path):
    before = everything()

    with pytest.raises(CalendarError) as refused:
        editing.change_occurrence(weekly, SECOND, {"show_as": "free", **changes}, LATER)

    assert refused.value.path == path
    assert everything() == before


NOT_THERE = ["2026-01-13", "2025-12-29", "2026-03-16", "0001-01-01", "9999-12-31"]
ACTS = {
    "change": lambda event, day: editing.change_occurrence(event, day, {"subject": "Other"}, LATER),
    "cancel": lambda event, day: editing.cancel_occurrence(event, day, LATER),
    "change the rest": lambda event, day: editing.change_following(event, day, {"subject": "Other"}, LATER),
    "end": lambda event, day: editing.end_before(event, day, LATER),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
@pytest.mark.parametrize("text", NOT_THERE)
def test_on_another_day_there_is_no_occurrence(weekly, act, text):
    with pytest.raises(Gone):
        act(weekly, day(text))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_series_without_end_ends_with_the_calendar(make_event, act):
    series = make_event(recurrence=recurrence("daily"))

    with pytest.raises(Gone):
        act(series, day("4501-01-01"))
    act(series, day("4500-12-31"))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_single_event_has_no_occurrence(make_event, act):
    with pytest.raises(Gone):
        act(make_event(), day("2026-01-05"))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_cancelled_occurrence_is_gone(weekly, act):
    editing.cancel_occurrence(weekly, SECOND, LATER)
    before = everything()

    with pytest.raises(Gone):
        act(weekly, SECOND)

    assert everything() == before


@pytest.mark.parametrize(
    "act",
    [
        lambda event, revision: editing.change_occurrence(event, SECOND, {"subject": "A"}, LATER, revision=revision),
        lambda event, revision: editing.cancel_occurrence(event, SECOND, LATER, revision=revision),
        lambda event, revision: editing.change_following(event, SECOND, {"subject": "A"}, LATER, revision=revision),
        lambda event, revision: editing.end_before(event, SECOND, LATER, revision=revision),
    ],
)
def test_an_occurrence_has_a_revision_of_its_own(weekly, act):
    read = laid_out(weekly)[1].revision
    editing.change_occurrence(weekly, SECOND, {"subject": "Other"}, LATER)
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Other"}, LATER)

    with pytest.raises(ChangedSince):
        act(weekly, read)

    act(weekly, laid_out(weekly)[1].revision)


def test_a_revision_never_comes_back_for_something_else(weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Other"}, LATER)
    read = laid_out(weekly)[1].revision
    editing.restore_occurrence(weekly, SECOND, LATER)
    editing.change_occurrence(weekly, SECOND, {"subject": "Third"}, LATER)

    assert laid_out(weekly)[1].revision != read


# Cancelled and restored


def test_a_cancelled_occurrence_is_not_refilled(weekly):
    editing.cancel_occurrence(weekly, SECOND, LATER)

    assert len(days(weekly)) == 9
    assert days(weekly)[-1] == "2026-03-09"


def test_a_cancelled_occurrence_is_seen_where_it_was_if_asked_for(weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), LATER)
    editing.cancel_occurrence(weekly, SECOND, LATER)

    cancelled = [each for each in laid_out(weekly, cancelled=True) if each.is_cancelled]

    assert [each.start for each in cancelled] == [utc("2026-01-13T14:00Z")]
    assert SECOND not in [each.day for each in laid_out(weekly)]


@pytest.mark.parametrize(
    "act",
    [
        lambda event: editing.cancel_occurrence(event, SECOND, LATER),
        lambda event: editing.change_occurrence(event, SECOND, {"subject": "A", **times("2026-01-13T15:00")}, LATER),
    ],
)
def test_a_restored_occurrence_is_as_its_series_has_it(weekly, act):
    act(weekly)

    editing.restore_occurrence(weekly, SECOND, LATER)

    assert (starts(weekly)[1], subjects(weekly)[1]) == ("2026-01-12T10:00", "Stand-up")
    assert not EventException.objects.exists()


def test_what_is_as_its_series_has_it_cannot_be_restored(weekly):
    with pytest.raises(Gone):
        editing.restore_occurrence(weekly, SECOND, LATER)


def test_an_occurrence_is_not_restored_beyond_its_neighbour(weekly):
    editing.cancel_occurrence(weekly, SECOND, LATER)
    editing.change_occurrence(weekly, day("2026-01-05"), times("2026-01-12T08:00"), LATER)

    with pytest.raises(CalendarError) as refused:
        editing.restore_occurrence(weekly, SECOND, LATER)

    assert refused.value.code == "crosses_a_neighbour"


# This and following


@pytest.fixture
def with_exceptions(weekly):
    """Exceptions on both sides of 2 February: a subject, a move to Tuesday, a cancellation each."""
    for n, text in enumerate(["2026-01-12", "2026-02-02"]):
        first = day(text)
        editing.change_occurrence(weekly, first, {"subject": f"Other {n}"}, NOW)
        tuesday = f"{first + timedelta(days=8)}T15:00"
        editing.change_occurrence(weekly, first + timedelta(days=7), times(tuesday), NOW)
        editing.cancel_occurrence(weekly, first + timedelta(days=14), NOW)
    return weekly


MIDDLE = day("2026-02-02")
BEFORE = ["2026-01-05", "2026-01-12", "2026-01-20"]
AFTER = ["2026-02-02", "2026-02-10", "2026-02-23", "2026-03-02", "2026-03-09"]


def test_a_count_is_split(weekly):
    rest = editing.change_following(weekly, MIDDLE, {"subject": "Planning"}, LATER)

    weekly.refresh_from_db()
    assert weekly.recurrence["range"]["numberOfOccurrences"] == 4
    assert rest.recurrence["range"]["numberOfOccurrences"] == 6
    assert rest.recurrence["range"]["startDate"] == "2026-02-02"
    assert (len(days(weekly)), len(days(rest))) == (4, 6)


@pytest.mark.parametrize("range", [{"type": "noEnd"}, {"type": "endDate", "endDate": "2026-03-10"}])
def test_a_series_without_a_count_ends_the_day_before(make_event, range):
    series = make_event(recurrence=recurrence(**range))

    rest = editing.change_following(series, MIDDLE, {"subject": "Planning"}, LATER)

    series.refresh_from_db()
    assert series.recurrence["range"]["endDate"] == "2026-02-01"
    assert series.ends_at == utc("2026-01-26T10:00Z")
    assert rest.recurrence["range"]["type"] == range["type"]
    assert days(rest)[:2] == ["2026-02-02", "2026-02-09"]


@pytest.mark.parametrize(
    "pattern, start, third, rest_of_it",
    [
        # an interval goes on counting from the period of the day at which the series is cut
        ({"type": "daily", "interval": 3}, "2026-01-05", "2026-01-11", ["2026-01-11", "2026-01-14"]),
        (
            {"type": "weekly", "interval": 2, "daysOfWeek": ["monday", "saturday"], "firstDayOfWeek": "monday"},
            "2026-01-05",
            "2026-01-19",
            ["2026-01-19", "2026-01-24"],
        ),
        # February has no 31st: the day on which it is cut is no longer that of the pattern
        (
            {"type": "absoluteMonthly", "interval": 1, "dayOfMonth": 31},
            "2025-12-31",
            "2026-02-28",
            ["2026-02-28", "2026-03-31"],
        ),
        (
            {"type": "relativeMonthly", "interval": 2, "daysOfWeek": ["friday"], "index": "last"},
            "2026-01-30",
            "2026-05-29",
            ["2026-05-29", "2026-07-31"],
        ),
    ],
)
def test_the_rest_is_what_the_series_would_have_been(make_event, pattern, start, third, rest_of_it):
    series = make_event(**times(f"{start}T10:00"), recurrence=recurrence(pattern, start, count=4))
    whole = days(series, "2025-01-01")

    rest = editing.change_following(series, day(third), {"subject": "Planning"}, LATER)

    series.refresh_from_db()
    assert days(rest, "2025-01-01") == rest_of_it
    assert days(series, "2025-01-01") + days(rest, "2025-01-01") == whole


def test_exceptions_go_along_when_the_occurrences_stay_where_they_are(with_exceptions):
    rest = editing.change_following(with_exceptions, MIDDLE, {"show_as": "free"}, LATER)

    with_exceptions.refresh_from_db()
    assert (days(with_exceptions), days(rest)) == (BEFORE, AFTER)
    assert subjects(rest)[:2] == ["Other 1", "Stand-up"]
    assert {each.details.show_as for each in laid_out(with_exceptions)} == {"busy"}
    assert {each.details.show_as for each in laid_out(rest)} == {"free"}


def test_exceptions_of_the_rest_are_dropped_when_its_times_change(with_exceptions):
    rest = editing.change_following(with_exceptions, MIDDLE, times("2026-02-03T08:00"), LATER)

    with_exceptions.refresh_from_db()
    assert days(with_exceptions) == BEFORE
    # Mondays that begin on or after the Tuesday
    assert starts(rest)[:2] == ["2026-02-09T08:00", "2026-02-16T08:00"]
    assert not rest.exceptions.exists()


def test_the_rest_may_have_another_pattern(with_exceptions):
    rest = editing.change_following(
        with_exceptions, MIDDLE, {"recurrence": recurrence("daily", "2026-02-02", count=3)}, LATER
    )

    assert days(rest) == ["2026-02-02", "2026-02-03", "2026-02-04"]
    assert not rest.exceptions.exists()


def test_the_rest_may_be_a_single_event(weekly):
    rest = editing.change_following(weekly, MIDDLE, {"recurrence": None}, LATER)

    assert days(rest) == ["2026-02-02"]
    assert not rest.is_series


def test_a_recurrence_that_is_the_stored_one_changes_nothing_of_the_rest(with_exceptions):
    changes = {"recurrence": with_exceptions.recurrence, "show_as": "free"}

    assert days(editing.change_following(with_exceptions, MIDDLE, changes, LATER)) == AFTER


# the series is on ten Mondays from 5 January; six are left from 2 February
REPEATED = {
    "another pattern": ({"pattern": recurrence("daily")["pattern"]}, {}, "2026-02-02", 6),
    "another count": ({"range": {"numberOfOccurrences": 3}}, {}, "2026-02-02", 3),
    "another time": ({}, times("2026-02-02T12:00"), "2026-02-02", 6),
    "another day": ({"pattern": recurrence("daily")["pattern"]}, times("2026-02-04T10:00"), "2026-02-04", 6),
    "its own start": ({"range": {"startDate": "2026-02-09"}}, {}, "2026-02-09", 10),
}


@pytest.mark.parametrize("document, changes, first, count", REPEATED.values(), ids=REPEATED)
def test_what_a_recurrence_repeats_of_the_whole_is_meant_for_the_rest(weekly, document, changes, first, count):
    pattern = {**weekly.recurrence["pattern"], **document.get("pattern", {})}
    whole = {"pattern": pattern, "range": {**weekly.recurrence["range"], **document.get("range", {})}}

    rest = editing.change_following(weekly, MIDDLE, {"recurrence": whole, **changes}, LATER)

    weekly.refresh_from_db()
    assert days(weekly)[-1] == "2026-01-26"
    assert (days(rest)[0], len(days(rest))) == (first, count)


@pytest.mark.parametrize("document", ["weekly", [], {"range": 5}, {"range": {}}, {"pattern": {}}])
def test_a_recurrence_of_the_rest_that_is_none_is_refused(weekly, document):
    before = everything()

    with pytest.raises(CalendarError):
        editing.change_following(weekly, MIDDLE, {"recurrence": document}, LATER)

    assert everything() == before


def test_the_rest_is_an_event_of_its_own(calendar, make_event):
    series, _ = editing.create(
        calendar, {**times("2026-01-05T10:00"), "recurrence": recurrence()}, NOW, transaction_id="a"
    )

    rest = editing.change_following(series, MIDDLE, {"subject": "Planning"}, LATER)

    assert rest.pk != series.pk
    assert rest.uid != series.uid
    assert (rest.transaction_id, rest.created_at) == (None, LATER)
    assert Event.objects.get(pk=series.pk).transaction_id == "a"


def test_from_the_first_day_on_it_is_the_series_that_changes(with_exceptions):
    rest = editing.change_following(with_exceptions, day("2026-01-05"), {"subject": "Planning"}, LATER)

    assert rest == with_exceptions
    assert Event.objects.count() == 1
    assert days(rest) == BEFORE + AFTER


def test_a_refused_change_of_the_rest_leaves_the_series_whole(with_exceptions):
    before = everything()

    with pytest.raises(CalendarError):
        editing.change_following(with_exceptions, MIDDLE, {"end": wall("2026-02-02T09:00")}, LATER)

    assert everything() == before


def test_an_all_day_series_is_split(make_event):
    changes = {"is_all_day": True, **times("2026-01-05T00:00", "2026-01-07T00:00"), "recurrence": recurrence(count=3)}
    series = make_event(**changes)

    rest = editing.change_following(series, SECOND, {"subject": "Planning"}, LATER)

    assert (rest.start, rest.end) == (reading("2026-01-12"), reading("2026-01-14"))
    assert (rest.first_at, rest.ends_at) == (utc("2026-01-12T00:00Z"), utc("2026-01-21T00:00Z"))


def test_days_that_a_zone_never_had_are_not_counted(make_event):
    # Samoa crossed the date line at the end of 29 December 2011
    series = make_event(
        **times("2011-12-28T10:00", zone="Pacific/Apia"), recurrence=recurrence("daily", "2011-12-28", count=5)
    )

    rest = editing.change_following(series, date(2011, 12, 31), {"subject": "Planning"}, LATER)

    series.refresh_from_db()
    assert days(series, "2011-01-01") == ["2011-12-28", "2011-12-29"]
    assert days(rest, "2011-01-01") == ["2011-12-31", "2012-01-01", "2012-01-02"]


# An end


def test_a_series_ends_before_an_occurrence(with_exceptions):
    editing.end_before(with_exceptions, MIDDLE, LATER)

    event = Event.objects.get()
    assert days(event) == BEFORE
    assert event.exceptions.count() == 3
    assert event.ends_at == utc("2026-01-26T10:00Z")


def test_a_series_that_ends_before_its_first_occurrence_is_deleted(weekly):
    editing.end_before(weekly, day("2026-01-05"), LATER)

    assert not Event.objects.exists()
