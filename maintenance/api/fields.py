"""Members that several documents have, and the subscription that a document is for."""

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import serializers

from accounts.access import require, visible
from accounts.fields import TextField
from accounts.models import Role, Subscription
from maintenance.errors import MaintenanceError
from maintenance.wishes import TEXT_LENGTH


class NameField(TextField):
    """Of a resource."""

    def __init__(self, **options):
        super().__init__(min_length=1, max_length=TEXT_LENGTH, **options)


class LabelsField(serializers.DictField):
    child = TextField(max_length=TEXT_LENGTH, allow_blank=True)


def subscription_for(request, wanted) -> Subscription:
    """The subscription to write to: the one that is named, or the only one that the caller may write to."""
    if wanted is not None:
        try:
            return require(request, Subscription, Role.OPERATOR, pk=wanted)
        except Http404:
            raise MaintenanceError(
                "no subscription that you may see", path="subscription", code="does_not_exist"
            ) from None
    own = list(visible(request, Subscription, Role.OPERATOR)[:2])
    if len(own) == 1:
        return own[0]
    if not own:
        raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label} in a subscription")
    raise MaintenanceError("is required: you may write to more than one", path="subscription", code="required")
