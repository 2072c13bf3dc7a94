"""Old rows are pruned at the moment at which they are changed or deleted."""

from datetime import timedelta
from threading import Event

import pytest
from django.db.models.signals import pre_delete

from api.errors import Conflict
from jobs.models import Job, Run
from jobs.run_now import run_now
from jobs.worker.pruning import prune
from tests.conftest import NOW
from tests.racing import at_once, linger, lingering
from triggers import scheduling
from triggers.definitions import TriggerDefinition
from triggers.deletion import delete_job
from triggers.scheduling import save_trigger, set_job_state

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(days=100)
HOURLY = TriggerDefinition(format="quartz", definition={"expression": "0 0 * * * ?"})


def test_deleting_a_job_and_pruning_its_runs_do_not_deadlock(make_job):
    """The pruning deletes an error action before its run."""
    job = make_job(schedule=None)
    run, error_run = (run_now(job, NOW) for _ in range(2))
    Run.objects.filter(pk=error_run.pk).update(parent=run, state=Run.State.FAILED, finished_at=NOW)
    Run.objects.filter(pk=run.pk).update(state=Run.State.FAILED, finished_at=NOW)
    midway = Event()

    def pause_deletion(**_):
        linger(midway)

    def delete():
        midway.wait(5)
        delete_job(job, LATER)

    pre_delete.connect(pause_deletion, sender=Run)
    try:
        assert at_once(lambda: prune(LATER), delete) == []
    finally:
        pre_delete.disconnect(pause_deletion, sender=Run)

    assert not Job.objects.exists()


CHANGES = {
    "enable": lambda job: set_job_state(job, Job.State.ENABLED, LATER),
    "save a trigger": lambda job: save_trigger(job, "hourly", HOURLY, LATER),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changing_an_old_job_and_pruning_it_do_not_deadlock(make_job, monkeypatch, change):
    job = make_job()
    Job.objects.update(state=Job.State.COMPLETED, finished_at=NOW)
    locked = lingering(monkeypatch, scheduling, "_locked_triggers")

    def prune_locked():
        locked.wait(5)
        prune(LATER)

    raised = at_once(lambda: change(job), prune_locked)

    assert [type(error) for error in raised] == [Conflict]
    prune(LATER)
    assert not Job.objects.exists()
