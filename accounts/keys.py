"""The caller's own key of a creation, which makes it repeatable: the same key answers what it made the first time."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import ValidationError

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", OpenApiTypes.STR, OpenApiParameter.HEADER, description="The same as the member `key`."
)


def key_of(request, key: str | None, most: int) -> str | None:
    """The one in the header, of at most `most` characters, or else the member `key`, already checked."""
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return key
    if not 1 <= len(header) <= most or not (header.isascii() and header.isprintable()):
        raise ValidationError({"Idempotency-Key": [f"must be 1 to {most} printable ASCII characters"]})
    if key not in (None, header):
        raise ValidationError({"key": ["is not the key in the header Idempotency-Key"]})
    return header
