"""Somebody in Berlin who looks at the calendar page on a Wednesday."""

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
def look(client, viewer):
    """What the page shows at an address; without one, the month."""
    client.force_login(viewer)

    def look(query: str = "", status: int = 200, **headers) -> str:
        response = client.get(f"/calendar/?{query}", headers=headers)
        assert response.status_code == status, response
        return response.content.decode()

    return look
