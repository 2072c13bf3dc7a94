"""Suggest what a wrong member of a schedule was likely meant to be."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches

from recurrence import wire
from recurrence.translation import translate
from recurrence.wire import quartz
from recurrence.wire.errors import WireError
from recurrence.wire.zone_names import LONGEST, known_names

NOW = datetime(2026, 1, 1, tzinfo=UTC)  # texts are translated regardless of the time
LONGEST_CORRECTED = 256  # characters
LONGEST_WORD = 12  # characters
CLOSE_ENOUGH = 0.7  # of the similarity of difflib
DAY_OF_MONTH, MONTH, DAY_OF_WEEK = 3, 4, 5  # positions in a Quartz expression
WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
MONTHS = (
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
)
WORDS = re.compile(r"[A-Z]+|[^A-Z]+")
TIME_MEMBERS = ("startTime", "endTime", "at", "recurrence.endTime")
LOOSE_TIME = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[ T]{1,9}(\d{1,2}):(\d\d)(?::(\d\d))?)? ?Z?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Correction:
    """A likely value of the member `path`; `text` is a sentence about it for the author."""

    path: str
    value: object
    text: str


def suggest_correction(format: str, definition: Mapping[str, object], error: WireError) -> Correction | None:
    """Return a correction of the member that an error names; None: nothing is likely.

    With the value of the correction, that member and the members that depend on it are accepted.
    """
    value = _value(definition, error.path)
    if format not in wire.PARSERS or not isinstance(value, str) or not 0 < len(value) <= LONGEST_CORRECTED:
        return None
    for correct in _correctors(format, error.path):
        for found, text in correct(value, definition):
            if found != value and _is_accepted(format, definition, error.path, found):
                return Correction(error.path, found, text)
    return None


def with_correction(definition: Mapping[str, object], correction: Correction) -> dict[str, object]:
    """Return the definition with the value of a correction."""
    corrected = _with_value(definition, _names(correction.path), correction.value)
    assert isinstance(corrected, dict)
    return corrected


Candidates = Iterator[tuple[str, str]]  # values, with sentences about them
Corrector = Callable[[str, Mapping[str, object]], Candidates]


def _correctors(format: str, path: str) -> tuple[Corrector, ...]:
    if path.endswith(("timeZone", "TimeZone")):
        return (_zone,)
    if path == "expression":
        return (_quartz_days, _quartz_fields) if format == "quartz" else (_cron_fields,)
    if path == "rrule":
        return (_rule,)
    if path.endswith("dateTime"):
        return (_wall_time,)
    if path in TIME_MEMBERS:
        return (_instant,)
    return (_word,)


# Expressions


def _quartz_days(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield six and seven fields with one `?` in the day fields, and with names and hours as Quartz writes them."""
    fields = text.upper().split()
    if len(fields) not in (6, 7):
        return
    named, sentence = _with_names(fields, DAY_OF_MONTH - 1)
    days = named[DAY_OF_MONTH], named[DAY_OF_WEEK]
    if ("?" not in days and "*" in days) or days == ("?", "?"):
        position = DAY_OF_WEEK if days[1] in ("*", "?") else DAY_OF_MONTH
        other = DAY_OF_MONTH if position == DAY_OF_WEEK else DAY_OF_WEEK
        named[position] = "?"
        named[other] = "*" if named[other] == "?" else named[other]
        sentence = "One of the two day fields must be ?."
    yield " ".join(named), sentence


def _quartz_fields(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield the Quartz expression for a crontab line."""
    yield from _translated(text, "cron", "quartz", definition, "It is a crontab line; in Quartz it is this expression.")
    fields = text.upper().split()
    if len(fields) == 5:
        line = " ".join(_with_names(fields, 1)[0])
        yield from _translated(line, "cron", "quartz", definition, "It is a crontab line; in Quartz it is this.")


def _cron_fields(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield a crontab line for a Quartz expression, and a line with names and hours as cron writes them."""
    fields = text.upper().split()
    sentence = "It is a Quartz expression; as a crontab line it is this."
    if len(fields) in (6, 7):
        yield from _translated(text, "quartz", "cron", definition, sentence)
        for corrected, _ in _quartz_days(text, definition):
            yield from _translated(corrected, "quartz", "cron", definition, sentence)
    if len(fields) == 5:
        named, sentence = _with_names(fields, 1)
        if "?" in named:
            named, sentence = ["*" if field == "?" else field for field in named], "A crontab line has * in place of ?."
        yield " ".join(named), sentence


def _translated(text: str, format: str, to: str, definition: Mapping[str, object], sentence: str) -> Candidates:
    members = {name: definition[name] for name in ("timeZone", "clockChange") if name in definition}
    try:
        translation = translate(format, {"expression": text, **members}, to, NOW)
    except WireError:
        return
    if translation.definition is not None and not translation.losses:
        yield str(translation.definition["expression"]), sentence


def _with_names(fields: list[str], hour: int) -> tuple[list[str], str]:
    """Return the fields with hour 24 as 0, and with three letters of misspelled names, and a sentence about them."""
    found, sentence = list(fields), "It is written like this."
    found[hour] = ",".join("0" if item == "24" else item for item in found[hour].split(","))
    if found != fields:
        sentence = "Hours are 0 to 23; midnight is 0."
    for position, names in ((hour + 2, MONTHS), (hour + 3, WEEKDAYS)):
        field = "".join(_short_name(part, names) for part in WORDS.findall(found[position]))
        if field != found[position]:
            found[position], sentence = field, "Names of days and months have three letters."
    return found, sentence


def _short_name(word: str, names: tuple[str, ...]) -> str:
    """Return the first three letters of the name that a word begins or resembles; else the word."""
    if not word.isalpha() or not 3 <= len(word) <= LONGEST_WORD or word in quartz.WEEKDAY_NAMES + quartz.MONTH_NAMES:
        return word
    begun = [name for name in names if name.startswith(word)]
    close = begun or get_close_matches(word, [*names, *(name[:3] for name in names)], 1, 0.6)
    return close[0][:3] if close else word


# Other members


def _zone(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield zones with a similar name, or with a city of that name."""
    if len(text) > LONGEST:
        return
    wanted = "_".join(text.lower().split())
    by_name = {name.lower(): name for name in known_names()}
    by_city = {name.rpartition("/")[2]: name for name in by_name if "/" in name}
    close = [by_city[wanted]] if wanted in by_city else []
    close += get_close_matches(wanted, by_name, 1, CLOSE_ENOUGH)
    close += [by_city[city] for city in get_close_matches(wanted, by_city, 1, CLOSE_ENOUGH)]
    for name in close:
        yield by_name[name], f"The zone {by_name[name]} has a similar name."


def _rule(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield a rule without spaces, and with its FREQ where that alone was written."""
    rule = " ".join(text.upper().split())
    for sign in ";=,:":
        rule = rule.replace(f" {sign}", sign).replace(f"{sign} ", sign)
    rule = rule.replace(" ", ";").strip(";")
    for prefix in ("RRULE:", "RRULE=", "RULE:", "RRULE;"):
        rule = rule.removeprefix(prefix)
    yield rule, "A rule has parts with = and ; between them, and no spaces."
    short = rule
    for name in WEEKDAYS:
        short = short.replace(name, name[:2])
    yield short, "Names of weekdays have two letters in a rule."
    if not short.startswith("FREQ="):
        yield f"FREQ={short}", "A rule begins with FREQ=."


def _instant(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield a time in the form of ISO 8601; it is in UTC, unless the document has a zone."""
    for wall, _ in _wall_time(text, definition):
        if definition.get("timeZone") is None:
            yield f"{wall}Z", "A time is written like this, with Z for UTC."
        yield wall, "A time is written like this."


def _wall_time(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield a time in the form of ISO 8601, without an offset."""
    match = LOOSE_TIME.fullmatch(text.strip().upper())
    if match is not None:
        year, month, day, hour, minute, second = match.groups(default="0")
        date = f"{year}-{int(month):02}-{int(day):02}"
        yield f"{date}T{int(hour):02}:{int(minute):02}:{int(second):02}", "A time is written like this."


def _word(text: str, definition: Mapping[str, object]) -> Candidates:
    """Yield the word of a list of words that an error message names."""
    wanted = text.strip()
    for words in (WORDS_OF_FREQUENCIES, [name.capitalize() for name in WEEKDAYS], [name.lower() for name in WEEKDAYS]):
        close = get_close_matches(wanted.capitalize(), words, 1, CLOSE_ENOUGH)
        if close:
            yield close[0], f"The word is {close[0]}."


WORDS_OF_FREQUENCIES = ["Minute", "Hour", "Day", "Week", "Month"]


# Members by their paths


def _value(definition: Mapping[str, object], path: str) -> object:
    value: object = definition
    for name in _names(path):
        if isinstance(value, Mapping) and isinstance(name, str):
            value = value.get(name)
        elif isinstance(value, list) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return None
    return value


def _names(path: str) -> list[str | int]:
    """Return the names and numbers of a path such as recurrence.schedule.weekDays[0]."""
    return [int(part) if part.isdigit() else part for part in path.replace("]", "").replace("[", ".").split(".")]


def _with_value(document: object, names: list[str | int], value: object) -> object:
    if not names:
        return value
    first, *rest = names
    if isinstance(document, list) and isinstance(first, int):
        return [_with_value(item, rest, value) if index == first else item for index, item in enumerate(document)]
    if isinstance(document, Mapping):
        return {**document, first: _with_value(document.get(str(first)), rest, value)}
    return document


def _is_accepted(format: str, definition: Mapping[str, object], path: str, value: str) -> bool:
    """Return True if a definition with this value has no fault at the path; faults of other members do not count."""
    try:
        wire.render(format, with_correction(definition, Correction(path, value, "")))
    except WireError as error:
        return all(fault.path != path for fault in (error, *error.others))
    return True
