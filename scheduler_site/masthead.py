"""What every page's masthead shows: the viewer's zone, the time in it and the pip on the day ruler."""

from django.utils import timezone


def masthead(request) -> dict:
    zone = timezone.get_current_timezone_name()
    now = timezone.localtime(timezone.now())
    return {
        "viewer_now": now,
        "viewer_zone": zone,
        "viewer_place": zone.rpartition("/")[2].replace("_", " "),
        "viewer_offset": f"{now:%z}"[:3] + ":" + f"{now:%z}"[3:5],
    }
