"""POST /api/schedules/translate."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from rest_framework.test import APIClient

from accounts.models import ApiToken, User
from jobs.models import Job
from recurrence.translation import FORMATS
from tests.triggers.test_preview import azure_schedules, instants, json_values, quartz_schedules
from triggers.models import Trigger

ADDRESS = "/api/schedules/translate"
NEW_YEAR = "2026-01-01T00:00:00Z"
OFFICE_HOURS = {"format": "cron", "expression": "*/15 9-17 * * MON-FRI"}
EVERY_SECOND_DAY = {
    "format": "azure",
    "startTime": "2026-01-01T12:00:00Z",
    "recurrence": {"frequency": "Day", "interval": 2},
}


def test_translation_is_returned(api):
    response = api.post(ADDRESS, {"schedule": OFFICE_HOURS, "to": "quartz"})

    assert response.status_code == 200, response.content
    assert response.json() == {
        "schedule": {"format": "quartz", "expression": "0 */15 9-17 ? * MON-FRI"},
        "cannotSay": [],
        "differences": [],
        "warnings": [],
    }


@pytest.mark.parametrize("to", FORMATS)
def test_schedule_of_any_format_is_translated_into_any_other(api, to):
    schedule = {"format": "once", "at": "2026-05-05T08:00:00Z"}

    response = api.post(ADDRESS, {"schedule": schedule, "to": to, "now": NEW_YEAR}).json()

    assert response["differences"] == []
    if to in ("cron", "solar"):
        assert response["schedule"] is None
        assert response["cannotSay"]
    else:
        assert response["cannotSay"] == []
        back = api.post(ADDRESS, {"schedule": response["schedule"], "to": "once", "now": NEW_YEAR}).json()
        assert back["schedule"] == schedule


def test_removed_days_of_a_rule_are_skips_of_the_translation(api):
    schedule = {
        "format": "rrule",
        "start": {"dateTime": "2026-01-05T09:00:00", "timeZone": "Europe/Berlin"},
        "rrule": "FREQ=WEEKLY",
        "exdates": ["2026-01-12"],
    }

    response = api.post(ADDRESS, {"schedule": schedule, "to": "cron", "now": NEW_YEAR}).json()

    assert response["schedule"]["skips"] == ["2026-01-12"]
    assert (response["cannotSay"], response["differences"]) == ([], [])


def test_members_that_every_format_has_are_kept(api):
    members = {"skips": ["2026-12-24"], "jitter": "PT5M", "closedDays": {"calendar": "berlin", "rule": "after"}}

    response = api.post(ADDRESS, {"schedule": OFFICE_HOURS | members, "to": "quartz"})

    assert response.json()["schedule"] == {
        "format": "quartz",
        "expression": "0 */15 9-17 ? * MON-FRI",
        **members,
    }


def test_a_translation_can_be_previewed(api):
    schedule = api.post(ADDRESS, {"schedule": OFFICE_HOURS, "to": "azure", "now": NEW_YEAR}).json()["schedule"]

    preview = api.post("/api/schedules/preview", {"schedule": schedule, "now": NEW_YEAR, "count": 1}).json()

    assert preview["occurrences"][0]["at"] == "2026-01-01T09:00:00Z"


def test_approximate_translation_has_its_first_differences(api):
    response = api.post(ADDRESS, {"schedule": EVERY_SECOND_DAY, "to": "quartz", "now": NEW_YEAR}).json()

    assert response["schedule"]["expression"] == "0 0 12 */2 * ?"
    assert [sentence.partition(":")[0] for sentence in response["cannotSay"]] == ["recurrence.interval"]
    assert response["differences"][:2] == [
        {"at": "2026-02-01T12:00:00Z", "only": "translation"},
        {"at": "2026-02-02T12:00:00Z", "only": "source"},
    ]
    assert len(response["differences"]) == 10


def test_untranslatable_schedule_has_the_reason(api):
    schedule = {"format": "quartz", "expression": "0 0 12 LW * ?"}

    response = api.post(ADDRESS, {"schedule": schedule, "to": "azure"}).json()

    assert (response["schedule"], response["differences"]) == (None, [])
    assert response["cannotSay"] == ["expression: LW cannot be said in an Azure recurrence"]


def test_unusual_schedule_has_a_warning(api):
    schedule = {"format": "cron", "expression": "0 0 30 2 *"}

    response = api.post(ADDRESS, {"schedule": schedule, "to": "quartz"}).json()

    assert len(response["warnings"]) == 1


def test_unknown_member_of_the_schedule_is_refused(api):
    response = api.post(ADDRESS, {"schedule": {"format": "cron", "expression": "@daily", "tz": "UTC"}, "to": "quartz"})

    assert response.status_code == 400
    assert response.json()["error"]["target"] == "schedule.tz"


@pytest.mark.parametrize(
    "change, target",
    [
        ({"schedule": None}, "schedule"),
        ({"schedule": {}}, "schedule.format"),
        ({"schedule": {"format": "sundial"}}, "schedule.format"),
        ({"schedule": {"format": "cron"}}, "schedule.expression"),
        ({"schedule": {"format": "cron", "expression": "* * * * * *"}}, "schedule.expression"),
        ({"schedule": OFFICE_HOURS | {"timeZone": "Mars"}}, "schedule.timeZone"),
        ({"schedule": {"format": "quartz", "expression": "* * * * *"}}, "schedule.expression"),
        ({"schedule": {"format": "azure", "recurrence": {}}}, "schedule.recurrence.frequency"),
        ({"to": "cobol"}, "to"),
        ({"to": None}, "to"),
        ({"now": "soon"}, "now"),
        ({"now": "9990-01-01T00:00:00Z"}, "now"),
    ],
)
def test_wrong_member_of_a_translation_is_refused_with_its_path(api, change, target):
    response = api.post(ADDRESS, {"schedule": OFFICE_HOURS, "to": "quartz"} | change)

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)


@pytest.mark.parametrize("missing", ["schedule", "to"])
def test_schedule_and_to_are_required(api, missing):
    body = {"schedule": OFFICE_HOURS, "to": "quartz"}
    del body[missing]

    assert api.post(ADDRESS, body).json()["error"]["target"] == missing


def test_any_signed_in_user_can_translate_and_nothing_is_saved(make_user, api_of):
    client = api_of(ApiToken.objects.issue(make_user("eve", role=None), "t")[1])

    assert client.post(ADDRESS, {"schedule": OFFICE_HOURS, "to": "quartz"}).status_code == 200
    assert not (Job.objects.exists())
    assert not (Trigger.objects.exists())


@pytest.mark.parametrize(
    "schedule, to",
    [
        ({"format": "quartz", "expression": "* * * * * ?", "timeZone": "America/New_York"}, "cron"),
        ({"format": "cron", "expression": "* * * * *", "timeZone": "America/New_York"}, "quartz"),
        ({"format": "azure", "recurrence": {"frequency": "Minute"}}, "cron"),
        (
            {"format": "quartz", "expression": "0 * * * * ?", "timeZone": "America/New_York", "clockChange": "quartz"},
            "cron",
        ),
        ({"format": "azure", "recurrence": {"frequency": "Minute", "count": 2**31 - 1}}, "quartz"),
    ],
)
def test_time_of_a_translation_has_a_limit_for_any_number_of_fire_times(api, schedule, to):
    api.get("/api/jobs")
    before = time.process_time()

    assert api.post(ADDRESS, {"schedule": schedule, "to": to, "now": NEW_YEAR}).status_code == 200

    assert time.process_time() - before < 1


cron_fields = st.text("0123456789*/-,SUNMON ", min_size=1, max_size=6) | st.sampled_from(["0", "*", "*/5", "MON"])
cron_schedules = st.fixed_dictionaries(
    {
        "format": st.just("cron"),
        "expression": st.lists(cron_fields, min_size=4, max_size=6).map(" ".join)
        | st.tuples(cron_fields, cron_fields).map(lambda days: f"30 2 {days[0]} * {days[1]}")
        | json_values,
    },
    optional={"timeZone": st.sampled_from(["UTC", "America/New_York", "Mars"]) | json_values},
)


class TranslationOfAnySchedule(TestCase):
    """The response to any request is a translation or an error of the caller."""

    def setUp(self):
        user = User.objects.create_user("fuzz")
        self.client = APIClient()
        self.client.force_authenticate(user)

    @settings(max_examples=150, derandomize=True, deadline=None)
    @given(
        st.fixed_dictionaries(
            {
                "schedule": cron_schedules | azure_schedules | quartz_schedules | json_values,
                "to": st.sampled_from(FORMATS) | json_values,
            },
            optional={"now": instants | json_values},
        )
    )
    def test_no_schedule_causes_a_server_error(self, body):
        response = self.client.post(ADDRESS, body)

        assert response.status_code in (200, 400), response.content
        if response.status_code == 400:
            assert set(response.json()["error"]) >= {"code", "message", "target"}
