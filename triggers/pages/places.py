"""The names of the countries, and of their subdivisions, whose public holidays are known."""

import re
from functools import lru_cache

from recurrence.closed_days import countries, subdivisions

WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


@lru_cache(maxsize=1)
def country_choices() -> tuple[tuple[str, str], ...]:
    """Return the codes and the English names of the countries, in the order of the names."""
    from holidays.registry import COUNTRIES  # loads much, see `recurrence.closed_days`

    names = {code: WORD.sub(" ", name) for name, code, *_ in COUNTRIES.values() if code in countries()}
    return tuple(sorted(names.items(), key=lambda each: each[1]))


@lru_cache(maxsize=256)
def subdivision_choices(country: str) -> tuple[tuple[str, str], ...]:
    """Return the codes and the names of the subdivisions of a country, in the order of the names."""
    import holidays

    if country not in countries():
        return ()
    names = holidays.country_holidays(country).get_subdivision_aliases()
    choices = [(code, next(iter(names.get(code, ())), code)) for code in subdivisions(country)]
    return tuple(sorted(choices, key=lambda each: each[1]))


def place_name(country: str, subdivision: str | None) -> str:
    """Return the name of a country or a subdivision, such as Germany: Berlin."""
    name = dict(country_choices()).get(country, country)
    return f"{name}: {dict(subdivision_choices(country)).get(subdivision, subdivision)}" if subdivision else name
