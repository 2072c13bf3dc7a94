"""Operations in the admin: they can be read, and cancelled while they are open.

The pages use the words and marks of the lists of jobs and runs.
"""

from datetime import datetime, timedelta

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html

from accounts.admin_permissions import has_role
from accounts.models import Role
from jobs import humanize
from jobs.admin.lists import ReadOnlyAdmin, TimestampedChangeList, badge
from jobs.badges import Badge
from operations.handlers import is_cancellable
from operations.models import Operation
from operations.reports import read_report
from operations.service import NotCancellableError, cancel

MAX_REFUSALS_SHOWN = 5  # after a bulk action; more messages would push the list off the screen
OUTCOMES = {
    Operation.State.ACCEPTED: Badge("waiting", "Accepted"),
    Operation.State.RUNNING: Badge("running", "Running"),
    Operation.State.SUCCEEDED: Badge("success", "Succeeded"),
    Operation.State.FAILED: Badge("failure", "Failed"),
    Operation.State.CANCELED: Badge("cancelled", "Cancelled"),
}


def outcome_of(operation: Operation) -> Badge:
    return OUTCOMES[Operation.State(operation.state)]


def kind_words(operation: Operation) -> str:
    """Return the kind as text: "Delete collection" for `collection.delete`."""
    noun, _, verb = operation.kind.replace("_", " ").partition(".")
    return f"{verb} {noun}".strip().capitalize()


def title_of(operation: Operation) -> str:
    return f"{kind_words(operation)} {operation.target}"


def elapsed_words(operation: Operation, now: datetime) -> str:
    """Return the time from the acceptance of the operation to its end, or to now while it is open."""
    return humanize.format_elapsed((operation.finished_at or now) - operation.created_at)


class SinceFilter(admin.SimpleListFilter):
    title = "requested"
    parameter_name = "hours"

    def lookups(self, request, model_admin):
        return [("1", "in the last hour"), ("24", "in the last 24 h")]

    def queryset(self, request, queryset):
        if self.value() not in ("1", "24"):
            return queryset
        return queryset.filter(created_at__gte=timezone.now() - timedelta(hours=int(self.value())))


def may_cancel(user, operation: Operation) -> bool:
    is_possible = operation.is_open and is_cancellable(operation)
    return is_possible and has_role(user, Role.OPERATOR, operation.subscription_id)


class OperationChangeList(TimestampedChangeList):
    def get_results(self, request) -> None:
        super().get_results(request)
        for operation in self.result_list:
            operation.may_cancel = may_cancel(request.user, operation)


@admin.register(Operation)
class OperationAdmin(ReadOnlyAdmin):
    """Read only, because only workers change operations.  A cancellation is a request to the worker."""

    list_display = ("title", "state_shown", "progress", "asked", "took", "requested_by", "error", "action")
    list_filter = ("state", SinceFilter)
    list_select_related = ("requested_by", "subscription")
    search_fields = ("target", "kind")
    search_help_text = "Target or kind"
    ordering = ("-created_at", "-id")
    actions = ("cancel_ticked",)

    def get_urls(self):
        cancel_view = self.admin_site.admin_view(self.cancel_view)
        return [path("<uuid:object_id>/cancel/", cancel_view, name="operations_operation_cancel"), *super().get_urls()]

    def get_changelist(self, request, **kwargs) -> type[TimestampedChangeList]:
        return OperationChangeList

    def changeform_view(self, request, object_id=None, form_url="", extra_context=None) -> HttpResponse:
        operation, now = self.find_visible(request, object_id), timezone.now()
        context = {
            "title": title_of(operation),
            "operation": operation,
            "outcome": outcome_of(operation),
            "what": kind_words(operation),
            "took": elapsed_words(operation, now),
            "now": now,
            "may_cancel": may_cancel(request.user, operation),
            "report": read_report(operation),
        }
        return self.page(request, "admin/operations/operation/page.html", context)

    def cancel_view(self, request, object_id) -> HttpResponse:
        operation = self.find_visible(request, object_id)
        if not has_role(request.user, Role.OPERATOR, operation.subscription_id):
            raise PermissionDenied
        if request.method == "POST":
            if refusal := self._cancel(request, operation, timezone.now()):
                messages.error(request, refusal)
            else:
                messages.success(request, "Cancellation requested. The operation stops before its next step.")
        return HttpResponseRedirect(reverse("admin:operations_operation_change", args=[operation.pk]))

    def has_operate_permission(self, request) -> bool:
        return has_role(request.user, Role.OPERATOR)

    @admin.action(description="Cancel operations", permissions=["operate"])
    def cancel_ticked(self, request, queryset) -> HttpResponse | None:
        """Show the operations first, then cancel them.

        An operation that cannot be cancelled is named in a message.  The others are cancelled all the same.
        """
        operations, now = list(queryset), timezone.now()
        if "confirmed" in request.POST:
            refused = [message for operation in operations if (message := self._cancel(request, operation, now))]
            if done := len(operations) - len(refused):
                messages.success(request, f"Cancellation requested: {humanize.format_count(done, 'operation')}.")
            for message in refused[:MAX_REFUSALS_SHOWN]:
                messages.error(request, message)
            return None
        context = {
            "title": f"Cancel {humanize.format_count(len(operations), 'operation')}",
            "operations": [(operation, kind_words(operation), outcome_of(operation)) for operation in operations],
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return self.page(request, "admin/operations/operation/confirm.html", context)

    def _cancel(self, request, operation: Operation, now: datetime) -> str:
        """Cancel the operation.  Return why it was refused, or an empty text."""
        if not has_role(request.user, Role.OPERATOR, operation.subscription_id):
            return f"You do not have permission to cancel: {title_of(operation)}."
        try:
            return "" if cancel(operation, now) else f"Already ended: {title_of(operation)}."
        except NotCancellableError:
            return f"Cannot be cancelled, because stored fire times would stay wrong: {title_of(operation)}."

    @admin.display(description="Operation")
    def title(self, operation: Operation) -> str:
        return format_html(
            '<a class="title" href="{}">{}</a><span class="sub">{} · {}</span>',
            reverse("admin:operations_operation_change", args=[operation.pk]),
            kind_words(operation),
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

    @admin.display(description="Requested")
    def asked(self, operation) -> str:
        return humanize.format_datetime(operation.created_at, operation.now)

    @admin.display(description="Duration")
    def took(self, operation) -> str:
        return elapsed_words(operation, operation.now)

    @admin.display(description="Error")
    def error(self, operation: Operation) -> str:
        return operation.error_code

    @admin.display(description="Action")
    def action(self, operation) -> str:
        """Return the Cancel button, which belongs to the form around the list; empty if the viewer may not cancel."""
        if not operation.may_cancel:
            return ""
        return format_html(
            '<button class="button" type="submit" formaction="{}" aria-label="Cancel: {}">Cancel</button>',
            reverse("admin:operations_operation_cancel", args=[operation.pk]),
            title_of(operation),
        )
