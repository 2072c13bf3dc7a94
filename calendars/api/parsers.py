"""Parsers of an iCalendar file in a request: as the body, or as a file in a form."""

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import UnreadablePostError
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, MultiPartParser

FORM_LENGTH = 8_192  # bytes of a form in addition to its file


class CalendarParser(BaseParser):
    media_type = "text/calendar"

    def parse(self, stream, media_type=None, parser_context=None) -> bytes:
        refuse_longer(parser_context, settings.BODY_LIMIT)
        try:
            body = stream.read(settings.BODY_LIMIT + 1)
        except (UnreadablePostError, OSError):
            raise ParseError("the body ended before its announced length", "unreadable") from None
        if len(body) > settings.BODY_LIMIT:
            raise RequestDataTooBig
        return body


class BytesParser(CalendarParser):
    """The same parser for a media type that generated clients can send."""

    media_type = "application/octet-stream"


class FileParser(MultiPartParser):
    """Parse a form with exactly one file, named `file`."""

    def parse(self, stream, media_type=None, parser_context=None) -> bytes:
        refuse_longer(parser_context, settings.BODY_LIMIT + FORM_LENGTH)
        form = super().parse(stream, media_type, parser_context)
        files = form.files.getlist("file")
        if len(files) != 1 or len(form.files) > 1:
            raise ParseError({"file": "must be given exactly once"}, "required")
        if files[0].size > settings.BODY_LIMIT:
            raise RequestDataTooBig
        return files[0].read()


def refuse_longer(parser_context, limit: int) -> None:
    """Raise RequestDataTooBig (413) for a longer Content-Length, before the body is read."""
    try:
        announced = int(parser_context["request"].META.get("CONTENT_LENGTH") or 0)
    except (KeyError, TypeError, ValueError):
        announced = 0
    if announced > limit:
        raise RequestDataTooBig
