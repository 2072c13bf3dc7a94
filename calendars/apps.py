from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_save


class CalendarsConfig(AppConfig):
    name = "calendars"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # a signal, because accounts stands below and may not know that there are calendars
        post_save.connect(make_default_calendar, sender=settings.AUTH_USER_MODEL)


def make_default_calendar(instance, created: bool, raw: bool, **_) -> None:
    """A user who is loaded from a fixture brings the calendar along, or gets one once it is asked for."""
    from calendars.models import Calendar

    if created and not raw:
        Calendar.objects.default_of(instance)
