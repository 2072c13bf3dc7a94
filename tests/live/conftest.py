import os
import re
import signal
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.live.installation import COLLECTION, VERSION, Installation, migrate_once, own_database, running

# tests in the background of a shell ignore Ctrl-C, and so would all processes that they start
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def fixed_start():
    """Leave the time unchanged: the processes of an installation read the machine's clock."""


@pytest.fixture(scope="session")
def migrated_database(tmp_path_factory) -> Path | None:
    """The SQLite database that new installations begin with; the workers of a test run share it."""
    if os.environ.get("DATABASE_URL"):
        return None
    folder = tmp_path_factory.getbasetemp()
    return migrate_once((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "migrated")


@pytest.fixture(scope="session")
def run_installation(tmp_path_factory, migrated_database):
    """Return a function whose result is a context: in it, an installation with these variables runs."""

    def run(name: str, **environment: str) -> AbstractContextManager[Installation]:
        return running(tmp_path_factory.mktemp(name), migrated_database, **environment)

    return run


@pytest.fixture(scope="session")
def live(run_installation):
    """A running installation: web, worker, beat and broker, with an empty default subscription owned by `ada`."""
    with run_installation("live") as installation:
        yield installation


@pytest.fixture
def launch(tmp_path, migrated_database):
    """Return a function that starts an installation; each ends with the test at the latest.

    An installation with another `data_dir` migrates an empty database.
    """
    started = []
    with own_database() as address:

        def start(**fields) -> Installation:
            fields["environment"] = address | fields.pop("environment", {})
            if "data_dir" not in fields:
                fields |= {"data_dir": tmp_path / "data", "database": migrated_database}
            started.append(Installation(log=tmp_path / f"{len(started)}.log", **fields))
            return started[-1]

        yield start
        for installation in started:
            installation.stop()


@pytest.fixture
def put_job(live, request):
    """Return a function that creates a job in a collection of this test and returns its path."""
    collection = COLLECTION.format(re.sub(r"[\W_]+", "-", request.node.name)[:60].strip("-"))

    def put(name: str, properties: dict) -> str:
        status, answer = live.request("PUT", f"{collection}/jobs/{name}{VERSION}", {"properties": properties})
        assert status == 201, answer
        return f"{collection}/jobs/{name}"

    status, answer = live.request(
        "PUT", collection + VERSION, {"location": "westeurope", "properties": {"sku": {"name": "P20Premium"}}}
    )
    assert status == 201, answer
    yield put
    live.delete_collection(collection + VERSION)
