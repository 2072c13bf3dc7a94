"""Somebody who clicks on items of the calendar."""

import pytest
import time_machine


@pytest.fixture(autouse=True)
def today():
    """A page leaves out the year while it is this one."""
    with time_machine.travel("2026-01-01T12:00Z"):
        yield


@pytest.fixture
def browser(client, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    client.force_login(owner)
    return client
