"""Runs in the admin: read, and cancelled while they wait."""

from datetime import timedelta

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.models import Role, Subscription
from accounts.staff import TenantAdmin, may
from jobs import views, words
from jobs.admin.lists import CappedPaginator, badge
from jobs.cancel import can_be_cancelled, cancel
from jobs.descriptions import ORIGINS
from jobs.errors import JobError
from jobs.models import Run
from jobs.outcomes import outcome_of


class ResultFilter(admin.SimpleListFilter):
    title = "result"
    parameter_name = "result"
    STATES = {
        "failed": (Run.State.FAILED, Run.State.LOST),
        "running": (Run.State.RUNNING, Run.State.FOLLOWING),
        "waiting": (Run.State.WAITING, Run.State.RETRYING),
        "succeeded": (Run.State.SUCCEEDED,),
        "missed": (Run.State.MISSED,),
        "skipped": (Run.State.SKIPPED,),
        "cancelled": (Run.State.CANCELLED,),
    }

    def lookups(self, request, model_admin):
        return [(name, name) for name in self.STATES]

    def queryset(self, request, queryset):
        states = self.STATES.get(self.value())
        return queryset.filter(state__in=states) if states else queryset


class SinceFilter(admin.SimpleListFilter):
    title = "planned"
    parameter_name = "days"

    def lookups(self, request, model_admin):
        return [("1", "in the last 24 h"), ("7", "in the last 7 days")]

    def queryset(self, request, queryset):
        if self.value() not in ("1", "7"):
            return queryset
        return queryset.filter(fire_at__gte=timezone.now() - timedelta(days=int(self.value())))


class RunChangeList(ChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        runs = list(self.result_list)
        for run in runs:
            run.now = request.now
            run.row = views.run_row(run)
        self.result_list = runs


@admin.register(Run)
class RunAdmin(TenantAdmin):
    """Read only: history is made by the workers."""

    list_display = ("planned", "job_title", "result", "started", "took", "attempts", "by")
    list_display_links = None
    list_filter = (ResultFilter, SinceFilter, "origin")
    list_per_page = 25
    search_fields = ("job_name",)
    search_help_text = "Name of the job"
    ordering = ("-fire_at", "-id")
    sortable_by = ()
    actions = None
    paginator = CappedPaginator
    show_full_result_count = False

    def subscription_of(self, obj: Run):
        return obj.subscription_id

    def get_queryset(self, request):
        """With one subscription to look at, as most have, its index answers what is newest."""
        subscriptions = Subscription.objects.all()
        if not request.user.is_superuser:
            subscriptions = subscriptions.visible_to(request.user)
        first = list(subscriptions.values_list("pk", flat=True)[:2])
        rows = admin.ModelAdmin.get_queryset(self, request)
        return rows.filter(subscription=first[0]) if len(first) == 1 else rows.filter(subscription__in=subscriptions)

    def has_add_permission(self, request) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def has_delete_permission(self, request, obj=None) -> bool:
        return False

    def get_urls(self):
        cancel_view = self.admin_site.admin_view(self.cancel_view)
        return [path("<uuid:object_id>/cancel/", cancel_view, name="jobs_run_cancel"), *super().get_urls()]

    def cancel_view(self, request, object_id) -> HttpResponse:
        run = self.get_queryset(request).filter(pk=object_id).first()
        if run is None:
            raise Http404
        if not may(request.user, Role.OPERATOR, run.subscription_id):
            raise PermissionDenied
        if request.method == "POST":
            try:
                cancel(run, f"cancelled by {request.user.get_username()}", timezone.now())
                messages.success(request, "Cancelled. It will not be run.")
            except JobError as error:
                messages.error(request, capfirst(error.message))
        return HttpResponseRedirect(reverse("admin:jobs_run_change", args=[run.pk]))

    def get_changelist(self, request, **kwargs):
        return RunChangeList

    def changelist_view(self, request, extra_context=None):
        request.now = timezone.now()
        return super().changelist_view(request, extra_context)

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        try:
            rows = (
                self.get_queryset(request)
                .select_related("job__collection", "action", "parent")
                .defer("action__secrets")
            )
            run = rows.filter(pk=object_id).first() if object_id else None
        except ValidationError:
            run = None
        if run is None:
            raise Http404
        now = timezone.now()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{run.job_name}, {words.moment(run.fire_at, now)}",
            "may_cancel": can_be_cancelled(run) and may(request.user, Role.OPERATOR, run.subscription_id),
            "may_run": run.job is not None and may(request.user, Role.OPERATOR, run.subscription_id),
            **views.run_page(run, now),
        }
        return TemplateResponse(request, "admin/jobs/run/page.html", context)

    @admin.display(description="Planned")
    def planned(self, run: Run) -> str:
        return format_html(
            '<a class="title" href="{}">{}</a>',
            reverse("admin:jobs_run_change", args=[run.pk]),
            words.moment(run.fire_at, run.now),
        )

    @admin.display(description="Job")
    def job_title(self, run: Run) -> str:
        name = format_html('{}<span class="sub">{}</span>', run.job_name, run.collection_name)
        if run.job_id is None:
            return name
        return format_html('<a href="{}">{}</a>', reverse("admin:jobs_job_page", args=[run.job_id]), name)

    @admin.display(description="Result")
    def result(self, run: Run) -> str:
        return badge(outcome_of(run))

    @admin.display(description="Started")
    def started(self, run: Run) -> str:
        return words.clock(run.started_at) if run.started_at else run.row["reason"]

    @admin.display(description="Took")
    def took(self, run: Run) -> str:
        return run.row["took"]

    @admin.display(description="Attempts")
    def attempts(self, run: Run) -> int:
        return run.attempt_count

    @admin.display(description="By")
    def by(self, run: Run) -> str:
        return ORIGINS[Run.Origin(run.origin)]
