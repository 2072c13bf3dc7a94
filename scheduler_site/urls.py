"""The addresses of the pages and protocols of all apps."""

from django.contrib import admin
from django.urls import include, path

from scheduler_site.health import health
from scheduler_site.views import home, sample_target

urlpatterns = [
    path("", home, name="front-door"),
    path("api/", include("accounts.api")),
    path("api/", include("operations.api")),
    path("api/", include("jobs.api.urls")),
    path("api/", include("triggers.api")),
    path("api/", include("calendars.api")),
    path("api/", include("maintenance.api")),
    path("api/", include("scheduler_site.docs")),
    path("", include("accounts.pages")),
    path("", include("operations.arm")),
    path("", include("maintenance.arm")),
    path("", include("jobs.arm")),  # last of the arm modules: it answers for all other addresses below /subscriptions
    path("", include("triggers.mint.api")),
    path("", include("calendars.graph")),
    path("", include("maintenance.metadata")),
    path("calendar/", include("calendars.pages.urls")),
    path("clock-changes/", include("triggers.pages.clock_changes")),
    path("closed-days/", include("triggers.pages.closed_days")),
    path("maintenance/", include("maintenance.pages.urls")),
    path("echo/", sample_target),
    path("healthz", health),
    path("admin/", admin.site.urls),
]

handler400 = "scheduler_site.errors.bad_request"
handler403 = "scheduler_site.errors.permission_denied"
handler404 = "scheduler_site.errors.page_not_found"
handler500 = "scheduler_site.errors.server_error"
