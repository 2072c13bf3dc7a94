"""The examples of docs/calendars.md that are about Graph, run as they stand against a server."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

EXAMPLE = re.compile(r"```sh\n(.*?)```(?:\n\n```json\n(.*?)```)?", re.DOTALL)
PAGE = Path(settings.BASE_DIR, "docs", "calendars.md").read_text()
VARIES = {"@odata.context", "id", "date", "request-id", "client-request-id", "cancelledOccurrences"}


def examples() -> list[tuple[str, dict | str]]:
    section = re.search(r"^## Microsoft Graph\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)[1]
    return [
        (command, answer and json.loads(answer)) for command, answer in EXAMPLE.findall(section) if "curl" in command
    ]


def answers(output: str) -> list:
    decoder, found = json.JSONDecoder(), []
    while output := output.lstrip():
        value, end = decoder.raw_decode(output)
        found.append(value)
        output = output[end:]
    return found


def compared(value: object) -> object:
    if isinstance(value, dict):
        return {name: bool(member) if name in VARIES else compared(member) for name, member in value.items()}
    return [compared(item) for item in value] if isinstance(value, list) else value


@pytest.mark.django_db(transaction=True)
def test_every_example_works_and_answers_what_the_page_shows(live_server, owner, token):
    environment = os.environ | {"QUANDO": live_server.url, "TOKEN": token, "NO_PROXY": "*"}
    shown = 0

    for command, expected in examples():
        done = subprocess.run(["sh", "-ec", command], env=environment, capture_output=True, text=True, check=True)

        found = answers(done.stdout)
        if not expected:
            assert not [answer for answer in found if "error" in answer], command
        else:
            assert [compared(answer) for answer in found] == [compared(expected)], command
            shown += 1
        if "EVENT" not in environment:
            environment["EVENT"] = found[0]["id"]

    assert shown == 4
