"""What every request passes through."""

import uuid
from zoneinfo import ZoneInfo

from django.utils import timezone


class RequestIdMiddleware:
    """Give every request an id and every answer the header `x-ms-request-id`, as the resource manager does."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        request.id = str(uuid.uuid4())
        response = self.get_response(request)
        response["x-ms-request-id"] = request.id
        return response


class ViewerZoneMiddleware:
    """Show times in the zone of who is signed in; UTC to anyone else."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        with timezone.override(ZoneInfo(getattr(request.user, "time_zone", "UTC"))):
            return self.get_response(request)
