"""Simple triggers of Quartz."""

from datetime import timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence.describe import describe
from recurrence.wire import WireError, parse, refuse_unreachable, render
from tests.recurrence.samples import CREATED_AT, instants, utc, walk

START = utc("2026-01-05T08:00:00Z")
HOUR = 3_600_000  # milliseconds
EPOCH = utc("1970-01-01T00:00:00Z")


def fires(definition, created_at=CREATED_AT, limit=5):
    return list(islice(walk(parse("simple", definition, created_at).schedule, created_at), limit))


@pytest.mark.parametrize(
    "definition, hours",
    [
        ({}, [0]),
        ({"repeatCount": 0}, [0]),
        ({"repeatCount": 0, "interval": HOUR}, [0]),
        ({"interval": HOUR}, [0, 1, 2, 3, 4]),  # without a count, it repeats without a limit
        ({"interval": HOUR, "repeatCount": -1}, [0, 1, 2, 3, 4]),
        ({"interval": HOUR, "repeatCount": 2}, [0, 1, 2]),  # two more times
        ({"interval": HOUR, "repeatCount": 9, "endTime": "2026-01-05T10:00:00Z"}, [0, 1]),  # the end is exclusive
        ({"interval": HOUR, "endTime": "2026-01-05T10:00:00.001Z"}, [0, 1, 2]),
        ({"interval": HOUR, "endTime": "2026-01-05T08:00:00.001Z"}, [0]),
        ({"interval": 90 * 60_000, "repeatCount": 2}, [0, 1.5, 3]),
        ({"interval": 1, "repeatCount": 0}, [0]),
        ({"endTime": "2026-01-05T09:00:00Z"}, [0]),
        # null and an empty text mean no value, as in a published trigger
        ({"interval": None, "repeatCount": "", "endTime": ""}, [0]),
        ({"interval": str(HOUR), "repeatCount": "1"}, [0, 1]),
    ],
)
def test_simple_trigger_fires_at_its_start_and_interval(definition, hours):
    found = fires({"startTime": "2026-01-05T08:00:00Z"} | definition)

    assert found == [START + timedelta(hours=hour) for hour in hours]


@pytest.mark.parametrize(
    "start, at",
    [
        ("2026-01-05T08:00:00Z", START),
        ("2026-01-05T09:00:00+01:00", START),
        ("2026-01-05T08:00", START),  # without an offset, the time is in UTC
        (1767600000000, START),
        ("1767600000000", START),
        (1767600000123, START + timedelta(milliseconds=123)),
    ],
)
def test_start_may_be_in_iso_8601_or_milliseconds(start, at):
    assert fires({"startTime": start}) == [at]


def test_simple_trigger_without_a_start_fires_immediately():
    created_at = CREATED_AT + timedelta(microseconds=123_456)

    assert fires({"interval": HOUR}, created_at, 2) == [created_at, created_at + timedelta(hours=1)]


def test_simple_trigger_ignores_clock_changes():
    daily = fires({"startTime": "2026-03-28T01:30:00Z", "interval": 24 * HOUR})

    assert {later - earlier for earlier, later in pairwise(daily)} == {timedelta(days=1)}


@pytest.mark.parametrize(
    "definition",
    [{"startTime": "1372916749000"}, {"startTime": "2013-07-04", "interval": HOUR, "repeatCount": 3}],
)
def test_ended_simple_trigger_gets_a_warning(definition):
    parsed = parse("simple", definition, CREATED_AT)

    assert parsed.warnings == ("It will not fire again.",)
    assert parsed.schedule.after(CREATED_AT) is None
    refuse_unreachable(parsed, CREATED_AT)


def test_simple_trigger_with_a_past_start_continues():
    (first, second) = fires({"startTime": "2013-07-04T05:45:49Z", "interval": HOUR}, limit=2)

    assert (first, second) == (utc("2026-01-01T00:45:49Z"), utc("2026-01-01T01:45:49Z"))


@pytest.mark.parametrize(
    "definition, path, code",
    [
        ({"startTime": "soon"}, "startTime", "invalid"),
        ({"startTime": 1.5}, "startTime", "invalid"),
        ({"startTime": True}, "startTime", "invalid"),
        ({"startTime": []}, "startTime", "invalid"),
        ({"startTime": 10**15}, "startTime", "out_of_range"),
        ({"startTime": -(10**14)}, "startTime", "out_of_range"),
        ({"startTime": "9" * 15}, "startTime", "out_of_range"),
        ({"startTime": "2026-02-30"}, "startTime", "out_of_range"),
        ({"startTime": "2026-01-05", "endTime": "2026-01-05"}, "endTime", "out_of_range"),
        ({"endTime": "2025-01-01"}, "endTime", "out_of_range"),
        ({"interval": 0}, "interval", "out_of_range"),
        ({"interval": -1}, "interval", "out_of_range"),
        ({"interval": 10**13}, "interval", "out_of_range"),
        ({"interval": "PT1H"}, "interval", "invalid"),
        ({"interval": 1.0}, "interval", "invalid"),
        ({"repeatCount": 3}, "interval", "required"),
        ({"repeatCount": -1}, "interval", "required"),
        ({"interval": HOUR, "repeatCount": -2}, "repeatCount", "out_of_range"),
        ({"interval": HOUR, "repeatCount": 2**31}, "repeatCount", "out_of_range"),
        ({"interval": HOUR, "repeatCount": "many"}, "repeatCount", "invalid"),
    ],
)
def test_invalid_member_of_a_simple_trigger_is_refused_with_its_path(definition, path, code):
    with pytest.raises(WireError) as caught:
        parse("simple", definition, CREATED_AT)

    assert (caught.value.path, caught.value.code) == (path, code)


def test_unknown_member_of_a_simple_trigger_gets_a_warning():
    assert parse("simple", {"colour": "red", "size": None}, CREATED_AT).warnings == (
        "'colour' is not known here and is ignored",
    )


@pytest.mark.parametrize(
    "definition, canonical",
    [
        ({}, {}),
        ({"startTime": "1767600000000", "endTime": None}, {"startTime": "2026-01-05T08:00:00Z"}),
        ({"interval": "5", "repeatCount": "-1", "colour": 1}, {"interval": 5, "repeatCount": -1}),
        ({"endTime": 1767600000123}, {"endTime": "2026-01-05T08:00:00.123000Z"}),
    ],
)
def test_simple_trigger_is_rendered_in_canonical_form(definition, canonical):
    assert render("simple", definition) == canonical


def test_invalid_simple_trigger_is_not_rendered():
    with pytest.raises(WireError):
        render("simple", {"startTime": "2026-01-05", "endTime": "2026-01-04"})


@pytest.mark.parametrize(
    "definition, words",
    [
        ({"startTime": START.isoformat()}, "once on 5 January 2026 at 08:00 UTC"),
        ({"startTime": START.isoformat(), "interval": HOUR}, "every hour at :00 UTC"),
        (
            {"startTime": START.isoformat(), "interval": 5_400_000, "repeatCount": 2},
            "every 90 minutes from 5 January 2026 at 08:00 UTC, until 5 January 2026 at 11:00 UTC",
        ),
    ],
)
def test_simple_trigger_is_described(definition, words):
    assert describe(parse("simple", definition, CREATED_AT)) == words


@st.composite
def definitions(draw):
    definition = {}
    if draw(st.booleans()):
        definition["startTime"] = draw(st.integers(0, 2 * 10**12)) if draw(st.booleans()) else "2026-01-05T08:00:00Z"
    if draw(st.booleans()):
        definition["interval"] = draw(st.integers(1, 10**11))
        definition["repeatCount"] = draw(st.integers(-1, 50))
    if draw(st.booleans()):
        definition["endTime"] = draw(st.integers(2 * 10**12 + 1, 3 * 10**12))
    return definition


@given(definitions(), instants())
def test_next_fire_time_of_a_simple_trigger_equals_arithmetic(definition, instant):
    """The expected time is computed from the definition, without the engine."""
    start = definition.get("startTime")
    first = START if isinstance(start, str) else CREATED_AT if start is None else EPOCH + timedelta(milliseconds=start)
    step = timedelta(milliseconds=definition.get("interval") or 1)
    repeats = definition.get("repeatCount", 0)
    number = max(0, (instant - first) // step + 1)
    expected = first + number * step if repeats == -1 or number <= repeats else None
    if expected and "endTime" in definition and expected >= EPOCH + timedelta(milliseconds=definition["endTime"]):
        expected = None

    assert parse("simple", definition, CREATED_AT).schedule.after(instant) == expected


@given(definitions())
def test_canonical_form_of_a_simple_trigger_has_the_same_meaning(definition):
    rendered = render("simple", definition)

    assert parse("simple", rendered, CREATED_AT).schedule == parse("simple", definition, CREATED_AT).schedule
    assert render("simple", rendered) == rendered
