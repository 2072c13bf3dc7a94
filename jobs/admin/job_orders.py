"""Signing secrets and tests of a job: both are ordered on a page of their own, which shows what came of it at once."""

from datetime import timedelta

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.text import capfirst

from jobs.credentials import can_sign, signing_secrets
from jobs.descriptions import action_in_words
from jobs.errors import JobError
from jobs.models import Job
from jobs.pages.exchanges import rehearsal_page
from jobs.rehearsal import LIMIT_S, REHEARSALS, Part, has, rehearse
from jobs.signing import new_secret, remove_secrets

OVERLAPS = {
    0: "stops signing at once",
    3_600: "signs for another hour",
    86_400: "signs for another 24 h",
    604_800: "signs for another 7 days",
}


class NewSecretForm(forms.Form):
    overlap = forms.TypedChoiceField(label="The one before", choices=list(OVERLAPS.items()), coerce=int, initial=86_400)


class PartForm(forms.Form):
    part = forms.ChoiceField(choices=Part.choices)


class JobOrders:
    """What the admin of jobs offers operators besides changing one."""

    def signing_view(self, request, object_id: int) -> HttpResponse:
        job = self.changeable(request, object_id)
        try:
            return self._signing(request, job)
        except JobError as error:
            messages.error(request, capfirst(error.message))
            return HttpResponseRedirect(reverse("admin:jobs_job_signing", args=[job.pk]))

    def _signing(self, request, job: Job) -> HttpResponse:
        """Whether requests are signed.  A new secret is shown in the answer to the order, and nowhere else."""
        now = timezone.now()
        if request.method == "POST" and request.POST.get("order") == "remove":
            return self._stop_signing(request, job)
        form = NewSecretForm(request.POST or None)
        secret = ""
        if request.method == "POST" and form.is_valid():
            secret = new_secret(job, timedelta(seconds=form.cleaned_data["overlap"]), now)
            self.log_change(request, job, "Made a signing secret.")
            form = NewSecretForm()
        context = {
            **self._page_context(request, job),
            "job": job,
            "now": now,
            "title": f"Signed requests of {job.name}",
            "form": form,
            "secret": secret,
            "signing": signing_secrets(job, now),
            "can_sign": can_sign(job.action.document),
        }
        response = TemplateResponse(request, "admin/jobs/job/signing.html", context)
        add_never_cache_headers(response)
        return response

    def _stop_signing(self, request, job: Job) -> HttpResponse:
        remove_secrets(job)
        self.log_change(request, job, "Removed the signing secrets.")
        messages.success(request, "Requests are not signed any more.")
        return HttpResponseRedirect(reverse("admin:jobs_job_signing", args=[job.pk]))

    def test_view(self, request, object_id: int) -> HttpResponse:
        """Ask first; then call, and show what was sent and what came back."""
        job = self.changeable(request, object_id)
        form = PartForm(request.POST or None)
        context = {
            **self._page_context(request, job),
            "job": job,
            "title": f"Test of {job.name}",
            "does": action_in_words(job.action.document),
            "error_action": action_in_words(job.action.document.get("errorAction") or {}),
            "limit_s": int(LIMIT_S),
            **self._tested(request, job, form),
        }
        status = 429 if "wait_s" in context else 200
        response = TemplateResponse(request, "admin/jobs/job/test.html", context, status=status)
        add_never_cache_headers(response)
        return response

    def _tested(self, request, job: Job, form: PartForm) -> dict:
        """What the test that was ordered, if one was, has led to."""
        if request.method != "POST" or not form.is_valid() or not has(job, Part(form.cleaned_data["part"])):
            return {}
        now, part = timezone.now(), Part(form.cleaned_data["part"])
        if REHEARSALS.count(f"user {request.user.pk}", now) > REHEARSALS.most:
            return {"wait_s": int(REHEARSALS.wait_s(now)) + 1, "most": REHEARSALS.most}
        rehearsal = rehearse(job, part, now)
        ended = "succeeded" if rehearsal.outcome.succeeded else "failed"
        self.log_change(request, job, f"Tested the {part.label}: it {ended}.")
        return {"tested": rehearsal_page(rehearsal, part, now)}
