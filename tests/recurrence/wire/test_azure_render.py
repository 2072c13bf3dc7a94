"""Rendering of the Azure format: all sent members, in the published form."""

import json

import pytest
from hypothesis import given

from recurrence.wire import parse
from recurrence.wire.azure import render
from tests.recurrence.samples import CREATED_AT, documents


def test_rendered_document_has_the_published_names_and_order():
    sent = {
        "recurrence": {
            "schedule": {
                "monthlyOccurences": [{"occurrence": -1, "day": "friday"}, {"day": "MONDAY"}],
                "hours": 5,
                "minutes": [45, 15],
            },
            "endTime": "2027-03-01",
            "count": 10,
            "interval": 2,
            "frequency": "month",
        },
        "startTime": "2026-01-05T09:00:00.5+01:00",
    }

    assert json.dumps(render(sent)) == json.dumps(
        {
            "startTime": "2026-01-05T08:00:00.500000Z",
            "recurrence": {
                "frequency": "Month",
                "interval": 2,
                "count": 10,
                "endTime": "2027-03-01T00:00:00Z",
                "schedule": {
                    "minutes": [45, 15],
                    "hours": [5],
                    "monthlyOccurrences": [{"day": "Friday", "Occurrence": -1}, {"day": "Monday"}],
                },
            },
        }
    )


@pytest.mark.parametrize(
    "sent, rendered",
    [
        ({}, {}),
        ({"startTime": None, "recurrence": None}, {}),
        ({"recurrence": {"frequency": "hour"}}, {"recurrence": {"frequency": "Hour"}}),
        (
            {"recurrence": {"frequency": "day", "schedule": {}}},
            {"recurrence": {"frequency": "Day", "schedule": {}}},
        ),
        (
            {"recurrence": {"frequency": "week", "schedule": {"weekDays": "sunday", "minutes": 0}}},
            {"recurrence": {"frequency": "Week", "schedule": {"minutes": [0], "weekDays": ["Sunday"]}}},
        ),
        (
            {"recurrence": {"frequency": "month", "schedule": {"monthDays": -1, "hours": 0}}},
            {"recurrence": {"frequency": "Month", "schedule": {"hours": [0], "monthDays": [-1]}}},
        ),
    ],
)
def test_members_that_were_not_sent_are_not_rendered(sent, rendered):
    assert render(sent) == rendered


@given(documents())
def test_rendered_document_has_the_same_meaning(document):
    rendered = render(document)

    assert parse("azure", rendered, CREATED_AT) == parse("azure", document, CREATED_AT)
    assert render(rendered) == rendered
