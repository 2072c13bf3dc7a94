"""Operations in the admin: read, and cancelled while they go on.

Looks as the lists of jobs and runs do, whose words and marks it takes.
"""

from datetime import datetime, timedelta

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.models import Role
from accounts.staff import may
from jobs import words
from jobs.admin.lists import NowChangeList, ReadOnlyAdmin, badge
from jobs.outcomes import Outcome
from operations.models import Operation
from operations.tracking import cancel

REFUSALS = 5  # said of an order for several; more would only push the list off the screen
OUTCOMES = {
    Operation.State.ACCEPTED: Outcome("waiting", "Accepted"),
    Operation.State.RUNNING: Outcome("running", "Running"),
    Operation.State.SUCCEEDED: Outcome("success", "Succeeded"),
    Operation.State.FAILED: Outcome("failure", "Failed"),
    Operation.State.CANCELED: Outcome("cancelled", "Cancelled"),
}


def outcome_of(operation: Operation) -> Outcome:
    return OUTCOMES[Operation.State(operation.state)]


def what(operation: Operation) -> str:
    """Delete collection, for `collection.delete`."""
    noun, _, verb = operation.kind.partition(".")
    return f"{verb} {noun}".strip().capitalize()


def named(operation: Operation) -> str:
    return f"{what(operation)} {operation.target}"


def took(operation: Operation, now: datetime) -> str:
    """From its acceptance to its end, or until now."""
    return words.took((operation.finished_at or now) - operation.created_at)


class SinceFilter(admin.SimpleListFilter):
    title = "asked"
    parameter_name = "hours"

    def lookups(self, request, model_admin):
        return [("1", "in the last hour"), ("24", "in the last 24 h")]

    def queryset(self, request, queryset):
        if self.value() not in ("1", "24"):
            return queryset
        return queryset.filter(created_at__gte=timezone.now() - timedelta(hours=int(self.value())))


def may_cancel(user, operation: Operation) -> bool:
    return operation.is_open and may(user, Role.OPERATOR, operation.subscription_id)


class OperationChangeList(NowChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        for operation in self.result_list:
            operation.may_cancel = may_cancel(request.user, operation)


@admin.register(Operation)
class OperationAdmin(ReadOnlyAdmin):
    """Read only: what happens to an operation is the workers' doing."""

    list_display = ("title", "state_shown", "progress", "asked", "took", "asked_by", "error", "order")
    list_filter = ("state", SinceFilter)
    list_select_related = ("asked_by", "subscription")
    search_fields = ("target", "kind")
    search_help_text = "What it is about"
    ordering = ("-created_at", "-id")
    actions = ("cancel_ticked",)

    def get_urls(self):
        cancel_view = self.admin_site.admin_view(self.cancel_view)
        return [path("<uuid:object_id>/cancel/", cancel_view, name="operations_operation_cancel"), *super().get_urls()]

    def get_changelist(self, request, **kwargs) -> type[ChangeList]:
        return OperationChangeList

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        operation, now = self.visible(request, object_id), timezone.now()
        context = {
            "title": named(operation),
            "operation": operation,
            "outcome": outcome_of(operation),
            "what": what(operation),
            "took": took(operation, now),
            "now": now,
            "may_cancel": may_cancel(request.user, operation),
        }
        return self.page(request, "admin/operations/operation/page.html", context)

    def cancel_view(self, request, object_id) -> HttpResponse:
        operation = self.visible(request, object_id)
        if not may(request.user, Role.OPERATOR, operation.subscription_id):
            raise PermissionDenied
        if request.method == "POST":
            if cancel(operation, timezone.now()):
                messages.success(request, "It ends before its next step.")
            else:
                messages.error(request, "It is over already.")
        return HttpResponseRedirect(reverse("admin:operations_operation_change", args=[operation.pk]))

    def has_operate_permission(self, request) -> bool:
        return may(request.user, Role.OPERATOR)

    @admin.action(description="Cancel operations", permissions=["operate"])
    def cancel_ticked(self, request, queryset) -> HttpResponse | None:
        """First show which, then cancel them; what cannot be cancelled is named, and stops none of the others."""
        operations, now = list(queryset), timezone.now()
        if "confirmed" in request.POST:
            refused = [message for operation in operations if (message := self._cancel(request, operation, now))]
            if done := len(operations) - len(refused):
                messages.success(request, f"Asked to end before the next step: {words.count(done, 'operation')}.")
            for message in refused[:REFUSALS]:
                messages.error(request, message)
            return None
        context = {
            "title": f"Cancel {words.count(len(operations), 'operation')}",
            "operations": [(operation, what(operation), outcome_of(operation)) for operation in operations],
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return self.page(request, "admin/operations/operation/confirm.html", context)

    def _cancel(self, request, operation: Operation, now: datetime) -> str:
        """Why it was refused, or nothing."""
        if not may(request.user, Role.OPERATOR, operation.subscription_id):
            return f"You may not cancel: {named(operation)}."
        return "" if cancel(operation, now) else f"It is over already: {named(operation)}."

    @admin.display(description="Operation")
    def title(self, operation: Operation) -> str:
        return format_html(
            '<a class="title" href="{}">{}</a><span class="sub">{} · {}</span>',
            reverse("admin:operations_operation_change", args=[operation.pk]),
            what(operation),
            operation.target,
            operation.subscription.name,
        )

    @admin.display(description="State")
    def state_shown(self, operation: Operation) -> str:
        return badge(outcome_of(operation))

    @admin.display(description="Progress")
    def progress(self, operation: Operation) -> str:
        return format_html(
            '<span class="progress" data-state="{}"><i data-of="{}"></i><span class="muted">{} %</span></span>',
            outcome_of(operation).state,
            operation.percent,
            operation.percent,
        )

    @admin.display(description="Asked")
    def asked(self, operation) -> str:
        return words.moment(operation.created_at, operation.now)

    @admin.display(description="Took")
    def took(self, operation) -> str:
        return took(operation, operation.now)

    @admin.display(description="Error")
    def error(self, operation: Operation) -> str:
        return operation.error_code

    @admin.display(description="Order")
    def order(self, operation) -> str:
        """A button of the form that the list stands in."""
        if not operation.may_cancel:
            return ""
        return format_html(
            '<button class="button" type="submit" formaction="{}" aria-label="Cancel: {}">Cancel</button>',
            reverse("admin:operations_operation_cancel", args=[operation.pk]),
            named(operation),
        )
