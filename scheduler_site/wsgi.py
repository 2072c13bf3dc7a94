"""The WSGI application that a web process serves."""

import django
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


end_on_wrong_settings()
django.setup(set_prefix=False)
application = Application()
