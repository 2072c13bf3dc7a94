"""A page that returns the request that it received: a target for sample jobs and first tests.

The page exists only while the sample jobs exist.
"""

import re
from collections.abc import Iterable

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

BODY_LIMIT = 8192  # bytes of a body that are returned, as many as a job can send
KEPT_BACK = re.compile(
    r"auth|cookie|token|secret|password|api-?key|credential|signature|^sig$|forwarded", re.IGNORECASE
)


@csrf_exempt
def echo(request: HttpRequest) -> JsonResponse:
    """Answer with the status of the query parameter `status`, 200 to 599, or 200; credentials are not shown."""
    status = request.GET.get("status", "200")
    if not re.fullmatch(r"[2-5][0-9]{2}", status):
        message = f"must be a number from 200 to 599, not {status[:200]!r}"
        return JsonResponse({"error": {"code": "out_of_range", "message": message, "target": "status"}}, status=400)
    content = {
        "method": request.method,
        "path": request.path,
        "query": shown(request.GET.items()),
        "headers": shown(request.headers.items()),
        "body": request.read(BODY_LIMIT).decode(errors="replace"),
    }
    response = JsonResponse(content, status=int(status))
    response._has_been_logged = True  # type: ignore[attr-defined]  # a requested error status is not an error of this server
    return response


def shown(items: Iterable[tuple[str, object]]) -> dict[str, object]:
    return {name: value for name, value in items if not KEPT_BACK.search(name)}
