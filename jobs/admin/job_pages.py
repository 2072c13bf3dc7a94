"""The pages of one job, and the actions of users on them."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst

from api.errors import RequestError
from jobs.action_text import written
from jobs.admin.lists import hue_of
from jobs.models import Job, Run
from jobs.pages.jobs import job_page
from jobs.run_now import run_now
from maintenance.pages.job_policy import policy_card
from triggers.definitions import document_of, main_trigger

ORDERED = {"run": "Run queued", Job.State.DISABLED: "Disabled", Job.State.ENABLED: "Enabled"}


class JobPages:
    """Views of the admin that show one job."""

    def page_view(self, request, object_id: int) -> HttpResponse:
        job = self.find_visible(request, object_id)
        before, now = request.GET.get("before", ""), timezone.now()
        page = job_page(job, now, _find_run(job, before))
        context = {**self._page_context(request, job), **page}
        return TemplateResponse(request, "admin/jobs/job/page.html", {**context, "tab": "runs"})

    def document_view(self, request, object_id: int) -> HttpResponse:
        """Show the job as a JSON document that PUT of /api/jobs accepts unchanged."""
        job = self.find_visible(request, object_id)
        document = written(job_document(job))
        now = timezone.now()
        page = job_page(job, now)
        context = {**self._page_context(request, job), **page, "document": document}
        return TemplateResponse(request, "admin/jobs/job/page.html", {**context, "tab": "document"})

    def _page_context(self, request, job: Job) -> dict:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": job.name,
            "may_change": self.has_change_permission(request, job),
            "may_order": self.has_change_permission(request, job) and not job.is_final,
            "hue": hue_of(job.collection_id),
            "maintenance_policy": policy_card(job),
        }

    def run_view(self, request, object_id: int) -> HttpResponse:
        job = self.find_changeable(request, object_id)
        if request.method != "POST":
            return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))
        try:
            run = run_now(job, timezone.now())
        except RequestError as error:
            messages.error(request, capfirst(error.message))
            return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))
        self.log_change(request, job, ORDERED["run"] + ".")
        return HttpResponseRedirect(reverse("admin:jobs_run_change", args=[run.pk]))

    def state_view(self, request, object_id: int) -> HttpResponse:
        job = self.find_changeable(request, object_id)
        state = request.POST.get("state")
        if request.method == "POST" and state in (Job.State.ENABLED, Job.State.DISABLED):
            if reason := self._apply(request, job, state):
                messages.error(request, capfirst(reason))
            else:
                messages.success(request, f"{ORDERED[state]}: {job.name}.")
        return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))


def job_document(job: Job) -> dict[str, Any]:
    main = main_trigger(job)
    own = {"misfire": main.misfire} if main else {"ownSchedule": False}
    return {"name": job.name, **document_of(job), **own, "overlap": job.overlap, "delivery": job.delivery}


def _find_run(job: Job, run_id: str) -> Run | None:
    try:
        return job.runs.filter(pk=run_id).first() if run_id else None
    except ValidationError:
        return None
