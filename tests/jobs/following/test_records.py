"""What is stored about an operation that a run follows, and for how long."""

from datetime import timedelta

import pytest
from django.db import connection

from jobs.models import Poll, Run
from jobs.worker.pruning import prune
from scheduler_site.keys import new_encryption_key
from tests.jobs.conftest import START
from tests.jobs.following.operations import accepted, go_on, polls_of, status
from tests.jobs.runs import the_run

pytestmark = pytest.mark.django_db


def test_address_of_the_operation_is_stored_encrypted(starting, target, work):
    starting(status("Running"))
    target.answers["/start"] = [
        accepted(target, **{"Azure-AsyncOperation": f"{target.url}/status?key=amber-lantern-77"})
    ]
    work(the_run())

    with connection.cursor() as cursor:
        cursor.execute("SELECT secrets, host FROM jobs_asyncoperation")
        ((sealed, host),) = cursor.fetchall()
    assert "amber" not in sealed
    assert host == f"127.0.0.1:{target.port}"


def test_poll_whose_address_cannot_be_decrypted_is_repeated(starting, target, work, settings):
    starting(status("Succeeded"))
    run = the_run()
    work(run)
    keys, settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS, [new_encryption_key()]

    work(run, at=run.publish_after)
    assert run.state == Run.State.FOLLOWING
    assert "credentials cannot be read" in polls_of(run)[0].message

    settings.ENCRYPTION_KEYS = keys
    go_on(work, run)
    assert run.state == Run.State.SUCCEEDED


def test_polls_are_pruned_with_their_run(starting, work, settings):
    starting(status("Succeeded"))
    run = the_run()
    work(run)
    go_on(work, run)

    prune(START + timedelta(days=settings.RETENTION_DAYS + 1))

    assert not Run.objects.filter(pk=run.pk).exists()
    assert not Poll.objects.exists()


def test_a_run_that_follows_is_not_pruned(starting, work, settings):
    starting(status("Running"))
    run = the_run()
    work(run)

    prune(START + timedelta(days=1000))

    assert Run.objects.filter(pk=run.pk).exists()
