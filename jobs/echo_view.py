"""A page that returns the request that it received: a target for sample jobs and first tests.

The page exists only while the sample jobs exist.
"""

import re

from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from jobs.actions.secret_names import is_secret_header, is_secret_member

BODY_LIMIT = 8192  # bytes of a body that are returned, as many as a job can send


@csrf_exempt
def echo(request: HttpRequest) -> JsonResponse:
    """Respond with the status of the query parameter `status`, 200 to 599, or 200; credentials are not shown."""
    status = request.GET.get("status", "200")
    if not re.fullmatch(r"[2-5][0-9]{2}", status):
        message = f"must be a number from 200 to 599, not {status[:200]!r}"
        return JsonResponse({"error": {"code": "out_of_range", "message": message, "target": "status"}}, status=400)
    content = {
        "method": request.method,
        "path": request.path,
        "query": {name: value for name, value in request.GET.items() if not is_secret_member(name)},
        "headers": {
            name: value
            for name, value in request.headers.items()
            if not is_secret_header(name) and "forwarded" not in name.lower()
        },
        "body": request.read(BODY_LIMIT).decode(errors="replace"),
    }
    response = JsonResponse(content, status=int(status))
    response._has_been_logged = True  # type: ignore[attr-defined]  # a requested error status is not an error of this server
    return response
