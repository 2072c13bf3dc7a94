"""Error handling for deletions that the cores refuse, such as of a job whose collection is being deleted."""

from collections.abc import Callable
from contextlib import nullcontext

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst

from accounts.admin_permissions import TenantAdmin
from api.errors import RequestError


class DomainErrorAdminMixin(TenantAdmin):
    """Redirects to the list with an error message if one of the rows must not be deleted; then no row is deleted."""

    def delete_view(self, request, object_id, extra_context=None):
        return self._show_errors(request, super().delete_view, object_id, extra_context)

    def changelist_view(self, request, extra_context=None):
        return self._show_errors(request, super().changelist_view, extra_context)

    def _show_errors(self, request, view: Callable[..., HttpResponse], *arguments) -> HttpResponse:
        try:
            with transaction.atomic() if _deletes(request) else nullcontext():
                return view(request, *arguments)
        except RequestError as error:
            messages.error(request, capfirst(error.message))
            return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))


def _deletes(request) -> bool:
    """Return True for deletions, which run in one transaction so that Django's log entries roll back with them.

    Other bulk actions commit row by row.  In one transaction they would keep locks on some rows while they wait for
    others.
    """
    return request.method == "POST" and "delete_selected" in request.POST.getlist("action", ["delete_selected"])
