"""The URLs of resources, notices and the maintenance policies of jobs, below `/api/`."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from maintenance.api.jobs import JobPolicyView
from maintenance.api.notices import Notices
from maintenance.api.resources import Resources

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("resources", Resources, basename="resource")
router.register("notices", Notices, basename="notice")

urlpatterns = [
    path("", include(router.urls)),
    path("jobs/<int:pk>/maintenance", JobPolicyView.as_view(), name="job-maintenance"),
]
