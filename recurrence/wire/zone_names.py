"""Names of time zones: those of IANA and those of Windows."""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from tzlocal.windows_tz import tz_win, win_tz

from recurrence.wire import json_values
from recurrence.wire.errors import WireError

LONGEST = 100  # characters
UTC_NAMES = {f"{area}{name}" for area in ("", "Etc/") for name in ("UTC", "UCT", "Universal", "Zulu")}
OTHER_NAMES = {  # further names in calendars: some of Exchange's own, and two that Windows has dropped
    "tzone://microsoft/utc": "UTC",
    "asia/astana": "Asia/Almaty",
    "asia/toshkent": "Asia/Tashkent",
    "kamchatka standard time": "Asia/Kamchatka",
    "mid-atlantic standard time": "Atlantic/South_Georgia",
}
ZONE_MEMBERS = ("timeZone", "recurrenceTimeZone")
NO_ZONES = {"localtime", "Factory"}  # the machine's own zone, and a placeholder


def zone_of(value: object, path: str) -> tzinfo:
    """Return the zone with this IANA or Windows name; None is UTC.

    UTC is `datetime.UTC` under all its names.  Raises WireError for an unknown name.
    """
    name = "UTC" if value is None else iana_name(value, path)
    return UTC if name in UTC_NAMES else ZoneInfo(name)


def iana_name(value: object, path: str) -> str:
    name = json_values.text(value, path)
    if len(name) <= LONGEST:
        found = _names().get(name.lower())
        if found:
            return found
    raise WireError(
        path, "unknown_value", f"must be a time zone such as Europe/Berlin or UTC, not {json_values.shown(value)}"
    )


def known_names() -> list[str]:
    """Return the IANA names of all zones."""
    return sorted({name for name in _names().values() if iana_name(name, "") == name})


def zones_in(document: object) -> set[str]:
    """Return the IANA names of the zones that a document of any format names, without UTC.

    This is much faster than to compile the document.  Each format names a zone in members `timeZone` or, within another
    member, `recurrenceTimeZone`.  Texts that are no names of zones are left out.
    """
    if isinstance(document, Mapping):
        texts = (document[member].lower() for member in ZONE_MEMBERS if isinstance(document.get(member), str))
        names = {_names()[text] for text in texts if text in _names()} - UTC_NAMES
        return names.union(*map(zones_in, document.values()))
    if isinstance(document, list):
        return set().union(*map(zones_in, document))
    return set()


def windows_name(zone: tzinfo) -> str | None:
    """Return the Windows name of `zone`, or None: most zones have no name there."""
    return tz_win.get(str(zone))


@cache
def _names() -> dict[str, str]:
    names = available_timezones() - NO_ZONES
    iana = {name.lower(): name for name in names if not name.startswith(("posix/", "right/"))}
    return OTHER_NAMES | {windows.lower(): name for windows, name in win_tz.items()} | iana
