"""Who calls an API: a token, a user name with its password, or (Django REST framework's own) a signed-in browser."""

import base64
import binascii
import re
from datetime import datetime, timedelta

from django.contrib.auth import authenticate
from django.db.models import Q
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled

from accounts.limits import Limit, address_of
from accounts.models import ApiToken, User

REALM = "quando"
TOKEN_TEXT = re.compile(r"[A-Za-z0-9_-]{1,200}")
USE_PRECISION = timedelta(minutes=1)  # of ApiToken.last_used_at: a busy token is not a write with every request

FAILURES_OF_ADDRESS = Limit("failures-of-address", 100, window_s=300)
FAILURES_OF_NAME = Limit("failures-of-name", 10, window_s=300)  # of one user name from one address


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`; `request.auth` is the ApiToken."""

    def authenticate(self, request):
        text = credentials_of(request, b"bearer")
        if text is None:
            return None
        now = timezone.now()
        refuse_exhausted(request, None, now)
        token = ApiToken.objects.matching(text, now) if TOKEN_TEXT.fullmatch(text) else None
        if token is None:
            count_failure(request, None, now)
            raise AuthenticationFailed("this token is unknown, expired or revoked")
        note_use(token, now)
        return token.user, token

    def authenticate_header(self, request) -> str:
        return f'Bearer realm="{REALM}"'


class BasicAuthentication(BaseAuthentication):
    """`Authorization: Basic`, with the user name and password of an account."""

    def authenticate(self, request):
        encoded = credentials_of(request, b"basic")
        if encoded is None:
            return None
        name, password = decoded(encoded)
        username = self.username_of(name)
        now = timezone.now()
        refuse_exhausted(request, username, now)
        user = authenticate(request=request._request, username=username, password=password)
        if user is None:
            count_failure(request, username, now)
            raise AuthenticationFailed("the user name or the password is wrong")
        FAILURES_OF_NAME.forget(named_origin(request, username), now)
        return user, None

    def authenticate_header(self, request) -> str:
        return f'Basic realm="{REALM}", charset="UTF-8"'

    def username_of(self, name: str) -> str:
        return name


class MailOrNameAuthentication(BasicAuthentication):
    """The same, with an e-mail address in the place of the user name: that of one active user, and nobody's name."""

    def username_of(self, name: str) -> str:
        if "@" not in name:
            return name
        meant = User.objects.filter(Q(username=name) | Q(email__iexact=name), is_active=True)
        usernames = list(meant.values_list("username", flat=True)[:2])
        return usernames[0] if len(usernames) == 1 else name


def credentials_of(request, scheme: bytes) -> str | None:
    """What follows the scheme's name in the header; None when the header names another scheme or is absent."""
    name, _, rest = get_authorization_header(request).strip().partition(b" ")
    return rest.strip().decode("latin-1") if name.lower() == scheme else None


def decoded(encoded: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        raise AuthenticationFailed("Basic credentials are base64 of UTF-8 text") from None
    username, colon, password = text.partition(":")
    if not colon or "\0" in text:
        raise AuthenticationFailed("Basic credentials are a user name, a colon and a password")
    return username, password


def note_use(token: ApiToken, now: datetime) -> None:
    """Write when the token was last used, at most once in USE_PRECISION."""
    if token.last_used_at is None or token.last_used_at < now - USE_PRECISION:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_PRECISION)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


# Failed log-ins.  The check comes before the password is digested: guessing is not to cost us anything.


def refuse_exhausted(request, username: str | None, now: datetime) -> None:
    """Raise Throttled (429) when this address, or this address with this user name, has failed too often."""
    if FAILURES_OF_ADDRESS.is_exhausted(address_of(request), now):
        raise Throttled(FAILURES_OF_ADDRESS.wait_s(now), "too many failed log-ins from this address")
    if username is not None and FAILURES_OF_NAME.is_exhausted(named_origin(request, username), now):
        raise Throttled(FAILURES_OF_NAME.wait_s(now), "too many failed log-ins as this user")


def count_failure(request, username: str | None, now: datetime) -> None:
    FAILURES_OF_ADDRESS.count(address_of(request), now)
    if username is not None:
        FAILURES_OF_NAME.count(named_origin(request, username), now)


def named_origin(request, username: str) -> str:
    return f"{address_of(request)} {username.casefold()}"


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "bearer", "description": "An API token, made at `/api/tokens`."}


class BasicScheme(OpenApiAuthenticationExtension):
    target_class = BasicAuthentication
    name = "basic"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "basic", "description": "The user name and password of an account."}
