"""How many requests one caller may make in a minute."""

from django.conf import settings
from django.utils import timezone
from rest_framework.throttling import BaseThrottle

from accounts.limits import Limit, address_of
from accounts.models import ApiToken

WINDOW_S = 60


class CallerThrottle(BaseThrottle):
    """Counts for each token, else for each user, and for the address of those who are not signed in."""

    def allow_request(self, request, view) -> bool:
        limit = Limit("requests", settings.API_REQUESTS_PER_MINUTE, WINDOW_S)
        if not limit.most:
            return True
        self.now = timezone.now()
        return limit.count(origin_of(request), self.now) <= limit.most

    def wait(self) -> float:
        return Limit("requests", settings.API_REQUESTS_PER_MINUTE, WINDOW_S).wait_s(self.now)


def origin_of(request) -> str:
    if isinstance(request.auth, ApiToken):
        return f"token {request.auth.pk}"
    if request.user.is_authenticated:
        return f"user {request.user.pk}"
    return f"address {address_of(request)}"
