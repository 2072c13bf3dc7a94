"""The addresses of collections, jobs and runs."""

from django.urls import include, path
from rest_framework.routers import SimpleRouter

from jobs.api.collections import Collections
from jobs.api.jobs import Jobs
from jobs.api.runs import Runs

router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("collections", Collections, basename="collection")
router.register("jobs", Jobs, basename="job")
router.register("runs", Runs, basename="run")

urlpatterns = [path("", include(router.urls))]
