"""Quartz expressions at clock changes, with the rule of cron and with the rule of Quartz."""

from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from recurrence.schedules import between
from recurrence.wire.quartz import in_zone, parse_expression
from tests.recurrence.samples import utc

NEW_YORK, LONDON, LORD_HOWE = "America/New_York", "Europe/London", "Australia/Lord_Howe"
SAO_PAULO, SANTIAGO, CASABLANCA = "America/Sao_Paulo", "America/Santiago", "Africa/Casablanca"
APIA = "Pacific/Apia"

# New York skips 02:00-03:00 at 07:00Z and repeats 01:00-02:00, from 05:00Z and from 06:00Z
NEW_YORK_SPRING = "2026-03-08T00:00Z", "2026-03-09T00:00Z"
NEW_YORK_AUTUMN = "2026-11-01T00:00Z", "2026-11-02T00:00Z"
# London skips 01:00-02:00 at 01:00Z and repeats 01:00-02:00, from 00:00Z and from 01:00Z
LONDON_SPRING = "2026-03-29T00:00Z", "2026-03-29T12:00Z"
LONDON_AUTUMN = "2026-10-24T23:30Z", "2026-10-25T12:00Z"
# Lord Howe repeats 01:30-02:00, from 14:30Z and 15:00Z, and skips 02:00-02:30 at 15:30Z
LORD_HOWE_AUTUMN = "2026-04-04T12:00Z", "2026-04-05T12:00Z"
LORD_HOWE_SPRING = "2026-10-03T12:00Z", "2026-10-04T12:00Z"
# Sao Paulo repeated 23:00-24:00 on 17 February 2018, from 01:00Z and 02:00Z, and had no midnight on 4 November
SAO_PAULO_AUTUMN = "2018-02-18T00:00Z", "2018-02-18T12:00Z"
SAO_PAULO_SPRING = "2018-11-03T12:00Z", "2018-11-05T00:00Z"
# Santiago repeats 23:00-24:00 on 4 April 2026, from 02:00Z and 03:00Z, and has no midnight on 6 September
SANTIAGO_AUTUMN = "2026-04-05T00:00Z", "2026-04-05T12:00Z"
SANTIAGO_SPRING = "2026-09-05T12:00Z", "2026-09-07T00:00Z"
# Casablanca repeats 02:00-03:00, from 01:00Z and 02:00Z, when Ramadan starts, and skips this hour when it ends
CASABLANCA_AUTUMN = "2025-02-23T00:00Z", "2025-02-23T12:00Z"
CASABLANCA_SPRING = "2025-04-06T00:00Z", "2025-04-06T12:00Z"
APIA_DATE_LINE = "2011-12-30T00:00Z", "2011-12-31T00:00Z"


def fires(text, zone, window, clock_change):
    schedule = in_zone(parse_expression(text), ZoneInfo(zone), clock_change)
    start, end = map(utc, window)
    return ", ".join(fire.strftime("%H:%M") for fire in between(schedule, start, end))


@pytest.mark.parametrize(
    "text, zone, window, by_cron, by_quartz",
    [
        # a skipped fixed time: once at the end of the gap; Quartz skips it
        ("0 30 2 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", ""),
        ("0 0 2 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", ""),
        ("0 0 3 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", "07:00"),
        ("0 30 1 * * ?", LONDON, LONDON_SPRING, "01:00", ""),
        ("0 15 2 * * ?", LORD_HOWE, LORD_HOWE_SPRING, "15:30", ""),
        ("0 0 0 * * ?", SAO_PAULO, SAO_PAULO_SPRING, "03:00", ""),
        ("0 30 0 * * ?", SANTIAGO, SANTIAGO_SPRING, "04:00", ""),
        ("0 30 2 * * ?", CASABLANCA, CASABLANCA_SPRING, "02:00", ""),
        # several skipped times, and one at the end of the gap: once
        ("0 15,45 2 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", ""),
        ("0 0 2,3 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", "07:00"),
        ("0 30 2,3 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00, 07:30", "07:30"),
        # the skipped day decides: it was a Sunday
        ("0 0 0 ? * SUN", SAO_PAULO, SAO_PAULO_SPRING, "03:00", ""),
        # a repeated fixed time: the first instant; Quartz takes the second
        ("0 30 1 * * ?", NEW_YORK, NEW_YORK_AUTUMN, "05:30", "06:30"),
        ("0 0 1 * * ?", NEW_YORK, NEW_YORK_AUTUMN, "05:00", "06:00"),
        ("0 0,20,40 1 * * ?", NEW_YORK, NEW_YORK_AUTUMN, "05:00, 05:20, 05:40", "06:00, 06:20, 06:40"),
        ("0 0 2 * * ?", NEW_YORK, NEW_YORK_AUTUMN, "07:00", "07:00"),
        ("0 30 1 * * ?", LONDON, LONDON_AUTUMN, "00:30", "01:30"),
        ("0 45 1 * * ?", LORD_HOWE, LORD_HOWE_AUTUMN, "14:45", "15:15"),
        ("0 15 1 * * ?", LORD_HOWE, LORD_HOWE_AUTUMN, "14:15", "14:15"),
        ("0 30 23 * * ?", SAO_PAULO, SAO_PAULO_AUTUMN, "01:30", "02:30"),
        ("0 0 0 * * ?", SAO_PAULO, SAO_PAULO_AUTUMN, "03:00", "03:00"),
        ("0 30 23 * * ?", SANTIAGO, SANTIAGO_AUTUMN, "02:30", "03:30"),
        ("0 30 2 * * ?", CASABLANCA, CASABLANCA_AUTUMN, "01:30", "02:30"),
        # an interval: elapsed time across the gap and in both passes; Quartz skips the first pass
        ("0 */30 1-3 * * ?", NEW_YORK, NEW_YORK_SPRING, "06:00, 06:30, 07:00, 07:30", "06:00, 06:30, 07:00, 07:30"),
        (
            "0 */30 0-2 * * ?",
            NEW_YORK,
            NEW_YORK_AUTUMN,
            "04:00, 04:30, 05:00, 05:30, 06:00, 06:30, 07:00, 07:30",
            "04:00, 04:30, 06:00, 06:30, 07:00, 07:30",
        ),
        ("0 0-15/15 1 * * ?", NEW_YORK, NEW_YORK_AUTUMN, "05:00, 05:15, 06:00, 06:15", "06:00, 06:15"),
        ("0 30 */1 ? * SUN", LONDON, ("2026-10-25T00:00Z", "2026-10-25T03:00Z"), "00:30, 01:30, 02:30", "01:30, 02:30"),
        ("0 */10 2 * * ?", LORD_HOWE, LORD_HOWE_SPRING, "15:30, 15:40, 15:50", "15:30, 15:40, 15:50"),
        ("0 */20 1 * * ?", LORD_HOWE, LORD_HOWE_AUTUMN, "14:00, 14:20, 14:40, 15:10", "14:00, 14:20, 15:10"),
        # an interval with all times in the gap: once at the end of the gap, in addition to its other times
        ("0 */30 2 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", ""),
        ("0 15-45/15 2 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", ""),
        ("*/20 30 2 * * ?", NEW_YORK, NEW_YORK_SPRING, "07:00", ""),
        ("0 0 */2 * * ?", NEW_YORK, ("2026-03-08T05:00Z", "2026-03-08T09:00Z"), "05:00, 07:00, 08:00", "05:00, 08:00"),
        ("0 30 1-3 * * ?", NEW_YORK, NEW_YORK_SPRING, "06:30, 07:00, 07:30", "06:30, 07:30"),
        (
            "0 */40 * * * ?", NEW_YORK, ("2026-03-08T06:30Z", "2026-03-08T08:30Z"),
            "06:40, 07:00, 07:40, 08:00",
            "06:40, 07:00, 07:40, 08:00",
        ),
        (
            "30 * * * * ?", NEW_YORK, ("2026-03-08T06:59Z", "2026-03-08T07:02Z"),
            "06:59, 07:00, 07:00, 07:01",
            "06:59, 07:00, 07:01",
        ),
        ("0 */20 1 * * ?", LONDON, LONDON_SPRING, "01:00", ""),
        ("0 0 * * * ?", LORD_HOWE, ("2026-10-03T14:00Z", "2026-10-03T17:00Z"), "14:30, 15:30, 16:00", "14:30, 16:00"),
        ("0 0-25/5 2 * * ?", LORD_HOWE, LORD_HOWE_SPRING, "15:30", ""),
        ("0 */20 0 * * ?", SAO_PAULO, SAO_PAULO_SPRING, "03:00", ""),
        (
            "0 30 */1 * * ?", SAO_PAULO, ("2018-11-04T02:00Z", "2018-11-04T05:00Z"),
            "02:30, 03:00, 03:30, 04:30",
            "02:30, 03:30, 04:30",
        ),
        ("0 */20 0 * * ?", SANTIAGO, SANTIAGO_SPRING, "04:00", ""),
        ("0 30 */6 * * ?", SANTIAGO, ("2026-09-06T00:00Z", "2026-09-06T10:00Z"), "04:00, 09:30", "09:30"),
        ("0 */20 2 * * ?", CASABLANCA, CASABLANCA_SPRING, "02:00", ""),
        # Apia had no 30 December 2011: 29 December, 24:00, was 31 December, 00:00, at 10:00Z
        ("0 30 */6 * * ?", APIA, APIA_DATE_LINE, "04:30, 10:00, 10:30, 16:30, 22:30", "04:30, 10:30, 16:30, 22:30"),
        ("0 0 12 30 12 ?", APIA, APIA_DATE_LINE, "10:00", ""),
        ("0 0 0 * * ?", APIA, APIA_DATE_LINE, "10:00", "10:00"),
        # days, months and years do not make an interval
        ("0 30 1 */1 1-12 ? 2026-2030", NEW_YORK, NEW_YORK_AUTUMN, "05:30", "06:30"),
        ("0 30 2 ? * SAT-SUN", NEW_YORK, NEW_YORK_SPRING, "07:00", ""),
    ],
)  # fmt: skip
def test_fire_times_at_a_clock_change_follow_the_rule(text, zone, window, by_cron, by_quartz):
    assert fires(text, zone, window, "cron") == by_cron
    assert fires(text, zone, window, "quartz") == by_quartz


@pytest.mark.parametrize("clock_change", ["cron", "quartz"])
@pytest.mark.parametrize("text, expected", [("0 30 2 * * ?", "21:00"), ("0 */30 2 * * ?", "20:30, 21:00")])
def test_both_rules_agree_without_clock_changes(text, expected, clock_change):
    assert fires(text, "Asia/Kolkata", ("2026-03-29T00:00Z", "2026-03-30T00:00Z"), clock_change) == expected


def next_fire(text, zone, instant, clock_change="quartz"):
    return in_zone(parse_expression(text), ZoneInfo(zone), clock_change).after(utc(instant))


@pytest.mark.parametrize(
    "text, zone, instant, by_cron, by_quartz",
    [
        # asked in the first pass, Quartz continues in the second
        ("* * * * * ?", NEW_YORK, "2026-11-01T05:10:00Z", "2026-11-01T05:10:01Z", "2026-11-01T06:10:01Z"),
        ("0 30 1 * * ?", NEW_YORK, "2026-11-01T05:40:00Z", "2026-11-02T06:30:00Z", "2026-11-02T06:30:00Z"),
        ("0 */15 * * * ?", NEW_YORK, "2026-11-01T04:45:00Z", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"),
        # except in its last second, because Quartz continues from the next second, which is in the second pass
        ("* * * * * ?", NEW_YORK, "2026-11-01T05:59:58Z", "2026-11-01T05:59:59Z", "2026-11-01T06:59:59Z"),
        ("* * * * * ?", NEW_YORK, "2026-11-01T05:59:59Z", "2026-11-01T06:00:00Z", "2026-11-01T06:00:00Z"),
        ("* * * * * ?", NEW_YORK, "2026-11-01T05:59:59.999Z", "2026-11-01T06:00:00Z", "2026-11-01T06:00:00Z"),
        ("* * * * * ?", NEW_YORK, "2026-11-01T04:59:59Z", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z"),
        ("0 */4 * * * ?", SANTIAGO, "2000-03-12T02:59:59Z", "2000-03-12T03:00:00Z", "2000-03-12T03:00:00Z"),
        # asked in the second pass, a fixed time has already fired
        ("0 30 1 * * ?", NEW_YORK, "2026-11-01T06:10:00Z", "2026-11-02T06:30:00Z", "2026-11-01T06:30:00Z"),
        # a single time in the repeated hour, asked in this hour
        ("29 5 2 23 2 ? 2025", CASABLANCA, "2025-02-23T01:03:00Z", "2025-02-23T01:05:29Z", "2025-02-23T02:05:29Z"),
        ("29 5 2 23 2 ? 2025", CASABLANCA, "2025-02-23T01:10:00Z", None, None),
        # a time that is skipped in each year
        ("0 30 2 ? 3 1#2", NEW_YORK, "2026-01-01T00:00:00Z", "2026-03-08T07:00:00Z", None),
    ],
)  # fmt: skip
def test_next_fire_time_near_a_clock_change_follows_the_rule(text, zone, instant, by_cron, by_quartz):
    assert next_fire(text, zone, instant, "cron") == (by_cron and utc(by_cron))
    assert next_fire(text, zone, instant, "quartz") == (by_quartz and utc(by_quartz))


def test_interval_with_the_rule_of_quartz_skips_a_repeated_hour():
    schedule = in_zone(parse_expression("0 */15 * * * ?"), ZoneInfo(NEW_YORK), "quartz")

    around = between(schedule, utc("2026-11-01T04:30Z"), utc("2026-11-01T06:30Z"))

    assert [f"{fire:%H:%M}" for fire in around] == ["04:30", "04:45", "06:00", "06:15"]


def test_time_that_is_always_skipped_fires_each_year_with_the_rule_of_cron():
    schedule = in_zone(parse_expression("0 30 2 ? 3 1#2"), ZoneInfo(NEW_YORK))

    found = islice(between(schedule, utc("2026-01-01T00:00Z"), utc("2030-01-01T00:00Z")), 9)

    assert [f"{fire:%Y-%m-%d %H:%M}" for fire in found] == [
        "2026-03-08 07:00", "2027-03-14 07:00", "2028-03-12 07:00", "2029-03-11 07:00"
    ]  # fmt: skip


@pytest.mark.parametrize("zone", ["UTC", NEW_YORK, "Asia/Tokyo"])
@pytest.mark.parametrize("clock_change", ["cron", "quartz"])
def test_years_of_an_expression_are_in_local_time(zone, clock_change):
    schedule = in_zone(parse_expression("0 0 0 1 1 ?"), ZoneInfo(zone), clock_change)

    found = list(between(schedule, utc("1960-01-01T00:00Z"), utc("2110-01-01T00:00Z")))

    assert len(found) == 130
    local = [fire.astimezone(ZoneInfo(zone)) for fire in (found[0], found[-1])]
    assert [(wall.year, wall.month, wall.day, wall.hour) for wall in local] == [(1970, 1, 1, 0), (2099, 1, 1, 0)]
