"""The administration: Django's admin in Quando's design, with the dashboard as its index page."""

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.actions import delete_selected
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.views import redirect_to_login
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.views.generic import RedirectView

from accounts import pages
from scheduler_site import dashboard
from scheduler_site.navigation import HOUSEKEEPING

PLACES = {
    "accounts": "Access",
    "jobs": "Work",
    "operations": "Work",
    "maintenance": "Work",
    "triggers": "Work",
    HOUSEKEEPING: "Housekeeping",
}


@admin.action(description="Delete", permissions=["delete"])
def delete_ticked(modeladmin, request, queryset):
    return delete_selected(modeladmin, request, queryset)


class QuandoAdminSite(admin.AdminSite):
    site_title = site_header = "Quando"
    index_title = "Home"
    enable_nav_sidebar = False
    empty_value_display = ""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.disable_action("delete_selected")
        self.add_action(delete_ticked, "delete_selected")

    def has_permission(self, request) -> bool:
        """Return True for members of a subscription and staff; each page also checks its own roles or permissions."""
        return request.user.is_authenticated and request.user.can_open_administration

    def get_urls(self):
        """Add pages of ours.  Leave out `view_on_site`: no model uses it, and its two paths match in quadratic time."""
        return [
            path("pulse/", self.admin_view(self.health_badge), name="pulse"),
            path("outcomes/", self.admin_view(self.outcomes), name="outcomes"),
            path("account/", RedirectView.as_view(pattern_name="account:page")),
            *(each for each in super().get_urls() if getattr(each, "name", None) != "view_on_site"),
        ]

    def each_context(self, request) -> dict:
        context = super().each_context(request)
        match = request.resolver_match  # Django names a page of the admin app_model_page
        is_housekeeping = match and (match.url_name or "").startswith(HOUSEKEEPING)
        return {**context, "place": PLACES[HOUSEKEEPING] if is_housekeeping else ""}

    def login(self, request, extra_context=None):
        """Redirect to the sign-in page; show users who are signed in, but may not open these pages, the reason."""
        if request.user.is_authenticated and not self.has_permission(request):
            return TemplateResponse(request, "admin/not_a_member.html", {"next": request.get_full_path()}, status=403)
        after = request.GET.get(REDIRECT_FIELD_NAME)
        return redirect_to_login(after) if after else redirect(settings.LOGIN_URL)

    def logout(self, request, extra_context=None):
        return pages.sign_out(request)

    def password_change(self, request, extra_context=None):
        return redirect("account:password")

    def password_change_done(self, request, extra_context=None):
        return redirect("account:page")

    def index(self, request, extra_context=None):
        now = timezone.now()
        context = {
            **self.each_context(request),
            **dashboard.dashboard(request.user, now),
            "title": self.index_title,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/index.html", context)

    def health_badge(self, request):
        """Render only the health line and the counts, which the index page requests every few seconds."""
        return TemplateResponse(request, "admin/_health.html", dashboard.health_badge(request.user, timezone.now()))

    def outcomes(self, request):
        """Render the numbers of the chart of outcomes as a table."""
        now = timezone.now()
        context = {
            **self.each_context(request),
            "hours": dashboard.outcomes_by_hour(request.user, now),
            "title": "Outcomes by hour",
        }
        return TemplateResponse(request, "admin/outcomes.html", context)

    def app_index(self, request, app_label, extra_context=None):
        return super().app_index(request, app_label, {"place": PLACES.get(app_label, ""), **(extra_context or {})})
