"""Calendars and events as Microsoft Graph v1.0 serves them."""

from calendars.graph.urls import urlpatterns

__all__ = ["urlpatterns"]
