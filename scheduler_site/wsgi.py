"""The WSGI application.  `scheduler_site.asgi` calls it with complete requests."""

import logging

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.functional import cached_property
from django.utils.http import parse_header_parameters

from scheduler_site.entry import exit_on_bad_settings
from scheduler_site.path_secrets import AccessLogFilter


class Request(WSGIRequest):
    """Django's request with two changes: text is UTF-8 whatever Content-Type says, and quotes in cookies stay.

    Django decodes the address with the charset that the caller names, before any middleware or error handler runs.  A
    charset that is not for text, such as `bz2_codec`, would be a 500 without a body of ours.  PlainAddressMiddleware
    refuses other charsets.

    Django removes quotes from cookies with Python's `http.cookies`, which takes quadratic time before Python 3.11.10
    (CVE-2024-7592): one header of 60 KB occupied a thread for 20 seconds.  No cookie of Quando has quotes.
    """

    @cached_property
    def COOKIES(self) -> dict[str, str]:  # type: ignore[override]  # noqa: N802  # an attribute in the types of Django
        header = self.environ.get("HTTP_COOKIE", "").encode("latin-1").decode(errors="replace")
        pairs = (pair.partition("=") for pair in header.split(";") if "=" in pair)
        return {name.strip(): value.strip() for name, _, value in pairs}

    def _set_content_type_params(self, meta):
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (LookupError, TypeError, ValueError):  # TypeError: of numbered parts beside one without a number
            self.content_type, self.content_params = "unreadable", {"charset": "unreadable"}


class Application(WSGIHandler):
    request_class = Request


exit_on_bad_settings()
django.setup(set_prefix=False)
logging.getLogger("granian.access").addFilter(AccessLogFilter())
application = Application()
