"""POST /api/schedules/compare."""

import pytest

ADDRESS = "/api/schedules/compare"
NEW_YEAR = "2026-01-01T00:00:00Z"


def cron(expression: str, **members) -> dict:
    return {"format": "quartz", "expression": expression, "timeZone": "Europe/Berlin", **members}


def comparison(api, before: dict, after: dict, **members) -> dict:
    response = api.post(ADDRESS, {"before": before, "after": after, "from": NEW_YEAR, **members})
    assert response.status_code == 200, response.content
    return response.json()


def counts(document: dict) -> tuple[int, int, int, int]:
    return (*(document[name]["count"] for name in ("added", "removed", "moved")), document["unchanged"])


def test_later_time_of_day_moves_each_fire_time(api):
    document = comparison(api, cron("0 0 9 ? * MON-FRI"), cron("0 0 10 ? * MON-FRI"))

    assert document == {
        "from": NEW_YEAR,
        "to": "2026-01-31T00:00:00Z",
        "complete": True,
        "unchanged": 0,
        "added": {"count": 0, "first": None},
        "removed": {"count": 0, "first": None},
        "moved": {"count": 22, "first": {"from": "2026-01-01T08:00:00Z", "to": "2026-01-01T09:00:00Z"}},
    }


def test_further_times_are_added_and_dropped_days_are_removed(api):
    more = comparison(api, cron("0 0 9 ? * MON-FRI"), cron("0 0 9,17 ? * MON-SAT"), days=7)
    fewer = comparison(api, cron("0 0 9 ? * *"), cron("0 0 9 ? * MON-FRI"), days=7)

    assert counts(more) == (5 + 2, 0, 0, 5)
    assert more["added"]["first"] == "2026-01-01T16:00:00Z"
    assert counts(fewer) == (0, 2, 0, 5)
    assert fewer["removed"]["first"] == "2026-01-03T08:00:00Z"


def test_another_day_between_unchanged_fire_times_is_a_move(api):
    monthly = comparison(api, cron("0 0 9 1 * ?"), cron("0 0 9 15 * ?"), days=90)

    assert counts(monthly) == (0, 0, 3, 0)
    assert monthly["moved"]["first"] == {"from": "2026-01-01T08:00:00Z", "to": "2026-01-15T08:00:00Z"}


def test_same_schedule_in_another_format_changes_nothing(api):
    azure = {
        "format": "azure",
        "startTime": "2025-12-31T09:00:00Z",
        "recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [9], "minutes": [0]}},
    }

    document = comparison(api, azure, {"format": "quartz", "expression": "0 0 9 ? * MON"}, days=365)

    assert counts(document) == (0, 0, 0, 52)


def test_run_budget_ends_the_fire_times(api):
    daily = {"format": "azure", "startTime": "2026-01-01T09:00:00Z"}
    document = comparison(
        api,
        daily | {"recurrence": {"frequency": "Day", "count": 10}},
        daily | {"recurrence": {"frequency": "Day", "count": 3}},
    )

    assert counts(document) == (0, 7, 0, 3)


def test_comparison_of_very_frequent_schedules_ends_early(api):
    document = comparison(api, cron("* * * ? * *"), cron("*/2 * * ? * *"), days=365)

    assert (document["complete"], document["to"]) == (False, "2026-01-01T01:23:19.000001Z")
    assert counts(document) == (0, 2_500, 0, 2_500)


@pytest.mark.parametrize(
    "change, path",
    [
        ({"before": None}, "before"),
        ({"after": {"format": "quartz", "expression": "61 * * ? * *"}}, "after.expression"),
        ({"after": {"format": "quartz", "expression": "0 0 9 ? * *", "zone": "UTC"}}, "after.zone"),
        ({"days": 0}, "days"),
        ({"days": 401}, "days"),
        ({"from": "9999-01-01T00:00:00Z"}, "from"),
        ({"from": "yesterday"}, "from"),
    ],
)
def test_wrong_member_is_refused_by_its_path(api, change, path):
    body = {"before": cron("0 0 9 ? * *"), "after": cron("0 0 9 ? * *")} | change

    response = api.post(ADDRESS, body)

    assert response.status_code == 400, response.content
    assert response.json()["error"]["target"] == path
