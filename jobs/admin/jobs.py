"""The list of jobs, and what is done with the ticked ones."""

import re
from datetime import timedelta

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ChangeList
from django.db.models import F, OuterRef, Subquery
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.models import Role
from jobs import words
from jobs.admin.job_form import JobFormPages
from jobs.admin.job_orders import JobOrders
from jobs.admin.job_pages import ORDERED, JobPages
from jobs.admin.lists import CappedPaginator, hue_of
from jobs.admin.refusals import RefusableAdmin
from jobs.credentials import expiry_state
from jobs.descriptions import action_in_words
from jobs.errors import JobError
from jobs.models import Job, JobCollection, Run
from jobs.outcomes import COLLECTION_STATES, JOB_STATES, counted, newest_runs, outcome_of
from jobs.run_now import run_now
from triggers.deleting import delete_job, delete_jobs
from triggers.models import Trigger
from triggers.outlook import of_all_in_words
from triggers.scheduling import set_job_state

STRIP = 10  # outcomes shown for each job of a list
KEY = re.compile(r"[0-9]{1,18}")  # what fits into a database's integer


class CollectionFilter(admin.SimpleListFilter):
    title = "collection"
    parameter_name = "collection"

    def lookups(self, request, model_admin):
        collections = JobCollection.objects.order_by("name")
        if not request.user.is_superuser:
            collections = collections.visible_to(request.user)
        return [(str(key), name) for key, name in collections.values_list("pk", "name")[:50]]

    def queryset(self, request, queryset):
        return queryset.filter(collection=self.value()) if KEY.fullmatch(self.value() or "") else queryset


class FailedFilter(admin.SimpleListFilter):
    title = "failures"
    parameter_name = "failed"

    def lookups(self, request, model_admin):
        return [("1", "failed in 24 h"), ("7", "failed in 7 days")]

    def queryset(self, request, queryset):
        if self.value() not in ("1", "7"):
            return queryset
        since = timezone.now() - timedelta(days=int(self.value()))
        failed = Run.objects.filter(state__in=(Run.State.FAILED, Run.State.LOST), fire_at__gte=since)
        return queryset.filter(pk__in=failed.values("job_id"))


class JobChangeList(ChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        jobs = list(self.result_list)
        newest = newest_runs([job.pk for job in jobs], STRIP)
        for job in jobs:
            job.now = request.now
            job.newest = newest.get(job.pk, [])
        self.result_list = jobs


@admin.register(Job)
class JobAdmin(JobPages, JobOrders, JobFormPages, RefusableAdmin):
    list_display = ("title", "schedule", "next_run", "last_result", "last_ten", "in_collection")
    list_display_links = None
    list_filter = (CollectionFilter, "state", FailedFilter)
    list_per_page = 25
    search_fields = ("name", "collection__name")
    search_help_text = "Name or collection"
    paginator = CappedPaginator
    show_full_result_count = False
    actions = ("run_ticked", "disable_ticked", "enable_ticked")

    def subscription_of(self, obj: Job):
        return obj.collection.subscription_id

    def get_queryset(self, request):
        rows = super().get_queryset(request).select_related("collection__subscription", "action")
        rows = rows.defer("action__secrets").prefetch_related("triggers")
        waiting = Trigger.objects.filter(job=OuterRef("pk"), next_fire_at__isnull=False).order_by("next_fire_at")
        return rows.annotate(next_at=Subquery(waiting.values("next_fire_at")[:1]))

    def get_ordering(self, request):
        return (F("next_at").asc(nulls_last=True), "name", "pk")

    def get_changelist(self, request, **kwargs):
        return JobChangeList

    def changelist_view(self, request, extra_context=None):
        request.now = timezone.now()
        return super().changelist_view(request, extra_context)

    def get_urls(self):
        site = self.admin_site.admin_view
        return [
            path("preview/", site(self.preview_view), name="jobs_job_preview"),
            path("<int:object_id>/", site(self.page_view), name="jobs_job_page"),
            path("<int:object_id>/document/", site(self.document_view), name="jobs_job_document"),
            path("<int:object_id>/run/", site(self.run_view), name="jobs_job_run"),
            path("<int:object_id>/signing/", site(self.signing_view), name="jobs_job_signing"),
            path("<int:object_id>/test/", site(self.test_view), name="jobs_job_test"),
            path("<int:object_id>/state/", site(self.state_view), name="jobs_job_state"),
            *super().get_urls(),
        ]

    # the list

    @admin.display(description="Job", ordering="name")
    def title(self, job: Job) -> str:
        state = expiry_state(job.action.document, job.now)
        return render_to_string(
            "admin/jobs/job/_title.html",
            {"job": job, "does": action_in_words(job.action.document), "certificate": state},
        )

    @admin.display(description="Schedule")
    def schedule(self, job: Job) -> str:
        return of_all_in_words(job.triggers.all())

    @admin.display(description="Next run", ordering="next_at")
    def next_run(self, job: Job) -> str:
        return render_to_string(
            "admin/jobs/job/_next_run.html", {"job": job, "state": stopped_state(job), "now": job.now}
        )

    @admin.display(description="Last result")
    def last_result(self, job: Job) -> str:
        run = job.newest[-1] if job.newest else None
        if run is None:
            return format_html('<span class="faint">{}</span>', "no run yet")
        return render_to_string(
            "admin/jobs/job/_last_result.html", {"run": run, "outcome": outcome_of(run), "now": job.now}
        )

    @admin.display(description="Last ten")
    def last_ten(self, job: Job) -> str:
        outcomes = [outcome_of(run) for run in job.newest]
        return render_to_string("admin/jobs/_strip.html", {"outcomes": outcomes, "label": counted(outcomes)})

    @admin.display(description="Collection", ordering="collection__name")
    def in_collection(self, job: Job) -> str:
        return format_html(
            '<span class="tag"><span class="hue" data-hue="{}"></span>{}</span>',
            hue_of(job.collection_id),
            job.collection.name,
        )

    # actions on ticked rows

    def has_operate_permission(self, request) -> bool:
        return self._may(request, Role.OPERATOR, None)

    @admin.action(description="Run now", permissions=["operate"])
    def run_ticked(self, request, queryset):
        return self._ask_or_do(request, queryset, "run_ticked", "Run", "run")

    @admin.action(description="Disable", permissions=["operate"])
    def disable_ticked(self, request, queryset):
        return self._ask_or_do(request, queryset, "disable_ticked", "Disable", Job.State.DISABLED)

    @admin.action(description="Enable", permissions=["operate"])
    def enable_ticked(self, request, queryset):
        return self._ask_or_do(request, queryset, "enable_ticked", "Enable", Job.State.ENABLED)

    def _ask_or_do(self, request, queryset, action: str, verb: str, order: str) -> HttpResponse | None:
        """First say what would happen to how many, then do it; what the cores refuse is said as well."""
        jobs = list(queryset)
        if "confirmed" in request.POST:
            refused = [message for job in jobs if (message := self._order(request, job, order))]
            done = len(jobs) - len(refused)
            if done:
                messages.success(request, f"{ORDERED[order]}: {words.count(done, 'job')}.")
            for message in refused[:5]:
                messages.error(request, capfirst(message))
            return None
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{verb} {words.count(len(jobs), 'job')}",
            "action": action,
            "verb": verb,
            "consequence": CONSEQUENCES[order],
            "jobs": [(job, of_all_in_words(job.triggers.all()), JOB_STATES[Job.State(job.state)]) for job in jobs],
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/jobs/job/confirm.html", context)

    def _order(self, request, job: Job, order: str) -> str:
        """Do one thing to one job and log it; the answer says why it was refused, or nothing."""
        if not self.has_change_permission(request, job):
            return f"you may not change {job.name!r}"
        try:
            if order == "run":
                run_now(job, timezone.now())
            else:
                set_job_state(job, order, timezone.now())
        except JobError as error:
            return error.message
        self.log_change(request, job, ORDERED[order] + ".")
        return ""

    # Django's own pages

    def history_view(self, request, object_id, extra_context=None):
        job = self.visible(request, object_id)
        return super().history_view(request, str(job.pk), {"job": job, **(extra_context or {})})

    def delete_model(self, request, obj: Job) -> None:
        delete_job(obj, timezone.now())

    def delete_queryset(self, request, queryset) -> None:
        delete_jobs(queryset, timezone.now())


CONSEQUENCES = {
    "run": "Each runs once more, at once. Its schedule stays where it is.",
    Job.State.DISABLED: "None of them runs until it is enabled again. What already waits is not run either.",
    Job.State.ENABLED: "Each goes on with its next fire time. What it missed while it was disabled is not made up for.",
}


def stopped_state(job: Job):
    """Why a job has no next run, as a state; None when it has one."""
    if job.state != Job.State.ENABLED:
        return JOB_STATES[Job.State(job.state)]
    if job.collection.state != JobCollection.State.ENABLED:
        return COLLECTION_STATES[JobCollection.State(job.collection.state)]
    return None
