"""Graph's addresses below /me and /users/{id}, in any case."""

from calendars.graph.base import NotFoundView
from calendars.graph.calendar_views import Calendars, OneCalendar, Person, SupportedTimeZones
from calendars.graph.delta import Delta
from calendars.graph.event_views import Cancel, Events, OneEvent
from calendars.graph.window_views import CalendarView, Instances
from operations.arm_base import address

PERSON = r"v1\.0/(?:me|users/(?P<user>[^/]+))"
CALENDAR = f"{PERSON}/(?:(?P<default>calendar)|calendars/(?P<calendar>[^/]+))"
PLACE = f"{PERSON}(?:/(?P<default>calendar)|/calendars/(?P<calendar>[^/]+))?"
EVENT = f"{PLACE}/events/(?P<event>[^/]+)"

urlpatterns = [
    address(PERSON, Person.as_view()),
    address(rf"{PERSON}/outlook/supportedTimeZones(?:\(\)|\((?P<standard>[^/]+)\))?", SupportedTimeZones.as_view()),
    address(f"{PERSON}/calendars", Calendars.as_view()),
    address(CALENDAR, OneCalendar.as_view()),
    address(f"{PLACE}/events", Events.as_view()),
    address(EVENT, OneEvent.as_view()),
    address(f"{EVENT}/cancel", Cancel.as_view()),
    address(f"{EVENT}/instances", Instances.as_view()),
    address(f"{PLACE}/calendarView", CalendarView.as_view()),
    address(rf"{PLACE}/calendarView/delta(?:\(\))?", Delta.as_view()),
    address(r"v1\.0(?:/.*)?", NotFoundView.as_view()),
]
