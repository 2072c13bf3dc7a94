"""/api/triggers."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import ApiToken, Role
from jobs.models import Job, JobCollection
from tests.conftest import WEDNESDAY
from triggers.models import Trigger
from triggers.scheduling import save_collection

ADDRESS = "/api/triggers"
LAST_FRIDAY = {"format": "quartz", "expression": "0 15 10 ? * 6L", "timeZone": "Europe/Berlin"}
NEVER_AGAIN = {"format": "quartz", "expression": "0 15 10 ? * 6L 2013-2015"}
FUTURE = f"{WEDNESDAY + timedelta(days=7):%Y-%m-%dT08:00:00Z}"
ONCE = {"format": "once", "at": FUTURE}


@pytest.fixture
def body(make_job):
    return {"job": make_job(now=timezone.now(), schedule={"startTime": FUTURE}).pk, "name": "extra", "schedule": ONCE}


@pytest.fixture
def address(api, body):
    return api.post(ADDRESS, body)["Location"]


def refused(response) -> tuple[int, str | None]:
    return response.status_code, response.json()["error"]["target"]


# Create


def test_created_trigger_is_returned_completely(api, body):
    response = api.post(
        ADDRESS,
        body
        | {
            "schedule": LAST_FRIDAY,
            "priority": 1,
            "group": "message-processor",
            "triggerDataMap": {"custom_lock_key": "reports.__ORG_ID__", "colour": "red"},
            "misfire": "fireAll",
            "misfireThreshold": "PT90S",
        },
    )

    assert response.status_code == 201, response.content
    trigger = response.json()
    assert response["Location"] == f"http://testserver{ADDRESS}/{trigger['id']}"
    stored = Trigger.objects.get(name="extra")
    assert trigger == {
        "id": stored.pk,
        "job": body["job"],
        "jobName": "backup",
        "collectionName": "nightly",
        "name": "extra",
        "format": "quartz",
        "schedule": LAST_FRIDAY,
        "enabled": True,
        "priority": 1,
        "group": "message-processor",
        "triggerDataMap": {"custom_lock_key": "reports.__ORG_ID__", "colour": "red"},
        "misfire": "fireAll",
        "misfireThreshold": "PT1M30S",
        "description": "at 10:15 Europe/Berlin on the last Friday of each month",
        "nextFireAt": f"{stored.next_fire_at:%Y-%m-%dT%H:%M:%SZ}",
        "nextStartsAt": f"{stored.next_fire_at:%Y-%m-%dT%H:%M:%SZ}",
        "hold": None,
        "previousFireAt": None,
        "warnings": [],
        "createdAt": trigger["createdAt"],
        "updatedAt": trigger["updatedAt"],
    }
    answer = api.get(response["Location"])
    assert (answer.json(), answer["ETag"]) == (trigger, response["ETag"])


def test_the_members_that_every_format_has_are_stored_in_canonical_form(api, body):
    first = f"{WEDNESDAY + timedelta(days=7):%Y-%m-%d}"
    members = {"extras": [f"{first}T10:00:00+01:00"], "skips": [f"{first}T08:00:00Z", first], "jitter": "PT90M"}
    canonical = {"skips": [first, f"{first}T08:00:00Z"], "extras": [f"{first}T09:00:00Z"], "jitter": "PT1H30M"}

    response = api.post(ADDRESS, body | {"schedule": ONCE | members})

    assert response.status_code == 201, response.content
    assert response.json()["schedule"] == ONCE | canonical
    assert response.json()["nextFireAt"] == f"{first}T09:00:00Z"
    assert api.patch(response["Location"], {"schedule": ONCE | canonical})["ETag"] == response["ETag"]


@pytest.mark.parametrize(
    "members, target",
    [
        ({"skips": [FUTURE]}, "schedule.skips"),
        ({"skips": [f"{FUTURE[:10]}"]}, "schedule.skips"),
        ({"extras": [FUTURE.replace("08:00", "08:30")], "jitter": "PT30M"}, "schedule.jitter"),
    ],
)
def test_a_schedule_of_which_nothing_is_left_and_a_wide_jitter_are_refused(api, body, members, target):
    response = api.post(ADDRESS, body | {"schedule": ONCE | members})

    assert refused(response) == (400, target)
    assert not Trigger.objects.filter(name="extra").exists()


@pytest.mark.parametrize(
    "schedule, words, hour",
    [
        (
            {
                "format": "outlook",
                "end": {"dateTime": "2020-01-06T10:30:00", "timeZone": "India Standard Time"},
                "recurrence": {
                    "pattern": {"type": "weekly", "interval": 1, "daysOfWeek": ["Monday"]},
                    "range": {"type": "noEnd", "startDate": "2020-01-06"},
                },
            },
            "every week on Monday from 10:00 to 10:30 Asia/Calcutta",
            (0, "04:30"),
        ),
        (
            {"format": "rrule", "rrule": "FREQ=WEEKLY;BYDAY=TU"},
            "every week on Tuesday at 10:00 Asia/Calcutta",
            (1, "04:30"),
        ),
    ],
)
def test_trigger_can_follow_a_calendar_series(api, body, schedule, words, hour):
    start = {"start": {"dateTime": "2020-01-06T10:00:00.0000000", "timeZone": "India Standard Time"}}

    response = api.post(ADDRESS, body | {"schedule": start | schedule})

    assert response.status_code == 201, response.content
    trigger = response.json()
    assert (trigger["description"], trigger["warnings"]) == (words, [])
    fire = Trigger.objects.get(name="extra").next_fire_at
    assert timezone.now() < fire < timezone.now() + timedelta(days=7, minutes=1)
    assert (fire.weekday(), f"{fire:%H:%M}") == hour
    again = api.put(response["Location"], body | {"schedule": trigger["schedule"]})
    assert (again.status_code, again.json()["schedule"]) == (200, trigger["schedule"])


def test_ended_series_is_stored_without_a_fire_time(api, body):
    at = {"dateTime": "2020-01-06T10:00:00", "timeZone": "UTC"}
    recurrence = {
        "pattern": {"type": "daily", "interval": 1},
        "range": {"type": "numbered", "startDate": "2020-01-06", "numberOfOccurrences": 3},
    }

    trigger = api.post(
        ADDRESS, body | {"schedule": {"format": "outlook", "start": at, "end": at, "recurrence": recurrence}}
    ).json()

    assert (trigger["nextFireAt"], trigger["warnings"]) == (None, ["It will not fire again."])


def test_new_series_has_at_most_999_occurrences_and_a_stored_one_may_have_more(api, body):
    response = api.post(ADDRESS, body | {"schedule": counted_series(1000)})
    preview = api.post("/api/schedules/preview", {"schedule": counted_series(1000)})

    assert refused(response) == (400, "schedule.recurrence.range.numberOfOccurrences")
    assert refused(preview) == (400, "schedule.recurrence.range.numberOfOccurrences")
    assert "must be 1 to 999, not 1000" in response.json()["error"]["message"]
    made = api.post(ADDRESS, body | {"schedule": counted_series(999)})
    definition = counted_series(1000)
    Trigger.objects.filter(name="extra").update(format=definition.pop("format"), definition=definition)
    stored = api.patch(made["Location"], {"priority": 1})
    assert (stored.status_code, stored.json()["schedule"]["recurrence"]["range"]["numberOfOccurrences"]) == (200, 1000)


def counted_series(count: int) -> dict:
    at = {"dateTime": "2026-11-06T10:00:00", "timeZone": "UTC"}
    limits = {"type": "numbered", "startDate": "2026-11-06", "numberOfOccurrences": count}
    recurrence = {"pattern": {"type": "daily", "interval": 1}, "range": limits}
    return {"format": "outlook", "start": at, "end": at, "recurrence": recurrence}


def test_omitted_members_of_a_trigger_get_their_defaults(api, body):
    trigger = api.post(ADDRESS, body).json()

    assert (trigger["enabled"], trigger["priority"], trigger["group"]) == (True, 5, "default")
    assert (trigger["triggerDataMap"], trigger["misfire"], trigger["misfireThreshold"]) == ({}, "fireOnce", "PT1M")


@pytest.mark.parametrize(
    "schedule, returned, words",
    [
        (
            {
                "format": "quartz",
                "expression": "0 0 12 ? * mon",
                "timeZone": "W. Europe Standard Time",
            },
            {"format": "quartz", "expression": "0 0 12 ? * mon", "timeZone": "Europe/Berlin"},
            "at 12:00 Europe/Berlin on Mondays",
        ),
        (
            {"format": "simple", "startTime": "1372916749000", "interval": "5400000", "repeatCount": -1},
            {"format": "simple", "startTime": "2013-07-04T05:45:49Z", "interval": 5_400_000, "repeatCount": -1},
            "every 90 minutes from 4 July 2013 at 05:45:49 UTC",
        ),
        (
            {"format": "azure", "startTime": FUTURE, "recurrence": {"frequency": "week", "interval": 2}},
            {"format": "azure", "startTime": FUTURE, "recurrence": {"frequency": "Week", "interval": 2}},
            "every 2 weeks",
        ),
        (
            {"format": "once", "at": 4102444800000},
            {"format": "once", "at": "2100-01-01T00:00:00Z"},
            "once on 1 January",
        ),
    ],
)
def test_schedule_of_each_format_is_returned_as_the_preview_accepts_it(api, body, schedule, returned, words):
    response = api.post(ADDRESS, body | {"schedule": schedule})

    assert response.status_code == 201, response.content
    trigger = response.json()
    assert (trigger["schedule"], trigger["format"]) == (returned, schedule["format"])
    assert trigger["description"].startswith(words)
    assert trigger["nextFireAt"] is not None
    assert api.post("/api/schedules/preview", {"schedule": trigger["schedule"]}).status_code == 200


@pytest.mark.parametrize(
    "schedule", [NEVER_AGAIN, {"format": "once", "at": "2013-07-04"}, {"format": "simple", "startTime": 1372916749000}]
)
def test_schedule_that_never_fires_again_is_stored_with_a_warning(api, body, schedule):
    trigger = api.post(ADDRESS, body | {"schedule": schedule}).json()

    assert trigger["nextFireAt"] is None
    assert len(trigger["warnings"]) == 1


@pytest.mark.parametrize(
    "change, target",
    [
        ({"job": 10**9}, "job"),
        ({"job": None}, "job"),
        ({"job": "1"}, "job"),
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "default"}, "name"),
        ({"schedule": None}, "schedule"),
        ({"schedule": []}, "schedule"),
        ({"schedule": {}}, "schedule.format"),
        ({"schedule": {"format": "cobol"}}, "schedule.format"),
        ({"schedule": {"format": "quartz"}}, "schedule.expression"),
        ({"schedule": {"format": "quartz", "expression": "* * * * *"}}, "schedule.expression"),
        ({"schedule": LAST_FRIDAY | {"timeZone": "Mars"}}, "schedule.timeZone"),
        ({"schedule": {"format": "simple", "repeatCount": 3}}, "schedule.interval"),
        ({"schedule": {"format": "once"}}, "schedule.at"),
        ({"schedule": {"format": "azure", "recurrence": {"frequency": "year"}}}, "schedule.recurrence.frequency"),
        ({"enabled": "yes"}, "enabled"),
        ({"priority": -1}, "priority"),
        ({"priority": 40_000}, "priority"),
        ({"priority": "1"}, "priority"),
        ({"group": ""}, "group"),
        ({"group": "a b"}, "group"),
        ({"triggerDataMap": []}, "triggerDataMap"),
        ({"triggerDataMap": {"custom_lock_key": 5}}, "triggerDataMap.custom_lock_key"),
        ({"triggerDataMap": {"custom_lock_key": "x" * 121}}, "triggerDataMap.custom_lock_key"),
        ({"misfire": "fire_once"}, "misfire"),
        ({"misfireThreshold": "PT0S"}, "misfireThreshold"),
        ({"misfireThreshold": "P367D"}, "misfireThreshold"),
        ({"misfireThreshold": 60}, "misfireThreshold"),
    ],
)
def test_wrong_member_of_a_trigger_is_refused_with_its_path_and_nothing_is_saved(api, body, change, target):
    response = api.post(ADDRESS, body | change)

    assert refused(response) == (400, target), response.content
    assert Trigger.objects.count() == 1


def test_name_of_a_trigger_is_unique_in_its_job(api, body, make_job):
    api.post(ADDRESS, body)

    assert refused(api.post(ADDRESS, body)) == (409, "name")
    other = make_job("other", now=timezone.now(), schedule={"startTime": FUTURE})
    assert api.post(ADDRESS, body | {"job": other.pk}).status_code == 201


def test_a_schedule_faster_than_the_plan_allows_is_refused(api, body, collection):
    collection.sku = "Free"
    save_collection(collection, timezone.now())

    response = api.post(ADDRESS, body | {"schedule": {"format": "quartz", "expression": "0/30 * * * * ?"}})

    assert refused(response) == (409, "schedule")
    assert response.json()["error"]["code"] == "quota_exceeded"
    assert response.json()["error"]["message"] == (
        "must fire at most once a minute, the limit of the Free plan; two fire times are 30 seconds apart"
    )
    assert api.post(ADDRESS, body | {"schedule": {"format": "quartz", "expression": "0 * * * * ?"}}).status_code == 201


def test_ended_job_cannot_get_a_trigger(api, body):
    Job.objects.update(state="completed")

    assert api.post(ADDRESS, body).status_code == 409


# Change


def test_repeated_put_leaves_one_trigger_and_returns_the_same_document(api, body, address):
    replacement = {"schedule": LAST_FRIDAY, "priority": 2}

    first, second = (api.put(address, replacement) for _ in range(2))

    assert first.status_code == second.status_code == 200
    assert {**first.json(), "updatedAt": ""} == {**second.json(), "updatedAt": ""}
    assert Trigger.objects.count() == 2


def test_put_of_a_trigger_resets_omitted_members(api, address):
    api.patch(address, {"priority": 1, "group": "other", "misfire": "skip", "enabled": False})

    trigger = api.put(address, {"schedule": ONCE}).json()

    assert (trigger["priority"], trigger["group"]) == (5, "default")
    assert (trigger["misfire"], trigger["enabled"]) == ("fireOnce", True)


def test_returned_trigger_can_be_sent_back(api, address):
    before = api.get(address).json()

    after = api.put(address, before).json()

    assert {**after, "updatedAt": ""} == {**before, "updatedAt": ""}


def test_patch_of_a_trigger_keeps_omitted_members(api, address):
    api.put(address, {"schedule": LAST_FRIDAY, "priority": 1, "triggerDataMap": {"a": 1, "b": 2}})

    trigger = api.patch(
        address, {"schedule": {"timeZone": "Asia/Tokyo"}, "triggerDataMap": {"a": None, "c": 3}, "misfire": "skip"}
    ).json()

    assert trigger["schedule"] == LAST_FRIDAY | {"timeZone": "Asia/Tokyo"}
    assert (trigger["priority"], trigger["misfire"]) == (1, "skip")
    assert trigger["triggerDataMap"] == {"b": 2, "c": 3}


def test_a_patch_to_another_format_replaces_the_schedule(api, address):
    trigger = api.patch(address, {"schedule": LAST_FRIDAY}).json()

    assert trigger["schedule"] == LAST_FRIDAY
    assert trigger["warnings"] == []


def test_wrong_member_in_a_patch_of_a_trigger_is_refused(api, address):
    assert refused(api.patch(address, {"schedule": {"at": "soon"}})) == (400, "schedule.at")


@pytest.mark.parametrize("method", ["put", "patch", "post"])
@pytest.mark.parametrize("wrong", [[], "x", 5])
def test_body_that_is_not_an_object_is_refused(api, address, method, wrong):
    response = getattr(api, method)(ADDRESS if method == "post" else address, wrong)

    assert response.status_code == 400


def test_disabled_trigger_has_no_fire_time_until_it_is_enabled(api, address):
    due = api.get(address).json()["nextFireAt"]

    off = api.post(f"{address}/disable")
    assert (off.status_code, off.json()["enabled"], off.json()["nextFireAt"]) == (200, False, None)

    on = api.post(f"{address}/enable")
    assert (on.status_code, on.json()["enabled"], on.json()["nextFireAt"]) == (200, True, due)


def test_trigger_is_disabled_and_enabled_by_patch_too(api, address):
    assert api.patch(address, {"enabled": False}).json()["nextFireAt"] is None
    assert api.patch(address, {"enabled": True}).json()["nextFireAt"] is not None


def test_write_to_an_older_version_of_a_trigger_is_refused(api, address):
    known = api.get(address)["ETag"]
    changed = api.patch(address, {"priority": 2}, headers={"If-Match": known})
    assert changed.status_code == 200
    assert changed["ETag"] != known

    for refusal in (
        api.patch(address, {"priority": 3}, headers={"If-Match": known}),
        api.put(address, {"schedule": ONCE}, headers={"If-Match": known}),
        api.delete(address, headers={"If-Match": known}),
    ):
        assert refusal.status_code == 412
        assert refusal.json()["error"]["code"] == "stale"
    assert api.get(address).json()["priority"] == 2
    assert api.delete(address, headers={"If-Match": changed["ETag"]}).status_code == 204


def test_firing_creates_no_new_version_of_a_trigger(api, address):
    known = api.get(address)["ETag"]

    Trigger.objects.update(fire_count=1, previous_fire_at=timezone.now())

    assert api.get(address)["ETag"].partition("/")[0] == known.partition("/")[0]
    assert api.patch(address, {"priority": 3}, headers={"If-Match": known}).status_code == 200


def test_deleted_trigger_is_not_found(api, address):
    assert api.delete(address).status_code == 204
    assert api.get(address).status_code == 404
    assert api.delete(address).status_code == 404


@pytest.mark.parametrize("method, rest", [("put", ""), ("patch", ""), ("delete", ""), ("post", "/disable")])
def test_own_schedule_of_a_job_is_shown_as_a_trigger_and_changed_in_the_job_only(api, body, method, rest):
    main = Trigger.objects.get()
    shown = api.get(f"{ADDRESS}/{main.pk}").json()
    assert (shown["name"], shown["schedule"]) == ("default", {"format": "azure", "startTime": FUTURE})

    new_body = {"schedule": ONCE} if method in ("put", "patch") else None
    response = getattr(api, method)(f"{ADDRESS}/{main.pk}{rest}", new_body)

    assert response.status_code == 409
    assert f"/api/jobs/{body['job']}" in response.json()["error"]["message"]
    assert api.get(f"{ADDRESS}/{main.pk}").json() == shown


def test_stored_definition_that_can_no_longer_be_parsed_is_returned_unchanged(api, address):
    Trigger.objects.filter(name="extra").update(definition={"at": "whenever"})

    trigger = api.get(address).json()

    assert trigger["schedule"] == {"format": "once", "at": "whenever"}
    assert "cannot be read" in trigger["description"]
    assert api.patch(address, {"schedule": ONCE}).status_code == 200


# Roles


@pytest.mark.parametrize("role, written, read", [(Role.READER, 403, 200), (Role.OPERATOR, 200, 200), (None, 404, 404)])
def test_role_limits_access_to_a_trigger(make_user, api_of, address, role, written, read):
    client = api_of(ApiToken.objects.issue(make_user("guest", role), "t")[1])

    assert client.get(address).status_code == read
    assert client.patch(address, {"priority": 1}).status_code == written
    assert client.post(f"{address}/enable").status_code == written
    assert client.post(f"{address}/disable").status_code == written


# List


@pytest.fixture
def several(make_job, make_trigger):
    now = timezone.now()
    jobs = [make_job(name, now=now, schedule={"startTime": FUTURE}) for name in ("a", "b")]
    make_trigger(jobs[0], "one", now=now)
    make_trigger(jobs[0], "two", now=now, group="message-processor", enabled=False)
    make_trigger(jobs[1], "three", "once", now=now, definition={"at": FUTURE})
    return jobs


@pytest.mark.parametrize(
    "query, names",
    [
        ("", ["default", "default", "one", "two", "three"]),
        ("?job={job}", ["default", "one", "two"]),
        ("?group=message-processor", ["two"]),
        ("?group=Default", []),
        ("?enabled=false", ["two"]),
        ("?enabled=true&job={job}", ["default", "one"]),
        ("?format=once", ["three"]),
        ("?format=azure", ["default", "default"]),
        ("?limit=2", ["default", "default"]),
    ],
)
def test_triggers_of_all_jobs_are_listed_and_filtered(api, several, query, names):
    answer = api.get(ADDRESS + query.format(job=several[0].pk)).json()

    assert [row["name"] for row in answer["value"]] == names
    assert bool(answer["nextLink"]) is ("limit" in query)


def test_trigger_in_the_list_equals_its_document(api, several):
    rows = api.get(ADDRESS).json()["value"]

    assert rows == [api.get(f"{ADDRESS}/{row['id']}").json() for row in rows]


def test_next_page_of_triggers_continues_the_list(api, several):
    page = api.get(f"{ADDRESS}?limit=2").json()

    rest = api.get(page["nextLink"].partition("testserver")[2] or page["nextLink"]).json()

    assert [row["name"] for row in rest["value"]] == ["one", "two"]


@pytest.mark.parametrize("query", ["colour=red", "job=x", "enabled=maybe", "format=cobol", "job=1&job=2"])
def test_wrong_filter_of_triggers_is_refused_by_its_name(api, query):
    response = api.get(f"{ADDRESS}?{query}")

    assert refused(response) == (400, query.partition("=")[0])


def test_number_of_queries_does_not_depend_on_the_length_of_the_list(api, several, make_trigger):
    api.get(ADDRESS)
    with CaptureQueriesContext(connection) as for_five:
        api.get(ADDRESS)
    for number in range(20):
        make_trigger(several[1], f"more-{number}", now=timezone.now())

    with CaptureQueriesContext(connection) as for_many:
        assert len(api.get(ADDRESS).json()["value"]) == 25

    assert len(for_many) == len(for_five) <= 3


def test_number_of_queries_of_a_write_does_not_depend_on_the_number_of_triggers(api, several, make_trigger, body):
    def patch(name):
        pk = Trigger.objects.get(name=name).pk
        with CaptureQueriesContext(connection) as queries:
            assert api.patch(f"{ADDRESS}/{pk}", {"priority": 3}).status_code == 200
        return len(queries)

    api.get(ADDRESS)  # writes when the token was last used
    before = patch("three")
    for number in range(20):
        make_trigger(several[1], f"more-{number}", now=timezone.now())

    assert patch("three") == before <= 16  # on PostgreSQL one of these queries wakes the beat


# Jobs


def test_job_without_its_own_schedule_does_not_run_at_once(api, collection):
    action = {"type": "Http", "request": {"uri": "https://example.com", "method": "GET"}}

    created = api.post(
        "/api/jobs", {"collection": collection.pk, "name": "bare", "action": action, "ownSchedule": False}
    )

    assert created.status_code == 201, created.content
    job = created.json()
    assert (job["ownSchedule"], job["triggerCount"], job["nextRunAt"], job["misfire"]) == (False, 0, None, None)
    assert (job["startTime"], job["recurrence"], job["state"]) == (None, None, "enabled")
    assert not Trigger.objects.exists()


def test_job_shows_its_number_of_triggers_and_their_earliest_fire_time(api, body, address):
    api.put(address, {"schedule": {"format": "quartz", "expression": "0 * * * * ?"}})

    job = api.get(f"/api/jobs/{body['job']}").json()

    assert (job["ownSchedule"], job["triggerCount"]) == (True, 1)
    assert job["nextRunAt"] == api.get(address).json()["nextFireAt"] < FUTURE


@pytest.mark.parametrize("write", ["put", "patch"])
def test_own_schedule_of_a_job_can_be_removed_and_added_again(api, body, address, write):
    job = f"/api/jobs/{body['job']}"
    action = {"action": {"type": "Http", "request": {"uri": "https://example.com", "method": "GET"}}}

    without = getattr(api, write)(job, action | {"ownSchedule": False}).json()
    assert (without["ownSchedule"], without["triggerCount"], without["startTime"]) == (False, 1, None)
    assert getattr(api, write)(job, action).json()["ownSchedule"] is False
    assert getattr(api, write)(job, without).status_code == 200

    again = getattr(api, write)(job, action | {"startTime": FUTURE}).json()
    assert (again["ownSchedule"], again["startTime"]) == (True, FUTURE)


@pytest.mark.parametrize(
    "change, target",
    [
        ({"ownSchedule": False, "startTime": FUTURE}, "startTime"),
        ({"ownSchedule": False, "recurrence": {"frequency": "Day"}}, "recurrence"),
        ({"ownSchedule": "no"}, "ownSchedule"),
        ({"ownSchedule": None}, "ownSchedule"),
    ],
)
def test_job_with_a_schedule_and_own_schedule_false_is_refused(api, body, change, target):
    assert refused(api.patch(f"/api/jobs/{body['job']}", change)) == (400, target)


def test_own_schedule_true_without_a_schedule_is_refused(api, body):
    api.patch(f"/api/jobs/{body['job']}", {"ownSchedule": False})

    assert refused(api.patch(f"/api/jobs/{body['job']}", {"ownSchedule": True})) == (400, "ownSchedule")


def test_disabled_collection_stops_its_triggers(api, address, collection):
    collection.state = JobCollection.State.DISABLED
    save_collection(collection, timezone.now())

    assert api.get(address).json()["nextFireAt"] is None
