"""Recognition of pasted schedules."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recurrence import wire
from recurrence.wire.recognition import LONGEST_TEXT, recognize

AZURE = {"startTime": "2026-01-05T09:00:00Z", "recurrence": {"frequency": "Day", "interval": 2}}
GRAPH = {
    "pattern": {"type": "daily", "interval": 1},
    "range": {"type": "noEnd", "startDate": "2026-01-05", "recurrenceTimeZone": "Europe/Paris"},
}
MIDNIGHT = {"dateTime": "2026-01-05T00:00:00", "timeZone": "Europe/Paris"}
NINE = {"dateTime": "2026-01-05T09:00:00", "timeZone": "Europe/Berlin"}
TEN = NINE | {"dateTime": "2026-01-05T10:00:00"}
EVENT = {"start": NINE, "end": TEN, "recurrence": {**GRAPH, "range": {"type": "noEnd", "startDate": "2026-01-05"}}}
ICALENDAR = """BEGIN:VEVENT
SUMMARY:Report: daily
DTSTART;TZID=Europe/Berlin:20260105T090000
DTEND;TZID="Europe/Berlin":20260105T100000
RRULE:FREQ=WEEKLY;
 BYDAY=MO
EXDATE;TZID=Europe/Berlin:20260112T090000,20260119T090000
RDATE:20260115T080000Z,20260116T100000Z
END:VEVENT"""


def cron(expression, **members):
    return {"format": "cron", "expression": expression, **members}


@pytest.mark.parametrize(
    "text, document",
    [
        ("*/5 * * * *", cron("*/5 * * * *")),
        ("  0  9 * * mon-fri\n", cron("0 9 * * MON-FRI")),
        ("*/5 * * * * /usr/bin/backup --all", cron("*/5 * * * *")),
        ("0 9 * * * cat /etc/hosts", cron("0 9 * * *")),
        ("17 * * * * root cd / && run-parts /etc/cron.hourly", cron("17 * * * *")),
        ("@daily", cron("@daily")),
        ("@Hourly /usr/bin/backup", cron("@hourly")),
        ("CRON_TZ=Europe/Berlin\n0 9 * * * backup", cron("0 9 * * *", timeZone="Europe/Berlin")),
        ("# m h dom\nSHELL=/bin/sh\n\nTZ='Asia/Tokyo'\n0 9 * * *", cron("0 9 * * *", timeZone="Asia/Tokyo")),
        ("CRON_TZ=Europe/Berlin 0 9 * * *", cron("0 9 * * *", timeZone="Europe/Berlin")),
        ("0 0 12 * * ?", {"format": "quartz", "expression": "0 0 12 * * ?"}),
        ("0 0 12 ? * 2#1 2030", {"format": "quartz", "expression": "0 0 12 ? * MON#1 2030"}),
        ("RRULE:FREQ=DAILY;COUNT=3", {"format": "rrule", "rrule": "FREQ=DAILY;COUNT=3"}),
        ("freq=weekly;byday=mo", {"format": "rrule", "rrule": "FREQ=WEEKLY;BYDAY=MO"}),
        (
            ICALENDAR.replace("\n", "\r\n"),
            {
                "format": "rrule",
                "start": NINE,
                "end": TEN,
                "rrule": "FREQ=WEEKLY;BYDAY=MO",
                "exdates": ["2026-01-12", "2026-01-19"],
                "rdates": ["2026-01-15"],
                "extras": ["2026-01-16T10:00:00Z"],
            },
        ),
        (
            "DTSTART;VALUE=DATE:20260105\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20270105",
            {
                "format": "rrule",
                "start": {"dateTime": "2026-01-05T00:00:00", "timeZone": "UTC"},
                "rrule": "FREQ=YEARLY",
                "exdates": ["2027-01-05"],
            },
        ),
        (json.dumps(cron("0 9 * * *", skips=["2026-12-24"])), cron("0 9 * * *", skips=["2026-12-24"])),
        (json.dumps({"name": "report", "schedule": cron("0 9 * * *")}), cron("0 9 * * *")),
        (json.dumps(AZURE), {"format": "azure", **AZURE}),
        (json.dumps({"properties": {**AZURE, "action": {}}, "location": "North"}), {"format": "azure", **AZURE}),
        ('{"frequency": "Hour"}', {"format": "azure", "recurrence": {"frequency": "Hour"}}),
        (json.dumps(GRAPH), {"format": "outlook", "start": MIDNIGHT, "end": MIDNIGHT, "recurrence": GRAPH}),
        (json.dumps({"subject": "Report", "@odata.etag": "x", **EVENT}), {"format": "outlook", **EVENT}),
        ("2026-01-05T08:00:00+01:00", {"format": "once", "at": "2026-01-05T07:00:00Z"}),
        ("PT15M", {"format": "simple", "interval": 900_000}),
        ("P1W", {"format": "simple", "interval": 604_800_000}),
    ],
)
def test_schedule_is_recognised(text, document):
    assert recognize(text) == document


@pytest.mark.parametrize(
    "text",
    [
        "",
        "every day at nine",
        "@reboot /usr/bin/backup",
        "0 9 * *",
        "* * * * * *",
        "0 0 9 * * MON-FRI",  # six fields without ? have different meanings
        "61 * * * *",
        "0 9 * * *\n0 10 * * *",
        "CRON_TZ=Mars/Base\n0 9 * * *",
        "RRULE:FREQ=NEVER",
        "RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY",
        "DTSTART;TZID=Mars:20260105T090000\nRRULE:FREQ=DAILY",
        "DTSTART:20260105T090000",
        "{}",
        "[1]",
        '{"format": "cron"}',
        '{"format": ["cron"]}',
        '{"format": "sundial"}',
        '{"recurrence": {"pattern": {}}}',
        '{"properties": 5, "recurrence": null}',
        "2026-01-05",
        "2026-13-05T08:00:00Z",
        "PT0S",
        "P",
        "P1Y",
        "P9999W",
        "0 9 * * * backup # " + "x" * LONGEST_TEXT,
    ],
)
def test_other_text_is_not_recognised(text):
    assert recognize(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * (LONGEST_TEXT // 5),
        "[" * LONGEST_TEXT,
        '{"format":"simple","interval":' + "9" * (LONGEST_TEXT - 40) + "}",
        "A;a=" * (LONGEST_TEXT // 4 - 10) + "FREQ=DAILY",
        ";TZID=" * (LONGEST_TEXT // 6 - 10) + "FREQ=DAILY",
        "DTSTART:20260105T090000\nRRULE:FREQ=DAILY\nEXDATE:" + "20260105," * 2000,
        "A=" * (LONGEST_TEXT // 2),
        "* " * (LONGEST_TEXT // 2),
        "RRULE:FREQ=DAILY;BYDAY=" + "MO," * 6000,
    ],
)
def test_long_text_is_refused_quickly(text):
    before = time.process_time()

    assert recognize(text) is None
    assert time.process_time() - before < 0.2


texts = st.text(st.sampled_from("0123456789*/-,?LW#@=:;.TZPRM{}[]\"' \n\tabcDTSTARTRRULEFREQ"), max_size=60)
lines = st.lists(
    st.sampled_from(["DTSTART:20260105T090000", "RRULE:FREQ=DAILY", "EXDATE:", "DTSTART;TZID=:x", "0 9 * * *", "TZ="])
    | texts,
    max_size=4,
).map("\n".join)


@given(texts | lines | st.text())
def test_recognised_schedule_is_valid(text):
    document = recognize(text)

    if document is not None and (document["format"] != "rrule" or "start" in document):
        wire.render(document["format"], {name: value for name, value in document.items() if name != "format"})
