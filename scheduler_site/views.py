"""The front door."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect


def front_door(request: HttpRequest) -> HttpResponse:
    """Lead staff to the desk, others who are signed in to the calendar, anyone else to sign-in."""
    if not request.user.is_authenticated:
        return redirect(settings.LOGIN_URL)
    return redirect("admin:index" if request.user.is_staff else "calendar:page")
