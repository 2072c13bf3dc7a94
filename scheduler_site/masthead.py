"""What every page's masthead shows: where one can go, the viewer's zone and time, and the pip on the day ruler."""

from dataclasses import dataclass

from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import HourCycle, Role
from maintenance.models import Notice

CALENDAR = "calendar:page"
QUERY = "q"


@dataclass(frozen=True, slots=True)
class Section:
    """A place of the main navigation; `key` goes there after a "g"."""

    name: Promise
    view: str
    icon: str
    key: str
    is_of_staff: bool = True
    is_exact: bool = False  # whether one is there at its own address only, and not below it
    is_maintenance: bool = False

    @property
    def url(self) -> str:
        return reverse(self.view)

    def holds(self, path: str) -> bool:
        return path == self.url if self.is_exact else path.startswith(self.url)


SECTIONS = (
    Section(_("Home"), "admin:index", "home", "h", is_exact=True),
    Section(_("Calendar"), CALENDAR, "calendar", "c", is_of_staff=False),
    Section(_("Jobs"), "admin:jobs_job_changelist", "list", "j"),
    Section(_("Triggers"), "admin:triggers_trigger_changelist", "repeat", "t"),
    Section(_("Runs"), "admin:jobs_run_changelist", "run", "r"),
    Section(_("Collections"), "admin:jobs_jobcollection_changelist", "copy", "o"),
    Section(_("Maintenance"), "maintenance:page", "wrench", "m", is_of_staff=False, is_maintenance=True),
)
HOUSEKEEPING = "django_celery_beat"


def masthead(request) -> dict:
    zone = timezone.get_current_timezone_name()
    now = timezone.localtime(timezone.now())
    user = getattr(request, "user", None)  # none yet, where a request is refused before it is asked who sent it
    context = {
        "viewer_now": now,
        "viewer_zone": zone,
        "viewer_place": zone.rpartition("/")[2].replace("_", " "),
        "viewer_offset": f"{now:%z}"[:3] + ":" + f"{now:%z}"[3:5],
        "hour_cycle": getattr(user, "hour_cycle", HourCycle.H24),
    }
    if user is None or not user.is_authenticated:
        return context
    sections = [section for section in SECTIONS if user.is_staff or not section.is_of_staff]
    current = next((section for section in sections if section.holds(request.path)), None)
    return {
        **context,
        "sections": sections,
        "here": current,
        "waiting_notices": Notice.objects.visible_to(user, Role.OPERATOR).waiting(now).count,  # where it is shown
        "masthead_search": search(request, current),
        "settings_places": settings_places(user) if user.is_staff else [],
    }


def search(request, current: Section | None) -> dict:
    """What the field in the masthead searches: on the calendar that, with all else as it is; elsewhere staff's jobs."""
    if request.user.is_staff and (current is None or current.view != CALENDAR):
        return {"action": reverse("admin:jobs_job_changelist"), "label": _("Search jobs")}
    action = reverse(CALENDAR)
    asked = request.GET if request.path == action else QueryDict()
    kept = [(name, value) for name in asked if name != QUERY for value in asked.getlist(name)]
    return {"action": action, "label": _("Search the calendar"), "query": asked.get(QUERY, ""), "kept": kept}


def settings_places(user) -> list[dict]:
    """Where settings live, and what is looked at now and then, for the account's menu."""
    places = [
        (_("Operations"), reverse("admin:operations_operation_changelist"), "operation"),
        (_("Subscriptions"), reverse("admin:accounts_subscription_changelist"), "copy"),
    ]
    if user.has_perm("accounts.view_user"):
        places.append((_("Users"), reverse("admin:accounts_user_changelist"), "user"))
        places.append((_("API tokens of all"), reverse("admin:accounts_apitoken_changelist"), "key"))
    if user.has_module_perms(HOUSEKEEPING):
        places.append((_("Housekeeping"), reverse("admin:app_list", args=[HOUSEKEEPING]), "wrench"))
    return [{"name": name, "url": url, "icon": icon} for name, url, icon in places]
