"""Old notices are pruned at the same time as their runs or resources are deleted."""

from datetime import timedelta
from threading import Event
from uuid import UUID

import pytest
from django.db import transaction

from jobs.models import Run
from jobs.run_now import run_now
from jobs.worker import pruning as pruning_of_runs
from maintenance import resources
from maintenance.models import Notice, NoticeResource, NoticeRun
from maintenance.pruning import prune
from tests.maintenance.notices import T0, announce, resource
from tests.racing import at_once, by_index, linger

pytestmark = pytest.mark.django_db(transaction=True)

LATER = T0 + timedelta(days=100)

OTHERS = {
    "the runs of its work": (NoticeRun, lambda resource: pruning_of_runs.prune(LATER)),
    "its resource": (NoticeResource, resources.unregister),
}


@pytest.mark.parametrize("related_model, other", OTHERS.values(), ids=OTHERS)
def test_concurrent_pruning_of_notices_does_not_deadlock(subscription, make_job, related_model, other):
    """Both deletions read the rows of three notices in different orders, and wait at the middle one."""
    machine, job = resource(subscription), make_job(schedule=None)
    notices = sorted((announce(machine) for _ in range(3)), key=lambda notice: notice.pk)
    NoticeResource.objects.all().delete()
    for number, notice in enumerate(reversed(notices)):
        NoticeResource.objects.create(notice=notice, resource=machine, name=machine.name)
        Run.objects.filter(pk=run_now(job, T0).pk).update(
            id=UUID(int=number), state=Run.State.SUCCEEDED, finished_at=T0
        )
        NoticeRun.objects.create(notice=notice, phase="start", run_id=UUID(int=number), job_name=job.name)
    Notice.objects.update(status=Notice.Status.COMPLETED, ended_at=T0)
    is_locked = Event()

    def hold_lock():
        with transaction.atomic():
            related_model.objects.select_for_update().get(notice=notices[1])
            linger(is_locked)

    def after_lock(work):
        def run():
            is_locked.wait(5)
            work()

        return by_index(run)

    assert at_once(hold_lock, after_lock(lambda: prune(LATER)), after_lock(lambda: other(machine))) == []

    prune(LATER)
    assert not Notice.objects.exists()
