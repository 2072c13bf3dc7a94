"""Read what is stored of events and what a series shows.  `LATER` is after all objects were created."""

from datetime import timedelta

from django.core import serializers

from calendars.models import Calendar, Event, EventException
from tests.calendars.conftest import day, expand, times
from tests.conftest import NOW

LATER = NOW + timedelta(hours=1)
SECOND = day("2026-01-12")


def dump_calendars() -> str:
    return "".join(
        serializers.serialize("json", model.objects.order_by("pk")) for model in (Calendar, Event, EventException)
    )


def subjects(event) -> list[str]:
    return [each.details.subject for each in expand(event)]


ALL_DAY = {"is_all_day": True, **times("2026-01-05T00:00", "2026-01-06T00:00")}
