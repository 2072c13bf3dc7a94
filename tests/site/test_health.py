from datetime import timedelta

from django.db import OperationalError, connection
from django.utils import timezone

from jobs.models import PROCESS_SILENCE, Process


def report(kind: str, ago: timedelta = timedelta()) -> None:
    now = timezone.now()
    Process.objects.create(kind=kind, name="here:1", started_at=now - ago, seen_at=now - ago)


def test_health_is_200_while_beat_and_worker_report(client, db):
    report(Process.Kind.BEAT)
    report(Process.Kind.WORKER)

    response = client.get("/healthz")

    assert response.status_code == 200
    assert response.json() == {"database": True, "beat": True, "worker": True}


def test_health_is_503_if_the_beat_has_not_reported_for_long(client, db):
    report(Process.Kind.BEAT, ago=PROCESS_SILENCE + timedelta(seconds=5))
    report(Process.Kind.WORKER)

    response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json() == {"database": True, "beat": False, "worker": True}


def test_health_is_503_if_the_database_does_not_respond(client, db):
    def refuse(execute, sql, params, many, context):
        raise OperationalError("away")

    with connection.execute_wrapper(refuse):
        response = client.get("/healthz")

    assert response.status_code == 503
    assert response.json() == {"database": False, "beat": False, "worker": False}
