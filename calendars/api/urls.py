from django.urls import include, path, register_converter
from rest_framework.routers import SimpleRouter

from calendars.api.calendars import Calendars
from calendars.api.closed_days import ClosedDaysImport
from calendars.api.events import Events
from calendars.api.feeds import Feeds
from calendars.api.fields import EventConverter, ItemConverter
from calendars.api.occurrences import Occurrences

register_converter(EventConverter, "event")
register_converter(ItemConverter, "item")

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("calendars", Calendars, basename="calendar")
router.register("events", Events, basename="event")
router.register("feeds", Feeds, basename="feed")
router.register("occurrences", Occurrences, basename="occurrence")

urlpatterns = [
    path("", include(router.urls)),
    path("closed-days/<str:pk>/import", ClosedDaysImport.as_view(), name="closed-days-import"),
]
