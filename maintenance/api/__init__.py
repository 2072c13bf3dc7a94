"""Resources, notices, and what jobs do about maintenance, in our own plain form."""

from maintenance.api.urls import urlpatterns

__all__ = ["urlpatterns"]
