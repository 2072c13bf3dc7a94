"""A series of every pattern and range of Graph, and its first days."""

from datetime import date

LIMITS = {"noEnd": {}, "endDate": {"end": None}, "numbered": {"occurrences": 3}}

# the first days of each pattern: the examples of the article, and one for each type without an example there
PATTERNS = {
    "daily": (date(2026, 3, 27), ["2026-03-27", "2026-03-29", "2026-03-31", "2026-04-02"]),
    "weekly": (date(2017, 9, 4), ["2017-09-04", "2017-09-11", "2017-09-18", "2017-09-25"]),
    "absoluteMonthly": (date(2012, 8, 30), ["2012-08-30", "2012-10-30", "2012-12-30", "2013-02-28"]),
    "relativeMonthly": (date(2017, 8, 29), ["2017-09-07", "2017-11-02", "2018-01-04", "2018-03-01"]),
    "absoluteYearly": (date(2024, 2, 29), ["2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28"]),
    "relativeYearly": (date(2026, 1, 5), ["2026-11-26", "2027-11-25", "2028-11-23", "2029-11-22"]),
}
EVERY_SERIES = [(pattern, limit) for pattern in PATTERNS for limit in LIMITS]


def expected(pattern: str, limit: str) -> list[str]:
    return PATTERNS[pattern][1] if limit == "noEnd" else PATTERNS[pattern][1][:3]
