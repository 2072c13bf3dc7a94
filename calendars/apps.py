from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_save


class CalendarsConfig(AppConfig):
    name = "calendars"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from calendars import zoned_events  # noqa: F401, I001  # registers its work before the next one
        from calendars import zoned_closed_days  # noqa: F401  # registers its work

        # a signal, because `accounts` is a lower layer and must not import `calendars`
        post_save.connect(make_default_calendar, sender=settings.AUTH_USER_MODEL)


def make_default_calendar(instance, created: bool, raw: bool, **_) -> None:
    """Create the default calendar of a new user.

    Do nothing for a user from a fixture (`raw`): the fixture contains the calendar, or `default_of` creates it later.
    """
    from calendars.models import Calendar

    if created and not raw:
        Calendar.objects.default_of(instance)
