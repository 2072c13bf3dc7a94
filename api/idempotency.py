"""Idempotency keys: a caller's key makes a creation repeatable.  The same key answers the resource made before.

A key belongs to an account and to the address that it was sent to.  It is stored for KEPT, with a digest of the body
and the id of the created resource.  The answer itself is not stored: a repeated request answers the resource in its
current state, without secrets that are shown only once.  A request that is refused stores no key, so that the caller
can send the key again with another body.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps

from django.db import transaction
from django.http import Http404
from django.utils import timezone
from django.utils.crypto import salted_hmac
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ValidationError

from accounts.models import IdempotencyKey

KEPT = timedelta(hours=24)
KEY_LENGTH = 100
HEADER = "Idempotency-Key"
MEMBER = "key"
KEY_SCHEMA = {"type": "string", "example": "release-2026-01"}

IDEMPOTENCY_KEY = OpenApiParameter(
    HEADER,
    KEY_SCHEMA,
    OpenApiParameter.HEADER,
    description=(
        f"Makes the request idempotent for {KEPT // timedelta(hours=1)} hours: a repeated request with the same key"
        " and the same body returns, with 200, what the first request created."
    ),
)
IDEMPOTENCY_KEY_OR_MEMBER = OpenApiParameter(
    HEADER,
    KEY_SCHEMA,
    OpenApiParameter.HEADER,
    description=(f"An alternative to the member `{MEMBER}`, with the same meaning."),
)


class KeyReused(APIException):
    """The key was sent before, with another body."""

    status_code = 422
    default_code = "key_reused"

    def __init__(self, target: str):
        super().__init__({target: ["was already used with another body; use another key"]}, self.default_code)


class MadeIsGone(APIException):
    """The resource that was created with the key has been deleted, or the caller may no longer see it."""

    status_code = 409
    default_code = "conflict"

    def __init__(self, target: str):
        super().__init__(
            {
                target: [
                    ("belongs to a resource that was deleted or that is not visible to you any more; use another key")
                ]
            },
            self.default_code,
        )


def repeatable(
    answer_again: Callable[..., Response], id_member: str | None = "id", most: int = KEY_LENGTH, is_member: bool = False
) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """Decorate a method of a view that creates a resource: with a key, the method creates the resource only once.

    `id_member` is the member of the answer that has the id of the created resource; None: the id is not stored.
    `answer_again(view, request, id, ...)` answers the resource in its current state; the further arguments are those
    of the method.  It raises Http404 when the resource is gone.  The key has at most `most` characters.  With
    `is_member` the key may also be the member MEMBER of the body.
    """

    def decorate(make: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(make)
        def make_once(view, request: Request, *args, **kwargs) -> Response:
            body = request.data
            in_body = body.get(MEMBER) if is_member and isinstance(body, dict) else None
            if not (in_body is None or (isinstance(in_body, str) and 1 <= len(in_body) <= most)):
                return make(view, request, *args, **kwargs)  # the view refuses this member
            key = idempotency_key(request, in_body, most)
            if key is None:
                return make(view, request, *args, **kwargs)
            target = HEADER if HEADER in request.headers else MEMBER
            with transaction.atomic():
                row, is_new = claim(request, key, body)
                if is_new:
                    response = make(view, request, *args, **kwargs)
                    created_id = str(response.data[id_member]) if id_member else ""
                    IdempotencyKey.objects.filter(pk=row.pk).update(created_id=created_id)
                    return response
            if row.digest != digest_of_body(body):
                raise KeyReused(target)
            try:
                return answer_again(view, request, row.created_id, *args, **kwargs)
            except Http404:
                raise MadeIsGone(target) from None

        return make_once

    return decorate


def claim(request: Request, key: str, body: object) -> tuple[IdempotencyKey, bool]:
    """Return the row of the key, and True if the row is new.

    A concurrent request with the same key waits until this transaction ends.
    """
    now = timezone.now()
    own = {"user": request.user, "path": request.path_info.rstrip("/"), "key": key}
    IdempotencyKey.objects.filter(**own, ends_at__lte=now).delete()
    return IdempotencyKey.objects.get_or_create(**own, defaults={"digest": digest_of_body(body), "ends_at": now + KEPT})


def digest_of_body(body: object) -> str:
    """Return a digest of the body without MEMBER; the order of members does not matter.

    The digest is keyed, because a body may contain a weak password.
    """
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != MEMBER}
    text = json.dumps(body or {}, sort_keys=True, separators=(",", ":"))
    return salted_hmac("accounts.keys", text, algorithm="sha256").hexdigest()


def idempotency_key(request: Request, key: str | None = None, most: int = KEY_LENGTH) -> str | None:
    """Return the key in the header, or else `key`, the checked member of the body.

    Raise ValidationError for a header that is malformed, longer than `most` characters, or another key than `key`.
    """
    header = request.headers.get(HEADER)
    if header is None:
        return key
    if not 1 <= len(header) <= most or not (header.isascii() and header.isprintable()):
        raise ValidationError({HEADER: [f"must be 1 to {most} printable ASCII characters"]})
    if key not in (None, header):
        raise ValidationError({MEMBER: [f"is not the key in the header {HEADER}"]})
    return header
