"""Groups of triggers, and groups that no worker serves."""

from datetime import timedelta

from django.db import connection

from jobs.models import PROCESS_SILENCE, Process
from tests.conftest import NOW
from triggers.groups import COMING, groups_with_due_runs, unserved_groups
from triggers.models import Trigger


def test_groups_are_those_of_triggers_that_will_fire(make_job, make_trigger):
    job = make_job(schedule=None)
    for number, group in enumerate(["b", "a", "b", "c", "default"]):
        make_trigger(job, f"trigger-{number}", group=group)
    make_trigger(job, "off", group="off", enabled=False)

    assert groups_with_due_runs() == {"a", "b", "c", "default"}


def test_default_group_of_manual_runs_is_always_included(db):
    assert groups_with_due_runs() == {"default"}


def test_groups_are_read_by_one_query_from_an_index(make_job, django_assert_num_queries):
    job = make_job(schedule=None)
    Trigger.objects.bulk_create(
        Trigger(job=job, name=f"t{number}", group=f"g{number % 3}", anchored_at=NOW, next_fire_at=NOW)
        for number in range(2_000)
    )

    with django_assert_num_queries(1):
        assert groups_with_due_runs() == {"g0", "g1", "g2", "default"}
    plan = plan_of(COMING)
    assert "trigger_group" in plan
    assert "Seq Scan" not in plan


def plan_of(query: str) -> str:
    is_postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        if is_postgresql:
            cursor.execute("ANALYZE triggers_trigger")
        cursor.execute(f"{'EXPLAIN' if is_postgresql else 'EXPLAIN QUERY PLAN'} {query}")
        return str(cursor.fetchall())


def test_queue_is_served_by_live_workers_only(db):
    for name, kind, queues, age in [
        ("one", "worker", ["default", "extra"], timedelta(0)),
        ("gone", "worker", ["mail"], PROCESS_SILENCE * 2),
        ("beat", "beat", ["beats"], timedelta(0)),
    ]:
        Process.objects.create(kind=kind, name=name, queues=queues, started_at=NOW, seen_at=NOW - age)

    assert Process.objects.served_queues(NOW) == {"default", "extra"}


def test_group_without_a_worker_has_a_warning():
    assert unserved_groups("mail", {"default"}) == "nobody serves mail: its runs wait"
    assert unserved_groups("default", {"default"}) == ""
