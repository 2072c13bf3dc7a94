"""Runs in the admin: they are read only, and can be cancelled while they wait."""

from datetime import datetime, timedelta

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q
from django.http import HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.admin_permissions import has_role
from accounts.models import Role
from accounts.visibility import visible_subscription_ids
from api.errors import RequestError
from api.filters import InstantFormField
from jobs import humanize
from jobs.action_text import ORIGINS
from jobs.admin.lists import ReadOnlyAdmin, TimestampedChangeList
from jobs.cancel import can_be_cancelled, cancel
from jobs.models import SUCCEEDED_LATE, Run
from jobs.pages.runs import run_page, run_rows


class ResultFilter(admin.SimpleListFilter):
    title = "result"
    parameter_name = "result"
    RESULTS = {
        "failed": ("failed or lost", Q(state__in=(Run.State.FAILED, Run.State.LOST))),
        "lost": ("lost", Q(state=Run.State.LOST)),
        "missed": ("missed", Q(state=Run.State.MISSED)),
        "skipped": ("skipped", Q(state=Run.State.SKIPPED)),
        "late": ("late", SUCCEEDED_LATE),
        "succeeded": ("succeeded", Q(state=Run.State.SUCCEEDED)),
        "running": ("running", Q(state__in=(Run.State.RUNNING, Run.State.FOLLOWING))),
        "waiting": ("waiting", Q(state__in=(Run.State.WAITING, Run.State.RETRYING))),
        "held": ("held", Q(state=Run.State.HELD)),
        "cancelled": ("cancelled", Q(state=Run.State.CANCELLED)),
    }

    def lookups(self, request, model_admin):
        return [(value, words) for value, (words, _) in self.RESULTS.items()]

    def queryset(self, request, queryset):
        if self.value() not in self.RESULTS:
            return queryset
        _, condition = self.RESULTS[self.value()]
        return queryset.filter(condition)


class PlannedFilter(admin.ListFilter):
    """Filter for runs planned in the last `days`, or in [from, to), two instants in ISO 8601."""

    title = "planned"
    LAST = {"1": "in the last 24 h", "7": "in the last 7 days"}

    def __init__(self, request, params, model, model_admin):
        super().__init__(request, params, model, model_admin)
        for name in self.expected_parameters():
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]
        self.days = self.used_parameters.get("days")
        self.limits = {name: _parse_instant(self.used_parameters.get(name)) for name in ("from", "to")}

    def expected_parameters(self):
        return ["days", "from", "to"]

    def has_output(self):
        return True

    def queryset(self, request, queryset):
        if self.days in self.LAST:
            queryset = queryset.filter(fire_at__gte=timezone.now() - timedelta(days=int(self.days)))
        since, until = self.limits["from"], self.limits["to"]
        if since is not None:
            queryset = queryset.filter(fire_at__gte=since)
        return queryset if until is None else queryset.filter(fire_at__lt=until)

    def choices(self, changelist):
        limits = {name: self.used_parameters[name] for name in ("from", "to") if name in self.used_parameters}
        is_valid = (self.days is None or self.days in self.LAST) and all(self.limits[name] for name in limits)
        query = changelist.get_query_string
        yield {
            "selected": not self.used_parameters,
            "query_string": query(remove=self.expected_parameters()),
            "display": "All",
        }
        for value, label in self.LAST.items():
            yield {
                "selected": is_valid and self.days == value,
                "query_string": query({"days": value}, ["from", "to"]),
                "display": label,
            }
        if limits and is_valid:
            yield {"selected": True, "query_string": query(limits), "display": self._limits_in_words()}
        elif limits:
            yield {
                "selected": False,
                "query_string": "",
                "display": "from and to with times such as 2026-10-21T14:00:00Z",
            }

    def _limits_in_words(self) -> str:
        now = timezone.now()
        texts = [f"{name} {humanize.format_datetime(limit, now)}" for name, limit in self.limits.items() if limit]
        return " ".join(texts)


def _parse_instant(text: str | None) -> datetime | None:
    try:
        return InstantFormField(required=False).clean(text)
    except ValidationError:
        return None


class OriginFilter(admin.SimpleListFilter):
    """Filter by origin. Error actions are listed only if they are chosen: the runs that they follow show them."""

    title = "started by"
    parameter_name = "origin"

    def lookups(self, request, model_admin):
        return [(origin.value, ORIGINS[origin]) for origin in Run.Origin]

    def queryset(self, request, queryset):
        return queryset.filter(origin=self.value()) if self.value() else queryset.without_error_actions()


class RunChangeList(TimestampedChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        for run, row in zip(self.result_list, run_rows(self.result_list, request.now), strict=True):
            run.row = row


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Admin of runs. It is read only, because only workers write the history."""

    list_display = ("planned", "job_title", "result", "started", "took", "attempts", "started_by")
    list_filter = (ResultFilter, PlannedFilter, OriginFilter)
    search_fields = ("job_name",)
    search_help_text = "Job name"
    ordering = ("-fire_at", "-id")

    def get_queryset(self, request):
        rows = admin.ModelAdmin.get_queryset(self, request)
        ids = visible_subscription_ids(request.user)
        return rows if ids is None else rows.of_subscriptions(ids)

    def get_urls(self):
        cancel_view = self.admin_site.admin_view(self.cancel_view)
        return [path("<uuid:object_id>/cancel/", cancel_view, name="jobs_run_cancel"), *super().get_urls()]

    def cancel_view(self, request, object_id) -> HttpResponse:
        run = self.find_visible(request, object_id)
        if not has_role(request.user, Role.OPERATOR, run.subscription_id):
            raise PermissionDenied
        if request.method == "POST":
            try:
                cancel(run, f"cancelled by {request.user.get_username()}", timezone.now())
                messages.success(request, "Cancelled. The run will not start.")
            except RequestError as error:
                messages.error(request, capfirst(error.message))
        return HttpResponseRedirect(reverse("admin:jobs_run_change", args=[run.pk]))

    def get_changelist(self, request, **kwargs):
        return RunChangeList

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        rows = self.get_queryset(request).select_related("job__collection", "action", "parent")
        run, now = self.find_visible(request, object_id, rows.defer("action__secrets")), timezone.now()
        may_operate = has_role(request.user, Role.OPERATOR, run.subscription_id)
        context = {
            "title": f"{run.job_name}, {humanize.format_datetime(run.fire_at, now)}",
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
            humanize.format_datetime(run.fire_at, run.now),
        )

    @admin.display(description="Job")
    def job_title(self, run: Run) -> str:
        name = format_html('{}<span class="sub">{}</span>', run.job_name, run.collection_name)
        if run.job_id is None:
            return name
        return format_html('<a href="{}">{}</a>', reverse("admin:jobs_job_page", args=[run.job_id]), name)

    @admin.display(description="Result")
    def result(self, run: Run) -> str:
        return render_to_string("admin/jobs/run/_result.html", run.row)

    @admin.display(description="Started")
    def started(self, run: Run) -> str:
        return render_to_string("admin/jobs/run/_started.html", {**run.row, "now": run.now})

    @admin.display(description="Duration")
    def took(self, run: Run) -> str:
        return run.row["took"]

    @admin.display(description="Attempts")
    def attempts(self, run: Run) -> int:
        return run.attempt_count

    @admin.display(description="Started by")
    def started_by(self, run: Run) -> str:
        return ORIGINS[Run.Origin(run.origin)]
