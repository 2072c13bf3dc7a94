"""Deliberately broken variants of the product, which the checks must find.

An installation loads this module as an app (EXTRA_APPS).  CHAOS_VARIANT names the variant.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.apps import AppConfig

UNIQUE_KEY = "run_once_per_fire_time"


@dataclass(frozen=True, slots=True)
class Variant:
    """A broken rule, the function that breaks it in a process, and the fault that shows it (None: no fault)."""

    name: str
    break_rule: Callable[[], None]
    fault: str | None
    drops_unique_key: bool = False
    needs_postgresql: bool = False


def dispatch_without_locks() -> None:
    """Two beats read the same due triggers."""
    from django.db.models import QuerySet

    from triggers import dispatch

    original = dispatch._fetch_triggers

    def unlocked(due, limit):
        select, QuerySet.select_for_update = QuerySet.select_for_update, lambda rows, **_: rows
        try:
            return original(due, limit)
        finally:
            QuerySet.select_for_update = select

    dispatch._fetch_triggers = unlocked


def insert_twice() -> None:
    """Each fire time gets two rows, as from two beats that do not exclude each other."""
    from uuid import uuid4

    from triggers import dispatch

    original = dispatch._insert

    def twice(rows, now):
        original(rows, now)
        original([row._replace(id=uuid4()) for row in rows], now)

    dispatch._insert = twice


def publish_before_commit() -> None:
    """Messages are sent before their rows can be seen."""
    from django.db import transaction

    from scheduler_site.celery import app
    from triggers import dispatch
    from triggers.publisher import ReadyRun, RunPublisher

    original, publishers = dispatch._insert, []

    def publish_first(rows, now):
        if not publishers:
            publishers.append(RunPublisher(app))
        publishers[0].publish([ReadyRun(row.queue, row.id, row.subscription_id) for row in rows])
        original(rows, now)

    dispatch._insert = publish_first
    original_dispatch = dispatch.dispatch_due

    def dispatch_due(now, looks_for_others=True):
        with transaction.atomic():
            original_dispatch(now, looks_for_others)
            time.sleep(0.3)  # until the workers have looked for the rows
        return []

    dispatch.dispatch_due = dispatch_due


def do_not_rescue() -> None:
    from jobs.worker import rescue

    rescue.rescue_expired = lambda now: 0


def ignore_lease_tokens() -> None:
    """A worker records the results of runs that it has lost."""
    from jobs.models import RunQuerySet

    RunQuerySet.leased = lambda rows, runs: rows.filter(pk__in=[run.pk for run in runs])


def do_not_republish() -> None:
    from triggers import dispatch

    dispatch.claim_ready = lambda now, looks_for_others=True: []


def miss_what_is_late() -> None:
    """Fire times that are found a second late are missed."""
    from triggers import dispatch

    original = dispatch.plan_fires

    def plan_fires(schedule, due_at, now, policy, threshold, fires_left=None):
        return original(schedule, due_at, now, "skip", timedelta(seconds=1), fires_left)

    dispatch.plan_fires = plan_fires


def ignore_heartbeats() -> None:
    from jobs.worker.liveness import WorkerMonitor

    WorkerMonitor.check = lambda self, now, clock_s: None


def fire_early() -> None:
    """Triggers are due two seconds before their time."""
    from triggers import dispatch

    original = dispatch.dispatch_due

    def dispatch_due(now, looks_for_others=True):
        return original(now + timedelta(seconds=2), looks_for_others)

    dispatch.dispatch_due = dispatch_due


def lose_rows() -> None:
    """A trigger advances although its run was not inserted, once in five passes."""
    from triggers import dispatch

    original, passes = dispatch._insert, []

    def insert(rows, now):
        passes.append(now)
        if len(passes) % 5:
            original(rows, now)

    dispatch._insert = insert


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("no unique key", dispatch_without_locks, None, drops_unique_key=True, needs_postgresql=True),
        Variant("double beat", insert_twice, None, drops_unique_key=True),
        Variant("publish before commit", publish_before_commit, None),
        Variant("no rescue", do_not_rescue, "both workers are killed"),
        Variant("lease without token", ignore_lease_tokens, "a worker freezes"),
        Variant("no republication", do_not_republish, "the broker comes back empty"),
        Variant("wrong misfire rule", miss_what_is_late, "both beats are killed"),
        Variant("lost heartbeat", ignore_heartbeats, "both workers are killed"),
        Variant("early", fire_early, None),
        Variant("lost row", lose_rows, None),
    )
}


class BrokenConfig(AppConfig):
    name = "tests.chaos"
    label = "chaos"

    def ready(self) -> None:
        if variant := os.environ.get("CHAOS_VARIANT"):
            VARIANTS[variant].break_rule()
