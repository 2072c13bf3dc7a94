"""Refresh open pages: answer with the parts of a page that can change, or with 304 when none has changed.

The element `refresh` of a page requests the page's own address repeatedly.  Relative times and form tokens
differ in every answer, so they do not count as a change.
"""

import hashlib
import re

from django.http import HttpResponse
from django.utils.cache import get_conditional_response

SOURCE = "refresh"  # the id of the element that sends the request
VOLATILE = re.compile(r'(<time [^<>]*data-relative="\w+">)[^<]*|name="csrfmiddlewaretoken" value="[^"]*"')


def is_refresh(request) -> bool:
    return request.htmx.trigger == SOURCE


class RefreshMiddleware:
    """Replace answers to refresh requests.  Must come after the middleware of django-htmx."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_template_response(self, request, response):
        if request.method == "GET" and is_refresh(request):
            response.add_post_render_callback(lambda rendered: parts_of(request, rendered))
        return response


def parts_of(request, response: HttpResponse) -> HttpResponse | None:
    """Return the parts of the rendered page with an ETag; 304 without a body if the caller has the same parts."""
    html = "".join(getattr(request, "parts", ()))
    response.content = html
    digest = hashlib.sha256(VOLATILE.sub(r"\1", html).encode()).hexdigest()
    etag = f'"{digest[:32]}"'
    response["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=response)
