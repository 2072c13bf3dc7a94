"""Errors of the Azure format: paths and codes."""

import pytest

from recurrence.wire import WireError, parse
from recurrence.wire.azure import render
from tests.recurrence.samples import CREATED_AT, first, utc, wire

DAILY = {"frequency": "day"}
RANGE = list(range(60))
DEEP = [[[[[[[["deep"]]]]]]]]


def refusal(document, created_at=CREATED_AT):
    with pytest.raises(WireError) as caught:
        parse("azure", document, created_at)
    return caught.value.path, caught.value.code


@pytest.mark.parametrize(
    "start, code",
    [
        (5, "invalid"),
        (True, "invalid"),
        ({}, "invalid"),
        ("", "invalid"),
        ("tomorrow", "invalid"),
        ("2026-01-05T08", "invalid"),
        ("2026-1-5", "invalid"),
        ("20260105T080000Z", "invalid"),
        ("2026-01-05 08:00:00", "invalid"),
        ("2026-01-05T08:00:00.12345678Z", "invalid"),
        ("2026-01-05T08:00:00+0", "invalid"),
        ("2026-01-05T08:00:00+01:60", "invalid"),
        ("2026-01-05T08:00:00Z\n", "invalid"),
        ("٢٠٢٦-01-05", "invalid"),
        ("2026-02-29", "out_of_range"),
        ("2026-01-05T24:00", "out_of_range"),
        ("2026-01-05T08:00:60Z", "out_of_range"),
        ("2026-01-05T08:00+24:00", "out_of_range"),
        ("0000-01-01", "out_of_range"),
        # before the first and after the last instant, after conversion to UTC
        ("0001-01-01T00:00+01:00", "out_of_range"),
        ("9999-12-31T23:59-01:00", "out_of_range"),
        # more than 18 months ahead
        ("2027-07-03T00:00:01Z", "out_of_range"),
    ],
)
def test_invalid_start_time_is_refused(start, code):
    assert refusal({"startTime": start}) == ("startTime", code)


@pytest.mark.parametrize(
    "start, expected",
    [
        ("2026-01-05", "2026-01-05T00:00Z"),
        ("2026-01-05T08:00", "2026-01-05T08:00Z"),
        ("2026-01-05T08:00Z", "2026-01-05T08:00Z"),
        ("2026-01-05t08:00:07z", "2026-01-05T08:00:07Z"),
        ("2026-01-05T08:00:07.5", "2026-01-05T08:00:07.5Z"),
        ("2026-01-05T08:00:07.1234569Z", "2026-01-05T08:00:07.123456Z"),
        ("2026-01-05T08:00:00+01:00", "2026-01-05T07:00Z"),
        ("2026-01-05T08:00:00-0330", "2026-01-05T11:30Z"),
        # exactly 18 months ahead
        ("2027-07-03T00:00:00Z", "2027-07-03T00:00Z"),
    ],
)
def test_valid_start_time_is_parsed(start, expected):
    assert first(1, parse("azure", {"startTime": start}, CREATED_AT).schedule) == [utc(expected)]


@pytest.mark.parametrize(
    "recurrence, path, code",
    [
        ([], "", "invalid"),
        ("daily", "", "invalid"),
        ({}, ".frequency", "required"),
        ({"frequency": None}, ".frequency", "required"),
        ({"frequency": 1}, ".frequency", "invalid"),
        ({"frequency": "year"}, ".frequency", "unknown_value"),
        ({"frequency": "second"}, ".frequency", "unknown_value"),
        ({"frequency": "monthly"}, ".frequency", "unknown_value"),
        ({"frequency": ""}, ".frequency", "unknown_value"),
        (DAILY | {"interval": 0}, ".interval", "out_of_range"),
        (DAILY | {"interval": -1}, ".interval", "out_of_range"),
        (DAILY | {"interval": True}, ".interval", "invalid"),
        (DAILY | {"interval": 5.0}, ".interval", "invalid"),
        (DAILY | {"interval": "5"}, ".interval", "invalid"),
        (DAILY | {"interval": [5]}, ".interval", "invalid"),
        (DAILY | {"interval": 10**5000}, ".interval", "out_of_range"),
        ({"frequency": "minute", "interval": 1001}, ".interval", "out_of_range"),
        ({"frequency": "hour", "interval": 1001}, ".interval", "out_of_range"),
        ({"frequency": "day", "interval": 549}, ".interval", "out_of_range"),
        ({"frequency": "week", "interval": 79}, ".interval", "out_of_range"),
        ({"frequency": "month", "interval": 19}, ".interval", "out_of_range"),
        (DAILY | {"count": 0}, ".count", "out_of_range"),
        (DAILY | {"count": 2147483648}, ".count", "out_of_range"),
        (DAILY | {"count": False}, ".count", "invalid"),
        (DAILY | {"count": "10"}, ".count", "invalid"),
        (DAILY | {"endTime": 1}, ".endTime", "invalid"),
        (DAILY | {"endTime": "never"}, ".endTime", "invalid"),
        (DAILY | {"endTime": "2026-13-01"}, ".endTime", "out_of_range"),
        # the end must be in the future
        (DAILY | {"endTime": "2025-12-31T23:59:59Z"}, ".endTime", "out_of_range"),
        (DAILY | {"endTime": "2026-01-01"}, ".endTime", "out_of_range"),
        (DAILY | {"schedule": []}, ".schedule", "invalid"),
        (DAILY | {"schedule": "5 * * * *"}, ".schedule", "invalid"),
    ],
)
def test_invalid_recurrence_is_refused(recurrence, path, code):
    assert refusal({"recurrence": recurrence}) == (f"recurrence{path}", code)


@pytest.mark.parametrize(
    "frequency, plan, path, code",
    [
        ("day", {"minutes": []}, "minutes", "invalid"),
        ("day", {"minutes": {}}, "minutes", "invalid"),
        ("day", {"minutes": 60}, "minutes", "out_of_range"),
        ("day", {"minutes": -1}, "minutes", "out_of_range"),
        ("day", {"minutes": "15"}, "minutes", "invalid"),
        ("day", {"minutes": True}, "minutes", "invalid"),
        ("day", {"minutes": 15.0}, "minutes", "invalid"),
        ("day", {"minutes": [0, 60]}, "minutes[1]", "out_of_range"),
        ("day", {"minutes": [None]}, "minutes[0]", "invalid"),
        ("day", {"minutes": [0, [15]]}, "minutes[1]", "invalid"),
        ("day", {"minutes": DEEP}, "minutes[0]", "invalid"),
        ("day", {"minutes": RANGE * 17}, "minutes", "out_of_range"),
        ("day", {"hours": 24}, "hours", "out_of_range"),
        ("day", {"hours": [0, 23, 24]}, "hours[2]", "out_of_range"),
        ("day", {"hours": []}, "hours", "invalid"),
        ("day", {"hours": "5"}, "hours", "invalid"),
        ("week", {"weekDays": "funday"}, "weekDays", "unknown_value"),
        ("week", {"weekDays": ["monday", "mon"]}, "weekDays[1]", "unknown_value"),
        ("week", {"weekDays": [1]}, "weekDays[0]", "invalid"),
        ("week", {"weekDays": []}, "weekDays", "invalid"),
        ("month", {"monthDays": 0}, "monthDays", "out_of_range"),
        ("month", {"monthDays": 32}, "monthDays", "out_of_range"),
        ("month", {"monthDays": [-32]}, "monthDays[0]", "out_of_range"),
        ("month", {"monthDays": []}, "monthDays", "invalid"),
        ("month", {"monthDays": "last"}, "monthDays", "invalid"),
        ("month", {"monthlyOccurrences": {"day": "friday"}}, "monthlyOccurrences", "invalid"),
        ("month", {"monthlyOccurrences": []}, "monthlyOccurrences", "invalid"),
        ("month", {"monthlyOccurrences": ["friday"]}, "monthlyOccurrences[0]", "invalid"),
        ("month", {"monthlyOccurrences": [{}]}, "monthlyOccurrences[0].day", "required"),
        ("month", {"monthlyOccurrences": [{"day": None}]}, "monthlyOccurrences[0].day", "required"),
        ("month", {"monthlyOccurrences": [{"day": 5}]}, "monthlyOccurrences[0].day", "invalid"),
        ("month", {"monthlyOccurrences": [{"day": "fri"}]}, "monthlyOccurrences[0].day", "unknown_value"),
        (
            "month",
            {"monthlyOccurrences": [{"day": "friday"}, {"day": "friday", "occurrence": 0}]},
            "monthlyOccurrences[1].occurrence",
            "out_of_range",
        ),
        (
            "month",
            {"monthlyOccurrences": [{"day": "friday", "Occurrence": 6}]},
            "monthlyOccurrences[0].Occurrence",
            "out_of_range",
        ),
        (
            "month",
            {"monthlyOccurrences": [{"day": "friday", "occurrence": "1"}]},
            "monthlyOccurrences[0].occurrence",
            "invalid",
        ),
        (
            "month",
            {"monthlyOccurrences": [{"day": "friday", "Occurrence": 1, "occurrence": 2}]},
            "monthlyOccurrences[0].occurrence",
            "not_allowed",
        ),
        ("month", {"monthlyOccurences": [{"day": "fri"}]}, "monthlyOccurences[0].day", "unknown_value"),
        (
            "month",
            {"monthlyOccurences": [{"day": "friday"}], "monthlyOccurrences": [{"day": "friday"}]},
            "monthlyOccurences",
            "not_allowed",
        ),
        # each element for days is allowed with only one frequency
        ("minute", {"weekDays": ["monday"]}, "weekDays", "not_allowed"),
        ("hour", {"weekDays": ["monday"]}, "weekDays", "not_allowed"),
        ("day", {"weekDays": ["monday"]}, "weekDays", "not_allowed"),
        ("month", {"weekDays": ["monday"]}, "weekDays", "not_allowed"),
        ("week", {"monthDays": [1]}, "monthDays", "not_allowed"),
        ("day", {"monthDays": [1]}, "monthDays", "not_allowed"),
        ("week", {"monthlyOccurrences": [{"day": "friday"}]}, "monthlyOccurrences", "not_allowed"),
        ("day", {"monthlyOccurences": [{"day": "friday"}]}, "monthlyOccurences", "not_allowed"),
        ("month", {"monthDays": [1], "monthlyOccurrences": [{"day": "friday"}]}, "monthlyOccurrences", "not_allowed"),
        ("month", {"months": [1]}, "months", "not_allowed"),
    ],
)
def test_invalid_schedule_is_refused(frequency, plan, path, code):
    document = {"recurrence": {"frequency": frequency, "schedule": plan}}

    assert refusal(document) == (f"recurrence.schedule.{path}", code)


def test_an_end_before_the_start_is_refused():
    document = {"startTime": "2026-06-01", "recurrence": DAILY | {"endTime": "2026-05-31T23:59:59Z"}}

    assert refusal(document) == ("recurrence.endTime", "out_of_range")


def test_an_end_at_the_start_runs_once():
    document = {"startTime": "2026-06-01", "recurrence": DAILY | {"endTime": "2026-06-01"}}

    assert first(2, parse("azure", document, CREATED_AT).schedule) == [utc("2026-06-01T00:00Z")]


@pytest.mark.parametrize(
    "frequency, interval", [("minute", 1000), ("hour", 1000), ("day", 548), ("week", 78), ("month", 18)]
)
def test_the_largest_interval_of_each_frequency_is_accepted(frequency, interval):
    document = {"startTime": "2026-01-01", "recurrence": {"frequency": frequency, "interval": interval}}

    assert len(first(2, parse("azure", document, CREATED_AT).schedule)) == 2


def test_the_largest_count_is_accepted():
    assert parse("azure", {"recurrence": DAILY | {"count": 2147483647}}, CREATED_AT).count == 2147483647


def test_enum_values_ignore_case():
    document = {"recurrence": {"frequency": "WEEK", "schedule": {"weekDays": ["mOnDaY", "FRIDAY"]}}}

    assert render(document)["recurrence"]["schedule"] == {"weekDays": ["Monday", "Friday"]}


def test_lists_may_be_long_and_have_duplicates():
    longest = {"recurrence": DAILY | {"schedule": {"minutes": (RANGE * 17)[:1000]}}}
    shortest = {"recurrence": DAILY | {"schedule": {"minutes": RANGE}}}

    assert parse("azure", longest, CREATED_AT) == parse("azure", shortest, CREATED_AT)


def test_null_members_are_ignored():
    sparse = {"startTime": None, "recurrence": DAILY | dict.fromkeys(("interval", "count", "endTime", "schedule"))}

    assert parse("azure", sparse, CREATED_AT) == parse("azure", {"recurrence": DAILY}, CREATED_AT)
    assert parse("azure", {"recurrence": None}, CREATED_AT) == parse("azure", {}, CREATED_AT)


def test_null_elements_of_a_schedule_are_ignored():
    names = ("minutes", "weekDays", "monthDays", "monthlyOccurrences", "months")
    sparse = {"recurrence": DAILY | {"schedule": {"hours": 5} | dict.fromkeys(names)}}
    plain = {"recurrence": DAILY | {"schedule": {"hours": 5}}}

    assert parse("azure", sparse, CREATED_AT) == parse("azure", plain, CREATED_AT)


def test_unknown_members_are_ignored_with_a_warning():
    occurrence = {"day": "friday", "nth": 1}
    recurrence = {"frequency": "month", "every": 2, "schedule": {"weekdays": [1], "monthlyOccurrences": [occurrence]}}

    parsed = parse("azure", {"recurrence": recurrence}, CREATED_AT)

    assert parsed.warnings == (
        "recurrence: 'every' is not known here and is ignored",
        "recurrence.schedule: 'weekdays' is not known here and is ignored",
        "recurrence.schedule.monthlyOccurrences[0]: 'nth' is not known here and is ignored",
    )
    assert render({"recurrence": recurrence}) == {
        "recurrence": {"frequency": "Month", "schedule": {"monthlyOccurrences": [{"day": "Friday"}]}}
    }


@pytest.mark.parametrize(
    "document, message",
    [
        (
            {"recurrence": {"frequency": "year"}},
            "recurrence.frequency: must be one of minute, hour, day, week, month, not 'year'",
        ),
        ({"recurrence": DAILY | {"interval": 549}}, "recurrence.interval: must be 1 to 548, not 549"),
        (
            {"recurrence": DAILY | {"interval": 10**5000}},
            "recurrence.interval: must be 1 to 548, not a very large number",
        ),
        (
            {"recurrence": DAILY | {"schedule": {"weekDays": ["monday"]}}},
            "recurrence.schedule.weekDays: goes with frequency Week only, not with Day",
        ),
    ],
)
def test_error_message_names_the_refused_and_the_accepted_values(document, message):
    with pytest.raises(WireError) as caught:
        parse("azure", document, CREATED_AT)

    assert str(caught.value) == message


@pytest.mark.parametrize("value", ["x" * 100_000, ["x" * 1000] * 900, 10**4000, {"a" * 9999: DEEP}, "\ud800\0"])
def test_error_message_is_short_and_printable_for_any_value(value):
    for document in (
        {"startTime": value},
        {"recurrence": {"frequency": value}},
        {"recurrence": DAILY | {"count": value}},
    ):
        with pytest.raises(WireError) as caught:
            parse("azure", document, CREATED_AT)
        assert len(str(caught.value)) < 500
        assert str(caught.value).isprintable()


def test_bounds_depend_on_the_time_of_creation():
    created_at = utc("2016-03-30T19:36Z")
    document = {"startTime": "2016-04-01", "recurrence": DAILY | {"endTime": "2016-05-01"}}

    assert first(1, parse("azure", document, created_at).schedule) == [utc("2016-04-01T00:00Z")]
    assert refusal(document, CREATED_AT) == ("recurrence.endTime", "out_of_range")


def test_render_refuses_invalid_documents():
    with pytest.raises(WireError):
        render({"recurrence": DAILY | {"interval": 549}})


def test_render_does_not_depend_on_the_time_of_creation():
    long_over = {"startTime": wire(utc("2001-01-01T00:00Z")), "recurrence": DAILY | {"endTime": "2002-01-01"}}

    assert render(long_over) == {
        "startTime": "2001-01-01T00:00:00Z",
        "recurrence": {"frequency": "Day", "endTime": "2002-01-01T00:00:00Z"},
    }
