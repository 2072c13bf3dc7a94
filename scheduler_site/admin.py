"""The operators' site: Django's own admin in Quando's look, with the desk as its index."""

from datetime import timedelta

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.actions import delete_selected
from django.contrib.admin.forms import AdminAuthenticationForm
from django.http import HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from rest_framework.exceptions import Throttled

from accounts.authentication import count_failure, refuse_exhausted
from accounts.models import User
from accounts.zones import ZoneField
from jobs import words
from scheduler_site import desk
from scheduler_site.masthead import HOUSEKEEPING

PLACES = {
    "accounts": "Access",
    "jobs": "Work",
    "triggers": "Work",
    HOUSEKEEPING: "Housekeeping",
}


class SignInForm(AdminAuthenticationForm):
    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "invalid_login": "Name and password do not belong together.",
        "inactive": "This account is switched off.",
    }

    def clean(self):
        """Failed tries count together with those at the APIs, and are refused before the password is looked at."""
        username, now = self.cleaned_data.get("username"), timezone.now()
        try:
            refuse_exhausted(self.request, username, now)
        except Throttled as refusal:
            wait = words.span(max(timedelta(seconds=refusal.wait or 0), words.MINUTE))
            raise forms.ValidationError(f"Too many failed tries. The next is possible in {wait}.") from None
        try:
            return super().clean()
        except forms.ValidationError:
            count_failure(self.request, username, now)
            raise


class AccountForm(forms.ModelForm):
    """What everybody may change about themselves."""

    time_zone = ZoneField()

    class Meta:
        model = User
        fields = ("first_name", "last_name", "email", "time_zone")


@admin.action(description="Delete", permissions=["delete"])
def delete_ticked(modeladmin, request, queryset):
    return delete_selected(modeladmin, request, queryset)


class QuandoAdminSite(admin.AdminSite):
    site_title = site_header = "Quando"
    index_title = "Home"
    enable_nav_sidebar = False
    empty_value_display = ""
    login_form = SignInForm

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.disable_action("delete_selected")
        self.add_action(delete_ticked, "delete_selected")

    def get_urls(self):
        return [
            path("pulse/", self.admin_view(self.pulse), name="pulse"),
            path("outcomes/", self.admin_view(self.outcomes), name="outcomes"),
            path("account/", self.admin_view(self.account), name="account"),
            *super().get_urls(),
        ]

    def each_context(self, request) -> dict:
        context = super().each_context(request)
        match = request.resolver_match  # Django names a page of the admin app_model_page
        is_housekeeping = match and (match.url_name or "").startswith(HOUSEKEEPING)
        return {**context, "place": PLACES[HOUSEKEEPING] if is_housekeeping else ""}

    def index(self, request, extra_context=None):
        now = timezone.now()
        context = {
            **self.each_context(request),
            **desk.desk(request.user, now),
            "title": self.index_title,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/index.html", context)

    def pulse(self, request):
        """The health line and the counts alone: what the index asks for every few seconds."""
        return TemplateResponse(request, "admin/_pulse.html", desk.pulse(request.user, timezone.now()))

    def outcomes(self, request):
        """The numbers behind the chart of outcomes, as a table."""
        now = timezone.now()
        context = {
            **self.each_context(request),
            "hours": desk.outcomes_by_hour(request.user, now),
            "title": "Outcomes by the hour",
        }
        return TemplateResponse(request, "admin/outcomes.html", context)

    def account(self, request):
        form = AccountForm(request.POST or None, instance=request.user)
        if request.method == "POST" and form.is_valid():
            form.save()
            messages.success(request, "Saved.")
            return HttpResponseRedirect(reverse("admin:account"))
        context = {**self.each_context(request), "form": form, "title": "Account"}
        return TemplateResponse(request, "admin/account.html", context)

    def app_index(self, request, app_label, extra_context=None):
        return super().app_index(request, app_label, {"place": PLACES.get(app_label, ""), **(extra_context or {})})
