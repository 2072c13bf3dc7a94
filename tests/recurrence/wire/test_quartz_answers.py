"""Recorded fire times of Quartz 2.3.2 on Java 17, mostly near clock changes.

`QuartzAnswers.java` wrote `quartz_answers.tsv` from the first three columns of this file:

    java -cp quartz-2.3.2.jar:slf4j-api.jar QuartzAnswers < questions.tsv > quartz_answers.tsv
"""

from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from recurrence.wire.quartz import in_zone, parse_expression
from tests.recurrence.samples import utc

ROWS = [line.split("\t") for line in (Path(__file__).parent / "quartz_answers.tsv").read_text().splitlines()]


@pytest.mark.parametrize("zone", sorted({zone for _, zone, _, _ in ROWS}))
def test_next_fire_times_equal_those_of_quartz(zone):
    rows = [(text, instant, expected) for text, name, instant, expected in ROWS if name == zone]

    wrong = [row for row in rows if next_fire_text(row[0], zone, row[1]) != row[2]]

    assert len(rows) > 100
    assert wrong == []


def next_fire_text(text, zone, instant):
    schedule = in_zone(parse_expression(text), UTC if zone == "UTC" else ZoneInfo(zone), "quartz")
    fire = schedule.after(utc(instant))
    return fire.strftime("%Y-%m-%dT%H:%M:%SZ") if fire else "none"
