"""Properties of all Quartz expressions, and comparison with two other libraries for the forms they support."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recurrence.schedules import between, count
from recurrence.wire import parse
from recurrence.wire.quartz import in_zone, parse_expression, render
from tests.recurrence.samples import CREATED_AT, instants, utc, walk
from tests.recurrence.wire.quartz_texts import expressions
from tests.recurrence.wire.test_wire import count_lines

ZONES = st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca"])
CLOCK_CHANGES = st.sampled_from(["cron", "quartz"])
EDGES = st.sampled_from(["1969-12-31T00:00Z", "2099-12-30T00:00Z"]).map(utc)
INSTANTS = instants(utc("1971-01-01T00:00Z"), years=130) | st.builds(lambda edge, at: edge + at, EDGES, st.timedeltas(
    timedelta(0), timedelta(days=3)))  # fmt: skip


@given(expressions())
@settings(max_examples=150)
def test_canonical_text_has_the_same_meaning_and_is_stable(text):
    expression = parse_expression(text)

    again = parse_expression(str(expression))

    assert again == expression
    assert str(again) == str(expression)
    assert again.rule == expression.rule
    assert again.is_stepping == expression.is_stepping


@given(expressions(), ZONES, CLOCK_CHANGES)
def test_rendered_definition_is_parsed_to_the_same_schedule(text, zone, clock_change):
    definition = {"expression": text, "timeZone": zone.lower(), "clockChange": clock_change}

    assert parse("quartz", render(definition), CREATED_AT) == parse("quartz", definition, CREATED_AT)


@given(expressions(), ZONES, CLOCK_CHANGES, INSTANTS)
@settings(max_examples=100)
def test_next_fire_time_is_strictly_later_and_in_the_years_of_quartz(text, zone, clock_change, instant):
    schedule = parse("quartz", {"expression": text, "timeZone": zone, "clockChange": clock_change}, CREATED_AT).schedule

    fire = schedule.after(instant)

    if fire is not None:
        assert fire > instant
        assert fire.tzinfo is UTC
        assert fire.microsecond == 0
        assert 1970 <= fire.astimezone(ZoneInfo(zone)).year <= 2099


@given(expressions(), ZONES, CLOCK_CHANGES, INSTANTS, st.integers(1, 40))
@settings(max_examples=40)
def test_between_and_count_agree_with_after(text, zone, clock_change, instant, number):
    schedule = parse("quartz", {"expression": text, "timeZone": zone, "clockChange": clock_change}, CREATED_AT).schedule
    fires = [fire for fire, _ in zip(walk(schedule, instant), range(number), strict=False)]
    assume(fires)

    assert list(between(schedule, instant, fires[-1])) == fires[:-1]
    assert count(schedule, instant, fires[-1]) == len(fires) - 1


@pytest.mark.parametrize(
    "text, zone, clock_change",
    [
        ("0 0 0 30 2 ?", "UTC", "cron"),
        ("0 0 0 ? 2 2#5", "UTC", "cron"),
        ("59 59 23 31 12 ? 2099", "UTC", "cron"),
        ("0 0 0 30 2 ?", "America/New_York", "cron"),
        # skipped in each year
        ("0 30 2 ? 3 1#2", "America/New_York", "quartz"),
        ("0 */30 2 ? 3 1#2", "America/New_York", "cron"),
    ],
)
def test_rare_or_missing_fire_time_is_found_in_few_steps(text, zone, clock_change):
    schedule = parse("quartz", {"expression": text, "timeZone": zone, "clockChange": clock_change}, CREATED_AT).schedule

    assert count_lines(schedule.after, CREATED_AT)[1] < 10_000  # about five milliseconds


# Other libraries


@st.composite
def shared_items(draw, low, high):
    """Draw an item that has the same meaning in Quartz and crontab expressions."""
    first = draw(st.integers(low, high - 1))
    last = draw(st.integers(first + 1, high))  # croniter treats 5-5 as all values
    step = draw(st.integers(1, max(1, (high - low) // 2)))
    form = draw(st.sampled_from(["*", "*/{step}", "{first}", "{first}-{last}", "{first}-{last}/{step}"]))
    return form.format(first=first, last=last, step=step)


def shared_lists(low, high):
    return st.lists(shared_items(low, high), min_size=1, max_size=3).map(",".join)


@st.composite
def shared_expressions(draw):
    """Draw the same expression for Quartz, where Sunday is 1, and for crontab with seconds, where Sunday is 0."""
    second, minute, hour = draw(shared_lists(0, 59)), draw(shared_lists(0, 59)), draw(shared_lists(0, 23))
    month = draw(st.just("*") | shared_lists(1, 12))
    by_day_of_month = draw(st.booleans())
    if by_day_of_month:
        days = draw(shared_lists(1, 31) | st.just("L"))
        return f"{second} {minute} {hour} {days} {month} ?", f"{second} {minute} {hour} {days} {month} *"
    weekdays = draw(st.sets(st.integers(0, 6), min_size=1) | st.tuples(st.integers(0, 6), st.integers(1, 5)))
    quartz_days, crontab_days = (weekday_text(weekdays, sunday) for sunday in (1, 0))
    return f"{second} {minute} {hour} ? {month} {quartz_days}", f"{second} {minute} {hour} * {month} {crontab_days}"


def weekday_text(weekdays, sunday):
    if isinstance(weekdays, tuple):
        return f"{weekdays[0] + sunday}#{weekdays[1]}"
    return ",".join(str(day + sunday) for day in sorted(weekdays))


NEAR_TODAY = instants(utc("2020-01-01T00:00Z"), years=20)
FAR = timedelta(days=5 * 365)  # the other libraries stop early


@given(shared_expressions(), NEAR_TODAY)
@settings(max_examples=120)
def test_next_fire_time_equals_that_of_croniter(texts, instant):
    fire = parse_expression(texts[0]).rule.after(instant)
    assume(fire is not None and fire - instant < FAR)

    assert croniter(texts[1], instant, second_at_beginning=True).get_next(datetime) == fire


@given(shared_expressions(), NEAR_TODAY)
@settings(max_examples=120)
def test_next_fire_time_equals_that_of_cronsim(texts, instant):
    fire = parse_expression(texts[0]).rule.after(instant)
    assume(fire is not None and fire - instant < FAR)

    assert next(CronSim(texts[1], instant)) == fire


@pytest.mark.parametrize("month", range(1, 13))
@pytest.mark.parametrize("year", [2026, 2028])
def test_last_days_equal_those_of_other_libraries(year, month):
    at = datetime(year, month, 1, tzinfo=UTC) - timedelta(seconds=1)

    assert parse_expression("0 0 0 LW * ?").rule.after(at) == next(CronSim("0 0 LW * *", at))
    for weekday in range(7):
        last = parse_expression(f"0 0 0 ? * {weekday + 1}L").rule
        assert last.after(at) == croniter(f"0 0 * * L{weekday}", at).get_next(datetime)


@given(shared_expressions(), st.sampled_from(["Asia/Kolkata", "Asia/Tokyo"]), NEAR_TODAY)
@settings(max_examples=40)
def test_next_fire_time_in_a_zone_without_clock_changes_equals_that_of_croniter(texts, zone, instant):
    zone = ZoneInfo(zone)
    fire = in_zone(parse_expression(texts[0]), zone).after(instant)
    assume(fire is not None and fire - instant < FAR)

    assert croniter(texts[1], instant.astimezone(zone), second_at_beginning=True).get_next(datetime) == fire
