"""Graph's recurring events for the tests of the engine: fixed ones, and Hypothesis strategies."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from recurrence.wire import parse
from tests.recurrence.wire.graph_by_hand import INDEXES, WEEKDAYS, wall

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
LONG_AGO, NEVER = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
RANGES = ("endDate", "noEnd", "numbered")

# zones, and years with interesting clock changes
ZONES = {
    "America/Sao_Paulo": (2000, 2017),  # midnight was skipped and repeated
    "Europe/London": (2000, 2040),
    "America/New_York": (2000, 2040),
    "Australia/Lord_Howe": (2000, 2040),  # changes by half an hour
    "Asia/Kolkata": (2000, 2040),  # no clock changes
    "Pacific/Apia": (2008, 2011),  # skipped 30 December 2011
}


def event(pattern, limits=None, start="2026-01-05T10:00:00", end=None, zone="Europe/Berlin"):
    """Return an event, by default on Monday, 5 January 2026, at 10:00 for one hour."""
    end = end or (datetime.fromisoformat(start) + timedelta(hours=1)).isoformat()
    return {
        "start": {"dateTime": start, "timeZone": zone},
        "end": {"dateTime": end, "timeZone": zone},
        "recurrence": {
            "pattern": {"interval": 1} | pattern,
            "range": {"type": "noEnd", "startDate": start[:10]} | (limits or {}),
        },
    }


def series(*args, **members):
    return parse("outlook", event(*args, **members), NEW_YEAR).schedule


def first_days(number, series, since=LONG_AGO):
    return [occurrence.day.isoformat() for occurrence in islice(series.occurrences(since, NEVER), number)]


weekday_sets = st.lists(st.sampled_from([*WEEKDAYS, "Monday", "SUNDAY"]), min_size=1, max_size=7)
lists_ignored = st.one_of(st.none(), st.just([]), weekday_sets)


@st.composite
def patterns(draw):
    """Draw patterns of all six types.  Ignored members are missing, placeholders of the service, or other values."""
    type = draw(st.sampled_from(["daily", "weekly", "absoluteMonthly", "relativeMonthly", *YEARLY]))
    is_relative, is_absolute, is_yearly = type.startswith("rel"), type.startswith("abs"), type in YEARLY
    intervals = st.integers(1, 3) if is_yearly else st.integers(1, 5)
    pattern = {"type": draw(st.sampled_from([type, type.upper()])), "interval": draw(intervals)}
    pattern["daysOfWeek"] = draw(weekday_sets if is_relative or type == "weekly" else lists_ignored)
    pattern["firstDayOfWeek"] = draw(st.one_of(st.none(), st.sampled_from(WEEKDAYS)))
    pattern["index"] = draw(st.one_of(st.none(), st.sampled_from(INDEXES)))
    pattern["dayOfMonth"] = draw(st.integers(1, 31) if is_absolute else st.sampled_from([None, 0, 31]))
    pattern["month"] = draw(st.integers(1, 12) if is_yearly else st.sampled_from([None, 0, 12]))
    return {name: value for name, value in pattern.items() if value is not None or draw(st.booleans())}


YEARLY = ["absoluteYearly", "relativeYearly"]


@st.composite
def events(draw):
    zone = draw(st.sampled_from([*ZONES]))
    first, last = ZONES[zone]
    day = draw(st.dates(date(first, 1, 1), date(last, 12, 31)))
    # often the first hours of a day, in which clocks change
    minutes = draw(st.one_of(st.integers(0, 14).map(lambda n: n * 15), st.integers(0, 24 * 60 - 1)))
    start = datetime.combine(day, time(minutes // 60, minutes % 60))
    end = start + timedelta(minutes=draw(st.sampled_from([0, 15, 30, 60, 90, 23 * 60, 24 * 60, 2000, 5 * 24 * 60])))
    other = draw(st.sampled_from([None, None, None, *ZONES]))
    pattern = draw(patterns())
    limits = {"type": draw(st.sampled_from(RANGES)), "recurrenceTimeZone": other}
    start_day = wall(start.isoformat(), ZoneInfo(zone), ZoneInfo(other)).date() if other else start.date()
    limits["startDate"] = start_day.isoformat()
    limits["endDate"] = (start_day + timedelta(days=draw(st.integers(0, 4000)))).isoformat()
    limits["numberOfOccurrences"] = draw(st.integers(1, 60))
    return event(pattern, limits, start.isoformat(), end.isoformat(), zone)
