"""The limit of requests that one caller may make in a minute."""

from django.conf import settings
from django.utils import timezone
from rest_framework.throttling import BaseThrottle

from accounts.rate_limits import RateLimit, address_of

WINDOW_S = 60


class CallerThrottle(BaseThrottle):
    """Counts the requests of each account, over all its tokens. Anonymous requests count by their address."""

    def allow_request(self, request, view) -> bool:
        limit = RateLimit("requests", settings.API_REQUESTS_PER_MINUTE, WINDOW_S)
        if not limit.most:
            return True
        self.now = timezone.now()
        return limit.count(origin_of(request), self.now) <= limit.most

    def wait(self) -> float:
        return RateLimit("requests", settings.API_REQUESTS_PER_MINUTE, WINDOW_S).retry_after_s(self.now)


def origin_of(request) -> str:
    if request.user.is_authenticated:
        return f"user {request.user.pk}"
    return f"address {address_of(request)}"
