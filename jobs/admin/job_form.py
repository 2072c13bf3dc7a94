"""The form of a job, and the preview next to it."""

from datetime import datetime

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from accounts.models import Role
from accounts.visibility import rows_visible_to
from accounts.zones import zone_choices
from api.errors import RequestError
from jobs.credentials import certificate_row
from jobs.forms.fields import FIELDS, JSON
from jobs.models import Job, JobCollection
from jobs.pages.jobs import warning_rows
from jobs.pages.next_runs import next_run_in_words
from jobs.pages.schedule_preview import preview_job_form
from recurrence.wire import WireError
from triggers.editor.views import editor_response
from triggers.forms import JobForm

SWITCHES = {f"what:{mode}": mode for mode in (FIELDS, JSON)}


class JobFormPages:
    """Views of the admin that create and edit jobs."""

    @method_decorator(sensitive_post_parameters())
    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        job = self.find_changeable(request, object_id) if object_id else None
        if job is None and not self.has_add_permission(request):
            raise PermissionDenied
        if job and job.is_final:
            messages.error(request, f"{job.name} is {job.state}. It cannot be changed, only deleted.")
            return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))
        now = timezone.now()
        form = JobForm(
            request.POST or None,
            request.FILES or None,
            job=job,
            collections=self._writable(request),
            now=now,
            tab=request.GET.get("tab"),
            initial=_initial_values(request),
        )
        if request.method == "POST":
            switch = request.POST.get("_switch", "")
            is_valid = form.is_valid()
            edited = form.after_button(request.POST)
            if edited or switch:
                form = edited or (form.switch_mode(SWITCHES[switch]) if is_valid and switch in SWITCHES else form)
            elif is_valid and "_preview" not in request.POST:
                response = self._save(request, form, now)
                if response is not None:
                    return response
        form.add_secret_dates(now)
        form.add_unicode_hosts()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "form": form,
            "lost_secrets": form.lost_secrets or form.unshown_secrets,
            "certificate": certificate_row(form.stored_authentication, now),
            "job": job,
            "needs_collection": job is None and not form.fields["collection"].queryset.exists(),
            "job_warnings": warning_rows(job, now) if job else [],
            "title": f"Edit {job.name}" if job else "New job",
            "zones": [zone for zone, _ in zone_choices()],
            "what_mode": form.what_mode,
            **self._preview_context(form, now),
        }
        return TemplateResponse(request, "admin/jobs/job/form.html", context)

    def _save(self, request, form: JobForm, now: datetime) -> HttpResponse | None:
        """Save and redirect to the job's page. Return None if saving was refused; the form then shows the errors."""
        try:
            job, created = form.save(now)
        except (WireError, RequestError) as error:
            form.show_error(error)
            return None
        change = self.construct_change_message(request, form, [], created)
        (self.log_addition if created else self.log_change)(request, job, change)
        next_run = next_run_in_words(job, now)
        messages.success(
            request, f"Saved. It runs once immediately. {next_run}" if form.runs_now else f"Saved. {next_run}"
        )
        return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))

    def _writable(self, request):
        collections = JobCollection.objects.select_related("subscription").order_by("name")
        return rows_visible_to(request.user, collections, Role.OPERATOR)

    def preview_view(self, request) -> HttpResponse:
        """Render the preview of the schedule in the posted form. The page requests it while the user types."""
        form = self._posted_form(request)
        context = {**self._preview_context(form, form.now), "has_offers": True}
        return TemplateResponse(request, "admin/jobs/job/_preview.html", context)

    def schedule_view(self, request) -> HttpResponse:
        """Render the schedule editor after a tab, a correction or a pasted text has changed it."""
        form = self._posted_form(request)
        return editor_response(request, form, _editor_url(form.job))

    def _posted_form(self, request) -> JobForm:
        if request.method != "POST":
            raise Http404
        job = self.find_changeable(request, request.GET["job"]) if "job" in request.GET else None
        if job is None and not self.has_add_permission(request):
            raise PermissionDenied
        form = JobForm(request.POST, job=job, collections=self._writable(request), now=timezone.now())
        form.is_valid()
        return form

    def _preview_context(self, form: JobForm, now: datetime) -> dict:
        return {"preview": preview_job_form(form, now), "now": now, "editor_url": _editor_url(form.job)}


def _editor_url(job: Job | None) -> str:
    return f"{reverse('admin:jobs_job_schedule')}?{f'job={job.pk}&' if job else ''}"


def _initial_values(request) -> dict:
    """Return the initial values that the query of a new form names."""
    collection = request.GET.get("collection", "")
    return {"collection": collection} if collection.isdecimal() else {}
