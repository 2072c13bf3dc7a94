"""Resources and notices in the admin, read only.  They are changed on /maintenance/, to which these pages link."""

from django.contrib import admin
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.admin_permissions import has_role
from accounts.models import Role
from jobs import humanize
from jobs.admin.lists import ReadOnlyAdmin, TimestampedChangeList, badge
from jobs.badges import Badge
from maintenance.models import Notice, Resource, polled_since
from maintenance.pages.presenters import (
    labels_words,
    length_words,
    listening_row,
    state_of,
    step_row,
    title_of,
    truncate_names,
)

GROUPS_LISTED = 50  # scope groups in the filter
NOTICES_LISTED = 10  # notices on the page of a resource


class MaintenanceAdmin(ReadOnlyAdmin):
    def changelist_view(self, request, extra_context=None) -> HttpResponse:
        may_operate = has_role(request.user, Role.OPERATOR)
        return super().changelist_view(request, {**(extra_context or {}), "may_operate": may_operate})

    def history_view(self, request, object_id, extra_context=None) -> HttpResponse:
        """Redirect to the page of the row, which shows its history."""
        row = self.find_visible(request, object_id)
        return HttpResponseRedirect(reverse(f"admin:maintenance_{self.opts.model_name}_change", args=[row.pk]))

    def render_page(self, request, template: str, row, context: dict) -> HttpResponse:
        may_operate = has_role(request.user, Role.OPERATOR, row.subscription_id)
        return self.page(request, template, {"may_operate": may_operate, **context})


class GroupFilter(admin.SimpleListFilter):
    title = "scope group"
    parameter_name = "group"

    def lookups(self, request, model_admin):
        rows = model_admin.get_queryset(request).exclude(scope_group="").order_by("scope_group")
        groups = rows.values_list("scope_group", flat=True).distinct()
        listed, chosen = list(groups[:GROUPS_LISTED]), self.value()
        if chosen is not None and chosen not in listed:
            listed += groups.filter(scope_group=chosen)
        return [(group, group) for group in listed]

    def queryset(self, request, queryset):
        return queryset.filter(scope_group=self.value()) if self.value() is not None else queryset


class ListeningFilter(admin.SimpleListFilter):
    title = "polls"
    parameter_name = "polls"

    def lookups(self, request, model_admin):
        return [("yes", "listening"), ("no", "silent")]

    def queryset(self, request, queryset):
        is_listening = {"last_seen_at__gte": polled_since(timezone.now())}
        if self.value() == "yes":
            return queryset.filter(**is_listening)
        return queryset.exclude(**is_listening) if self.value() == "no" else queryset


@admin.register(Resource)
class ResourceAdmin(MaintenanceAdmin):
    list_display = ("title", "group", "labelled", "polls", "in_subscription")
    list_filter = (ListeningFilter, GroupFilter)
    list_select_related = ("subscription",)
    search_fields = ("name", "scope_group")
    search_help_text = "Name or scope group"
    ordering = ("name", "pk")

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        resource, now = self.find_visible(request, object_id), timezone.now()
        notices = Notice.objects.filter(resources=resource).order_by("-announced_at", "-pk")
        context = {
            "title": resource.name,
            "resource": resource,
            "polls": listening_row(resource, now),
            "labels": labels_words(resource.labels),
            "notices": [
                {"notice": each, "title": title_of(each), "outcome": state_of(each.as_of(now))}
                for each in notices.prefetch_related("affected_resources")[:NOTICES_LISTED]
            ],
            "now": now,
        }
        return self.render_page(request, "admin/maintenance/resource/page.html", resource, context)

    @admin.display(description="Resource")
    def title(self, resource: Resource) -> str:
        address = reverse("admin:maintenance_resource_change", args=[resource.pk])
        return format_html('<a class="title" href="{}">{}</a>', address, resource.name)

    @admin.display(description="Scope group")
    def group(self, resource: Resource) -> str:
        return resource.scope_group

    @admin.display(description="Labels")
    def labelled(self, resource: Resource) -> str:
        return labels_words(resource.labels)

    @admin.display(description="Polling")
    def polls(self, resource: Resource) -> str:
        row = listening_row(resource, resource.now)
        return badge(Badge(row["mark"], row["seen"], row["state"]))

    @admin.display(description="Subscription")
    def in_subscription(self, resource: Resource) -> str:
        return resource.subscription.name


class NoticeChangeList(TimestampedChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        self.result_list = [notice.as_of(request.now) for notice in self.result_list]


@admin.register(Notice)
class NoticeAdmin(MaintenanceAdmin):
    list_display = ("title", "state", "from_when", "resources_named", "lasts", "announced", "in_subscription")
    list_filter = ("status", "event_type", "source")
    list_select_related = ("subscription",)
    search_fields = ("description", "affected_resources__name")
    search_help_text = "Description, or a resource"
    ordering = ("-announced_at", "-pk")

    def get_queryset(self, request):
        return super().get_queryset(request).prefetch_related("affected_resources")

    def get_changelist(self, request, **kwargs) -> type[NoticeChangeList]:
        return NoticeChangeList

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        now = timezone.now()
        notice = self.find_visible(request, object_id).as_of(now)
        approvals = notice.approvals.select_related("user", "resource").order_by("at", "pk")
        context = {
            "title": title_of(notice),
            "notice": notice,
            "outcome": state_of(notice),
            "names": [each.name for each in notice.affected_resources.all()],
            "lasts": length_words(notice, now),
            "steps": [step_row(step, now, request.user.hour_cycle) for step in notice.transitions.all()],
            "approvals": [(each.resource or each.user or "a deleted user", each.at) for each in approvals],
            "now": now,
        }
        return self.render_page(request, "admin/maintenance/notice/page.html", notice, context)

    @admin.display(description="Notice")
    def title(self, notice: Notice) -> str:
        address = reverse("admin:maintenance_notice_change", args=[notice.pk])
        description = notice.description[:100]
        return format_html(
            '<a class="title" href="{}">{}</a><span class="sub">{}</span>', address, title_of(notice), description
        )

    @admin.display(description="State")
    def state(self, notice: Notice) -> str:
        return badge(state_of(notice))

    @admin.display(description="Start")
    def from_when(self, notice: Notice) -> str:
        return humanize.format_datetime(notice.begins_at, notice.now)

    @admin.display(description="Resources")
    def resources_named(self, notice: Notice) -> str:
        return truncate_names([each.name for each in notice.affected_resources.all()])

    @admin.display(description="Duration")
    def lasts(self, notice: Notice) -> str:
        return length_words(notice, notice.now)

    @admin.display(description="Announced")
    def announced(self, notice: Notice) -> str:
        return humanize.format_datetime(notice.announced_at, notice.now)

    @admin.display(description="Subscription")
    def in_subscription(self, notice: Notice) -> str:
        return notice.subscription.name
