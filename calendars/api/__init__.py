"""The REST API of calendars, events, occurrences and feeds, in our own form."""

from calendars.api.urls import urlpatterns

__all__ = ["urlpatterns"]
