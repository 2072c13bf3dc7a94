"""The REST API for accounts: the caller's subscriptions and tokens."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import include, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.serializers import CharField, ChoiceField, IntegerField, UUIDField

from accounts.access import highest_role
from accounts.examples import with_example
from accounts.models import ApiToken, Membership, Role, Subscription
from api.answers import GIVEN, Answer, Member
from api.fields import Document, InstantField, TextField, WordField
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.viewsets import HTTP_410, NO_STORE, ApiViewSet

ROLES = {role.label: role for role in Role}


class SubscriptionSerializer(Answer):
    id = Member(UUIDField, "The id of the subscription.", example="00000000-0000-0000-0000-000000000001")
    name = Member(CharField, "The short name.", example="default")
    role = Member(ChoiceField, "The caller's role in the subscription.", GIVEN, choices=list(ROLES), example="owner")
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")


class Subscriptions(ApiViewSet):
    """The caller's subscriptions. They are created and shared in the administration."""

    queryset = Subscription.objects.order_by("id")
    serializer_class = SubscriptionSerializer
    lookup_value_converter = "uuid"

    @extend_schema(operation_id="listSubscriptions", summary="List your subscriptions")
    def list(self, request):
        return self.list_response(lambda rows: rendered_subscriptions(request, rows))

    @extend_schema(operation_id="readSubscription", summary="Read a subscription")
    def retrieve(self, request, pk):
        rows = rendered_subscriptions(request, self.get_queryset().filter(pk=pk))
        if not rows:
            raise Http404
        return Response(rows[0])


def rendered_subscriptions(request, subscriptions) -> list[dict]:
    rows = list(subscriptions)
    memberships = Membership.objects.filter(user=request.user, subscription__in=rows)
    roles = dict(memberships.values_list("subscription_id", "role"))
    highest = highest_role(request)
    return [
        SubscriptionSerializer.render(row, role=min(Role(roles[row.id]), highest).label)
        for row in rows
        if row.id in roles
    ]


class TokenSerializer(Answer):
    id = Member(IntegerField, "The id of the token.", example=7)
    name = Member(CharField, "The name, for example of the program that uses the token.", example="deploy")
    prefix = Member(CharField, "The first characters of the token, for identification.", example="q7Rw2x")
    role = Member(
        ChoiceField,
        "The maximum role of the token. The user's own role limits it further.",
        lambda token: Role(token.role).label,
        choices=list(ROLES),
        example="operator",
    )
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    expiresAt = Member(
        InstantField,
        "The time at which the token expires, in UTC; null: never.",
        nullable=True,
        example="2027-01-01T00:00:00Z",
    )
    lastUsedAt = Member(
        InstantField,
        "The time of the last use, in UTC, accurate to one minute.",
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )


class IssuedTokenSerializer(TokenSerializer):
    token = Member(CharField, "The token. It is returned only once.", GIVEN, example="...")


@with_example({"name": "deploy", "role": "operator", "expiresAt": "2030-01-01T00:00:00Z"})
class TokenRequest(Document):
    name = TextField(
        min_length=1, max_length=100, help_text=("The name, for example of the program that uses the token.")
    )
    role = WordField(
        list(ROLES),
        default=Role.OWNER.label,
        help_text=("The maximum role of the token. The user's own role limits it further."),
    )
    expiresAt = InstantField(
        required=False, allow_null=True, help_text=("The time at which the token expires. Default: never.")
    )


class Tokens(ApiViewSet):
    """The caller's API tokens."""

    queryset = ApiToken.objects.none()
    serializer_class = TokenSerializer
    lookup_value_converter = "int"

    def get_queryset(self):
        return ApiToken.objects.filter(user=self.request.user).order_by("id")

    @extend_schema(operation_id="listTokens", summary="List your tokens")
    def list(self, request):
        return self.list_response(lambda rows: map(TokenSerializer.render, rows))

    @extend_schema(
        operation_id="createToken",
        summary="Create a token",
        description=(
            "With a token, this request requires a token with the role of owner, and the new token must not expire"
            " later than that token. A repeated request with the same key returns 200 with the token, without its"
            " text."
        ),
        request=TokenRequest,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: TokenSerializer, 201: IssuedTokenSerializer},
    )
    @repeatable(
        lambda view, request, pk: Response(TokenSerializer.render(get_object_or_404(view.get_queryset(), pk=pk)))
    )
    def create(self, request):
        data = self.read(TokenRequest)
        role, expires_at = ROLES[data["role"]], data.get("expiresAt")
        refuse_escalation(request, expires_at)
        if expires_at is not None and expires_at <= timezone.now():
            raise serializers.ValidationError({"expiresAt": ["must be in the future"]}, "out_of_range")
        token, text = ApiToken.objects.issue(request.user, data["name"], expires_at, role)
        return Response(IssuedTokenSerializer.render(token, token=text), 201, headers=NO_STORE)

    @extend_schema(
        operation_id="revokeToken",
        summary="Revoke a token",
        description=(
            "The token does not work any more. A token can revoke itself. To revoke other tokens, a token needs the"
            " role of owner."
        ),
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        token = get_object_or_404(self.get_queryset(), pk=pk)
        if isinstance(request.auth, ApiToken) and request.auth.role < Role.OWNER and request.auth != token:
            raise PermissionDenied("revoking another token requires a token with the role of owner")
        token.delete()
        return Response(status=204)


def refuse_escalation(request, expires_at) -> None:
    """Raise PermissionDenied if a token would create a token that may do more, or expires later, than itself."""
    own = request.auth
    if not isinstance(own, ApiToken):
        return
    if own.role < Role.OWNER:
        raise PermissionDenied("creating a token with a token requires the role of owner")
    if own.expires_at is not None and (expires_at is None or expires_at > own.expires_at):
        raise PermissionDenied("a token cannot create a token that expires later than itself")


router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("subscriptions", Subscriptions, basename="subscription")
router.register("tokens", Tokens, basename="token")

urlpatterns = [path("", include(router.urls))]
