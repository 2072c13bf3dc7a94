"""The health check for load balancers and monitors."""

from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from jobs.models import Process


@never_cache
def health(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database answers, and a beat and a worker have reported themselves recently; else 503."""
    try:
        alive = list(Process.objects.alive(timezone.now()).values_list("kind", flat=True))
    except DatabaseError:
        alive = None
    parts = {
        "database": alive is not None,
        "beat": Process.Kind.BEAT in (alive or ()),
        "worker": Process.Kind.WORKER in (alive or ()),
    }
    response = JsonResponse(parts, status=200 if all(parts.values()) else 503)
    response._has_been_logged = True  # type: ignore[attr-defined]  # no log line for a 503: the caller decides whether it matters
    return response
