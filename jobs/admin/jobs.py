"""The list of jobs, and the actions on selected jobs."""

import re
from datetime import timedelta

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import F, OuterRef, Subquery
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.admin_permissions import ListingChangeList
from accounts.models import Role
from accounts.visibility import rows_visible_to
from api.errors import RequestError
from jobs import humanize
from jobs.action_text import action_in_words
from jobs.admin.errors import DomainErrorAdminMixin
from jobs.admin.job_actions import JobActionViews
from jobs.admin.job_form import JobFormPages
from jobs.admin.job_pages import ORDERED, JobPages
from jobs.admin.lists import CappedPaginator, hue_of
from jobs.badges import COLLECTION_STATES, JOB_STATES, count_outcomes, newest_runs, outcome_of
from jobs.credentials import expiry_state
from jobs.models import Job, JobCollection, Run
from jobs.pages.next_runs import next_run_row
from jobs.run_now import not_runnable_reason, run_now
from triggers.deletion import delete_job, delete_jobs
from triggers.descriptions import describe_triggers
from triggers.models import Trigger
from triggers.scheduling import set_job_state
from triggers.upcoming import next_runs

STRIP = 10  # outcomes shown for each job of a list
COLLECTIONS_LISTED = 50  # in the filter
KEY = re.compile(r"[0-9]{1,18}")  # digits that fit into an integer column


class CollectionFilter(admin.SimpleListFilter):
    title = "collection"
    parameter_name = "collection"

    def lookups(self, request, model_admin):
        collections = rows_visible_to(request.user, JobCollection.objects.order_by("name"))
        listed = dict(collections.values_list("pk", "name")[:COLLECTIONS_LISTED])
        chosen = self.value() or ""
        if KEY.fullmatch(chosen) and int(chosen) not in listed:
            listed |= dict(collections.filter(pk=chosen).values_list("pk", "name"))
        return [(str(key), name) for key, name in listed.items()]

    def queryset(self, request, queryset):
        chosen = self.value()
        return queryset.filter(collection=chosen) if chosen in dict(self.lookup_choices) else queryset


class FailedFilter(admin.SimpleListFilter):
    title = "failures"
    parameter_name = "failed"

    def lookups(self, request, model_admin):
        return [("1", "failed in 24 h"), ("7", "failed in 7 days")]

    def queryset(self, request, queryset):
        if self.value() not in ("1", "7"):
            return queryset
        since = timezone.now() - timedelta(days=int(self.value()))
        failed = Run.objects.without_error_actions().filter(
            state__in=(Run.State.FAILED, Run.State.LOST), fire_at__gte=since
        )
        return queryset.filter(pk__in=failed.values("job_id"))


class JobChangeList(ListingChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        jobs = list(self.result_list)
        ids = [job.pk for job in jobs]
        newest = newest_runs(ids, STRIP)
        expected = next_runs(ids, [trigger for job in jobs for trigger in job.triggers.all()], request.now)
        for job in jobs:
            job.now = request.now
            job.next = next_run_row(job, job.triggers.all(), expected.get(job.pk), request.now)
            job.newest = newest.get(job.pk, [])
        self.result_list = jobs


@admin.register(Job)
class JobAdmin(JobPages, JobActionViews, JobFormPages, DomainErrorAdminMixin):
    list_display = ("title", "schedule", "next_run", "last_result", "last_ten", "in_collection")
    list_display_links = None
    list_filter = (CollectionFilter, "state", FailedFilter)
    list_per_page = 25
    is_refreshed = True
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
            path("schedule/", site(self.schedule_view), name="jobs_job_schedule"),
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
            {"job": job, "action_words": action_in_words(job.action.document), "certificate": state},
        )

    @admin.display(description="Schedule")
    def schedule(self, job: Job) -> str:
        return describe_triggers(job.triggers.all())

    @admin.display(description="Next run", ordering="next_at")
    def next_run(self, job: Job) -> str:
        return render_to_string(
            "admin/jobs/job/_next_run.html",
            {"job": job, "next": job.next, "state": stopped_state(job), "now": job.now},
        )

    @admin.display(description="Last result")
    def last_result(self, job: Job) -> str:
        run = job.newest[-1] if job.newest else None
        if run is None:
            return format_html('<span class="faint">{}</span>', "no run yet")
        return render_to_string(
            "admin/jobs/job/_last_result.html", {"run": run, "outcome": outcome_of(run), "now": job.now}
        )

    @admin.display(description="Last ten runs")
    def last_ten(self, job: Job) -> str:
        outcomes = [outcome_of(run) for run in job.newest]
        return render_to_string(
            "admin/jobs/_history_bar.html", {"outcomes": outcomes, "label": count_outcomes(outcomes)}
        )

    @admin.display(description="Collection", ordering="collection__name")
    def in_collection(self, job: Job) -> str:
        return format_html(
            '<span class="tag"><span class="hue" data-hue="{}"></span>{}</span>',
            hue_of(job.collection_id),
            job.collection.name,
        )

    # actions on selected rows

    def has_operate_permission(self, request) -> bool:
        return self._may(request, Role.OPERATOR, None)

    @admin.action(description="Run now", permissions=["operate"])
    def run_ticked(self, request, queryset):
        return self._confirm_or_apply(request, queryset, "run_ticked", "Run", "run")

    @admin.action(description="Disable", permissions=["operate"])
    def disable_ticked(self, request, queryset):
        return self._confirm_or_apply(request, queryset, "disable_ticked", "Disable", Job.State.DISABLED)

    @admin.action(description="Enable", permissions=["operate"])
    def enable_ticked(self, request, queryset):
        return self._confirm_or_apply(request, queryset, "enable_ticked", "Enable", Job.State.ENABLED)

    def _confirm_or_apply(self, request, queryset, name: str, verb: str, action: str) -> HttpResponse | None:
        """Show a page that asks for confirmation; once confirmed, carry the action out and show what was refused."""
        jobs = list(queryset)
        if "confirmed" in request.POST:
            errors = [message for job in jobs if (message := self._apply(request, job, action))]
            done_count = len(jobs) - len(errors)
            if done_count:
                messages.success(request, f"{ORDERED[action]}: {humanize.format_count(done_count, 'job')}.")
            for message in errors[:5]:
                messages.error(request, capfirst(message))
            return None
        refusals = {job.pk: reason for job in jobs if (reason := self._refusal_reason(request, job, action))}
        accepted = [job for job in jobs if job.pk not in refusals]
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{verb} {f'{len(accepted)} of ' if refusals else ''}{humanize.format_count(len(jobs), 'job')}",
            "action": name,
            "verb": verb,
            "consequence": CONSEQUENCES[action],
            "jobs": [
                (job, describe_triggers(job.triggers.all()), JOB_STATES[Job.State(job.state)]) for job in accepted
            ],
            "refused": [(job, refusals[job.pk]) for job in jobs if job.pk in refusals],
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/jobs/job/confirm.html", context)

    def _refusal_reason(self, request, job: Job, action: str) -> str:
        """Return why the action would be refused for the job in its current state; empty if it would be accepted."""
        if not self.has_change_permission(request, job):
            return f"you do not have permission to change {job.name!r}"
        if action == "run":
            return not_runnable_reason(job)
        if job.collection.state == JobCollection.State.DELETED:
            return f"collection {job.collection.name!r} is being deleted"
        return f"job {job.name!r} is {job.state}, which is final" if job.is_final else ""

    def _apply(self, request, job: Job, action: str) -> str:
        """Carry the action out for one job and log it. Return why it was refused; empty if it was not."""
        if reason := self._refusal_reason(request, job, action):
            return reason
        try:
            if action == "run":
                run_now(job, timezone.now())
            else:
                set_job_state(job, action, timezone.now())
        except RequestError as error:
            return error.message
        self.log_change(request, job, ORDERED[action] + ".")
        return ""

    # Django's own pages

    def history_view(self, request, object_id, extra_context=None):
        job = self.find_visible(request, object_id)
        return super().history_view(request, str(job.pk), {"job": job, **(extra_context or {})})

    def delete_model(self, request, obj: Job) -> None:
        delete_job(obj, timezone.now())

    def delete_queryset(self, request, queryset) -> None:
        delete_jobs(queryset, timezone.now())


CONSEQUENCES = {
    "run": "Each job runs once, immediately. Its schedule does not change.",
    Job.State.DISABLED: "These jobs do not run until they are enabled again. Waiting runs do not start either.",
    Job.State.ENABLED: "Each job continues with its next run. Runs that it missed while disabled are not made up.",
}


def stopped_state(job: Job):
    """Return the badge of the state that stops a job, its own or its collection's; None if neither stops it."""
    if job.state != Job.State.ENABLED:
        return JOB_STATES[Job.State(job.state)]
    if job.collection.state != JobCollection.State.ENABLED:
        return COLLECTION_STATES[JobCollection.State(job.collection.state)]
    return None
