"""The language of a viewer: from the account, the last choice in the browser, or what the browser asks for."""

from django.conf import settings
from django.utils.translation import get_language_from_request

ENGLISH = "en"
CHOICES = dict(settings.LANGUAGES)


def language_of(request) -> str:
    """Return the code of one of the languages in the setting LANGUAGES."""
    own = getattr(request.user, "language", "")
    return own if own in CHOICES else get_language_from_request(request)


def is_asked_of_browser(request) -> bool:
    """Return True if the browser decides the language: another browser may get the same address in another one."""
    return getattr(request.user, "language", "") not in CHOICES


def remember(response, code: str) -> None:
    """Store the language choice of somebody who is not signed in, in a cookie."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        code,
        max_age=settings.LANGUAGE_COOKIE_AGE,
        secure=settings.LANGUAGE_COOKIE_SECURE,
        httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
        samesite=settings.LANGUAGE_COOKIE_SAMESITE,
    )
