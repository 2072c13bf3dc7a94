"""The address `/`, and the page that sample jobs call."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.csrf import csrf_exempt

from jobs.echo_view import echo
from scheduler_site import demo_data


def home(request: HttpRequest) -> HttpResponse:
    """Redirect to the home page of the administration; without access to it to the calendar; signed out to sign-in."""
    if not request.user.is_authenticated:
        return redirect(settings.LOGIN_URL)
    return redirect("admin:index" if request.user.can_open_administration else "calendar:page")


@csrf_exempt
def sample_target(request: HttpRequest) -> HttpResponse:
    """Answer to anyone with the request's own content, as long as the sample collections exist; else 404.

    Every web process checks this in the database.
    """
    if not demo_data.are_loaded():
        raise Http404
    return echo(request)
