"""Deletions that the cores refuse, such as of a job whose collection is being deleted."""

from collections.abc import Callable
from contextlib import nullcontext

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.text import capfirst

from accounts.staff import TenantAdmin
from jobs.errors import JobError


class RefusableAdmin(TenantAdmin):
    """Leads to the list with the reason when one of the rows to be deleted must stay; then all of them do."""

    def delete_view(self, request, object_id, extra_context=None):
        return self._or_refused(request, super().delete_view, object_id, extra_context)

    def changelist_view(self, request, extra_context=None):
        return self._or_refused(request, super().changelist_view, extra_context)

    def _or_refused(self, request, view: Callable[..., HttpResponse], *arguments) -> HttpResponse:
        try:
            with transaction.atomic() if _deletes(request) else nullcontext():
                return view(request, *arguments)
        except JobError as error:
            messages.error(request, capfirst(error.message))
            return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))


def _deletes(request) -> bool:
    """Then what Django writes down about it before it is asked for goes with it.

    Any other order to several rows is one to each: together they would hold some while they wait for others.
    """
    return request.method == "POST" and "delete_selected" in request.POST.getlist("action", ["delete_selected"])
