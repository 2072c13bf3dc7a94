"""What a job does about maintenance: said on its page, and written in a form."""

from collections.abc import Callable
from datetime import datetime, timedelta
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
from jobs import words
from jobs.models import Job
from maintenance import heeding
from maintenance.errors import MaintenanceError
from maintenance.models import Heed, Resource
from maintenance.pages.forms import PICKED_MOST, HeedForm, refuse
from maintenance.pages.rights import require
from maintenance.pages.rows import and_more
from recurrence.schedules import LAST_INSTANT

NAMED = 6  # resources and labels in one line
ON = {
    "announce": "announced",
    "start": "started",
    "complete": "completed",
    "cancel": "cancelled",
}


def heed_card(job: Job) -> dict[str, Any]:
    """What the job's page says of it, in English as all of the administration."""
    heed = Heed.objects.filter(job=job).first() or Heed(job=job)
    named = [*heed.resource_names, *(f"{name}={value}" for name, value in sorted(heed.labels.items()))]
    does = []
    if heed.during == Heed.During.HOLD:
        lead = f", from {words.span(heed.lead)} before it" if heed.lead else ""
        then = "run once after it" if heed.after == Heed.After.RUN_ONCE else "do not run at all"
        does.append(f"planned runs are held while it lasts{lead}, and {then}")
    if heed.run_on:
        does.append(f"runs once when it is {' and '.join(ON[step] for step in heed.run_on)}")
    return {
        "named": and_more(named, NAMED),
        "does": [f"{said[:1].upper()}{said[1:]}." for said in does],
        "url": reverse("maintenance:heed", args=[job.pk]),
    }


def held_fires(job: Job, now: datetime) -> Callable[[datetime], str]:
    """Says of a planned fire time of the job why it will be held; nothing of one that runs."""
    spells = heeding.forecast([job.pk], now, LAST_INSTANT, now).get(job.pk, [])

    def why(fire: datetime) -> str:
        return next((spell.reason for spell in spells if spell.covers(fire)), "")

    return why


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def heed(request, job_id: int) -> HttpResponse:
    job = require(request.user, Job.objects.select_related("collection"), Role.OPERATOR, pk=job_id)
    stored = Heed.objects.filter(job=job).first() or Heed(job=job, lead=timedelta(0))
    resources = Resource.objects.filter(subscription=job.collection.subscription_id).order_by("name")
    names = list(resources.values_list("name", flat=True)[: PICKED_MOST + 1])
    form = HeedForm(request.POST or None, heed=stored, names=names[:PICKED_MOST])
    back = reverse("admin:jobs_job_page", args=[job.pk]) if request.user.is_staff else reverse("maintenance:page")
    if request.method == "POST" and form.is_valid():
        try:
            heeding.heed(job, form.wish(), timezone.now())
        except MaintenanceError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Saved."))
            return redirect(back)
    context = {
        "title": gettext("Maintenance and %(job)s") % {"job": job.name},
        "form": form,
        "choices": [form["during"], form["after"], form["run_on"]],
        "is_cut": len(names) > PICKED_MOST,
        "most": PICKED_MOST,
        "back": back,
    }
    return render(request, "maintenance/heed.html", context)


urlpatterns = [path("jobs/<int:job_id>", heed, name="heed")]
