import re
import signal

import pytest

from tests.live.installation import COLLECTION, VERSION, Installation, own_database, running

# tests in the background of a shell ignore Ctrl-C, and so would all processes that they start
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def fixed_start():
    """Leave the time unchanged: the processes of an installation read the machine's clock."""


@pytest.fixture(scope="session")
def live(tmp_path_factory):
    """A running installation: web, worker, beat and broker, with an empty default subscription owned by `ada`."""
    with running(tmp_path_factory.mktemp("live")) as installation:
        yield installation


@pytest.fixture
def launch(tmp_path):
    """Return a function that starts an installation; each ends with the test at the latest."""
    started = []
    with own_database() as database:

        def start(**fields) -> Installation:
            fields["environment"] = database | fields.pop("environment", {})
            started.append(
                Installation(**{"data_dir": tmp_path / "data", "log": tmp_path / f"{len(started)}.log"} | fields)
            )
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
