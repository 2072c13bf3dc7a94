"""The examples of docs/api.md, run as they stand against a server."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from triggers import mint_jobs

EXAMPLE = re.compile(r"```sh\n(.*?)```(?:\n\n```json\n(.*?)```)?", re.DOTALL)
PAGE = Path(settings.BASE_DIR, "docs", "api.md").read_text()
VARIABLES = {
    "/api/collections": "COLLECTION",
    "/api/jobs": "JOB",
    "/api/triggers": "TRIGGER",
    "/api/jobs/$JOB/run": "RUN",
}


def examples(page: str) -> list[tuple[str, dict | None]]:
    """Each shell block with the answer that the page shows right behind it."""
    found = [match.groups() for match in EXAMPLE.finditer(page)]
    return [(command, answer and json.loads(answer)) for command, answer in found if "curl" in command]


def answers(output: str) -> list:
    decoder, found = json.JSONDecoder(), []
    while output := output.lstrip():
        value, end = decoder.raw_decode(output)
        found.append(value)
        output = output[end:]
    return found


def varies(name: str) -> bool:
    return name in {"id", "prefix", "token", "secret", "job", "collection"} or name.endswith(("At", "Date"))


def compared(value: object) -> object:
    """The document with the values that differ from day to day told apart by absence only."""
    if isinstance(value, dict):
        return {name: bool(member) if varies(name) else compared(member) for name, member in value.items()}
    return [compared(item) for item in value] if isinstance(value, list) else value


@pytest.mark.django_db(transaction=True)
def test_every_example_works_and_answers_what_the_page_shows(live_server, owner, token):
    environment = os.environ | {
        "QUANDO": live_server.url,
        "TOKEN": token,
        "USERNAME": "ada",
        "PASSWORD": "correct horse",
        "NO_PROXY": "*",
    }
    mint_jobs.load(owner.subscription_set.get(), timezone.now())
    tried = 0

    for command, expected in examples(PAGE):
        done = subprocess.run(["sh", "-ec", command], env=environment, capture_output=True, text=True, check=True)

        found = answers(done.stdout)
        tried += len(found)
        if expected is None:
            assert not [answer for answer in found if "error" in answer], command
        else:
            assert [compared(answer) for answer in found] == [compared(expected)], command
        for path, name in VARIABLES.items():
            made = re.search(re.escape(f'$QUANDO{path}"') + r".*(-d|Idempotency)", command, re.DOTALL)
            if made and name not in environment:  # the first of its kind is the one that later examples mean
                environment[name] = str(found[0]["id"])

    assert tried >= 16
