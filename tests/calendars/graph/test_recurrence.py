"""Series in the Graph API: patterns and ranges, ignored and refused members, and the resulting days."""

import pytest

from calendars.models import Event
from tests.calendars.graph.conftest import at, event, read_error

VALUE = "ErrorPropertyValidationFailure"
LITERAL = "UnableToDeserializePostBody"
NO_OCCURRENCE = "ErrorRecurrenceHasNoOccurrence"
UNKNOWN_ZONE = "TimeZoneNotSupportedException"

# values that Microsoft's service writes for members that do not apply
BLANK_PATTERN = {"month": 0, "dayOfMonth": 0, "daysOfWeek": [], "firstDayOfWeek": "sunday", "index": "first"}
BLANK_RANGE = {"endDate": "0001-01-01", "numberOfOccurrences": 0}

PATTERNS = {  # the required members of each type, and its first days from Monday, 5 January 2026
    "daily": ({"interval": 2}, ["2026-01-05", "2026-01-07", "2026-01-09", "2026-01-11"]),
    "weekly": (
        {"interval": 1, "daysOfWeek": ["Monday", "thursday"]},
        ["2026-01-05", "2026-01-08", "2026-01-12", "2026-01-15"],
    ),
    "absoluteMonthly": ({"interval": 1, "dayOfMonth": 31}, ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30"]),
    "relativeMonthly": (
        {"interval": 2, "daysOfWeek": ["thursday", "friday"], "index": "last"},
        ["2026-01-30", "2026-03-27", "2026-05-29", "2026-07-31"],
    ),
    "absoluteYearly": (
        {"interval": 1, "month": 2, "dayOfMonth": 29},
        ["2026-02-28", "2027-02-28", "2028-02-29", "2029-02-28"],
    ),
    "relativeYearly": (
        {"interval": 1, "month": 11, "daysOfWeek": ["thursday"], "index": "fourth"},
        ["2026-11-26", "2027-11-25", "2028-11-23", "2029-11-22"],
    ),
}
RANGES = {
    "noEnd": {},
    "numbered": {"numberOfOccurrences": 3},
    "endDate": {"endDate": None},  # the day of the third occurrence
}


def series(pattern: dict, range: dict | None = None, start: str = "2026-01-05", zone: str = "UTC", **members) -> dict:
    recurrence = {"pattern": pattern, "range": {"type": "noEnd", "startDate": start, **(range or {})}}
    return event(f"{start}T13:00:00", f"{start}T13:30:00", zone, recurrence=recurrence, **members)


@pytest.mark.parametrize("range_type", RANGES)
@pytest.mark.parametrize("type", PATTERNS)
def test_each_pattern_works_with_each_range(graph, calendar, type, range_type):
    pattern, days = PATTERNS[type]
    limits = {"type": range_type, **RANGES[range_type]}
    if "endDate" in limits:
        limits["endDate"] = days[2]

    made = graph.create(series({"type": type, **pattern}, limits))

    assert made["type"] == "seriesMaster"
    assert graph.days(made["id"], end="2030-01-01")[:4] == (days if range_type == "noEnd" else days[:3])
    assert made["start"]["dateTime"] == f"{days[0]}T13:00:00.0000000"
    sent = {name: [day.lower() for day in value] if name == "daysOfWeek" else value for name, value in pattern.items()}
    assert made["recurrence"] == {
        "pattern": BLANK_PATTERN | {"type": type} | sent,
        "range": BLANK_RANGE | limits | {"startDate": days[0], "recurrenceTimeZone": "UTC"},
    }


# Members that do not apply are still validated; the placeholders of Microsoft's service are accepted


@pytest.mark.parametrize("type", PATTERNS)
def test_placeholders_of_microsofts_service_are_accepted(graph, calendar, type):
    pattern = {"type": type, **PATTERNS[type][0]}
    plain = graph.create(series(pattern))

    full = graph.create(
        series(BLANK_PATTERN | pattern, BLANK_RANGE | {"type": "noEnd", "recurrenceTimeZone": "UTC"})
        | {"@odata.type": "#microsoft.graph.event"}
    )

    assert full["recurrence"] == plain["recurrence"]
    assert graph.change(full["id"], {"recurrence": full["recurrence"]}) == full


@pytest.mark.parametrize("type", PATTERNS)
@pytest.mark.parametrize("index", ["fifth", "", 1])
def test_invalid_index_is_refused_in_each_pattern(graph, calendar, type, index):
    response = graph.post("/me/events", series({"type": type, **PATTERNS[type][0], "index": index}))

    assert response.status_code == 400
    assert "recurrence.pattern.index" in response.json()["error"]["message"]


@pytest.mark.parametrize("change_case", [str.upper, str.lower, str.title])
def test_enum_values_ignore_case_and_are_returned_in_lower_camel_case(graph, calendar, change_case):
    pattern = {
        "type": change_case("relativeYearly"),
        "interval": 1,
        "month": 5,
        "daysOfWeek": [change_case("monday")],
        "firstDayOfWeek": change_case("saturday"),
        "index": change_case("second"),
    }

    made = graph.create(series(pattern, {"type": change_case("noEnd")}))["recurrence"]

    assert made["pattern"]["type"] == "relativeYearly"
    assert (made["pattern"]["daysOfWeek"], made["pattern"]["index"]) == (["monday"], "second")
    assert made["range"]["type"] == "noEnd"


def test_days_of_week_are_sorted_and_without_duplicates(graph, calendar):
    days = ["friday", "monday", "friday"]

    made = graph.create(series({"type": "weekly", "interval": 1, "daysOfWeek": days}))

    assert made["recurrence"]["pattern"]["daysOfWeek"] == ["monday", "friday"]


# Refused values

WEEKLY = {"type": "weekly", "interval": 1, "daysOfWeek": ["monday"]}
DAILY = {"type": "daily", "interval": 1}
WITHOUT = object()
WRONG_PATTERNS = [
    (DAILY, {"type": WITHOUT}, VALUE, "type"),
    (DAILY, {"type": "hourly"}, VALUE, "type"),
    (DAILY, {"type": 5}, LITERAL, "type"),
    (DAILY, {"interval": WITHOUT}, VALUE, "interval"),
    (DAILY, {"interval": 0}, VALUE, "interval"),
    (DAILY, {"interval": -1}, VALUE, "interval"),
    (DAILY, {"interval": 2**62}, VALUE, "interval"),
    (DAILY, {"interval": "1"}, LITERAL, "interval"),
    (DAILY, {"interval": 1.5}, LITERAL, "interval"),
    (DAILY, {"interval": True}, LITERAL, "interval"),
    (DAILY, {"interval": None}, VALUE, "interval"),
    (DAILY, {"firstDayOfWeek": "someday"}, VALUE, "firstDayOfWeek"),
    (DAILY, {"daysOfWeek": ["someday"]}, VALUE, "daysOfWeek[0]"),
    (DAILY, {"daysOfWeek": "monday"}, LITERAL, "daysOfWeek"),
    (DAILY, {"daysOfWeek": [1]}, LITERAL, "daysOfWeek[0]"),
    (WEEKLY, {"daysOfWeek": WITHOUT}, VALUE, "daysOfWeek"),
    (WEEKLY, {"daysOfWeek": []}, VALUE, "daysOfWeek"),
    (WEEKLY, {"daysOfWeek": None}, VALUE, "daysOfWeek"),
    (WEEKLY, {"daysOfWeek": ["monday", "mon"]}, VALUE, "daysOfWeek[1]"),
    (WEEKLY, {"type": "relativeMonthly", "daysOfWeek": WITHOUT}, VALUE, "daysOfWeek"),
    (WEEKLY, {"type": "relativeYearly"}, VALUE, "month"),
    (WEEKLY, {"type": "relativeYearly", "month": 0}, VALUE, "month"),
    (WEEKLY, {"type": "relativeYearly", "month": 13}, VALUE, "month"),
    (DAILY, {"type": "absoluteMonthly"}, VALUE, "dayOfMonth"),
    (DAILY, {"type": "absoluteMonthly", "dayOfMonth": 0}, VALUE, "dayOfMonth"),
    (DAILY, {"type": "absoluteMonthly", "dayOfMonth": 32}, VALUE, "dayOfMonth"),
    (DAILY, {"type": "absoluteMonthly", "dayOfMonth": "31"}, LITERAL, "dayOfMonth"),
    (DAILY, {"type": "absoluteYearly", "month": 2}, VALUE, "dayOfMonth"),
    (DAILY, {"type": "absoluteYearly", "dayOfMonth": 2}, VALUE, "month"),
]
WRONG_RANGES = [
    ({"type": WITHOUT}, VALUE, "type"),
    ({"type": "forever"}, VALUE, "type"),
    ({"startDate": WITHOUT}, VALUE, "startDate"),
    ({"startDate": None}, VALUE, "startDate"),
    ({"startDate": "2026-01-06"}, VALUE, "startDate"),
    ({"startDate": "2026-01-04"}, VALUE, "startDate"),
    ({"startDate": "2026-01-05T00:00:00"}, LITERAL, "startDate"),
    ({"startDate": "05-01-2026"}, LITERAL, "startDate"),
    ({"startDate": 20260105}, LITERAL, "startDate"),
    ({"startDate": "2026-02-30"}, VALUE, "startDate"),
    ({"type": "endDate"}, VALUE, "endDate"),
    ({"type": "endDate", "endDate": "2026-01-04"}, NO_OCCURRENCE, "endDate"),
    ({"type": "endDate", "endDate": "0001-01-01"}, NO_OCCURRENCE, "endDate"),
    ({"type": "endDate", "endDate": "2026-12-31T00:00:00Z"}, LITERAL, "endDate"),
    ({"endDate": "soon"}, LITERAL, "endDate"),
    ({"type": "numbered"}, VALUE, "numberOfOccurrences"),
    ({"type": "numbered", "numberOfOccurrences": 0}, VALUE, "numberOfOccurrences"),
    ({"type": "numbered", "numberOfOccurrences": -3}, VALUE, "numberOfOccurrences"),
    ({"type": "numbered", "numberOfOccurrences": "3"}, LITERAL, "numberOfOccurrences"),
    ({"type": "numbered", "numberOfOccurrences": 1000}, VALUE, "numberOfOccurrences"),
    ({"type": "numbered", "numberOfOccurrences": 2**62}, VALUE, "numberOfOccurrences"),
    ({"recurrenceTimeZone": "Middle-earth"}, UNKNOWN_ZONE, "recurrenceTimeZone"),
    ({"recurrenceTimeZone": 5}, LITERAL, "recurrenceTimeZone"),
]


def apply_changes(members: dict, changes: dict) -> dict:
    return {name: value for name, value in (members | changes).items() if value is not WITHOUT}


@pytest.mark.parametrize("pattern, changes, code, target", WRONG_PATTERNS)
def test_error_names_the_invalid_member_of_a_pattern(graph, calendar, pattern, changes, code, target):
    response = graph.post("/me/events", series(apply_changes(pattern, changes)))

    error = response.json()["error"]
    expected = (400, code, f"recurrence.pattern.{target}")
    assert (response.status_code, error["code"], error["message"].partition(": ")[0]) == expected
    assert not Event.objects.exists()


@pytest.mark.parametrize("changes, code, target", WRONG_RANGES)
def test_error_names_the_invalid_member_of_a_range(graph, calendar, changes, code, target):
    body = series(DAILY)
    body["recurrence"]["range"] = apply_changes(body["recurrence"]["range"], changes)

    response = graph.post("/me/events", body)

    error = response.json()["error"]
    expected = (400, code, f"recurrence.range.{target}")
    assert (response.status_code, error["code"], error["message"].partition(": ")[0]) == expected
    assert not Event.objects.exists()


@pytest.mark.parametrize(
    "recurrence, target",
    [
        ({"pattern": DAILY}, "recurrence.range"),
        ({"range": {"type": "noEnd", "startDate": "2026-01-05"}}, "recurrence.pattern"),
        ({"pattern": None, "range": None}, "recurrence.pattern"),
        ({"pattern": [], "range": {}}, "recurrence.pattern"),
        ({"pattern": DAILY, "range": "noEnd"}, "recurrence.range"),
    ],
)
def test_recurrence_requires_pattern_and_range(graph, calendar, recurrence, target):
    response = graph.post("/me/events", event(recurrence=recurrence))

    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith(f"{target}: ")


def test_event_with_a_null_recurrence_is_a_single_event(graph, calendar):
    assert graph.create(event(recurrence=None))["type"] == "singleInstance"


# The examples of Microsoft's article, and others of its rules


@pytest.mark.parametrize(
    "start, pattern, range, days",
    [
        # every Monday until the end of the year: 17 times
        (
            "2017-09-04",
            {"type": "weekly", "interval": 1, "daysOfWeek": ["Monday"]},
            {"type": "endDate", "endDate": "2017-12-31"},
            (17, "2017-09-04", "2017-12-25"),
        ),
        # the first Thursday of every other month: the first one is in September
        (
            "2017-08-29",
            {"type": "relativeMonthly", "interval": 2, "daysOfWeek": ["Thursday"], "index": "first"},
            {"type": "numbered", "numberOfOccurrences": 6},
            ["2017-09-07", "2017-11-02", "2018-01-04", "2018-03-01", "2018-05-03", "2018-07-05"],
        ),
        # the first Thursday or Friday: one a month
        (
            "2017-05-15",
            {"type": "relativeMonthly", "interval": 1, "daysOfWeek": ["Thursday", "Friday"]},
            {"type": "numbered", "numberOfOccurrences": 4},
            ["2017-06-01", "2017-07-06", "2017-08-03", "2017-09-01"],
        ),
        # ten times from a Sunday on
        (
            "2017-04-02",
            {"type": "weekly", "interval": 1, "daysOfWeek": ["Thursday"]},
            {"type": "numbered", "numberOfOccurrences": 10},
            (10, "2017-04-06", "2017-06-08"),
        ),
        # a day that a month does not have is its last day
        (
            "2012-08-30",
            {"type": "absoluteMonthly", "interval": 2, "dayOfMonth": 30},
            {"type": "numbered", "numberOfOccurrences": 10},
            (10, "2012-08-30", "2014-02-28"),
        ),
        # the week begins on Sunday by default
        (
            "2024-05-05",
            {"type": "weekly", "interval": 2, "daysOfWeek": ["sunday", "tuesday"]},
            {"type": "numbered", "numberOfOccurrences": 4},
            ["2024-05-05", "2024-05-07", "2024-05-19", "2024-05-21"],
        ),
        (
            "2024-05-05",
            {"type": "weekly", "interval": 2, "daysOfWeek": ["sunday", "tuesday"], "firstDayOfWeek": "monday"},
            {"type": "numbered", "numberOfOccurrences": 4},
            ["2024-05-05", "2024-05-14", "2024-05-19", "2024-05-28"],
        ),
        # intervals are counted from the first occurrence
        (
            "2024-03-01",
            {"type": "weekly", "interval": 2, "daysOfWeek": ["tuesday"]},
            {"type": "numbered", "numberOfOccurrences": 2},
            ["2024-03-05", "2024-03-19"],
        ),
        # the last day, and the fourth working day, of a month
        (
            "2024-01-01",
            {
                "type": "relativeMonthly",
                "interval": 1,
                "index": "last",
                "daysOfWeek": ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"],
            },
            {"type": "endDate", "endDate": "2024-03-31"},
            ["2024-01-31", "2024-02-29", "2024-03-31"],
        ),
        (
            "2024-01-01",
            {
                "type": "relativeMonthly",
                "interval": 1,
                "index": "fourth",
                "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"],
            },
            {"type": "numbered", "numberOfOccurrences": 2},
            ["2024-01-04", "2024-02-06"],
        ),
    ],
)
def test_series_has_the_days_of_its_rule(graph, calendar, start, pattern, range, days):
    made = graph.create(series(pattern, range, start))

    found = graph.days(made["id"])
    assert (len(found), found[0], found[-1]) == days if isinstance(days, tuple) else found == days
    assert made["recurrence"]["range"]["startDate"] == found[0]


# Zones


def test_first_occurrence_is_in_the_zone_of_the_start(graph, calendar):
    made = graph.create(series({**WEEKLY, "daysOfWeek": ["thursday"]}, zone="W. Europe Standard Time"))

    assert made["start"] == at("2026-01-08T12:00:00.0000000", "UTC")
    assert made["recurrence"]["range"]["recurrenceTimeZone"] == "W. Europe Standard Time"
    assert made["originalStartTimeZone"] == "W. Europe Standard Time"


@pytest.mark.parametrize(
    "zone, hours",
    [
        ("W. Europe Standard Time", ["12:00", "11:00"]),
        ("America/New_York", ["18:00", "17:00"]),
        ("UTC", ["13:00", "13:00"]),
        ("India Standard Time", ["07:30", "07:30"]),
    ],
)
def test_occurrences_keep_their_wall_time(graph, calendar, zone, hours):
    made = graph.create(series({"type": "absoluteMonthly", "interval": 6, "dayOfMonth": 15}, zone=zone))

    found = graph.instances(made["id"])

    assert [each["start"]["dateTime"][11:16] for each in found] == hours
    prefer = {"Prefer": f'outlook.timezone="{zone}"'}
    assert {each["start"]["dateTime"][11:16] for each in graph.instances(made["id"], prefer)} == {"13:00"}


def test_zone_of_the_recurrence_decides_the_days_of_the_series(graph, calendar):
    body = series({"type": "absoluteMonthly", "interval": 6, "dayOfMonth": 6})
    body["start"], body["end"] = at("2026-01-05T16:00:00"), at("2026-01-05T16:30:00")  # UTC; 01:00 of the 6th in Tokyo
    body["recurrence"]["range"] |= {"startDate": "2026-01-06", "recurrenceTimeZone": "Tokyo Standard Time"}

    made = graph.create(body)

    assert made["start"]["dateTime"] == "2026-01-05T16:00:00.0000000"
    assert graph.days(made["id"], end="2027-01-01") == ["2026-01-05", "2026-07-05"]
    assert made["recurrence"]["range"]["startDate"] == "2026-01-06"


@pytest.mark.parametrize(
    "zone, day, wall, expected",
    [
        # in a gap: later by the length of the gap; repeated: the first one
        ("Europe/Berlin", "2026-03-29", "02:30:00", "2026-03-29T01:30:00"),
        ("Europe/Berlin", "2026-10-25", "02:30:00", "2026-10-25T00:30:00"),
        ("Australia/Lord_Howe", "2026-10-04", "02:15:00", "2026-10-03T15:45:00"),
    ],
)
def test_skipped_or_repeated_wall_time_becomes_one_instant(graph, calendar, zone, day, wall, expected):
    recurrence = {"pattern": DAILY, "range": {"type": "noEnd", "startDate": "2026-01-05"}}
    made = graph.create(event(f"2026-01-05T{wall}", f"2026-01-05T{wall}", zone, recurrence=recurrence))

    read = graph.read(f"/me/events/{made['id']}_{day.replace('-', '')}")

    assert read["start"]["dateTime"] == f"{expected}.0000000"


def test_day_that_a_zone_skipped_is_no_occurrence_and_does_not_count(graph, calendar):
    limits = {"type": "numbered", "numberOfOccurrences": 3}
    made = graph.create(series(DAILY, limits, "2011-12-29", "Pacific/Apia"))

    assert [each["occurrenceId"][-10:] for each in graph.instances(made["id"], startDateTime="2011-01-01")] == [
        "2011-12-29",
        "2011-12-31",
        "2012-01-01",
    ]


def test_all_day_series_keeps_its_dates_in_each_zone(graph, calendar):
    recurrence = {"pattern": WEEKLY, "range": {"type": "numbered", "numberOfOccurrences": 2, "startDate": "2026-03-23"}}
    made = graph.create(
        event(
            "2026-03-23T00:00:00", "2026-03-24T00:00:00", "Eastern Standard Time", isAllDay=True, recurrence=recurrence
        )
    )

    for zone in ("UTC", "Tokyo Standard Time"):
        found = graph.instances(made["id"], {"Prefer": f'outlook.timezone="{zone}"'})
        assert [each["start"]["dateTime"][:16] for each in found] == ["2026-03-23T00:00", "2026-03-30T00:00"]
        assert [each["originalStart"] for each in found] == ["2026-03-23T00:00:00Z", "2026-03-30T00:00:00Z"]


def test_an_end_before_the_start_is_refused_in_a_series_too(graph, calendar):
    body = series(DAILY)
    body["end"] = at("2026-01-05T12:00:00")

    response = graph.post("/me/events", body)

    assert read_error(response) in [(400, VALUE), (400, "ErrorCalendarEndDateIsEarlierThanStartDate")]
