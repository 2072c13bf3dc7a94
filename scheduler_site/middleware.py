"""Middleware for every request: its id, its address and encoding, the viewer's language and time zone."""

import uuid
from zoneinfo import ZoneInfo

from django.middleware import common
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from accounts.languages import ENGLISH, is_asked_of_browser, language_of
from scheduler_site.errors import answer, is_api, is_polled

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
    """Accept API addresses with and without a slash at the end, and only text in UTF-8.

    Pages redirect to the address with a slash; for an API such a redirect would lose the body of a POST.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if is_polled(request):
            request.path_info = "/" + request.path_info.lstrip("/")
            request.encoding = "utf-8"  # whatever charset a machine names: the view reads the bytes of the body
        elif request.content_params.get("charset", "utf-8").lower() not in UTF8:
            return answer(request, 415, "text is sent as UTF-8")
        if is_api(request):
            request.path_info = request.path_info.rstrip("/")
        return self.get_response(request)


class CommonMiddleware(common.CommonMiddleware):
    """Django's CommonMiddleware, except for machines that poll: they may use any host name or address.

    This is safe because no link for them is built from it.
    """

    def process_request(self, request):
        return None if is_polled(request) else super().process_request(request)


class ViewerLanguageMiddleware:
    """Show pages in the viewer's language.  The APIs and the administration are in English."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if is_api(request) or _is_administration(request):
            with translation.override(ENGLISH):
                return self.get_response(request)
        language = language_of(request)
        with translation.override(language):
            response = self.get_response(request)
        response.headers.setdefault("Content-Language", language)
        if is_asked_of_browser(request):
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


def _is_administration(request) -> bool:
    if not request.user.is_authenticated or not request.path.startswith(reverse("admin:index")):
        return False
    return request.user.can_open_administration


class ViewerZoneMiddleware:
    """Show times in the time zone of the user who is signed in, and in UTC to anyone else."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        with timezone.override(ZoneInfo(getattr(request.user, "time_zone", "UTC"))):
            return self.get_response(request)
