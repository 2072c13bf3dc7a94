"""Recognise a pasted text as a schedule: a document of our own API, or `None`.

These texts are recognised:

* a crontab line, also with a command after it and with lines such as `CRON_TZ=Europe/Berlin` before it, and `@daily`
* a Quartz expression with six or seven fields
* a recurrence rule of iCalendar, alone or in lines such as DTSTART, EXDATE and RDATE
* in JSON: a schedule, a job of our own API or of Azure Scheduler, an Azure recurrence, an event of Microsoft Graph
* an ISO 8601 time with a time of day, and an ISO 8601 duration without months and years
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from recurrence import wire
from recurrence.wire import crontab, ical_lines, json_values, quartz, rrule, rrule_schedule
from recurrence.wire.errors import WireError

LONGEST_TEXT = 20_000  # characters
ZONE_VARIABLES = ("CRON_TZ", "TZ")
AZURE_MEMBERS = ("startTime", "recurrence", "timeZone", "clockChange", "endTime")

CRON_FIELD = re.compile(r"[0-9*?,/#LW-]+|(?:SUN|MON|TUE|WED|THU|FRI|SAT)(?:[-,#L].*)?", re.IGNORECASE)
DURATION = re.compile(r"P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?", re.ASCII)
SECONDS = (604_800, 86_400, 3600, 60, 1)  # of the groups of DURATION


def recognize(text: str) -> dict[str, object] | None:
    """Return the schedule that a text of at most LONGEST_TEXT characters means; None: it is not recognised.

    The document is valid, with one exception: a rule without a DTSTART comes without the member `start`.
    """
    text = text.strip()
    if not text or len(text) > LONGEST_TEXT:
        return None
    for reader in (_json, _instant, _duration, _rule, _cron):
        try:
            document = reader(text)
            if document is not None:
                return _checked(document)
        except (WireError, ValueError, OverflowError, RecursionError):
            continue
    return None


def _checked(document: Mapping[str, object]) -> dict[str, object]:
    """Return the document.  Raises WireError for a wrong one."""
    definition = {name: value for name, value in document.items() if name != "format"}
    if document["format"] != "rrule" or "start" in definition:
        wire.render(str(document["format"]), definition)
    return dict(document)


# JSON


def _json(text: str) -> dict[str, object] | None:
    if not text.startswith("{"):
        return None
    value = json.loads(text)
    if not isinstance(value, Mapping):
        return None
    inner = value.get("schedule")
    for document in (value, inner):
        if isinstance(document, Mapping) and document.get("format") in [*wire.PARSERS]:
            return dict(document)
    properties = value.get("properties")
    return _graph(value) or _azure(properties if isinstance(properties, Mapping) else value)


def _azure(members: Mapping[str, Any]) -> dict[str, object] | None:
    if "frequency" in members:
        return {"format": "azure", "recurrence": dict(members)}
    if not isinstance(members.get("recurrence"), Mapping):
        return None
    return {"format": "azure", **{name: members[name] for name in AZURE_MEMBERS if members.get(name) is not None}}


def _graph(members: Mapping[str, Any]) -> dict[str, object] | None:
    recurrence = members if "pattern" in members else members.get("recurrence")
    if not isinstance(recurrence, Mapping) or "pattern" not in recurrence:
        return None
    recurrence = {name: value for name, value in recurrence.items() if not name.startswith("@odata.")}
    if members.get("start") is not None:
        times = {name: members[name] for name in ("start", "end") if members.get(name) is not None}
        return {"format": "outlook", **({"end": times.get("start")} | times), "recurrence": recurrence}
    limits = json_values.mapping(recurrence.get("range"), "recurrence.range")
    midnight = {"dateTime": f"{limits.get('startDate')}T00:00:00", "timeZone": limits.get("recurrenceTimeZone")}
    start = {name: value for name, value in midnight.items() if value}
    return {"format": "outlook", "start": start, "end": start, "recurrence": recurrence}


# Times, durations and rules


def _instant(text: str) -> dict[str, object] | None:
    if len(text) == len("2026-01-05") or not json_values.INSTANT.fullmatch(text):
        return None
    return {"format": "once", "at": json_values.instant(text, "at").isoformat().replace("+00:00", "Z")}


def _duration(text: str) -> dict[str, object] | None:
    match = DURATION.fullmatch(text.upper())
    if match is None or not any(match.groups()):
        return None
    numbers = map(int, match.groups(default="0"))
    seconds = sum(number * unit for number, unit in zip(numbers, SECONDS, strict=True))
    return {"format": "simple", "interval": seconds * 1000}


def _rule(text: str) -> dict[str, object] | None:
    if "FREQ=" not in text.upper():
        return None
    members = ical_lines.read(text)
    parts = rrule.read_parts(members["rrule"], rrule_schedule.PATH, rrule_schedule.FREQUENCIES)
    return {"format": "rrule", **members, "rrule": rrule.written(parts)}


# Crontab lines and Quartz expressions


def _cron(text: str) -> dict[str, object] | None:
    zone: dict[str, object] = {}
    lines = []
    for line in (each.strip() for each in text.splitlines()):
        if not line or line.startswith("#"):
            continue
        name, sign, value = (part.strip() for part in line.partition("="))
        if not (sign and name.isidentifier()):
            lines.append(line)
        elif name in ZONE_VARIABLES:
            value, _, rest = value.partition(" ")  # some schedulers write the zone before the fields
            zone = {"timeZone": value.strip("'\"")}
            lines += [rest] if rest.strip() else []
    if len(lines) != 1:
        return None
    return _expression(lines[0].split(), zone)


def _expression(words: list[str], zone: Mapping[str, object]) -> dict[str, object] | None:
    if words[0].startswith("@"):
        return {"format": "cron", "expression": words[0].lower(), **zone}
    if len(words) in (6, 7) and "?" in words:
        return {"format": "quartz", "expression": quartz.render({"expression": " ".join(words)})["expression"], **zone}
    if len(words) > 5 and CRON_FIELD.fullmatch(words[5]):  # a sixth field, and no command
        return None
    line = " ".join(words[:5])
    return {"format": "cron", "expression": crontab.render({"expression": line})["expression"], **zone}
