"""Start and end of the events of which recurrence rules are tested."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 1, 5, 10)  # noqa: DTZ001  # a Monday
END = START + timedelta(hours=1)
