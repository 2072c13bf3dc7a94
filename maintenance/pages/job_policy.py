"""The maintenance policy of a job: a card on its page in the admin, and a form."""

from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from accounts.models import Role
from accounts.visibility import get_row_or_404
from jobs import humanize
from jobs.models import Job
from maintenance import holds
from maintenance.errors import MaintenanceError
from maintenance.models import JobMaintenancePolicy, Resource
from maintenance.pages.forms import PICKED_MOST, PolicyForm, refuse
from maintenance.pages.presenters import truncate_names

NAMED = 6  # resources and labels that the card shows at most
PHASE_WORDS = {
    "announce": "announced",
    "start": "started",
    "complete": "completed",
    "cancel": "cancelled",
}


def policy_card(job: Job) -> dict[str, Any]:
    """Return what the job's page shows of the policy.  In English, as all of the admin."""
    policy = JobMaintenancePolicy.objects.filter(job=job).first() or JobMaintenancePolicy(job=job)
    names = [*policy.resource_names, *(f"{name}={value}" for name, value in sorted(policy.labels.items()))]
    sentences = []
    if policy.on_notice == JobMaintenancePolicy.OnNotice.HOLD:
        lead = f", from {humanize.format_duration(policy.lead_time)} before it" if policy.lead_time else ""
        then = "runs once after it" if policy.on_end == JobMaintenancePolicy.OnEnd.RUN_ONCE else "skips them"
        sentences.append(f"holds planned runs during maintenance{lead}, and {then}")
    if policy.run_at_phases:
        sentences.append(
            f"runs once when maintenance is {' and '.join(PHASE_WORDS[phase] for phase in policy.run_at_phases)}"
        )
    return {
        "named": truncate_names(names, NAMED),
        "does": [f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences],
        "url": reverse("maintenance:job-policy", args=[job.pk]),
    }


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit_policy(request, job_id: int) -> HttpResponse:
    job = get_row_or_404(request.user, Job.objects.select_related("collection"), Role.OPERATOR, pk=job_id)
    stored = JobMaintenancePolicy.objects.filter(job=job).first() or JobMaintenancePolicy(
        job=job, lead_time=timedelta(0)
    )
    resources = Resource.objects.filter(subscription=job.collection.subscription_id).order_by("name")
    names = list(resources.values_list("name", flat=True)[: PICKED_MOST + 1])
    form = PolicyForm(request.POST or None, policy=stored, names=names[:PICKED_MOST])
    back = reverse("admin:jobs_job_page", args=[job.pk])
    if request.method == "POST" and form.is_valid():
        try:
            holds.set_policy(job, form.policy_input(), timezone.now())
        except MaintenanceError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Saved."))
            return redirect(back)
    context = {
        "title": gettext("Maintenance policy of %(job)s") % {"job": job.name},
        "form": form,
        "choices": [form["during"], form["after"], form["run_on"]],
        "is_cut": len(names) > PICKED_MOST,
        "most": PICKED_MOST,
        "back": back,
    }
    return render(request, "maintenance/job_policy.html", context)


urlpatterns = [path("jobs/<int:job_id>", edit_policy, name="job-policy")]
