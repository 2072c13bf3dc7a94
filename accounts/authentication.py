"""Authentication for the APIs: with a token, or with a user name and its password.

Signed-in browsers use SessionAuthentication of Django REST framework.
"""

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

from accounts.models import ApiToken, User, users_with_email
from accounts.rate_limits import RateLimit, address_of
from accounts.sign_in_limits import SignInAttempt

REALM = "quando"
TOKEN_TEXT = re.compile(r"[A-Za-z0-9_-]{1,200}")
USE_PRECISION = timedelta(minutes=1)  # of ApiToken.last_used_at, so that not every request writes to the database

# nobody guesses 256 bits: this limit tells programs to stop
WRONG_TOKENS = RateLimit("wrong-tokens-of-address", 100, window_s=300)


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`; `request.auth` is the ApiToken."""

    def authenticate(self, request):
        text = credentials_of(request, b"bearer")
        if text is None:
            return None
        now = timezone.now()
        token = ApiToken.objects.matching(text, now) if TOKEN_TEXT.fullmatch(text) else None
        if token is None:
            # only now: others at the same address go on with their tokens
            if WRONG_TOKENS.is_exhausted(address_of(request), now):
                raise Throttled(WRONG_TOKENS.retry_after_s(now), "too many failed sign-ins from this address")
            WRONG_TOKENS.count(address_of(request), now)
            raise AuthenticationFailed("this token is unknown, expired or revoked")
        record_use(token, now)
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
        attempt = SignInAttempt(request, username, timezone.now())
        attempt.refuse_exhausted()
        user = authenticate(request=request._request, username=username, password=password)
        if user is None:
            attempt.count_failure()
            raise AuthenticationFailed("the user name or the password is wrong")
        attempt.record_success()
        return user, None

    def authenticate_header(self, request) -> str:
        return f'Basic realm="{REALM}", charset="UTF-8"'

    def username_of(self, name: str) -> str:
        return name


class MailOrNameAuthentication(BasicAuthentication):
    """Basic authentication that also takes an e-mail address as the user name, unless a user has it as user name."""

    def username_of(self, name: str) -> str:
        if "@" not in name or User.objects.filter(username=name).exists():
            return name
        return users_with_email(name).values_list("username", flat=True).first() or name


def credentials_of(request, scheme: bytes) -> str | None:
    """Return the text after the scheme in the header Authorization; None for another scheme or without the header."""
    name, _, rest = get_authorization_header(request).strip().partition(b" ")
    return rest.strip().decode("latin-1") if name.lower() == scheme else None


def decoded(encoded: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, ValueError):
        raise AuthenticationFailed("Basic credentials must be UTF-8 text in Base64") from None
    username, colon, password = text.partition(":")
    if not colon or "\0" in text:
        raise AuthenticationFailed("Basic credentials must consist of a user name, a colon and a password")
    return username, password


def record_use(token: ApiToken, now: datetime) -> None:
    """Store when the token was last used, at most once in USE_PRECISION."""
    if token.last_used_at is None or token.last_used_at < now - USE_PRECISION:
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_PRECISION)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "bearer", "description": "An API token, created at `/api/tokens`."}


class BasicScheme(OpenApiAuthenticationExtension):
    target_class = BasicAuthentication
    name = "basic"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "basic", "description": "The user name and password of an account."}
