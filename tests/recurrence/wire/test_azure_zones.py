"""Azure recurrences on the clocks of a zone: the extension `timeZone`, with `clockChange` and `endTime`."""

import pytest

from recurrence.describe import describe
from recurrence.schedules import between
from recurrence.wire import WireError, begins_at_creation, parse, parse_for_window, render
from tests.recurrence.samples import CREATED_AT, by_day, first, utc

NEW_YORK = {"timeZone": "America/New_York"}
FEBRUARY = utc("2026-02-01T00:00Z")
SPRING = utc("2026-03-07T12:00Z")  # New York skips 02:00-03:00 on 8 March, at 07:00Z
AUTUMN = utc("2026-10-31T12:00Z")  # and shows 01:00-02:00 twice on 1 November, from 05:00Z on


def azure(frequency, start="2026-03-01T02:30:00", zone="America/New_York", **members):
    own = {name: members.pop(name) for name in [*members] if name in ("clockChange",)}
    limits = {name: members.pop(name) for name in [*members] if name in ("interval", "count")}
    recurrence = {"frequency": frequency, **limits} | ({"schedule": members} if members else {})
    return {"startTime": start, "recurrence": recurrence, "timeZone": zone} | own


def fires(document, since=SPRING, number=3, created_at=FEBRUARY):
    return by_day(first(number, parse("azure", document, created_at).schedule, since))


@pytest.mark.parametrize(
    "document, since, expected",
    [
        # the time of day stays the same when clocks change
        (azure("Day", "2026-03-01T09:00:00"), SPRING, "03-07 14:00, 03-08 13:00, 03-09 13:00"),
        (azure("Day", "2026-03-01T14:00:00Z"), SPRING, "03-07 14:00, 03-08 13:00, 03-09 13:00"),
        (azure("Day", "2026-03-01T09:00:00", interval=2), SPRING, "03-07 14:00, 03-09 13:00, 03-11 13:00"),
        (azure("Week", "2026-03-01T09:00:00"), SPRING, "03-08 13:00, 03-15 13:00, 03-22 13:00"),
        (azure("Week", "2026-03-01T09:00:00", interval=2), SPRING, "03-15 13:00, 03-29 13:00, 04-12 13:00"),
        (azure("Month", "2026-02-07T23:30:00"), SPRING, "03-08 04:30, 04-08 03:30, 05-08 03:30"),
        # days, hours and minutes that are left out are those of the start on the clocks
        (azure("Week", "2026-03-01T23:45:00", weekDays=["Saturday"]), SPRING, "03-08 04:45, 03-15 03:45, 03-22 03:45"),
        (azure("Day", "2026-03-02T03:45:00Z", hours=[1, 3]), SPRING, "03-08 06:45 07:45, 03-09 05:45"),
        (azure("Month", "2026-02-07T23:30:00", monthDays=[-1]), SPRING, "04-01 03:30, 05-01 03:30, 06-01 03:30"),
        # days, weeks and months are those of the clocks: Monday in New York begins at 05:00Z
        (azure("Week", "2026-01-01T00:30:00", weekDays=["Monday"]), SPRING, "03-09 04:30, 03-16 04:30, 03-23 04:30"),
        (
            azure("Month", "2026-01-01T22:00:00", monthlyOccurrences=[{"day": "Friday", "Occurrence": 1}]),
            SPRING,
            "04-04 02:00, 05-02 02:00, 06-06 02:00",
        ),
        # an interval of minutes or hours without a schedule is elapsed time
        (azure("Hour", "2026-03-08T00:30:00", interval=2), SPRING, "03-08 05:30 07:30 09:30"),
        (azure("Minute", "2026-03-08T01:30:00", interval=45), SPRING, "03-08 06:30 07:15 08:00"),
        (azure("Hour", "2026-10-31T23:30:00"), AUTUMN, "11-01 03:30 04:30 05:30"),
        # with a schedule it follows the clocks: every fifth hour of the day
        (
            azure("Hour", "2026-03-08T00:00:00", interval=5, minutes=[0]),
            SPRING,
            "03-08 05:00 09:00 14:00",
        ),
        (
            azure("Minute", "2026-03-01T00:00:00", hours=[2], minutes=[0, 20, 40]),
            SPRING,
            "03-08 07:00, 03-09 06:00 06:20",
        ),
    ],
)
def test_recurrence_follows_the_clocks_of_its_zone(document, since, expected):
    assert fires(document, since) == expected


@pytest.mark.parametrize(
    "clock_change, spring, autumn",
    [
        # each day at 02:30 in spring, and at 01:30 in autumn
        ("cron", "03-08 07:00, 03-09 06:30", "11-01 05:30, 11-02 06:30"),
        ("quartz", "03-09 06:30, 03-10 06:30", "11-01 06:30, 11-02 06:30"),
        ({"gap": "shift", "repeat": "both"}, "03-08 07:30, 03-09 06:30", "11-01 05:30 06:30"),
        ({"gap": "skip", "repeat": "second"}, "03-09 06:30, 03-10 06:30", "11-01 06:30, 11-02 06:30"),
        ({"gap": "next", "repeat": "first"}, "03-08 07:00, 03-09 06:30", "11-01 05:30, 11-02 06:30"),
    ],
)
def test_clock_change_says_what_happens_to_fixed_times(clock_change, spring, autumn):
    spring_fires = fires(azure("Day", clockChange=clock_change), utc("2026-03-07T12:00Z"), 2)
    autumn_fires = fires(azure("Day", "2026-03-01T01:30:00", clockChange=clock_change), AUTUMN, 2)

    assert (spring_fires, autumn_fires) == (spring, autumn)


@pytest.mark.parametrize(
    "document, expected",
    [
        (azure("Hour", minutes=[30]), "11-01 04:30 05:30 06:30 07:30"),
        (azure("Day", minutes=[30]), "11-01 04:30 05:30 06:30 07:30"),  # every hour
        (azure("Minute", hours=[1], interval=30), "11-01 05:00 05:30 06:00 06:30"),
        (azure("Hour", hours=[0, 1, 2], minutes=[30]), "11-01 04:30 05:30 07:30, 11-02 05:30"),  # fixed times
        (azure("Minute", hours=[0, 1, 2], minutes=[30]), "11-01 04:30 05:30 07:30, 11-02 05:30"),
        (azure("Day", hours=[0, 1, 2], minutes=[30]), "11-01 04:30 05:30 07:30, 11-02 05:30"),
    ],
)
def test_recurrence_with_all_hours_or_minutes_is_an_interval(document, expected):
    assert fires(document, utc("2026-11-01T04:00Z"), 4) == expected


def test_every_hour_fires_at_the_end_of_a_gap_on_the_island_of_lord_howe():
    document = azure("Hour", "2026-10-01T00:00:00", zone="Australia/Lord_Howe", minutes=[0])

    assert fires(document, utc("2026-10-03T14:30Z"), 4, utc("2026-09-01T00:00Z")) == "10-03 14:30 15:30 16:00 17:00"


@pytest.mark.parametrize(
    "start, expected",
    [
        ("2026-03-08T02:30:00", "03-08 07:00, 03-09 06:30"),  # clocks skip the start: the gap ends at 07:00Z
        ("2026-03-08T07:00:00Z", "03-08 07:00, 03-09 07:00"),  # 03:00 on the clocks
        ("2026-11-01T01:30:00", "11-01 05:30, 11-02 06:30"),  # clocks show the start twice
    ],
)
def test_start_at_a_clock_change_is_the_first_fire_time(start, expected):
    assert fires(azure("Day", start), CREATED_AT, 2) == expected


def test_schedule_without_a_start_counts_from_its_creation_on_the_clocks():
    created_at = utc("2026-03-07T14:05:06.5Z")
    document = {"recurrence": {"frequency": "Day"}} | NEW_YORK
    planned = {"recurrence": {"frequency": "Day", "schedule": {"hours": [8]}}} | NEW_YORK

    assert begins_at_creation("azure", document)
    assert first(3, parse("azure", document, created_at).schedule, CREATED_AT) == [
        created_at,
        utc("2026-03-08T13:05:06Z"),
        utc("2026-03-09T13:05:06Z"),
    ]
    assert fires(planned, created_at, 3, created_at) == "03-07 14:05, 03-08 12:05, 03-09 12:05"


@pytest.mark.parametrize("place", ["endTime", "recurrence.endTime"])
def test_end_without_an_offset_is_on_the_clocks_and_included(place):
    document = azure("Day", "2026-03-01T09:00:00")
    (document if place == "endTime" else document["recurrence"])["endTime"] = "2026-03-09T09:00:00"

    assert by_day(between(parse("azure", document, CREATED_AT).schedule, SPRING, utc("2027-01-01T00:00Z"))) == (
        "03-07 14:00, 03-08 13:00, 03-09 13:00"
    )


def test_earlier_end_counts():
    document = azure("Day", "2026-03-01T09:00:00") | {"endTime": "2026-03-03T00:00:00"}
    document["recurrence"]["endTime"] = "2026-03-02T00:00:00"

    assert len(list(between(parse("azure", document, CREATED_AT).schedule, CREATED_AT, SPRING))) == 1


@pytest.mark.parametrize(
    "members, path, code",
    [
        ({"timeZone": "Mars"}, "timeZone", "unknown_value"),
        ({"clockChange": {"gap": "jump"}}, "clockChange.gap", "unknown_value"),
        ({"endTime": "2025-01-01"}, "endTime", "out_of_range"),
        ({"startTime": "2026-04-01T00:00:00", "endTime": "2026-03-31T23:59:59"}, "endTime", "out_of_range"),
        ({"startTime": "0001-01-01T00:00:00Z"}, "startTime", "out_of_range"),
        ({"startTime": "9999-12-31T23:59:59"}, "startTime", "out_of_range"),
    ],
)
def test_invalid_member_is_refused_with_its_path(members, path, code):
    with pytest.raises(WireError) as caught:
        parse("azure", azure("Day") | members, CREATED_AT)

    assert (caught.value.path, caught.value.code) == (path, code)


def test_wall_times_stay_wall_times_when_they_are_rendered():
    document = azure("day", "2026-03-08T02:30", clockChange={"repeat": "both"}) | {"endTime": "2026-12-01T00:00:00Z"}
    document["recurrence"]["endTime"] = "2026-11-01T01:30:00"

    rendered = render("azure", document | {"timeZone": "eastern standard time"})

    assert rendered == {
        "startTime": "2026-03-08T02:30:00",
        "recurrence": {"frequency": "Day", "endTime": "2026-11-01T01:30:00"},
        "timeZone": "America/New_York",
        "clockChange": {"gap": "next", "repeat": "both"},
        "endTime": "2026-12-01T00:00:00Z",
    }
    assert render("azure", rendered) == rendered
    assert parse("azure", rendered, CREATED_AT) == parse("azure", document, CREATED_AT)


@pytest.mark.parametrize(
    "recurrence",
    [
        {"frequency": "Minute", "interval": 7},
        {"frequency": "Day", "interval": 3, "count": 5},
        {"frequency": "Week", "schedule": {"weekDays": ["Monday"]}},
        {"frequency": "Month", "endTime": "2027-01-01T08:00:00"},
        {"frequency": "Hour", "interval": 5, "schedule": {"hours": [9]}},
    ],
)
@pytest.mark.parametrize("start", [{}, {"startTime": "2026-01-05T08:00:00.5"}, {"startTime": "2026-01-05T08:00:00Z"}])
def test_recurrence_in_utc_has_the_same_schedule_with_and_without_the_zone(recurrence, start):
    document = {"recurrence": recurrence, **start}

    parsed = parse("azure", document, CREATED_AT)
    in_utc = parse("azure", document | {"timeZone": "Etc/UTC", "clockChange": "quartz"}, CREATED_AT)

    assert in_utc == parsed
    assert render("azure", document | {"timeZone": "UTC"}) == render("azure", document) | {"timeZone": "UTC"}


def test_window_before_the_creation_begins_at_the_start_on_the_clocks():
    document = azure("Day", "2026-03-01T00:00:00", count=3)
    now = utc("2026-04-01T00:00Z")

    _, created_at = parse_for_window("azure", document, None, now, utc("2026-01-01T00:00Z"))

    assert created_at == utc("2026-03-01T05:00Z")


@pytest.mark.parametrize(
    "document, expected",
    [
        (azure("Day"), "every day at 02:30 America/New_York"),
        (azure("Week", interval=2), "every 2 weeks on Sunday at 02:30 America/New_York"),
        (azure("Month", monthDays=[-1], hours=[9]), "every month on the last day at 09:30 America/New_York"),
        (
            azure("Hour", interval=5, hours=[9, 10]),
            "every 5 hours from 1 March 2026 at 02:30 America/New_York, only in the hours 09 and 10",
        ),
        (azure("Minute", interval=90), "every 90 minutes from 1 March 2026 at 02:30 America/New_York"),
        ({"startTime": "2026-03-01T02:30:00"} | NEW_YORK, "once on 1 March 2026 at 02:30 America/New_York"),
    ],
)
def test_recurrence_is_described_on_its_clocks(document, expected):
    assert describe(parse("azure", document, CREATED_AT)) == expected
