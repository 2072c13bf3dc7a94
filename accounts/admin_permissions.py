"""Permissions in the administration: roles in subscriptions decide, and superusers may do everything."""

import uuid

from django.contrib import admin
from django.contrib.admin.filters import DateFieldListFilter
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db import models
from django.http import Http404
from django.utils.text import capfirst, smart_split

from accounts.models import Role
from accounts.visibility import rows_visible_to


def has_role(user, role: Role, subscription_id: uuid.UUID | None = None) -> bool:
    """Return True if `user` has at least `role` in the subscription, or in any subscription if none is given."""
    if not user.is_active or user.is_superuser:  # AnonymousUser.is_active is False
        return user.is_active
    roles = user.roles.values() if subscription_id is None else [user.roles.get(subscription_id, 0)]
    return any(own >= role for own in roles)


MOST_SEARCH_WORDS = 50  # each word adds a condition for every searched field
CHOICES_NAMED = 12  # choices of a filter that an error message lists


class ListingChangeList(ChangeList):
    """The rows of a list.  If its address has an unknown filter or value: no rows, and messages in `refusals`."""

    def get_queryset(self, request, exclude_parameters=None):
        self.filter_specs, self.has_filters, self.has_active_filters = [], False, True
        try:
            rows = super().get_queryset(request, exclude_parameters)
            self.refusals = [*map(self._refusal_of_name, self._unknown_names()), *self._refusals_of_values()]
        except IncorrectLookupParameters as error:
            cause = error.args[0] if error.args else error
            reason = " ".join(getattr(cause, "messages", [str(cause)])).removesuffix(".")
            self.refusals = [f"The address of this list is invalid: {reason}."]
            rows = self.root_queryset
        return rows.none() if self.refusals else rows

    def _unknown_names(self) -> list[str]:
        known = {name for spec in self.filter_specs for name in spec.expected_parameters()}
        return [name for name in self.get_filters_params() if name not in known]

    def _refusal_of_name(self, name: str) -> str:
        return f"There is no filter {name!r:.80} here."

    def _refusals_of_values(self) -> list[str]:
        return [refusal for spec in self.filter_specs if (refusal := self._refusal_of_values(spec))]

    def _refusal_of_values(self, spec) -> str:
        """Return an error message if the values of a filter select none of its choices, else an empty text.

        Filters of dates are not checked: their choices change every day, and an address of yesterday stays valid.
        """
        _, *choices = offered = list(spec.choices(self))  # the first one is "All"
        if isinstance(spec, DateFieldListFilter) or any(choice["selected"] for choice in offered):
            return ""
        values = ", ".join(f"{self.params[name]!r:.80}" for name in spec.expected_parameters() if name in self.params)
        accepted = ", ".join(str(choice["display"]) for choice in choices[:CHOICES_NAMED])
        more = "" if len(choices) <= CHOICES_NAMED else f" and {len(choices) - CHOICES_NAMED} more"
        return f"{capfirst(spec.title)}: {values} is unknown. It can be: {accepted}{more}."


class ListingAdmin(admin.ModelAdmin):
    """Lists that answer 400 to requests that the database cannot answer.

    These are filters with NUL, searches for more than MOST_SEARCH_WORDS words, and ticked keys that no row can have.
    Unknown filters and values are refused by ListingChangeList.
    """

    show_facets = admin.ShowFacets.NEVER  # facets would count all rows for each choice

    def get_changelist(self, request, **kwargs) -> type[ListingChangeList]:
        return ListingChangeList

    def changelist_view(self, request, extra_context=None):
        for name, values in request.GET.lists():
            if any("\0" in value for value in values):
                raise BadRequest(f"{name!r:.80}: must not contain NUL")
        response = super().changelist_view(request, extra_context)
        changelist = (getattr(response, "context_data", None) or {}).get("cl")
        if changelist is not None and changelist.refusals:
            response.status_code = 400
        return response

    def get_search_results(self, request, queryset, search_term):
        if sum(1 for _ in smart_split(search_term)) > MOST_SEARCH_WORDS:
            raise BadRequest(f"q: must have at most {MOST_SEARCH_WORDS} words")
        return super().get_search_results(request, queryset, search_term)

    def response_action(self, request, queryset):
        for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(key, None)
            except ValidationError:
                raise BadRequest(f"{ACTION_CHECKBOX_NAME}: no row has the key {key!r:.80}") from None
        return super().response_action(request, queryset)


class TenantAdmin(ListingAdmin):
    """Rows that belong to a subscription: its members see them, and members with `write_role` change them.

    Django's own permissions for these models are not used.
    """

    write_role = Role.OPERATOR

    def subscription_of(self, obj) -> uuid.UUID:
        raise NotImplementedError

    def get_queryset(self, request):
        return rows_visible_to(request.user, super().get_queryset(request))

    def find_visible(self, request, object_id, rows: models.QuerySet | None = None):
        """Return the row with the key `object_id` from `rows`; by default, from all rows that the viewer may see.

        Raises Http404 when there is no such row, the viewer may not see it, or `object_id` is not a valid key.
        """
        rows = self.get_queryset(request) if rows is None else rows
        try:
            row = rows.filter(pk=object_id).first()
        except (ValidationError, ValueError):
            row = None
        if row is None:
            raise Http404
        return row

    def find_changeable(self, request, object_id):
        """Return the row as `find_visible` does; raises PermissionDenied if the viewer may not change it."""
        row = self.find_visible(request, object_id)
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        return row

    def _may(self, request, role: Role, obj) -> bool:
        # superusers may do everything: `subscription_of`, which may take a query, is not needed for them
        needs_subscription = obj is not None and not request.user.is_superuser
        return has_role(request.user, role, self.subscription_of(obj) if needs_subscription else None)

    def has_module_permission(self, request) -> bool:
        return request.user.can_open_administration

    def has_view_permission(self, request, obj=None) -> bool:
        """Return True if the viewer may see the row `obj`, or, without a row, the list.

        Everybody who may open the administration may open a list: it has only rows that the viewer may see.
        """
        if obj is None:
            return request.user.can_open_administration
        return self._may(request, Role.READER, obj)

    def has_add_permission(self, request) -> bool:
        return self._may(request, self.write_role, None)

    def has_change_permission(self, request, obj=None) -> bool:
        return self._may(request, self.write_role, obj)

    def has_delete_permission(self, request, obj=None) -> bool:
        return self._may(request, self.write_role, obj)
