"""The header `Prefer`: the zone, the type of bodies and the length of pages that a client wants."""

import re
from dataclasses import dataclass
from datetime import UTC, tzinfo

from calendars.graph.errors import UNKNOWN_ZONE, Refusal
from recurrence.wire import WireError
from recurrence.wire.zone_names import zone_of

PREFERENCE = re.compile(r'([A-Za-z0-9._-]+)\s*(?:=\s*(?:"([^"]*)"|([^",;]*)))?[^,]*,?')
LENGTH_LIMIT = 2_000  # characters of the header
PAGE_MOST = 1_000
BODY_TYPES = ("text", "html")


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences that are applied.  `zone_name` is the name of the zone as the client wrote it."""

    zone: tzinfo = UTC
    zone_name: str = "UTC"
    body_type: str = "html"
    page_length: int | None = None
    applied: tuple[str, ...] = ()  # for the header Preference-Applied


def parse_preferences(header: str) -> Preferences:
    """Parse the header.  Unknown or invalid preferences are ignored, as RFC 7240 requires.

    Raises Refusal for an unknown time zone.
    """
    requested: dict[str, str] = {}
    for name, quoted, plain in PREFERENCE.findall(header[:LENGTH_LIMIT]):
        requested.setdefault(name.lower(), quoted or plain.strip())  # the first one counts
    zone_name = requested.get("outlook.timezone")
    body_type = requested.get("outlook.body-content-type", "").lower()
    page_length = parse_page_length(requested.get("odata.maxpagesize", ""))
    applied = []
    if zone_name is not None:
        applied.append(f'outlook.timezone="{zone_name}"')
    if body_type in BODY_TYPES:
        applied.append(f'outlook.body-content-type="{body_type}"')
    if page_length:
        applied.append(f"odata.maxpagesize={page_length}")
    return Preferences(
        UTC if zone_name is None else known_zone(zone_name),
        "UTC" if zone_name is None else zone_name,
        body_type if body_type in BODY_TYPES else "html",
        page_length,
        tuple(applied),
    )


def known_zone(name: str) -> tzinfo:
    try:
        return zone_of(name, "outlook.timezone")
    except WireError as error:
        raise Refusal(error.message, target="Prefer: outlook.timezone", code=UNKNOWN_ZONE) from None


def parse_page_length(text: str) -> int | None:
    if not re.fullmatch("0*[1-9][0-9]*", text, re.ASCII):
        return None
    return PAGE_MOST if len(text) > 9 else min(int(text), PAGE_MOST)
