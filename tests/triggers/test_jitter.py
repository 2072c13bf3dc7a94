"""Jitter: runs keep their fire time and start later."""

from datetime import timedelta

import pytest
import time_machine

from jobs.badges import outcome_of
from jobs.models import SUCCEEDED_LATE, Run
from jobs.worker.leasing import lease
from tests.triggers.rows import HOUR, MINUTE, START
from triggers.dispatch import claim_ready, dispatch_due
from triggers.models import delayed

pytestmark = [pytest.mark.django_db, pytest.mark.database]

JITTER = 30 * MINUTE
TICK = timedelta(microseconds=1)


@pytest.fixture
def trigger(make_job, make_trigger):
    definition = {"expression": "0 0 * * * ?", "jitter": "PT30M"}
    return make_trigger(make_job(schedule=None, overlap="allow"), definition=definition, now=START - MINUTE)


def test_run_keeps_its_fire_time_and_starts_within_the_jitter(trigger):
    assert dispatch_due(START) == []  # nothing to publish yet

    run = Run.objects.get()
    assert run.fire_at == START
    assert START <= run.starts_at < START + JITTER
    assert run.starts_at == delayed(START, trigger.pk, JITTER)
    assert (run.publish_after, run.not_before, run.state) == (run.starts_at, run.starts_at, "waiting")


def test_run_is_published_and_leased_at_its_start_and_not_before(trigger):
    dispatch_due(START)
    run = Run.objects.get()

    assert claim_ready(run.starts_at - TICK) == []
    assert lease([run.pk], "worker", run.starts_at - TICK) == []
    assert [ready.id for ready in claim_ready(run.starts_at)] == [run.pk]
    assert [leased.run.pk for leased in lease([run.pk], "worker", run.starts_at)] == [run.pk]


def test_run_that_is_found_after_its_start_is_published_at_once(trigger):
    found = dispatch_due(START + JITTER)

    run = Run.objects.get()
    assert [ready.id for ready in found] == [run.pk]
    assert (run.not_before, run.starts_at) == (None, delayed(START, trigger.pk, JITTER))


def test_delays_of_fire_times_and_of_triggers_differ(trigger, make_job, make_trigger):
    other = make_trigger(make_job("other", schedule=None), definition=trigger.definition, now=START - MINUTE)
    for hour in range(5):
        dispatch_due(START + hour * HOUR)

    delays = {(run.job_id, run.starts_at - run.fire_at) for run in Run.objects.all()}
    assert len(delays) == Run.objects.count() == 10
    assert {job_id for job_id, _ in delays} == {trigger.job_id, other.job_id}


def test_lateness_counts_from_the_start_with_jitter(trigger):
    dispatch_due(START)
    run = Run.objects.get()
    late = run.starts_at + MINUTE + timedelta(seconds=1)

    for started_at, is_late in [(run.starts_at + MINUTE, False), (late, True)]:
        Run.objects.update(state=Run.State.SUCCEEDED, started_at=started_at, finished_at=started_at)
        assert Run.objects.filter(SUCCEEDED_LATE).exists() is is_late
        assert (outcome_of(Run.objects.get()).mark == "late") is is_late


def test_run_that_a_gate_releases_does_not_start_before_its_jitter(trigger):
    dispatch_due(START)
    run = Run.objects.get()

    Run.objects.publish(START + TICK)
    assert Run.objects.get().publish_after == run.starts_at
    Run.objects.publish(run.starts_at + HOUR)
    assert Run.objects.get().publish_after == run.starts_at + HOUR


def test_previews_lists_and_runs_show_both_times(api, trigger):
    with time_machine.travel(START - MINUTE, tick=False):
        upcoming = api.get(f"/api/triggers/{trigger.pk}/upcoming", {"count": 3}).json()["value"]
        listed = api.get(f"/api/triggers/{trigger.pk}").json()
        schedule = {"format": "quartz", **trigger.definition}
        previewed = api.post("/api/schedules/preview", {"schedule": schedule}).json()["occurrences"]
    dispatch_due(START)
    run = api.get("/api/runs").json()["value"][0]

    starts = [delayed(START + hour * HOUR, trigger.pk, JITTER) for hour in range(3)]
    texts = [start.isoformat().replace("+00:00", "Z") for start in starts]
    assert [each["startsAt"] for each in upcoming] == [each["runsAt"] for each in upcoming] == texts
    assert (listed["nextFireAt"], listed["nextStartsAt"]) == (upcoming[0]["fireAt"], texts[0])
    assert (run["fireAt"], run["startsAt"], run["nextAttemptAt"]) == (upcoming[0]["fireAt"], texts[0], None)
    for each in previewed:
        assert each["at"] <= each["startsAt"] < each["at"][:14] + "30:00Z"


def test_jitter_that_is_not_shorter_than_the_interval_is_refused(api, make_job):
    schedule = {"format": "quartz", "expression": "0 0 * * * ?", "jitter": "PT1H"}

    response = api.post("/api/triggers", {"job": make_job(schedule=None).pk, "name": "hourly", "schedule": schedule})

    assert (response.status_code, response.json()["error"]["target"]) == (400, "schedule.jitter")


@pytest.mark.parametrize("policy", ["queue_one", "queue_all"])
def test_run_that_waits_for_its_jitter_blocks_no_other_run(make_job, make_trigger, policy):
    job = make_job(schedule=None, overlap=policy)
    make_trigger(job, "slow", definition={"expression": "0 0 8 * * ?", "jitter": "PT10H"}, now=START - MINUTE)
    make_trigger(job, "quick", definition={"expression": "0 0/10 * * * ?"}, now=START - MINUTE)
    dispatch_due(START)
    quick, slow = Run.objects.get(trigger_name="quick"), Run.objects.get(trigger_name="slow")
    assert slow.not_before > START + MINUTE

    leased = lease([quick.pk, slow.pk], "worker", START + MINUTE)

    assert [item.run.pk for item in leased] == [quick.pk]


@pytest.mark.parametrize(
    "schedule",
    [
        {
            "format": "cron",
            "expression": "0 9 * * *",
            "timeZone": "America/New_York",
            "startTime": "0001-01-01T00:00:00Z",
        },
        {"format": "once", "at": "0001-01-01T00:00:00Z", "timeZone": "America/New_York"},
        {"format": "once", "at": "9999-12-31T23:59:59Z", "timeZone": "Pacific/Kiritimati", "jitter": "PT1S"},
    ],
)
def test_instants_at_both_ends_of_the_calendar_are_shown(api, make_job, schedule):
    body = {"job": make_job(schedule=None).pk, "name": "far", "schedule": schedule}

    assert api.post("/api/schedules/preview", {"schedule": schedule}).status_code == 200
    assert api.post("/api/triggers", body).status_code == 201
    assert api.get("/api/triggers").status_code == 200


def test_next_run_of_a_job_is_the_one_that_starts_first(api, make_job, make_trigger):
    job = make_job(schedule=None)
    slow = make_trigger(job, "slow", definition={"expression": "0 0 8 * * ?", "jitter": "PT10H"}, now=START - MINUTE)
    make_trigger(job, "quick", definition={"expression": "0 1 8 * * ?"}, now=START - MINUTE)
    assert slow.start_of(START) > START + MINUTE

    with time_machine.travel(START - MINUTE, tick=False):
        assert api.get(f"/api/jobs/{job.pk}").json()["nextRunAt"] == "2026-01-05T08:01:00Z"


def test_run_that_waits_for_its_jitter_is_listed_as_coming(api, trigger):
    dispatch_due(START)
    run = Run.objects.get()

    with time_machine.travel(START, tick=False):
        found = api.get(f"/api/triggers/{trigger.pk}/upcoming", {"count": 2}).json()["value"]
        job = api.get(f"/api/jobs/{trigger.job_id}").json()

    assert [each["run"] for each in found] == [str(run.pk), None]
    assert found[0]["fireAt"] == "2026-01-05T08:00:00Z"
    assert found[0]["triggerName"] == trigger.name
    assert found[0]["startsAt"] == found[0]["runsAt"] == job["nextRunAt"] == run.starts_at.isoformat()[:-6] + "Z"
