"""Jobs saved, stopped and deleted together with their triggers."""

from datetime import timedelta

import pytest

from api.errors import Conflict, Invalid
from jobs.errors import QuotaExceeded
from jobs.finishing import finish_jobs
from jobs.models import Action, Job, JobCollection, Run
from jobs.run_now import run_now
from recurrence.wire import WireError
from tests.conftest import ACTION, NOW, utc
from triggers import scheduling
from triggers.definitions import JobDefinition, merge_patch
from triggers.deletion import delete_collection, delete_job
from triggers.models import Trigger
from triggers.scheduling import patch_job, save_collection, save_job, set_job_state

DAILY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "day"}}
HOURLY = {"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "hour"}}
BASIC = {"type": "Basic", "username": "ada", "password": "opensesame"}


def next_fire_of(job: Job):
    return Trigger.objects.get(job=job).next_fire_at


def mark_fired(job: Job, at) -> None:
    Trigger.objects.filter(job=job).update(previous_fire_at=at, fire_count=1)


def test_new_job_has_a_next_fire_time(make_job):
    job = make_job(schedule=DAILY)

    assert next_fire_of(job) == utc("2026-01-05T08:00Z")


def test_a_job_without_a_schedule_is_due_at_once(make_job):
    job = make_job(schedule={})

    assert next_fire_of(job) == NOW


def test_a_disabled_job_has_no_next_fire_time(make_job):
    job = make_job(state="disabled")

    assert next_fire_of(job) is None


def test_saving_the_same_definition_twice_leaves_one_job_and_its_fire_time(collection):
    definition = JobDefinition(action=ACTION, schedule={"recurrence": {"frequency": "hour"}})
    first, created = save_job(collection, "backup", definition, NOW)
    again, created_again = save_job(collection, "BACKUP", definition, NOW + timedelta(minutes=7))

    assert (created, created_again) == (True, False)
    assert (first.pk, first.action_id) == (again.pk, again.action_id)
    assert again.name == "backup"
    assert next_fire_of(again) == NOW


def test_changed_schedule_starts_now_with_its_whole_count(make_job):
    job = make_job(schedule={**DAILY, "recurrence": {"frequency": "day", "count": 5}})
    Trigger.objects.update(fires_left=1, fire_count=4, previous_fire_at=utc("2026-01-08T08:00Z"))
    make_job(schedule={**HOURLY, "recurrence": {"frequency": "hour", "count": 3}}, now=utc("2026-01-08T09:30Z"))

    trigger = Trigger.objects.get(job=job)
    assert trigger.fires_left == 3
    assert trigger.next_fire_at == utc("2026-01-08T10:00Z")


def test_changed_action_is_a_new_row_and_the_old_one_stays_for_its_runs(make_job):
    before = make_job().action_id
    after = make_job(action={**ACTION, "request": {**ACTION["request"], "method": "POST"}}).action_id

    assert before != after
    assert Action.objects.filter(pk=before).exists()


def test_disabled_job_continues_at_its_next_regular_fire_time(make_job):
    job = make_job(schedule=HOURLY)
    mark_fired(job, utc("2026-01-05T08:00Z"))

    set_job_state(job, Job.State.DISABLED, utc("2026-01-05T08:10Z"))
    assert next_fire_of(job) is None

    set_job_state(job, Job.State.ENABLED, utc("2026-01-05T11:20Z"))
    assert next_fire_of(job) == utc("2026-01-05T12:00Z")


def test_one_time_start_that_passed_while_the_job_was_disabled_is_not_lost(make_job):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z"}, state="disabled")

    set_job_state(job, Job.State.ENABLED, utc("2026-01-06T00:00Z"))

    assert next_fire_of(job) == utc("2026-01-06T00:00Z")


def test_a_job_enabled_after_its_end_is_completed(make_job):
    job = make_job(schedule={"recurrence": {"frequency": "day", "endTime": "2026-01-09"}}, state="disabled")

    job = set_job_state(job, Job.State.ENABLED, utc("2026-02-01T00:00Z"))

    assert job.state == Job.State.COMPLETED
    assert job.finished_at == utc("2026-02-01T00:00Z")


@pytest.mark.parametrize("state", Job.FINAL)
def test_ended_job_cannot_be_changed(make_job, state):
    job = make_job()
    Job.objects.update(state=state)

    with pytest.raises(Conflict):
        make_job()
    with pytest.raises(Conflict):
        set_job_state(job, Job.State.ENABLED, NOW)


@pytest.mark.parametrize(
    "change", [lambda job, make: make(schedule=DAILY), lambda job, make: set_job_state(job, Job.State.DISABLED, NOW)]
)
def test_a_job_that_ends_while_it_is_changed_stays_ended(make_job, monkeypatch, change):
    job = make_job(schedule=DAILY)
    locked_triggers = scheduling._locked_triggers

    def locked_late(job):
        finish_jobs([job.pk], Job.State.COMPLETED, NOW)  # as by a worker that has recorded its last run
        return locked_triggers(job)

    monkeypatch.setattr(scheduling, "_locked_triggers", locked_late)

    with pytest.raises(Conflict, match="is completed, which is final"):
        change(job, make_job)


def test_disabled_collection_stops_its_jobs_and_keeps_their_states(make_job, collection):
    runs, rests = make_job("runs"), make_job("rests", state="disabled")

    collection.state = JobCollection.State.DISABLED
    save_collection(collection, NOW)
    assert next_fire_of(runs) is None

    collection.state = JobCollection.State.ENABLED
    save_collection(collection, NOW)
    assert next_fire_of(runs) == utc("2026-01-05T08:00Z")
    assert next_fire_of(rests) is None
    runs.refresh_from_db()
    assert runs.state == Job.State.ENABLED


def test_patch_job_merges_nested_objects(make_job):
    job = make_job(schedule={**DAILY, "recurrence": {"frequency": "day", "count": 9}})

    patch_job(job, {"recurrence": {"interval": 2}, "action": {"request": {"method": "PUT"}}}, NOW)

    trigger, action = Trigger.objects.get(job=job), Job.objects.get().action
    assert trigger.definition["recurrence"] == {"frequency": "day", "count": 9, "interval": 2}
    assert action.document["request"] == {"uri": "http://127.0.0.1:9/hook", "method": "PUT"}


def test_patch_job_preserves_an_omitted_secret(make_job):
    job = make_job(action={**ACTION, "request": {**ACTION["request"], "authentication": BASIC}})

    job = patch_job(job, {"action": {"request": {"method": "PUT"}}}, NOW)

    assert list(job.action.secrets.values()) == ["opensesame"]
    assert "opensesame" not in str(job.action.document)


def test_null_in_patch_job_removes_the_member(make_job):
    job = make_job(action={**ACTION, "request": {**ACTION["request"], "authentication": BASIC}})

    job = patch_job(job, {"action": {"request": {"authentication": None}}, "recurrence": None}, NOW)

    assert "authentication" not in job.action.document["request"]
    assert not job.action.secrets
    assert Trigger.objects.get().definition == {"startTime": "2026-01-05T08:00:00Z"}


def test_patch_job_keeps_concurrent_changes_of_other_members(make_job):
    job = make_job()
    stale = Job.objects.select_related("action").get(pk=job.pk)

    patch_job(job, {"action": {"request": {"body": "theirs"}}}, NOW)
    patched = patch_job(stale, {"action": {"request": {"method": "PUT"}}}, NOW)

    assert patched.action.document["request"] == {**ACTION["request"], "body": "theirs", "method": "PUT"}


def test_ended_job_cannot_be_patched(make_job):
    job = make_job()
    Job.objects.filter(pk=job.pk).update(state=Job.State.COMPLETED)

    with pytest.raises(Conflict):
        patch_job(job, {"action": ACTION}, NOW)


@pytest.mark.parametrize(
    "document, patch, result",
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),  # a list is replaced as a whole
        ({"a": 1}, {"a": {"b": 2}}, {"a": {"b": 2}}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
        ({}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_merge_patch_follows_rfc_7396(document, patch, result):
    assert merge_patch(document, patch) == result


@pytest.mark.parametrize(
    "change, path",
    [
        ({"schedule": {"recurrence": {"frequency": "year"}}}, "recurrence.frequency"),
        ({"schedule": {"startTime": "soon"}}, "startTime"),
        ({"action": {"type": "Http", "request": {"method": "GET"}}}, "action.request.uri"),
    ],
)
def test_wrong_member_of_a_job_is_named_and_nothing_is_saved(make_job, change, path):
    with pytest.raises((Invalid, WireError)) as refusal:
        make_job(**change)

    assert refusal.value.path == path
    assert (Job.objects.count(), Action.objects.count(), Trigger.objects.count()) == (0, 0, 0)


def test_a_schedule_that_never_fires_is_refused(make_job):
    never = {"frequency": "month", "interval": 12, "schedule": {"monthDays": [31]}}

    with pytest.raises(WireError) as refusal:
        make_job(schedule={"startTime": "2026-02-01T00:00:00Z", "recurrence": never})

    assert refusal.value.code == "never_fires"


@pytest.mark.parametrize("name", ["9lives", "a b", "a/b", "x" * 101, ""])
def test_malformed_name_of_a_job_is_refused(make_job, name):
    with pytest.raises(Invalid) as refusal:
        make_job(name)

    assert refusal.value.path == "name"


@pytest.mark.parametrize("state", ["completed", "faulted", 5, {}])
def test_state_of_a_job_definition_must_be_enabled_or_disabled(state):
    with pytest.raises(Invalid) as refusal:
        JobDefinition.of({"action": ACTION, "state": state})

    assert refusal.value.path == "state"


def test_deleting_a_job_keeps_its_history_and_cancels_its_waiting_runs(make_job):
    job = make_job()
    waiting = run_now(job, NOW)
    done = run_now(job, NOW)
    Run.objects.filter(pk=done.pk).update(state=Run.State.SUCCEEDED)

    delete_job(job, NOW)

    assert dict(Run.objects.values_list("id", "state")) == {waiting.pk: "cancelled", done.pk: "succeeded"}
    assert Run.objects.filter(job=None, job_name="backup").count() == 2


def test_deleting_a_collection_deletes_its_jobs(make_job, collection):
    run_now(make_job(), NOW)

    delete_collection(collection, NOW)

    assert Job.objects.count() == 0
    assert Run.objects.get().state == Run.State.CANCELLED


class TestQuotas:
    @pytest.mark.parametrize("sku, limit", [("Free", 5), ("Standard", 50)])
    def test_a_plan_limits_the_jobs_of_a_collection(self, make_job, collection, sku, limit):
        collection.sku = sku
        save_collection(collection, NOW)
        for number in range(limit):
            make_job(f"job{number}")

        with pytest.raises(QuotaExceeded):
            make_job("onemore")
        make_job("job0")  # an existing job can be replaced

    def test_quota_can_lower_but_not_raise_the_limit_of_the_plan(self, make_job, collection):
        collection.sku, collection.max_job_count = "Free", 1
        save_collection(collection, NOW)
        make_job("only")

        with pytest.raises(QuotaExceeded):
            make_job("onemore")

    @pytest.mark.parametrize(
        "sku, quota, recurrence",
        [
            ("Free", None, {"frequency": "minute", "interval": 59}),
            ("Standard", ("hour", 2), {"frequency": "minute", "interval": 119}),
            ("Standard", ("day", None), {"frequency": "hour"}),
        ],
    )
    def test_recurrence_faster_than_the_quota_is_refused(self, make_job, collection, sku, quota, recurrence):
        collection.sku = sku
        collection.max_recurrence_frequency, collection.max_recurrence_interval = quota or (None, None)
        save_collection(collection, NOW)

        with pytest.raises(QuotaExceeded):
            make_job(schedule={"recurrence": recurrence})
        make_job(schedule={"recurrence": {"frequency": "day"}})

    def test_the_free_plan_has_no_outbound_authentication(self, make_job, collection):
        collection.sku = "Free"
        save_collection(collection, NOW)

        with pytest.raises(QuotaExceeded) as refusal:
            make_job(action={**ACTION, "request": {**ACTION["request"], "authentication": BASIC}})

        assert refusal.value.path == "action.request.authentication"

    def test_a_subscription_has_one_free_collection(self, subscription, collection):
        collection.sku = "Free"
        save_collection(collection, NOW)

        with pytest.raises(QuotaExceeded):
            save_collection(JobCollection(subscription=subscription, name="second", sku="Free"), NOW)

    @pytest.mark.parametrize(
        "job",
        [
            {"schedule": {"recurrence": {"frequency": "minute"}}},
            {"action": {**ACTION, "request": {**ACTION["request"], "authentication": BASIC}}},
        ],
    )
    def test_collection_can_move_to_a_plan_only_if_its_jobs_fit(self, make_job, collection, job):
        make_job(**job)
        collection.sku = "Free"

        with pytest.raises(QuotaExceeded):
            save_collection(collection, NOW)

        assert JobCollection.objects.get().sku == "P20Premium"


class TestRunNow:
    def test_run_now_does_not_change_the_schedule(self, make_job):
        job = make_job()

        run = run_now(job, NOW)

        assert (run.state, run.origin, run.fire_at) == (Run.State.WAITING, Run.Origin.MANUAL, NOW)
        assert next_fire_of(job) == utc("2026-01-05T08:00Z")

    def test_same_idempotency_key_creates_one_run(self, make_job):
        job = make_job()

        assert run_now(job, NOW, "k1") == run_now(job, NOW + timedelta(hours=1), "k1")
        assert run_now(job, NOW, "k2") != run_now(job, NOW, "k1")

    def test_disabled_job_cannot_be_run(self, make_job, collection):
        with pytest.raises(Conflict):
            run_now(make_job("rests", state="disabled"), NOW)
        job = make_job()
        collection.state = JobCollection.State.SUSPENDED
        collection.save()

        with pytest.raises(Conflict):
            run_now(Job.objects.get(pk=job.pk), NOW)
