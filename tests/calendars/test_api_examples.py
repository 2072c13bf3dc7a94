"""The examples of docs/calendars.md about our own API, feeds and import, run as they stand against a server."""

import json
import os
import re
import subprocess

import pytest

from tests.calendars.graph.test_examples import EXAMPLE, PAGE, answers

VARIES = {"id", "uid", "eventId", "calendarId", "address", "nextLink"}
VARIABLES = {"/api/calendars": "CALENDAR", "/api/events": "SERIES", "/api/feeds": "FEED"}


def examples() -> list[tuple[str, dict | str]]:
    own = PAGE[PAGE.index("## Our own API\n") :]
    found = [(command, answer and json.loads(answer)) for command, answer in EXAMPLE.findall(own)]
    return [(command, answer) for command, answer in found if "curl" in command]


def compared(value: object) -> object:
    """The document with the values that differ from day to day told apart by absence only."""
    if isinstance(value, dict):
        return {
            name: bool(member) if name in VARIES or name.endswith("At") else compared(member)
            for name, member in value.items()
        }
    return [compared(item) for item in value] if isinstance(value, list) else value


@pytest.mark.django_db(transaction=True)
def test_every_example_works_and_answers_what_the_page_shows(live_server, owner, token):
    environment = os.environ | {"QUANDO": live_server.url, "TOKEN": token, "NO_PROXY": "*"}
    shown = 0

    for command, expected in examples():
        done = subprocess.run(["sh", "-ec", command], env=environment, capture_output=True, text=True, check=True)

        found = answers(done.stdout)
        assert not [answer for answer in found if "error" in answer], (command, found)
        if expected:
            assert [compared(answer) for answer in found] == [compared(expected)], command
            shown += 1
        for path, name in VARIABLES.items():
            if name not in environment and re.search(re.escape(f'$QUANDO{path}"') + r".*-d", command, re.DOTALL):
                environment[name] = str(found[0]["id"])

    assert shown == 5
