"""Our own REST resources about who may do what: the caller's subscriptions and tokens."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import include, path
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from accounts.access import highest_role
from accounts.fields import InstantField, TextField, WordField, read
from accounts.models import ApiToken, Membership, Role, Subscription
from accounts.viewsets import GONE, NO_STORE, ApiViewSet

ROLES = {role.label: role for role in Role}


class SubscriptionSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField(help_text="The short name.")
    role = serializers.ChoiceField(list(ROLES), help_text="What the caller may do in it.")
    createdAt = InstantField()


class Subscriptions(ApiViewSet):
    """The subscriptions that the caller is a member of.  They are made and shared in the administration."""

    queryset = Subscription.objects.order_by("id")
    serializer_class = SubscriptionSerializer
    lookup_value_converter = "uuid"

    @extend_schema(operation_id="listSubscriptions", summary="List your subscriptions")
    def list(self, request):
        return self.get_paginated_response(rendered_subscriptions(request, self.page()))

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
    most = highest_role(request)
    return [
        {
            "id": row.id,
            "name": row.name,
            "role": min(Role(roles[row.id]), most).label,
            "createdAt": row.created_at,
        }
        for row in rows
        if row.id in roles
    ]


class TokenSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    prefix = serializers.CharField(help_text="The first characters of its text, to tell tokens apart.")
    role = serializers.ChoiceField(list(ROLES))
    createdAt = InstantField()
    expiresAt = InstantField(allow_null=True)
    lastUsedAt = InstantField(allow_null=True, help_text="To the minute.")


class IssuedTokenSerializer(TokenSerializer):
    token = serializers.CharField(help_text="The text of the token.  It is shown this once.")


class TokenRequest(serializers.Serializer):
    name = TextField(min_length=1, max_length=100, help_text="What will use it.")
    role = WordField(
        list(ROLES), default=Role.OWNER.label, help_text="The most it may do; its user's own role limits it further."
    )
    expiresAt = InstantField(required=False, allow_null=True, help_text="By default it does not expire.")


class Tokens(ApiViewSet):
    """The caller's API tokens."""

    queryset = ApiToken.objects.none()
    serializer_class = TokenSerializer
    lookup_value_converter = "int"

    def get_queryset(self):
        return ApiToken.objects.filter(user=self.request.user).order_by("id")

    @extend_schema(operation_id="listTokens", summary="List your tokens")
    def list(self, request):
        return self.get_paginated_response([rendered_token(token) for token in self.page()])

    @extend_schema(
        operation_id="createToken",
        summary="Make a token",
        description="A token can make further ones only with the role of owner, and none that expires later.",
        request=TokenRequest,
        responses={201: IssuedTokenSerializer},
    )
    def create(self, request):
        wanted = read(TokenRequest, request.data)
        role, expires_at = ROLES[wanted["role"]], wanted.get("expiresAt")
        refuse_escalation(request, expires_at)
        if expires_at is not None and expires_at <= timezone.now():
            raise serializers.ValidationError({"expiresAt": ["must be in the future"]}, "out_of_range")
        token, text = ApiToken.objects.issue(request.user, wanted["name"], expires_at, role)
        return Response({**rendered_token(token), "token": text}, 201, headers=NO_STORE)

    @extend_schema(
        operation_id="revokeToken",
        summary="Revoke a token",
        description="It is refused from then on.  Another token than itself can only be revoked by an owner's.",
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        token = get_object_or_404(self.get_queryset(), pk=pk)
        if isinstance(request.auth, ApiToken) and request.auth.role < Role.OWNER and request.auth != token:
            raise PermissionDenied("a token takes the role of owner to revoke another")
        token.delete()
        return Response(status=204)


def refuse_escalation(request, expires_at) -> None:
    """Raise PermissionDenied where a token would make one that may do more, or for longer, than itself."""
    own = request.auth
    if not isinstance(own, ApiToken):
        return
    if own.role < Role.OWNER:
        raise PermissionDenied("a token takes the role of owner to make another")
    if own.expires_at is not None and (expires_at is None or expires_at > own.expires_at):
        raise PermissionDenied("a token cannot make one that expires later than itself")


def rendered_token(token: ApiToken) -> dict:
    return {
        "id": token.id,
        "name": token.name,
        "prefix": token.prefix,
        "role": Role(token.role).label,
        "createdAt": token.created_at,
        "expiresAt": token.expires_at,
        "lastUsedAt": token.last_used_at,
    }


router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("subscriptions", Subscriptions, basename="subscription")
router.register("tokens", Tokens, basename="token")

urlpatterns = [path("", include(router.urls))]
