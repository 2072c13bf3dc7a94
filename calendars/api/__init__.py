"""Calendars, events and occurrences in our own plain form."""

from calendars.api.urls import urlpatterns

__all__ = ["urlpatterns"]
