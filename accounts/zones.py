"""A form field for time zones: names from the list that the system knows."""

from functools import cache
from zoneinfo import available_timezones

from django import forms


class ZoneField(forms.ChoiceField):
    """Offers UTC and the IANA zones that name a place; accepts every zone that the system knows."""

    def __init__(self, **kwargs):
        kwargs.setdefault("help_text", "Pages show times in this zone. Schedules stay as they are.")
        super().__init__(choices=zone_choices, **kwargs)

    def valid_value(self, value) -> bool:
        return value in available_timezones()


@cache
def zone_choices() -> list[tuple[str, str]]:
    names = sorted(
        name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "posix", "right"))
    )
    return [("UTC", "UTC"), *((name, name.replace("_", " ")) for name in names)]
