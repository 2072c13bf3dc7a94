"""The WSGI application that a web process serves."""

from io import BytesIO

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters

from scheduler_site.entry import end_on_wrong_settings


class Request(WSGIRequest):
    """Django's request, except that its text is UTF-8 whatever its Content-Type says.

    Django decodes the address with the charset that the caller names, before any middleware or error handler is
    there: one that is not of text, such as `bz2_codec`, would be a bare 500.  PlainAddressMiddleware refuses others.
    """

    def _set_content_type_params(self, meta):
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (LookupError, ValueError):
            self.content_type, self.content_params = "unreadable", {"charset": "unreadable"}


class Application(WSGIHandler):
    request_class = Request

    def __call__(self, environ, start_response):
        if "CONTENT_LENGTH" not in environ and environ.get("wsgi.input_terminated"):
            measure(environ)
        return super().__call__(environ, start_response)


def measure(environ) -> None:
    """Give a body that comes in pieces its length, without which Django takes it for an empty one.

    Of one that is longer than any may be, enough is read to have it refused as such.
    """
    body = environ["wsgi.input"].read(2 * settings.BODY_LIMIT)
    environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}


end_on_wrong_settings()
django.setup(set_prefix=False)
application = Application()
