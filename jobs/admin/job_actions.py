"""Signing secrets and test calls of a job. Each has a page of its own, which shows the result at once."""

from datetime import timedelta

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.text import capfirst

from api.errors import RequestError
from jobs.action_text import action_in_words
from jobs.call_test import CALL_TESTS, LIMIT_S, RUNNING_TESTS, Part, has_part, run_call_test
from jobs.credentials import can_sign, signing_secrets
from jobs.models import Job
from jobs.pages.http_transcript import test_result_context
from jobs.signing import new_secret, remove_secrets

OVERLAPS = {
    0: "stops immediately",
    3_600: "active for another hour",
    86_400: "active for another 24 h",
    604_800: "active for another 7 days",
}


class NewSecretForm(forms.Form):
    overlap = forms.TypedChoiceField(
        label="Previous secret", choices=list(OVERLAPS.items()), coerce=int, initial=86_400
    )


class PartForm(forms.Form):
    part = forms.ChoiceField(choices=Part.choices)


class JobActionViews:
    """Views of the admin that let operators make signing secrets for a job and test it."""

    def signing_view(self, request, object_id: int) -> HttpResponse:
        job = self.find_changeable(request, object_id)
        try:
            return self._signing_page(request, job)
        except RequestError as error:
            messages.error(request, capfirst(error.message))
            return HttpResponseRedirect(reverse("admin:jobs_job_signing", args=[job.pk]))

    def _signing_page(self, request, job: Job) -> HttpResponse:
        """Show the signing secrets, and make or remove them on a POST.

        A new secret is shown only in the response to the POST that made it.
        """
        now = timezone.now()
        if request.method == "POST" and request.POST.get("order") == "remove":
            return self._stop_signing(request, job)
        form = NewSecretForm(request.POST or None)
        secret = ""
        if request.method == "POST" and form.is_valid():
            secret = new_secret(job, timedelta(seconds=form.cleaned_data["overlap"]), now)
            self.log_change(request, job, "Created a signing secret.")
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
        messages.success(request, "Requests are no longer signed.")
        return HttpResponseRedirect(reverse("admin:jobs_job_signing", args=[job.pk]))

    def test_view(self, request, object_id: int) -> HttpResponse:
        """Ask for confirmation on a GET. Make the test call on a POST, and show the request and the response."""
        job = self.find_changeable(request, object_id)
        form = PartForm(request.POST or None)
        context = {
            **self._page_context(request, job),
            "job": job,
            "title": f"Test of {job.name}",
            "action_words": action_in_words(job.action.document),
            "error_action": action_in_words(job.action.document.get("errorAction") or {}),
            "limit_s": int(LIMIT_S),
            **self._test_context(request, job, form),
        }
        status = 429 if context.keys() & {"wait_s", "is_busy"} else 200
        response = TemplateResponse(request, "admin/jobs/job/test.html", context, status=status)
        add_never_cache_headers(response)
        return response

    def _test_context(self, request, job: Job, form: PartForm) -> dict:
        """Run the test that was posted, if any, and return its result for the template."""
        if request.method != "POST" or not form.is_valid() or not has_part(job, Part(form.cleaned_data["part"])):
            return {}
        with RUNNING_TESTS.hold(request.user.pk) as is_only_one:
            return self._run_test(request, job, Part(form.cleaned_data["part"])) if is_only_one else {"is_busy": True}

    def _run_test(self, request, job: Job, part: Part) -> dict:
        now = timezone.now()
        if CALL_TESTS.count(f"user {request.user.pk}", now) > CALL_TESTS.most:
            return {"wait_s": int(CALL_TESTS.retry_after_s(now)) + 1, "most": CALL_TESTS.most}
        result = run_call_test(job, part, now)
        ended = "succeeded" if result.result.succeeded else "failed"
        self.log_change(request, job, f"Tested the {part.label}: it {ended}.")
        return {"tested": test_result_context(result, part, now)}
