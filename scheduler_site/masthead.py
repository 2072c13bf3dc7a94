"""What every page's masthead shows: the viewer's zone, the time in it and the pip on the day ruler."""

from django.utils import timezone


def masthead(request) -> dict:
    now = timezone.localtime(timezone.now())
    return {"viewer_now": now, "viewer_zone": timezone.get_current_timezone_name()}
