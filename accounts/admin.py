"""Who may see and do what, in the admin: users, subscriptions with their members, API tokens."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group
from django.db.models import Count
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import add_never_cache_headers
from django.utils.html import format_html

from accounts.forms import ReadingForm, TokenForm
from accounts.models import ApiToken, Membership, Role, Subscription, User
from accounts.staff import ListingAdmin, TenantAdmin, may

admin.site.unregister(Group)  # roles in subscriptions decide, see accounts.staff


class MembershipsOfUser(admin.TabularInline):
    model = Membership
    extra = 2
    fields = ("subscription", "role")
    verbose_name_plural = "memberships"


class UserForm(ReadingForm, UserChangeForm):
    class Meta(UserChangeForm.Meta):
        model = User
        help_texts = {
            "username": "Letters, digits and @ . + - _.",
            "is_active": "Switch an account off rather than delete it.",
            "is_staff": "May use the administration.",
            "is_superuser": "Sees and may do everything.",
        }


@admin.register(User)
class UserAdmin(ListingAdmin, DjangoUserAdmin):
    list_display = ("name", "email", "may_do", "zone", "last_login")
    empty_value_display = "never"
    list_filter = ("is_active", "is_staff", "is_superuser")
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "Name or address"
    ordering = ("username",)
    list_display_links = None
    filter_horizontal = ()
    form = UserForm
    inlines = (MembershipsOfUser,)
    fieldsets = (
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        ("Times and language", {"fields": ("time_zone", "language", "week_start", "hour_cycle")}),
        (
            "What the account may do",
            {
                "fields": ("is_active", "is_staff", "is_superuser"),
                "description": "What staff see is decided by their memberships.",
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

    @admin.display(description="May")
    def may_do(self, user: User) -> str:
        if not user.is_active:
            return "nothing: switched off"
        return "everything" if user.is_superuser else "use the administration" if user.is_staff else "use the calendar"

    @admin.display(description="Zone", ordering="time_zone")
    def zone(self, user: User) -> str:
        return user.time_zone


class Members(admin.TabularInline):
    model = Membership
    extra = 2
    verbose_name_plural = "members"

    def has_view_permission(self, request, obj=None) -> bool:
        return may(request.user, Role.READER, obj and obj.pk)

    def _manage(self, request, obj) -> bool:
        return obj is not None and may(request.user, Role.OWNER, obj.pk)

    def has_add_permission(self, request, obj=None) -> bool:
        return self._manage(request, obj)

    def has_change_permission(self, request, obj=None) -> bool:
        return self._manage(request, obj)

    def has_delete_permission(self, request, obj=None) -> bool:
        return self._manage(request, obj)


@admin.register(Subscription)
class SubscriptionAdmin(TenantAdmin):
    """Members see their own; owners manage members; only superusers make and delete subscriptions."""

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
    """Everybody's own tokens; superusers see all.  A token is made and revoked, never changed."""

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
        return True

    def has_view_permission(self, request, obj=None) -> bool:
        return obj is None or request.user.is_superuser or obj.user_id == request.user.pk

    def has_add_permission(self, request) -> bool:
        return True

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def has_delete_permission(self, request, obj=None) -> bool:
        return self.has_view_permission(request, obj)

    def save_model(self, request, obj, form, change) -> None:
        data = form.cleaned_data
        token, obj.text = ApiToken.objects.issue(request.user, data["name"], data["expires_at"], Role(data["role"]))
        obj.pk = token.pk
        obj.prefix = token.prefix

    def response_add(self, request, obj, post_url_continue=None) -> HttpResponse:
        """Show the text of the token, this once; it is in no message, session or cookie."""
        context = {**self.admin_site.each_context(request), "opts": self.opts, "token": obj, "title": "New token"}
        response = TemplateResponse(request, "admin/accounts/apitoken/issued.html", context)
        add_never_cache_headers(response)
        return response

    @admin.display(description="Token", ordering="name")
    def title(self, token: ApiToken) -> str:
        return format_html('<a class="title" href="{}">{}</a>', f"{token.pk}/change/", token.name)

    @admin.display(description="Begins with")
    def prefix_shown(self, token: ApiToken) -> str:
        return format_html("<code>{}…</code>", token.prefix)

    @admin.display(description="Of", ordering="user__username")
    def owner(self, token: ApiToken) -> str:
        return str(token.user)

    @admin.display(description="At most", ordering="role")
    def most(self, token: ApiToken) -> str:
        return token.get_role_display()
