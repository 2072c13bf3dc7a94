"""Resources, notices and the maintenance policies of jobs in our own REST API."""

from maintenance.api.urls import urlpatterns

__all__ = ["urlpatterns"]
