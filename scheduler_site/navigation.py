"""The data for the header of every page: sections, search field, settings links, and the viewer's zone and time."""

from contextlib import suppress
from dataclasses import dataclass

from django.core.exceptions import SuspiciousOperation
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
    """A section of the main navigation; the keys "g" and then `key` open it."""

    name: Promise
    view: str
    icon: str
    key: str
    is_of_administration: bool = True
    is_exact: bool = False  # True: only its own address belongs to the section, not those below it
    is_maintenance: bool = False

    @property
    def url(self) -> str:
        return reverse(self.view)

    def is_current(self, path: str) -> bool:
        return path == self.url if self.is_exact else path.startswith(self.url)


SECTIONS = (
    Section(_("Home"), "admin:index", "home", "h", is_exact=True),
    Section(_("Calendar"), CALENDAR, "calendar", "c", is_of_administration=False),
    Section(_("Jobs"), "admin:jobs_job_changelist", "list", "j"),
    Section(_("Triggers"), "admin:triggers_trigger_changelist", "repeat", "t"),
    Section(_("Runs"), "admin:jobs_run_changelist", "run", "r"),
    Section(_("Collections"), "admin:jobs_jobcollection_changelist", "copy", "o"),
    Section(_("Maintenance"), "maintenance:page", "wrench", "m", is_of_administration=False, is_maintenance=True),
)
HOUSEKEEPING = "django_celery_beat"


def navigation(request) -> dict:
    zone = timezone.get_current_timezone_name()
    now = timezone.localtime(timezone.now())
    user = getattr(request, "user", None)  # absent if the request is refused before authentication
    context = {
        "viewer_now": now,
        "viewer_zone": zone,
        "viewer_place": zone.rpartition("/")[2].replace("_", " "),
        "viewer_offset": f"{now:%z}"[:3] + ":" + f"{now:%z}"[3:5],
        "hour_cycle": getattr(user, "hour_cycle", HourCycle.H24),
    }
    if user is None or not user.is_authenticated:
        return context
    sections = [section for section in SECTIONS if user.can_open_administration or not section.is_of_administration]
    current = next((section for section in sections if section.is_current(request.path)), None)
    return {
        **context,
        "sections": sections,
        "here": current,
        "waiting_notices": Notice.objects.visible_to(user, Role.OPERATOR)
        .awaiting_approval(now)
        .count,  # called only by templates that show it
        "header_search": search(request, current),
        "settings_links": settings_links(user) if user.can_open_administration else [],
    }


def search(request, current: Section | None) -> dict:
    """Return what the search field in the header searches: on other pages than the calendar, the jobs.

    On the calendar it searches the calendar, and keeps all other parameters of the address.  Viewers without access to
    the administration always search the calendar.
    """
    if request.user.can_open_administration and (current is None or current.view != CALENDAR):
        return {"action": reverse("admin:jobs_job_changelist"), "label": _("Search jobs")}
    action = reverse(CALENDAR)
    parameters = QueryDict()
    with suppress(SuspiciousOperation):  # too many parameters, which the page with this field refuses
        parameters = request.GET if request.path == action else parameters
    others = [(name, value) for name in parameters if name != QUERY for value in parameters.getlist(name)]
    return {"action": action, "label": _("Search the calendar"), "query": parameters.get(QUERY, ""), "kept": others}


def settings_links(user) -> list[dict]:
    """Return the links of the account menu: pages of settings, and pages that are used now and then."""
    links = [
        (_("Clock changes"), reverse("clock-changes"), "clock"),
        (_("Closed days"), reverse("closed-days:list"), "calendar"),
        (_("Operations"), reverse("admin:operations_operation_changelist"), "operation"),
        (_("Subscriptions"), reverse("admin:accounts_subscription_changelist"), "copy"),
    ]
    if user.has_perm("accounts.view_user"):
        links.append((_("Users"), reverse("admin:accounts_user_changelist"), "user"))
        links.append((_("All API tokens"), reverse("admin:accounts_apitoken_changelist"), "key"))
    if user.has_module_perms(HOUSEKEEPING):
        links.append((_("Housekeeping"), reverse("admin:app_list", args=[HOUSEKEEPING]), "wrench"))
    return [{"name": name, "url": url, "icon": icon} for name, url, icon in links]
