"""Schedules of jobs in each format."""

BERLIN = "Europe/Berlin"
WEEKDAYS = {"format": "quartz", "expression": "0 0 9 ? * MON-FRI", "timeZone": BERLIN}  # next: 1 January 2026, 08:00Z
START = "2026-01-05T08:00:00Z"
# a schedule in each format, in its canonical form
SCHEDULES = {
    "azure": {"startTime": START, "recurrence": {"frequency": "Day", "interval": 2}},
    "cron": {"expression": "30 9 * * 1-5", "timeZone": BERLIN},
    "once": {"at": START},
    "outlook": {
        "start": {"dateTime": "2026-01-05T10:00:00", "timeZone": BERLIN},
        "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": BERLIN},
        "recurrence": {
            "pattern": {
                **{"type": "weekly", "interval": 1, "month": 0, "dayOfMonth": 0, "daysOfWeek": ["monday"]},
                **{"firstDayOfWeek": "sunday", "index": "first"},
            },
            "range": {
                **{"type": "noEnd", "startDate": "2026-01-05", "endDate": "0001-01-01"},
                **{"recurrenceTimeZone": BERLIN, "numberOfOccurrences": 0},
            },
        },
    },
    "quartz": {"expression": "0 0 9 ? * MON-FRI", "timeZone": BERLIN},
    "rrule": {"start": {"dateTime": "2026-01-05T10:00:00", "timeZone": BERLIN}, "rrule": "FREQ=MONTHLY"},
    "simple": {"startTime": START, "interval": 5_400_000},
    "solar": {"event": "sunset", "latitude": 52.5, "longitude": 13.4},
}
