"""The examples of docs/operations.md, run from the top down against a running installation."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from tests.live.installation import COLLECTION, VERSION
from tests.live.test_api_examples import answers, compared, examples
from tests.peers.server import eventually

PAGE = Path(settings.BASE_DIR, "docs", "operations.md").read_text()
NIGHTLY = COLLECTION.format("nightly") + VERSION
PLACE = {"location": "westeurope", "properties": {"sku": {"name": "P20Premium"}}}


@pytest.fixture
def run(live):
    """Run a command of the page, and return what it prints."""

    def run(command: str, **variables: str) -> str:
        environment = os.environ | {"QUANDO": live.url, "TOKEN": live.token, "NO_PROXY": "*"} | variables
        return subprocess.run(
            ["sh", "-euc", command], env=environment, capture_output=True, text=True, check=True
        ).stdout

    return run


def test_every_example_works_and_answers_what_the_page_shows(live, run):
    (deleting, _), (reading, shown), (listing, _), (disabling, _) = examples(PAGE)
    assert live.request("PUT", NIGHTLY, PLACE)[0] == 201
    (nightly,) = live.request("GET", "/api/collections?name=nightly")[1]["value"]

    accepted = run(deleting, COLLECTION=str(nightly["id"]))
    operation = re.search(r"location: /api/operations/(\S+)", accepted)[1]
    assert accepted.startswith("HTTP/1.1 202")
    assert eventually(lambda: json.loads(run(reading, OPERATION=operation))["state"] == "succeeded")
    assert same(json.loads(run(reading, OPERATION=operation))) == same(shown)
    listed, cancelled = answers(run(listing, OPERATION=operation))
    assert operation in [row["id"] for row in listed["value"]]
    assert cancelled["error"]["code"] == "conflict"  # by then it is over

    assert live.request("PUT", NIGHTLY, PLACE)[0] == 201
    accepted = run(disabling)
    assert accepted.startswith("HTTP/1.1 202")
    assert "x-ms-correlation-request-id: release-42" in accepted
    assert re.search(r"azure-asyncoperation: \S+/locations/westeurope/operations/", accepted)
    live.delete_collection(NIGHTLY)


def same(operation: dict) -> object:
    """What is the same every day."""
    return compared(operation | {"correlationId": None})
