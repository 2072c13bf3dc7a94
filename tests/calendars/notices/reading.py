"""Create notices, and parse them and the runs from the calendar pages."""

import re
from datetime import timedelta

from maintenance.models import Notice
from tests.calendars.job_runs import LATER, instant
from tests.maintenance.notices import announce

VIEWS = ("month", "week", "workweek", "day", "agenda")
HOUR = timedelta(hours=1)
THURSDAY, FRIDAY, SUNDAY = "2026-10-29", "2026-10-30", "2026-11-01"  # clocks change on the Sunday before
REBOOT = "Reboot of db-2"


def reboot_of(*resources, at: str = f"{THURSDAY}T17:30", hours: float | None = 1, **members) -> Notice:
    if hours is not None:
        members["duration_s"] = int(hours * 3600)
    return announce(*resources, now=LATER, not_before=instant(at), **members)


def cell(page: str, day: str) -> str:
    """Return the cell of a day of the month view or of the week view."""
    return re.findall(rf'<td[^>]*data-date="{day}".*?</td>', page, re.DOTALL)[-1]


def words(text: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def items(part: str, kind: str) -> list[str]:
    """Return the accessible text of each item, with the state that determines its color."""
    found = re.findall(rf'<a class="item {kind}" [^>]*data-state="(\w+)"[^>]*>(.*?)</a>', part, re.DOTALL)
    return [f"{state}: {words(text)}" for state, text in found]


def notices(part: str) -> list[str]:
    return items(part, "notice")


def runs(part: str) -> list[str]:
    return items(part, "run")


def rows(agenda: str) -> list[str]:
    """Return the rows of the agenda that mention maintenance."""
    found = [words(row) for row in re.findall(r"<tr>.*?</tr>", agenda, re.DOTALL)]
    return [row for row in found if "maintenance" in row]
