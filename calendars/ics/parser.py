"""Parse an iCalendar file into components with their properties and line numbers.

Lines are unfolded and split here, so that a report can name the line, and an error in one component does not affect the
others.  The library icalendar parses each line.  Its reader of files is not used: it stores the zones of a file for all
later files, and expands their rules without a limit.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from icalendar.parser import Contentline
from icalendar.parser.property import unescape_backslash

from calendars.errors import CalendarError

DEEPEST = 4  # levels: calendar, event, reminder, and one more
MOST = 5_000  # components in a file
MOST_LINES = 50_000  # unfolded lines that are not empty
LINE_END = re.compile("\r\n|\n|\r")
UNSTORABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Property:
    """A property.  `raw` is the value as written in the file, `text` the value without escapes."""

    name: str
    parameters: Mapping[str, str]
    raw: str
    text: str


@dataclass(slots=True)
class Component:
    """A component.  `line` is the number of its first line, from 1; `errors` lists what could not be parsed."""

    name: str
    line: int
    properties: list[Property] = field(default_factory=list)
    subcomponents: list["Component"] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def get_all(self, name: str) -> list[Property]:
        return [each for each in self.properties if each.name == name]

    def get_first(self, name: str) -> Property | None:
        return next((each for each in self.properties if each.name == name), None)

    def get_text(self, name: str) -> str:
        found = self.get_first(name)
        return found.text if found else ""

    def get_components(self, name: str) -> list["Component"]:
        return [each for each in self.subcomponents if each.name == name]


def read(content: str | bytes) -> list[Component]:
    """Return the calendars in a file.  Raises CalendarError if the file is not iCalendar, or above a limit."""
    lines = unfolded(decode(content))
    calendars: list[Component] = []
    stack: list[Component] = []
    count = 0
    for position, (number, line) in enumerate(lines):
        if position == MOST_LINES:
            refuse(f"has more than {MOST_LINES} lines", "too_many")
        name, _, value = line.partition(":")
        mark, value = name.strip().upper(), value.strip().upper()
        if mark == "BEGIN":
            count += 1
            if count > MOST:
                refuse(f"has more than {MOST} components", "too_many")
            # a component cannot contain its own kind, so the one before has no END
            if stack and stack[-1].name == value:
                close(stack, calendars, has_end=False)
            if len(stack) == DEEPEST:
                refuse(f"has components nested deeper than {DEEPEST} levels, in line {number}", "too_deep")
            stack.append(Component(value, number))
        elif mark == "END":
            while any(each.name == value for each in stack):
                if close(stack, calendars, has_end=stack[-1].name == value).name == value:
                    break
        elif stack:
            add(stack[-1], line, number)
    while stack:
        close(stack, calendars, has_end=False)
    if not calendars:
        refuse("is no iCalendar file: it has no BEGIN:VCALENDAR", "not_icalendar")
    return calendars


def decode(content: str | bytes) -> str:
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(f"is no text in UTF-8, at byte {error.start}", "not_utf8")


def unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield the unfolded lines that are not empty, each with the number of its first line in the file."""
    number = 0
    parts: list[str] = []
    for position, line in enumerate(LINE_END.split(text), 1):
        if line[:1] in (" ", "\t") and parts:
            parts.append(line[1:])
            continue
        if parts:
            yield number, "".join(parts)
        number, parts = position, [line] if line.strip() else []
    if parts:
        yield number, "".join(parts)


def close(stack: list[Component], calendars: list[Component], *, has_end: bool) -> Component:
    done = stack.pop()
    if not has_end and done.name != "VCALENDAR":
        done.errors.append(f"BEGIN:{done.name} has no END")
    if done.name == "VCALENDAR" and not stack:
        calendars.append(done)
    elif stack:
        stack[-1].subcomponents.append(done)
    return done


def add(component: Component, line: str, number: int) -> None:
    try:
        name, parameters, raw = Contentline(UNSTORABLE.sub("", line)).raw_parts()
    except ValueError:
        component.errors.append(f"line {number} cannot be read: {line[:40]!r}")
        return
    values = {
        key.upper(): ",".join(value) if isinstance(value, list) else str(value) for key, value in parameters.items()
    }
    component.properties.append(Property(name.upper(), values, raw, unescape_backslash(raw)))


def refuse(message: str, code: str) -> NoReturn:
    raise CalendarError(message, path="file", code=code)
