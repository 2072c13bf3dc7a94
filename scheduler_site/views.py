"""The front door."""

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse


def front_door(request: HttpRequest) -> HttpResponseRedirect:
    """Lead staff to the desk, anyone else to sign-in."""
    return HttpResponseRedirect(reverse("admin:index" if request.user.is_staff else "admin:login"))
