"""The examples of docs/maintenance.md, run from the top down against a server."""

import os
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from tests.live.test_api_examples import answers, compared, examples

PAGE = Path(settings.BASE_DIR, "docs", "maintenance.md").read_text()
VARIES = ("EventId", "NotBefore")


@pytest.mark.django_db(transaction=True)
def test_every_example_works_and_answers_what_the_page_shows(live_server, make_job, token):
    environment = {"QUANDO": live_server.url, "TOKEN": token, "JOB": str(make_job().pk), "NO_PROXY": "*"}
    tried = []

    for command, expected in examples(PAGE):
        done = subprocess.run(
            ["sh", "-euc", command], env=os.environ | environment, capture_output=True, text=True, check=True
        )

        (found,) = answers(done.stdout)
        assert "error" not in found, command
        assert expected is None or shown(found) == shown(expected), command
        environment["MACHINE"] = found.get("token", environment.get("MACHINE", ""))
        environment["EVENT"] = found.get("eventId", environment.get("EVENT", ""))
        tried.append(found)

    statuses = [event["EventStatus"] for found in tried for event in found.get("Events", [])]
    assert statuses == ["Scheduled", "Started"]
    assert "Completed" in [found.get("eventStatus") for found in tried]
    assert "hold" in [found.get("during") for found in tried]


def shown(document: dict) -> object:
    """What is the same every day."""
    events = [{**event, **dict.fromkeys(VARIES)} for event in document.get("Events", [])]
    return compared(document | ({"Events": events} if events else {}))
