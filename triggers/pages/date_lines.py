"""The dates of a calendar of closed days as lines of text, one for each item.

A line is a date (2026-12-24), a range (2026-12-24..2027-01-01) or a day of each year (12-24), and then its name.
"""

from collections.abc import Iterable, Mapping
from typing import Any

RANGE = ".."


def parse_lines(text: str) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the items of a text, and for each item the number of its line.  Values are checked later, by the core."""
    items, numbers = [], []
    for number, line in enumerate(text.splitlines(), 1):
        when, _, name = line.strip().partition(" ")
        if when:
            items.append(_item(when) | ({"name": name.strip()} if name.strip() else {}))
            numbers.append(number)
    return items, numbers


def _item(when: str) -> dict[str, Any]:
    first, is_range, last = when.partition(RANGE)
    if is_range:
        return {"from": first, "to": last}
    month, _, day = when.partition("-")
    if all(part.isascii() and part.isdecimal() and len(part) <= 2 for part in (month, day)):
        return {"month": int(month), "day": int(day)}
    return {"date": when}


def render_lines(items: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(f"{_when(item)} {item.get('name', '')}".rstrip() for item in items)


def _when(item: Mapping[str, Any]) -> str:
    if "month" in item:
        return f"{item['month']:02}-{item['day']:02}"
    return item["date"] if "date" in item else f"{item['from']}{RANGE}{item['to']}"
