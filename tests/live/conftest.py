import pytest

from tests.live.installation import Installation, own_database


@pytest.fixture(scope="session")
def live(tmp_path_factory):
    """A running installation: web, worker, beat and broker, with an empty default subscription owned by `ada`."""
    with own_database() as database:
        folder = tmp_path_factory.mktemp("live")
        installation = Installation(data_dir=folder / "data", log=folder / "log", environment=database)
        try:
            yield installation.wait_until_ready()
        finally:
            installation.stop()


@pytest.fixture
def launch(tmp_path):
    """Start installations that the test stops itself, or that end with it."""
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
