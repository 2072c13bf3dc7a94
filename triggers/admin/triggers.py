"""Triggers in the admin: a list across jobs, and the form of an additional trigger.

Changes made here are recorded in the history of the job.
"""

from dataclasses import replace
from datetime import datetime

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.admin_permissions import ListingChangeList, has_role
from accounts.visibility import rows_visible_to
from accounts.zones import zone_choices
from api.errors import RequestError
from jobs.admin.errors import DomainErrorAdminMixin
from jobs.admin.lists import CappedPaginator, badge
from jobs.models import Job, Process
from jobs.pages.jobs import trigger_row
from jobs.pages.next_runs import next_run_in_words
from recurrence.schedules import LAST_INSTANT
from recurrence.wire import WireError
from triggers import preview
from triggers.admin.fire_times import FireTimesView
from triggers.editor.views import editor_response
from triggers.gates import forecast
from triggers.mint.jobs import enable
from triggers.models import GROUP, MAIN, Trigger
from triggers.scheduling import change_trigger, delete_trigger
from triggers.trigger_form import FORMATS, TriggerForm

GROUPS_LISTED = 50  # groups that the filter offers


class FormatFilter(admin.SimpleListFilter):
    title = "format"
    parameter_name = "format"

    def lookups(self, request, model_admin):
        return list(FORMATS.items())

    def queryset(self, request, queryset):
        return queryset.filter(format=self.value()) if self.value() in FORMATS else queryset


class GroupFilter(admin.SimpleListFilter):
    title = "group"
    parameter_name = "group"

    def lookups(self, request, model_admin):
        groups = model_admin.get_queryset(request).order_by("group").values_list("group", flat=True).distinct()
        listed, chosen = list(groups[:GROUPS_LISTED]), self.value()
        if chosen is not None and chosen not in listed:
            listed += groups.filter(group=chosen)
        return [(group, group) for group in listed]

    def queryset(self, request, queryset):
        return queryset.filter(group=self.value()) if self.value() is not None else queryset


class EnabledFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "enabled"

    def lookups(self, request, model_admin):
        return [("yes", "enabled"), ("no", "disabled")]

    def queryset(self, request, queryset):
        return queryset.filter(enabled=self.value() == "yes") if self.value() in ("yes", "no") else queryset


class TriggerChangeList(ListingChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        served = Process.objects.served_queues(request.now)
        triggers = list(self.result_list)
        windows = forecast({trigger.job_id for trigger in triggers}, request.now, LAST_INSTANT, request.now)
        for trigger in triggers:
            trigger.row = trigger_row(trigger, trigger.job, served, windows.get(trigger.job_id, ()))
            trigger.row["may_change"] = self.model_admin.has_change_permission(request, trigger)
            trigger.row["now"] = request.now
        self.result_list = triggers


@admin.register(Trigger)
class TriggerAdmin(FireTimesView, DomainErrorAdminMixin):
    list_display = ("title", "in_job", "next_fire", "written_as", "in_group", "priority_text", "state")
    list_display_links = None
    list_filter = (FormatFilter, GroupFilter, EnabledFilter)
    list_per_page = 25
    is_refreshed = True
    list_select_related = ("job__collection",)
    search_fields = ("name", "job__name")
    search_help_text = "Name, or the job's"
    sortable_by = ()
    actions = None
    paginator = CappedPaginator
    show_full_result_count = False

    def subscription_of(self, obj: Trigger):
        return obj.job.collection.subscription_id

    def get_queryset(self, request):
        return super().get_queryset(request).select_related("job__collection")

    def get_ordering(self, request):
        return (F("next_fire_at").asc(nulls_last=True), "job__name", "name", "pk")

    def get_changelist(self, request, **kwargs):
        return TriggerChangeList

    def changelist_view(self, request, extra_context=None):
        request.now = timezone.now()
        return super().changelist_view(request, extra_context)

    def get_urls(self):
        site = self.admin_site.admin_view
        return [
            path("preview/", site(self.preview_view), name="triggers_trigger_preview"),
            path("schedule/", site(self.schedule_view), name="triggers_trigger_schedule"),
            path("<int:object_id>/state/", site(self.state_view), name="triggers_trigger_state"),
            path("<int:object_id>/fire-times/", site(self.fire_times_view), name="triggers_trigger_fire_times"),
            *super().get_urls(),
        ]

    # the list

    @admin.display(description="Trigger")
    def title(self, trigger: Trigger) -> str:
        return render_to_string("admin/triggers/trigger/_title.html", trigger.row)

    @admin.display(description="Job")
    def in_job(self, trigger: Trigger) -> str:
        address = reverse("admin:jobs_job_page", args=[trigger.job_id])
        job = trigger.job
        return format_html('<a href="{}">{}</a><span class="sub">{}</span>', address, job.name, job.collection.name)

    @admin.display(description="Next run")
    def next_fire(self, trigger: Trigger) -> str:
        return render_to_string("admin/triggers/trigger/_next.html", trigger.row)

    @admin.display(description="Format")
    def written_as(self, trigger: Trigger) -> str:
        return trigger.row["format"]

    @admin.display(description="Group")
    def in_group(self, trigger: Trigger) -> str:
        return render_to_string("admin/triggers/trigger/_group.html", trigger.row)

    @admin.display(description="Priority")
    def priority_text(self, trigger: Trigger) -> int:
        return trigger.priority

    @admin.display(description="State")
    def state(self, trigger: Trigger) -> str:
        return badge(trigger.row["state"])

    # the form

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        job, trigger = self._job_and_trigger(request, object_id)
        if trigger and trigger.name == MAIN:
            return HttpResponseRedirect(reverse("admin:jobs_job_change", args=[job.pk]))
        if job.is_final:
            messages.error(request, f"{job.name} is {job.state}. It cannot be changed, only deleted.")
            return _redirect_to_job(job)
        now = timezone.now()
        form = TriggerForm(request.POST or None, job=job, trigger=trigger, now=now, tab=request.GET.get("tab"))
        if request.method == "POST":
            is_valid = form.is_valid()
            if edited := form.after_button(request.POST):
                form = edited
            elif is_valid and "_preview" not in request.POST:
                response = self._save(request, form, now)
                if response is not None:
                    return response
        served = Process.objects.served_queues(now)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "form": form,
            "job": job,
            "trigger": trigger,
            "title": f"Trigger {trigger.name}" if trigger else "New trigger",
            "starts_at": trigger_row(trigger, job, served)["starts_at"] if trigger else None,
            "editor_url": _editor_url(job, trigger),
            "zones": [zone for zone, _ in zone_choices()],
            "groups": sorted({GROUP, *served}),
            "preview": preview.preview_form(form, now, served),
            "now": now,
        }
        return TemplateResponse(request, "admin/triggers/trigger/form.html", context)

    def _job_and_trigger(self, request, object_id: str | None) -> tuple[Job, Trigger | None]:
        """Return the job and the trigger; the trigger is None for a new one.

        Raises PermissionDenied for users who may only read the job.
        """
        trigger = self._trigger(request, object_id)
        job = trigger.job if trigger else self._job(request)
        if not has_role(request.user, self.write_role, job.collection.subscription_id):
            raise PermissionDenied
        return job, trigger

    def _trigger(self, request, object_id: str | None) -> Trigger | None:
        return None if object_id is None else self.find_visible(request, object_id)

    def _job(self, request) -> Job:
        """Return the job that the address of a new trigger names."""
        jobs = rows_visible_to(request.user, Job.objects.select_related("collection"))
        return self.find_visible(request, request.GET.get("job"), jobs)

    def _save(self, request, form: TriggerForm, now: datetime) -> HttpResponse | None:
        """Save and redirect to the job's page; None when the core refused the input, which the form then shows."""
        try:
            trigger, created = form.save(now)
        except (WireError, RequestError) as error:
            form.show_error(error)
            return None
        entry = {"name": "trigger", "object": trigger.name}
        fields = [str(form.fields[name].label or name) for name in form.changed_data]
        self.log_change(
            request, trigger.job, [{"added": entry}] if created else [{"changed": {**entry, "fields": fields}}]
        )
        messages.success(request, f"Saved. {next_run_in_words(Job.objects.get(pk=trigger.job_id), now)}")
        return _redirect_to_job(trigger.job)

    def preview_view(self, request) -> HttpResponse:
        """Show the preview of the schedule in the posted form.  The page requests it while the user types."""
        form = self._posted_form(request)
        schedule_preview = preview.preview_form(form, form.now, Process.objects.served_queues(form.now))
        context = {
            "preview": schedule_preview,
            "now": form.now,
            "editor_url": _editor_url(form.job, form.trigger),
            "has_offers": True,
        }
        return TemplateResponse(request, "admin/jobs/job/_preview.html", context)

    def schedule_view(self, request) -> HttpResponse:
        """Render the schedule editor after a tab, a correction or a pasted text has changed it."""
        form = self._posted_form(request)
        return editor_response(request, form, _editor_url(form.job, form.trigger))

    def _posted_form(self, request) -> TriggerForm:
        if request.method != "POST":
            raise Http404
        job, trigger = self._job_and_trigger(request, request.GET.get("trigger"))
        form = TriggerForm(request.POST, job=job, trigger=trigger, now=timezone.now())
        form.is_valid()
        return form

    # actions

    def state_view(self, request, object_id: int) -> HttpResponse:
        trigger = self.find_changeable(request, object_id)
        enabled = request.POST.get("enabled")
        if request.method == "POST" and enabled in ("yes", "no"):
            self._set_enabled(request, trigger, enabled == "yes")
        return _redirect_to_job(trigger.job)

    def _set_enabled(self, request, trigger: Trigger, is_enabled: bool) -> None:
        now = timezone.now()
        try:
            if is_enabled:
                trigger = enable(trigger, now)
            else:
                trigger = change_trigger(trigger, lambda stored: replace(stored, enabled=False), now)
        except (WireError, RequestError) as error:
            messages.error(request, capfirst(error.message))
            return
        except Trigger.DoesNotExist:
            raise Http404 from None
        done = "Enabled" if is_enabled else "Disabled"
        self.log_change(request, trigger.job, f"{done} trigger “{trigger.name}”.")
        next_run = f" {next_run_in_words(Job.objects.get(pk=trigger.job_id), now)}" if is_enabled else ""
        messages.success(request, f"{done}: {trigger.name}.{next_run}")

    # Django's own pages

    def history_view(self, request, object_id, extra_context=None):
        trigger = self._trigger(request, object_id)
        assert trigger is not None
        return HttpResponseRedirect(reverse("admin:jobs_job_history", args=[trigger.job_id]))

    def delete_view(self, request, object_id, extra_context=None):
        trigger = self._trigger(request, object_id)
        if trigger and trigger.name == MAIN:
            return HttpResponseRedirect(reverse("admin:jobs_job_change", args=[trigger.job_id]))
        return super().delete_view(request, object_id, extra_context)

    def log_deletions(self, request, queryset):
        for trigger in queryset:
            self.log_change(request, trigger.job, [{"deleted": {"name": "trigger", "object": trigger.name}}])

    def delete_model(self, request, obj: Trigger) -> None:
        request.job = obj.job
        delete_trigger(obj, timezone.now())

    def response_delete(self, request, obj_display, obj_id) -> HttpResponse:
        messages.success(request, f"Deleted: {obj_display}.")
        return _redirect_to_job(request.job)


def _editor_url(job: Job, trigger: Trigger | None) -> str:
    named = f"trigger={trigger.pk}" if trigger else f"job={job.pk}"
    return f"{reverse('admin:triggers_trigger_schedule')}?{named}&"


def _redirect_to_job(job: Job) -> HttpResponse:
    return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))
