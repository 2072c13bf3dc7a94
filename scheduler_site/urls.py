"""Where each app's pages and protocols are mounted."""

from django.contrib import admin
from django.urls import include, path

from jobs.echo import echo
from scheduler_site.health import health
from scheduler_site.views import front_door

urlpatterns = [
    path("", front_door, name="front-door"),
    path("api/", include("accounts.api")),
    path("api/", include("operations.api")),
    path("api/", include("jobs.api")),
    path("api/", include("triggers.api")),
    path("api/", include("calendars.api")),
    path("api/", include("maintenance.api")),
    path("api/", include("scheduler_site.docs")),
    path("", include("accounts.pages")),
    path("", include("operations.arm")),
    path("", include("maintenance.arm")),
    path("", include("jobs.arm")),  # last of its kind: it answers for all that is nowhere else below /subscriptions
    path("", include("triggers.mint")),
    path("", include("calendars.graph")),
    path("", include("maintenance.metadata")),
    path("calendar/", include("calendars.pages.urls")),
    path("maintenance/", include("maintenance.pages.urls")),
    path("echo/", echo),
    path("healthz", health),
    path("admin/", admin.site.urls),
]

handler400 = "scheduler_site.errors.bad_request"
handler403 = "scheduler_site.errors.permission_denied"
handler404 = "scheduler_site.errors.page_not_found"
handler500 = "scheduler_site.errors.server_error"
