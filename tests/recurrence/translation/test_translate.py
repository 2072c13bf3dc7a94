"""Translation of schedules to other formats: tables, and equal fire times of translations without losses."""

from itertools import islice, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.differences import Difference, differences
from recurrence.schedules import just_after
from recurrence.translation import translate
from recurrence.wire import WireError, parse
from tests.recurrence.samples import CREATED_AT, documents, utc, walk
from tests.recurrence.wire.test_crontab import lines

TEN_YEARS = utc("2036-01-01T00:00:00Z")
EARLIER = "2025-06-01T00:00:00Z"
START = "2026-01-01T00:00:00Z"


def cron(expression, zone=None):
    return {"expression": expression} | ({"timeZone": zone} if zone else {})


def azure(frequency, start=EARLIER, **members):
    plan = {name: members.pop(name) for name in [*members] if name not in ("interval", "count", "endTime")}
    recurrence = {"frequency": frequency, **members} | ({"schedule": plan} if plan else {})
    return ({"startTime": start} if start else {}) | {"recurrence": recurrence}


def differ(format, definition, to, translation, limit=5):
    original, translated = parse(format, definition, CREATED_AT), parse(to, translation, CREATED_AT)
    return differences(original, translated, CREATED_AT, TEN_YEARS, limit)


@pytest.mark.parametrize(
    "line, expression",
    [
        ("*/15 9-17 * * MON-FRI", "0 */15 9-17 ? * MON-FRI"),
        ("0 12 * * *", "0 0 12 * * ?"),
        ("* * * * *", "0 * * * * ?"),
        ("0 0 * * 0", "0 0 0 ? * SUN"),
        ("0 0 * * 6,7", "0 0 0 ? * SUN,SAT"),  # weekdays of Quartz start with Sunday as 1, so names are used
        ("0 0 * * 5-7", "0 0 0 ? * SUN,FRI,SAT"),
        ("30 6 1,15 * *", "0 30 6 1,15 * ?"),
        ("0 0 29-31 2 *", "0 0 0 29-31 2 ?"),
        ("0 0 */2 JAN,JUL *", "0 0 0 */2 1,7 ?"),
        ("0 0 1-31 * FRI", "0 0 0 * * ?"),  # one of both day fields must match: every day
        ("@hourly", "0 0 * * * ?"),
    ],
)
def test_crontab_line_is_translated_to_quartz_and_back(line, expression):
    to_quartz = translate("cron", cron(line), "quartz", CREATED_AT)
    back = translate("quartz", to_quartz.definition, "cron", CREATED_AT)

    assert (to_quartz.definition, to_quartz.losses) == ({"expression": expression}, ())
    assert differ("cron", cron(line), "quartz", to_quartz.definition) == []
    assert back.losses == ()
    assert differ("cron", cron(line), "cron", back.definition) == []


@pytest.mark.parametrize(
    "line, expression",
    [
        ("0,15,30,45 1 * * *", "0 0,15,30,45 1 * * ?"),  # fixed times must not become an interval
        ("*/15 1-3 * * *", "0 */15 1-3 * * ?"),
        ("5-5 2 * * *", "0 5 2-2 * * ?"),  # an interval must not become fixed times
        ("30 2 * * *", "0 30 2 * * ?"),
    ],
)
def test_translation_has_the_same_fire_times_at_clock_changes(line, expression):
    translation = translate("cron", cron(line, "Eastern Standard Time"), "quartz", CREATED_AT)

    assert translation.definition == {"expression": expression, "timeZone": "America/New_York"}
    assert differ("cron", cron(line, "America/New_York"), "quartz", translation.definition) == []


@pytest.mark.parametrize(
    "clock_change", ["quartz", {"gap": "skip", "repeat": "both"}, {"gap": "shift", "repeat": "second"}]
)
@pytest.mark.parametrize(
    "line, expression",
    [("30 2 * * *", "0 30 2 * * ?"), ("*/20 * * * *", "0 */20 * * * ?"), ("0 1 * * *", "0 0 1 * * ?")],
)
def test_clock_change_is_translated_to_quartz_and_back(line, expression, clock_change):
    definition = cron(line, "America/New_York") | {"clockChange": clock_change, "endTime": "2030-01-01T00:00:00Z"}

    to_quartz = translate("cron", definition, "quartz", CREATED_AT)
    back = translate("quartz", to_quartz.definition, "cron", CREATED_AT)

    assert (to_quartz.definition, to_quartz.losses) == (definition | {"expression": expression}, ())
    assert (back.definition, back.losses) == (definition, ())
    assert differ("cron", definition, "quartz", to_quartz.definition) == []


@pytest.mark.parametrize(
    "line",
    [
        "30 2 * * *",
        "0,30 1-3 * * *",  # an interval, which Azure can say only with a policy
        "*/20 * * * *",
        "0 */2 * * *",
        "15 1,2 * * SUN",
        "30 2 8 */3 *",
        "5-5 * * * *",
    ],
)
@pytest.mark.parametrize("clock_change", ["cron", "quartz", {"gap": "shift", "repeat": "second"}])
@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe"])
def test_line_in_a_zone_is_translated_to_azure_and_back(line, clock_change, zone):
    definition = cron(line, zone) | {"clockChange": clock_change}

    to_azure = translate("cron", definition, "azure", CREATED_AT)
    back = translate("azure", to_azure.definition, "cron", CREATED_AT)

    assert (to_azure.losses, back.losses) == ((), ())
    assert to_azure.definition["timeZone"] == zone
    assert differ("cron", definition, "azure", to_azure.definition) == []
    assert differ("cron", definition, "cron", back.definition) == []


@pytest.mark.parametrize(
    "document, expression",
    [
        (azure("Day", "2025-06-01T09:30:00"), "0 30 9 * * ?"),
        (azure("Week", "2025-06-01T09:30:00"), "0 30 9 ? * SUN"),
        (azure("Month", "2025-06-01T09:30:07"), "7 30 9 1 * ?"),
        (azure("Hour", "2025-06-01T09:30:00", minutes=[15]), "0 15 * * * ?"),
        (azure("Minute", "2025-06-01T09:30:00", hours=[1, 2], minutes=[15]), "0 15 1,2 * * ?"),
    ],
)
def test_azure_recurrence_in_a_zone_is_translated_to_quartz(document, expression):
    document |= {"timeZone": "America/New_York", "clockChange": {"gap": "shift"}, "endTime": "2030-01-01T00:00:00"}

    translation = translate("azure", document, "quartz", CREATED_AT)

    assert translation.losses == ()
    assert translation.definition == {
        "expression": expression,
        "timeZone": "America/New_York",
        "clockChange": {"gap": "shift", "repeat": "first"},
        "endTime": "2030-01-01T05:00:00Z",
    }
    assert differ("azure", document, "quartz", translation.definition) == []


def test_elapsed_time_is_translated_in_utc():
    document = azure("Minute", "2025-06-01T09:30:00", interval=15) | {"timeZone": "Asia/Kathmandu"}

    translation = translate("azure", document, "quartz", CREATED_AT)

    assert (translation.definition, translation.losses) == ({"expression": "0 */15 * * * ?"}, ())
    assert differ("azure", document, "quartz", translation.definition) == []


@pytest.mark.parametrize(
    "expression, start_time, recurrence",
    [
        (
            "0 15 10 ? * 6L",
            "2026-01-30T10:15:00Z",
            {
                "frequency": "Month",
                "schedule": {
                    "hours": [10],
                    "minutes": [15],
                    "monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}],
                },
            },
        ),
        (
            "0 0 9 ? * MON#2",
            "2026-01-12T09:00:00Z",
            {
                "frequency": "Month",
                "schedule": {"hours": [9], "minutes": [0], "monthlyOccurrences": [{"day": "Monday", "Occurrence": 2}]},
            },
        ),
        (
            "0 0 9 L * ?",
            "2026-01-31T09:00:00Z",
            {"frequency": "Month", "schedule": {"hours": [9], "minutes": [0], "monthDays": [-1]}},
        ),
        (
            "0 0 9 L-3 * ?",
            "2026-01-28T09:00:00Z",
            {"frequency": "Month", "schedule": {"hours": [9], "minutes": [0], "monthDays": [-4]}},
        ),
        (
            "0 0,30 9,17 ? * MON,FRI,SUN",
            "2026-01-02T09:00:00Z",
            {
                "frequency": "Week",
                "schedule": {"weekDays": ["Monday", "Friday", "Sunday"], "hours": [9, 17], "minutes": [0, 30]},
            },
        ),
        ("0 0 12 * * ?", "2026-01-01T12:00:00Z", {"frequency": "Day"}),
        (
            "0 0 12,18 * * ?",
            "2026-01-01T12:00:00Z",
            {"frequency": "Day", "schedule": {"hours": [12, 18], "minutes": [0]}},
        ),
        ("0 30 * * * ?", "2026-01-01T00:30:00Z", {"frequency": "Hour"}),
        ("0 10,20 * * * ?", "2026-01-01T00:10:00Z", {"frequency": "Hour", "schedule": {"minutes": [10, 20]}}),
        ("0 */5 * * * ?", START, {"frequency": "Minute", "interval": 5}),
        ("0 3/5 * * * ?", "2026-01-01T00:03:00Z", {"frequency": "Minute", "interval": 5}),
        ("0 0 0 1 3/3 ?", "2026-03-01T00:00:00Z", {"interval": 3}),
        ("0 0 0 ? 2,8 MON", "2026-02-02T00:00:00Z", {"interval": 6}),
        ("0 0 0 15 7 ?", "2026-07-15T00:00:00Z", {"interval": 12}),
    ],
)
def test_quartz_expression_is_translated_to_azure_and_back(expression, start_time, recurrence):
    to_quartz = translate("quartz", cron(expression), "azure", CREATED_AT)
    back = translate("azure", to_quartz.definition, "quartz", CREATED_AT)

    assert to_quartz.losses == ()
    assert to_quartz.definition["startTime"] == start_time
    assert to_quartz.definition["recurrence"].items() >= recurrence.items()
    assert differ("quartz", cron(expression), "azure", to_quartz.definition) == []
    assert back.losses == ()
    assert differ("quartz", cron(expression), "quartz", back.definition) == []


@pytest.mark.parametrize(
    "document, expression",
    [
        (azure("Week", weekDays=["Monday"], hours=[9], minutes=[0]), "0 0 9 ? * MON"),
        (azure("Week", weekDays=["Sunday", "monday", "Tuesday", "Wednesday"], hours=[9]), "0 0 9 ? * SUN-WED"),
        (azure("Week", "2025-06-03T07:30:05Z"), "5 30 7 ? * TUE"),
        (azure("Day", "2025-06-03T07:30:05Z"), "5 30 7 * * ?"),
        (azure("Day", interval=7), "0 0 0 ? * SUN"),  # 2025-06-01 was a Sunday
        (azure("Day", minutes=[0, 30]), "0 */30 * * * ?"),  # minutes without hours run in each hour
        (azure("Hour", interval=6), "0 0 */6 * * ?"),
        (azure("Hour", "2025-06-01T05:10:00Z", interval=12), "0 10 5,17 * * ?"),
        (azure("Hour", interval=24), "0 0 0 * * ?"),
        (azure("Hour", interval=2, hours=[9, 10, 11, 12]), "0 0 10,12 * * ?"),
        (azure("Hour", minutes=[15], hours=[9]), "0 15 9 * * ?"),
        (azure("Minute", interval=20), "0 */20 * * * ?"),
        (azure("Minute", interval=120), "0 0 */2 * * ?"),
        (azure("Minute", interval=10, minutes=[0, 5, 10]), "0 0,10 * * * ?"),
        (azure("Minute", interval=60, minutes=[0, 30]), "0 0 * * * ?"),
        (azure("Minute", hours=[9]), "0 * 9 * * ?"),
        (azure("Month", "2025-06-15T08:00:00Z"), "0 0 8 15 * ?"),
        (azure("Month", monthDays=[1, 15], hours=[8]), "0 0 8 1,15 * ?"),
        (azure("Month", monthDays=[-1]), "0 0 0 L * ?"),
        (azure("Month", monthDays=[-3]), "0 0 0 L-2 * ?"),
        (azure("Month", interval=6, monthDays=[31]), "0 0 0 31 6,12 ?"),
        (azure("Month", monthlyOccurrences=[{"day": "Friday", "Occurrence": -1}]), "0 0 0 ? * FRIL"),
        (azure("Month", monthlyOccurrences=[{"day": "Sunday", "Occurrence": 3}]), "0 0 0 ? * SUN#3"),
        (azure("Month", monthlyOccurrences=[{"day": "Sunday"}, {"day": "Friday"}]), "0 0 0 ? * SUN,FRI"),
        ({"startTime": "2026-03-01T12:00:05Z"}, "5 0 12 1 3 ? 2026"),
    ],
)
def test_azure_recurrence_is_translated_to_quartz(document, expression):
    translation = translate("azure", document, "quartz", CREATED_AT)

    assert (translation.definition, translation.losses) == ({"expression": expression}, ())
    assert differ("azure", document, "quartz", translation.definition) == []


def test_start_and_end_are_translated():
    document = azure("Day", "2026-05-01T08:00:00Z", endTime="2026-06-01T08:00:00Z")
    bounds = {"startTime": "2026-05-01T08:00:00Z", "endTime": "2026-06-01T08:00:00Z"}

    quartz = translate("azure", document, "quartz", CREATED_AT)
    back = translate("quartz", quartz.definition, "azure", CREATED_AT)
    line = translate("azure", document, "cron", CREATED_AT)

    assert quartz.definition == {"expression": "0 0 8 * * ?"} | bounds
    assert quartz.losses == back.losses == ()
    assert back.definition["recurrence"]["endTime"] == bounds["endTime"]
    assert differ("azure", document, "quartz", quartz.definition) == []
    assert line.definition == {"expression": "0 8 * * *"} | bounds
    assert line.losses == ()
    assert differ("azure", document, "cron", line.definition) == []


def test_run_at_creation_is_a_note_and_not_a_difference():
    document = azure("Week", None, weekDays=["Monday"], hours=[9], minutes=[0])

    translation = translate("azure", document, "quartz", CREATED_AT)

    assert translation.definition == {"expression": "0 0 9 ? * MON"}
    assert (translation.losses, len(translation.notes)) == ((), 1)
    assert "when it is created" in translation.notes[0]
    assert differ("azure", document, "quartz", translation.definition) == []


@pytest.mark.parametrize(
    "format, definition, to, beginnings",
    [
        ("quartz", cron("0 0 12 LW * ?"), "azure", ["expression: LW"]),
        ("quartz", cron("0 0 12 15W * ?"), "azure", ["expression: 15W"]),
        ("quartz", cron("30 0 12 * * ?"), "azure", ["expression: other seconds"]),
        ("quartz", cron("*/10 0 12 * * ? 2030"), "azure", ["expression: other seconds", "expression: a year"]),
        ("quartz", cron("0 0 12 * 1,2,5 ?"), "azure", ["expression: months"]),
        ("quartz", cron("0 0 12 30 2 ?"), "azure", ["startTime: it does not fire again"]),
        ("quartz", cron("0 0 12 29 2 ?"), "azure", ["startTime: must be at most 548 days ahead"]),
        ("quartz", cron("0 15 10 ? * 6L"), "cron", ["expression: FRIL"]),
        ("quartz", cron("0 15 10 L * ?"), "cron", ["expression: L "]),
        ("quartz", cron("5 15 10 * * ? 2030"), "cron", ["expression: other seconds", "expression: a year"]),
        ("cron", cron("0 0 13 * FRI"), "quartz", ["expression: days of the month or of the week"]),
        ("cron", cron("0 0 13 * FRI"), "azure", ["expression: days of the month and of the week"]),
        ("cron", cron("0 0 */2 * FRI"), "quartz", ["expression: days that must fit both"]),
        ("azure", azure("Week", interval=2), "quartz", ["recurrence.interval: every 2 weeks"]),
        ("azure", azure("Week", interval=2, weekDays=["Monday"]), "cron", ["recurrence.interval: every 2 weeks"]),
        ("azure", azure("Month", interval=5), "quartz", ["recurrence.interval: every 5 months"]),
        ("azure", azure("Month", monthDays=[1, -1]), "quartz", ["recurrence.schedule.monthDays: several"]),
        ("azure", azure("Month", monthDays=[-1]), "cron", ["recurrence.schedule.monthDays: L "]),
        (
            "azure",
            azure("Month", monthlyOccurrences=[{"day": "Monday", "Occurrence": 1}, {"day": "Friday"}]),
            "quartz",
            ["recurrence.schedule.monthlyOccurrences: several"],
        ),
        (
            "azure",
            azure("Month", monthlyOccurrences=[{"day": "Monday", "Occurrence": -2}]),
            "quartz",
            ["recurrence.schedule.monthlyOccurrences: a weekday counted from the end"],
        ),
        ("azure", azure("Minute", interval=90), "quartz", ["recurrence.interval: every 90 minutes"]),
        ("azure", azure("Hour", interval=36), "quartz", ["recurrence.interval: every 36 hours"]),
        ("azure", azure("Hour", interval=5, hours=[9]), "quartz", ["recurrence.interval: every 5 hours"]),
        ("azure", azure("Minute", interval=60, minutes=[30]), "quartz", ["recurrence.schedule: it has no fire time"]),
        ("azure", azure("Day", "2025-06-01T00:00:07Z"), "cron", ["startTime: other seconds"]),
        ("azure", {"startTime": "2026-03-01T12:00:00Z"}, "cron", ["startTime: a year"]),
    ],
)
def test_untranslatable_members_are_named_as_losses(format, definition, to, beginnings):
    translation = translate(format, definition, to, CREATED_AT)

    assert translation.definition is None
    assert len(translation.losses) == len(beginnings)
    for loss, beginning in zip(translation.losses, beginnings, strict=True):
        assert loss.startswith(beginning)


@pytest.mark.parametrize(
    "format, definition, to, translation, first",
    [
        # every second day differs from every odd day after the first month with 31 days
        ("azure", azure("Day", START, interval=2), "quartz", "0 0 0 */2 * ?", Difference(utc("2026-02-01"), False)),
        (
            "azure",
            azure("Minute", START, interval=7),
            "cron",
            "*/7 * * * *",
            Difference(utc("2026-01-01T01:00"), False),
        ),
        ("azure", azure("Hour", START, interval=5), "cron", "0 */5 * * *", Difference(utc("2026-01-02T00:00"), False)),
        ("azure", azure("Day", START, count=3), "cron", "0 0 * * *", Difference(utc("2026-01-04"), False)),
        (
            "azure",
            azure("Hour", "2025-06-01T00:00:00.5Z"),
            "quartz",
            "0 0 * * * ?",
            Difference(utc("2026-01-01T00:00:00.5Z"), True),
        ),
    ],
)
def test_approximate_translation_has_its_first_difference(format, definition, to, translation, first):
    result = translate(format, definition, to, CREATED_AT)

    assert result.definition["expression"] == translation
    assert len(result.losses) == 1
    assert differ(format, definition, to, result.definition)[0] == first


@pytest.mark.parametrize("to", ["simple", "rrule", "outlook"])
@pytest.mark.parametrize(
    "members",
    [
        {"skips": ["2026-01-02"]},
        {"skips": ["2026-01-02T00:00:00Z"]},
        {"extras": ["2026-01-02T10:00:00Z"]},
        {"closedDays": {"calendar": "offices", "rule": "skip"}},
    ],
)
def test_count_of_runs_differs_from_a_count_of_fire_times(members, to):
    counted = azure("Day", START, count=3)

    assert translate("azure", counted, to, CREATED_AT).losses == ()
    assert translate("azure", counted | {"jitter": "PT1M"}, to, CREATED_AT).losses == ()
    [loss] = translate("azure", counted | members, to, CREATED_AT).losses
    assert loss.startswith("recurrence.count: a count of runs")


@pytest.mark.parametrize(
    "format, definition, canonical",
    [
        ("cron", cron("0  0 * * mon"), cron("0 0 * * MON")),
        ("quartz", cron("0 0 0 ? * 2", "romance standard time"), cron("0 0 0 ? * MON", "Europe/Paris")),
        ("azure", azure("day", None), {"recurrence": {"frequency": "Day"}}),
    ],
)
def test_translation_to_the_same_format_is_canonical(format, definition, canonical):
    assert translate(format, definition, format, CREATED_AT).definition == canonical


@pytest.mark.parametrize(
    "format, definition, path",
    [
        ("cobol", {}, "format"),
        ("simple", {"repeatCount": 2}, "interval"),
        ("cron", {}, "expression"),
        ("quartz", cron("* * * * *"), "expression"),
        ("azure", {"recurrence": {}}, "recurrence.frequency"),
    ],
)
def test_invalid_schedule_is_not_translated(format, definition, path):
    with pytest.raises(WireError) as caught:
        translate(format, definition, "quartz", CREATED_AT)

    assert caught.value.path == path


# Differences


def test_differences_are_found_after_many_equal_fire_times():
    """Both fire every second for a year: only the first fire times, and the first of each day, are compared."""
    original = parse("quartz", cron("* * * * * ?"), CREATED_AT)
    translated = parse("quartz", cron("* * * * * ?") | {"endTime": "2027-06-01T12:00:00Z"}, CREATED_AT)

    assert differences(original, translated, CREATED_AT, TEN_YEARS, 1) == [Difference(utc("2027-06-02"), True)]


@pytest.mark.parametrize("zone, day", [("America/New_York", "2026-11-01T05:00"), ("Europe/Berlin", "2026-10-25T00:00")])
def test_differences_at_clock_changes_are_found_among_many_fire_times(zone, day):
    """In a repeated hour, the rule of cron fires in both passes, and the rule of Quartz in one."""
    every_minute = cron("0 * * * * ?", zone)
    original = parse("quartz", every_minute, CREATED_AT)
    translated = parse("quartz", every_minute | {"clockChange": "quartz"}, CREATED_AT)

    assert differences(original, translated, CREATED_AT, TEN_YEARS, 1) == [Difference(utc(day), True)]


def test_schedule_that_never_fires_differs_by_all_fire_times_of_the_other():
    never = parse("quartz", cron("0 0 0 30 2 ?"), CREATED_AT)
    daily = parse("cron", cron("0 0 * * *"), CREATED_AT)

    found = differences(never, daily, CREATED_AT, TEN_YEARS, 3)

    assert found == [Difference(utc(f"2026-01-0{day}"), False) for day in (2, 3, 4)]
    assert differences(never, never, CREATED_AT, TEN_YEARS, 3) == []


# Properties


def same_times(original, translated):
    """Return True if the first fire times are equal, up to the last year of cron rules."""
    ends = [300 if each.count is None else each.count for each in (original, translated)]
    fires = [
        list(takewhile(lambda fire: fire.year < 2099, islice(walk(each.schedule, just_after(CREATED_AT)), min(ends))))
        for each in (original, translated)
    ]
    return fires[0] == fires[1]


@settings(max_examples=300)
@given(documents(), st.sampled_from(["cron", "quartz"]))
def test_azure_document_translated_without_losses_fires_at_the_same_times(document, to):
    translation = translate("azure", document, to, CREATED_AT)

    assert translation.definition is not None or translation.losses
    if translation.definition is not None and not translation.losses:
        assert same_times(*(parse(*each, CREATED_AT) for each in (("azure", document), (to, translation.definition))))


@settings(max_examples=300)
@given(lines, st.sampled_from(["quartz", "azure"]), st.sampled_from([None, "America/New_York", "Australia/Lord_Howe"]))
def test_crontab_line_translated_without_losses_fires_at_the_same_times(line, to, zone):
    definition = cron(line, zone)

    to_quartz = translate("cron", definition, to, CREATED_AT)

    assert bool(to_quartz.losses) is (to_quartz.definition is None)
    if to_quartz.definition is not None:
        original, translated = parse("cron", definition, CREATED_AT), parse(to, to_quartz.definition, CREATED_AT)
        assert same_times(original, translated)
        assert differences(original, translated, CREATED_AT, utc("2026-03-20"), 1) == []
    if to == "quartz" and to_quartz.definition is not None:
        back = translate("quartz", to_quartz.definition, "cron", CREATED_AT)
        assert parse("cron", back.definition, CREATED_AT).schedule == original.schedule


@given(documents(), st.sampled_from(["azure", "cron", "quartz"]))
def test_each_translation_can_be_parsed(document, to):
    translation = translate("azure", document, to, CREATED_AT)

    if translation.definition is not None:
        again = translate(to, translation.definition, to, CREATED_AT)
        assert (
            parse(to, again.definition, CREATED_AT).schedule == parse(to, translation.definition, CREATED_AT).schedule
        )
