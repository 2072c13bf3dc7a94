"""Rows and statistics for tests of query plans.

Without rows, or without statistics about them, PostgreSQL may take any index or none.
"""

from datetime import timedelta

from django.db import connection
from django.db.models import Model

from jobs.models import Job, Run
from tests.conftest import utc

START = utc("2026-01-05T08:00:00Z")
SECOND = timedelta(seconds=1)


def add_runs(job: Job) -> None:
    """Add the runs of a busy installation.  After START, one run of each state is due every second, as is its lease."""
    states = [*Run.State] * 500 + [Run.State.SUCCEEDED] * 3000
    Run.objects.bulk_create(
        Run(
            subscription=job.collection.subscription,
            job_name=job.name,
            collection_name=job.collection.name,
            state=state,
            fire_at=START,
            publish_after=(due_at := START + number // len(Run.State) * SECOND),
            leased_until=due_at if state == Run.State.RUNNING else None,
            lock_key=f"other:{number}",
            hold_key=f"other:{number}" if state == Run.State.HELD else None,
            is_made_up=number % 10 == 0,
        )
        for number, state in enumerate(states)
    )
    update_statistics(Run)


def update_statistics(*models: type[Model]) -> None:
    """Do what PostgreSQL does itself after some time.  SQLite never does it."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(model._meta.db_table for model in models)}")
