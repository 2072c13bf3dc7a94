"""Crontab lines: tables for the grammar, and comparison of fire times with cronsim, which follows Debian's cron."""

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.bits import members
from recurrence.wire import WireError, crontab
from recurrence.wire.crontab import parse_line
from tests.recurrence.samples import CREATED_AT, by_day, first, instants


def fires(expression, number=4, zone=None):
    return fires_of({"expression": expression, "timeZone": zone}, number)


def fires_of(definition, number):
    return first(number, crontab.parse(definition, CREATED_AT).schedule, CREATED_AT)


@pytest.mark.parametrize(
    "line, field, numbers",
    [
        ("* * * * *", "minutes", [*range(60)]),
        ("*/15 * * * *", "minutes", [0, 15, 30, 45]),
        ("*/45 * * * *", "minutes", [0, 45]),
        ("*/90 * * * *", "minutes", [0]),  # a step larger than the field leaves only its first value
        ("5-20/5 * * * *", "minutes", [5, 10, 15, 20]),
        ("1,2,40-42 * * * *", "minutes", [1, 2, 40, 41, 42]),
        ("08 * * * *", "minutes", [8]),
        ("0 9-17 * * *", "hours", [*range(9, 18)]),
        ("0 0 1,15,31 * *", "month_days", [1, 15, 31]),
        ("0 0 * JAN,jul *", "months", [1, 7]),
        ("0 0 * Nov-dec *", "months", [11, 12]),
        ("0 0 * * 0", "weekdays", [0]),
        ("0 0 * * 7", "weekdays", [0]),
        ("0 0 * * 5-7", "weekdays", [0, 5, 6]),
        ("0 0 * * 0-7", "weekdays", [*range(7)]),
        ("0 0 * * */2", "weekdays", [0, 2, 4, 6]),
        ("0 0 * * mon-Fri", "weekdays", [1, 2, 3, 4, 5]),
        ("0 0 * * sun,sat", "weekdays", [0, 6]),
        (" \t0  0\t* * 1 ", "weekdays", [1]),
        ("@weekly", "weekdays", [0]),
        ("@Hourly", "hours", [*range(24)]),
    ],
)
def test_field_is_parsed_to_a_set_of_numbers(line, field, numbers):
    assert [*members(getattr(parse_line(line), field))] == numbers


@pytest.mark.parametrize(
    "line, days",
    [
        ("0 0 13 * FRI", "01-02 00:00, 01-09 00:00, 01-13 00:00, 01-16 00:00"),  # one of both fields must match
        ("0 0 13 * *", "01-13 00:00, 02-13 00:00, 03-13 00:00, 04-13 00:00"),
        ("0 0 * * FRI", "01-02 00:00, 01-09 00:00, 01-16 00:00, 01-23 00:00"),
        (
            "0 0 */2 * FRI",
            "01-09 00:00, 01-23 00:00, 02-13 00:00, 02-27 00:00",
        ),  # one field starts with a star, so both must match
        ("0 0 13 * */5", "02-13 00:00, 03-13 00:00, 09-13 00:00, 11-13 00:00"),
        (
            "0 0 1-31 * FRI",
            "01-01 00:00, 01-02 00:00, 01-03 00:00, 01-04 00:00",
        ),  # no star, so one of both must match: every day
        ("0 0 31 * *", "01-31 00:00, 03-31 00:00, 05-31 00:00, 07-31 00:00"),
        ("30 8 29 2 *", "02-29 08:30, 02-29 08:30, 02-29 08:30, 02-29 08:30"),
        ("@yearly", "01-01 00:00, 01-01 00:00, 01-01 00:00, 01-01 00:00"),
    ],
)
def test_day_fields_are_combined_as_in_vixie_cron(line, days):
    assert by_day(fires(line)) == days


@pytest.mark.parametrize(
    "line, day",
    [
        # New York skips 02:00-03:00 on 2026-03-08, at 07:00Z
        ("30 2 8 3 *", "2026-03-08T07:00:00+00:00"),
        ("*/30 2 8 3 *", "2026-03-08T07:00:00+00:00"),  # the same for an interval, unlike in Debian's cron
        # and repeats 01:00-02:00 on 2026-11-01, first at 05:00Z
        ("30 1 1 11 *", "2026-11-01T05:30:00+00:00"),
    ],
)
def test_clock_changes_follow_the_rule_of_cronos(line, day):
    assert fires(line, 1, "America/New_York")[0].isoformat() == day


def test_interval_fires_in_both_passes_of_a_repeated_hour():
    found = fires("*/30 1 1 11 *", 4, "Eastern Standard Time")

    assert by_day(found) == "11-01 05:00 05:30 06:00 06:30"


@pytest.mark.parametrize(
    "line, text",
    [
        ("", "must have 5 fields"),
        ("* * * *", "not 4"),
        ("0 * * * * *", "not 6"),
        ("0 15 10 ? * 6L", "not 6"),
        ("60 * * * *", "minute must be numbers from 0 to 59"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day of month"),
        ("* * 32 * *", "day of month"),
        ("* * * 13 *", "month must be numbers from 1 to 12 or names from JAN to DEC"),
        ("* * * * 8", "day of week"),
        ("* * * january *", "month"),
        ("* * * * MONDAY", "day of week"),
        ("* * JAN * *", "day of month"),
        ("* * ? * MON", "day of month"),
        ("* * L * *", "day of month"),
        ("* * 15W * *", "day of month"),
        ("* * * * 6L", "day of week"),
        ("* * * * 6#3", "day of week"),
        ("5/15 * * * *", "steps of a range, such as 5-59/n"),  # some implementations run it only at 5
        ("*/0 * * * *", "steps of 1 or more"),
        ("20-10 * * * *", "begin with the lower number"),
        ("0 0 * * FRI-SUN", "where Sunday is 7"),
        ("1,,2 * * * *", "minute"),
        ("1, * * * *", "minute"),
        ("*-5 * * * *", "minute"),
        ("*5 * * * *", "minute"),
        ("-1 * * * *", "minute"),
        ("1.5 * * * *", "minute"),
        ("٣ * * * *", "ASCII"),
        ("0\n0 * * *", "not 4"),
        ("* " * 200, "at most 256"),
        ("@reboot", "no time"),
        ("@noon", "not 1"),
    ],
)
def test_invalid_line_is_refused_with_a_message(line, text):
    with pytest.raises(WireError) as caught:
        parse_line(line)

    assert caught.value.path == "expression"
    assert text in caught.value.message


@pytest.mark.parametrize("value, code", [(None, "required"), (5, "invalid"), (["* * * * *"], "invalid")])
def test_line_must_be_text(value, code):
    with pytest.raises(WireError) as caught:
        crontab.parse({"expression": value}, CREATED_AT)

    assert caught.value.code == code


def test_unknown_zone_of_a_line_is_refused():
    with pytest.raises(WireError) as caught:
        crontab.parse({"expression": "* * * * *", "timeZone": "Mars"}, CREATED_AT)

    assert caught.value.path == "timeZone"


def test_line_that_never_fires_gets_a_warning():
    assert crontab.parse({"expression": "0 0 30 2 *"}, CREATED_AT).warnings == ("It will not fire again.",)


@pytest.mark.parametrize(
    "line, canonical",
    [
        ("*/15 9-17 * * MON-FRI", "*/15 9-17 * * 1-5"),
        ("0,15,30,45 9 1,2,3 JAN *", "0,15,30,45 9 1-3 1 *"),  # fixed times stay fixed times, also at clock changes
        ("0-59 0 * * 0-6", "* 0 * * *"),
        ("5-5 3 * * 7", "5 3-3 * * 0"),  # an interval stays an interval
        ("0 0 1-31 * FRI", "0 0 * * *"),
        ("0 0 2-30/2 * 1,2", "0 0 2-30/2 * 1,2"),
        ("0 0 1-31/2 * 1", "0 0 1-31/2 * 1"),  # without a star: one field must match
        ("0 0 */2 * 1", "0 0 */2 * 1"),  # with a star: both must match
        ("0 0 */10,15 * 1", "0 0 */31,11,15,21,31 * 1"),
        ("0 0 2 * */3,1,2", "0 0 2 * */7,1-3,6"),
        ("@daily", "0 0 * * *"),
    ],
)
def test_parsed_line_has_a_canonical_text(line, canonical):
    assert str(parse_line(line)) == canonical
    assert parse_line(canonical) == parse_line(line)


@pytest.mark.parametrize(
    "line, rendered",
    [
        (" */15\t9-17  * jan mon-Fri ", "*/15 9-17 * JAN MON-FRI"),
        ("0 0 */10,15 * 7", "0 0 */10,15 * 7"),
        ("@Daily", "@daily"),
    ],
)
def test_line_is_rendered_as_it_was_written(line, rendered):
    assert crontab.render({"expression": line, "colour": 1}) == {"expression": rendered}
    assert parse_line(rendered) == parse_line(line)


def test_definition_has_zone_clock_change_and_bounds():
    definition = {
        "expression": "30 2 * * *",
        "timeZone": "eastern standard time",
        "clockChange": {"gap": "shift"},
        "startTime": "2026-03-08T03:00:00-04:00",
        "endTime": "2026-03-09T06:30:00Z",
    }

    assert by_day(fires_of(definition, 9)) == "03-08 07:30, 03-09 06:30"
    assert crontab.render(definition) == definition | {
        "timeZone": "America/New_York",
        "clockChange": {"gap": "shift", "repeat": "first"},
        "startTime": "2026-03-08T07:00:00Z",
    }


def test_equal_lines_have_equal_schedules():
    schedules = {
        crontab.parse({"expression": line}, CREATED_AT).schedule for line in ("0 0 1 * 1,5", "00 0 1 * MON,FRI")
    }

    assert len(schedules) == 1


def numbers(low, high, names=()):
    values = [str(number) for number in range(low, high + 1)] + list(names)
    ends = st.tuples(st.integers(low, high), st.integers(low, high)).filter(lambda two: two[0] < two[1])
    ranges = ends.map(lambda two: f"{two[0]}-{two[1]}")  # cronsim treats 5-5/n as 5/n
    stepped = st.tuples(st.just("*") | ranges, st.integers(1, high)).map(lambda two: f"{two[0]}/{two[1]}")
    item = st.sampled_from(values) | ranges | stepped
    return st.just("*") | st.lists(item, min_size=1, max_size=3).map(",".join)


lines = st.tuples(
    numbers(0, 59),
    numbers(0, 23),
    numbers(1, 31),
    numbers(1, 12, crontab.MONTH.names),
    numbers(0, 7, crontab.DAY_OF_WEEK.names),
).map(" ".join)


@given(lines)
def test_canonical_form_of_a_line_has_the_same_meaning(text):
    line = parse_line(text)

    assert parse_line(str(line)) == line
    assert str(parse_line(str(line))) == str(line)


@settings(max_examples=300)
@given(lines, instants(years=3))
def test_fire_times_equal_those_of_cronsim(text, instant):
    schedule = crontab.parse({"expression": text}, CREATED_AT).schedule
    instant = instant.replace(second=0)
    cronsim_fires = CronSim(text, instant)

    fire = instant
    for _ in range(10):
        fire = schedule.after(fire)
        try:
            expected = next(cronsim_fires)
        except StopIteration:  # cronsim stops after fifty years
            return
        assert fire == expected
