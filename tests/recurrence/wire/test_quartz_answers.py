"""Answers that Quartz 2.3.2 itself gave, on Java 17, mostly around changes of the clocks.

`quartz_answers.tsv` was written by `QuartzAnswers.java` from its own first three columns:

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
def test_quartz_gave_the_same_answers(zone):
    rows = [(text, asked, answer) for text, name, asked, answer in ROWS if name == zone]

    wrong = [row for row in rows if answered(row[0], zone, row[1]) != row[2]]

    assert len(rows) > 100
    assert wrong == []


def answered(text, zone, asked):
    schedule = in_zone(parse_expression(text), UTC if zone == "UTC" else ZoneInfo(zone), "quartz")
    fire = schedule.after(utc(asked))
    return fire.strftime("%Y-%m-%dT%H:%M:%SZ") if fire else "none"
