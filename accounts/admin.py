"""Admin pages of users, of subscriptions with their members, and of API tokens."""

import re
from datetime import datetime

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import UserChangeForm, UserCreationForm
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.forms import BaseInlineFormSet
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.admin_permissions import ListingAdmin, TenantAdmin, has_role
from accounts.errors import TooManyTokens
from accounts.forms import EmailForm, PreferencesForm, SetPasswordForm, TokenForm
from accounts.invitations import LIFETIME, invite, keep_default_subscription
from accounts.models import ApiToken, Invitation, Membership, Role, Subscription, User

KEY = re.compile(r"[0-9]{1,18}", re.ASCII)

admin.site.unregister(Group)  # roles in subscriptions decide, see accounts.admin_permissions


class MembershipFormSet(BaseInlineFormSet):
    """Memberships that somebody else than the user edits.

    Before each change the user's default subscription is stored, so that requests that name no subscription continue
    to write to the same one.
    """

    def save_new(self, form, commit=True):
        keep_default_subscription(form.instance.user)
        return super().save_new(form, commit)

    def save_existing(self, form, obj, commit=True):
        keep_default_subscription(obj.user)
        return super().save_existing(form, obj, commit)


class MembershipsOfUser(admin.TabularInline):
    model = Membership
    formset = MembershipFormSet
    extra = 2
    fields = ("subscription", "role")
    verbose_name_plural = "memberships"


USERNAME_HELP = "Letters, digits and @ . + - _."


class NewUserForm(UserCreationForm):
    class Meta(UserCreationForm.Meta):
        model = User
        help_texts = {"username": USERNAME_HELP}


class UserForm(EmailForm, PreferencesForm, UserChangeForm):
    class Meta(UserChangeForm.Meta):
        model = User
        help_texts = {
            "username": USERNAME_HELP,
            "is_active": "Disable an account instead of deleting it.",
            "is_staff": "Can see the queues of the whole installation on the home page.",
            "is_superuser": "Can see and do everything.",
        }


@admin.register(User)
class UserAdmin(ListingAdmin, DjangoUserAdmin):
    list_display = ("name", "email", "may_do", "zone", "signed_in_at")
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "Name or address"
    ordering = ("username",)
    list_display_links = None
    filter_horizontal = ()
    form = UserForm
    add_form = NewUserForm
    add_fieldsets = ((None, {"fields": ("username", "password1", "password2")}),)
    change_password_form = SetPasswordForm
    inlines = (MembershipsOfUser,)
    fieldsets = (
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        ("Times and language", {"fields": ("time_zone", "language", "week_start", "hour_cycle")}),
        (
            "Permissions",
            {
                "fields": ("is_active", "is_staff", "is_superuser"),
                "description": "The memberships of an account decide which jobs, runs and collections it can see.",
            },
        ),
    )

    def get_inlines(self, request, obj):
        return self.inlines if obj else ()

    @admin.display(description="User", ordering="username")
    def name(self, user: User) -> str:
        return format_html(
            '<a class="title" href="{}">{}</a><span class="sub">{}</span>',
            f"{user.pk}/change/",
            user,
            user.get_full_name(),
        )

    @admin.display(description="Permissions")
    def may_do(self, user: User) -> str:
        if not user.is_active:
            return "none: disabled"
        return (
            "everything"
            if user.is_superuser
            else "from memberships, and all queues"
            if user.is_staff
            else "from memberships"
        )

    @admin.display(description="Time zone", ordering="time_zone")
    def zone(self, user: User) -> str:
        return user.time_zone

    @admin.display(description="Last login", ordering="last_login", empty_value="never")
    def signed_in_at(self, user: User) -> datetime | None:
        return user.last_login


class Members(admin.TabularInline):
    """Owners change roles and remove members; only superusers, who see every user, add somebody directly."""

    model = Membership
    formset = MembershipFormSet
    extra = 2
    verbose_name_plural = "members"

    def has_view_permission(self, request, obj=None) -> bool:
        return has_role(request.user, Role.READER, obj and obj.pk)

    def _manage(self, request, obj) -> bool:
        return obj is not None and has_role(request.user, Role.OWNER, obj.pk)

    def get_readonly_fields(self, request, obj=None):
        return () if request.user.is_superuser else ("member",)

    def get_fields(self, request, obj=None):
        return ("user" if request.user.is_superuser else "member", "role")

    @admin.display(description="User")
    def member(self, membership: Membership) -> str:
        """Return the name without a link, because only superusers may open the pages of users."""
        return str(membership.user)

    def has_add_permission(self, request, obj=None) -> bool:
        return request.user.is_superuser

    def has_change_permission(self, request, obj=None) -> bool:
        return self._manage(request, obj)

    def has_delete_permission(self, request, obj=None) -> bool:
        return self._manage(request, obj)


class InvitationForm(forms.Form):
    addressee = forms.CharField(
        label="User name or e-mail address",
        max_length=Invitation._meta.get_field("addressee").max_length,
        help_text="The exact user name, or the exact e-mail address in the person's account.",
    )
    role = forms.TypedChoiceField(label="Role", coerce=int, choices=Role.choices, initial=Role.READER)


@admin.register(Subscription)
class SubscriptionAdmin(TenantAdmin):
    """Members see their own; owners invite and manage members; only superusers make and delete subscriptions."""

    change_form_template = "admin/accounts/subscription/change_form.html"

    write_role = Role.OWNER
    list_display = ("title", "guid", "member_count", "collection_count")
    list_display_links = None
    search_fields = ("name",)
    search_help_text = "Name"
    ordering = ("name",)
    inlines = (Members,)
    fields = ("name", "id")

    def subscription_of(self, obj):
        return obj.pk

    def get_readonly_fields(self, request, obj=None):
        return ("id",) if obj else ()

    def get_inlines(self, request, obj):
        return self.inlines if obj else ()

    def has_add_permission(self, request) -> bool:
        return request.user.is_superuser

    def has_delete_permission(self, request, obj=None) -> bool:
        return request.user.is_superuser

    def get_urls(self):
        view = self.admin_site.admin_view(self.invitations_view)
        return [
            path("<uuid:object_id>/invitations/", view, name="accounts_subscription_invitations"),
            *super().get_urls(),
        ]

    def invitations_view(self, request, object_id) -> HttpResponse:
        """List the open invitations; invite somebody, or withdraw an invitation."""
        subscription, now = self.find_changeable(request, object_id), timezone.now()
        if "withdraw" in request.POST:
            return self._withdraw(request, subscription, request.POST["withdraw"])
        form = InvitationForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._invite(request, subscription, form, now):
            return HttpResponseRedirect(request.path)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Invitations to {subscription}",
            "subscription": subscription,
            "form": form,
            "invitations": subscription.invitation_set.open(now).order_by("-created_at", "-pk"),
            "days": LIFETIME.days,
            "now": now,
        }
        return TemplateResponse(request, "admin/accounts/subscription/invitations.html", context)

    def _invite(self, request, subscription: Subscription, form: InvitationForm, now: datetime) -> bool:
        addressee, role = form.cleaned_data["addressee"], Role(form.cleaned_data["role"])
        try:
            invite(subscription, addressee, role, request.user, now)
        except ValidationError as error:
            form.add_error("addressee", error)
            return False
        self.log_change(request, subscription, f"Invited {addressee} as {role.label}.")
        messages.success(
            request,
            f"Invited: {addressee}. An account with this name or address shows the invitation on its account page.",
        )
        return True

    def _withdraw(self, request, subscription: Subscription, key: str) -> HttpResponse:
        invitation = subscription.invitation_set.filter(pk=int(key) if KEY.fullmatch(key) else 0).first()
        if invitation is not None:
            invitation.delete()
            self.log_change(request, subscription, f"Withdrew the invitation of {invitation.addressee}.")
            messages.success(request, f"Withdrawn: {invitation.addressee}.")
        return HttpResponseRedirect(request.path)

    def render_change_form(self, request, context, add=False, change=False, form_url="", obj=None):
        context["can_invite"] = change and self.has_change_permission(request, obj)
        return super().render_change_form(request, context, add, change, form_url, obj)

    def get_queryset(self, request):
        return (
            super()
            .get_queryset(request)
            .annotate(members_in=Count("members", distinct=True), collections_in=Count("collections", distinct=True))
        )

    @admin.display(description="Subscription", ordering="name")
    def title(self, subscription: Subscription) -> str:
        return format_html('<a class="title" href="{}">{}</a>', f"{subscription.pk}/change/", subscription.name)

    @admin.display(description="GUID")
    def guid(self, subscription: Subscription) -> str:
        return format_html("<code>{}</code>", subscription.pk)

    @admin.display(description="Members")
    def member_count(self, subscription) -> int:
        return subscription.members_in

    @admin.display(description="Collections")
    def collection_count(self, subscription) -> int:
        return subscription.collections_in


@admin.register(ApiToken)
class ApiTokenAdmin(ListingAdmin):
    """Tokens of staff; superusers see the tokens of all users.  A token is created and revoked, never changed.

    In addition, every account has a page for its own tokens, see `accounts.pages.tokens`.
    """

    form = TokenForm
    list_display = ("title", "prefix_shown", "owner", "most", "last_used_at", "expires_at")
    empty_value_display = "never"
    list_display_links = None
    search_fields = ("name", "prefix")
    search_help_text = "Name or prefix"
    ordering = ("-created_at",)
    list_select_related = ("user",)

    def get_queryset(self, request):
        rows = super().get_queryset(request)
        return rows if request.user.is_superuser else rows.filter(user=request.user)

    def has_module_permission(self, request) -> bool:
        return request.user.sees_installation

    def has_view_permission(self, request, obj=None) -> bool:
        is_own = obj is None or request.user.is_superuser or obj.user_id == request.user.pk
        return request.user.sees_installation and is_own

    def has_add_permission(self, request) -> bool:
        return request.user.sees_installation

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def has_delete_permission(self, request, obj=None) -> bool:
        return self.has_view_permission(request, obj)

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except TooManyTokens as error:
            messages.error(request, f"{capfirst(str(error))}.")
            return redirect("admin:accounts_apitoken_changelist")

    def save_model(self, request, obj, form, change) -> None:
        token, obj.text = form.issue(request.user)
        obj.pk = token.pk
        obj.prefix = token.prefix

    def response_add(self, request, obj, post_url_continue=None) -> HttpResponse:
        """Show the text of the new token.  Only this page shows it: it is in no message, session or cookie."""
        context = {**self.admin_site.each_context(request), "opts": self.opts, "token": obj, "title": "New token"}
        response = TemplateResponse(request, "admin/accounts/apitoken/token.html", context)
        add_never_cache_headers(response)
        return response

    @admin.display(description="Token", ordering="name")
    def title(self, token: ApiToken) -> str:
        return format_html('<a class="title" href="{}">{}</a>', f"{token.pk}/change/", token.name)

    @admin.display(description="Prefix")
    def prefix_shown(self, token: ApiToken) -> str:
        return format_html("<code>{}…</code>", token.prefix)

    @admin.display(description="User", ordering="user__username")
    def owner(self, token: ApiToken) -> str:
        return str(token.user)

    @admin.display(description="Role", ordering="role")
    def most(self, token: ApiToken) -> str:
        return token.get_role_display()
