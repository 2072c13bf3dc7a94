"""What Django's system checks say about this installation."""

from django.core.checks import CheckMessage, Warning, register
from django.db import Error

from jobs import rotation


@register()
def encryption_keys_open_what_is_stored(app_configs, **kwargs) -> list[CheckMessage]:
    """Looks at one row of each model, and at nothing while there is no database to ask."""
    try:
        lost = rotation.lost()
    except Error:
        return []
    if lost is None:
        return []
    model, pk = lost
    return [
        Warning(
            f"No key in ENCRYPTION_KEYS opens the secrets of {model._meta.label} {pk}.",
            hint="Add the key that was dropped behind the present ones, restart everything, and run "
            f"`manage.py {rotation.COMMAND}` before dropping it again: it names what else cannot be opened.",
            id="jobs.W001",
        )
    ]
