"""English words for dates, times and lists."""

from collections.abc import Iterable

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
ORDINALS = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}


def each(number: int, unit: str) -> str:
    return f"every {unit}" if number == 1 else f"every {number} {unit}s"


def ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(words: Iterable[str], conjunction: str = "and") -> str:
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def clock(second_of_day: int) -> str:
    hour, within_hour = divmod(second_of_day, 3600)
    return f"{hour:02}{past_the_hour(*divmod(within_hour, 60))}"


def past_the_hour(minute: int, second: int) -> str:
    return f":{minute:02}" + (f":{second:02}" if second else "")
