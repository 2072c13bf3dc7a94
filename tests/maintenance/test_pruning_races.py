"""Old notices go at the moment at which what they name goes as well."""

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


@pytest.mark.parametrize("hanging, other", OTHERS.values(), ids=OTHERS)
def test_a_notice_goes_beside(subscription, make_job, hanging, other):
    """Both find what hangs on three notices, in another order each, and are held up at the one in the middle."""
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
    holding = Event()

    def hold_up():
        with transaction.atomic():
            hanging.objects.select_for_update().get(notice=notices[1])
            linger(holding)

    def then(work):
        def run():
            holding.wait(5)
            work()

        return by_index(run)

    assert at_once(hold_up, then(lambda: prune(LATER)), then(lambda: other(machine))) == []

    prune(LATER)
    assert not Notice.objects.exists()
