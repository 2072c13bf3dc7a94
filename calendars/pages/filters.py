"""The query parameters of the calendar page: view, day, zones, filter and search text."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import Self
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import available_timezones

from django.http import QueryDict
from django.utils.translation import gettext

from calendars.pages.window import FIRST_DAY, LAST_DAY, View
from recurrence.wire import WireError
from recurrence.wire.zone_names import zone_of

SEARCH_LENGTH = 200
MOST_IDS = 1000
LARGEST_ID = 2**63 - 1
SWITCHES = ("noskipped", "nomaintenance", "cancelled", "failures")
Day = date  # `Query.date` hides the name `date` in the class body


class BadAddress(ValueError):
    """A parameter that cannot be parsed; `parameter` is its name."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(f"{parameter}: {message}")
        self.parameter = parameter
        self.message = message


@dataclass(frozen=True, slots=True)
class Filter:
    """The items that a view leaves out: calendars and job collections by id, and kinds of items.

    `closed` are the calendars of closed days that a view shows although no shown job uses them, `noclosed` those in use
    that it leaves out.
    """

    off: frozenset[UUID] = frozenset()
    noruns: frozenset[int] = frozenset()
    noskipped: bool = False
    nomaintenance: bool = False
    cancelled: bool = False
    failures: bool = False
    closed: frozenset[int] = frozenset()
    noclosed: frozenset[int] = frozenset()

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> Self:
        """Parse query parameters. Raise BadAddress."""
        return cls(
            off=frozenset(_ids(values, "off", UUID)),
            noruns=frozenset(_ids(values, "noruns", _number)),
            closed=frozenset(_ids(values, "closed", _number)),
            noclosed=frozenset(_ids(values, "noclosed", _number)),
            **{name: _is_set(values, name) for name in SWITCHES},
        )

    @classmethod
    def from_switches(cls, form: QueryDict, before: "Filter") -> Self:
        """Return the filter after the form of the switches was sent.

        `had` and `hadruns` list the ids that the form has switches for, `calendar` and `collection` those that are on.
        `hadclosed` lists the calendars of closed days in use, `hadopen` the others, and `closedday` those that are on.
        Ids without a switch stay as they are in `before`. Raise BadAddress.
        """
        listed = cls.parse(
            {"off": form.get("had", ""), "noruns": form.get("hadruns", "")}
            | {"closed": form.get("hadopen", ""), "noclosed": form.get("hadclosed", "")}
        )
        closed = ",".join(form.getlist("closedday"))
        on = cls.parse(
            {"off": ",".join(form.getlist("calendar")), "noruns": ",".join(form.getlist("collection"))}
            | {"closed": closed}
            | {name: form.get(name, "") for name in ("cancelled", "failures")}
        )
        return cls(
            (before.off - listed.off) | (listed.off - on.off),
            (before.noruns - listed.noruns) | (listed.noruns - on.noruns),
            not form.get("skipped"),
            not form.get("maintenance"),
            on.cancelled,
            on.failures,
            (before.closed - listed.closed - listed.noclosed) | (listed.closed & on.closed),
            (before.noclosed - listed.closed - listed.noclosed) | (listed.noclosed - on.closed),
        )

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that differ from their defaults, in the format of `parse`."""
        ids = {"off": sorted(each.hex for each in self.off)}
        ids |= {name: [*map(str, sorted(getattr(self, name)))] for name in ("noruns", "closed", "noclosed")}
        values = {name: ",".join(each) for name, each in ids.items() if each}
        return values | {name: "1" for name in SWITCHES if getattr(self, name)}


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of the page. Without a date it shows today, without a zone the viewer's own."""

    view: View = View.MONTH
    date: Day | None = None
    zone: str = ""
    second_zone: str = ""
    text: str = ""
    filter: Filter = Filter()

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> Self:
        """Parse query parameters. Raise BadAddress."""
        text = values.get("q", "").strip()
        if len(text) > SEARCH_LENGTH or "\0" in text:
            raise BadAddress("q", gettext("use at most %d characters") % SEARCH_LENGTH)
        return cls(
            _view(values.get("view", "")),
            _date(values.get("date", "")),
            zone_name(values, "zone"),
            zone_name(values, "beside"),
            text,
            Filter.parse(values),
        )

    def with_changes(self, **changes) -> Self:
        """Return a copy with these fields replaced."""
        return replace(self, **changes)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that differ from their defaults, in the format of `parse`."""
        values = {
            "view": "" if self.view is View.MONTH else str(self.view),
            "date": self.date.isoformat() if self.date else "",
            "zone": self.zone,
            "beside": self.second_zone,
            "q": self.text,
        }
        return {name: value for name, value in values.items() if value} | self.filter.parameters

    def address(self, page: str) -> str:
        """Return the address of this query on the page at the path `page`."""
        parameters = self.parameters
        return f"{page}?{urlencode(parameters, safe=',/')}" if parameters else page


def zone_name(values: Mapping[str, str], parameter: str) -> str:
    """Return the IANA name of the requested zone, or an empty string without a request.

    The parameter may hold the IANA name, the name in Windows, or only the place. Raise BadAddress.
    """
    text = values.get(parameter, "").strip()
    if not text:
        return ""
    try:
        return str(zone_of(text, parameter))
    except WireError as error:
        places = [name for name in available_timezones() if _place(name) == _place(text)]
        if not places:
            raise BadAddress(parameter, error.message) from None
        return min(places, key=lambda name: (name.count("/"), name))


def zone_named(name: str) -> tzinfo:
    return zone_of(name, "zone")


def _place(name: str) -> str:
    return name.rpartition("/")[2].replace(" ", "_").casefold()


def _view(text: str) -> View:
    try:
        return View(text or View.MONTH)
    except ValueError:
        raise BadAddress("view", gettext("use one of %s") % ", ".join(View)) from None


def _date(text: str) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or not FIRST_DAY <= day <= LAST_DAY:
        bounds = {"first": FIRST_DAY, "last": LAST_DAY}
        raise BadAddress("date", gettext("use a date from %(first)s to %(last)s in this format") % bounds)
    return day


def _ids(values: Mapping[str, str], parameter: str, parse) -> list:
    texts = [text for text in values.get(parameter, "").split(",") if text]
    try:
        if len(texts) <= MOST_IDS:
            return [parse(text) for text in texts]
    except ValueError:
        pass
    raise BadAddress(parameter, gettext("use at most %d ids, separated by commas") % MOST_IDS)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= LARGEST_ID):
        raise ValueError(text)
    return int(text)


def _is_set(values: Mapping[str, str], parameter: str) -> bool:
    text = values.get(parameter, "")
    if text not in ("", "0", "1"):
        raise BadAddress(parameter, gettext("use 1, or leave it out"))
    return text == "1"
