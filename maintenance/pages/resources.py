"""Pages that list, create, change and delete the resources to which maintenance is announced, or renew a token."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Role, Subscription
from accounts.visibility import get_row_or_404, rows_visible_to, visible_subscription_names
from maintenance import resources as maintenance_resources
from maintenance.errors import MaintenanceError
from maintenance.models import Notice, Resource
from maintenance.pages.forms import ResourceForm, refuse
from maintenance.pages.presenters import resource_row

PAGE = 50


@login_required
@require_safe
def resources(request) -> HttpResponse:
    """List the resources by name.  The query parameter `after` is the id of the last resource on the page before."""
    now, operated = timezone.now(), set(visible_subscription_names(request.user, Role.OPERATOR))
    subscriptions = visible_subscription_names(request.user)
    rows = Resource.objects.filter(subscription__in=subscriptions).order_by("name", "pk")
    after = last_of(rows, request.GET.get("after", ""))
    if after is not None:
        rows = rows.filter(name__gte=after.name).exclude(name=after.name, pk__lte=after.pk)
    found = list(rows[: PAGE + 1])
    context = {
        "title": gettext("Resources"),
        "rows": [
            {
                **resource_row(each, now, each.subscription_id in operated),
                "subscription": subscriptions[each.subscription_id] if len(subscriptions) > 1 else "",
            }
            for each in found[:PAGE]
        ],
        "after": found[PAGE - 1].pk if len(found) > PAGE else None,
        "is_first_page": after is None,
        "may_make": bool(operated),
    }
    return render(request, "maintenance/resources.html", context)


def last_of(rows, text: str) -> Resource | None:
    is_key = text.isascii() and text.isdecimal() and len(text) < 19
    return rows.filter(pk=int(text)).first() if is_key else None


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def resource_new(request) -> HttpResponse:
    own = rows_visible_to(request.user, Subscription.objects.order_by("name"), Role.OPERATOR)
    if not own.exists():
        raise PermissionDenied
    form = ResourceForm(request.POST or None, subscriptions=own)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            resource, token = maintenance_resources.register(
                form.chosen_subscription, data["name"], data["scope_group"], data["labels"], timezone.now()
            )
        except MaintenanceError as error:
            refuse(form, error)
        else:
            return show_token(request, resource, token)
    context = {"title": gettext("New resource"), "form": form}
    return render(request, "maintenance/resource_form.html", context)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def resource_edit(request, resource_id: int) -> HttpResponse:
    resource = operated_resource(request, resource_id)
    form = ResourceForm(request.POST or None, subscriptions=Subscription.objects.none(), resource=resource)
    if request.method == "POST" and form.is_valid():
        try:
            maintenance_resources.change(resource, **form.cleaned_data)
        except MaintenanceError as error:
            refuse(form, error)
        else:
            messages.success(request, gettext("Saved."))
            return redirect("maintenance:resources")
    context = {"title": resource.name, "form": form, "resource": resource}
    return render(request, "maintenance/resource_form.html", context)


def operated_resource(request, resource_id: int) -> Resource:
    return get_row_or_404(request.user, Resource.objects, Role.OPERATOR, pk=resource_id)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def resource_token(request, resource_id: int) -> HttpResponse:
    """Ask for confirmation, then replace the token of the resource.  The old token is invalid at once."""
    resource = operated_resource(request, resource_id)
    if request.method == "POST":
        return show_token(request, resource, maintenance_resources.new_token(resource))
    context = {
        "title": gettext("Create a new token for %(name)s?") % {"name": resource.name},
        "consequences": [gettext("The current token stops working immediately: requests with it are rejected.")],
        "cancel_url": reverse("maintenance:resources"),
        "cancel_text": gettext("Keep it"),
        "confirm_text": gettext("Create token"),
    }
    return render(request, "maintenance/resource_confirm.html", context)


def show_token(request, resource: Resource, token: str) -> HttpResponse:
    """Show the token, only this once.  It is stored in no message, session or cookie."""
    context = {"title": resource.name, "text": token, "back": "maintenance:resources"}
    response = render(request, "maintenance/token.html", context)
    add_never_cache_headers(response)
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def resource_remove(request, resource_id: int) -> HttpResponse:
    resource = operated_resource(request, resource_id)
    if request.method == "POST":
        maintenance_resources.unregister(resource)
        messages.success(request, gettext("Removed: %(name)s.") % {"name": resource.name})
        return redirect("maintenance:resources")
    count = Notice.objects.active().filter(resources=resource).count()
    under_way = ngettext(
        "%(count)d open notice affects it and keeps its name.",
        "%(count)d open notices affect it and keep its name.",
        count,
    ) % {"count": count}
    context = {
        "title": gettext("Remove %(name)s?") % {"name": resource.name},
        "consequences": [gettext("Its token stops working immediately."), *([under_way] if count else [])],
        "cancel_url": reverse("maintenance:resources"),
        "cancel_text": gettext("Keep it"),
        "confirm_text": gettext("Remove resource"),
        "is_dangerous": True,
    }
    return render(request, "maintenance/resource_confirm.html", context)


urlpatterns = [
    path("resources/", resources, name="resources"),
    path("resources/new", resource_new, name="resource-new"),
    path("resources/<int:resource_id>/edit", resource_edit, name="resource-edit"),
    path("resources/<int:resource_id>/token", resource_token, name="resource-token"),
    path("resources/<int:resource_id>/remove", resource_remove, name="resource-remove"),
]
