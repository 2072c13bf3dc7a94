"""What every request passes through."""

import uuid
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from accounts.languages import ENGLISH, is_asked_of_browser, language_of
from scheduler_site.errors import answer, is_api

UTF8 = ("utf-8", "utf8")


class RequestIdMiddleware:
    """Give every request an id and every answer the header `x-ms-request-id`, as the resource manager does."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        request.id = str(uuid.uuid4())
        response = self.get_response(request)
        response["x-ms-request-id"] = request.id
        return response


class PlainAddressMiddleware:
    """Take an API's address with and without a slash at its end, and text as UTF-8 only.

    The redirect that pages get for a missing slash would lose the body of a POST.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if request.content_params.get("charset", "utf-8").lower() not in UTF8:
            return answer(request, 415, "text is sent as UTF-8")
        if is_api(request):
            request.path_info = request.path_info.rstrip("/")
        return self.get_response(request)


class ViewerLanguageMiddleware:
    """Speak the viewer's language on pages.  The APIs speak English, and so does the administration with its staff."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        is_administration = request.user.is_staff and request.path.startswith(reverse("admin:index"))
        if is_api(request) or is_administration:
            with translation.override(ENGLISH):
                return self.get_response(request)
        language = language_of(request)
        with translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        if is_asked_of_browser(request):
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


class ViewerZoneMiddleware:
    """Show times in the zone of who is signed in; UTC to anyone else."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        with timezone.override(ZoneInfo(getattr(request.user, "time_zone", "UTC"))):
            return self.get_response(request)
