"""Calendars and events in the interface of Microsoft Graph v1.0."""

from calendars.graph.urls import urlpatterns

__all__ = ["urlpatterns"]
