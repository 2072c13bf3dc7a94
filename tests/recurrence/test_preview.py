from datetime import timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recurrence.preview import preview
from recurrence.wire import parse
from tests.recurrence.samples import CREATED_AT, by_day, documents, first, utc

DAILY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "day"}}


def counted(number, **recurrence):
    return {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "day", "count": number} | recurrence}


def preview_of(document, limit=3, **window):
    bounds = {name: utc(text) for name, text in window.items()}
    fires, more = preview(parse("azure", document, CREATED_AT), created_at=CREATED_AT, limit=limit, **bounds)
    return by_day(fires), more


@pytest.mark.parametrize(
    "document, window, expected, more",
    [
        (DAILY, {}, "01-05 08:00, 01-06 08:00, 01-07 08:00", True),
        # after `after`, and from `start` on
        (DAILY, {"after": "2026-01-06T08:00Z"}, "01-07 08:00, 01-08 08:00, 01-09 08:00", True),
        (DAILY, {"start": "2026-01-06T08:00Z"}, "01-06 08:00, 01-07 08:00, 01-08 08:00", True),
        (
            DAILY,
            {"after": "2026-01-06T08:00Z", "start": "2026-01-09T08:00Z"},
            "01-09 08:00, 01-10 08:00, 01-11 08:00",
            True,
        ),
        # up to `end`, which is exclusive
        (DAILY, {"end": "2026-01-07T08:00Z"}, "01-05 08:00, 01-06 08:00", False),
        (DAILY, {"end": "2026-01-07T08:00:01Z"}, "01-05 08:00, 01-06 08:00, 01-07 08:00", False),
        (DAILY, {"end": "2026-01-08T08:00:01Z"}, "01-05 08:00, 01-06 08:00, 01-07 08:00", True),
        (DAILY, {"start": "2026-02-01T00:00Z", "end": "2026-01-01T00:00Z"}, "", False),
        # no fire times before the creation
        ({}, {"start": "2025-01-01T00:00Z"}, "01-01 00:00", False),
        ({}, {"after": "0001-01-01T00:00Z"}, "01-01 00:00", False),
        ({}, {"after": "2026-01-01T00:00Z"}, "", False),
        (counted(2), {}, "01-05 08:00, 01-06 08:00", False),
        (counted(3), {}, "01-05 08:00, 01-06 08:00, 01-07 08:00", False),
        (counted(4), {}, "01-05 08:00, 01-06 08:00, 01-07 08:00", True),
        # a late window of a counted series has the remaining fire times
        (counted(10), {"start": "2026-01-13T00:00Z"}, "01-13 08:00, 01-14 08:00", False),
        (counted(10), {"after": "2026-01-14T08:00Z"}, "", False),
        (counted(10), {"start": "2036-01-13T00:00Z"}, "", False),
        # fire times before the creation do not use up the count
        (counted(2) | {"startTime": "2020-01-05T08:00:00Z"}, {}, "01-01 08:00, 01-02 08:00", False),
        # count and end: the first limit applies
        (counted(2, endTime="2026-02-01"), {}, "01-05 08:00, 01-06 08:00", False),
        (counted(9, endTime="2026-01-06T08:00:00Z"), {}, "01-05 08:00, 01-06 08:00", False),
        # a run at creation counts
        (
            {"recurrence": {"frequency": "day", "count": 2, "schedule": {"hours": 5}}},
            {},
            "01-01 00:00 05:00",
            False,
        ),
    ],
)
def test_preview_has_the_fire_times_of_its_window(document, window, expected, more):
    assert preview_of(document, **window) == (expected, more)


def test_preview_with_limit_zero_says_if_there_are_more():
    assert preview_of(DAILY, limit=0) == ("", True)
    assert preview_of(DAILY, limit=0, end="2026-01-05T08:00Z") == ("", False)


@given(documents(), st.integers(0, 400), st.integers(0, 9))
@settings(max_examples=60)
def test_preview_of_a_late_window_is_part_of_the_whole_series(document, skipped, limit):
    parsed = parse("azure", document, CREATED_AT)
    series = first(parsed.count or 420, parsed.schedule)
    assume(series)
    start = series[skipped] if skipped < len(series) else series[-1] + timedelta(microseconds=1)

    fires, more = preview(parsed, created_at=CREATED_AT, start=start, limit=limit)

    remaining = [fire for fire in series if fire >= start]
    if parsed.count is not None or skipped + limit < len(series):
        assert fires == remaining[:limit]
        assert more == (len(remaining) > limit)
