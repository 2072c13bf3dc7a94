"""The published table of start times, recorded responses of the live service, count and end."""

import pytest

from recurrence.wire import parse
from tests.recurrence.samples import first, utc, walk

NOW = "2015-04-08T13:00:00Z"  # a Wednesday; the current time of the published example

EVERY_TWO_DAYS = {"frequency": "day", "interval": 2}
MONTHLY = {"frequency": "month"}
AT_FIVE = {"frequency": "day", "schedule": {"hours": [5], "minutes": [0]}}


def fires(start, recurrence, number=3, created_at=NOW):
    document = {"startTime": start, "recurrence": recurrence}
    found = first(number, parse("azure", document, utc(created_at)).schedule)
    return ", ".join(fire.isoformat().removesuffix(":00+00:00") for fire in found)


@pytest.mark.parametrize(
    "start, recurrence, expected",
    [
        (None, None, "2015-04-08T13:00"),
        (None, EVERY_TWO_DAYS, "2015-04-08T13:00, 2015-04-10T13:00, 2015-04-12T13:00"),
        (None, MONTHLY, "2015-04-08T13:00, 2015-05-08T13:00, 2015-06-08T13:00"),
        # now, and afterwards by the schedule
        (None, AT_FIVE, "2015-04-08T13:00, 2015-04-09T05:00, 2015-04-10T05:00"),
        ("2015-04-07T14:00Z", None, "2015-04-08T13:00"),
        ("2015-04-07T14:00Z", EVERY_TWO_DAYS, "2015-04-09T14:00, 2015-04-11T14:00, 2015-04-13T14:00"),
        ("2015-04-05T14:00Z", EVERY_TWO_DAYS, "2015-04-09T14:00, 2015-04-11T14:00, 2015-04-13T14:00"),
        ("2015-04-01T14:00Z", EVERY_TWO_DAYS, "2015-04-09T14:00, 2015-04-11T14:00, 2015-04-13T14:00"),
        ("2014-12-31T14:00Z", MONTHLY, "2015-05-31T14:00, 2015-07-31T14:00, 2015-08-31T14:00"),
        ("2015-04-07T14:00Z", AT_FIVE, "2015-04-09T05:00, 2015-04-10T05:00, 2015-04-11T05:00"),
        ("2015-04-20T14:00Z", None, "2015-04-20T14:00"),
        ("2015-04-20T14:00Z", EVERY_TWO_DAYS, "2015-04-20T14:00, 2015-04-22T14:00, 2015-04-24T14:00"),
        ("2015-04-30T14:00Z", MONTHLY, "2015-04-30T14:00, 2015-05-30T14:00, 2015-06-30T14:00"),
        # no fire times before the start, even if they match the schedule
        ("2015-04-20T14:00Z", AT_FIVE, "2015-04-21T05:00, 2015-04-22T05:00, 2015-04-23T05:00"),
        ("2015-04-20T05:00Z", AT_FIVE, "2015-04-20T05:00, 2015-04-21T05:00, 2015-04-22T05:00"),
        # exactly now
        (NOW, None, "2015-04-08T13:00"),
        (NOW, EVERY_TWO_DAYS, "2015-04-08T13:00, 2015-04-10T13:00, 2015-04-12T13:00"),
        # a fire time exactly now is due
        ("2015-04-06T13:00Z", EVERY_TWO_DAYS, "2015-04-08T13:00, 2015-04-10T13:00, 2015-04-12T13:00"),
        ("2015-03-08T13:00Z", MONTHLY, "2015-04-08T13:00, 2015-05-08T13:00, 2015-06-08T13:00"),
    ],
)
def test_published_table_of_start_times(start, recurrence, expected):
    assert fires(start, recurrence) == expected


@pytest.mark.parametrize(
    "start, recurrence, created_at, expected",
    [
        ("2015-07-13T00:00Z", {"frequency": "week"}, "2016-03-30T19:36Z", "2016-04-04T00:00"),
        ("2015-07-13T00:00Z", {"frequency": "day"}, "2016-03-30T19:36Z", "2016-03-31T00:00"),
        (
            "2015-07-13T00:00Z",
            {
                "frequency": "week",
                "schedule": {"weekDays": ["monday"], "hours": [5, 10, 15, 20], "minutes": [0, 10, 20, 30, 40, 50]},
            },
            "2016-03-30T19:36Z",
            "2016-04-04T05:00",
        ),
        (
            "2015-07-13T00:00Z",
            {
                "frequency": "month",
                "schedule": {
                    "minutes": [0],
                    "hours": [5],
                    "monthlyOccurrences": [{"day": "monday", "occurrence": 1}, {"day": "friday", "occurrence": 1}],
                },
            },
            "2015-08-04T23:14Z",
            "2015-08-07T05:00",
        ),
    ],
)
def test_recorded_responses_of_the_live_service(start, recurrence, created_at, expected):
    assert fires(start, recurrence, 1, created_at) == expected


def test_series_that_started_a_century_ago_keeps_its_interval():
    assert fires("1915-04-07T14:00Z", {"frequency": "day", "interval": 548}, 1) == "2015-10-15T14:00"


def test_start_is_converted_to_utc_before_the_schedule_is_applied():
    weekly = {"frequency": "week", "schedule": {"hours": [5]}}

    # 01:30 on Monday the 13th at +02:00 is 23:30 on Sunday the 12th in UTC
    assert fires("2015-04-13T01:30:00+02:00", weekly, 2) == "2015-04-19T05:30, 2015-04-26T05:30"


def test_scheduled_fire_times_have_the_seconds_of_the_start():
    document = {"startTime": "2015-04-08T14:00:07.5Z", "recurrence": AT_FIVE}

    assert first(1, parse("azure", document, utc(NOW)).schedule) == [utc("2015-04-09T05:00:07Z")]


def test_scheduled_fire_times_without_a_start_have_no_seconds():
    created_at = utc("2015-04-08T13:20:07.5Z")
    document = {"recurrence": {"frequency": "day", "schedule": {"hours": [5]}}}

    assert first(2, parse("azure", document, created_at).schedule) == [created_at, utc("2015-04-09T05:20:00Z")]


def test_elapsed_intervals_keep_the_microseconds_of_the_start():
    document = {"startTime": "2015-04-08T14:00:07.1234567Z", "recurrence": {"frequency": "hour"}}

    schedule = parse("azure", document, utc(NOW)).schedule

    assert first(2, schedule) == [utc("2015-04-08T14:00:07.123456Z"), utc("2015-04-08T15:00:07.123456Z")]


def test_months_keep_only_the_seconds_of_the_start():
    document = {"startTime": "2015-04-08T14:00:07.5Z", "recurrence": MONTHLY}

    schedule = parse("azure", document, utc(NOW)).schedule

    assert first(2, schedule) == [utc("2015-04-08T14:00:07Z"), utc("2015-05-08T14:00:07Z")]


@pytest.mark.parametrize("recurrence", [EVERY_TWO_DAYS, MONTHLY, AT_FIVE])
@pytest.mark.parametrize("start", [None, "2015-04-07T13:00Z"])
def test_recurrence_has_no_fire_time_after_its_end(start, recurrence):
    end = utc("2015-07-01T05:00Z")
    document = {"startTime": start, "recurrence": recurrence | {"endTime": "2015-07-01T05:00Z"}}

    fires = list(walk(parse("azure", document, utc(NOW)).schedule, utc(NOW)))

    assert fires
    assert max(fires) <= end


def test_recurrence_includes_a_fire_time_at_its_end():
    document = {"startTime": "2015-04-08T14:00Z", "recurrence": {"frequency": "hour", "endTime": "2015-04-08T16:00Z"}}

    assert len(list(walk(parse("azure", document, utc(NOW)).schedule, utc(NOW)))) == 3


def test_count_does_not_limit_the_schedule_itself():
    document = {"startTime": "2015-04-01T14:00Z", "recurrence": EVERY_TWO_DAYS | {"count": 2, "endTime": "2016-01-01"}}

    parsed = parse("azure", document, utc(NOW))

    assert parsed.count == 2
    assert len(first(5, parsed.schedule)) == 5


def test_one_time_jobs_have_no_count():
    assert parse("azure", {}, utc(NOW)).count is None


def test_equal_documents_are_parsed_to_equal_schedules():
    document = {"startTime": "2015-04-01T14:00Z", "recurrence": AT_FIVE | {"endTime": "2015-05-01"}}

    assert parse("azure", document, utc(NOW)) == parse("azure", dict(document), utc(NOW))


def test_creation_in_another_zone_is_the_same_instant():
    assert parse("azure", {}, utc(NOW)) == parse("azure", {}, utc(NOW).astimezone())
