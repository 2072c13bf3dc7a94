"""POST /api/schedules/preview."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from rest_framework.test import APIClient

from accounts.models import ApiToken, User
from jobs.models import Job, Run
from triggers.models import Trigger

ADDRESS = "/api/schedules/preview"
DAILY_AT_FIVE = {
    "format": "azure",
    "startTime": "2026-01-05T08:00:00Z",
    "recurrence": {"frequency": "day", "schedule": {"hours": [5]}},
}
NEW_YEAR = "2026-01-01T00:00:00Z"


def fires(response) -> list[str]:
    assert response.status_code == 200, response.content
    return [occurrence["at"] for occurrence in response.json()["occurrences"]]


def test_preview_has_a_description_and_the_occurrences(api):
    response = api.post(ADDRESS, {"schedule": DAILY_AT_FIVE, "now": NEW_YEAR, "count": 8})

    document = response.json()
    assert document["description"] == "every day at 05:00 UTC"
    assert document["occurrences"][0] == {"at": "2026-01-06T05:00:00Z", "local": "2026-01-06T05:00:00+00:00"}
    assert [o["at"][:10] for o in document["occurrences"]] == [f"2026-01-{day:02}" for day in range(6, 14)]
    assert (document["more"], document["warnings"]) == (True, [])


def test_preview_has_ten_occurrences_by_default(api):
    assert len(fires(api.post(ADDRESS, {"schedule": DAILY_AT_FIVE, "now": NEW_YEAR}))) == 10


def test_window_of_a_preview_excludes_after_and_to_and_includes_from(api):
    body = {"schedule": DAILY_AT_FIVE, "now": NEW_YEAR, "to": "2026-01-09T05:00:00Z"}

    assert fires(api.post(ADDRESS, body | {"after": "2026-01-07T05:00:00Z"})) == ["2026-01-08T05:00:00Z"]
    assert fires(api.post(ADDRESS, body | {"from": "2026-01-08T06:00:00+01:00"})) == ["2026-01-08T05:00:00Z"]


def test_window_contains_the_remaining_occurrences_of_a_counted_series(api):
    schedule = DAILY_AT_FIVE | {"recurrence": DAILY_AT_FIVE["recurrence"] | {"count": 3}}

    response = api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR, "after": "2026-01-06T05:00:00Z"})

    assert fires(response) == ["2026-01-07T05:00:00Z", "2026-01-08T05:00:00Z"]
    assert response.json()["more"] is False


def test_skips_and_extra_times_are_in_the_preview(api):
    schedule = DAILY_AT_FIVE | {
        "skips": ["2026-01-07", "2026-01-08T05:00:00Z"],
        "extras": ["2026-01-07T09:00:00+01:00"],
        "recurrence": DAILY_AT_FIVE["recurrence"] | {"count": 4},
    }

    response = api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR})

    assert [at[5:16] for at in fires(response)] == ["01-06T05:00", "01-07T08:00", "01-09T05:00", "01-10T05:00"]
    assert response.json()["description"] == (
        "every day at 05:00 UTC, except on 7 January 2026 and 8 January 2026 at 05:00 UTC,"
        " and on 7 January 2026 at 08:00 UTC, 4 times"
    )


def test_a_count_goes_on_after_skipped_fire_times(api):
    schedule = DAILY_AT_FIVE | {"skips": ["2026-01-07"], "recurrence": DAILY_AT_FIVE["recurrence"] | {"count": 4}}

    response = api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR, "after": "2026-01-08T05:00:00Z"})

    assert fires(response) == ["2026-01-09T05:00:00Z", "2026-01-10T05:00:00Z"]


def test_the_end_of_an_occurrence_is_shown_with_skips_and_extras_too(api):
    series = {
        "format": "rrule",
        "start": {"dateTime": "2026-01-05T10:00:00", "timeZone": "Europe/Berlin"},
        "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"},
        "rrule": "FREQ=DAILY",
        "skips": ["2026-01-05"],
        "extras": ["2026-01-05T12:00:00Z"],
    }

    first, second = api.post(ADDRESS, {"schedule": series, "now": NEW_YEAR, "count": 2}).json()["occurrences"]

    assert (first["at"], second["at"]) == ("2026-01-05T12:00:00Z", "2026-01-06T09:00:00Z")
    assert (first["end"], second["end"]) == ("2026-01-05T13:00:00Z", "2026-01-06T10:00:00Z")  # all last an hour


@pytest.mark.parametrize(
    "members, target",
    [
        ({"skips": ["24.12.2026"]}, "schedule.skips[0]"),
        ({"extras": ["2026-12-24"]}, "schedule.extras[0]"),
        ({"jitter": "PT25H"}, "schedule.jitter"),
        ({"jitter": "PT24H"}, "schedule.jitter"),
        ({"closedDays": {"calendar": "berlin", "rule": "skip", "zone": "UTC"}}, "schedule.closedDays.zone"),
        ({"closedDays": {"calendar": "berlin", "rule": "skip"}}, "schedule.closedDays.calendar"),
    ],
)
def test_a_wrong_common_member_is_refused_with_its_path(api, members, target):
    response = api.post(ADDRESS, {"schedule": DAILY_AT_FIVE | members, "now": NEW_YEAR})

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)


def test_fraction_of_a_second_is_shown_only_if_it_is_not_zero(api):
    schedule = {"format": "azure", "startTime": "2026-01-05T08:00:00.125Z"}

    assert fires(api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR})) == ["2026-01-05T08:00:00.125000Z"]


def test_schedule_counts_as_created_at_the_current_time_by_default(api):
    response = api.post(ADDRESS, {"schedule": {"format": "azure", "recurrence": {"frequency": "Day"}}, "count": 1})

    assert len(fires(response)) == 1


@pytest.mark.parametrize(
    "schedule, target",
    [
        ({"format": "azure", "recurrence": {"frequency": "day", "hours": [5]}}, "schedule.recurrence.hours"),
        ({"format": "azure", "timezone": "Europe/Berlin"}, "schedule.timezone"),
        ({"format": "quartz", "expression": "0 0 * * * ?", "timezone": None}, "schedule.timezone"),
    ],
)
def test_unknown_members_of_a_schedule_are_refused(api, schedule, target):
    response = api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR})

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["target"]) == (400, "unknown", target)


AZURE = {"format": "azure"}
EVERY_MONDAY = {
    "format": "outlook",
    "start": {"dateTime": "2017-09-04T13:00:00", "timeZone": "Pacific Standard Time"},
    "end": {"dateTime": "2017-09-04T13:30:00", "timeZone": "Pacific Standard Time"},
    "recurrence": {
        "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["Monday"]},
        "range": {"type": "endDate", "startDate": "2017-09-04", "endDate": "2017-12-31"},
    },
}
LAST_FRIDAY = {"format": "quartz", "expression": "0 15 10 ? * 6L"}


@pytest.mark.parametrize(
    "change, target",
    [
        ({"schedule": None}, "schedule"),
        ({"schedule": []}, "schedule"),
        ({"schedule": {}}, "schedule.format"),
        ({"schedule": {"format": ["azure"]}}, "schedule.format"),
        ({"schedule": {"format": "crontab"}}, "schedule.format"),
        ({"schedule": AZURE | {"startTime": "tomorrow"}}, "schedule.startTime"),
        ({"schedule": AZURE | {"startTime": 5}}, "schedule.startTime"),
        ({"schedule": AZURE | {"startTime": "2026-02-30T00:00:00Z"}}, "schedule.startTime"),
        ({"schedule": AZURE | {"recurrence": "daily"}}, "schedule.recurrence"),
        ({"schedule": AZURE | {"recurrence": {}}}, "schedule.recurrence.frequency"),
        ({"schedule": AZURE | {"recurrence": {"frequency": "year"}}}, "schedule.recurrence.frequency"),
        ({"schedule": AZURE | {"recurrence": {"frequency": "day", "interval": True}}}, "schedule.recurrence.interval"),
        ({"schedule": AZURE | {"recurrence": {"frequency": "day", "interval": 549}}}, "schedule.recurrence.interval"),
        (
            {"schedule": AZURE | {"recurrence": {"frequency": "day", "schedule": {"weekDays": ["monday"]}}}},
            "schedule.recurrence.schedule.weekDays",
        ),
        # an end before the start: the schedule would never fire
        (
            {"schedule": AZURE | {"recurrence": {"frequency": "day", "endTime": "2025-01-01T00:00:00Z"}}},
            "schedule.recurrence.endTime",
        ),
        # every twelve months from February on the 30th
        (
            {
                "schedule": AZURE
                | {
                    "startTime": "2026-02-01T00:00:00Z",
                    "recurrence": {"frequency": "month", "interval": 12, "schedule": {"monthDays": [30]}},
                }
            },
            "schedule.recurrence",
        ),
        ({"schedule": {"format": "quartz"}}, "schedule.expression"),
        ({"schedule": LAST_FRIDAY | {"expression": 5}}, "schedule.expression"),
        ({"schedule": LAST_FRIDAY | {"expression": "15 10 * * 5"}}, "schedule.expression"),
        ({"schedule": LAST_FRIDAY | {"timeZone": "Europe/Atlantis"}}, "schedule.timeZone"),
        ({"schedule": {"format": "outlook"}}, "schedule.start"),
        (
            {"schedule": EVERY_MONDAY | {"start": {"dateTime": "2017-09-04T13:00:00", "timeZone": "X"}}},
            "schedule.start.timeZone",
        ),
        ({"schedule": EVERY_MONDAY | {"recurrence": {"pattern": {}, "range": {}}}}, "schedule.recurrence.pattern.type"),
        ({"schedule": {"format": "rrule", "start": EVERY_MONDAY["start"], "rrule": "FREQ=NEVER"}}, "schedule.rrule"),
        ({"schedule": LAST_FRIDAY | {"clockChange": "java"}}, "schedule.clockChange"),
        ({"schedule": LAST_FRIDAY | {"startTime": "tomorrow"}}, "schedule.startTime"),
        ({"schedule": LAST_FRIDAY | {"startTime": "2026-02-01", "endTime": "2026-01-01"}}, "schedule.endTime"),
        ({"now": "2026-01-01T00:00:00"}, "now"),  # the zone of midnight is missing
        ({"now": "0001-01-01T00:00:00+10:00"}, "now"),
        ({"now": 1767225600}, "now"),
        ({"after": "x"}, "after"),
        ({"from": "2026-01-01T25:00:00Z"}, "from"),
        ({"to": {}}, "to"),
        ({"count": 0}, "count"),
        ({"count": 1001}, "count"),
        ({"count": "10"}, "count"),
        ({"count": 10.0}, "count"),
        ({"count": True}, "count"),
        ({"count": None}, "count"),
    ],
)
def test_wrong_member_of_a_preview_is_refused_with_its_path(api, change, target):
    response = api.post(ADDRESS, {"schedule": DAILY_AT_FIVE, "now": NEW_YEAR} | change)

    assert response.status_code == 400, response.content
    error = response.json()["error"]
    assert error["target"] == target
    assert error["code"]
    assert error["message"]


def test_schedule_that_never_fires_is_refused_with_its_own_code(api):
    schedule = AZURE | {
        "startTime": "2026-02-01T00:00:00Z",
        "recurrence": {"frequency": "month", "interval": 12, "schedule": {"monthDays": [30]}},
    }

    assert api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR}).json()["error"]["code"] == "never_fires"


def test_quartz_expression_is_previewed_in_its_time_zone(api):
    schedule = LAST_FRIDAY | {"timeZone": "W. Europe Standard Time"}

    response = api.post(ADDRESS, {"schedule": schedule, "now": "2026-03-01T00:00:00Z", "count": 2}).json()

    assert response["description"] == "at 10:15 Europe/Berlin on the last Friday of each month"
    assert response["occurrences"] == [
        {"at": "2026-03-27T09:15:00Z", "local": "2026-03-27T10:15:00+01:00"},
        {"at": "2026-04-24T08:15:00Z", "local": "2026-04-24T10:15:00+02:00"},
    ]
    assert (response["more"], response["warnings"]) == (True, [])


@pytest.mark.parametrize("clock_change, day", [("cron", "2026-03-08T07:00:00Z"), ("quartz", "2026-03-09T06:30:00Z")])
def test_quartz_expression_follows_the_chosen_policy_at_clock_changes(api, clock_change, day):
    schedule = {"format": "quartz", "expression": "0 30 2 * * ?", "timeZone": "America/New_York"}

    response = api.post(ADDRESS, {"schedule": schedule | {"clockChange": clock_change}, "now": "2026-03-08T00:00:00Z"})

    assert fires(response)[0] == day


@pytest.mark.parametrize("expression", ["0 15 10 ? * 6L 2013-2015", "0 0 0 30 2 ?"])
def test_quartz_expression_that_never_fires_again_has_a_warning(api, expression):
    response = api.post(ADDRESS, {"schedule": LAST_FRIDAY | {"expression": expression}, "now": NEW_YEAR})

    assert fires(response) == []
    assert (response.json()["more"], response.json()["warnings"]) == (False, ["It will not fire again."])


@pytest.mark.parametrize(
    "schedule, words, times",
    [
        (
            {"format": "simple", "startTime": "2026-01-05T08:00:00Z", "interval": 5_400_000, "repeatCount": 2},
            "every 90 minutes from 5 January 2026 at 08:00 UTC, until 5 January 2026 at 11:00 UTC",
            ["2026-01-05T08:00:00Z", "2026-01-05T09:30:00Z", "2026-01-05T11:00:00Z"],
        ),
        ({"format": "simple"}, "once on 1 January 2026 at 00:00 UTC", [NEW_YEAR]),
        ({"format": "once", "at": 1767600000000}, "once on 5 January 2026 at 08:00 UTC", ["2026-01-05T08:00:00Z"]),
    ],
)
def test_simple_triggers_and_single_times_are_previewed(api, schedule, words, times):
    response = api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR})

    assert fires(response) == times
    assert (response.json()["description"], response.json()["more"]) == (words, False)


def test_occurrence_of_a_calendar_series_has_an_end(api):
    window = {"from": "2017-11-01T00:00:00Z", "to": "2017-11-07T00:00:00Z"}

    response = api.post(ADDRESS, {"schedule": EVERY_MONDAY, **window}).json()

    assert response["description"] == (
        "every week on Monday from 13:00 to 13:30 America/Los_Angeles, until 31 December 2017"
    )
    assert response["occurrences"] == [
        {
            "at": "2017-11-06T21:00:00Z",
            "local": "2017-11-06T13:00:00-08:00",
            "end": "2017-11-06T21:30:00Z",
            "endLocal": "2017-11-06T13:30:00-08:00",
        }
    ]


def test_calendar_series_can_be_previewed_in_the_past(api):
    whole = {"from": "2017-01-01T00:00:00Z", "to": "2018-01-01T00:00:00Z", "count": 100}

    assert len(fires(api.post(ADDRESS, {"schedule": EVERY_MONDAY, **whole}))) == 17
    assert len(fires(api.post(ADDRESS, {"schedule": EVERY_MONDAY, "after": "2017-12-11T21:00:00Z"}))) == 2
    # the window includes its start and excludes its end, compared with the starts of occurrences
    window = {"from": "2017-09-04T20:00:00Z", "to": "2017-09-11T20:00:00Z"}
    assert fires(api.post(ADDRESS, {"schedule": EVERY_MONDAY, **window})) == ["2017-09-04T20:00:00Z"]
    assert fires(api.post(ADDRESS, {"schedule": EVERY_MONDAY, "from": "2017-09-04T20:00:01Z", "count": 1})) == [
        "2017-09-11T20:00:00Z"
    ]


def test_calendar_series_is_previewed_from_now_on_by_default(api):
    response = api.post(ADDRESS, {"schedule": EVERY_MONDAY, "now": "2017-12-20T00:00:00Z"})

    assert fires(response) == ["2017-12-25T21:00:00Z"]
    assert response.json()["more"] is False
    assert api.post(ADDRESS, {"schedule": EVERY_MONDAY}).json()["warnings"] == ["It will not fire again."]


MARCH = {"from": "2026-03-01T00:00:00Z", "to": "2026-03-04T00:00:00Z"}
MARCH_DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]


@pytest.mark.parametrize("now", [{}, {"now": "2026-02-01T00:00:00Z"}, {"now": "2026-10-01T00:00:00Z"}])
@pytest.mark.parametrize(
    "schedule",
    [
        {"format": "quartz", "expression": "0 0 5 * * ?"},
        DAILY_AT_FIVE,
        # counted from the start, and the end may be in the past
        {"format": "azure", "startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "day"}},
        DAILY_AT_FIVE | {"recurrence": DAILY_AT_FIVE["recurrence"] | {"endTime": "2026-03-20T00:00:00Z"}},
        {"format": "simple", "startTime": "2026-02-01T09:00:00Z", "interval": 86_400_000},
        {"format": "simple", "startTime": "2026-02-01T09:00:00Z", "interval": 86_400_000, "repeatCount": 40},
        {
            "format": "rrule",
            "start": {"dateTime": "2026-01-05T09:00:00", "timeZone": "Europe/Berlin"},
            "rrule": "FREQ=DAILY",
        },
    ],
)
def test_preview_of_a_window_does_not_depend_on_now(api, schedule, now):
    """The current time is in November, after the window."""
    assert [at[:10] for at in fires(api.post(ADDRESS, {"schedule": schedule, **MARCH, **now}))] == MARCH_DAYS


@pytest.mark.parametrize("window", [{}, {"from": "2026-03-04T00:00:00Z"}, {"after": "2026-03-05T00:00:00Z"}])
def test_window_that_ends_before_its_start_is_refused(api, window):
    """By default the window starts now, in November: an empty result would look like a schedule without fire times."""
    response = api.post(ADDRESS, {"schedule": DAILY_AT_FIVE, "to": "2026-03-04T00:00:00Z", **window})

    assert response.status_code == 400
    assert (response.json()["error"]["target"], response.json()["error"]["code"]) == ("to", "out_of_range")


@pytest.mark.parametrize(
    "schedule, at",
    [
        ({"format": "once", "at": "2026-03-02T09:00:00Z"}, ["2026-03-02T09:00:00Z"]),
        ({"format": "azure", "startTime": "2026-03-02T09:00:00Z"}, ["2026-03-02T09:00:00Z"]),
        ({"format": "azure", "startTime": "2026-12-02T09:00:00Z", "recurrence": {"frequency": "day"}}, []),
        # starts when it is created: at the start of the window
        (
            {"format": "azure", "recurrence": {"frequency": "day"}},
            [f"{day}T00:00:00Z" for day in MARCH_DAYS],
        ),
        ({"format": "simple"}, ["2026-03-01T00:00:00Z"]),
    ],
)
def test_window_in_the_past_is_previewed_as_if_the_schedule_existed_then(api, schedule, at):
    assert fires(api.post(ADDRESS, {"schedule": schedule, **MARCH})) == at


def test_window_in_the_past_has_the_remaining_count_since_the_start_of_the_schedule(api):
    schedule = DAILY_AT_FIVE | {"recurrence": DAILY_AT_FIVE["recurrence"] | {"count": 55}}  # from 6 January

    assert fires(api.post(ADDRESS, {"schedule": schedule, **MARCH})) == ["2026-03-01T05:00:00Z"]


def test_schedule_without_a_start_has_no_fire_time_before_the_given_now(api):
    schedule = {"format": "azure", "recurrence": {"frequency": "day"}}

    response = api.post(ADDRESS, {"schedule": schedule, **MARCH, "now": "2026-03-02T09:00:00Z"})

    assert fires(response) == ["2026-03-02T09:00:00Z", "2026-03-03T09:00:00Z"]


def test_after_can_be_in_the_past(api):
    body = {"schedule": LAST_FRIDAY, "after": "2026-03-27T10:15:00Z", "count": 1}

    assert fires(api.post(ADDRESS, body)) == ["2026-04-24T10:15:00Z"]


def test_window_in_the_past_still_has_the_warning_of_an_ended_schedule(api):
    schedule = LAST_FRIDAY | {"expression": "0 0 5 * * ? 2026", "endTime": "2026-05-01T00:00:00Z"}

    response = api.post(ADDRESS, {"schedule": schedule, **MARCH})

    assert len(fires(response)) == 3
    assert response.json()["warnings"] == ["It will not fire again."]


def test_after_is_exclusive(api):
    schedule = {"format": "simple", "startTime": "2026-01-05T08:00:00Z", "interval": 60_000}

    response = api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR, "after": "2026-01-05T08:00:00Z", "count": 1})

    assert fires(response) == ["2026-01-05T08:01:00Z"]


@pytest.mark.parametrize("schedule", [{"format": "once", "at": "2013-07-04"}, {"format": "simple", "startTime": 0}])
def test_single_time_in_the_past_has_a_warning(api, schedule):
    response = api.post(ADDRESS, {"schedule": schedule, "now": NEW_YEAR})

    assert fires(response) == []
    assert len(response.json()["warnings"]) == 1


def test_any_signed_in_user_can_preview_and_nothing_is_saved(make_user, api_of):
    outsider = make_user("eve", role=None)
    client = api_of(ApiToken.objects.issue(outsider, "t")[1])

    assert client.post(ADDRESS, {"schedule": DAILY_AT_FIVE}).status_code == 200
    assert not (Job.objects.exists())
    assert not (Trigger.objects.exists())
    assert not (Run.objects.exists())


def test_preview_requires_sign_in(api_of):
    assert api_of().post(ADDRESS, {"schedule": DAILY_AT_FIVE}).status_code == 401


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5) | st.datetimes().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
numbers = st.integers(-40, 70)
wall_times = st.datetimes().map(lambda wall: wall.isoformat())
instants = wall_times.map(lambda wall: f"{wall}Z")
clock_changes = (
    st.sampled_from(["cron", "Quartz"])
    | st.fixed_dictionaries(
        {},
        optional={
            "gap": st.sampled_from(["next", "Shift", "skip"]) | json_values,
            "repeat": st.sampled_from(["first", "SECOND", "both"]) | json_values,
        },
    )
    | json_values
)
clocks = {
    "timeZone": st.sampled_from(["UTC", "America/New_York", "romance standard time", "Mars"]) | json_values,
    "clockChange": clock_changes,
    "startTime": instants | json_values,
    "endTime": instants | json_values,
}
azure_schedules = st.fixed_dictionaries(
    {"format": st.just("azure")},
    optional=clocks
    | {
        "startTime": wall_times | instants | json_values,
        "recurrence": st.fixed_dictionaries(
            {"frequency": st.sampled_from(["minute", "hour", "day", "week", "month"]) | json_values},
            optional={
                "interval": numbers | json_values,
                "count": st.integers(1, 2**31) | json_values,
                "endTime": instants | json_values,
                "schedule": st.dictionaries(
                    st.sampled_from(["minutes", "hours", "weekDays", "monthDays", "monthlyOccurrences"]),
                    numbers | st.lists(numbers, max_size=4) | json_values,
                    max_size=3,
                ),
            },
        )
        | json_values,
    },
)
quartz_fields = st.text("0123456789*/-,?LW#ACFRI ", min_size=1, max_size=6) | st.sampled_from(["0", "*", "?", "6L"])
quartz_schedules = st.fixed_dictionaries(
    {
        "format": st.just("quartz"),
        "expression": st.lists(quartz_fields, min_size=5, max_size=8).map(" ".join)
        | st.tuples(quartz_fields, quartz_fields).map(lambda days: f"0 30 2 {days[0]} * {days[1]}")
        | json_values,
    },
    optional=clocks,
)
cron_fields = st.text("0123456789*/-,FRI ", min_size=1, max_size=6) | st.sampled_from(["0", "*", "5-5", "*/7"])
cron_schedules = st.fixed_dictionaries(
    {
        "format": st.just("cron"),
        "expression": st.lists(cron_fields, min_size=4, max_size=6).map(" ".join)
        | st.sampled_from(["@daily", "@reboot"])
        | json_values,
    },
    optional=clocks,
)
moments = instants | st.integers(-(10**15), 10**15) | st.integers(-(10**15), 10**15).map(str) | json_values
simple_schedules = st.fixed_dictionaries(
    {"format": st.just("simple")},
    optional=dict.fromkeys(("startTime", "endTime"), moments)
    | dict.fromkeys(("interval", "repeatCount"), st.integers(-1, 2**32) | json_values)
    | {"timeZone": clocks["timeZone"]},
)
once_schedules = st.fixed_dictionaries(
    {"format": st.just("once")}, optional={"at": moments, "timeZone": clocks["timeZone"]}
)
zones = st.sampled_from(["UTC", "Pacific/Apia", "romance standard time", "Mars"]) | json_values
date_times = st.fixed_dictionaries(
    {"dateTime": st.datetimes().map(lambda wall: wall.isoformat()[:19]) | json_values}, optional={"timeZone": zones}
)
days = st.dates().map(str) | json_values
weekdays = st.sampled_from(["monday", "Friday", "sunday", "noday"])
outlook_schedules = st.fixed_dictionaries(
    {
        "format": st.just("outlook"),
        "start": st.just(EVERY_MONDAY["start"]) | date_times,
        "end": st.just(EVERY_MONDAY["end"]) | date_times,
        "recurrence": st.fixed_dictionaries(
            {
                "pattern": st.fixed_dictionaries(
                    {
                        "type": st.sampled_from(
                            [
                                "daily",
                                "weekly",
                                "absoluteMonthly",
                                "relativeMonthly",
                                "absoluteYearly",
                                "relativeYearly",
                            ]
                        ),
                        "interval": numbers,
                    },
                    optional={
                        "daysOfWeek": st.lists(weekdays, max_size=3) | json_values,
                        "dayOfMonth": numbers,
                        "month": numbers,
                        "index": st.sampled_from(["first", "LAST", "fifth"]) | json_values,
                        "firstDayOfWeek": weekdays | json_values,
                    },
                ),
                "range": st.fixed_dictionaries(
                    {
                        "type": st.sampled_from(["noEnd", "endDate", "numbered"]),
                        "startDate": st.just("2017-09-04") | days,
                    },
                    optional={"endDate": days, "numberOfOccurrences": numbers, "recurrenceTimeZone": zones},
                ),
            }
        )
        | json_values,
    },
    optional=clocks,
)
rules = st.fixed_dictionaries(
    {
        "format": st.just("rrule"),
        "start": date_times,
        "rrule": st.lists(
            st.sampled_from(
                [
                    *("FREQ=DAILY", "FREQ=YEARLY", "FREQ=HOURLY", "FREQ=SECONDLY", "BYDAY=MO,2TU", "BYMONTHDAY=31"),
                    *("BYMONTH=2", "COUNT=3", "UNTIL=20200101", "BYHOUR=2,9", "BYMINUTE=30", "INTERVAL=999"),
                ]
            ),
            max_size=4,
        ).map(";".join)
        | json_values,
    },
    optional={"end": date_times, "exdates": st.lists(days, max_size=2), "rdates": st.lists(days, max_size=2)},
)
degrees = st.floats(-200, 200) | json_values
solar_schedules = st.fixed_dictionaries(
    {
        "format": st.just("solar"),
        "event": st.sampled_from(["sunrise", "Dusk", "noon", "eclipse"]) | json_values,
        "latitude": degrees,
        "longitude": degrees,
    },
    optional={"offset": st.sampled_from(["-PT45M", "PT13H", "P1D"]) | json_values, "timeZone": zones},
)
schedules = (
    solar_schedules
    | azure_schedules
    | quartz_schedules
    | cron_schedules
    | simple_schedules
    | once_schedules
    | outlook_schedules
    | rules
)


class PreviewOfAnySchedule(TestCase):
    """The response to any request is a preview or an error of the caller."""

    def setUp(self):
        user = User.objects.create_user("fuzz")
        self.client = APIClient()
        self.client.force_authenticate(user)

    @settings(max_examples=150, derandomize=True, deadline=None)
    @given(
        st.fixed_dictionaries(
            {"schedule": schedules | json_values},
            optional=dict.fromkeys(("now", "after", "from", "to"), instants | json_values)
            | {"count": st.integers(1, 1000) | json_values},
        )
    )
    def test_no_schedule_causes_a_server_error(self, body):
        response = self.client.post(ADDRESS, body)

        assert response.status_code in (200, 400), response.content
        if response.status_code == 400:
            assert set(response.json()["error"]) >= {"code", "message", "target"}
