"""Series of Graph's events compared with a scan of all days, which does not use the engine."""

from datetime import UTC, date, datetime, time, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.wire import WireError, parse
from tests.recurrence.wire.graph_by_hand import scan_occurrences
from tests.recurrence.wire.graph_events import LONG_AGO, NEVER, NEW_YEAR, events

YEARS = 6  # length of the scan from the start


def parse_and_scan(event):
    """Return the series, its scanned occurrences, and the end of the scan.  The series is None if it never occurs."""
    beyond = date.fromisoformat(event["recurrence"]["range"]["startDate"]) + timedelta(days=YEARS * 366)
    expected = scan_occurrences(event, beyond)
    try:
        return parse("outlook", event, NEW_YEAR).schedule, expected, beyond
    except WireError as error:
        assert (error.code, expected) == ("never_fires", [])
        return None, [], beyond


def spans(occurrences):
    return [(each.day, each.start, each.end) for each in occurrences]


@given(events())
@settings(max_examples=300)
def test_occurrences_of_a_series_equal_a_scan_of_all_days(event):
    series, expected, beyond = parse_and_scan(event)
    if series is None:
        return

    end = datetime.combine(beyond, time(), UTC) + timedelta(days=2)
    found = [each for each in series.occurrences(LONG_AGO, end) if each.day < beyond]

    assert spans(found) == expected
    assert spans([series.first]) == expected[:1] or not expected


@given(events(), st.integers(-3 * 24 * 60, YEARS * 365 * 24 * 60), st.integers(0, 60 * 24 * 60))
@settings(max_examples=200)
def test_window_of_a_series_has_the_overlapping_occurrences_of_a_scan(event, minutes, length):
    series, expected, beyond = parse_and_scan(event)
    beginning = datetime.fromisoformat(event["start"]["dateTime"]).replace(tzinfo=UTC) + timedelta(minutes=minutes)
    end = beginning + timedelta(minutes=length)
    if series is None or end.date() >= beyond - timedelta(days=7):
        return

    expected = [span for span in expected if overlaps(*span, beginning, end)]

    assert spans(series.occurrences(beginning, end)) == expected


def overlaps(day, start, end, low, high):
    return low <= start < high if start == end else start < high and end > low


@given(events(), st.data())
@settings(max_examples=200)
def test_occurrence_and_neighbours_of_a_day_equal_a_scan(event, data):
    series, expected, _ = parse_and_scan(event)
    if len(expected) < 3:
        return

    number = data.draw(st.integers(1, len(expected) - 2))
    (before, *_), (day, start, end), (after, *_) = expected[number - 1 : number + 2]

    assert spans([series.occurrence_on(day)]) == [(day, start, end)]
    assert (series.day_before(day), series.day_after(day)) == (before, after)
    assert (series.day_after(before), series.day_before(after)) == (day, day)
    between = data.draw(st.dates(before, day))
    assert series.day_before(between + timedelta(days=1)) == (day if between == day else before)
    assert between in (before, day) or series.occurrence_on(between) is None


@given(events())
@settings(max_examples=150)
def test_after_returns_the_next_start_of_a_scan(event):
    series, expected, _ = parse_and_scan(event)
    if series is None:
        return

    starts, at = [], LONG_AGO
    while len(starts) < min(len(expected), 40):
        at = series.after(at)
        starts.append(at)

    assert starts == [start for _, start, _ in expected[:40]]
    for number, start in enumerate(starts):
        assert series.occurrence_starting_at(start).start == start
        assert series.count_before(start) == number
        assert series.after(start - timedelta(microseconds=1)) == start


@given(events())
@settings(max_examples=150)
def test_count_ends_a_series_at_the_last_scanned_occurrence(event):
    series, expected, beyond = parse_and_scan(event)
    if series is None or series.last is None or series.last >= beyond:
        return

    assert spans([series.last_occurrence]) == expected[-1:]
    assert series.day_after(series.last_occurrence.day) is None
    assert series.after(series.last_occurrence.start) is None
    assert [*series.occurrences(series.last_occurrence.end + timedelta(minutes=1), NEVER)] == []
    assert series.count_before(NEVER) == len(expected)
