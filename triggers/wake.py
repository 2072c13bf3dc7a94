"""Tell waiting beats that something may be due sooner than they think."""

from django.db import connection

CHANNEL = "quando_due"


def wake_beat() -> None:
    """Notify within the current transaction, so that the news arrives with the change itself.

    PostgreSQL only, which delivers equal notices of a transaction once; on SQLite beats look twice a second anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {CHANNEL}")
