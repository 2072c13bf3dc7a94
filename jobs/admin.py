"""Collections, jobs with their schedule and action, and runs, in the admin.

Rules are the cores': a page asks `triggers.scheduling` and `run_now`, and shows what they refuse.  Superusers see
everything; other staff see what their subscriptions hold and change it where they are operators.
"""

from datetime import datetime, timedelta

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, F, FilteredRelation, Q
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.models import Role, Subscription
from accounts.staff import TenantAdmin, may
from jobs import views, words
from jobs.cancel import cancel
from jobs.descriptions import ORIGINS, action_in_words, written
from jobs.errors import JobError
from jobs.models import Job, JobCollection, Run
from jobs.notations import FIELDS, JSON
from jobs.outcomes import COLLECTION_STATES, JOB_STATES, counted, newest_runs, outcome_of
from jobs.run_now import run_now
from recurrence.wire import WireError
from triggers.forms import JobForm
from triggers.outlook import in_words
from triggers.scheduling import (
    delete_collection,
    delete_job,
    document_of,
    save_collection,
    set_job_state,
)

STRIP = 10  # outcomes shown for each job of a list
COUNT_LIMIT = 10_000  # rows that a list counts; beyond it the total reads "and more"
HUES = ("sky", "clay", "moss", "plum", "sea", "straw", "iris", "brick")


class CappedPaginator(Paginator):
    """Counts no further than COUNT_LIMIT, so that the first page of a million rows costs what a page costs."""

    @cached_property
    def count(self) -> int:
        return min(self._counted, COUNT_LIMIT)

    @property
    def is_capped(self) -> bool:
        return self._counted > COUNT_LIMIT

    @cached_property
    def _counted(self) -> int:
        return self.object_list.order_by()[: COUNT_LIMIT + 1].count()


def hue_of(collection_id: int) -> str:
    return HUES[collection_id % len(HUES)]


def badge(outcome) -> str:
    return format_html(
        '<span class="badge" data-state="{}"><svg class="mark" aria-hidden="true"><use href="#m-{}"/></svg>{}</span>',
        outcome.state,
        outcome.mark,
        outcome.word,
    )


# Collections


class TagsField(forms.JSONField):
    def prepare_value(self, value):
        return "" if value is None else super().prepare_value(value)


class CollectionForm(forms.ModelForm):
    refusal: JobError | None = None  # of the cores, when they have already refused what is written here
    subscription = forms.ModelChoiceField(Subscription.objects.none(), empty_label=None)
    tags = TagsField(
        required=False,
        help_text='A JSON object of texts, such as {"team": "data"}.',
        widget=forms.Textarea(attrs={"class": "code", "rows": 2, "spellcheck": "false"}),
    )

    class Meta:
        model = JobCollection
        fields = (
            "subscription",
            "resource_group",
            "name",
            "state",
            "sku",
            "location",
            "tags",
            "max_job_count",
            "max_recurrence_frequency",
            "max_recurrence_interval",
        )
        labels = {
            "sku": "Plan",
            "max_job_count": "Most jobs",
            "max_recurrence_interval": "Fastest recurrence, number",
            "max_recurrence_frequency": "Fastest recurrence, unit",
        }
        help_texts = {
            "resource_group": "Part of its address on the resource manager's API.",
            "sku": "Free: 5 jobs, hourly at most. Standard and P10Premium: 50. P20Premium: 1,000.",
            "state": "Nothing in it runs unless it is enabled; its jobs keep their own states.",
        }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        state = self.fields.get("state")
        if state:
            state.choices = [choice for choice in JobCollection.State.choices if choice[0] != "deleted"]

    def clean_tags(self):
        tags = self.cleaned_data["tags"]
        if tags is not None and not (isinstance(tags, dict) and all(isinstance(text, str) for text in tags.values())):
            raise ValidationError('Write an object of texts, such as {"team": "data"}')
        return tags

    def clean(self):
        super().clean()
        if self.refusal is not None:
            place = {"properties.sku.name": "sku"}.get(self.refusal.path or "", self.refusal.path)
            self.add_error(place if place in self.fields else None, capfirst(self.refusal.message))


@admin.register(JobCollection)
class JobCollectionAdmin(TenantAdmin):
    form = CollectionForm
    list_display = ("title", "shown_state", "sku", "job_count", "place")
    list_display_links = None
    list_filter = ("state", "sku")
    search_fields = ("name", "resource_group")
    search_help_text = "Name or resource group"
    ordering = ("name",)
    list_select_related = ("subscription",)
    paginator = CappedPaginator
    show_full_result_count = False
    fieldsets = (
        (None, {"fields": ("name", "subscription", "resource_group", "state", "location", "tags")}),
        (
            "Plan and quota",
            {"fields": ("sku", "max_job_count", "max_recurrence_frequency", "max_recurrence_interval")},
        ),
    )

    def subscription_of(self, obj: JobCollection):
        return obj.subscription_id

    def get_queryset(self, request):
        return super().get_queryset(request).annotate(jobs_in=Count("jobs"))

    def get_readonly_fields(self, request, obj=None):
        return ("subscription", "resource_group", "name") if obj else ()

    def get_form(self, request, obj=None, change=False, **kwargs):
        form = super().get_form(request, obj, change, **kwargs)
        if "subscription" in form.base_fields:
            subscriptions = Subscription.objects.order_by("name")
            if not request.user.is_superuser:
                subscriptions = subscriptions.visible_to(request.user, self.write_role)
            form.base_fields["subscription"].queryset = subscriptions
        form.refusal = getattr(request, "refusal", None)
        return form

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None):
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except JobError as error:
            request.refusal = error
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(self, request, obj, form, change) -> None:
        save_collection(obj, timezone.now())

    def delete_model(self, request, obj) -> None:
        delete_collection(obj, timezone.now())

    def delete_queryset(self, request, queryset) -> None:
        for collection in queryset:
            delete_collection(collection, timezone.now())

    @admin.display(description="Collection", ordering="name")
    def title(self, collection: JobCollection) -> str:
        return format_html(
            '<a class="title" href="{}"><span class="hue" data-hue="{}"></span> {}</a>',
            reverse("admin:jobs_jobcollection_change", args=[collection.pk]),
            hue_of(collection.pk),
            collection.name,
        )

    @admin.display(description="State", ordering="state")
    def shown_state(self, collection: JobCollection) -> str:
        return badge(COLLECTION_STATES[JobCollection.State(collection.state)])

    @admin.display(description="Jobs", ordering="jobs_in")
    def job_count(self, collection) -> str:
        address = reverse("admin:jobs_job_changelist")
        return format_html(
            '<a href="{}?collection={}">{}</a>', address, collection.pk, words.count(collection.jobs_in, "job")
        )

    @admin.display(description="Belongs to")
    def place(self, collection: JobCollection) -> str:
        return format_html('{}<span class="sub">{}</span>', collection.subscription.name, collection.resource_group)


# Jobs


class CollectionFilter(admin.SimpleListFilter):
    title = "collection"
    parameter_name = "collection"

    def lookups(self, request, model_admin):
        collections = JobCollection.objects.order_by("name")
        if not request.user.is_superuser:
            collections = collections.visible_to(request.user)
        return list(collections.values_list("pk", "name")[:50])

    def queryset(self, request, queryset):
        return queryset.filter(collection=int(self.value())) if (self.value() or "").isdecimal() else queryset


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
class JobAdmin(TenantAdmin):
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
        first = FilteredRelation("triggers", condition=Q(triggers__name="default"))
        return rows.annotate(first=first).annotate(next_at=F("first__next_fire_at"))

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
            path("<int:object_id>/state/", site(self.state_view), name="jobs_job_state"),
            *super().get_urls(),
        ]

    # the list

    @admin.display(description="Job", ordering="name")
    def title(self, job: Job) -> str:
        return format_html(
            '<a class="title" href="{}">{}</a><span class="sub">{}</span>',
            reverse("admin:jobs_job_page", args=[job.pk]),
            job.name,
            action_in_words(job.action.document),
        )

    @admin.display(description="Schedule")
    def schedule(self, job: Job) -> str:
        return "; ".join(in_words(trigger) for trigger in job.triggers.all())

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
            "jobs": [(job, in_words(job.triggers.all()[0]), JOB_STATES[Job.State(job.state)]) for job in jobs],
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

    # a job's own page and its orders

    def _visible(self, request, object_id) -> Job:
        job = self.get_queryset(request).filter(pk=object_id).first()
        if job is None:
            raise Http404
        return job

    def _changeable(self, request, object_id) -> Job:
        job = self._visible(request, object_id)
        if not self.has_change_permission(request, job):
            raise PermissionDenied
        return job

    def page_view(self, request, object_id: int) -> HttpResponse:
        job = self._visible(request, object_id)
        before = request.GET.get("before", "")
        context = {**self._page_context(request, job), **views.job_page(job, timezone.now(), _run_of(job, before))}
        return TemplateResponse(request, "admin/jobs/job/page.html", {**context, "tab": "runs"})

    def document_view(self, request, object_id: int) -> HttpResponse:
        """The job as its document, which an API takes as it is."""
        job = self._visible(request, object_id)
        document = written({"properties": document_of(job)})
        context = {**self._page_context(request, job), **views.job_page(job, timezone.now()), "document": document}
        return TemplateResponse(request, "admin/jobs/job/page.html", {**context, "tab": "document"})

    def _page_context(self, request, job: Job) -> dict:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": job.name,
            "may_change": self.has_change_permission(request, job),
            "hue": hue_of(job.collection_id),
        }

    def run_view(self, request, object_id: int) -> HttpResponse:
        job = self._changeable(request, object_id)
        if request.method != "POST":
            return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))
        try:
            run = run_now(job, timezone.now())
        except JobError as error:
            messages.error(request, capfirst(error.message))
            return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))
        self.log_change(request, job, ORDERED["run"] + ".")
        return HttpResponseRedirect(reverse("admin:jobs_run_change", args=[run.pk]))

    def state_view(self, request, object_id: int) -> HttpResponse:
        job = self._changeable(request, object_id)
        state = request.POST.get("state")
        if request.method == "POST" and state in (Job.State.ENABLED, Job.State.DISABLED):
            if refusal := self._order(request, job, state):
                messages.error(request, capfirst(refusal))
            else:
                messages.success(request, f"{ORDERED[state]}: {job.name}.")
        return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))

    # the form

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        job = self._changeable(request, object_id) if object_id else None
        if job is None and not self.has_add_permission(request):
            raise PermissionDenied
        if job and job.is_final:
            messages.error(request, f"{job.name} is {job.state}, which is final. It can only be deleted.")
            return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))
        now = timezone.now()
        form = JobForm(
            request.POST or None,
            request.FILES or None,
            job=job,
            collections=self._writable(request),
            initial=_asked(request),
        )
        if request.method == "POST":
            switch = request.POST.get("_switch", "")
            valid = form.is_valid()
            if switch:
                form = form.switched(*switch.split(":", 1)) if valid and switch in SWITCHES else form
            elif valid and "_preview" not in request.POST:
                response = self._save(request, form, now)
                if response is not None:
                    return response
        form.say_what_is_set(now)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "form": form,
            "rewrite": form.rewrite or form.rewritten,
            "certificate": views.certificate_row(form.stored_authentication, now),
            "job": job,
            "title": f"Edit {job.name}" if job else "New job",
            "when_mode": form.mode("when"),
            "what_mode": form.mode("what"),
            **self._beside(form, now),
        }
        return TemplateResponse(request, "admin/jobs/job/form.html", context)

    def _save(self, request, form: JobForm, now: datetime) -> HttpResponse | None:
        """Save and lead to the job's page; None when it was refused, which the form then shows."""
        try:
            job, created = form.save(now)
        except (WireError, JobError) as error:
            form.refuse(error)
            return None
        change = self.construct_change_message(request, form, [], created)
        (self.log_addition if created else self.log_change)(request, job, change)
        next_run = views.next_run_in_words(job, now)
        messages.success(request, f"Saved. {next_run}")
        return HttpResponseRedirect(reverse("admin:jobs_job_page", args=[job.pk]))

    def _writable(self, request):
        collections = JobCollection.objects.select_related("subscription").order_by("name")
        return collections if request.user.is_superuser else collections.visible_to(request.user, Role.OPERATOR)

    def preview_view(self, request) -> HttpResponse:
        """What the schedule in the posted form means: asked for while somebody types."""
        if request.method != "POST":
            raise Http404
        job = self._visible(request, request.GET["job"]) if request.GET.get("job", "").isdecimal() else None
        form = JobForm(request.POST, job=job, collections=self._writable(request))
        form.is_valid()
        return TemplateResponse(request, "admin/jobs/job/_beside.html", self._beside(form, timezone.now()))

    def _beside(self, form: JobForm, now: datetime) -> dict:
        return {"meaning": views.meaning_of_form(form, now), "now": now}

    # Django's own pages

    def history_view(self, request, object_id, extra_context=None):
        job = self._visible(request, object_id)
        return super().history_view(request, str(job.pk), {"job": job, **(extra_context or {})})

    def delete_model(self, request, obj: Job) -> None:
        delete_job(obj, timezone.now())

    def delete_queryset(self, request, queryset) -> None:
        for job in queryset:
            delete_job(job, timezone.now())


ORDERED = {"run": "Ordered to run", Job.State.DISABLED: "Disabled", Job.State.ENABLED: "Enabled"}
CONSEQUENCES = {
    "run": "Each runs once more, at once. Its schedule stays where it is.",
    Job.State.DISABLED: "None of them runs until it is enabled again. What already waits is not run either.",
    Job.State.ENABLED: "Each goes on with its next fire time. What it missed while it was disabled is not made up for.",
}
SWITCHES = {f"{half}:{mode}" for half in ("when", "what") for mode in (FIELDS, JSON)}


def stopped_state(job: Job):
    """Why a job has no next run, as a state; None when it has one."""
    if job.state != Job.State.ENABLED:
        return JOB_STATES[Job.State(job.state)]
    if job.collection.state != JobCollection.State.ENABLED:
        return COLLECTION_STATES[JobCollection.State(job.collection.state)]
    return None


def _asked(request) -> dict:
    """What the address of a new form asks for."""
    collection = request.GET.get("collection", "")
    return {"collection": collection} if collection.isdecimal() else {}


def _run_of(job: Job, run_id: str) -> Run | None:
    try:
        return job.runs.filter(pk=run_id).first() if run_id else None
    except ValidationError:
        return None


# Runs


class ResultFilter(admin.SimpleListFilter):
    title = "result"
    parameter_name = "result"
    STATES = {
        "failed": (Run.State.FAILED, Run.State.LOST),
        "running": (Run.State.RUNNING,),
        "waiting": Run.PENDING,
        "succeeded": (Run.State.SUCCEEDED,),
        "missed": (Run.State.MISSED,),
        "skipped": (Run.State.SKIPPED,),
        "cancelled": (Run.State.CANCELLED,),
    }

    def lookups(self, request, model_admin):
        return [(name, name) for name in self.STATES]

    def queryset(self, request, queryset):
        states = self.STATES.get(self.value())
        return queryset.filter(state__in=states) if states else queryset


class SinceFilter(admin.SimpleListFilter):
    title = "planned"
    parameter_name = "days"

    def lookups(self, request, model_admin):
        return [("1", "in the last 24 h"), ("7", "in the last 7 days")]

    def queryset(self, request, queryset):
        if self.value() not in ("1", "7"):
            return queryset
        return queryset.filter(fire_at__gte=timezone.now() - timedelta(days=int(self.value())))


class RunChangeList(ChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        runs = list(self.result_list)
        for run in runs:
            run.now = request.now
            run.row = views.run_row(run)
        self.result_list = runs


@admin.register(Run)
class RunAdmin(TenantAdmin):
    """Read only: history is made by the workers."""

    list_display = ("planned", "job_title", "result", "started", "took", "attempts", "by")
    list_display_links = None
    list_filter = (ResultFilter, SinceFilter, "origin")
    list_per_page = 25
    search_fields = ("job_name",)
    search_help_text = "Name of the job"
    ordering = ("-fire_at", "-id")
    sortable_by = ()
    actions = None
    paginator = CappedPaginator
    show_full_result_count = False

    def subscription_of(self, obj: Run):
        return obj.subscription_id

    def get_queryset(self, request):
        """With one subscription to look at, as most have, its index answers what is newest."""
        subscriptions = Subscription.objects.all()
        if not request.user.is_superuser:
            subscriptions = subscriptions.visible_to(request.user)
        first = list(subscriptions.values_list("pk", flat=True)[:2])
        rows = admin.ModelAdmin.get_queryset(self, request)
        return rows.filter(subscription=first[0]) if len(first) == 1 else rows.filter(subscription__in=subscriptions)

    def has_add_permission(self, request) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def has_delete_permission(self, request, obj=None) -> bool:
        return False

    def get_urls(self):
        cancel_view = self.admin_site.admin_view(self.cancel_view)
        return [path("<uuid:object_id>/cancel/", cancel_view, name="jobs_run_cancel"), *super().get_urls()]

    def cancel_view(self, request, object_id) -> HttpResponse:
        run = self.get_queryset(request).filter(pk=object_id).first()
        if run is None:
            raise Http404
        if not may(request.user, Role.OPERATOR, run.subscription_id):
            raise PermissionDenied
        if request.method == "POST":
            try:
                cancel(run, f"cancelled by {request.user.get_username()}", timezone.now())
                messages.success(request, "Cancelled. It will not be run.")
            except JobError as error:
                messages.error(request, capfirst(error.message))
        return HttpResponseRedirect(reverse("admin:jobs_run_change", args=[run.pk]))

    def get_changelist(self, request, **kwargs):
        return RunChangeList

    def changelist_view(self, request, extra_context=None):
        request.now = timezone.now()
        return super().changelist_view(request, extra_context)

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        try:
            rows = (
                self.get_queryset(request)
                .select_related("job__collection", "action", "parent")
                .defer("action__secrets")
            )
            run = rows.filter(pk=object_id).first() if object_id else None
        except ValidationError:
            run = None
        if run is None:
            raise Http404
        now = timezone.now()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{run.job_name}, {words.moment(run.fire_at, now)}",
            "may_cancel": run.state in Run.PENDING and may(request.user, Role.OPERATOR, run.subscription_id),
            "may_run": run.job is not None and may(request.user, Role.OPERATOR, run.subscription_id),
            **views.run_page(run, now),
        }
        return TemplateResponse(request, "admin/jobs/run/page.html", context)

    @admin.display(description="Planned")
    def planned(self, run: Run) -> str:
        return format_html(
            '<a class="title" href="{}">{}</a>',
            reverse("admin:jobs_run_change", args=[run.pk]),
            words.moment(run.fire_at, run.now),
        )

    @admin.display(description="Job")
    def job_title(self, run: Run) -> str:
        name = format_html('{}<span class="sub">{}</span>', run.job_name, run.collection_name)
        if run.job_id is None:
            return name
        return format_html('<a href="{}">{}</a>', reverse("admin:jobs_job_page", args=[run.job_id]), name)

    @admin.display(description="Result")
    def result(self, run: Run) -> str:
        return badge(outcome_of(run))

    @admin.display(description="Started")
    def started(self, run: Run) -> str:
        return words.clock(run.started_at) if run.started_at else run.row["reason"]

    @admin.display(description="Took")
    def took(self, run: Run) -> str:
        return run.row["took"]

    @admin.display(description="Attempts")
    def attempts(self, run: Run) -> int:
        return run.attempt_count

    @admin.display(description="By")
    def by(self, run: Run) -> str:
        return ORIGINS[Run.Origin(run.origin)]
