"""The admin of collections."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst

from accounts.admin_permissions import has_role
from accounts.models import Role, Subscription
from accounts.visibility import rows_visible_to
from api.errors import RequestError
from jobs import humanize
from jobs.admin.errors import DomainErrorAdminMixin
from jobs.admin.lists import CappedPaginator, badge, hue_of
from jobs.badges import COLLECTION_STATES
from jobs.models import JobCollection
from jobs.plans import REFUSAL, takes_owner
from jobs.quotas import RECURRENCE_INTERVAL_LIMIT
from operations.service import Caller
from triggers.collection_operations import DELETE, start_operation, start_operations
from triggers.scheduling import save_collection


class TagsField(forms.JSONField):
    def prepare_value(self, value):
        return "" if value is None else super().prepare_value(value)


class CollectionForm(forms.ModelForm):
    user: Any  # the user who fills in the form
    refusal: RequestError | None = None  # raised by a core that has already refused these values
    subscription = forms.ModelChoiceField(Subscription.objects.none(), empty_label=None)
    tags = TagsField(
        required=False,
        help_text='A JSON object with text values, such as {"team": "data"}.',
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
            "max_job_count": "Job limit",
            "max_recurrence_interval": "Fastest recurrence, interval",
            "max_recurrence_frequency": "Fastest recurrence, unit",
        }
        help_texts = {
            "resource_group": "Part of the collection's address in the resource manager API.",
            "sku": "Free: 5 jobs. Standard and P10Premium: 50. P20Premium: 1,000. Recurrences: at most hourly in Free,"
            " otherwise once a minute. Other schedules: at most once a minute in Free, once a second in Standard, 10"
            " times a second in the premium plans. Only owners can choose a premium plan.",
            "max_recurrence_interval": f"1 to {RECURRENCE_INTERVAL_LIMIT}. Applies to schedules of every format that"
            " are saved from now on.",
            "state": "Jobs run only while the collection is enabled. Each job keeps its own state.",
        }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        state = self.fields.get("state")
        if state:
            state.choices = [choice for choice in JobCollection.State.choices if choice[0] != "deleted"]

    def clean_max_recurrence_interval(self):
        interval = self.cleaned_data["max_recurrence_interval"]
        if interval is not None and not 1 <= interval <= RECURRENCE_INTERVAL_LIMIT:
            raise ValidationError(f"Enter a number from 1 to {RECURRENCE_INTERVAL_LIMIT}")
        return interval

    def clean_tags(self):
        tags = self.cleaned_data["tags"]
        if tags is not None and not (isinstance(tags, dict) and all(isinstance(text, str) for text in tags.values())):
            raise ValidationError('Enter a JSON object with text values, such as {"team": "data"}')
        return tags

    def clean(self):
        super().clean()
        self._refuse_plan()
        if self.refusal is not None:
            field = {"properties.sku.name": "sku"}.get(self.refusal.path or "", self.refusal.path)
            self.add_error(field if field in self.fields else None, capfirst(self.refusal.message))

    def _refuse_plan(self) -> None:
        sku, subscription = self.cleaned_data.get("sku"), self.cleaned_data.get("subscription")
        subscription_id = subscription.pk if subscription else self.instance.subscription_id
        if sku and takes_owner(self.instance.sku, sku) and not has_role(self.user, Role.OWNER, subscription_id):
            self.add_error("sku", capfirst(REFUSAL))


@admin.register(JobCollection)
class JobCollectionAdmin(DomainErrorAdminMixin):
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
        return ("subscription",) if obj else ()

    def get_form(self, request, obj=None, change=False, **kwargs):
        form = super().get_form(request, obj, change, **kwargs)
        if "subscription" in form.base_fields:
            subscriptions = rows_visible_to(request.user, Subscription.objects.order_by("name"), self.write_role)
            form.base_fields["subscription"].queryset = subscriptions
        form.user = request.user
        form.refusal = getattr(request, "refusal", None)
        return form

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None):
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except RequestError as error:
            request.refusal = error
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(self, request, obj, form, change) -> None:
        save_collection(obj, timezone.now())

    def delete_model(self, request, obj) -> None:
        start_operation(DELETE, obj, Caller(request.user, request.id), timezone.now())

    def delete_queryset(self, request, queryset) -> None:
        start_operations(DELETE, queryset, Caller(request.user, request.id), timezone.now())

    def response_delete(self, request, obj_display, obj_id) -> HttpResponse:
        messages.success(request, f"Deleting {obj_display}. Operations show the progress.")
        return HttpResponseRedirect(reverse("admin:jobs_jobcollection_changelist"))

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
            '<a href="{}?collection={}">{}</a>',
            address,
            collection.pk,
            humanize.format_count(collection.jobs_in, "job"),
        )

    @admin.display(description="Subscription")
    def place(self, collection: JobCollection) -> str:
        return format_html('{}<span class="sub">{}</span>', collection.subscription.name, collection.resource_group)
