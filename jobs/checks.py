"""Django system checks of this installation."""

from django.core.checks import CheckMessage, Warning, register
from django.db import Error

from jobs import rotation


@register()
def encryption_keys_open_what_is_stored(app_configs, **kwargs) -> list[CheckMessage]:
    """Check one row of each model; check nothing if the database is unavailable."""
    try:
        unreadable = rotation.unreadable_rows()
    except Error:
        return []
    if unreadable is None:
        return []
    model, pk = unreadable
    return [
        Warning(
            f"No key in ENCRYPTION_KEYS opens the secrets of {model._meta.label} {pk}.",
            hint="Add the key that was dropped behind the present ones, restart everything, and run "
            f"`manage.py {rotation.COMMAND}` before dropping it again: it names what else cannot be opened.",
            id="jobs.W001",
        )
    ]
