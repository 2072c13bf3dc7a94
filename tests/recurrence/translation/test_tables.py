"""Tables of translations between series, elapsed time, single moments and the formats of cron and Azure."""

import pytest

from recurrence.translation import FORMATS, translate
from recurrence.wire import WireError
from tests.recurrence.samples import CREATED_AT

SHIFT = {"gap": "shift", "repeat": "first"}
FIRST = {"gap": "next", "repeat": "first"}
BOTH = {"gap": "next", "repeat": "both"}


def at(wall, zone="Europe/Berlin"):
    return {"dateTime": wall, "timeZone": zone}


def rule(text, wall="2026-01-05T09:00:00", zone="Europe/Berlin", **members):
    return {"start": at(wall, zone), "rrule": text, **members}


def cron(expression, **members):
    return {"expression": expression, "timeZone": "Europe/Berlin", **members}


def azure(frequency, wall="2026-01-05T09:00:00", interval=None, **plan):
    recurrence = {"frequency": frequency} | ({"interval": interval} if interval else {})
    return {
        "startTime": wall,
        "recurrence": recurrence | ({"schedule": plan} if plan else {}),
        "timeZone": "Europe/Berlin",
    }


def event(type, wall="2026-01-05T09:00:00", **pattern):
    limits = {"type": "noEnd", "startDate": wall[:10]}
    pattern = {"type": type, "interval": 1, **pattern}
    return {"start": at(wall), "end": at(wall), "recurrence": {"pattern": pattern, "range": limits}}


def translated(format, definition, to):
    translation = translate(format, definition, to, CREATED_AT)
    assert translation.losses == ()
    return translation.definition


@pytest.mark.parametrize(
    "format, definition, text, wall",
    [
        ("cron", cron("0 9 * * *"), "FREQ=DAILY", "2026-01-01T09:00:00"),
        ("cron", cron("0 9 * * MON-FRI"), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "2026-01-01T09:00:00"),
        ("cron", cron("0 9 1,15 * *"), "FREQ=MONTHLY;BYMONTHDAY=1,15", "2026-01-01T09:00:00"),
        ("cron", cron("0 9 24 12 *"), "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "2026-12-24T09:00:00"),
        (
            "cron",
            cron("0 9 */2 * FRI"),
            "FREQ=MONTHLY;BYMONTHDAY=1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31;BYDAY=FR",
            None,
        ),
        ("quartz", cron("0 0 9 L * ?"), "FREQ=MONTHLY;BYMONTHDAY=-1", "2026-01-31T09:00:00"),
        ("quartz", cron("0 0 9 ? * 6L"), "FREQ=MONTHLY;BYDAY=-1FR", "2026-01-30T09:00:00"),
        ("quartz", cron("0 0 9 ? * TUE#2"), "FREQ=MONTHLY;BYDAY=2TU", "2026-01-13T09:00:00"),
        ("quartz", cron("0 0 9 LW * ?"), "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2026-01-30T09:00:00"),
        ("azure", azure("Day", interval=3), "FREQ=DAILY;INTERVAL=3", "2026-01-05T09:00:00"),
        (
            "azure",
            azure("Week", interval=2, weekDays=["Monday", "Friday"], hours=[9], minutes=[0]),
            "FREQ=WEEKLY;INTERVAL=2;WKST=MO;BYDAY=MO,FR",
            "2026-01-05T09:00:00",
        ),
        (
            "azure",
            azure("Month", interval=5, monthDays=[-1]),
            "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=-1",
            "2026-01-31T09:00:00",
        ),
        ("outlook", event("daily"), "FREQ=DAILY", "2026-01-05T09:00:00"),
        ("outlook", event("absoluteMonthly", dayOfMonth=31), "FREQ=MONTHLY;BYMONTHDAY=-1", "2026-01-31T09:00:00"),
        (
            "outlook",
            event("absoluteMonthly", dayOfMonth=30),
            "FREQ=MONTHLY;BYMONTHDAY=28,29,30;BYSETPOS=-1",
            "2026-01-30T09:00:00",
        ),
    ],
)
def test_schedule_is_translated_to_a_rule(format, definition, text, wall):
    found = translated(format, definition, "rrule")

    assert found["rrule"] == text
    assert wall is None or found["start"] == at(wall)
    assert found.get("clockChange") == (None if format == "outlook" else FIRST)


@pytest.mark.parametrize(
    "text, expression",
    [
        ("FREQ=DAILY", "0 9 * * *"),
        ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30", "0,30 9,17 * * *"),
        ("FREQ=WEEKLY;BYDAY=MO,WE", "0 9 * * 1,3"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,15", "0 9 1,15 * *"),
        ("FREQ=YEARLY;BYMONTH=3,9;BYMONTHDAY=1", "0 9 1 3,9 *"),
        ("FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=5", "0 9 5 */3 *"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,13;BYDAY=FR", "0 9 */31,13 * 5"),
        ("FREQ=HOURLY;INTERVAL=2", "0 1-23/2 * * *"),
        ("FREQ=MINUTELY;INTERVAL=15;BYHOUR=9,10", "*/15 9,10 * * *"),
    ],
)
def test_rule_is_translated_to_a_crontab_line(text, expression):
    found = translate("rrule", rule(text), "cron", CREATED_AT)

    assert found.losses == ()
    assert found.definition["expression"] == expression
    assert found.definition["clockChange"] == SHIFT


@pytest.mark.parametrize(
    "format, definition, pattern",
    [
        ("cron", cron("0 9 * * *"), {"type": "daily", "interval": 1}),
        ("cron", cron("0 9 * * MON,FRI"), {"type": "weekly", "daysOfWeek": ["monday", "friday"]}),
        ("cron", cron("0 9 15 * *"), {"type": "absoluteMonthly", "dayOfMonth": 15}),
        ("cron", cron("0 9 15 */6 *"), {"type": "absoluteMonthly", "dayOfMonth": 15, "interval": 6}),
        ("cron", cron("0 9 24 12 *"), {"type": "absoluteYearly", "dayOfMonth": 24, "month": 12}),
        ("quartz", cron("0 0 9 L * ?"), {"type": "absoluteMonthly", "dayOfMonth": 31}),
        ("quartz", cron("0 0 9 ? * TUE#2"), {"type": "relativeMonthly", "daysOfWeek": ["tuesday"], "index": "second"}),
        ("quartz", cron("0 0 9 ? 11 5L"), {"type": "relativeYearly", "daysOfWeek": ["thursday"], "index": "last"}),
        ("azure", azure("Day", interval=3), {"type": "daily", "interval": 3}),
        (
            "azure",
            azure("Week", interval=2, weekDays=["Monday"]),
            {"type": "weekly", "interval": 2, "daysOfWeek": ["monday"], "firstDayOfWeek": "monday"},
        ),
        ("rrule", rule("FREQ=YEARLY;INTERVAL=2"), {"type": "absoluteYearly", "interval": 2, "month": 1}),
    ],
)
def test_schedule_is_translated_to_outlook(format, definition, pattern):
    found = translated(format, definition, "outlook")

    assert found["recurrence"]["pattern"].items() >= pattern.items()


@pytest.mark.parametrize(
    "definition, recurrence",
    [
        (event("daily", interval=2), {"frequency": "Day", "interval": 2}),
        (event("weekly", daysOfWeek=["monday"], interval=2), {"frequency": "Week", "interval": 2}),
        (event("absoluteMonthly", dayOfMonth=31), {"frequency": "Month"}),
        (event("absoluteMonthly", dayOfMonth=5, interval=5), {"frequency": "Month", "interval": 5}),
        (event("relativeMonthly", daysOfWeek=["friday"], index="last"), {"frequency": "Month"}),
    ],
)
def test_event_is_translated_to_azure_with_its_clock_change(definition, recurrence):
    found = translated("outlook", definition, "azure")

    assert found["recurrence"].items() >= recurrence.items()
    assert (found["timeZone"], found["clockChange"]) == ("Europe/Berlin", SHIFT)


def test_interval_in_a_zone_keeps_both_passes_of_a_repeated_hour():
    assert translated("cron", cron("*/15 9-17 * * MON"), "rrule")["clockChange"] == BOTH


ONCE = {"at": "2026-05-05T08:00:00Z", "timeZone": "Europe/Berlin"}


@pytest.mark.parametrize(
    "to, definition",
    [
        ("azure", {"startTime": "2026-05-05T08:00:00Z", "timeZone": "Europe/Berlin"}),
        ("simple", {"startTime": "2026-05-05T08:00:00Z", "timeZone": "Europe/Berlin"}),
        ("quartz", {"expression": "0 0 8 5 5 ? 2026"}),
        ("rrule", rule("FREQ=DAILY;COUNT=1", "2026-05-05T10:00:00")),
    ],
)
def test_moment_is_translated_and_back(to, definition):
    assert translated("once", ONCE, to) == definition
    assert translated(to, definition, "once")["at"] == ONCE["at"]


@pytest.mark.parametrize(
    "to, definition",
    [
        ("azure", {"startTime": "2026-01-01T00:05:00Z", "recurrence": {"frequency": "Minute", "interval": 15}}),
        ("rrule", rule("FREQ=MINUTELY;INTERVAL=15", "2026-01-01T00:05:00", "UTC")),
        ("cron", {"expression": "5-50/15 * * * *"}),
        ("quartz", {"expression": "0 5-50/15 * * * ?"}),
    ],
)
def test_elapsed_time_is_translated_and_back(to, definition):
    simple = {"startTime": "2026-01-01T00:05:00Z", "interval": 900_000}

    assert translated("simple", simple, to) == definition
    assert translated(to, definition, "simple") == simple


def test_removed_and_added_days_of_a_rule_are_skips_and_extras():
    own = {"skips": ["2026-02-05"], "jitter": "PT5M"}
    definition = rule("FREQ=WEEKLY", exdates=["2026-01-12"], rdates=["2026-01-15", "2026-02-05"], **own)

    assert translated("rrule", definition, "cron") == cron(
        "0 9 * * 1",
        clockChange=SHIFT,
        skips=["2026-01-12", "2026-02-05"],
        extras=["2026-01-15T08:00:00Z"],
        jitter="PT5M",
    )


def test_count_of_a_rule_is_an_end():
    found = translated("rrule", rule("FREQ=DAILY;COUNT=3"), "azure")

    assert found["recurrence"]["endTime"] == "2026-01-07T08:00:00Z"


@pytest.mark.parametrize("to", FORMATS)
def test_members_of_every_format_are_carried_over(to):
    members = {"skips": ["2026-05-04"], "extras": ["2026-05-07T08:00:00Z"]}
    definition = {"at": "2026-05-05T08:00:00Z", **members, "closedDays": {"calendar": "berlin", "rule": "after"}}

    found = translate("once", definition, to, CREATED_AT)

    assert (found.definition is None) is (to in ("cron", "solar"))
    assert found.definition is None or found.definition.items() >= members.items()


@pytest.mark.parametrize(
    "format, definition, to, beginning",
    [
        ("solar", {"event": "sunset", "latitude": 52, "longitude": 13}, "cron", "event: the times of the sun"),
        ("cron", cron("0 9 * * *"), "solar", "expression: only the format solar"),
        ("cron", cron("0 9 * * *"), "once", "expression: more than one fire time"),
        ("cron", cron("0 9 * * *"), "simple", "expression: fire times that follow the clocks of a zone"),
        ("cron", {"expression": "0 9,10 * * *"}, "simple", "expression: fire times that are not equally far apart"),
        ("cron", cron("0 9,17 * * *"), "outlook", "expression: more than one time of the day"),
        ("cron", cron("0 9 31 * *"), "outlook", "expression: day 31 only of the months that have it"),
        ("cron", cron("0 9 1,15 * *"), "outlook", "expression: "),
        ("cron", cron("0 9 13 * FRI"), "rrule", "expression: days of the month and of the week"),
        ("quartz", cron("0 0 9 15W * ?"), "rrule", "expression: 15W"),
        ("quartz", cron("0 0 9 1 * ? 2030-2040"), "rrule", "expression: a year"),
        ("rrule", rule("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR"), "cron", "rrule: days that must fit both"),
        ("rrule", rule("FREQ=YEARLY;BYWEEKNO=20"), "cron", "rrule: BYWEEKNO"),
        ("rrule", rule("FREQ=MINUTELY;INTERVAL=7"), "cron", "rrule: INTERVAL=7"),
        ("rrule", rule("FREQ=WEEKLY;INTERVAL=2"), "quartz", "rrule: every 2 weeks"),
        ("outlook", event("absoluteMonthly", dayOfMonth=30), "cron", "recurrence.pattern: day 30, or the last day"),
        ("outlook", event("daily") | {"end": at("2026-01-05T10:00:00")}, "cron", "end: the length"),
        ("simple", {"interval": 1500}, "cron", "interval: an interval with a fraction"),
        ("simple", {"interval": 90_000}, "azure", "interval: an Azure recurrence has no shorter unit"),
        ("once", {"at": "2026-05-05T08:00:00.5Z"}, "rrule", "at: a fraction of a second"),
        ("once", {"at": "2025-05-05T08:00:00Z"}, "azure", "at: it has passed"),
        (
            "simple",
            {"interval": 60_000, "timeZone": "Europe/Berlin", "skips": ["2026-05-04"]},
            "cron",
            "timeZone: days of Europe/Berlin",
        ),
        (
            "rrule",
            rule("FREQ=DAILY", rdates=["2026-05-04"], closedDays={"calendar": "berlin", "rule": "after"}),
            "cron",
            "rdates: added days that closed days can move",
        ),
    ],
)
def test_what_a_format_cannot_express_is_reported(format, definition, to, beginning):
    losses = translate(format, definition, to, CREATED_AT).losses

    assert [loss for loss in losses if loss.startswith(beginning)], losses


@pytest.mark.parametrize("members, path", [({"jitter": "soon"}, "jitter"), ({"timeZone": "Mars"}, "timeZone")])
def test_wrong_members_are_refused(members, path):
    with pytest.raises(WireError) as caught:
        translate("cron", {"expression": "0 9 * * *", **members}, "quartz", CREATED_AT)

    assert caught.value.path == path


def test_unknown_format_is_refused():
    with pytest.raises(WireError) as caught:
        translate("cron", {"expression": "0 9 * * *"}, "sundial", CREATED_AT)

    assert caught.value.path == "to"
