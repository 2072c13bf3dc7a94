"""What answers of several resources have in common."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiResponse
from rest_framework.response import Response

GONE = OpenApiResponse(description="It is gone.")


def created(address: str, document: Mapping[str, Any]) -> Response:
    return Response(document, 201, headers={"Location": address})
