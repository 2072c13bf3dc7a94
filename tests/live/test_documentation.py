"""Every example of docs/: the commands and programs of a page, run unchanged and in the order of the page.

A comment such as `# JOB is the id in the answer` names a variable of later examples, for readers and for this test.
The response that a page shows for a command is compared with the real one, except for values that differ every day.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from django.conf import settings
from django.utils import timezone

from tests.live.installation import Installation
from tests.peers.server import eventually
from triggers.mint import jobs

DOCS = Path(settings.BASE_DIR, "docs")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
VARIABLE = re.compile(r"# ([A-Z_]+) is the (\w+) in the answer")
LAST_PART = re.compile(r"# ([A-Z_]+) is the last part of `?(\w+)`?")
PRINTS = re.compile(r"\bprints? `([^`]+)`")  # after a program, before the next block
WRITES = re.compile(r" -X | -d |--data|Idempotency-Key")
VARIES = {
    *("id", "uid", "eventId", "calendarId", "job", "collection", "eTag", "prefix", "token", "secret", "address"),
    *("nextLink", "nextCursor", "correlationId", "revision", "EventId", "NotBefore", "date"),
    *("@odata.context", "request-id", "client-request-id", "cancelledOccurrences"),
}


class Example(NamedTuple):
    language: str
    text: str
    shown: dict | list | None  # the JSON directly after the example
    printed: str | None = None  # the line that the page says a program prints


def examples(page: str) -> list[Example]:
    blocks = [(match[1], match[2], match.start(), match.end()) for match in BLOCK.finditer(page)]
    found = []
    for number, (language, text, _, end) in enumerate(blocks):
        if language == "python" or (language == "sh" and "curl" in text):
            following = blocks[number + 1] if number + 1 < len(blocks) else None
            is_answer = following is not None and following[0] == "json" and not page[end : following[2]].strip()
            prose = (
                PRINTS.search(page[end : following[2] if following else len(page)]) if language == "python" else None
            )
            shown = json.loads(following[1]) if following and is_answer else None
            found.append(Example(language, text, shown, prose and prose[1]))
    return found


PAGES = {path.name: examples(path.read_text()) for path in sorted(DOCS.glob("*.md")) if examples(path.read_text())}
WITH_WORKERS = {"operations.md"}


@pytest.fixture
def environment(request):
    """The variables that a reader has set: the address of Quando, and the credentials."""
    if request.param in WITH_WORKERS:
        live: Installation = request.getfixturevalue("live")
        return {"QUANDO": live.url, "TOKEN": live.token}
    owner, token = request.getfixturevalue("owner"), request.getfixturevalue("token")
    jobs.load(owner.subscription_set.get(), timezone.now())
    job = request.getfixturevalue("make_job")()
    server = request.getfixturevalue("live_server")
    own = {"USERNAME": "ada", "PASSWORD": "correct horse", "JOB": str(job.pk)}
    return {"QUANDO": server.url, "TOKEN": token, **own}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page, environment", [(page, page) for page in PAGES], indirect=["environment"])
def test_every_example_of_a_page_works_and_returns_what_the_page_shows(page, environment):
    for example in PAGES[page]:
        output = run(example, environment)
        assert example.printed is None or example.printed in output.splitlines(), f"{example.text}\nprinted {output}"
        if example.shown is not None and not WRITES.search(example.text):
            output = eventually(lambda: output_if_shown(example, environment)) or output  # noqa: B023
        if example.shown is not None:
            assert comparable(documents_in(output)) == comparable([example.shown]), f"{example.text}\nreturned {output}"
        else:
            assert not [answer for answer in documents_in(output) if is_error(answer)], (
                f"{example.text}\nreturned {output}"
            )
        for name, member in VARIABLE.findall(example.text):
            environment[name] = str(documents_in(output)[-1][member])
        for name, header in LAST_PART.findall(example.text):
            environment[name] = re.search(rf"^{header}: \S+/(\S+?)\s*$", output, re.MULTILINE | re.IGNORECASE)[1]


def run(example: Example, environment: dict[str, str]) -> str:
    command = ["sh", "-euc", example.text] if example.language == "sh" else [sys.executable, "-c", example.text]
    everything = os.environ | {"NO_PROXY": "*"} | environment
    done = subprocess.run(command, env=everything, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"{example.text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def output_if_shown(example: Example, environment: dict[str, str]) -> str:
    """Return the output if it is what the page shows, else an empty text, because a worker may not have finished."""
    output = run(example, environment)
    return output if comparable(documents_in(output)) == comparable([example.shown]) else ""


def documents_in(output: str) -> list:
    """Return the JSON documents in an output; skip other lines, such as headers."""
    decoder, found = json.JSONDecoder(), []
    while output := output.lstrip():
        try:
            value, end = decoder.raw_decode(output)
        except json.JSONDecodeError:
            end = output.find("\n") + 1 or len(output)
        else:
            found.append(value)
        output = output[end:]
    return found


def is_error(answer: object) -> bool:
    return isinstance(answer, dict) and bool(answer.get("error"))


def comparable(value: object) -> object:
    """Return the document with each value that differs from day to day replaced by True if it is not empty."""
    if isinstance(value, dict):
        return {
            name: bool(member) if name in VARIES or name.endswith(("At", "Date")) else comparable(member)
            for name, member in value.items()
        }
    return [comparable(item) for item in value] if isinstance(value, list) else value
