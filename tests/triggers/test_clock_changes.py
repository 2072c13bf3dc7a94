"""/api/clock-changes, and the warnings about clock changes."""

import pytest
import time_machine
from pytest_django.asserts import assertContains, assertNotContains

from accounts.models import ApiToken, Role, Subscription
from tests.conftest import NOW
from triggers.models import Trigger

ADDRESS = "/api/clock-changes"
PAGE = "/clock-changes/"
SPRING = "Clocks in Europe/Berlin go forward from 02:00 to 03:00 on 29 March 2026: "
AUTUMN = "Clocks in Europe/Berlin go back from 03:00 to 02:00 on 25 October 2026: "


@pytest.fixture(autouse=True)
def fixed_time():
    with time_machine.travel(NOW, tick=False):
        yield


def berlin(expression: str, **members) -> dict:
    return {"expression": expression, "timeZone": "Europe/Berlin", **members}


def changes(api, **query) -> list[dict]:
    response = api.get(ADDRESS, query)
    assert response.status_code == 200, response.content
    return response.json()["value"]


@pytest.mark.parametrize(
    "expression, clock_change, spring, autumn",
    [
        (
            "0 30 2 * * ?",
            "cron",
            ("moved", "02:30 fires at 03:00."),
            ("none", "02:30 happens twice and fires the first time."),
        ),
        (
            "0 30 2 * * ?",
            "quartz",
            ("leftOut", "02:30 is left out."),
            ("none", "02:30 happens twice and fires the second time."),
        ),
        (
            "0 0/30 2 * * ?",
            "cron",
            ("moved", "02:00 and 02:30 fire once, at 03:00."),
            ("doubled", "02:00 and 02:30 happen twice and fire both times."),
        ),
        (
            "0 0 * * * ?",
            "cron",
            ("none", "02:00 goes on at the same interval."),
            ("none", "02:00 goes on at the same interval."),
        ),
        (
            "0 0 */2 * * ?",
            "cron",
            ("moved", "02:00 fires at 03:00."),
            ("doubled", "02:00 happens twice and fires both times."),
        ),
        (
            "0 0/10 2 * * ?",
            "quartz",
            ("leftOut", "the times from 02:00 to 03:00 are left out."),
            ("none", "the times from 02:00 to 03:00 happen twice and fire the second time."),
        ),
    ],
)
def test_coming_changes_are_listed_with_the_triggers_that_they_touch(
    api, make_job, make_trigger, expression, clock_change, spring, autumn
):
    job = make_job(schedule=None)
    trigger = make_trigger(job, definition=berlin(expression, clockChange=clock_change))
    names = {
        "trigger": trigger.pk,
        "triggerName": "hourly",
        "job": job.pk,
        "jobName": "backup",
        "collectionName": "nightly",
    }

    assert changes(api, days=365) == [
        {
            "zone": "Europe/Berlin",
            "at": "2026-03-29T01:00:00Z",
            "kind": "gap",
            "from": "02:00",
            "to": "03:00",
            "offsetBefore": "+01:00",
            "offsetAfter": "+02:00",
            "triggers": [{**names, "effect": spring[0], "text": SPRING + spring[1]}],
        },
        {
            "zone": "Europe/Berlin",
            "at": "2026-10-25T01:00:00Z",
            "kind": "repeat",
            "from": "02:00",
            "to": "03:00",
            "offsetBefore": "+02:00",
            "offsetAfter": "+01:00",
            "triggers": [{**names, "effect": autumn[0], "text": AUTUMN + autumn[1]}],
        },
    ]


def test_change_of_a_zone_in_use_is_listed_without_triggers_if_it_touches_none(api, make_job, make_trigger):
    make_trigger(make_job(schedule=None), definition=berlin("0 0 9 * * ?"))
    make_trigger(make_job("other", schedule=None), definition={"expression": "0 30 2 * * ?"})

    assert [(each["zone"], each["triggers"]) for each in changes(api, days=100)] == [("Europe/Berlin", [])]


def test_stopped_triggers_and_those_that_have_ended_are_not_touched(api, make_job, make_trigger):
    job = make_job(schedule=None)
    make_trigger(job, "disabled", definition=berlin("0 30 2 * * ?"), enabled=False)
    make_trigger(job, "ends-before", definition=berlin("0 30 2 * * ?", endTime="2026-03-01T00:00:00Z"))
    make_trigger(job, "ends-after", definition=berlin("0 30 2 * * ?", endTime="2026-04-01T00:00:00Z"))

    touched = [[trigger["triggerName"] for trigger in each["triggers"]] for each in changes(api, days=365)]

    assert touched == [["ends-after"], []]


def test_triggers_of_other_subscriptions_are_not_listed(api, api_of, make_user, make_job, make_trigger):
    make_trigger(make_job(schedule=None), definition=berlin("0 30 2 * * ?"))
    stranger = api_of(ApiToken.objects.issue(make_user("eve", role=None), "t")[1])

    assert changes(stranger) == []
    assert len(changes(api)) == 2


def test_number_of_queries_does_not_depend_on_the_triggers(api, make_job, make_trigger, django_assert_max_num_queries):
    for number in range(5):
        make_trigger(make_job(f"job-{number}", schedule=None), definition=berlin("0 30 2 * * ?"))
        changes(api)
        with django_assert_max_num_queries(3):
            assert len(changes(api)[0]["triggers"]) == number + 1


@pytest.mark.parametrize("days", ["0", "401", "x", "1.5", "-1", ""])
def test_wrong_number_of_days_is_refused(api, days):
    response = api.get(ADDRESS, {"days": days})

    assert (response.status_code, response.json()["error"]["target"]) == (400, "days")


# Warnings


def test_saved_trigger_and_preview_warn_about_clock_changes(api, make_job):
    job = make_job(schedule=None)
    schedule = {"format": "quartz", **berlin("0 30 2 * * ?", clockChange="quartz")}

    created = api.post("/api/triggers", {"job": job.pk, "name": "nightly", "schedule": schedule})
    previewed = api.post("/api/schedules/preview", {"schedule": schedule})

    assert created.status_code == 201, created.content
    assert created.json()["warnings"] == previewed.json()["warnings"] == [SPRING + "02:30 is left out."]


def test_schedule_that_no_clock_change_touches_has_no_warnings(api):
    for expression in ("0 0 9 * * ?", "0 0/15 * * * ?", "* * * * * ?"):
        schedule = {"format": "quartz", **berlin(expression)}
        assert api.post("/api/schedules/preview", {"schedule": schedule}).json()["warnings"] == []


# The page


def test_page_lists_the_changes_with_their_effects(client, owner, make_job, make_trigger):
    make_trigger(make_job(schedule=None), definition=berlin("0 30 2 * * ?"))
    client.force_login(owner)

    page = client.get(PAGE)

    assert page.status_code == 200
    for text in ("Europe/Berlin", "Clocks go forward from 02:00 to 03:00.", "02:30 fires at 03:00.", "Moved: 1"):
        assertContains(page, text)


def test_page_changes_the_rule_of_the_chosen_triggers(client, owner, make_job, make_trigger):
    job = make_job(schedule={"expression": "30 2 * * *", "timeZone": "Europe/Berlin"}, format="cron")
    main, other = job.triggers.get(), make_trigger(job, definition=berlin("0 30 2 * * ?"))
    unchosen = make_trigger(make_job("other", schedule=None), definition=berlin("0 30 2 * * ?"))
    client.force_login(owner)

    page = client.post(PAGE, {"trigger": [main.pk, other.pk], "rule": "skip"}, follow=True)

    assertContains(page, "The rule of 2 triggers was changed.")
    rules = [Trigger.objects.get(pk=each.pk).definition.get("clockChange") for each in (main, other, unchosen)]
    assert rules == [{"gap": "skip", "repeat": "first"}] * 2 + [None]
    assertContains(page, "Left out: 2")
    assertContains(page, "Moved: 1")


@pytest.mark.parametrize(
    "members", [{}, {"rule": "skip"}, {"rule": "unknown", "trigger": "1"}, {"trigger": ["x", "9" * 30], "rule": "skip"}]
)
def test_wrong_choice_changes_nothing(client, owner, make_job, make_trigger, members):
    trigger = make_trigger(make_job(schedule=None), definition=berlin("0 30 2 * * ?"))
    client.force_login(owner)

    page = client.post(PAGE, members, follow=True)

    assertContains(page, "Choose triggers and a rule.")
    assert Trigger.objects.get(pk=trigger.pk).definition == trigger.definition


def test_trigger_that_follows_no_clocks_is_refused_by_name(client, owner, make_job, make_trigger):
    trigger = make_trigger(make_job(schedule=None), "once", "once", definition={"at": "2026-05-01T00:00:00Z"})
    client.force_login(owner)

    page = client.post(PAGE, {"trigger": trigger.pk, "rule": "skip"}, follow=True)

    assertContains(page, "backup, trigger once: clockChange: goes only with fire times that follow clocks")


def test_readers_see_the_page_and_change_nothing(client, make_user, make_job, make_trigger):
    trigger = make_trigger(make_job(schedule=None), definition=berlin("0 30 2 * * ?"))
    client.force_login(make_user("bob", role=Role.READER, is_staff=True))

    assertNotContains(client.get(PAGE), 'name="rule"')
    client.post(PAGE, {"trigger": trigger.pk, "rule": "skip"})

    assert Trigger.objects.get(pk=trigger.pk).definition == trigger.definition


def test_page_shows_no_triggers_of_other_subscriptions(client, make_user, make_job, make_trigger):
    trigger = make_trigger(make_job(schedule=None), definition=berlin("0 30 2 * * ?"))
    other = Subscription.objects.create(name="other")
    client.force_login(make_user("eve", in_subscription=other, is_staff=True))

    assertContains(client.get(PAGE), "No clock changes")
    client.post(PAGE, {"trigger": trigger.pk, "rule": "skip"})

    assert Trigger.objects.get(pk=trigger.pk).definition == trigger.definition


def test_job_warns_about_the_clock_changes_of_its_schedule(api, client, owner, collection):
    schedule = {"format": "cron", **berlin("30 2 * * *")}
    action = {"type": "Https", "request": {"method": "POST", "uri": "https://shop.example.com/"}}

    job = api.post("/api/jobs", {"collection": collection.pk, "name": "report", "action": action, "schedule": schedule})
    client.force_login(owner)

    assert job.status_code == 201, job.content
    warning = {"code": "clock_change", "target": "schedule", "message": SPRING + "02:30 fires at 03:00."}
    assert job.json()["warnings"] == [warning]
    assertContains(client.get(f"/admin/jobs/job/{job.json()['id']}/"), warning["message"])


def test_schedule_that_leaves_the_day_of_a_clock_change_out_has_no_warning(api):
    api.post("/api/closed-days", {"name": "offices", "weekend": ["saturday", "sunday"]})
    for members in ({"skips": ["2026-03-29"]}, {"closedDays": {"calendar": "offices", "rule": "after"}}):
        schedule = {"format": "quartz", **berlin("0 30 2 * * ?"), **members}
        assert api.post("/api/schedules/preview", {"schedule": schedule}).json()["warnings"] == []


def test_clock_change_after_the_last_run_of_a_count_has_no_warning(api, make_job):
    def schedule(count: int) -> dict:
        start = {"startTime": "2026-03-20T02:30:00", "timeZone": "Europe/Berlin"}
        return {"format": "azure", **start, "recurrence": {"frequency": "Day", "count": count}}

    def warnings(count: int) -> list[str]:
        return api.post("/api/schedules/preview", {"schedule": schedule(count)}).json()["warnings"]

    assert (warnings(9), len(warnings(10))) == ([], 1)  # the tenth run is on 29 March
    stored = []
    for count in (9, 10):
        body = {
            "job": make_job().pk if not stored else stored[0]["job"],
            "name": f"t{count}",
            "schedule": schedule(count),
        }
        stored.append(api.post("/api/triggers", body).json())
    assert [len(each["warnings"]) for each in stored] == [0, 1]
    touched = [each["triggerName"] for change in changes(api, days=400) for each in change["triggers"]]
    assert touched == ["t10"]
