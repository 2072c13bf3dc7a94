"""Hypothesis strategies of schedules in every format, in zones with clock changes."""

from datetime import datetime, timedelta

from hypothesis import strategies as st

from recurrence.wire import WireError, parse
from tests.recurrence.samples import CREATED_AT, documents
from tests.recurrence.wire.graph_events import patterns
from tests.recurrence.wire.quartz_texts import expressions
from tests.recurrence.wire.test_crontab import lines

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
CHANGES = ("cron", "quartz", {"gap": "skip", "repeat": "both"}, {"gap": "shift", "repeat": "second"}, {"gap": "next"})

zones = st.sampled_from(ZONES)
instants = st.integers(-400, 400).flatmap(
    lambda day: st.integers(0, 86_399).map(lambda second: CREATED_AT + timedelta(day, second))
)
walls = st.datetimes(datetime(2024, 1, 1), datetime(2026, 12, 31)).map(  # noqa: DTZ001 - wall times
    lambda wall: wall.replace(microsecond=0, second=wall.second % 2 * 30)
) | st.sampled_from([datetime(2025, 3, 30, 2, 30), datetime(2025, 11, 2, 1, 30)])  # noqa: DTZ001


def wire(instant):
    return instant.isoformat().replace("+00:00", "Z")


@st.composite
def clocks(draw, *, with_bounds=True):
    members = {"timeZone": draw(zones)}
    if draw(st.booleans()):
        members["clockChange"] = draw(st.sampled_from(CHANGES))
    if with_bounds and draw(st.integers(0, 2)) == 0:
        members["startTime"] = wire(draw(instants))
    if with_bounds and draw(st.integers(0, 2)) == 0:
        members["endTime"] = wire(draw(instants) + timedelta(days=801))
    return members


def numbers(low, high):
    return st.lists(st.integers(low, high), min_size=1, max_size=3).map(lambda found: ",".join(map(str, found)))


@st.composite
def rules(draw):
    frequency = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]))
    parts = {"FREQ": frequency}
    if draw(st.booleans()):
        parts["INTERVAL"] = str(draw(st.sampled_from([2, 3, 5, 6, 7, 12, 15, 20, 60, 90])))
    if draw(st.integers(0, 2)) == 0:
        parts["BYMONTH"] = draw(numbers(1, 12))
    by_day = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=5).map(",".join)
    by_month_day = numbers(1, 31) | st.sampled_from(["-1", "-3", "1,-1"])
    which = draw(st.integers(0, 4))
    if which == 1:
        parts["BYDAY"] = draw(by_day)
    if which == 2:
        parts["BYMONTHDAY"] = draw(by_month_day)
    if which == 3 and frequency in ("MONTHLY", "YEARLY"):
        parts["BYDAY"] = draw(st.sampled_from(["2TU", "-1FR", "1MO,3MO", "5WE", "-2SA"]))
    if which == 4 and frequency == "MONTHLY":
        parts |= {"BYDAY": draw(by_day), "BYSETPOS": draw(st.sampled_from(["1", "-1", "2"]))}
    for name, high in (("BYHOUR", 23), ("BYMINUTE", 59)):
        if "BYSETPOS" not in parts and draw(st.integers(0, 3)) == 0:
            parts[name] = draw(numbers(0, high))
    end = draw(st.sampled_from(["", "", "COUNT=40", "COUNT=3", "UNTIL=20270401T120000Z", "UNTIL=20270401"]))
    return ";".join([f"{name}={value}" for name, value in parts.items()] + ([end] if end else []))


@st.composite
def rrules(draw):
    start, zone = draw(walls), draw(zones)
    dates = st.integers(0, 300).map(lambda day: str(start.date() + timedelta(days=day)))
    members = {name: value for name, value in draw(clocks()).items() if name != "timeZone"}
    members |= {"start": {"dateTime": start.isoformat(), "timeZone": zone}, "rrule": draw(rules())}
    if draw(st.integers(0, 3)) == 0:
        members["exdates"] = draw(st.lists(dates, min_size=1, max_size=3))
    if draw(st.integers(0, 3)) == 0:
        members["rdates"] = draw(st.lists(dates, min_size=1, max_size=3))
    return members


@st.composite
def outlook_events(draw):
    start, zone = draw(walls), draw(zones)
    members = {name: value for name, value in draw(clocks()).items() if name != "timeZone"}
    limits = {"type": draw(st.sampled_from(["noEnd", "endDate", "numbered"])), "startDate": str(start.date())}
    limits |= {"endDate": str(start.date() + timedelta(days=900)), "numberOfOccurrences": draw(st.integers(1, 200))}
    end = start + timedelta(minutes=draw(st.sampled_from([0, 0, 60])))
    return members | {
        "start": {"dateTime": start.isoformat(), "timeZone": zone},
        "end": {"dateTime": end.isoformat(), "timeZone": zone},
        "recurrence": {"pattern": draw(patterns()), "range": limits},
    }


@st.composite
def simples(draw):
    interval = draw(st.sampled_from([1500, 60_000, 90_000, 900_000, 3_600_000, 5 * 3_600_000, 86_400_000, 172_800_000]))
    members = {"interval": interval, "timeZone": draw(zones)}
    if draw(st.booleans()):
        members["startTime"] = wire(draw(instants))
    if draw(st.booleans()):
        members["repeatCount"] = draw(st.integers(0, 5000))
    elif draw(st.booleans()):
        members["endTime"] = wire(draw(instants) + timedelta(days=801))
    return members


azures = st.builds(lambda document, members: document | members, documents(), clocks(with_bounds=False)) | documents()
SCHEDULES = {
    "azure": azures,
    "cron": st.builds(lambda line, members: {"expression": line, **members}, lines, clocks()),
    "quartz": st.builds(lambda text, members: {"expression": text, **members}, expressions(), clocks()),
    "simple": simples(),
    "once": st.builds(lambda at, zone: {"at": wire(at), "timeZone": zone}, instants, zones),
    "outlook": outlook_events(),
    "rrule": rrules(),
}


def is_valid(format, definition):
    try:
        parse(format, definition, CREATED_AT)
    except WireError:
        return False
    return True
