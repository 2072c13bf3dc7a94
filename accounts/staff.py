"""What staff may see and do in the admin: their roles in subscriptions decide, superusers may do everything."""

import uuid

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db import models
from django.http import Http404

from accounts.models import Membership, Role


def roles_of(user) -> dict[uuid.UUID, Role]:
    """The roles of `user` by subscription; read once for each request, since `user` lives as long as that."""
    if not hasattr(user, "_roles"):
        memberships = Membership.objects.filter(user=user).values_list("subscription_id", "role")
        user._roles = {subscription: Role(role) for subscription, role in memberships}
    return user._roles


def may(user, role: Role, subscription_id: uuid.UUID | None = None) -> bool:
    """Whether `user` has at least `role` in the subscription, or, without one, in any."""
    if not user.is_active or user.is_superuser:  # nobody in particular is not active
        return user.is_active
    roles = roles_of(user)
    held = roles.values() if subscription_id is None else [roles.get(subscription_id, 0)]
    return any(own >= role for own in held)


class ListingAdmin(admin.ModelAdmin):
    """Refuses what a list cannot ask the database: filters with NUL, and ticked keys that can be none of its rows'."""

    def changelist_view(self, request, extra_context=None):
        for name, values in request.GET.lists():
            if any("\0" in value for value in values):
                raise BadRequest(f"{name!r:.80}: no row has a NUL there")
        return super().changelist_view(request, extra_context)

    def response_action(self, request, queryset):
        for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(key, None)
            except ValidationError:
                raise BadRequest(f"{ACTION_CHECKBOX_NAME}: no row has the key {key!r:.80}") from None
        return super().response_action(request, queryset)


class TenantAdmin(ListingAdmin):
    """Rows that belong to a subscription: its members see them, and who has `write_role` there changes them.

    Django's own permissions of these models are not asked.
    """

    write_role = Role.OPERATOR

    def subscription_of(self, obj) -> uuid.UUID:
        raise NotImplementedError

    def get_queryset(self, request):
        rows = super().get_queryset(request)
        return rows if request.user.is_superuser else rows.visible_to(request.user)

    def visible(self, request, object_id, rows: models.QuerySet | None = None):
        """One of `rows`, which are all of the viewer's unless given.

        Raises Http404 for a row that is not there, or not the viewer's, and for what is no key at all.
        """
        rows = self.get_queryset(request) if rows is None else rows
        try:
            row = rows.filter(pk=object_id).first()
        except (ValidationError, ValueError):
            row = None
        if row is None:
            raise Http404
        return row

    def changeable(self, request, object_id):
        """As `visible`; raises PermissionDenied for what the viewer only reads."""
        row = self.visible(request, object_id)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        return row

    def _may(self, request, role: Role, obj) -> bool:
        is_asked = obj is not None and not request.user.is_superuser  # for whom it may take a query
        return may(request.user, role, self.subscription_of(obj) if is_asked else None)

    def has_module_permission(self, request) -> bool:
        return self._may(request, Role.READER, None)

    def has_view_permission(self, request, obj=None) -> bool:
        return self._may(request, Role.READER, obj)

    def has_add_permission(self, request) -> bool:
        return self._may(request, self.write_role, None)

    def has_change_permission(self, request, obj=None) -> bool:
        return self._may(request, self.write_role, obj)

    def has_delete_permission(self, request, obj=None) -> bool:
        return self._may(request, self.write_role, obj)
