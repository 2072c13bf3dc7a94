"""Writes that are meant for one version of a resource: `ETag` names it, `If-Match` asks for it."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import APIException

IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` as you know it: 412 when it has been changed since.",
)


class Stale(APIException):
    """The resource is not what the caller believes it to be."""

    status_code = 412
    default_code = "stale"

    def __init__(self, current: str):
        super().__init__(f"it has been changed since: its ETag is {current} now")


def refuse_stale(request, current: str) -> None:
    """Raise Stale (412) when the caller's If-Match names other versions than the current one."""
    expected = request.headers.get("If-Match")
    if expected is None or expected.strip() == "*":
        return
    if current not in [tag.strip() for tag in expected.split(",")]:
        raise Stale(current)
