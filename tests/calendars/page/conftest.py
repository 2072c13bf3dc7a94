"""A user in Berlin who opens the calendar page on a Wednesday."""

import pytest
import time_machine

from tests.calendars.page.reading import WEDNESDAY


@pytest.fixture(autouse=True)
def now():
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


@pytest.fixture
def viewer(owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    return owner


@pytest.fixture
def load_page(client, viewer):
    """Return a function that loads the calendar page with a query; by default the month view."""
    client.force_login(viewer)

    def load_page(query: str = "", status: int = 200, **headers) -> str:
        response = client.get(f"/calendar/?{query}", headers=headers)
        assert response.status_code == status, response
        return response.content.decode()

    return load_page
