"""The peers as fixtures.  Peers that tests cannot change are shared; `peer` starts any server for one test."""

import pytest

from tests.peers.azurite import azurite
from tests.peers.server import Server, free_port
from tests.peers.target import Target
from tests.peers.tls import Authority


@pytest.fixture(scope="session")
def storage_port():
    """The port of `storage`, which starts only if a test uses it."""
    return free_port()


@pytest.fixture(scope="session")
def storage(storage_port, tmp_path_factory):
    with azurite(storage_port, tmp_path_factory.mktemp("azurite") / "log") as storage:
        yield storage


@pytest.fixture(scope="session")
def authority():
    """A certificate authority."""
    return Authority()


@pytest.fixture
def target():
    with Target() as target:
        yield target


@pytest.fixture
def peer():
    """Start a server that ends with the test: `peer(ServiceBus, keys={...})`."""
    servers: list[Server] = []

    def start(kind: type[Server], *arguments, **fields):
        servers.append(kind(*arguments, **fields))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
