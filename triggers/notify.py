"""Notify waiting beats that a trigger may be due earlier than they expect."""

from django.db import connection

CHANNEL = "quando_due"


def notify_beat() -> None:
    """Send a notification within the current transaction, so that it arrives when the change is committed.

    PostgreSQL only, which delivers equal notifications of one transaction once.  On SQLite there is none: a beat makes
    a pass twice a second in any case.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {CHANNEL}")
