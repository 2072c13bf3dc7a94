"""Jobs in the form of the resource manager: replaced, read, deleted and run."""

import pytest

from jobs.models import Job, Run
from tests.conftest import ACTION, NOW
from tests.jobs.arm_jobs import ANSWER, FULL, body, properties, refusal

pytestmark = pytest.mark.usefixtures("at_now")


# PUT and GET


def test_put_creates_a_job(arm, collection):
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


def test_omitted_members_of_a_job_are_not_returned(arm, collection):
    assert properties(arm.put(arm.job(), body())) == {
        "action": ACTION,
        "state": "Enabled",
        "status": {
            "nextExecutionTime": "2026-01-01T00:00:00Z",  # runs once, now
            "executionCount": 0,
            "failureCount": 0,
            "faultedCount": 0,
        },
    }


def test_a_past_start_without_recurrence_runs_now(arm, collection):
    job = properties(arm.put(arm.job(), body(startTime="2025-06-01T08:00:00+02:00")))

    assert job["startTime"] == "2025-06-01T06:00:00Z"
    assert job["status"]["nextExecutionTime"] == "2026-01-01T00:00:00Z"


def test_past_start_with_recurrence_keeps_its_fire_times(arm, collection):
    job = properties(
        arm.put(arm.job(), body(startTime="2025-12-30T14:00:00Z", recurrence={"frequency": "day", "interval": 2}))
    )

    assert job["status"]["nextExecutionTime"] == "2026-01-01T14:00:00Z"


def test_repeated_put_of_a_job_changes_nothing(arm, collection):
    created = arm.put(arm.job(), {"properties": FULL})

    again = arm.put(arm.job(), {"properties": FULL})

    assert again.status_code == 200
    assert again.json() == created.json()
    assert Job.objects.count() == 1


def test_put_replaces_a_job(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    replaced = properties(arm.put(arm.job(), body(startTime="2026-02-01T00:00Z")))

    assert replaced["action"] == ACTION
    assert replaced["startTime"] == "2026-02-01T00:00:00Z"
    assert "recurrence" not in replaced
    assert replaced["status"]["nextExecutionTime"] == "2026-02-01T00:00:00Z"


def test_put_with_the_name_in_another_case_updates_the_same_job(arm, make_job):
    make_job("backup")

    response = arm.put(arm.job("BackUp"), body())

    assert (response.status_code, response.json()["name"]) == (200, "nightly/backup")


def test_read_only_members_are_ignored(arm, make_job):
    make_job()
    sent = {**body(status={"executionCount": 99, "nextExecutionTime": "x"}), "id": "x", "type": 1, "name": "other/name"}

    response = arm.put(arm.job(), sent)

    assert response.json()["name"] == "nightly/backup"
    assert properties(response)["status"]["executionCount"] == 0


def test_returned_job_can_be_sent_back(arm, collection):
    answer = arm.put(arm.job(), {"properties": FULL}).json()

    assert arm.put(arm.job(), answer).json() == answer


def test_our_additions_to_an_action_are_returned_and_those_to_a_job_are_not(arm, collection):
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

    returned = properties(arm.put(arm.job(), {"properties": {"action": action}}))

    assert returned["action"] == action
    assert not {"secretsSetAt", "signing", "warnings"} & set(returned)
    assert properties(arm.get(arm.job())) == returned


def test_unknown_members_are_not_returned(arm, collection):
    sent = {**body(colour="red", recurrence={"frequency": "Day", "colour": "red"}), "colour": "red"}

    assert "red" not in arm.put(arm.job(), sent).content.decode()


def test_responses_contain_no_secret(arm, collection):
    arm.put(arm.job(), {"properties": FULL})

    for response in (arm.put(arm.job(), {"properties": FULL}), arm.get(arm.job()), arm.get(arm.collection() + "/jobs")):
        text = response.content.decode()
        assert response.status_code == 200
        assert "password" not in text
        assert "sasToken" not in text
        assert "violet" not in text
        assert "amber" not in text


def test_occurrence_is_read_in_both_cases_and_written_in_one(arm, collection):
    for member in ("occurrence", "Occurrence"):
        schedule = {"monthlyOccurrences": [{"day": "friday", member: -1}]}
        job = properties(arm.put(arm.job(), body(recurrence={"frequency": "Month", "schedule": schedule})))

        assert job["recurrence"]["schedule"] == {"monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}]}


def test_reading_a_job_takes_a_fixed_number_of_queries(arm, make_job, django_assert_num_queries):
    make_job()
    arm.get(arm.job())

    with django_assert_num_queries(3):  # the token, the job with its action, the triggers
        assert arm.get(arm.job()).status_code == 200


# The status


def test_a_new_disabled_job_has_no_status(arm, collection):
    job = properties(arm.put(arm.job(), body(state="DISABLED")))

    assert job["state"] == "Disabled"
    assert "status" not in job


def test_disabled_job_shows_its_counters(arm, make_job):
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
def test_ended_job_shows_its_counters_and_no_next_execution_time(arm, make_job, state):
    job = make_job()
    job.triggers.update(next_fire_at=None)
    Job.objects.filter(pk=job.pk).update(state=state, finished_at=NOW, execution_count=1, last_execution_at=NOW)

    answer = properties(arm.get(arm.job()))

    assert answer["state"] == state.capitalize()
    assert "nextExecutionTime" not in answer["status"]
    assert answer["status"]["lastExecutionTime"] == "2026-01-01T00:00:00Z"


# Delete and run


def test_deleted_job_is_not_found_and_its_history_stays(arm, make_job):
    job = make_job()
    arm.post(arm.job() + "/run")

    response = arm.delete(arm.job())

    assert (response.status_code, response.content) == (200, b"")
    assert arm.get(arm.job()).status_code == arm.delete(arm.job()).status_code == 404
    assert Run.objects.get().job_name == job.name


def test_manual_run_does_not_change_the_schedule(arm, make_job):
    job = make_job()
    before = arm.get(arm.job()).json()

    response = arm.post(arm.job() + "/run")

    assert (response.status_code, response.content) == (200, b"")
    run = Run.objects.get()
    assert (run.job, run.origin, run.state, run.fire_at) == (job, Run.Origin.MANUAL, Run.State.WAITING, NOW)
    assert arm.get(arm.job()).json() == before


def test_each_run_request_creates_a_run(arm, make_job):
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


# Triggers in addition to the job's own schedule, which the original service does not have


def test_job_shows_its_own_schedule_and_the_earliest_fire_time_of_all_triggers(arm, make_job, make_trigger):
    job = make_job(schedule={"startTime": "2026-02-02T08:00:00Z"})
    make_trigger(job, "a-first", "azure", definition={"startTime": "2026-01-09T08:00:00Z"})
    Job.objects.update(execution_count=1)

    properties = arm.get(arm.job()).json()["properties"]

    assert (properties["startTime"], "recurrence" in properties) == ("2026-02-02T08:00:00Z", False)
    assert properties["status"]["nextExecutionTime"] == "2026-01-09T08:00:00Z"


def test_job_without_its_own_schedule_stays_without_one(arm, make_job):
    job = make_job(schedule=None)

    before = arm.get(arm.job()).json()["properties"]
    arm.put(arm.job(), {"properties": {"action": ACTION}})
    arm.patch(arm.job(), {"properties": {"action": {"request": {"method": "PUT"}}}})

    assert not {"startTime", "recurrence"} & set(before)
    assert not job.triggers.exists()
    assert arm.get(arm.job()).json()["properties"]["action"]["request"]["method"] == "PUT"
