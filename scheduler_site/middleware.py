"""What every request passes through."""

import re
import uuid
from zoneinfo import ZoneInfo

from django.middleware import common
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from accounts.languages import ENGLISH, is_asked_of_browser, language_of
from scheduler_site.errors import answer, is_api, is_polled

UTF8 = ("utf-8", "utf8")
# more slashes than one come of a base address that ends with one
TOKEN_IN_PATH = re.compile(r"/+r/+([^/]+)/*(.*)", re.IGNORECASE | re.DOTALL)


class RequestIdMiddleware:
    """Give every request an id and every answer the header `x-ms-request-id`, as the resource manager does."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        request.id = str(uuid.uuid4())
        response = self.get_response(request)
        response["x-ms-request-id"] = request.id
        return response


class PathTokenMiddleware:
    """Take a machine's token out of the address `/r/<token>/metadata/...` before anything can write that down.

    The view finds it as the request's `path_token`.  What is at no such address stays below `/r`, where nothing is.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if found := TOKEN_IN_PATH.fullmatch(request.path_info):
            request.path_token, rest = found.groups()
            mounted_at = request.path.removesuffix(request.path_info)
            request.path_info = f"/{rest}" if rest.lower().startswith("metadata/") else "/r/"
            request.path = mounted_at + request.path_info
            request.META["PATH_INFO"] = request.path_info
        return self.get_response(request)


class PlainAddressMiddleware:
    """Take an API's address with and without a slash at its end, and text as UTF-8 only.

    The redirect that pages get for a missing slash would lose the body of a POST.
    """

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if is_polled(request):
            request.path_info = "/" + request.path_info.lstrip("/")
            request.encoding = "utf-8"  # machines say what they like of a body that is looked at as it is
        elif request.content_params.get("charset", "utf-8").lower() not in UTF8:
            return answer(request, 415, "text is sent as UTF-8")
        if is_api(request):
            request.path_info = request.path_info.rstrip("/")
        return self.get_response(request)


class CommonMiddleware(common.CommonMiddleware):
    """Django's, but machines that poll may call by whatever name or address: no address is built from it for them."""

    def process_request(self, request):
        return None if is_polled(request) else super().process_request(request)


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
