"""Runs in the admin: read, and cancelled while they wait."""

from datetime import timedelta

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.models import Role, Subscription
from accounts.staff import may
from jobs import words
from jobs.admin.lists import NowChangeList, ReadOnlyAdmin, badge
from jobs.cancel import can_be_cancelled, cancel
from jobs.descriptions import ORIGINS
from jobs.errors import JobError
from jobs.models import Run
from jobs.outcomes import outcome_of
from jobs.pages.runs import run_page, run_row


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


class RunChangeList(NowChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        for run in self.result_list:
            run.row = run_row(run)


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Read only: history is made by the workers."""

    list_display = ("planned", "job_title", "result", "started", "took", "attempts", "by")
    list_filter = (ResultFilter, SinceFilter, "origin")
    search_fields = ("job_name",)
    search_help_text = "Name of the job"
    ordering = ("-fire_at", "-id")

    def get_queryset(self, request):
        """With one subscription to look at, as most have, its index answers what is newest."""
        subscriptions = Subscription.objects.all()
        if not request.user.is_superuser:
            subscriptions = subscriptions.visible_to(request.user)
        first = list(subscriptions.values_list("pk", flat=True)[:2])
        rows = admin.ModelAdmin.get_queryset(self, request)
        return rows.filter(subscription=first[0]) if len(first) == 1 else rows.filter(subscription__in=subscriptions)

    def get_urls(self):
        cancel_view = self.admin_site.admin_view(self.cancel_view)
        return [path("<uuid:object_id>/cancel/", cancel_view, name="jobs_run_cancel"), *super().get_urls()]

    def cancel_view(self, request, object_id) -> HttpResponse:
        run = self.visible(request, object_id)
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

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        rows = self.get_queryset(request).select_related("job__collection", "action", "parent")
        run, now = self.visible(request, object_id, rows.defer("action__secrets")), timezone.now()
        may_operate = may(request.user, Role.OPERATOR, run.subscription_id)
        context = {
            "title": f"{run.job_name}, {words.moment(run.fire_at, now)}",
            "may_cancel": may_operate and can_be_cancelled(run),
            "may_run": run.job is not None and may_operate,
            **run_page(run, now),
        }
        return self.page(request, "admin/jobs/run/page.html", context)

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
