"""/api/closed-days, and schedules that name a calendar of closed days."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Membership, Role, Subscription
from jobs.models import Job
from operations.models import Operation
from operations.service import carry_out
from tests.conftest import WEDNESDAY, utc
from triggers import closed_days
from triggers.dispatch import dispatch_due
from triggers.models import ClosedDays, ClosedDaysVersion, Trigger

ADDRESS = "/api/closed-days"
GERMANY = {
    "name": "germany",
    "weekend": ["saturday", "sunday"],
    "holidays": [{"country": "DE", "subdivision": "BE"}],
    "dates": [
        {"from": "2026-12-28", "to": "2026-12-31", "name": "Company holidays"},
        {"month": 12, "day": 24, "name": "Christmas Eve"},
        {"date": "2026-11-06"},
    ],
    "calendars": [],
}
# the test begins on Wednesday 2026-11-04 at 12:32
THURSDAY, FRIDAY, MONDAY = (utc(f"2026-11-{day}T08:00Z") for day in ("05", "06", "09"))


def schedule(rule: str = "skip", name: str = "germany", **members) -> dict:
    return {
        "format": "quartz",
        "expression": "0 0 8 * * ?",
        "closedDays": {"calendar": name, "rule": rule},
        **members,
    }


@pytest.fixture
def germany(api):
    return api.post(ADDRESS, GERMANY)


@pytest.fixture
def job(make_job):
    return make_job(now=timezone.now(), schedule={"startTime": "2026-12-01T08:00:00Z"})


@pytest.fixture
def save(api, job):
    """Return a function that creates a trigger with a schedule and returns its row."""

    def create(schedule: dict, name: str = "extra") -> Trigger:
        response = api.post("/api/triggers", {"job": job.pk, "name": name, "schedule": schedule})
        assert response.status_code == 201, response.content
        return Trigger.objects.get(pk=response.json()["id"])

    return create


def refused(response) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    return response.status_code, error["code"], error.get("target")


# Create, read, change, delete


def test_created_calendar_is_returned_completely(api, germany, subscription):
    assert (germany.status_code, germany["Location"]) == (201, f"http://testserver{ADDRESS}/germany")
    stored = ClosedDays.objects.get()
    assert germany.json() == {
        **GERMANY,
        "id": stored.pk,
        "subscription": str(subscription.pk),
        "triggerCount": 0,
        "revision": 1,
        "createdAt": germany.json()["createdAt"],
        "updatedAt": germany.json()["updatedAt"],
    }
    answer = api.get(f"{ADDRESS}/Germany")
    assert (answer.json(), answer["ETag"]) == (germany.json(), germany["ETag"])
    assert api.get(f"{ADDRESS}/germany", headers={"If-None-Match": germany["ETag"]}).status_code == 304


def test_creation_with_a_key_is_repeatable(api):
    first, second = (api.post(ADDRESS, GERMANY, headers={"Idempotency-Key": "k"}) for _ in range(2))

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()


@pytest.mark.parametrize(
    "members, expected",
    [
        ({"name": "two words"}, (400, "invalid", "name")),
        ({"name": "GERMANY"}, (409, "conflict", "name")),
        ({"weekend": ["caturday"]}, (400, "unknown_value", "weekend[0]")),
        ({"holidays": [{"country": "XX"}]}, (400, "unknown_value", "holidays[0].country")),
        ({"holidays": [{"country": "DE", "subdivision": "9"}]}, (400, "unknown_value", "holidays[0].subdivision")),
        ({"dates": [{"month": 2, "day": 30}]}, (400, "out_of_range", "dates[0].day")),
        ({"dates": [{"from": "2026-02-03", "to": "2026-02-01"}]}, (400, "out_of_range", "dates[0].to")),
        ({"dates": "2026-02-03"}, (400, "invalid", "dates")),
        ({"calendars": [{"calendar": "x"}]}, (400, "unknown_value", "calendars[0].calendar")),
        ({"subscription": "00000000-0000-0000-0000-0000000000ff"}, (400, "does_not_exist", "subscription")),
    ],
)
def test_wrong_member_is_refused_with_its_path(api, germany, members, expected):
    response = api.post(ADDRESS, {**GERMANY, "name": "new", **members})

    assert refused(response) == expected
    assert ClosedDays.objects.count() == 1


def test_patch_changes_only_the_lists_that_are_sent(api, germany):
    response = api.patch(f"{ADDRESS}/germany", {"dates": []})

    assert response.json() == {
        **germany.json(),
        "dates": [],
        "revision": 2,
        "updatedAt": response.json()["updatedAt"],
    }


def test_put_resets_what_is_left_out_and_the_same_put_twice_changes_nothing(api, germany):
    first, second = (api.put(f"{ADDRESS}/germany", {"weekend": ["sunday"]}) for _ in range(2))

    assert (first.json()["holidays"], first.json()["weekend"]) == ([], ["sunday"])
    assert second.json() == first.json()
    assert ClosedDaysVersion.objects.filter(calendar__name="germany").count() == 2


def test_change_of_an_old_version_is_refused(api, germany):
    old = germany["ETag"]
    api.patch(f"{ADDRESS}/germany", {"dates": []})

    assert api.patch(f"{ADDRESS}/germany", {"weekend": []}, headers={"If-Match": old}).status_code == 412
    assert api.delete(f"{ADDRESS}/germany", headers={"If-Match": old}).status_code == 412


def test_calendar_can_be_renamed_and_deleted_while_no_schedule_names_it(api, germany):
    assert api.patch(f"{ADDRESS}/germany", {"name": "de"}).json()["name"] == "de"
    assert api.get(f"{ADDRESS}/germany").status_code == 404
    assert api.delete(f"{ADDRESS}/de").status_code == 204
    assert not ClosedDaysVersion.objects.exists()


def test_calendar_in_use_is_not_deleted_or_renamed_and_its_users_are_named(api, germany, save):
    save(schedule())

    for response in (api.delete(f"{ADDRESS}/germany"), api.patch(f"{ADDRESS}/germany", {"name": "de"})):
        assert response.status_code == 409
        assert "nightly/backup/extra" in response.json()["error"]["message"]
    assert api.patch(f"{ADDRESS}/germany", {"name": "Germany"}).status_code == 200  # other letters, the same name
    listed = api.get("/api/triggers?closedDays=germany").json()["value"]
    assert [each["name"] for each in listed] == ["extra"]
    assert api.get(f"{ADDRESS}/germany").json()["triggerCount"] == 1


def test_calendars_of_a_subscription_are_limited(api, germany, monkeypatch):
    monkeypatch.setattr(closed_days, "CALENDARS_LIMIT", 1)

    assert refused(api.post(ADDRESS, {"name": "another"}))[:2] == (409, "quota_exceeded")


def test_list_takes_the_same_number_of_queries_for_any_number(api, germany, django_assert_num_queries):
    api.get(ADDRESS)
    with django_assert_num_queries(3):
        api.get(ADDRESS)
    for number in range(5):
        api.post(ADDRESS, {"name": f"c{number}"})
    with django_assert_num_queries(3):
        assert len(api.get(ADDRESS).json()["value"]) == 6


# Several subscriptions


def test_name_in_several_subscriptions_is_told_apart_by_the_subscription(api, owner, germany):
    other = Subscription.objects.create(name="other")
    Membership.objects.create(user=owner, subscription=other, role=Role.OWNER)
    made = api.post(ADDRESS, {"name": "Germany", "subscription": str(other.pk)})

    assert made.status_code == 201
    assert api.get(made["Location"]).json()["subscription"] == str(other.pk)
    assert api.get(f"{ADDRESS}/germany?subscription=other").json()["subscription"] == str(other.pk)
    assert api.get(f"{ADDRESS}/germany").status_code in (200, 409)
    assert len(api.get(f"{ADDRESS}?subscription=other").json()["value"]) == 1


def test_calendar_of_another_subscription_is_unknown_to_schedules(api, job):
    elsewhere = Subscription.objects.create(name="elsewhere")
    closed_days.create(elsewhere, "theirs", {"weekend": ["sunday"]}, timezone.now())

    response = api.post("/api/triggers", {"job": job.pk, "name": "extra", "schedule": schedule(name="theirs")})

    assert refused(response) == (400, "unknown_value", "schedule.closedDays.calendar")
    assert api.get(f"{ADDRESS}/theirs").status_code == 404


def test_reader_cannot_change_a_calendar(api, owner, germany):
    Membership.objects.filter(user=owner).update(role=Role.READER)

    assert api.get(f"{ADDRESS}/germany").status_code == 200
    assert api.post(f"{ADDRESS}/germany/compare", {}).status_code == 403
    assert api.patch(f"{ADDRESS}/germany", {"dates": []}).status_code == 403
    assert api.delete(f"{ADDRESS}/germany").status_code == 403


# Dates


def test_dates_have_names_and_sources_also_holidays_on_a_weekend(api, germany):
    answer = api.get(f"{ADDRESS}/germany/dates?from=2026-12-24&to=2026-12-28").json()

    assert (answer["from"], answer["to"]) == ("2026-12-24", "2026-12-28")
    assert [(each["date"][-2:], each["name"], each["source"]) for each in answer["value"]] == [
        ("24", "Christmas Eve", "dates"),
        ("25", "Christmas Day", "holidays"),
        ("26", "Second Day of Christmas", "holidays"),  # a Saturday
        ("27", None, "weekend"),
        ("28", "Company holidays", "dates"),
    ]
    whole_year = api.get(f"{ADDRESS}/germany/dates").json()
    assert (whole_year["from"], whole_year["to"]) == (f"{WEDNESDAY:%Y-%m-%d}", "2027-11-04")


@pytest.mark.parametrize(
    "query, target",
    [
        ("from=tomorrow", "from"),
        ("to=2026-02-30", "to"),
        ("from=2026-05-02&to=2026-05-01", "to"),
        ("from=2026-05-02&to=2096-05-01", "to"),
        ("from=9999-12-01&to=2026-01-01", "to"),
        ("at=2026-05-02", "at"),
    ],
)
def test_wrong_window_is_refused(api, germany, query, target):
    response = api.get(f"{ADDRESS}/germany/dates?{query}")

    assert (response.status_code, response.json()["error"]["target"]) == (400, target)


def test_the_last_days_of_all_can_be_listed(api, germany):
    assert api.get(f"{ADDRESS}/germany/dates?from=9999-12-30").json()["to"] == "9999-12-31"


# Schedules that name a calendar


@pytest.mark.parametrize("rule, expected", [("skip", MONDAY), ("after", MONDAY), ("before", THURSDAY)])
def test_trigger_follows_the_calendar_of_its_subscription(api, germany, save, rule, expected):
    trigger = save(schedule(rule))

    fires = [trigger.next_fire_at]
    while fires[-1] < MONDAY:
        fires.append(trigger.parsed.schedule.after(fires[-1]))
    assert FRIDAY not in fires
    assert expected in fires
    assert trigger.closed_days_id == ClosedDays.objects.get().version_id


def test_unknown_calendar_is_refused(api, job, germany):
    response = api.post("/api/triggers", {"job": job.pk, "name": "extra", "schedule": schedule(name="mars")})

    assert refused(response) == (400, "unknown_value", "schedule.closedDays.calendar")
    assert not Trigger.objects.filter(name="extra").exists()


def test_trigger_without_closed_days_releases_the_calendar(api, germany, save):
    trigger = save(schedule())

    api.put(f"/api/triggers/{trigger.pk}", {"schedule": {"format": "quartz", "expression": "0 0 8 * * ?"}})

    trigger.refresh_from_db()
    assert (trigger.closed_days_id, trigger.next_fire_at) == (None, THURSDAY)
    assert api.delete(f"{ADDRESS}/germany").status_code == 204


def test_dispatch_moves_on_to_the_next_open_day(germany, save):
    trigger = save(schedule())

    dispatch_due(THURSDAY)

    trigger.refresh_from_db()
    assert (trigger.previous_fire_at, trigger.next_fire_at) == (THURSDAY, MONDAY)


def test_lists_of_triggers_take_no_query_for_the_closed_days_of_each_row(api, germany, save):
    for number in range(3):
        save(schedule(), f"t{number}")

    answer = api.get("/api/triggers?closedDays=germany").json()

    assert all("cannot be read" not in each["description"] for each in answer["value"])


# A change recomputes the next fire times


def test_change_recomputes_stored_next_fire_times(api, germany, save):
    trigger = save(schedule())
    assert trigger.next_fire_at == THURSDAY

    response = api.patch(f"{ADDRESS}/germany", {"dates": [{"date": "2026-11-05"}, {"date": "2026-11-06"}]})

    assert (response.status_code, "Location" in response) == (200, False)
    trigger.refresh_from_db()
    assert trigger.next_fire_at == MONDAY
    assert trigger.closed_days_id == ClosedDays.objects.get().version_id


def test_due_fire_time_stays_due(api, germany, save):
    trigger = save(schedule())
    due = timezone.now() - timedelta(seconds=5)
    Trigger.objects.filter(pk=trigger.pk).update(next_fire_at=due)

    api.patch(f"{ADDRESS}/germany", {"dates": [{"date": "2026-11-04"}]})

    trigger.refresh_from_db()
    assert trigger.next_fire_at == due


def test_stopped_trigger_stays_stopped_and_gets_the_new_days(api, germany, save):
    trigger = save(schedule())
    api.post(f"/api/triggers/{trigger.pk}/disable")
    api.patch(f"{ADDRESS}/germany", {"dates": [{"date": "2026-11-05"}]})

    trigger.refresh_from_db()
    assert trigger.next_fire_at is None
    api.post(f"/api/triggers/{trigger.pk}/enable")
    trigger.refresh_from_db()
    assert trigger.next_fire_at == FRIDAY


def test_calendar_without_open_days_stops_triggers_until_it_is_changed_and_ends_no_job(api, germany, save):
    trigger = save(schedule())
    closed = [{"from": f"{year}-01-01", "to": f"{year + 9}-12-31"} for year in range(2020, 2100, 10)]

    api.patch(f"{ADDRESS}/germany", {"dates": closed})
    trigger.refresh_from_db()
    assert trigger.next_fire_at is None
    assert Job.objects.get().state == Job.State.ENABLED

    api.patch(f"{ADDRESS}/germany", {"dates": []})
    trigger.refresh_from_db()
    assert trigger.next_fire_at == THURSDAY


def test_many_triggers_are_recomputed_by_an_operation(api, germany, save, monkeypatch):
    monkeypatch.setattr(closed_days, "TRIGGERS_AT_ONCE", 2)
    triggers = [save(schedule(), f"t{number}") for number in range(5)]

    response = api.patch(f"{ADDRESS}/germany", {"dates": [{"date": "2026-11-05"}]})

    operation = Operation.objects.get()
    assert response["Location"] == f"http://testserver/api/operations/{operation.pk}"
    assert {each.next_fire_at for each in Trigger.objects.filter(name__startswith="t")} == {THURSDAY}
    again = api.patch(f"{ADDRESS}/germany", {"dates": [{"date": "2026-11-05"}, {"date": "2026-11-06"}]})
    assert again["Location"] == response["Location"]
    carry_out(operation.pk, timezone.now, lambda: False)
    operation.refresh_from_db()
    assert operation.state == Operation.State.SUCCEEDED
    assert {each.next_fire_at for each in Trigger.objects.filter(pk__in=[t.pk for t in triggers])} == {MONDAY}


def test_recomputation_of_fire_times_cannot_be_cancelled(api, germany, save, monkeypatch):
    monkeypatch.setattr(closed_days, "TRIGGERS_AT_ONCE", 1)
    triggers = [save(schedule(), f"t{number}") for number in range(3)]
    address = api.patch(f"{ADDRESS}/germany", {"dates": [{"date": "2026-11-05"}]})["Location"]

    response = api.post(f"{address}/cancel")

    assert (response.status_code, response.json()["error"]["code"]) == (409, "not_cancellable")
    operation = Operation.objects.get()
    assert (operation.state, operation.cancel_requested_at) == (Operation.State.ACCEPTED, None)
    carry_out(operation.pk, timezone.now, lambda: False)
    assert THURSDAY not in {each.next_fire_at for each in Trigger.objects.filter(pk__in=[t.pk for t in triggers])}
    over = api.post(f"{address}/cancel").json()["error"]
    assert over["message"] == "the operation has already ended: succeeded"


# Comparison


def test_comparison_shows_what_moves_and_saves_nothing(api, germany, save):
    moving, skipping = save(schedule("after", expression="0 0 8 ? * THU"), "moving"), save(schedule(), "skipping")
    save(schedule(expression="0 0 8 ? * MON", rule="skip"), "unmoved")

    answer = api.post(
        f"{ADDRESS}/germany/compare",
        {**without_name(GERMANY), "dates": [{"date": "2026-11-05"}, *GERMANY["dates"][:2]]},
    ).json()

    assert (answer["triggerCount"], answer["comparedCount"], answer["complete"]) == (3, 3, True)
    by_name = {each["name"]: each for each in answer["triggers"]}
    assert by_name.keys() == {"moving", "skipping"}
    assert by_name["moving"] | {"moved": None} == {
        **{"id": moving.pk, "name": "moving", "job": moving.job_id, "jobName": "backup", "collectionName": "nightly"},
        **{"addedCount": 0, "removedCount": 0, "movedCount": 1, "added": [], "removed": [], "moved": None},
        "complete": True,
    }
    assert by_name["moving"]["moved"] == [{"from": "2026-11-05T08:00:00Z", "to": "2026-11-06T08:00:00Z"}]
    # open on Friday now, closed on Thursday
    assert by_name["skipping"]["moved"] == [{"from": "2026-11-05T08:00:00Z", "to": "2026-11-06T08:00:00Z"}]
    assert Trigger.objects.get(pk=skipping.pk).next_fire_at == THURSDAY
    assert ClosedDays.objects.get().revision == 1


def test_comparison_of_a_frequent_trigger_is_cut_off(api, germany, save):
    save(schedule(expression="0 * * * * ?"))

    answer = api.post(f"{ADDRESS}/germany/compare", {"weekend": ["sunday"]}).json()

    assert answer["complete"] is False
    (changes,) = answer["triggers"]
    assert changes["complete"] is False
    assert 0 < changes["addedCount"] <= closed_days.FIRES_OF_TRIGGER


def test_comparison_agrees_with_all_fire_times(api, germany, save):
    trigger = save(schedule("nearest", expression="0 30 9 * * ?", timeZone="America/New_York"))
    old = fires_of(trigger)

    answer = api.post(f"{ADDRESS}/germany/compare", {"weekend": ["monday"]}).json()
    api.put(f"{ADDRESS}/germany", {"weekend": ["monday"]})

    new = fires_of(Trigger.objects.get(pk=trigger.pk))
    (changes,) = answer["triggers"]
    assert changes["complete"] is True
    assert changes["addedCount"] + changes["movedCount"] == len(new - old)
    assert changes["removedCount"] + changes["movedCount"] == len(old - new)


def fires_of(trigger: Trigger) -> set:
    """Return the fire times of the next 400 days, one by one."""
    fires, fire = set(), trigger.parsed.schedule.after(timezone.now())
    while fire < timezone.now() + timedelta(days=400):
        fires.add(fire)
        fire = trigger.parsed.schedule.after(fire)
    return fires


def without_name(document: dict) -> dict:
    return {name: value for name, value in document.items() if name != "name"}
