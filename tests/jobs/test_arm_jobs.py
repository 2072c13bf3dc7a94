import pytest
import time_machine
from django.test import override_settings

from jobs.arm import lists
from jobs.models import Job, Run
from tests.conftest import ACTION, NOW

URI = ACTION["request"]["uri"]
BASIC = {"type": "Basic", "username": "ada", "password": "violet-harbour"}
FULL = {
    "startTime": "2026-02-02T08:00:00.000Z",
    "action": {
        "type": "http",
        "request": {"uri": URI, "method": "post", "headers": {"A": "1"}, "body": "b", "authentication": BASIC},
        "retryPolicy": {"retryType": "fixed", "retryInterval": "00:01:00", "retryCount": 3},
        "errorAction": {
            "type": "StorageQueue",
            "queueMessage": {
                "storageAccount": "acct",
                "queueName": "jobs",
                "sasToken": "?sig=amber-lantern",
                "message": "m",
            },
        },
    },
    "recurrence": {
        "frequency": "week",
        "interval": 2,
        "count": 10,
        "endTime": "2026-12-01",
        "schedule": {"weekDays": ["monday", "FRIDAY"], "hours": 5, "minutes": [0, 30]},
    },
    "state": "enabled",
}
ANSWER = {
    "startTime": "2026-02-02T08:00:00Z",
    "action": {
        "type": "Http",
        "request": {
            "uri": URI,
            "method": "POST",
            "headers": {"A": "1"},
            "body": "b",
            "authentication": {"type": "Basic", "username": "ada"},
        },
        "retryPolicy": {"retryType": "Fixed", "retryInterval": "00:01:00", "retryCount": 3},
        "errorAction": {
            "type": "StorageQueue",
            "queueMessage": {"storageAccount": "acct", "queueName": "jobs", "message": "m"},
        },
    },
    "recurrence": {
        "frequency": "Week",
        "interval": 2,
        "count": 10,
        "endTime": "2026-12-01T00:00:00Z",
        "schedule": {"minutes": [0, 30], "hours": [5], "weekDays": ["Monday", "Friday"]},
    },
    "state": "Enabled",
}
DAILY = {"frequency": "Day", "interval": 2, "count": 10, "endTime": "2026-12-01T00:00:00Z"}


def body(**properties) -> dict:
    return {"properties": {"action": ACTION, **properties}}


def properties(response) -> dict:
    assert response.status_code in (200, 201), response.content
    return response.json()["properties"]


def refusal(response) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["target"]


@pytest.fixture
def finished(make_job):
    return Job.objects.filter(pk=make_job().pk).update(state="completed", finished_at=NOW)


@pytest.fixture(autouse=True)
def at_now():
    """The clock stands at NOW, which is when the fixtures' rows are made."""
    with time_machine.travel(NOW, tick=False):
        yield


# PUT and GET


def test_a_new_job_is_created(arm, collection):
    response = arm.put(arm.job(), {"properties": FULL})

    # Monday the 2nd at 05:00 is before the start
    status = {"nextExecutionTime": "2026-02-06T05:00:00Z", "executionCount": 0, "failureCount": 0, "faultedCount": 0}
    assert response.status_code == 201
    assert response.json() == {
        "id": arm.job(),
        "type": "Microsoft.Scheduler/jobCollections/jobs",
        "name": "nightly/backup",
        "properties": {**ANSWER, "status": status},
        "etag": response["ETag"],
    }
    assert arm.get(arm.job()).json() == response.json()


def test_what_is_not_sent_is_not_made_up(arm, collection):
    assert properties(arm.put(arm.job(), body())) == {
        "action": ACTION,
        "state": "Enabled",
        "status": {
            "nextExecutionTime": "2026-01-01T00:00:00Z",  # once, now
            "executionCount": 0,
            "failureCount": 0,
            "faultedCount": 0,
        },
    }


def test_a_past_start_without_recurrence_runs_now(arm, collection):
    job = properties(arm.put(arm.job(), body(startTime="2025-06-01T08:00:00+02:00")))

    assert job["startTime"] == "2025-06-01T06:00:00Z"
    assert job["status"]["nextExecutionTime"] == "2026-01-01T00:00:00Z"


def test_a_past_start_with_recurrence_stays_on_its_grid(arm, collection):
    job = properties(
        arm.put(arm.job(), body(startTime="2025-12-30T14:00:00Z", recurrence={"frequency": "day", "interval": 2}))
    )

    assert job["status"]["nextExecutionTime"] == "2026-01-01T14:00:00Z"


def test_the_same_again_is_an_update_and_changes_nothing(arm, collection):
    created = arm.put(arm.job(), {"properties": FULL})

    again = arm.put(arm.job(), {"properties": FULL})

    assert again.status_code == 200
    assert again.json() == created.json()
    assert Job.objects.count() == 1


def test_a_put_replaces(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    replaced = properties(arm.put(arm.job(), body(startTime="2026-02-01T00:00Z")))

    assert replaced["action"] == ACTION
    assert replaced["startTime"] == "2026-02-01T00:00:00Z"
    assert "recurrence" not in replaced
    assert replaced["status"]["nextExecutionTime"] == "2026-02-01T00:00:00Z"


def test_a_put_in_another_case_is_the_same_job(arm, make_job):
    make_job("backup")

    response = arm.put(arm.job("BackUp"), body())

    assert (response.status_code, response.json()["name"]) == (200, "nightly/backup")


def test_read_only_members_are_not_taken(arm, make_job):
    make_job()
    sent = {**body(status={"executionCount": 99, "nextExecutionTime": "x"}), "id": "x", "type": 1, "name": "other/name"}

    response = arm.put(arm.job(), sent)

    assert response.json()["name"] == "nightly/backup"
    assert properties(response)["status"]["executionCount"] == 0


def test_an_answer_can_be_sent_back(arm, collection):
    answer = arm.put(arm.job(), {"properties": FULL}).json()

    assert arm.put(arm.job(), answer).json() == answer


def test_additions_of_ours_to_an_action_are_kept_and_those_to_a_job_not_shown(arm, collection):
    action = {
        "type": "Https",
        "request": {
            "uri": "https://example.com/{{ job.name }}",
            "method": "GET",
            "followRedirects": True,
            "success": {"statusCodes": [200, "202-204"], "bodyContains": "done"},
        },
        "template": True,
        "follow": True,
        "followLimit": "P1D",
        "retryPolicy": {"retryType": "Exponential", "maximumRetryInterval": "PT1H"},
    }

    answered = properties(arm.put(arm.job(), {"properties": {"action": action}}))

    assert answered["action"] == action
    assert not {"secretsSetAt", "signing", "warnings"} & set(answered)
    assert properties(arm.get(arm.job())) == answered


def test_unknown_members_are_absent_from_the_answer(arm, collection):
    sent = {**body(colour="red", recurrence={"frequency": "Day", "colour": "red"}), "colour": "red"}

    assert "red" not in arm.put(arm.job(), sent).content.decode()


def test_no_answer_holds_a_secret(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    for response in (arm.put(arm.job(), {"properties": FULL}), arm.get(arm.job()), arm.get(arm.collection() + "/jobs")):
        text = response.content.decode()
        assert response.status_code == 200
        assert "password" not in text and "sasToken" not in text and "violet" not in text and "amber" not in text


def test_both_spellings_of_the_occurrence_are_read_and_one_is_written(arm, collection):
    for spelling in ("occurrence", "Occurrence"):
        schedule = {"monthlyOccurrences": [{"day": "friday", spelling: -1}]}
        job = properties(arm.put(arm.job(), body(recurrence={"frequency": "Month", "schedule": schedule})))

        assert job["recurrence"]["schedule"] == {"monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}]}


# The status


def test_a_new_disabled_job_has_no_status(arm, collection):
    job = properties(arm.put(arm.job(), body(state="DISABLED")))

    assert job["state"] == "Disabled"
    assert "status" not in job


def test_a_disabled_job_that_has_run_keeps_its_counters(arm, make_job):
    Job.objects.filter(pk=make_job().pk).update(
        execution_count=5, failure_count=5, faulted_count=1, last_execution_at=NOW
    )

    assert properties(arm.patch(arm.job(), {"properties": {"state": "Disabled"}}))["status"] == {
        "lastExecutionTime": "2026-01-01T00:00:00Z",
        "executionCount": 5,
        "failureCount": 5,
        "faultedCount": 1,
    }


@pytest.mark.parametrize("state", ["completed", "faulted"])
def test_a_finished_job_keeps_its_counters_and_has_no_next_time(arm, make_job, state):
    job = make_job()
    job.triggers.update(next_fire_at=None)
    Job.objects.filter(pk=job.pk).update(state=state, finished_at=NOW, execution_count=1, last_execution_at=NOW)

    answer = properties(arm.get(arm.job()))

    assert answer["state"] == state.capitalize()
    assert "nextExecutionTime" not in answer["status"]
    assert answer["status"]["lastExecutionTime"] == "2026-01-01T00:00:00Z"


# PATCH


def test_a_patch_merges_deeply(arm, collection):
    arm.put(arm.job(), body(recurrence={**DAILY, "schedule": {"hours": [5]}}))

    patch = {"properties": {"recurrence": {"frequency": "Week", "interval": 1}, "action": {"request": {"body": "new"}}}}
    response = arm.patch(arm.job(), patch)

    assert response.status_code == 200
    assert properties(response)["recurrence"] == {
        **DAILY,
        "frequency": "Week",
        "interval": 1,
        "schedule": {"hours": [5]},
    }
    assert properties(response)["action"]["request"] == {**ACTION["request"], "body": "new"}
    assert arm.get(arm.job()).json() == response.json()


def test_a_patched_recurrence_counts_from_now(arm, make_job):
    make_job(schedule={"startTime": "2025-12-29T00:00:00Z", "recurrence": {"frequency": "week"}})
    assert properties(arm.get(arm.job()))["status"]["nextExecutionTime"] == "2026-01-05T00:00:00Z"

    patched = properties(arm.patch(arm.job(), {"properties": {"recurrence": {"frequency": "day"}}}))

    assert patched["status"]["nextExecutionTime"] == "2026-01-01T00:00:00Z"


def test_an_empty_patch_changes_nothing(arm, make_job):
    make_job()
    before = arm.get(arm.job()).json()

    for patch in ({}, {"properties": {}}, {"properties": None}, {"properties": {"state": None}}):
        assert arm.patch(arm.job(), patch).json() == before


def test_a_patch_of_the_state_stops_and_starts_a_job(arm, make_job):
    make_job()

    stopped = properties(arm.patch(arm.job(), {"properties": {"state": "disabled"}}))
    unchanged = properties(arm.patch(arm.job(), {"properties": {"state": None}}))
    started = properties(arm.patch(arm.job(), {"properties": {"state": "Enabled"}}))

    assert stopped["state"] == unchanged["state"] == "Disabled"
    assert started["state"] == "Enabled"
    assert started["status"]["nextExecutionTime"] == "2026-01-05T08:00:00Z"


def test_a_patch_removes_what_is_null(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    patch = {"recurrence": None, "action": {"errorAction": None, "request": {"authentication": None}}}
    patched = properties(arm.patch(arm.job(), {"properties": patch}))

    assert "recurrence" not in patched
    assert "errorAction" not in patched["action"]
    assert "authentication" not in patched["action"]["request"]
    assert Job.objects.get().action.secrets == {}


def test_a_put_without_authentication_removes_it(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    request = {**FULL["action"]["request"], "authentication": None}
    action = properties(arm.put(arm.job(), body(action={"type": "Http", "request": request})))["action"]

    assert "authentication" not in action["request"]


def test_a_patch_keeps_the_secrets(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    arm.patch(arm.job(), {"properties": {"action": {"request": {"body": "new", "authentication": {"type": "basic"}}}}})

    action = Job.objects.get().action
    assert action.document["request"]["body"] == "new"
    assert action.secrets == {
        "request.authentication.password": "violet-harbour",
        "errorAction.queueMessage.sasToken": "?sig=amber-lantern",
    }


def test_a_patch_to_another_host_needs_the_password_again(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    response = arm.patch(arm.job(), {"properties": {"action": {"request": {"uri": "http://example.com/"}}}})

    assert refusal(response) == (400, "BadRequest", "properties.action.request.authentication.password")


def test_a_patch_may_change_the_kind_of_action(arm, make_job):
    make_job()
    message = {"storageAccount": "acct", "queueName": "jobs", "sasToken": "?sig=amber-lantern", "message": "m"}

    patched = arm.patch(arm.job(), {"properties": {"action": {"type": "StorageQueue", "queueMessage": message}}})

    del message["sasToken"]
    assert properties(patched)["action"] == {"type": "StorageQueue", "queueMessage": message}


@pytest.mark.parametrize(
    "patch, target",
    [
        ({"properties": {"status": {}}}, "properties.status"),
        ({"properties": {"status": {"executionCount": 0}}}, "properties.status"),
        ({"id": "/subscriptions/x"}, "id"),
        ({"id": 1}, "id"),
        ({"properties": {"state": "Completed"}}, "properties.state"),
        ({"properties": {"state": "faulted"}}, "properties.state"),
        ({"properties": {"state": 1}}, "properties.state"),
        ({"properties": []}, "properties"),
        ({"properties": {"action": None}}, "properties.action"),
        ({"properties": {"action": "x"}}, "properties.action"),
        ({"properties": {"recurrence": {"frequency": "Year"}}}, "properties.recurrence.frequency"),
    ],
)
def test_a_wrong_patch_is_refused(arm, make_job, patch, target):
    make_job()
    before = arm.get(arm.job()).json()

    assert refusal(arm.patch(arm.job(), patch)) == (400, "BadRequest", target)
    assert arm.get(arm.job()).json() == before


def test_a_patch_may_repeat_the_id(arm, make_job):
    make_job()

    assert arm.patch(arm.job(), {"id": arm.job().upper()}).status_code == 200


# Refusals


@pytest.mark.parametrize(
    "document, target",
    [
        ({}, "properties"),
        ({"properties": None}, "properties"),
        ({"properties": "x"}, "properties"),
        ({"properties": {}}, "properties.action"),
        (body(action=[]), "properties.action"),
        (body(action={"type": "Http", "request": {**ACTION["request"], "uri": 1}}), "properties.action.request.uri"),
        (body(action={**ACTION, "retryPolicy": {"retryCount": 21}}), "properties.action.retryPolicy.retryCount"),
        (body(state="Completed"), "properties.state"),
        (body(state=True), "properties.state"),
        (body(state=["Enabled"]), "properties.state"),
        (body(startTime=1), "properties.startTime"),
        (body(startTime="tomorrow"), "properties.startTime"),
        (body(startTime="2030-01-01T00:00:00Z"), "properties.startTime"),  # more than 18 months ahead
        (body(startTime="0001-01-01T00:00:00+23:00"), "properties.startTime"),
        (body(recurrence=[]), "properties.recurrence"),
        (body(recurrence={}), "properties.recurrence.frequency"),
        (body(recurrence={"frequency": "Year"}), "properties.recurrence.frequency"),
        (body(recurrence={"frequency": "Day", "interval": True}), "properties.recurrence.interval"),
        (body(recurrence={"frequency": "Day", "interval": 0}), "properties.recurrence.interval"),
        (body(recurrence={"frequency": "Month", "interval": 19}), "properties.recurrence.interval"),
        (body(recurrence={"frequency": "Day", "count": "3"}), "properties.recurrence.count"),
        (body(recurrence={"frequency": "Day", "endTime": "2025-12-31"}), "properties.recurrence.endTime"),
        (body(recurrence={"frequency": "Day", "schedule": 1}), "properties.recurrence.schedule"),
        # the refusal that was recorded of the original service
        (
            body(recurrence={"frequency": "Week", "schedule": {"monthDays": [1]}}),
            "properties.recurrence.schedule.monthDays",
        ),
    ],
)
def test_a_wrong_member_is_refused_with_its_path(arm, collection, document, target):
    assert refusal(arm.put(arm.job(), document)) == (400, "BadRequest", target)
    assert not Job.objects.exists()


STRANGE = [
    None,
    True,
    0,
    -1,
    1.5,
    2**63 - 1,
    "",
    " " * 8,
    "ä" * 8,
    "a" * 9000,
    [],
    [None],
    [[]],
    {},
    {"a": {}},
    {"": 1},
]


def places(document, place=()):
    """The paths of all members of a document, as tuples."""
    for name, value in document.items():
        yield (*place, name)
        if isinstance(value, dict):
            yield from places(value, (*place, name))


def replaced(document, place, value) -> dict:
    name, *rest = place
    return {**document, name: replaced(document[name], rest, value) if rest else value}


@pytest.mark.parametrize("place", list(places({"properties": FULL})), ids=".".join)
def test_whatever_stands_at_a_member_is_taken_or_refused(arm, collection, place):
    for value in STRANGE:
        response = arm.put(arm.job(), replaced({"properties": FULL}, place, value))

        assert response.status_code in (200, 201, 400), (value, response.content)
        assert response.status_code != 400 or response.json()["error"]["target"].startswith("properties")


@pytest.mark.parametrize("name", ["1st", "a b", "a.b", "a" * 101, "-a", "%E2%80%AEa", "<b>"])
def test_a_name_outside_the_rules_is_refused(arm, collection, name):
    assert arm.put(arm.job(name), body()).status_code == 400
    assert not Job.objects.exists()


def test_a_job_needs_its_collection(arm, collection):
    assert refusal(arm.put(arm.job("backup", "elsewhere"), body()))[:2] == (404, "ResourceNotFound")


def test_a_finished_job_is_not_changed(arm, finished):
    for response in (
        arm.put(arm.job(), body()),
        arm.patch(arm.job(), {"properties": {"state": "Enabled"}}),
        arm.patch(arm.job(), {"properties": {"action": ACTION}}),
    ):
        assert refusal(response)[:2] == (409, "ConflictError")


def test_a_finished_job_can_be_deleted_and_made_again(arm, finished):
    assert arm.delete(arm.job()).status_code == 200
    assert arm.put(arm.job(), body()).status_code == 201


# Delete and run


def test_a_deleted_job_is_gone_and_its_history_stays(arm, make_job):
    job = make_job()
    arm.post(arm.job() + "/run")

    response = arm.delete(arm.job())

    assert (response.status_code, response.content) == (200, b"")
    assert arm.get(arm.job()).status_code == arm.delete(arm.job()).status_code == 404
    assert Run.objects.get().job_name == job.name


def test_a_run_by_hand_leaves_the_schedule_alone(arm, make_job):
    job = make_job()
    before = arm.get(arm.job()).json()

    response = arm.post(arm.job() + "/run")

    assert (response.status_code, response.content) == (200, b"")
    run = Run.objects.get()
    assert (run.job, run.origin, run.state, run.fire_at) == (job, Run.Origin.MANUAL, Run.State.WAITING, NOW)
    assert arm.get(arm.job()).json() == before


def test_each_call_is_a_run_of_its_own(arm, make_job):
    make_job()

    arm.post(arm.job() + "/run")
    arm.post(arm.job() + "/run")

    assert Run.objects.count() == 2


@pytest.mark.parametrize("state", ["disabled", "completed", "faulted"])
def test_only_an_enabled_job_can_be_run(arm, make_job, state):
    Job.objects.filter(pk=make_job().pk).update(state=state)

    assert refusal(arm.post(arm.job() + "/run"))[:2] == (409, "ConflictError")
    assert not Run.objects.exists()


def test_a_job_of_a_disabled_collection_cannot_be_run(arm, make_job, carry_out):
    make_job()
    arm.post(arm.collection() + "/disable")
    carry_out()

    assert refusal(arm.post(arm.job() + "/run"))[:2] == (409, "ConflictError")


# Lists


@pytest.fixture
def jobs(arm, make_job):
    for name, state in [("b", "enabled"), ("A", "disabled"), ("d", "completed"), ("c", "faulted"), ("e", "enabled")]:
        Job.objects.filter(pk=make_job(name).pk).update(state=state)
    return arm.collection() + "/jobs"


def names(response) -> list[str]:
    assert response.status_code == 200, response.content
    return [item["name"].removeprefix("nightly/") for item in response.json()["value"]]


def test_jobs_are_listed_by_name(arm, jobs):
    assert names(arm.get(jobs)) == ["A", "b", "c", "d", "e"]
    assert arm.get(jobs).json()["value"][0] == arm.get(arm.job("A")).json()
    assert arm.get(jobs).json()["nextLink"] is None


@pytest.mark.parametrize(
    "query, found",
    [
        ({"top": 2}, ["A", "b"]),
        ({"top": 2, "skip": 2}, ["c", "d"]),
        ({"top": 100}, ["A", "b", "c", "d", "e"]),
        ({"skip": 0}, ["A", "b", "c", "d", "e"]),
        ({"skip": 4}, ["e"]),
        ({"skip": 2147483647}, []),
        ({"filter": "state eq Enabled"}, ["b", "e"]),
        ({"filter": "state eq disabled"}, ["A"]),
        ({"filter": "STATE EQ 'Completed'"}, ["d"]),
        ({"filter": " state  eq  faulted "}, ["c"]),
        ({"filter": "state eq Enabled", "top": 1, "skip": 1}, ["e"]),
    ],
)
def test_a_list_can_be_narrowed(arm, jobs, query, found):
    response = arm.get(jobs, **query)

    assert names(response) == found
    assert response.json()["nextLink"] is None


@pytest.mark.parametrize(
    "query",
    [
        *({"top": top} for top in ("0", "101", "-1", "x", "", "1.0", "1_0", "١", "9" * 50, " 1", "+1")),
        *({"skip": skip} for skip in ("-1", "x", "", "2147483648", "1e3", "\0")),
        *(
            {"filter": text}
            for text in (
                "",
                "state",
                "state eq",
                "state eq Running",
                "state ne Enabled",
                "status eq Completed",
                "state eq 'Enabled",
                "state eq Enabled or state eq Disabled",
                "state__in eq Enabled",
                "state eq \0",
                "state eq " + "Enabled" * 1000,
                " " * 2000 + "state eq Enabled",
            )
        ),
        {"skiptoken": "\0"},
    ],
)
def test_a_wrong_query_is_refused(arm, jobs, query):
    name = "$" + next(iter(query))

    assert refusal(arm.get(jobs, **query)) == (400, "MissingOrInvalidRequiredQueryParameter", name)


@pytest.mark.parametrize("length", [1, 2, 4, 5])
def test_pages_join_to_the_whole_list(arm, jobs, monkeypatch, length):
    monkeypatch.setattr(lists, "PAGE_LENGTH", length)

    response = arm.get(jobs)
    found = names(response)
    while link := response.json()["nextLink"]:
        response = arm.client.get(link)
        found += names(response)

    assert found == ["A", "b", "c", "d", "e"]


def test_a_next_page_keeps_the_filter_and_forgets_what_was_skipped(arm, jobs, monkeypatch):
    monkeypatch.setattr(lists, "PAGE_LENGTH", 1)
    arm.put(arm.job("f"), body(startTime="2026-06-01"))

    first = arm.get(jobs, filter="state eq Enabled", skip=1)
    second = arm.client.get(first.json()["nextLink"])

    assert (names(first), names(second)) == (["e"], ["f"])
    assert second.json()["nextLink"] is None


def test_a_page_with_a_top_has_no_next(arm, jobs, monkeypatch):
    monkeypatch.setattr(lists, "PAGE_LENGTH", 1)

    assert arm.get(jobs, top=2).json()["nextLink"] is None


@override_settings(PUBLIC_URL="https://jobs.example")
def test_links_name_the_public_address(arm, jobs, monkeypatch):
    monkeypatch.setattr(lists, "PAGE_LENGTH", 1)

    assert arm.get(jobs).json()["nextLink"].startswith(f"https://jobs.example{jobs}?api-version=2016-03-01&")


def test_a_list_takes_a_fixed_number_of_queries(arm, jobs, django_assert_num_queries):
    arm.get(jobs)  # notes the use of the token

    with django_assert_num_queries(4):  # the token, the collection, the jobs, their triggers
        assert len(names(arm.get(jobs))) == 5


def test_a_job_takes_a_fixed_number_of_queries(arm, make_job, django_assert_num_queries):
    make_job()
    arm.get(arm.job())

    with django_assert_num_queries(3):  # the token, the job with its action, the triggers
        assert arm.get(arm.job()).status_code == 200


# Triggers beside the job's own schedule, of which the original knew nothing


def test_a_job_answers_its_own_schedule_and_the_earliest_time_of_all_triggers(arm, make_job, make_trigger):
    job = make_job(schedule={"startTime": "2026-02-02T08:00:00Z"})
    make_trigger(job, "a-first", "azure", definition={"startTime": "2026-01-09T08:00:00Z"})
    Job.objects.update(execution_count=1)

    properties = arm.get(arm.job()).json()["properties"]

    assert (properties["startTime"], "recurrence" in properties) == ("2026-02-02T08:00:00Z", False)
    assert properties["status"]["nextExecutionTime"] == "2026-01-09T08:00:00Z"


def test_a_job_without_a_schedule_of_its_own_stays_without_one(arm, make_job):
    job = make_job(schedule=None)

    before = arm.get(arm.job()).json()["properties"]
    arm.put(arm.job(), {"properties": {"action": ACTION}})
    arm.patch(arm.job(), {"properties": {"action": {"request": {"method": "PUT"}}}})

    assert not {"startTime", "recurrence"} & set(before)
    assert not job.triggers.exists()
    assert arm.get(arm.job()).json()["properties"]["action"]["request"]["method"] == "PUT"
