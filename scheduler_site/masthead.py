"""What every page's masthead shows: where one can go, the viewer's zone and time, and the pip on the day ruler."""

from django.urls import reverse
from django.utils import timezone

from accounts.models import HourCycle

# name, view, icon, the key after "g", and how the address begins while one is there
SECTIONS = (
    ("Home", "admin:index", "home", "h", ""),
    ("Jobs", "admin:jobs_job_changelist", "list", "j", "jobs/job/"),
    ("Triggers", "admin:triggers_trigger_changelist", "repeat", "t", "triggers/trigger/"),
    ("Runs", "admin:jobs_run_changelist", "run", "r", "jobs/run/"),
    ("Collections", "admin:jobs_jobcollection_changelist", "copy", "c", "jobs/jobcollection/"),
)
HOUSEKEEPING = "django_celery_beat"


def masthead(request) -> dict:
    zone = timezone.get_current_timezone_name()
    now = timezone.localtime(timezone.now())
    user = getattr(request, "user", None)  # none yet, where a request is refused before it is asked who sent it
    return {
        "viewer_now": now,
        "viewer_zone": zone,
        "viewer_place": zone.rpartition("/")[2].replace("_", " "),
        "viewer_offset": f"{now:%z}"[:3] + ":" + f"{now:%z}"[3:5],
        "hour_cycle": getattr(user, "hour_cycle", HourCycle.H24),
        **({"sections": sections(request), "settings_places": settings_places(user)} if user and user.is_staff else {}),
    }


def sections(request) -> list[dict]:
    home = reverse("admin:index")
    here = request.path.removeprefix(home) if request.path.startswith(home) else None
    return [
        {
            "name": name,
            "url": reverse(view),
            "icon": icon,
            "key": key,
            "current": here is not None and (here.startswith(start) if start else not here),
        }
        for name, view, icon, key, start in SECTIONS
    ]


def settings_places(user) -> list[dict]:
    """Where settings live, for the account's menu."""
    places = [("Subscriptions", reverse("admin:accounts_subscription_changelist"), "operation")]
    if user.has_perm("accounts.view_user"):
        places.append(("Users", reverse("admin:accounts_user_changelist"), "user"))
    if user.has_module_perms(HOUSEKEEPING):
        places.append(("Housekeeping", reverse("admin:app_list", args=[HOUSEKEEPING]), "wrench"))
    return [{"name": name, "url": url, "icon": icon} for name, url, icon in places]
