"""The interface for all formats, and schedules that would never fire."""

import sys
from datetime import timedelta

import pytest
from hypothesis import assume, given, settings

from recurrence.preview import preview
from recurrence.schedules import count
from recurrence.wire import HORIZON, WireError, parse, refuse_unreachable
from tests.recurrence.samples import CREATED_AT, documents, instants, utc

LINES_IN_FIFTY_MILLISECONDS = 50_000  # Python runs at least a million lines a second
FIFTH_FRIDAY = {"monthlyOccurrences": [{"day": "friday", "occurrence": 5}]}


def test_an_unknown_format_is_refused():
    with pytest.raises(WireError) as caught:
        parse("cobol", {}, CREATED_AT)

    assert (caught.value.path, caught.value.code) == ("format", "unsupported")


def test_an_error_names_path_code_and_message():
    error = WireError("recurrence.interval", "out_of_range", "must be 1 to 1000, not 0")

    assert (error.path, error.code, error.message) == (
        "recurrence.interval", "out_of_range", "must be 1 to 1000, not 0",
    )  # fmt: skip
    assert str(error) == "recurrence.interval: must be 1 to 1000, not 0"


def reach(recurrence, start="2026-01-31T08:00:00Z", created_at=CREATED_AT):
    """Return the first fire time of an accepted recurrence."""
    parsed = parse("azure", {"startTime": start, "recurrence": recurrence}, created_at)
    refuse_unreachable(parsed, created_at)
    return parsed.schedule.after(created_at - timedelta(microseconds=1))


@pytest.mark.parametrize(
    "recurrence, start",
    [
        # every 24 hours from eight never fires at nine
        ({"frequency": "hour", "interval": 24, "schedule": {"hours": [9]}}, "2026-01-31T08:00:00Z"),
        ({"frequency": "minute", "interval": 60, "schedule": {"minutes": [30]}}, "2026-01-31T08:00:00Z"),
        ({"frequency": "minute", "interval": 720, "schedule": {"hours": [9, 10]}}, "2026-01-31T08:00:00Z"),
        # February has no 30th, and every twelfth month is always the same month
        ({"frequency": "month", "interval": 12, "schedule": {"monthDays": [30]}}, "2026-02-01T08:00:00Z"),
        ({"frequency": "month", "interval": 12, "schedule": {"monthDays": [-31]}}, "2026-04-01T08:00:00Z"),
        # the next February with five Fridays is in 2036
        ({"frequency": "month", "interval": 12, "schedule": FIFTH_FRIDAY}, "2026-02-01T08:00:00Z"),
        # the end is before the first fire time
        ({"frequency": "day", "schedule": {"hours": [5]}, "endTime": "2026-02-01T04:00:00Z"}, "2026-01-31T08:00:00Z"),
        ({"frequency": "month", "schedule": {"monthDays": [31]}, "endTime": "2026-03-30"}, "2026-02-01T08:00:00Z"),
        # a run at creation does not count
        ({"frequency": "hour", "interval": 24, "schedule": {"hours": [9]}}, None),
    ],
)
def test_recurrence_that_never_fires_is_refused_on_saving(recurrence, start):
    with pytest.raises(WireError) as caught:
        reach(recurrence, start)

    assert (caught.value.path, caught.value.code) == ("recurrence", "never_fires")


@pytest.mark.parametrize(
    "recurrence, start",
    [
        (None, None),
        (None, "2026-01-31T08:00:00Z"),
        ({"frequency": "month"}, "2026-01-31T08:00:00Z"),
        ({"frequency": "month", "interval": 12, "schedule": {"monthDays": [29]}}, "2026-02-01T08:00:00Z"),
        ({"frequency": "hour", "interval": 23, "schedule": {"hours": [9]}}, "2026-01-31T08:00:00Z"),
        ({"frequency": "minute", "interval": 997, "schedule": {"hours": [9], "minutes": [0]}}, "2026-01-31T08:00:00Z"),
        # a fire time at the end counts
        ({"frequency": "day", "schedule": {"hours": [5]}, "endTime": "2026-02-01T05:00:00Z"}, "2026-01-31T08:00:00Z"),
        # only now, because it ends before the next fire time: the end was chosen explicitly
        ({"frequency": "month", "schedule": {"monthDays": [31]}, "endTime": "2026-01-15"}, None),
    ],
)
def test_recurrence_that_fires_is_accepted(recurrence, start):
    assert reach(recurrence, start) >= CREATED_AT


LEAP_DAY = {"frequency": "month", "interval": 12, "schedule": {"monthDays": [29], "hours": [9], "minutes": [0]}}


def test_horizon_covers_the_gap_of_leap_days_in_2100():
    fire = reach(LEAP_DAY, start="2096-02-29T09:00:00Z", created_at=utc("2096-02-29T10:00Z"))

    assert fire == utc("2104-02-29T09:00Z")


def test_horizon_is_counted_from_a_future_start():
    fire = reach(LEAP_DAY, start="2096-02-29T10:00:00Z", created_at=utc("2095-01-01T00:00Z"))

    assert fire == utc("2104-02-29T09:00Z")


def test_the_horizon_is_eight_years():
    assert utc("2026-01-01T00:00Z") + HORIZON == utc("2034-01-01T00:00Z")


@given(documents(), instants())
@settings(max_examples=80)
def test_each_accepted_document_takes_few_steps(document, instant):
    """Count executed lines, which do not depend on the machine, from parsing to a preview years ahead."""
    parsed, lines = count_lines(parse, "azure", document, CREATED_AT)
    assert lines < LINES_IN_FIFTY_MILLISECONDS
    try:
        lines = count_lines(refuse_unreachable, parsed, CREATED_AT)[1]
    except WireError:
        assume(False)

    lines += count_lines(parsed.schedule.after, instant)[1]
    lines += count_lines(count, parsed.schedule, CREATED_AT, instant)[1]
    lines += count_lines(lambda: preview(parsed, created_at=CREATED_AT, start=instant, limit=20))[1]
    assert lines < LINES_IN_FIFTY_MILLISECONDS


@pytest.mark.parametrize("start", ["2026-01-01T08:07:00Z", "1999-12-31T08:07:00Z"])
@pytest.mark.parametrize(
    "recurrence",
    [
        {"frequency": "minute", "interval": 997, "schedule": {"hours": [9], "minutes": [0]}},
        {"frequency": "hour", "interval": 997, "schedule": {"hours": [9]}},
        {"frequency": "month", "interval": 17, "schedule": {"monthDays": [-31]}},
        {"frequency": "month", "schedule": FIFTH_FRIDAY},
        {"frequency": "minute", "count": 2147483647},
        {"frequency": "month", "count": 2147483647, "schedule": {"monthDays": [1], "minutes": list(range(60))}},
        {"frequency": "week", "count": 2147483647, "schedule": {"minutes": list(range(60))}},
    ],
)
@pytest.mark.parametrize("window", ["2026-01-01T00:00Z", "2126-01-01T00:00Z", "9000-01-01T00:00Z"])
def test_rare_or_counted_rule_takes_few_steps_in_distant_years(recurrence, start, window):
    parsed = parse("azure", {"startTime": start, "recurrence": recurrence}, CREATED_AT)

    (fires, _), lines = count_lines(lambda: preview(parsed, created_at=CREATED_AT, start=utc(window), limit=10))

    assert len(fires) == 10 or parsed.count
    assert lines < LINES_IN_FIFTY_MILLISECONDS


def test_rule_that_never_fires_is_detected_in_few_steps():
    for recurrence in (
        {"frequency": "month", "interval": 12, "schedule": {"monthDays": [30]}},
        {"frequency": "month", "interval": 12, "schedule": FIFTH_FRIDAY},
        {"frequency": "hour", "interval": 984, "schedule": {"hours": [9]}},
    ):
        document = {"startTime": "2026-02-01T08:00:00Z", "recurrence": recurrence}
        parsed, lines = count_lines(parse, "azure", document, CREATED_AT)

        assert lines + count_lines(parsed.schedule.after, CREATED_AT)[1] < LINES_IN_FIFTY_MILLISECONDS


def count_lines(function, *arguments):
    """Call `function`; return its result and the number of lines that Python executed."""
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return trace

    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        return function(*arguments), lines
    finally:
        sys.settrace(earlier)
